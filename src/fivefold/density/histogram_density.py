"""Histogram: the share of the rows in the bin of x, divided by its volume; any number of columns.

    p(x) = (weight of the rows in the bin of x) / (W  volume of the bin)

    interpolation   the heights belong to the centres of bins: between centres they are interpolated, linearly in each
                    column (a frequency polygon, which falls to zero one bin beyond the ends), or by a Gaussian window
                    over the neighbouring centres.

Only bins that hold rows are stored. In d columns of b bins there are b^d of them, most empty: see
`curse_of_dimensionality`.

Pearson (1895); Scott (1985), frequency polygons.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import KW_ONLY, dataclass
from itertools import product
from typing import Any, Literal, TypeAlias

import numpy as np

from fivefold.core.console.user_warnings import warn
from fivefold.core.estimators.base import learned
from fivefold.core.estimators.params import Count, Positive
from fivefold.core.registry import Card
from fivefold.core.types import Array, Codes, Doubles, Indices, Matrix, Table, Vector, Weights
from fivefold.density.base import RowDensity
from fivefold.density.widths.bin_rules import MAX_BINS, bin_edges

BinRule: TypeAlias = Literal["freedman_diaconis", "knuth", "scott", "sturges"]
GAUSSIAN_BINS = 3  # bins to each side that a Gaussian window reaches
BINS_OF_DEVIATION = 0.5  # standard deviation of that window, in bins
MAX_CORNERS = 2**12  # neighbouring bins of one query: interpolation in more columns would take too long
MAX_EMPTY = 20  # bins per row, above which a warning says that most are empty
NEAR_EDGE = 1e-9  # numbers this close to a multiple of the bin width, as a share of it, are on the edge


@dataclass(frozen=True)
class OccupiedBins:
    """The bins that hold rows, their weight, and the edges of all bins of each column."""

    edges: tuple[Doubles, ...]
    keys: tuple[Indices, ...]  # of each column: the sorted codes (code so far) x (bins) + (bin) that occur
    mass: Doubles  # (bins that hold rows,), by their code
    total: float

    @classmethod
    def of(cls, X: Matrix, w: Weights, edges: tuple[Doubles, ...]) -> OccupiedBins:
        """Count the weight of the rows in bins."""
        keys, code = [], np.zeros(len(X), dtype=np.int64)
        inside = np.ones(len(X), dtype=bool)
        for j, ends in enumerate(edges):
            place = bins_of(X[:, j], ends)
            inside &= place >= 0
            known, code = np.unique(code * len(ends) + place, return_inverse=True)
            keys.append(known)
        mass = np.bincount(code, weights=np.where(inside, w, 0.0), minlength=len(keys[-1]))
        return cls(edges, tuple(keys), mass.astype(np.float64), float(w.sum()))

    @property
    def count(self) -> float:
        """The number of bins, empty ones included."""
        return float(np.prod([len(ends) - 1.0 for ends in self.edges]))

    def lookup(self, place: Codes) -> Doubles:
        """The weight in bins (m, d); zero for bins outside."""
        code, known = np.zeros(len(place), dtype=np.int64), (place >= 0).all(axis=1)
        for j, (ends, keys) in enumerate(zip(self.edges, self.keys, strict=True)):
            known &= place[:, j] < len(ends) - 1
            wanted = code * len(ends) + place[:, j]
            code = np.minimum(np.searchsorted(keys, wanted), len(keys) - 1)
            known &= keys[code] == wanted
        return np.where(known, self.mass[code], 0.0)

    def heights(self, place: Codes) -> Doubles:
        """The density in bins (m, d)."""
        volume = np.ones(len(place))
        for j, ends in enumerate(self.edges):
            volume *= np.diff(ends)[np.clip(place[:, j], 0, len(ends) - 2)]
        return self.lookup(place) / (self.total * volume)


def bins_of(x: Vector, edges: Doubles) -> Codes:
    """The bin of each number, the last edge included; -1 outside."""
    place = np.searchsorted(edges, x, side="right") - 1
    place = np.where(x == edges[-1], len(edges) - 2, place)
    return np.where((x < edges[0]) | (x > edges[-1]), -1, place)


class HistogramDensity(RowDensity):
    """Histogram density of any number of columns.

    Parameters
    ----------
    bins
        a rule ("freedman_diaconis", "knuth", "scott", "sturges"), a number of bins for every column, or a list with the
        number or the edges for each column. Not used where `width` is given.
    width
        of the bins: a number, or one for each column.
    origin
        a point that is an edge of bins of this width, a number or one for each column; zero by default.
    interpolation
        "none": one height per bin; "linear" or "gaussian": heights interpolated between the centres of bins.

    Attributes
    ----------
    edges_
        edges of the bins of each column.
    n_bins_
        number of bins, empty ones included.
    occupied_share_
        share of the bins that hold rows.

    Examples
    --------
    >>> from fivefold.density import HistogramDensity
    >>> model = HistogramDensity(width=1.0).fit([[0.2], [0.7], [1.5], [3.1]])
    >>> model.density([[0.5], [1.1], [2.5]])
    array([0.5 , 0.25, 0.  ])
    """

    bins: BinRule | Count | list[Any] | tuple[Any, ...] = "freedman_diaconis"
    _: KW_ONLY
    width: Positive | np.ndarray | list[Any] | None = None
    origin: float | np.ndarray | list[Any] = 0.0
    interpolation: Literal["none", "linear", "gaussian"] = "none"

    card = Card(
        applications=("density estimation",),
        use="A first look at one or two columns, and densities that must be read off a table. Edges and origin show in "
        "the result; KernelDensity has neither. Not for many columns: most bins would be empty.",
        steps=("Cut each column into bins.", "Divide the share of the rows in a bin by its volume."),
        source="Pearson (1895); Freedman & Diaconis (1981); Knuth (2006); Scott (1985)",
        see_also=("KernelDensity",),
        variants=({"bins": 5, "interpolation": "linear"}, {"width": 0.7, "origin": 0.1}),
    )

    edges_ = learned("edges")
    n_bins_ = learned("count")

    def _fit(self, X: Table, w: Weights) -> None:
        edges = tuple(self._edges(X[:, j], w, j, X.shape[1]) for j in range(X.shape[1]))
        count = float(np.prod([len(ends) - 1.0 for ends in edges]))
        if X.shape[1] > 1 and count > MAX_EMPTY * w.sum():
            warn(
                f"HistogramDensity: {X.shape[1]} columns make {count:.3g} bins for {w.sum():g} rows, most empty: "
                "their number grows exponentially with that of the columns. Use fewer bins or columns, or KernelDensity"
            )
        for choose in (np.min, np.max):
            with np.errstate(over="ignore", under="ignore"):
                volume = np.prod([choose(np.diff(ends)) for ends in edges])
            if not 0 < volume < np.inf:
                raise ValueError(
                    f"HistogramDensity: the volume of a bin of {X.shape[1]} columns is {volume:g} in floating point: "
                    f"{'multiply' if volume == 0 else 'divide'} the columns by a large number"
                )
        self.model_ = OccupiedBins.of(X, w, edges)

    def _edges(self, x: Vector, w: Weights, j: int, d: int) -> Doubles:
        if self.width is not None:
            return fixed_edges(x, _of_column(self.width, j, d, "width"), _of_column(self.origin, j, d, "origin"), j)
        if isinstance(self.bins, list | tuple):
            return given_edges(self.bins, x, w, j, d)
        return bin_edges(x, w, self.bins, j, d)

    @property
    def occupied_share_(self) -> float:
        """Share of the bins that hold rows."""
        return len(self.model_.mass) / self.model_.count

    def _log_density(self, X: Table) -> Doubles:
        model = self.model_
        if self.interpolation == "none":
            place = np.stack([bins_of(X[:, j], ends) for j, ends in enumerate(model.edges)], axis=1)
            found = model.heights(place)
        else:
            found = self._interpolated(np.asarray(X, dtype=np.float64))
        with np.errstate(divide="ignore"):
            return np.log(found)

    def _interpolated(self, X: Matrix) -> Doubles:
        """Heights between centres: a mean over the neighbouring bins of each column, one after the other."""
        rule = _linear_shares if self.interpolation == "linear" else _gaussian_shares
        columns = [rule(X[:, j], ends) for j, ends in enumerate(self.model_.edges)]
        corners = int(np.prod([shares.shape[1] for _, shares in columns], dtype=np.float64))
        if corners > MAX_CORNERS:
            raise ValueError(
                f"HistogramDensity: {corners} neighbouring bins would be looked up for each row; interpolate in fewer "
                "columns, or use KernelDensity"
            )
        found = np.zeros(len(X))
        for up in product(*(range(shares.shape[1]) for _, shares in columns)):
            place = np.stack([first + k for (first, _), k in zip(columns, up, strict=True)], axis=1)
            share = np.prod([shares[:, k] for (_, shares), k in zip(columns, up, strict=True)], axis=0)
            found += share * self.model_.heights(place)
        return found

    def _left_out(self) -> tuple[Doubles, Vector]:
        """A bin of weight m holds m - 1 when one of its rows is left out; the edges stay."""
        model = self.model_
        place = _bins_by_code(model)
        m = model.mass
        with np.errstate(divide="ignore", invalid="ignore"):
            rest = np.log(np.maximum(m - np.minimum(m, 1.0), 0.0) / m * model.total / (model.total - 1.0))
            logs = np.log(model.heights(place)) + rest
        return np.where(m > 0, logs, 0.0), m


def _bins_by_code(model: OccupiedBins) -> Codes:
    """The bins (m, d) that hold rows, from their codes."""
    place = np.empty((len(model.mass), len(model.edges)), dtype=np.int64)
    code = np.arange(len(model.mass))
    for j in range(len(model.edges) - 1, -1, -1):
        code, place[:, j] = np.divmod(model.keys[j][code], len(model.edges[j]))
    return place


def _linear_shares(x: Vector, edges: Doubles, beyond: int = 1) -> tuple[Codes, Doubles]:
    """The bin whose centre lies before each number, and the shares (m, 2) of it and the next one.

    Bins go on `beyond` the ends, as wide as the last ones.
    """
    more = np.arange(1, beyond + 1)
    before, after = edges[0] - (more[::-1] - 0.5) * (edges[1] - edges[0]), edges[-1] + (more - 0.5) * np.diff(edges)[-1]
    centres = np.concatenate([before, 0.5 * (edges[:-1] + edges[1:]), after])
    place = np.clip(np.searchsorted(centres, x, side="right"), 1, len(centres) - 1)
    part = np.clip((x - centres[place - 1]) / (centres[place] - centres[place - 1]), 0.0, 1.0)
    return place - 1 - beyond, np.stack([1.0 - part, part], axis=1)


def _gaussian_shares(x: Vector, edges: Doubles) -> tuple[Codes, Doubles]:
    """The first of the bins around each number, and their shares: Gaussian in the distance of their centres in bins."""
    first, shares = _linear_shares(x, edges, GAUSSIAN_BINS + 1)
    offsets = np.arange(-GAUSSIAN_BINS + 1, GAUSSIAN_BINS + 1) - shares[:, 1:]
    weights = np.exp(-0.5 * np.square(offsets / BINS_OF_DEVIATION))
    return first - GAUSSIAN_BINS + 1, weights / weights.sum(axis=1, keepdims=True)


def fixed_edges(x: Vector, width: float, origin: float, column: int) -> Doubles:
    """Edges origin + k width that cover the numbers."""
    low, high = (float(np.float64(end) - origin) / width for end in (x.min(), x.max()))
    first = np.floor(low + NEAR_EDGE)
    last = max(np.floor(high + NEAR_EDGE) + 1, first + 1)
    if last - first > MAX_BINS:
        raise ValueError(
            f"HistogramDensity: width {width:g} makes {last - first:.3g} bins in column {column}: give a larger one"
        )
    edges = np.asarray(origin + width * np.arange(first, last + 1))
    edges[0] = min(edges[0], x.min())  # on the edge, but for rounding
    return edges


def given_edges(bins: Sequence[Any], x: Vector, w: Weights, j: int, d: int) -> Doubles:
    """The edges of a column from a list with an entry for each column: a number of bins, a rule, or edges."""
    if len(bins) != d:
        if d == 1 and np.ndim(bins) == 1:
            return _checked_edges(bins, j)
        raise ValueError(f"HistogramDensity: bins has {len(bins)} entries, X has {d} columns")
    if isinstance(bins[j], str) or np.ndim(bins[j]) == 0:
        return bin_edges(x, w, bins[j], j, d)
    return _checked_edges(bins[j], j)


def _checked_edges(edges: Any, column: int) -> Doubles:
    ends = np.asarray(edges, dtype=np.float64)
    if ends.ndim != 1 or len(ends) < 2 or not (np.diff(ends) > 0).all():
        raise ValueError(f"HistogramDensity: the edges of column {column} must be two or more increasing numbers")
    return ends


def _of_column(given: Any, j: int, d: int, what: str) -> float:
    values: Array = np.broadcast_to(np.asarray(given, dtype=np.float64), (d,)) if np.ndim(given) < 2 else np.empty(0)
    if len(values) != d or (what == "width" and not (values > 0).all()):
        raise ValueError(f"HistogramDensity: {what} must be a number or one for each of the {d} columns; got {given!r}")
    return float(values[j])
