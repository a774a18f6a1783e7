"""A learning problem: a task T, a performance measure P, and experience E.

A program learns from E if its performance P on T improves with E (Mitchell, 1997). The card of a problem names all
three, with side tasks that share the experience; nothing is trained while P is missing, because then learning could not
be measured. A curve shows whether a method learns: P on unseen rows, as rows are added to E.
"""

from __future__ import annotations

import json
from collections.abc import Mapping, Sequence
from dataclasses import asdict, dataclass, field
from pathlib import Path
from typing import Any

import numpy as np

from fivefold.evaluation.scores import SCORES, Score
from fivefold.study.models.model_file import ModelFile
from fivefold.study.models.winner import fit_method
from fivefold.study.planning.plan import Plan, make_plan
from fivefold.study.planning.portfolio import LearnerRequest
from fivefold.study.running.fold import scores_at_share
from fivefold.study.tables.dataset import BadInput, Data, load

EXPERIENCE_SHARES = (0.05, 0.1, 0.2, 0.4, 0.7, 1.0)  # of the training rows


@dataclass(frozen=True)
class Experience:
    """Where examples come from, and the roles of their columns, as in the options of `fivefold study`."""

    source: str
    target: str | None = None
    kinds: Mapping[str, str] = field(default_factory=dict)
    group: str | None = None
    time: str | None = None


@dataclass(frozen=True)
class ExperienceCurve:
    """Performance on unseen rows, per split, for several numbers of training rows."""

    method: str
    score: Score
    rows: tuple[int, ...]  # (V,)
    values: np.ndarray  # (V, J)

    @property
    def mean(self) -> np.ndarray:
        """Mean performance at every number of rows, (V,)."""
        return np.asarray(self.values.mean(axis=1))

    @property
    def learns(self) -> bool:
        """Is performance better with the most rows than with the fewest?"""
        first, last = (self.score.loss(float(self.mean[i])) for i in (0, -1))
        return last < first

    def __str__(self) -> str:
        steps = ", ".join(f"{n}: {value:.4g}" for n, value in zip(self.rows, self.mean, strict=True))
        verdict = "improves with experience" if self.learns else "does not improve with experience"
        return f"{self.method}: {self.score.title} {verdict}; by rows {steps}"


@dataclass(frozen=True)
class LearningProblem:
    """The card of a learning problem: task T, performance P and experience E.

    Parameters
    ----------
    task
        T, in words: what is to be done.
    performance
        P, the name of a score: log_loss, accuracy, balanced_accuracy, f1, auc, rmse, mae, r2, correlation.
    experience
        E, the examples.
    side_tasks
        Related problems, such as another target of the same table.
    kind
        classification or regression, if the values of the target mislead.

    Examples
    --------
    >>> from dataclasses import replace
    >>> problem = LearningProblem("tell the species of an iris", "accuracy", Experience("iris"))
    >>> print(problem)
    T  tell the species of an iris
    P  accuracy
    E  iris
    >>> replace(problem, performance=None).train("GaussianNB")
    Traceback (most recent call last):
        ...
    fivefold.study.tables.table.BadInput: tell the species of an iris: the performance measure P is missing; ...
    """

    task: str
    performance: str | None = None
    experience: Experience | None = None
    side_tasks: tuple[LearningProblem, ...] = ()
    kind: str | None = None

    def __str__(self) -> str:
        where = "missing" if self.experience is None else self.experience.source
        if self.experience is not None and self.experience.target:
            where += f", column {self.experience.target!r}"
        lines = [f"T  {self.task}", f"P  {self.performance or 'missing'}", f"E  {where}"]
        for side in self.side_tasks:
            lines += [f"beside it: {str(side).splitlines()[0]}", *(f"  {line}" for line in str(side).splitlines()[1:])]
        return "\n".join(lines)

    def check(self) -> None:
        """Refuse a card with a missing part or an unknown measure."""
        if not self.task.strip():
            raise BadInput("the task T is missing; say in words what is to be done")
        if self.performance is None:
            raise BadInput(
                f"{self.task}: the performance measure P is missing; without it, learning cannot be measured. "
                f"Choose one of {', '.join(SCORES)}"
            )
        if self.performance not in SCORES:
            raise BadInput(f"{self.task}: no measure is called {self.performance!r}; there are {', '.join(SCORES)}")
        if self.experience is None:
            raise BadInput(f"{self.task}: the experience E is missing; name a table and the column to predict")
        for side in self.side_tasks:
            side.check()

    def data(self) -> Data:
        """The examples, read and checked against the measure."""
        self.check()
        e = self.experience
        assert e is not None
        data = load(e.source, e.target, self.kind, kinds=e.kinds, group=e.group, time=e.time)
        if SCORES[str(self.performance)].task != data.task:
            fitting = [score.name for score in SCORES.values() if score.task == data.task]
            raise BadInput(
                f"{self.task}: {self.performance} does not measure {data.task}, which column {data.target!r} asks for; "
                f"choose one of {', '.join(fitting)}"
            )
        return data

    def plan(self, names: Sequence[LearnerRequest] = (), **options: Any) -> Plan:
        """The plan of a study of these methods, ranked by P."""
        return make_plan(self.data(), names, score=self.performance, **options)

    def train(self, method: str, parameters: Mapping[str, Any] | None = None, *, seed: int = 0) -> ModelFile:
        """One method fitted on all of the experience; refused if a part of the card is missing."""
        return fit_method(self.data(), method, dict(parameters or {}), seed=seed)

    def learning_curve(
        self, method: str, *, shares: Sequence[float] = EXPERIENCE_SHARES, folds: int = 5, seed: int = 0
    ) -> ExperienceCurve:
        """P on unseen rows as E grows: nested shares of the training rows of every fold.

        `plot.experience` draws it.
        """
        plan = self.plan([method], folds=folds, repeats=1, holdout=0.0, seed=seed)
        learner, defaults = plan.learners[0], [(split, dict[str, Any]()) for split in plan.splits]
        parts = [scores_at_share(plan, learner, defaults, share) for share in sorted(shares)]
        used = tuple(round(float(sizes.mean())) for sizes, _ in parts)
        return ExperienceCurve(learner.name, plan.scores[0], used, np.array([scores[:, 1] for _, scores in parts]))

    def save(self, path: str | Path) -> Path:
        """Write the card as JSON."""
        path = Path(path)
        path.write_text(json.dumps(asdict(self), indent=1, ensure_ascii=False) + "\n", encoding="utf-8")
        return path

    @classmethod
    def read(cls, path: str | Path) -> LearningProblem:
        """The card in a file."""
        try:
            return cls.from_dict(json.loads(Path(path).read_text(encoding="utf-8")))
        except (OSError, ValueError, TypeError) as error:
            raise BadInput(f"{path} holds no learning problem ({type(error).__name__}: {error})") from None

    @classmethod
    def from_dict(cls, values: Mapping[str, Any]) -> LearningProblem:
        """A card from plain values, as `save` writes them."""
        parts = dict(values)
        experience = parts.pop("experience", None)
        sides = tuple(cls.from_dict(side) for side in parts.pop("side_tasks", ()))
        return cls(**parts, experience=None if experience is None else Experience(**experience), side_tasks=sides)
