"""Models with their cards: the winner of a study, or one method on one table.

A model card says what the model is, how its columns are prepared, what it was fitted on, and how good it is: the scores
of nested cross-validation with their intervals, and the certificate from the hold-out, if there is one. It holds no
dates and no times.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import asdict, replace
from pathlib import Path
from typing import Any

import numpy as np
from sklearn.pipeline import Pipeline

from fivefold.study.environment import installed_versions, relevant_packages, to_plain_values
from fivefold.study.judging.prediction_ranges import prediction_ranges
from fivefold.study.judging.results import CONFIDENCE, Results
from fivefold.study.models.model_file import ModelFile, Schema, save_model
from fivefold.study.planning.hyperparameters import Setting
from fivefold.study.planning.plan import Plan, make_plan
from fivefold.study.planning.portfolio import Learner, MemberShare
from fivefold.study.planning.splits import derive_seed
from fivefold.study.preparation.column_transformer import describe_treatment
from fivefold.study.preparation.log_target import describe_log_target
from fivefold.study.running.blend import MIN_WEIGHT, blend_weights
from fivefold.study.running.fold import REFIT_INDEX, tune, tune_and_fit
from fivefold.study.running.pipelines import fit_pipeline
from fivefold.study.running.setting_search import SettingChoice
from fivefold.study.sequences.neighbour_columns import with_neighbours
from fivefold.study.tables.dataset import BadInput, Data, data_digest

MODEL_FILE = "model.skops"
NOT_JUDGED_NOTE = "not judged: fivefold study judges a method, fivefold evaluate a model on new rows"


def final_weights(results: Results) -> dict[str, float]:
    """The weights of the members of a winning blend in the model that is saved; none if the winner is no blend.

    Half of a weight comes from what the members predicted for the test rows of the outer splits, averaged over the
    repeats, and half is the mean of its weights in these splits, which come from other divisions of the rows.
    """
    plan, blend = results.plan, results.judged[0].outcome.learner
    ended = {judged.name: judged.outcome.folds for judged in results.judged}
    names, truth = [member.name for member in blend.members if member.name in ended], plan.coded(plan.data).y
    classes, found = None if plan.classes is None else len(plan.classes), list[dict[str, float]]()
    if not names:
        return {}
    for repeat in range(plan.repeats):
        folds = {name: [fold for fold in ended[name] if fold.repeat == repeat] for name in names}
        given = {
            name: np.concatenate([fold.predicted if fold.proba is None else fold.proba for fold in own])
            for name, own in folds.items()
        }
        targets = [truth[fold.test] for fold in folds[names[0]]]
        found.append(blend_weights(given, targets, plan.scores[0], classes)[0])
    inner = [{name: share.weight for name, share in fold.parameters.items()} for fold in ended[blend.name]]
    means = {name: (_mean_of(name, found) + _mean_of(name, inner)) / 2 for name in names}
    kept = [name for name, mean in means.items() if mean >= min(MIN_WEIGHT, max(means.values()))]
    scale = sum(means[name] for name in kept) if classes is None else 1.0
    return {name: means[name] / scale for name in kept}


def _mean_of(name: str, weights: Sequence[Mapping[str, float]]) -> float:
    return float(np.mean([one.get(name, 0.0) for one in weights]))


def members_to_tune(results: Results) -> list[Learner]:
    """The members of a winning blend that have a weight; none if the winner is no blend."""
    weights = final_weights(results)
    return [member for member in results.judged[0].outcome.learner.members if member.name in weights]


def fit_winner(results: Results, member_choices: Mapping[str, SettingChoice] | None = None) -> ModelFile:
    """The best learner of a study, tuned and fitted on all rows outside the hold-out.

    `member_choices` holds what `tune` found for the members if the winner is a blend, if that was done before.
    """
    plan, learner = results.plan, results.judged[0].outcome.learner
    if not learner.members:
        pipeline, choice = tune_and_fit(plan.data, learner, plan.rows, plan)
        return _winner_file(results, pipeline, choice.parameters, plan.rows)
    if member_choices is None:
        member_choices = {one.name: tune(plan.data, one, plan.rows, plan) for one in members_to_tune(results)}
    shares = {
        name: MemberShare(weight, member_choices[name].parameters)
        for name, weight in final_weights(results).items()
        if name in member_choices
    }
    seed = derive_seed(plan.seed, REFIT_INDEX, REFIT_INDEX)
    return _winner_file(results, fit_pipeline(plan.data, learner, shares, plan.rows, seed), shares, plan.rows)


def refit_winner(results: Results, model: ModelFile) -> ModelFile:
    """The winner with the setting of this model, fitted on all rows, the hold-out included."""
    plan, learner = results.plan, results.judged[0].outcome.learner
    setting = _setting_from_card(learner, model.card["chosen"])
    rows, seed = np.arange(len(plan.data.y)), derive_seed(plan.seed, REFIT_INDEX, REFIT_INDEX)
    return _winner_file(results, fit_pipeline(plan.data, learner, setting, rows, seed), setting, rows)


def _setting_from_card(learner: Learner, chosen: Mapping[str, Any]) -> Setting:
    """The setting that a card holds as plain values: one of the learner's, one beyond its ranges, or of a blend."""
    if learner.members:
        present = [member for member in learner.members if member.name in chosen]
        return {m.name: MemberShare(chosen[m.name][0], _setting_from_card(m, chosen[m.name][1])) for m in present}
    return next((s for s in learner.settings if to_plain_values(dict(s)) == chosen), dict(chosen))


def _winner_file(results: Results, pipeline: Pipeline, setting: Setting, rows: np.ndarray) -> ModelFile:
    """The winner fitted on these rows, with the scores of the study."""
    plan, best = results.plan, results.judged[0]
    scores = {name: {"mean": e.mean, "low": e.low, "high": e.high} for name, e in best.estimates.items()}
    found = {
        "scores": scores,
        "judged": f"nested cross-validation, {len(plan.splits)} folds; intervals of {CONFIDENCE:.0%} by the corrected "
        "resampled t",
        "ranges": [asdict(one) for one in prediction_ranges(plan, best)],
        "practically_equal": list(results.equal),
        "undecided": list(results.undecided),
        "warnings": list(results.warnings),
    }
    return _model_with_card(pipeline, plan, best.outcome.learner, setting, found, rows)


def _fold_certificate(results: Results) -> dict[str, float] | None:
    """What the folds certify of their models of the winner; None where they certify nothing."""
    found, name = results.certificates, results.judged[0].name
    if found is None or name not in found.learners:
        return None
    return {**asdict(found.learners[name]), "delta": found.delta, "learners": found.candidates}


def save_winner(model: ModelFile, results: Results, folder: Path) -> Path:
    """Write FOLDER/model.skops, with the result of the hold-out; BadInput if it cannot be saved.

    The hold-out tested the model fitted on the rows outside it; the card says so if this one was fitted on all rows.
    """
    found = None if results.holdout is None else to_plain_values(asdict(results.holdout))
    card = {**model.card, "holdout": found, "folds": _fold_certificate(results)}
    if (costs := results.plan.cost_matrix) is not None:  # until here it answers with the most probable class
        card["costs"] = costs.to_json()
        steps = [*model.pipeline.steps[:-1], ("method", costs.deciding(model.pipeline[-1]))]
        model = replace(model, pipeline=Pipeline(steps))
    if found is not None and (fitted := card["data"]["rows_fitted"]) > len(results.plan.rows):
        card["refit"] = (
            f"fitted again on all {fitted:,} rows with the setting chosen before the hold-out was opened; the hold-out "
            f"tested the model fitted on the other {len(results.plan.rows):,}"
        )
    return save_model(replace(model, card=card), folder / MODEL_FILE)


def fit_method(data: Data, name: str, parameters: Setting, *, seed: int = 0, tune: bool = False) -> ModelFile:
    """One method on all rows, with its defaults and these parameters, or tuned over its search space."""
    if name.strip().lower() == "all":
        raise BadInput("name one method; `fivefold methods` lists them")
    plan = make_plan(data, [name], seed=seed, holdout=0.0)
    learner = plan.learners[0]
    settings = tuple({**setting, **parameters} for setting in learner.settings) if tune else (dict(parameters),)
    space, finish = (
        {name: values for name, values in searched.items() if name not in parameters}
        for searched in (learner.space, learner.finish)
    )
    learner = replace(learner, settings=settings, space=space, finish=finish, smoothed=False)  # no log loss judges it
    _check_parameters(learner, parameters)
    try:
        if tune:
            pipeline, choice = tune_and_fit(data, learner, plan.rows, plan)
            chosen = choice.parameters
        else:
            chosen = settings[0]
            pipeline = fit_pipeline(data, learner, chosen, plan.rows, derive_seed(seed, REFIT_INDEX, REFIT_INDEX))
    except (ValueError, TypeError) as error:
        raise BadInput(f"{learner.name} cannot be fitted on {data.name}: {error}") from None
    return _model_with_card(pipeline, plan, learner, chosen, {"scores": {}, "judged": NOT_JUDGED_NOTE}, plan.rows)


def _model_with_card(
    pipeline: Pipeline, plan: Plan, learner: Learner, setting: Setting, found: Mapping[str, Any], rows: np.ndarray
) -> ModelFile:
    data, cls = plan.data, learner.method.cls
    card = {
        "method": learner.name,
        "class": f"{cls.__module__}.{cls.__qualname__}",
        "summary": learner.method.summary if learner.prototype is None else "",
        "parameters": learner.make(setting, derive_seed(plan.seed, REFIT_INDEX, REFIT_INDEX)).get_params(),
        "chosen": dict(setting),
        "treatment": _describe_treatment(learner, setting, data),
        **({"sees_sequences": learner.sees_sequences} if data.sequences is not None else {}),
        "data": {
            "name": data.name,
            "digest": data_digest(replace(data, groups=None, time=None)),
            "rows": len(data.y),
            "rows_fitted": len(rows),
            "columns": len(data.columns),
        },
        "seed": plan.seed,
        "holdout": None,
        "versions": installed_versions(relevant_packages(plan)),
        **found,
    }
    return ModelFile(pipeline, Schema.of(data, rows), to_plain_values(card))


def _describe_treatment(learner: Learner, setting: Setting, data: Data) -> list[str]:
    """How the columns are prepared; for a blend, by member."""
    if not learner.members:
        scaled = [f"target ({data.target}): standardised; a prediction is scaled back"] if learner.scales_target else []
        seen = with_neighbours(data) if learner.neighbours else data
        return [*describe_treatment(learner.takes, seen), *describe_log_target(data.target, setting), *scaled]
    members = [(m.name, _describe_treatment(m, setting[m.name].setting, data)) for m in learner.present(setting)]
    return [f"{name}: {line}" for name, lines in members for line in lines]


def _check_parameters(learner: Learner, parameters: Setting) -> None:
    """Refuse names that are not parameters of the method."""
    known = learner.make({}, 0).get_params()
    if wrong := [name for name in parameters if name not in known]:
        raise BadInput(f"{learner.name} has no parameter {', '.join(map(repr, wrong))}; it has {', '.join(known)}")
