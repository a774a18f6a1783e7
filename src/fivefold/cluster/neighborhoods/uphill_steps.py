"""Steps uphill on a kernel density: each position moves to the weighted mean of the rows about it.

    m(x) = sum_i g(|x - x_i|^2 / h^2) x_i / sum_i g(|x - x_i|^2 / h^2) - x       g = -k', k the profile of the density

Comaniciu & Meer (2002).
"""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass
from typing import Literal, TypeAlias

import numpy as np

from fivefold.cluster.neighborhoods.uphill_step_loops import keep_apart, means_in_tree, sum_nodes
from fivefold.core.parallel import map_parts
from fivefold.core.types import Doubles, Indices, Matrix
from fivefold.spatial.search import NeighborIndex
from fivefold.spatial.smoothing_kernels import KERNELS, SmoothingKernel

Profile: TypeAlias = Literal["epanechnikov", "gaussian", "biweight", "triweight"]
SLOPES: Mapping[str, str] = {  # profile of the density: the kernel that is minus its slope, up to a factor
    "epanechnikov": "tophat",
    "gaussian": "gaussian",
    "biweight": "epanechnikov",
    "triweight": "biweight",
}
PART_POSITIONS = 256  # that a thread moves at once


@dataclass(frozen=True)
class Hill:
    """A kernel density of rows, for steps uphill."""

    X: Matrix  # (n, d)
    bandwidth: float
    profile: Profile

    def __post_init__(self) -> None:
        index = NeighborIndex(self.X)
        search = index.searcher.tree
        sums = np.empty((len(search.tree.ends), self.X.shape[1]))
        sum_nodes(search.tree, sums)
        vars(self).update(search=search, sums=sums, limit=index._limit(self.slope.reach * self.bandwidth))

    @property
    def slope(self) -> SmoothingKernel:
        """The weight of a row in the mean about a position."""
        return KERNELS[SLOPES[self.profile]]

    def means(self, P: Matrix) -> tuple[Doubles, Doubles]:
        """The mean of the rows about each position (m, d), and their weight (m,); without rows a position stays."""
        known = vars(self)
        search, means, mass = known["search"], np.empty(P.shape), np.empty(len(P))

        def part(lo: int, hi: int) -> None:
            work, stack, _ = search._scratch()
            means_in_tree(
                search.rule, search.tree, known["sums"], P[lo:hi], self.slope.code, known["limit"],
                1 / self.bandwidth**2, work, stack, means[lo:hi], mass[lo:hi],
            )  # fmt: skip

        map_parts(part, len(P), rows=PART_POSITIONS)
        return means, mass


@dataclass
class Climb:
    """Positions on their way uphill, all of which take a step at a time."""

    hill: Hill
    positions: Doubles  # (m, d)
    step: float  # share of the way to the mean that is taken
    tolerance: float  # length of the way from which on a position stays

    def __post_init__(self) -> None:
        self.mass = np.zeros(len(self.positions))  # of the rows about each position
        self.moving: Indices = np.arange(len(self.positions))

    def advance(self) -> float:
        """Take a step; the largest way to a mean."""
        P = self.positions[self.moving]
        means, self.mass[self.moving] = self.hill.means(P)
        way = np.sqrt(np.square(means - P).sum(axis=1))
        self.positions[self.moving] = means if self.step == 1 else P + self.step * (means - P)
        self.moving = self.moving[way > self.tolerance]
        return float(way.max(initial=0.0))


def merged_modes(positions: Doubles, mass: Doubles, radius: float) -> Doubles:
    """The modes (K, d) that positions ended at, most rows first; of several within the radius the first is kept."""
    there = mass > 0
    order = np.lexsort((*positions[there].T[::-1], mass[there]))[::-1]
    modes = np.ascontiguousarray(positions[there][order])
    kept = np.ones(len(modes), np.bool_)
    keep_apart(modes, radius * radius, kept)
    return modes[kept]
