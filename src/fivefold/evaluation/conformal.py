"""Intervals and sets that hold the truth with a chosen probability, around any model.

Scores s_1, ..., s_n say how badly labelled rows that the model has not seen fit its predictions. If those rows and the
next one are exchangeable, the rank of the next score among them is uniform, so that

    p(y) = (1 + #{i: s_i >= s(x, y)}) / (n + 1)      and      {y: p(y) > alpha}

holds the truth with probability at least 1 - alpha, whatever the model and the source, averaged over calibration rows
and new rows; it need not hold at every x.

    interval    |y - f(x)| / scale(x)                          split conformal
    LAC         1 - p(y | x)                                   the smallest sets on average
    APS         probability of the classes before y + u p(y | x)     more even over x; u = 1, or random in (0, 1)
    by class    ranks among rows of the same class             the guarantee holds for every class (Mondrian)

Vovk, Gammerman & Shafer (2005); Papadopoulos et al. (2002), split; Sadinle, Lei & Wasserman (2019), LAC; Romano, Sesia
& Candes (2020), APS.
"""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass, field
from typing import Protocol

import numpy as np

from fivefold.core.types import Array, Codes, Indices, Labels, Mask, Matrix, Table, Target, Vector
from fivefold.evaluation.protocols import FittedClassifier, FittedModel, Label

ROUNDING = 1e-9  # ranks are integers; alpha (n + 1) within this of an integer counts as that integer
EXCHANGEABLE = "calibration rows and new rows are exchangeable, as independent draws from one source are"
UNSEEN_CALIBRATION = "the model was fitted without the calibration rows"


def conformal_rank(n: int, alpha: float) -> int:
    """k such that the k-th smallest of n scores is exceeded by the next with probability at most alpha; n + 1 if none.

    Examples
    --------
    >>> conformal_rank(19, 0.05), conformal_rank(18, 0.05)
    (19, 19)
    """
    if not 0 < alpha < 1:
        raise ValueError(f"alpha, the share of truths that may be missed, lies between 0 and 1; got {alpha}")
    return min(int(np.ceil((n + 1) * (1 - alpha) - ROUNDING)), n + 1)


@dataclass(frozen=True)
class PredictionIntervals:
    """An interval for the target of every row.

    Attributes
    ----------
    centre
        what the model predicts, (m,).
    low, high
        ends, (m,); infinite if there are too few calibration rows for the level.
    level
        the least probability that a target lies inside.
    """

    centre: Vector
    low: Vector
    high: Vector
    level: float
    assumptions: tuple[str, ...] = (EXCHANGEABLE, UNSEEN_CALIBRATION)

    def cover(self, y: Target) -> Mask:
        """Does each interval hold its target?"""
        return (self.low <= np.asarray(y)) & (np.asarray(y) <= self.high)

    def __str__(self) -> str:
        width = float(np.median(self.high - self.low))
        return f"{len(self.low)} intervals, each with the target inside at {self.level:.4g}; median width {width:.4g}"


@dataclass(frozen=True)
class ConformalRegressor:
    """A fitted regressor and its scores on rows it has not seen; made by `conformal_regressor`."""

    model: FittedModel
    scores: Vector = field(repr=False)  # (n,), sorted
    scale: Callable[[Table], Array] | None = None

    def interval(self, X: Table, alpha: float = 0.1) -> PredictionIntervals:
        """Intervals that miss the target with probability at most alpha."""
        k, n = conformal_rank(len(self.scores), alpha), len(self.scores)
        half = (self.scores[k - 1] if k <= n else np.inf) * _scale(self.scale, X)
        centre = self.model.predict(X)
        return PredictionIntervals(centre, centre - half, centre + half, 1 - alpha)


def conformal_regressor(
    model: FittedModel, X: Table, y: Target, *, scale: Callable[[Table], Array] | None = None
) -> ConformalRegressor:
    """Calibrate a fitted regressor on rows it has not seen.

    `scale(X)` is one positive number per row, the expected size of its error: intervals are wider where it is large.

    Examples
    --------
    >>> from sklearn.datasets import load_diabetes
    >>> from fivefold.linear_model import Ridge
    >>> X, y = load_diabetes(return_X_y=True)
    >>> model = conformal_regressor(Ridge(alpha=0.1).fit(X[:200], y[:200]), X[200:320], y[200:320])
    >>> found = model.interval(X[320:], alpha=0.2)
    >>> print(found)
    122 intervals, each with the target inside at 0.8; median width 163.5
    >>> bool(found.cover(y[320:]).mean() > 0.7)
    True
    """
    residuals = np.abs(np.asarray(y) - model.predict(X)) / _scale(scale, X)
    return ConformalRegressor(model, np.sort(residuals), scale)


def _scale(scale: Callable[[Table], Array] | None, X: Table) -> Vector | float:
    if scale is None:
        return 1.0
    values = np.asarray(scale(X), dtype=float)
    if not (values > 0).all():
        raise ValueError(f"scale must be positive on every row; its least value is {values.min():.4g}")
    return values


class NonconformityScore(Protocol):
    """Nonconformity (n, K) of every class, from class probabilities (n, K)."""

    def __call__(self, P: Matrix) -> Matrix: ...


@dataclass(frozen=True)
class LAC:
    """Least ambiguous classes: 1 - p(y | x)."""

    def __call__(self, P: Matrix) -> Matrix:
        return 1.0 - P


LEAST_AMBIGUOUS = LAC()


@dataclass(frozen=True)
class APS:
    """Adaptive sets: the probability of all classes more probable than y, plus the fraction u of y's own.

    Parameters
    ----------
    rng
        draws u in (0, 1) for each row, which makes sets smaller; if None, u is 1.
    """

    rng: np.random.Generator | None = None

    def __call__(self, P: Matrix) -> Matrix:
        order = np.argsort(-P, axis=1, kind="stable")
        ranked = np.take_along_axis(P, order, axis=1)
        u = 1.0 if self.rng is None else self.rng.random((len(P), 1))
        S = np.empty_like(ranked)
        np.put_along_axis(S, order, np.cumsum(ranked, axis=1) - (1 - u) * ranked, axis=1)
        return S


@dataclass(frozen=True)
class PredictionSets:
    """A set of classes for every row.

    Attributes
    ----------
    members
        is the class in the set? (m, K).
    classes
        the classes, (K,).
    level
        the least probability that the true class is inside.
    """

    members: Mask
    classes: Labels
    level: float
    assumptions: tuple[str, ...] = (EXCHANGEABLE, UNSEEN_CALIBRATION)

    @property
    def sizes(self) -> Codes:
        """Number of classes in each set; 0 means that the row resembles no class."""
        return self.members.sum(axis=1)

    def cover(self, y: Target) -> Mask:
        """Does each set hold the true class?"""
        k, known = _class_codes(self.classes, y)
        return self.members[np.arange(len(k)), k] & known

    def labels(self) -> tuple[tuple[Label, ...], ...]:
        """The classes of each set."""
        return tuple(tuple(self.classes[row].tolist()) for row in self.members)

    def __str__(self) -> str:
        sizes = ", ".join(f"{count} of size {size}" for size, count in enumerate(np.bincount(self.sizes)) if count)
        return f"{len(self.members)} sets, each with the true class inside at {self.level:.4g}: {sizes}"


@dataclass(frozen=True)
class ConformalClassifier:
    """A fitted classifier and its scores on rows it has not seen; made by `conformal_classifier`."""

    model: FittedClassifier
    score: NonconformityScore
    scores: tuple[Vector, ...] = field(repr=False)  # sorted; one array, or one per class

    def p_values(self, X: Table) -> Matrix:
        """For every class (m, K), the share of calibration rows that fit no better than the row would in that class."""
        S = self.score(np.asarray(self.model.predict_proba(X)))
        reference = self.scores if len(self.scores) > 1 else self.scores * S.shape[1]
        counts = [len(r) - np.searchsorted(r, S[:, k], side="left") for k, r in enumerate(reference)]
        sizes = np.array([len(r) for r in reference])
        return (1 + np.array(counts).T) / (1 + sizes)

    def sets(self, X: Table, alpha: float = 0.1) -> PredictionSets:
        """Sets that miss the true class with probability at most alpha."""
        conformal_rank(1, alpha)  # refuses an alpha that is not a probability
        assumptions = (EXCHANGEABLE, UNSEEN_CALIBRATION)
        if len(self.scores) > 1:
            assumptions = ("within every class, " + EXCHANGEABLE, UNSEEN_CALIBRATION)
        return PredictionSets(
            self.p_values(X) > alpha + ROUNDING, np.asarray(self.model.classes_), 1 - alpha, assumptions
        )


def conformal_classifier(
    model: FittedClassifier,
    X: Table,
    y: Target,
    *,
    score: NonconformityScore = LEAST_AMBIGUOUS,
    by_class: bool = False,
) -> ConformalClassifier:
    """Calibrate a fitted classifier on rows it has not seen; `by_class` guarantees the level for every class.

    Examples
    --------
    >>> from sklearn.datasets import load_iris
    >>> from fivefold.naive_bayes import GaussianNB
    >>> X, y = load_iris(return_X_y=True)
    >>> model = conformal_classifier(GaussianNB().fit(X[::3], y[::3]), X[1::3], y[1::3])
    >>> print(model.sets(X[2::3], alpha=0.05))
    50 sets, each with the true class inside at 0.95: 45 of size 1, 5 of size 2
    """
    S = score(np.asarray(model.predict_proba(X)))
    classes = np.asarray(model.classes_)
    k, known = _class_codes(classes, y)
    own = np.where(known, S[np.arange(len(k)), k], np.inf)  # unknown classes get the worst score
    groups = [own[known & (k == j)] for j in range(len(classes))] if by_class else [own]
    return ConformalClassifier(model, score, tuple(np.sort(group) for group in groups))


def _class_codes(classes: Labels, y: Target) -> tuple[Indices, Mask]:
    """The index of each label among sorted classes, and whether it is one of them."""
    y = np.asarray(y)
    k = np.searchsorted(classes, y).clip(0, len(classes) - 1)
    return k, classes[k] == y
