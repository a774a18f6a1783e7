"""How many principal components to keep.

l_1 >= l_2 >= ... are the principal values: the sums of squares along the axes, n - 1 times the variances.
With m components the distortion, the squared error of the reconstruction, is l_{m+1} + ... + l_d.

ExplainedVariance   least m with l_1 + ... + l_m >= share of the total
Distortion          least m with l_{m+1} + ... < threshold
LargestRatio        m with the largest l_m / l_{m+1}: the knee between signal and noise
Chord               m just before the value farthest below the line from the first value to the last
Minka               m of greatest evidence for probabilistic PCA, by Laplace's method (Minka, 2000)
"""

from __future__ import annotations

from abc import ABC, abstractmethod
from dataclasses import dataclass
from typing import Literal

import numpy as np
from scipy.special import gammaln

from fivefold.core.types import Vector

EPS = float(np.finfo(np.float64).eps)  # spacing of float64 numbers at one


@dataclass(frozen=True)
class Scree:
    """Principal values, largest first: all of them, or the leading ones and the total of all."""

    values: Vector  # (m,) sums of squares along the axes
    total: float  # sum of squares about the mean
    n: int  # rows

    @property
    def shares(self) -> Vector:
        """Share of the total along each axis (m,)."""
        return self.values / self.total if self.total > 0 else np.zeros_like(self.values)

    @property
    def cumulative(self) -> Vector:
        """Share of the total along the first 1, 2, ... axes (m,)."""
        return np.cumsum(self.shares)

    @property
    def distortion(self) -> Vector:
        """Sum of squares left out when 0, 1, ..., m axes are kept (m + 1,)."""
        tail = np.append(np.cumsum(self.values[::-1])[::-1], 0.0)
        rest = max(self.total - float(self.values.sum()), 0.0)
        return tail + (rest if rest > len(tail) * EPS * self.total else 0.0)

    @property
    def rank(self) -> int:
        """Number of values above rounding."""
        return int((self.values > self._floor).sum())

    @property
    def _floor(self) -> float:
        return len(self.values) * EPS * float(self.values[0]) if len(self.values) else 0.0


class ComponentRule(ABC):
    """A way to choose the number of components from all principal values."""

    @abstractmethod
    def __call__(self, scree: Scree) -> int: ...


@dataclass(frozen=True)
class ExplainedVariance(ComponentRule):
    """Keep a share of the variance; a share of one keeps every axis above rounding.

    >>> ExplainedVariance(0.8)(Scree(np.array([17.0, 3.0]), 20.0, 5))
    1
    """

    share: float
    more: bool = False  # exceed the share: what PCA(n_components=share) means

    def __call__(self, scree: Scree) -> int:
        side: Literal["left", "right"] = "right" if self.more else "left"
        slack = 0.0 if self.more else len(scree.values) * EPS
        m = int(np.searchsorted(scree.cumulative, self.share - slack, side=side)) + 1
        return min(m, len(scree.values) if self.more else scree.rank)


@dataclass(frozen=True)
class Distortion(ComponentRule):
    """Leave out a squared error below a threshold, which with `share=True` is a share of the total.

    Sensible for data that lie in an affine subspace, almost without noise.

    >>> Distortion(3.5)(Scree(np.array([17.0, 3.0]), 20.0, 5))
    1
    """

    threshold: float
    share: bool = False

    def __call__(self, scree: Scree) -> int:
        limit = self.threshold * (scree.total if self.share else 1.0)
        below = scree.distortion < limit
        return int(below.argmax()) if below.any() else len(scree.values)


@dataclass(frozen=True)
class LargestRatio(ComponentRule):
    """The knee after which values fall by the largest factor: noise raises all later values alike.

    >>> LargestRatio()(Scree(np.array([50.0, 30.0, 15.0, 2.0, 1.8, 1.6, 1.5]), 101.9, 100))
    3
    """

    def __call__(self, scree: Scree) -> int:
        l = np.maximum(scree.values, max(scree._floor, np.finfo(np.float64).tiny))
        return int((l[:-1] / l[1:]).argmax()) + 1 if len(l) > 1 else len(l)


@dataclass(frozen=True)
class Chord(ComponentRule):
    """The knee: the value farthest below the chord of the curve of values.

    >>> Chord()(Scree(np.array([50.0, 30.0, 15.0, 2.0, 1.8, 1.6, 1.5]), 101.9, 100))
    3
    """

    def __call__(self, scree: Scree) -> int:
        l = scree.values
        chord = np.linspace(l[0], l[-1], len(l))
        return max(int((chord - l).argmax()), 1)


@dataclass(frozen=True)
class Minka(ComponentRule):
    """Greatest evidence for a Gaussian with m free variances and one noise variance for the rest."""

    def __call__(self, scree: Scree) -> int:
        variance = scree.values / (scree.n - 1)
        if len(variance) == 1:
            return 1
        return int(np.argmax([-np.inf, *(self.evidence(variance, m, scree.n) for m in range(1, len(variance)))]))

    @staticmethod
    def evidence(variance: Vector, m: int, n: int) -> float:
        """Log evidence of dimension m, given the variances (d,) along all axes of n rows."""
        d, floor = len(variance), EPS * float(variance[0])
        if variance[m - 1] <= floor:
            return -np.inf
        i = np.arange(1, m + 1)
        uniform = float((gammaln((d - i + 1) / 2) - np.log(np.pi) * (d - i + 1) / 2).sum()) - m * np.log(2)
        noise = max(float(variance[m:].mean()), floor)
        free = d * m - m * (m + 1) / 2  # parameters of m orthonormal axes
        fitted = np.append(variance[:m], np.full(d - m, noise))
        above = np.arange(d)[None, :] > np.arange(m)[:, None]  # pairs i < j, i <= m
        gaps = (variance[:m, None] - variance[None, :]) * (1 / fitted[None, :] - 1 / fitted[:m, None])
        curvature = float(np.log(np.maximum(gaps[above], EPS)).sum() + above.sum() * np.log(n))
        fit = -n / 2 * float(np.log(variance[:m]).sum() + (d - m) * np.log(noise))
        return float(uniform + fit + (free + m) / 2 * np.log(2 * np.pi) - curvature / 2 - m / 2 * np.log(n))


COMPONENT_RULES = {"mle": Minka(), "knee": LargestRatio(), "chord": Chord()}
