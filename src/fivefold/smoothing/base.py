"""Smoothers: curves and surfaces from the rows around a query, whose smoothness may be chosen by the rows themselves.

A parameter that says how smooth (a width, a number of neighbours, a penalty, a degree) takes a value, or the name of
the criterion by which it is chosen: "loo", "gcv" or "cv" (see local_fits/smoothness_selection.py).
"""

from __future__ import annotations

from collections.abc import Callable, Sequence
from dataclasses import KW_ONLY, dataclass, replace
from itertools import product
from math import comb
from typing import Any, ClassVar, Literal, Self

import numpy as np
from sklearn.callback import with_callbacks

from fivefold.core.estimators.base import learned
from fivefold.core.estimators.params import OpenFraction
from fivefold.core.estimators.supervised_learning import Regressor
from fivefold.core.types import (
    Array,
    Doubles,
    Indices,
    Table,
    Target,
    UserTable,
    UserTarget,
    UserWeights,
    Weights,
)
from fivefold.linear_model.model_selection.cv_folds import Fold, split_folds
from fivefold.partition.content_folds import content_folds
from fivefold.smoothing.local_fits.bands import ConfidenceBand, confidence_band
from fivefold.smoothing.local_fits.local_regression import EmptyPolicy, LocalRegression, Shape
from fivefold.smoothing.local_fits.smoothness_selection import SmoothnessSearch, left_out_residuals, score, scored_rows
from fivefold.spatial.row_order import content_order

FOLDS = 5  # of "cv" where no others are given
WIDTHS = np.geomspace(0.02, 4.0, 24)  # that are tried, times the spread of the rows
MAX_TERMS = 50  # functions of a polynomial whose degree is tried, in many columns
COUNTS = 20  # numbers of neighbours that are tried, at most


@dataclass(frozen=True)
class FittedSmoother:
    """A smoother with its rows, and how its setting was found."""

    smoother: Any  # LocalRegression, or whatever a method predicts by
    settings: dict[str, Any]
    search: SmoothnessSearch | None


class Smoother(Regressor):
    """A regressor whose smoothness may be chosen by the rows.

    Parameters
    ----------
    cv
        folds of the criterion "cv": a number, a splitter, or pairs of row numbers; None for five that the content of
        the rows decides.

    Attributes
    ----------
    search_
        settings that were tried and their scores, or None where all were given.
    """

    _: KW_ONLY
    cv: Any = None  # whatever scikit-learn's check_cv takes

    _tuned: ClassVar[tuple[str, ...]] = ("width",)
    _is_linear_in_rows: ClassVar[bool] = False  # does a fit with all its leverages take time linear in the rows?

    search_ = learned("search")

    def _settings(self) -> dict[str, Any]:
        """The parameters that say how smooth: values, or names of criteria."""
        return {name: getattr(self, name) for name in self._tuned}

    def _prepare(self, X: Doubles, y: Doubles, w: Doubles) -> Any:
        """What all settings have in common."""
        raise TypeError(f"{type(self).__name__} does not say how rows are kept")

    def _with(self, prepared: Any, settings: dict[str, Any]) -> Any:
        """The smoother with these settings: callable, and for "loo" and "gcv" a `LinearFit`."""
        raise TypeError(f"{type(self).__name__} does not say how it smooths")

    def _final(self, prepared: Any, settings: dict[str, Any]) -> Any:
        """What is kept, and predicts, with the settings that were given or chosen."""
        return self._with(prepared, settings)

    def _candidates(self, prepared: Any, name: str) -> Sequence[float]:
        """Values to try, from rough to smooth."""
        raise TypeError(f"{type(self).__name__} does not say what to try for {name}")

    @with_callbacks
    def fit(self, X: UserTable, y: UserTarget, sample_weight: UserWeights = None) -> Self:
        """Learn from rows and their targets; a weight of two counts a row twice."""
        return self._fit_admitted(X, y, sample_weight, given_weight=sample_weight)

    def _fit(self, X: Table, y: Target, w: Weights, given_weight: UserWeights = None) -> None:
        X, y, w = (np.asarray(a, dtype=np.float64) for a in (X, y, w))
        prepared = self._prepare(X, y, w)
        settings = self._settings()
        asked = {name: value for name, value in settings.items() if isinstance(value, str)}
        search = None
        if asked:
            criterion = next(iter(asked.values()))
            if len(set(asked.values())) > 1:
                raise ValueError(f"{type(self).__name__}: {asked}: choose all of them by one criterion")
            grid = [dict(zip(asked, v, strict=True)) for v in product(*(self._candidates(prepared, n) for n in asked))]
            if criterion == "cv":
                scores = self._fold_scores(X, y, w, settings, grid, self._folds(X, y, given_weight))
            else:
                picked: Indices = np.arange(len(prepared.w))
                counts: Doubles = prepared.w
                if not self._is_linear_in_rows:
                    picked, counts = scored_rows(prepared.w, content_order(prepared.rows, prepared.y), prepared.terms)
                scores = [score(self._with(prepared, {**settings, **more}), criterion, picked, counts) for more in grid]
            tried = np.array([list(more.values()) for more in grid], dtype=np.float64)
            search = SmoothnessSearch(criterion, tuple(asked), tried, np.array(scores))
            settings |= grid[search.best]
        self.model_ = FittedSmoother(self._final(prepared, settings), settings, search)

    def _fold_scores(
        self,
        X: Doubles,
        y: Doubles,
        w: Doubles,
        settings: dict[str, Any],
        grid: list[dict[str, Any]],
        folds: list[Fold],
    ) -> list[float]:
        """The mean squared error of each setting on rows outside the fit."""
        sums = np.zeros(len(grid))
        for train, test in folds:
            prepared = self._prepare(X[train], y[train], w[train])
            for i, more in enumerate(grid):
                errors = y[test] - self._with(prepared, {**settings, **more})(X[test])
                sums[i] += float(w[test] @ np.square(errors).reshape(len(test), -1).sum(axis=1))
        return list(sums / w.sum())

    def _folds(self, X: Doubles, y: Doubles, given_weight: UserWeights) -> list[Fold]:
        if self.cv is not None:
            return split_folds(self.cv, X, y, given_weight)
        fold = content_folds(X, y, FOLDS)
        if fold.max() == 0:
            raise ValueError(
                f"{type(self).__name__}: folds need two distinct rows, and all are 1 sample: give {self._tuned[0]} a "
                "value"
            )
        return [(np.flatnonzero(fold != k), np.flatnonzero(fold == k)) for k in range(fold.max() + 1)]

    def predict(self, X: UserTable) -> Array:
        """The value of the curve or surface at each row."""
        X = self._admit(X)
        return self.model_.smoother(X).astype(X.dtype, copy=False)


class LinearSmoother(Smoother):
    """A smoother whose values are weighted sums of the targets."""

    def leave_one_out(self) -> Doubles:
        """The error at each row of the fit if it is left out, target minus prediction, in closed form.

        A row of weight two is there twice; one of the two is left out. Rows of weight zero are not there.
        """
        fit = self.model_.smoother
        out = np.empty(len(fit.y))
        out[fit.order] = left_out_residuals(fit, np.arange(len(fit.y)))
        return out


class LocalSmoother(LinearSmoother):
    """A polynomial in the window of each query.

    Parameters
    ----------
    covariance_type
        the shape of the kernel in many columns: "spherical" takes columns as they are, "diag" divides each by its
        standard deviation, "full" takes distances under the covariance of the rows. Widths are then in deviations.
    empty
        what a query has whose window holds no row: the mean target of the nearest row, NaN, or an error.

    Attributes
    ----------
    width_, n_neighbors_
        half the width of a window, or None; the number of rows that it holds, or None.
    """

    _: KW_ONLY
    covariance_type: Shape = "spherical"
    empty: EmptyPolicy = "nearest"

    @property
    def width_(self) -> float | None:
        found = self.model_.smoother
        return None if found.neighbors else float(found.width)

    @property
    def n_neighbors_(self) -> float | None:
        found = self.model_.smoother
        return float(found.neighbors) if found.neighbors else None

    def confidence_band(
        self, X: UserTable, level: OpenFraction = 0.95, *, variance: Literal["local", "global"] = "local"
    ) -> ConfidenceBand:
        """An interval round the value at each row, at each with this probability; see local_fits/bands.py."""
        X = self._admit(X)
        if not 0 < level < 1:
            raise ValueError(f"{type(self).__name__}: level must be between 0 and 1; got {level!r}")
        model = self.model_.smoother
        return confidence_band(model, model.white(X), level, variance)

    def _settings(self) -> dict[str, Any]:
        known = {name: value for name, value in super()._settings().items() if value is not None}
        if "n_neighbors" in known:
            known.pop("width", None)
        return known

    def _form(self) -> dict[str, Any]:
        """Kernel and degree of the local polynomial."""
        raise TypeError(f"{type(self).__name__} does not say what it fits in a window")

    def _prepare(self, X: Doubles, y: Doubles, w: Doubles) -> Any:
        return LocalRegression.of(
            X, y, w, self.covariance_type, **self._form(), empty=self.empty, owner=type(self).__name__
        )

    def _with(self, prepared: Any, settings: dict[str, Any]) -> Any:
        known = dict(settings)
        if "n_neighbors" in known:
            known["neighbors"] = float(known.pop("n_neighbors"))
        return replace(prepared, **known)

    def _candidates(self, prepared: Any, name: str) -> Sequence[float]:
        return CANDIDATES[name](prepared)


def _counts(model: LocalRegression) -> list[float]:
    """Numbers of neighbours, from few to all."""
    least = 1.0 + model.degree
    most = max(least, model.total - 1)
    return sorted({float(round(k)) for k in np.geomspace(least, most, COUNTS)})


def _widths(model: LocalRegression) -> list[float]:
    spread = model.spread
    return list(WIDTHS * spread) if spread > 0 else [1.0]


CANDIDATES: dict[str, Callable[[LocalRegression], list[float]]] = {
    "width": _widths,
    "n_neighbors": _counts,
    "degree": lambda model: [k for k in (3, 2, 1, 0) if k < 2 or comb(model.rows.shape[1] + k, k) <= MAX_TERMS],
}
