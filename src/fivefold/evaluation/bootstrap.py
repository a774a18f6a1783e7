"""The error of a learner by the bootstrap: .632 and .632+.

A sample drawn with replacement leaves each row out with probability (1 - 1/n)^n ~ 0.368. With err the loss on the
training rows and E1 the mean over rows of the loss under samples that leave the row out,

    .632    0.368 err + 0.632 E1
    .632+   that + (E1' - err) 0.368 * 0.632 R / (1 - 0.368 R)      R = (E1' - err) / (gamma - err)

E1 is too large because its samples hold fewer distinct rows; err is too small. R, clipped to [0, 1], says how much the
learner overfits: gamma is the loss if y and x were unrelated, the mean over all pairs of the loss of y_i and f(x_j),
and E1' = min(E1, gamma). A learner that memorises its rows has R = 1 and is judged by E1 alone.

The standard error of E1 is that of the infinitesimal jackknife, minus what the finite number of samples adds to it.

Efron & Tibshirani (1997), Improvements on cross-validation: the .632+ bootstrap method; Wager, Hastie & Efron (2014),
Confidence intervals for random forests, for the correction.
"""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass

import numpy as np
from numpy.typing import ArrayLike
from sklearn.base import clone

from fivefold.core.estimators.params import Seed
from fivefold.core.random_state import check_random_state
from fivefold.core.types import Table, Target, UserTable, UserTarget
from fivefold.evaluation.protocols import Model, Split
from fivefold.evaluation.row_losses import Loss, default_loss
from fivefold.evaluation.validation import INDEPENDENT_ROWS, cross_validate

DRAWN_SHARE = 0.632  # 1 - 1/e, rounded as in the paper


class OutOfBag:
    """Splitter of the bootstrap: n rows drawn with replacement for training, those not drawn for test.

    A draw that leaves no row out, or whose targets are all equal, is repeated.

    Examples
    --------
    >>> train, test = next(OutOfBag(1, random_state=0).split(np.zeros((6, 1))))
    >>> len(train), sorted({*train.tolist(), *test.tolist()})
    (6, [0, 1, 2, 3, 4, 5])
    """

    def __init__(self, n_splits: int = 50, *, random_state: Seed = None):
        self.n_splits, self.random_state = n_splits, random_state

    def __repr__(self) -> str:
        return f"OutOfBag(n_splits={self.n_splits})"

    def get_n_splits(self, X: UserTable = None, y: UserTarget = None, groups: ArrayLike | None = None) -> int:
        """The number of samples."""
        return self.n_splits

    def split(self, X: UserTable, y: UserTarget = None, groups: ArrayLike | None = None) -> Iterator[Split]:
        """Indices of training and test rows."""
        rng = check_random_state(self.random_state)
        n: int = np.shape(X)[0]
        codes = np.arange(n) if y is None or np.ndim(y) > 1 else np.unique(y, return_inverse=True)[1]
        if n < 2:
            raise ValueError(f"the bootstrap needs two rows or more; got {n}")
        for _ in range(self.n_splits):
            while True:
                train = rng.randint(n, size=n)
                test = np.setdiff1d(np.arange(n), train)
                if len(test) and (np.ptp(codes) == 0 or np.ptp(codes[train]) > 0):
                    break
            yield train, test


@dataclass(frozen=True)
class BootstrapEstimate:
    """The loss of a learner on new rows, from samples drawn with replacement.

    Attributes
    ----------
    apparent
        err, the loss of the model fitted on all rows, on those rows.
    left_out
        E1, the loss on rows that the sample left out.
    error
        standard error of E1.
    no_information
        gamma, the loss if targets and rows were unrelated.
    samples
        number of samples drawn.
    """

    apparent: float
    left_out: float
    error: float
    no_information: float
    samples: int
    assumptions: tuple[str, ...] = (INDEPENDENT_ROWS,)

    @property
    def overfitting(self) -> float:
        """R: 0 if unseen rows cost as much as training rows, 1 if the learner knows nothing about unseen rows."""
        if not self.apparent < min(self.left_out, self.no_information):
            return 0.0
        return min(1.0, (self.left_out - self.apparent) / (self.no_information - self.apparent))

    @property
    def e632(self) -> float:
        """The .632 estimate."""
        return (1 - DRAWN_SHARE) * self.apparent + DRAWN_SHARE * self.left_out

    @property
    def e632_plus(self) -> float:
        """The .632+ estimate."""
        R, kept = self.overfitting, 1 - DRAWN_SHARE
        above = min(self.left_out, self.no_information) - self.apparent
        return self.e632 + above * kept * DRAWN_SHARE * R / (1 - kept * R)

    def __str__(self) -> str:
        return (
            f"loss {self.e632_plus:.4g} on unseen rows by .632+ ({self.samples} samples, overfitting rate "
            f"{self.overfitting:.2f}); left out {self.left_out:.4g} +- {self.error:.2g}, training {self.apparent:.4g}"
        )


def bootstrap_error(
    model: Model,
    X: Table,
    y: Target,
    *,
    samples: int = 100,
    loss: Loss | None = None,
    random_state: Seed = None,
    n_jobs: int | None = None,
) -> BootstrapEstimate:
    """Fit copies of the model on samples drawn with replacement; each row is scored by those that left it out.

    Examples
    --------
    >>> from sklearn.datasets import load_iris
    >>> from fivefold.baselines import MemorisingClassifier
    >>> found = bootstrap_error(MemorisingClassifier(), *load_iris(return_X_y=True), samples=50, random_state=0)
    >>> found.apparent, found.e632 < 0.5 < found.e632_plus
    (0.0, True)
    """
    loss, n = loss or default_loss(model), np.shape(X)[0]
    cv = OutOfBag(samples, random_state=random_state)
    found = cross_validate(model, X, y, cv=cv, loss=loss, n_jobs=n_jobs)
    out, cost = np.zeros((samples, n), bool), np.zeros((samples, n))  # I, and I Q of the paper
    drawn = np.array([np.bincount(train, minlength=n) for train, _ in found.splits])  # (B, n)
    for b, ((_, test), values) in enumerate(zip(found.splits, found.losses, strict=True)):
        out[b, test], cost[b, test] = True, values
    seen = out.any(axis=0)  # with few samples a row may be in every one
    times, rows = out[:, seen].sum(axis=0), int(seen.sum())
    each = cost[:, seen].sum(axis=0) / times  # (rows,)
    left_out = float(each.mean())
    q = cost.sum(axis=1) / n  # (B,)
    D = (2 + 1 / (n - 1)) * (each - left_out) / rows + (drawn - drawn.mean(axis=0))[:, seen].T @ q / times
    noise = samples * q.var() * (1 - 1 / n) * (1 / times**2).sum()
    predicted = clone(model).fit(X, y).predict(X)
    apparent = float(np.mean(loss(X, y, predicted)))
    gamma = _no_information(loss, X, y, predicted)
    return BootstrapEstimate(apparent, left_out, float(np.sqrt(max(D @ D - noise, 0.0))), gamma, samples)


def _no_information(loss: Loss, X: Table, y: Target, predicted: Target) -> float:
    """The mean loss over all pairs of a target and a prediction; equal predictions are evaluated once."""
    values, counts = np.unique(predicted, axis=0, return_counts=True)
    means = [np.mean(loss(X, y, np.broadcast_to(value, np.shape(predicted)))) for value in values]
    return float(counts @ np.array(means) / counts.sum())
