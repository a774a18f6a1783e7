"""A learning problem's performance as its experience grows."""

from __future__ import annotations

from collections.abc import Sequence
from typing import TYPE_CHECKING, Protocol

import numpy as np

from fivefold.core.types import Matrix, Vector
from fivefold.evaluation.scores import Score
from fivefold.plot.style import axes, colour, legend, marker

if TYPE_CHECKING:
    from matplotlib.axes import Axes


class PerformanceCurve(Protocol):
    """A measure on unseen rows for several numbers of training rows, as `LearningProblem.learning_curve` gives it."""

    @property
    def method(self) -> str: ...
    @property
    def score(self) -> Score: ...
    @property
    def rows(self) -> Sequence[int]: ...
    @property
    def values(self) -> Matrix: ...
    @property
    def mean(self) -> Vector: ...
    @property
    def learns(self) -> bool: ...


def experience(curve: PerformanceCurve, *, ax: Axes | None = None) -> Axes:
    """The measure P on unseen rows against the number of training rows: `LearningProblem.learning_curve` drawn.

    The band is one standard deviation over the splits to either side.

    Examples
    --------
    >>> from fivefold.study.guide.problem import Experience, LearningProblem
    >>> problem = LearningProblem("tell the species of an iris", "accuracy", Experience("iris"))
    >>> ax = experience(problem.learning_curve("GaussianNB", shares=(0.1, 1.0)))
    >>> ax.get_xlabel(), ax.get_ylabel()
    ('rows to learn from', 'accuracy')
    """
    direction = "improves" if curve.learns else "does not improve"
    title = f"{curve.method} {direction} with experience"
    ax = axes(ax, title=title, x="rows to learn from", y=curve.score.title)
    rows, mean, spread = np.array(curve.rows), curve.mean, curve.values.std(axis=1)
    ax.fill_between(rows, mean - spread, mean + spread, color=colour(0), alpha=0.15, lw=0, label="spread over splits")
    ax.plot(rows, mean, color=colour(0), marker=marker(0), ms=4, lw=1.8, label="unseen rows")
    legend(ax, loc="best")
    return ax
