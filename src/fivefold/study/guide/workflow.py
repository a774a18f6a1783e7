"""The machine-learning cycle as a guided workflow: six phases, each with a kept outcome, and a way back.

    1 task         what is to be learned, judged by what, from what: a `LearningProblem`
    2 data         the table is read; test rows are drawn by the seed and locked away
    3 features     columns are added, dropped and counted; too few, too many and noisy ones are warned of
    4 models       learners are chosen, with advice on what suits the table
    5 training     learners are tuned and validated by nested cross-validation on the other rows, and compared by tests
    6 evaluation   the best one is fitted and judged on the test rows, once; its weaknesses point back to a phase

Between 5 and 6 lies the cycle: look at the validation, revise a phase, go through those after it again. Test rows are
seen by no phase before the sixth, and by it once: a revision after that is told that they are spent.

Everything is kept in FOLDER/workflow.json, so a workflow can be left and taken up again, and report.md has a section
for each phase.
"""

from __future__ import annotations

import json
import math
from collections.abc import Mapping, Sequence
from dataclasses import asdict, replace
from pathlib import Path
from typing import Any, Literal, get_args

import numpy as np

from fivefold.core.types import Target
from fivefold.evaluation.scores import CachedPredictions
from fivefold.study.guide.advice import tree_suitability
from fivefold.study.guide.feature_selection import SelectedFeatures, apply_features, select_features
from fivefold.study.guide.problem import LearningProblem
from fivefold.study.judging.results import Results, judge_outcomes, to_plain_values
from fivefold.study.planning.plan import Plan, make_plan
from fivefold.study.running.budget import fit_to_budget
from fivefold.study.running.fold import tune_and_fit
from fivefold.study.running.journal import Journal
from fivefold.study.running.run import make_workers, measure_costs, read_outcomes, run_pending
from fivefold.study.tables.dataset import BadInput, Data

Phase = Literal["task", "data", "features", "models", "training", "evaluation"]
PHASES: tuple[Phase, ...] = get_args(Phase)
PHASE_TITLES: dict[Phase, str] = {
    "task": "The task",
    "data": "The data",
    "features": "The features",
    "models": "The models",
    "training": "Training and validation",
    "evaluation": "Evaluation",
}
WORKFLOW_FILE, REPORT_FILE = "workflow.json", "report.md"
TEST_SHARE = 0.25  # share of the rows that is locked away
OVERFIT_GAP = 0.25  # share of the way from the baseline that training beats validation by: overfitting
MIN_CLASS_RECALL = 0.5  # of a class: where fewer are found, it is named
UNDERFIT_GAIN = 0.1  # of the way from the baseline to a perfect score: underfitting


class Workflow:
    """A workflow in a folder; `begin` makes one, `Workflow(folder)` takes it up again.

    Examples
    --------
    >>> from tempfile import TemporaryDirectory
    >>> from fivefold.study.guide.problem import Experience
    >>> problem = LearningProblem("tell the species of an iris", "accuracy", Experience("iris"))
    >>> with TemporaryDirectory() as folder:
    ...     work = Workflow.begin(folder, problem)
    ...     work.read_data()["test_rows"], work.choose_features().count
    ...     work.choose_models(["GaussianNB"])["learners"]
    ...     work.next
    (36, 4)
    ['GaussianNB', 'MajorityClassifier', 'MemorisingClassifier']
    'training'
    """

    def __init__(self, folder: str | Path) -> None:
        self.folder = Path(folder)
        try:
            self._kept: dict[str, Any] = json.loads((self.folder / WORKFLOW_FILE).read_text(encoding="utf-8"))
            self.problem = LearningProblem.of(self._kept["problem"])
        except (OSError, ValueError, KeyError, TypeError) as error:
            raise BadInput(f"{self.folder} holds no workflow ({type(error).__name__}: {error}); begin one") from None

    @classmethod
    def begin(
        cls,
        folder: str | Path,
        problem: LearningProblem,
        *,
        seed: int = 0,
        test: float = TEST_SHARE,
        overwrite: bool = False,
    ) -> Workflow:
        """Phase 1: keep the card of the problem; refused while a part of it is missing."""
        problem.check()
        folder = Path(folder)
        if (folder / WORKFLOW_FILE).exists() and not overwrite:
            raise BadInput(f"{folder} holds a workflow already; take it up, or begin another folder")
        if not 0 < test <= 0.5:
            raise BadInput(f"the share of test rows is above 0 and at most 0.5; got {test:g}")
        folder.mkdir(parents=True, exist_ok=True)
        begun = {
            "problem": asdict(problem),
            "seed": seed,
            "test": test,
            "round": 1,
            "phases": {"task": {"card": str(problem).splitlines()}},
            "rounds": [],
            "opened": None,
        }
        (folder / WORKFLOW_FILE).write_text(json.dumps(begun, indent=1, ensure_ascii=False), encoding="utf-8")
        return cls(folder)

    # Where it stands

    @property
    def outcomes(self) -> Mapping[Phase, Any]:
        """What every finished phase came to."""
        return dict(self._kept["phases"])

    @property
    def next(self) -> Phase | None:
        """The first phase that is not done."""
        return next((phase for phase in PHASES if phase not in self._kept["phases"]), None)

    @property
    def round(self) -> int:
        """How often the cycle has been gone through, this time included."""
        return int(self._kept["round"])

    @property
    def rounds(self) -> tuple[Mapping[str, Any], ...]:
        """Rounds before this one: what was revised, and the validation that led to it."""
        return tuple(self._kept["rounds"])

    def __str__(self) -> str:
        marks = {phase: "done" if phase in self._kept["phases"] else "    " for phase in PHASES}
        lines = [f"{i} {marks[phase]} {PHASE_TITLES[phase]}" for i, phase in enumerate(PHASES, 1)]
        return "\n".join([f"{self.problem.task}, round {self.round}", *lines])

    # The phases

    def read_data(self) -> Mapping[str, Any]:
        """Phase 2: read the table and lock the test rows away."""
        self._needs("data")
        data = self.problem.data()
        plan = self._plan(data, ())
        values, counts = np.unique(data.y[plan.rows], return_counts=True)
        found = {
            "name": data.name,
            "digest": data.digest,
            "problem": data.problem,
            "rows": len(data.y),
            "columns": {column.name: column.kind for column in data.columns},
            "missing": {column.name: column.missing for column in data.columns if column.missing},
            "classes": dict(zip(map(str, values), counts.tolist(), strict=True)) if plan.classes is not None else {},
            "test_rows": len(plan.holdout),
            "notes": [*data.notes, *data.warnings, *plan.warnings],
        }
        return self._done("data", found)

    def choose_features(
        self, *, add: Mapping[str, str] | None = None, drop: Sequence[str] = (), compare: bool = True
    ) -> SelectedFeatures:
        """Phase 3: add columns, as expressions of others, and drop some; warnings look at no test row."""
        self._needs("features")
        data = self._read()
        found = select_features(
            data, add=add, drop=drop, rows=self._plan(data, ()).rows, compare=compare, seed=self._kept["seed"]
        )
        kept = {"add": dict(add or {}), "drop": list(drop), "names": list(found.names), "count": found.count}
        self._done("features", kept | {"warnings": list(found.warnings)})
        return found

    def choose_models(self, names: Sequence[str] = (), *, interpretable: bool = False) -> Mapping[str, Any]:
        """Phase 4: the learners to compare, by default a portfolio; the baselines are always among them."""
        self._needs("models")
        data = self._table()
        plan = self._plan(data, names)
        advice = tree_suitability(_subset(data, plan.rows), interpretable=interpretable, seed=self._kept["seed"])
        found = {
            "names": list(names),
            "learners": [learner.name for learner in plan.learners],
            "left_out": dict(plan.skipped),
            "advice": str(advice).splitlines(),
        }
        return self._done("models", found)

    def train(self, *, jobs: int = 1) -> Results:
        """Phase 5: tune, validate and compare the learners on the rows outside the test set."""
        self._needs("training")
        plan = self._plan(self._table(), self._kept["phases"]["models"]["names"])
        with Journal.create(":memory:", {}) as journal, make_workers(plan.data, jobs) as workers:
            plan = fit_to_budget(
                plan, measure_costs(plan, workers), None, jobs
            )  # limits of time by what each learner costs here
            run_pending(plan, journal, workers)
            results = judge_outcomes(plan, read_outcomes(plan, journal))
        if not results.judged:
            told = "; ".join(f"{outcome.learner.name}: {outcome.failure}" for outcome in results.failed)
            raise BadInput(f"every learner failed: {told}. Revise the features or the models")
        self._done("training", to_plain_values(_validation_record(results)))
        return results

    def revise(self, phase: Phase, why: str = "") -> None:
        """Go back to a phase: it and those after it are to be done again; what they came to is kept as a round."""
        if phase not in PHASES[1:5]:
            raise BadInput(f"a phase to revise is one of {', '.join(PHASES[1:5])}; got {phase!r}")
        if phase not in self._kept["phases"]:
            raise BadInput(f"{PHASE_TITLES[phase]} is not done yet; there is nothing to revise")
        phases = self._kept["phases"]
        trained = phases.get("training", {})
        left = {
            "round": self.round,
            "revised": phase,
            "why": why,
            "features": phases.get("features", {}).get("count"),
            "best": trained.get("best"),
            "validation": trained.get("validation"),
        }
        self._kept["rounds"].append(left)
        self._kept["round"] += 1
        self._kept["phases"] = {name: phases[name] for name in PHASES[: PHASES.index(phase)]}
        self._save()

    def evaluate(self) -> Mapping[str, Any]:
        """Phase 6: fit the best learner on all other rows and judge it on the test rows, which are opened once."""
        if self._kept["opened"] is not None:
            raise BadInput(
                f"the test rows were opened in round {self._kept['opened']} and are no longer unseen: what was revised "
                "since was chosen by them. Judge this model on new rows, in a new workflow"
            )
        self._needs("evaluation")
        data, trained = self._table(), self._kept["phases"]["training"]
        plan = self._plan(data, self._kept["phases"]["models"]["names"])
        learner = next(one for one in plan.learners if one.name == trained["best"])
        model, choice = tune_and_fit(data, learner, plan.rows, plan)
        answers, y = CachedPredictions(model, data.X[plan.holdout]), data.y[plan.holdout]
        scores = {score.name: score.function(answers, y) for score in plan.scores}
        found: dict[str, Any] = {
            "learner": learner.name,
            "settings": dict(choice.parameters),
            "rows": len(y),
            "scores": scores,
            "validation": trained["validation"],
            "compared": trained["leaderboard"],
            "per_class": _class_recalls(answers.predictions, y) if data.task == "classification" else {},
        }
        missed = [f"{label} ({share:.0%})" for label, share in found["per_class"].items() if share < MIN_CLASS_RECALL]
        found["weaknesses"] = trained["weaknesses"] + (
            [{"phase": "data", "why": f"fewer than half of {', '.join(missed)} are found: collect more of them"}]
            if missed
            else []
        )
        self._kept["opened"] = self.round
        self._done("evaluation", to_plain_values(found))
        self.report()
        return self._kept["phases"]["evaluation"]

    def report(self) -> Path:
        """Write report.md: a section for each phase that is done, and the rounds before."""
        from fivefold.study.guide.workflow_report import render_report

        path = self.folder / REPORT_FILE
        path.write_text(render_report(self), encoding="utf-8")
        return path

    # Inside

    def _needs(self, phase: Phase) -> None:
        before = PHASES[: PHASES.index(phase)]
        if missing := [name for name in before if name not in self._kept["phases"]]:
            raise BadInput(f"{PHASE_TITLES[phase]} comes after {PHASE_TITLES[missing[0]]}: do that first")
        if phase in self._kept["phases"]:
            raise BadInput(f"{PHASE_TITLES[phase]} is done; revise it to do it again")

    def _done(self, phase: Phase, outcome: Mapping[str, Any]) -> Mapping[str, Any]:
        self._kept["phases"][phase] = dict(outcome)
        self._save()
        return outcome

    def _save(self) -> None:
        partial = self.folder / (WORKFLOW_FILE + ".part")
        partial.write_text(json.dumps(self._kept, indent=1, ensure_ascii=False, default=str), encoding="utf-8")
        partial.replace(self.folder / WORKFLOW_FILE)  # a workflow is whole or as it was

    def _read(self) -> Data:
        data = self.problem.data()
        if data.digest != self._kept["phases"]["data"]["digest"]:
            raise BadInput(f"{data.name} has changed since it was read; revise the data, and what follows from them")
        return data

    def _table(self) -> Data:
        """The table with the features that were chosen."""
        chosen = self._kept["phases"]["features"]
        data = self._read()
        return apply_features(data, add=chosen["add"], drop=chosen["drop"])[0]

    def _plan(self, data: Data, names: Sequence[str]) -> Plan:
        """The study of these learners; which rows are test rows depends on the targets and the seed alone."""
        return make_plan(
            data, names, score=self.problem.performance, seed=self._kept["seed"], holdout=self._kept["test"], repeats=1
        )


def _subset(data: Data, rows: np.ndarray) -> Data:
    groups, time = (None if part is None else part[rows] for part in (data.groups, data.time))
    return replace(data, X=data.X[rows], y=data.y[rows], groups=groups, time=time, rows=None)


def _validation_record(results: Results) -> dict[str, Any]:
    """What training came to: the learners in order, with intervals and tests, and what is weak."""
    name = results.score.name
    board = [
        {
            "learner": judged.name,
            "mean": judged.estimates[name].mean,
            "low": judged.estimates[name].low,
            "high": judged.estimates[name].high,
            "training": float(np.mean([fold.train_score[name] for fold in judged.outcome.folds])),
            "p_value": judged.adjusted_p,
            "baseline": judged.outcome.learner.baseline,
        }
        for judged in results.judged
    ]
    return {
        "score": name,
        "best": board[0]["learner"],
        "validation": board[0]["mean"],
        "alike": list(results.alike),
        "leaderboard": board,
        "failed": {outcome.learner.name: outcome.failure for outcome in results.failed},
        "splits": len(results.plan.splits),
        "weaknesses": _find_weaknesses(results, board),
    }


def _find_weaknesses(results: Results, board: list[dict[str, Any]]) -> list[dict[str, str]]:
    """What is weak, and the phase that may mend it."""
    score, best = results.score, board[0]
    dummies = [entry for entry in board if entry["baseline"]]
    found = []
    if best["baseline"] or any(entry["p_value"] > 0.05 for entry in dummies):
        found.append(("features", "no learner clearly beats one that looks at no feature: add features that tell"))
    level = min((score.loss(entry["mean"]) for entry in dummies), default=math.nan)
    own, new = score.loss(best["training"]), score.loss(best["mean"])
    perfect = score.loss(score.high if score.larger_is_better else score.low)
    if np.isfinite([level, perfect]).all() and level > perfect and not best["baseline"]:
        way = level - perfect  # from knowing nothing to knowing all
        if (new - own) / way > OVERFIT_GAP:
            found.append(("data", "training rows are fitted far better than others: more rows, or fewer features"))
        elif (level - own) / way < UNDERFIT_GAIN:
            found.append(("models", "even training rows are hardly fitted: try richer models or better features"))
    if results.failed:
        names = ", ".join(outcome.learner.name for outcome in results.failed)
        found.append(("models", f"{names} failed: leave them out or see why"))
    return [{"phase": phase, "why": why} for phase, why in found]


def _class_recalls(predicted: Any, y: Target) -> dict[str, float]:
    """Share of each class that is found."""
    return {str(label): float(np.mean(predicted[y == label] == label)) for label in np.unique(y)}
