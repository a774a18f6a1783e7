"""Stability: do different samples of the rows fall into the same groups?

    S(method, K) = mean over pairs of subsamples of ARI(cut of one, cut of the other; on the rows in both)

ARI is the index of Rand, corrected for chance (Hubert & Arabie 1985): 1 for the same groups, about 0 for unrelated
ones. Without groups a cut may be stable, too: k-means halves any long cloud in the same place. So S says nothing
without its value on data without groups (`reference_data`), and `group_search` compares the two.

Ben-Hur, Elisseeff & Guyon (2002); Hennig (2007).
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from itertools import combinations

import numpy as np

from fivefold.core.types import Codes, Indices, Matrix, Vector
from fivefold.evaluation.grouping.group_methods import FOUND, GROUP_METHODS, Cuts
from fivefold.spatial.distances import squared_distances

SUBSAMPLES = 6  # of the rows; every pair of them is compared
SUBSAMPLE_SHARE = 0.8  # of the rows in each, as in the source; with less, groups of few rows come and go
GRAIN = 0.03  # of 1 - stability: differences below do not matter
SILHOUETTE_WEIGHT = 4.0  # 0.1 more counts as 1 - stability less by a third
VALLEY_WEIGHT = 3.0  # 0.1 more counts as 1 - stability less by a quarter
VALLEY_BINS = 6  # from the middle of one group to that of the other, which lie in the first and the last
VALLEY_ROWS = 3.0  # added to the rows in a bin: few rows tell little of a valley
ABSENT = -2  # code of a row that is not in a subsample

Cell = tuple[str, int]  # a method, and its number of groups; 0 if it finds the number itself


@dataclass(frozen=True)
class Stability:
    """Stability of every method and number of groups, with standard errors over the subsamples.

    Groups far apart cannot be more stable than 1, which cuts of a cloud may be, too; so it also has, of the cut of all
    rows, the mean silhouette and the depth of the shallowest valley between two groups. Groups by density may have any
    form: there both are 0.
    """

    cells: tuple[Cell, ...]
    mean: Vector  # (cells,)
    standard_error: Vector  # (cells,)
    silhouette: Vector  # (cells,), of the rows in groups
    valley: Vector  # (cells,)

    @property
    def clarity(self) -> Vector:
        """All three as one number (cells,): stabilities on a scale on which differences near 1 count."""
        unstable = np.maximum(1.0 - self.mean, 0.0)
        return SILHOUETTE_WEIGHT * self.silhouette + VALLEY_WEIGHT * self.valley - np.log(unstable + GRAIN)


def adjusted_rand(a: Codes, b: Codes) -> float:
    """The adjusted index of Rand of two cuts of the same rows; 0 if one of them leaves the rows together.

    Examples
    --------
    >>> adjusted_rand(np.array([0, 0, 1, 1]), np.array([5, 5, 3, 3])), adjusted_rand(np.zeros(4, int), np.zeros(4, int))
    (1.0, 0.0)
    """
    a, b = a - a.min(initial=0), b - b.min(initial=0)
    width = int(b.max(initial=0)) + 1
    table = np.bincount(a * width + b, minlength=(int(a.max(initial=0)) + 1) * width).reshape(-1, width)
    rows, columns = table.sum(axis=1), table.sum(axis=0)
    if (rows > 0).sum() < 2 or (columns > 0).sum() < 2:
        return 0.0
    joint, first, second = _pairs(table), _pairs(rows), _pairs(columns)
    chance = first * second / _pairs(np.array([len(a)]))
    most = (first + second) / 2
    return float((joint - chance) / (most - chance)) if most > chance else 0.0


def _pairs(counts: Codes) -> float:
    return float((counts * (counts - 1.0)).sum() / 2)


def subsamples(n: int, rng: np.random.Generator, count: int = SUBSAMPLES) -> list[Indices]:
    """Rows of each subsample, sorted."""
    size = max(2, round(SUBSAMPLE_SHARE * n))
    return [np.sort(rng.choice(n, size, replace=False)) for _ in range(count)]


def all_cells(methods: Sequence[str], counts: Sequence[int]) -> tuple[Cell, ...]:
    """The pairs of a method and a number of groups."""
    return tuple((name, K) for name in methods for K in ((FOUND,) if name == "hdbscan" else counts))


def stability(
    X: Matrix,
    methods: Sequence[str] = tuple(GROUP_METHODS),
    counts: Sequence[int] = range(2, 9),
    *,
    seed: int | np.random.SeedSequence = 0,
    count: int = SUBSAMPLES,
) -> Stability:
    """The stability of every method and number of groups on subsamples of the rows.

    Examples
    --------
    >>> rows = np.concatenate([np.arange(20.0), np.arange(100.0, 120.0)])[:, None]
    >>> stability(rows, ["ward"], [2]).mean
    array([1.])
    """
    rng = np.random.default_rng(seed)
    drawn, cells = subsamples(len(X), rng, count), all_cells(methods, counts)
    codes = np.full((count, len(cells), len(X)), ABSENT, dtype=np.int64)
    for m, rows in enumerate(drawn):
        Z, start, at = np.ascontiguousarray(X[rows]), int(rng.integers(2**31)), 0
        cuts = dict[str, Cuts]()
        for name in methods:
            cuts[name] = GROUP_METHODS[name](Z, counts, start, cuts)
            for labels in cuts[name].values():
                codes[m, at, rows] = labels
                at += 1
    agreement = np.zeros((count, count, len(cells)))
    for a, b in combinations(range(count), 2):
        both = np.intersect1d(drawn[a], drawn[b], assume_unique=True)
        for c in range(len(cells)):
            agreement[a, b, c] = agreement[b, a, c] = adjusted_rand(codes[a, c, both], codes[b, c, both])
    own = agreement.sum(axis=1) / (count - 1)  # (count, cells), of each subsample with the others
    left_out = (own.sum(axis=0) * (count - 1) - 2 * own * (count - 1)) / ((count - 1) * (count - 2))  # jackknife
    spread = np.sqrt((count - 1) * left_out.var(axis=0))
    D = np.sqrt(np.maximum(squared_distances(X, X), 0.0))
    whole, first = dict[str, Cuts](), int(rng.integers(2**31))
    for name in methods:
        whole[name] = GROUP_METHODS[name](X, counts, first, whole)
    found = [(cut, K == FOUND) for cuts in whole.values() for K, cut in cuts.items()]
    widths = np.array([0.0 if dense else mean_silhouette(D, cut) for cut, dense in found])
    valleys = np.array([0.0 if dense else valley_depth(X, cut) for cut, dense in found])
    return Stability(cells, own.mean(axis=0), spread, widths, valleys)


def mean_silhouette(D: Matrix, labels: Codes) -> float:
    """The mean silhouette of the rows in groups, from all distances (n, n); 0 for fewer than two groups.

    Examples
    --------
    >>> x = np.array([0.0, 1.0, 8.0, 9.0])
    >>> round(mean_silhouette(np.abs(x[:, None] - x), np.array([0, 0, 1, 1])), 3)
    0.875
    """
    rows = np.flatnonzero(labels >= 0)
    sizes = np.bincount(labels[rows])
    if (sizes > 0).sum() < 2:
        return 0.0
    member = np.zeros((len(rows), len(sizes)))
    member[np.arange(len(rows)), labels[rows]] = 1.0
    sums = D[np.ix_(rows, rows)] @ member  # (rows, groups)
    own, at = labels[rows], np.arange(len(rows))
    inside = sums[at, own] / np.maximum(sizes[own] - 1, 1)
    means = np.where(sizes > 0, sums / np.maximum(sizes, 1), np.inf)
    means[at, own] = np.inf
    nearest = means.min(axis=1)
    widths = (nearest - inside) / np.maximum(np.maximum(nearest, inside), np.finfo(float).tiny)
    return float(np.where(sizes[own] > 1, widths, 0.0).mean())


def valley_depth(X: Matrix, labels: Codes) -> float:
    """How empty it is between two groups, for the pair with most rows there: 0 for one heap, near 1 for a clear gap.

    The rows of both lie along the line through their means, in bins from the median of one group to that of the other;
    with c as the rows in a bin, the depth is 1 - (min inner c + VALLEY_ROWS) / (min outer c + VALLEY_ROWS).

    Examples
    --------
    >>> x, labels = np.linspace(-2, 2, 100)[:, None], np.repeat([0, 1], 50)
    >>> valley_depth(x, labels), round(valley_depth(x + 3 * np.sign(x), labels), 2)
    (0.0, 0.93)
    """
    groups = [X[labels == k] for k in np.unique(labels)]
    depths = [_pair_valley(a, b) for a, b in combinations(groups, 2)]
    return min(depths, default=0.0)


def _pair_valley(a: Matrix, b: Matrix) -> float:
    line = b.mean(axis=0) - a.mean(axis=0)
    s, t = a @ line, b @ line
    low, high = np.median(s), np.median(t)
    if high <= low:
        return 0.0
    place = (np.concatenate([s, t]) - low) / (high - low) * (VALLEY_BINS - 1) + 0.5
    rows = np.bincount(place[(place >= 0) & (place < VALLEY_BINS)].astype(np.int64), minlength=VALLEY_BINS)
    ends, inner = min(rows[0], rows[-1]), rows[1:-1].min()
    return float(max(0.0, 1.0 - (inner + VALLEY_ROWS) / (ends + VALLEY_ROWS)))
