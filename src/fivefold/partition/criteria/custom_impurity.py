"""Impurities of classes that users supply: any function of the class shares that satisfies the axioms of an impurity.

    phi(p, 1 - p)   zero at p = 0 and p = 1,   largest at p = 1/2,   rising up to there and falling after

The function takes the shares of the classes (m, K) and returns m numbers. Entropy, Gini and the share of mistakes pass.

Breiman, Friedman, Olshen & Stone (1984), section 2.4; Alpaydin (2020), section 9.2.1.
"""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass
from typing import NamedTuple

import numpy as np

from fivefold.core.types import Array, Indices, Matrix, Vector
from fivefold.partition.criteria.classification_criteria import Entropy

GRID_STEPS = 200  # steps of the grid of shares on which the axioms are checked; even, so that 1/2 is on it
RELATIVE_TOLERANCE = 1e-9  # differences below this share of the largest value are rounding

ImpurityFunction = Callable[[Matrix], Vector]


class CustomImpurity(NamedTuple):
    """A criterion of classes whose impurity is a function of their shares."""

    y: Indices  # (n,) int32 codes
    w: Array  # (n,) float64
    classes: int
    phi: ImpurityFunction

    @property
    def class_counts_criterion(self) -> Entropy:
        """A criterion with the same statistics that compiled loops know: the weight of each class."""
        return Entropy(self.y, self.w, self.classes)

    def weighted_impurity(self, table: Matrix) -> tuple[Vector, Vector]:
        """Weight, and weight times impurity, of each row of a table of class weights (m, K)."""
        weight = table.sum(axis=1)
        shares = table / np.where(weight > 0, weight, 1.0)[:, None]
        return weight, np.where(weight > 0, weight * np.asarray(self.phi(shares), dtype=np.float64), 0.0)

    def best_threshold_pair(self, prefix: Matrix, sums: Array, least: float) -> tuple[float, int, int]:
        """The least impurity that a pair of thresholds leaves, and their places; (inf, -1, -1) where no pair fits."""
        i, j = np.triu_indices(len(prefix), 1)
        parts = [self.weighted_impurity(part) for part in (prefix[i], prefix[j] - prefix[i], sums - prefix[j])]
        fits = np.logical_and.reduce([(weight >= least) & (weight > 0) for weight, _ in parts])
        if not fits.any():
            return np.inf, -1, -1
        left = np.where(fits, sum(total for _, total in parts), np.inf)
        k = int(np.argmax(left <= left.min() + RELATIVE_TOLERANCE * abs(left.min())))
        return float(left[k]), int(i[k]), int(j[k])


@dataclass(frozen=True)
class ImpurityAxioms:
    """Which axioms of an impurity a function satisfies."""

    pure_is_zero: bool
    half_is_most: bool
    rises_then_falls: bool

    @property
    def violations(self) -> tuple[str, ...]:
        """The axioms that do not hold, in words."""
        axioms = (
            (self.pure_is_zero, "phi(0, 1) and phi(1, 0) are zero"),
            (self.half_is_most, "phi(p, 1 - p) is largest at p = 1/2"),
            (self.rises_then_falls, "phi(p, 1 - p) rises up to p = 1/2 and falls after"),
        )
        return tuple(text for holds, text in axioms if not holds)


def check_axioms(phi: ImpurityFunction, classes: int = 2) -> ImpurityAxioms:
    """Which axioms of an impurity a function satisfies between the first two of this many classes.

    Examples
    --------
    >>> check_axioms(lambda shares: 1 - shares.max(axis=1)).violations
    ()
    >>> check_axioms(lambda shares: shares[:, 0]).violations[0]
    'phi(0, 1) and phi(1, 0) are zero'
    """
    p = np.linspace(0.0, 1.0, GRID_STEPS + 1)
    shares = np.zeros((len(p), max(classes, 2)))
    shares[:, 0], shares[:, 1] = p, 1 - p
    values = np.asarray(phi(shares), dtype=np.float64)
    if values.shape != p.shape or not np.isfinite(values).all():
        raise ValueError(
            f"an impurity takes the shares of the classes, an array (m, K), and returns m finite numbers; for {len(p)} "
            f"rows it returned an array of shape {values.shape}"
        )
    slack, half = RELATIVE_TOLERANCE * max(float(np.abs(values).max()), 1e-300), GRID_STEPS // 2
    steps = np.diff(values)
    return ImpurityAxioms(
        pure_is_zero=bool(abs(values[0]) <= slack and abs(values[-1]) <= slack),
        half_is_most=bool(values[half] >= values.max() - slack and values[half] > slack),
        rises_then_falls=bool((steps[:half] >= -slack).all() and (steps[half:] <= slack).all()),
    )
