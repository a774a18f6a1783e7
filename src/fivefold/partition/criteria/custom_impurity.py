"""Impurities of classes that users bring: any function of the shares, and the axioms by which one is an impurity.

    phi(p, 1 - p)   zero at p = 0 and p = 1,   largest at p = 1/2,   rising up to there and falling after

A function takes the shares of the classes (m, K) and gives (m,) numbers. Entropy, Gini and the share of mistakes pass.

Breiman, Friedman, Olshen & Stone (1984), section 2.4; Alpaydin (2020), section 9.2.1.
"""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass
from typing import Any, NamedTuple

import numpy as np

from fivefold.core.types import Array
from fivefold.partition.criteria.classification_criteria import Entropy

GRID_STEPS = 200  # of the grid of shares, an even number
RELATIVE_TOLERANCE = 1e-9  # a share of the largest value that counts as rounding

ImpurityFunction = Callable[[Any], Any]


class CustomImpurity(NamedTuple):
    """A criterion of classes whose impurity is a function of their shares."""

    y: Any
    w: Any
    classes: int
    phi: ImpurityFunction

    @property
    def counted(self) -> Entropy:
        """A criterion with the same statistics that compiled loops know: the weight of each class."""
        return Entropy(self.y, self.w, self.classes)

    def measured(self, table: Any) -> tuple[Any, Any]:
        """Weight, and weight times impurity, of each row of a table of weights of the classes (m, K)."""
        weight = table.sum(axis=1)
        shares = table / np.where(weight > 0, weight, 1.0)[:, None]
        return weight, np.where(weight > 0, weight * np.asarray(self.phi(shares), dtype=np.float64), 0.0)

    def best_pair(self, prefix: Any, sums: Array, least: float) -> tuple[float, int, int]:
        """The least impurity that a pair of thresholds leaves, and their places; -1 where no pair is allowed."""
        i, j = np.triu_indices(len(prefix), 1)
        parts = [self.measured(part) for part in (prefix[i], prefix[j] - prefix[i], sums - prefix[j])]
        fits = np.logical_and.reduce([(weight >= least) & (weight > 0) for weight, _ in parts])
        if not fits.any():
            return np.inf, -1, -1
        left = np.where(fits, sum(total for _, total in parts), np.inf)
        k = int(np.argmax(left <= left.min() + RELATIVE_TOLERANCE * abs(left.min())))
        return float(left[k]), int(i[k]), int(j[k])


@dataclass(frozen=True)
class ImpurityAxioms:
    """What holds of a function that would be an impurity."""

    pure_is_zero: bool
    half_is_most: bool
    rises_then_falls: bool

    @property
    def broken(self) -> tuple[str, ...]:
        """Those that do not hold, in words."""
        said = (
            (self.pure_is_zero, "phi(0, 1) and phi(1, 0) are zero"),
            (self.half_is_most, "phi(p, 1 - p) is largest at p = 1/2"),
            (self.rises_then_falls, "phi(p, 1 - p) rises up to p = 1/2 and falls after"),
        )
        return tuple(text for held, text in said if not held)


def check_axioms(phi: ImpurityFunction, classes: int = 2) -> ImpurityAxioms:
    """Which axioms of an impurity a function keeps between the first two of so many classes.

    Examples
    --------
    >>> axioms(lambda shares: 1 - shares.max(axis=1)).broken
    ()
    >>> axioms(lambda shares: shares[:, 0]).broken[0]
    'phi(0, 1) and phi(1, 0) are zero'
    """
    p = np.linspace(0.0, 1.0, GRID_STEPS + 1)
    shares = np.zeros((len(p), max(classes, 2)))
    shares[:, 0], shares[:, 1] = p, 1 - p
    values = np.asarray(phi(shares), dtype=np.float64)
    if values.shape != p.shape or not np.isfinite(values).all():
        raise ValueError(
            f"an impurity takes the shares of the classes, an array (m, K), and gives m finite numbers; of {len(p)} "
            f"rows it gave an array of shape {values.shape}"
        )
    slack, half = RELATIVE_TOLERANCE * max(float(np.abs(values).max()), 1e-300), GRID_STEPS // 2
    steps = np.diff(values)
    return ImpurityAxioms(
        pure_is_zero=bool(abs(values[0]) <= slack and abs(values[-1]) <= slack),
        half_is_most=bool(values[half] >= values.max() - slack and values[half] > slack),
        rises_then_falls=bool((steps[:half] >= -slack).all() and (steps[half:] <= slack).all()),
    )
