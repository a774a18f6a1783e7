"""The machine-learning cycle as a guided workflow: six phases, each with a stored outcome, and a way back.

    1 task         what is learned, by which measure, from what: a `LearningProblem`
    2 data         the table is read; test rows are drawn by the seed and locked away
    3 features     columns are added, dropped and counted, with warnings about too few, too many and noisy ones
    4 models       learners are chosen, with advice on what suits the table
    5 training     learners are tuned and validated by nested cross-validation on the other rows, and compared by tests
    6 evaluation   the best one is fitted and tested on the test rows, once; its weaknesses point back to a phase

Between 5 and 6 is the cycle: look at the validation, revise a phase, go through the later ones again. No phase before
the sixth sees test rows, and the sixth sees them once: after that, a revised model cannot be tested on them again.

Everything is stored in FOLDER/workflow.json, so a workflow can be left and continued later, and report.md has a section
per phase.
"""

from __future__ import annotations

import json
from collections.abc import Mapping, Sequence
from dataclasses import asdict
from pathlib import Path
from typing import Any, Literal, get_args

import numpy as np

from fivefold.core.storage.atomic_write import write_text
from fivefold.core.types import Labels, Target
from fivefold.evaluation.scores import CachedPredictions
from fivefold.study.environment import to_plain_values
from fivefold.study.guide.advice import tree_suitability
from fivefold.study.guide.feature_selection import SelectedFeatures, apply_features, select_features
from fivefold.study.guide.problem import LearningProblem
from fivefold.study.judging.learner_fit import LearnerFit, learner_fit
from fivefold.study.judging.results import Results, judge_outcomes
from fivefold.study.planning.plan import Plan, make_plan
from fivefold.study.running.budget import fit_to_budget
from fivefold.study.running.fold import score_all, tune_and_fit
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
FIT_WEAKNESSES: dict[LearnerFit, tuple[Phase, str]] = {
    "overfit": ("data", "training rows are predicted far better than others: get more rows, or use fewer features"),
    "underfit": ("models", "even training rows are predicted badly: try richer models or better features"),
    "overconfident": ("models", "its probabilities are too close to 0 and 1: use its classes, or calibrate it"),
}
MIN_CLASS_RECALL = 0.5  # a class with a smaller recall is named as a weakness


class Workflow:
    """A workflow in a folder; `begin` creates one, `Workflow(folder)` continues it.

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
            self._record: dict[str, Any] = json.loads((self.folder / WORKFLOW_FILE).read_text(encoding="utf-8"))
            self.problem = LearningProblem.from_dict(self._record["problem"])
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
        """Phase 1: store the card of the problem; refused if a part of it is missing."""
        problem.check()
        folder = Path(folder)
        if (folder / WORKFLOW_FILE).exists() and not overwrite:
            raise BadInput(f"{folder} holds a workflow already; continue it, or name another folder")
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
        write_text(folder / WORKFLOW_FILE, json.dumps(begun, indent=1, ensure_ascii=False))
        return cls(folder)

    # Its state

    @property
    def outcomes(self) -> Mapping[Phase, Any]:
        """The outcome of every finished phase."""
        return dict(self._record["phases"])

    @property
    def next(self) -> Phase | None:
        """The first phase that is not done."""
        return next((phase for phase in PHASES if phase not in self._record["phases"]), None)

    @property
    def round(self) -> int:
        """The number of the present round of the cycle, from 1."""
        return int(self._record["round"])

    @property
    def rounds(self) -> tuple[Mapping[str, Any], ...]:
        """Earlier rounds: what was revised, and the validation that led to it."""
        return tuple(self._record["rounds"])

    def __str__(self) -> str:
        marks = {phase: "done" if phase in self._record["phases"] else "    " for phase in PHASES}
        lines = [f"{i} {marks[phase]} {PHASE_TITLES[phase]}" for i, phase in enumerate(PHASES, 1)]
        return "\n".join([f"{self.problem.task}, round {self.round}", *lines])

    # The phases

    def read_data(self) -> Mapping[str, Any]:
        """Phase 2: read the table and lock the test rows away."""
        self._require("data")
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
        return self._finish("data", found)

    def choose_features(
        self, *, add: Mapping[str, str] | None = None, drop: Sequence[str] = (), compare: bool = True
    ) -> SelectedFeatures:
        """Phase 3: add columns, as expressions of others, and drop some; warnings ignore the test rows."""
        self._require("features")
        data = self._read()
        found = select_features(
            data, add=add, drop=drop, rows=self._plan(data, ()).rows, compare=compare, seed=self._record["seed"]
        )
        chosen = {"add": dict(add or {}), "drop": list(drop), "names": list(found.names), "count": found.count}
        self._finish("features", chosen | {"warnings": list(found.warnings)})
        return found

    def choose_models(self, names: Sequence[str] = (), *, interpretable: bool = False) -> Mapping[str, Any]:
        """Phase 4: the learners to compare, by default a portfolio; the baselines are always included."""
        self._require("models")
        data = self._table()
        plan = self._plan(data, names)
        advice = tree_suitability(data.take(plan.rows), interpretable=interpretable, seed=self._record["seed"])
        found = {
            "names": list(names),
            "learners": [learner.name for learner in plan.learners],
            "left_out": dict(plan.skipped),
            "advice": str(advice).splitlines(),
        }
        return self._finish("models", found)

    def train(self, *, jobs: int = 1) -> Results:
        """Phase 5: tune, validate and compare the learners on the rows outside the test set."""
        self._require("training")
        plan = self._plan(self._table(), self._record["phases"]["models"]["names"])
        with Journal.create(":memory:", {}) as journal, make_workers(plan.data, jobs) as workers:
            costs = measure_costs(plan, workers).costs  # time limits follow the cost of each learner
            plan = fit_to_budget(plan, costs, None, jobs)
            run_pending(plan, journal, workers)
            results = judge_outcomes(plan, read_outcomes(plan, journal))
        if not results.judged:
            reasons = "; ".join(f"{outcome.learner.name}: {outcome.failure}" for outcome in results.failed)
            raise BadInput(f"every learner failed: {reasons}. Revise the features or the models")
        self._finish("training", to_plain_values(_validation_record(results)))
        return results

    def revise(self, phase: Phase, why: str = "") -> None:
        """Go back to a phase: it and the later ones are done again; their outcomes are stored as a round."""
        if phase not in PHASES[1:5]:
            raise BadInput(f"a phase to revise is one of {', '.join(PHASES[1:5])}; got {phase!r}")
        if phase not in self._record["phases"]:
            raise BadInput(f"{PHASE_TITLES[phase]} is not done yet; there is nothing to revise")
        phases = self._record["phases"]
        trained = phases.get("training", {})
        finished = {
            "round": self.round,
            "revised": phase,
            "why": why,
            "features": phases.get("features", {}).get("count"),
            "best": trained.get("best"),
            "validation": trained.get("validation"),
        }
        self._record["rounds"].append(finished)
        self._record["round"] += 1
        self._record["phases"] = {name: phases[name] for name in PHASES[: PHASES.index(phase)]}
        self._save()

    def evaluate(self) -> Mapping[str, Any]:
        """Phase 6: fit the best learner on all other rows and test it on the test rows, which are opened once."""
        if self._record["opened"] is not None:
            raise BadInput(
                f"the test rows were opened in round {self._record['opened']} and are no longer unseen: later "
                "revisions depend on them. Test this model on new rows, in a new workflow"
            )
        self._require("evaluation")
        data, trained = self._table(), self._record["phases"]["training"]
        plan = self._plan(data, self._record["phases"]["models"]["names"])
        learner = next(one for one in plan.learners if one.name == trained["best"])
        model, choice = tune_and_fit(data, learner, plan.rows, plan)
        answers, y = CachedPredictions(model, data.X[plan.holdout]), data.y[plan.holdout]
        found: dict[str, Any] = {
            "learner": learner.name,
            "settings": dict(choice.parameters),
            "rows": len(y),
            "scores": score_all(plan.scores, answers, y),
            "validation": trained["validation"],
            "compared": trained["leaderboard"],
            "per_class": _class_recalls(answers.predictions, y) if data.task.is_classification else {},
        }
        missed = [f"{label} ({share:.0%})" for label, share in found["per_class"].items() if share < MIN_CLASS_RECALL]
        found["weaknesses"] = trained["weaknesses"] + (
            [{"phase": "data", "why": f"fewer than half of {', '.join(missed)} are found: collect more of these"}]
            if missed
            else []
        )
        self._record["opened"] = self.round
        self._finish("evaluation", to_plain_values(found))
        self.report()
        return self._record["phases"]["evaluation"]

    def report(self) -> Path:
        """Write report.md: a section per finished phase, and the earlier rounds."""
        from fivefold.study.guide.workflow_report import render_report

        path = self.folder / REPORT_FILE
        path.write_text(render_report(self), encoding="utf-8")
        return path

    # Internals

    def _require(self, phase: Phase) -> None:
        before = PHASES[: PHASES.index(phase)]
        if missing := [name for name in before if name not in self._record["phases"]]:
            raise BadInput(f"{PHASE_TITLES[phase]} comes after {PHASE_TITLES[missing[0]]}: do that first")
        if phase in self._record["phases"]:
            raise BadInput(f"{PHASE_TITLES[phase]} is done; revise it to do it again")

    def _finish(self, phase: Phase, outcome: Mapping[str, Any]) -> Mapping[str, Any]:
        self._record["phases"][phase] = dict(outcome)
        self._save()
        return outcome

    def _save(self) -> None:
        text = json.dumps(self._record, indent=1, ensure_ascii=False, default=str)
        write_text(self.folder / WORKFLOW_FILE, text)

    def _read(self) -> Data:
        data = self.problem.data()
        if data.digest != self._record["phases"]["data"]["digest"]:
            raise BadInput(f"{data.name} has changed since it was read; revise the data and the later phases")
        return data

    def _table(self) -> Data:
        """The table with the chosen features."""
        chosen = self._record["phases"]["features"]
        data = self._read()
        return apply_features(data, add=chosen["add"], drop=chosen["drop"])[0]

    def _plan(self, data: Data, names: Sequence[str]) -> Plan:
        """The study of these learners; which rows are test rows depends on the targets and the seed alone."""
        return make_plan(
            data,
            names,
            score=self.problem.performance,
            seed=self._record["seed"],
            holdout=self._record["test"],
            repeats=1,
        )


def _validation_record(results: Results) -> dict[str, Any]:
    """The outcome of training: the learners in order, with intervals and tests, and weaknesses."""
    name = results.score.name
    board = [
        {
            "learner": judged.name,
            "mean": judged.estimates[name].mean,
            "low": judged.estimates[name].low,
            "high": judged.estimates[name].high,
            "training": float(np.mean([fold.train_score[name] for fold in judged.outcome.folds])),
            "p_value": judged.p_value,
            "worse": judged.worse,
            "baseline": judged.outcome.learner.baseline,
        }
        for judged in results.judged
    ]
    return {
        "score": name,
        "best": board[0]["learner"],
        "validation": board[0]["mean"],
        "equal": list(results.equal),
        "undecided": list(results.undecided),
        "leaderboard": board,
        "failed": {outcome.learner.name: outcome.failure for outcome in results.failed},
        "splits": len(results.plan.splits),
        "weaknesses": _find_weaknesses(results, board),
    }


def _find_weaknesses(results: Results, board: list[dict[str, Any]]) -> list[dict[str, str]]:
    """Weaknesses, each with the phase that may remedy it."""
    best = board[0]
    baselines = [entry for entry in board if entry["baseline"]]
    found = []
    if best["baseline"] or not all(entry["worse"] for entry in baselines):
        found.append(
            (
                "features",
                "no learner is shown to be better than the baselines, which use no features: add better features",
            )
        )
    if (fit := learner_fit(results, results.judged[0])) in FIT_WEAKNESSES:
        found.append(FIT_WEAKNESSES[fit])
    if results.failed:
        names = ", ".join(outcome.learner.name for outcome in results.failed)
        found.append(("models", f"{names} failed: leave them out or see why"))
    return [{"phase": phase, "why": why} for phase, why in found]


def _class_recalls(predicted: Labels, y: Target) -> dict[str, float]:
    """The recall of each class."""
    return {str(label): float(np.mean(predicted[y == label] == label)) for label in np.unique(y)}
