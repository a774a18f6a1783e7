"""Neighbourhood components analysis: a linear map after which a random neighbour has the same label most often.

    max over L of  sum_i p_i,   p_i = sum over j of the class of i of p_ij,
    p_ij = exp(-|L x_i - L x_j|^2) / sum over k other than i of exp(-|L x_i - L x_k|^2)

p_i is the probability that row i is classified right if its neighbour j is drawn with probability p_ij: the
leave-one-out score of a soft nearest-neighbour rule. Found by L-BFGS. A row of weight two has its copy among its
neighbours.

Goldberger, Roweis, Hinton & Salakhutdinov (2005).
"""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import KW_ONLY
from itertools import count
from typing import Any

import numpy as np
from sklearn.exceptions import ConvergenceWarning

from fivefold.core.console.user_warnings import warn
from fivefold.core.estimators.params import Index
from fivefold.core.random_state import check_random_state
from fivefold.core.registry import Card
from fivefold.core.types import Array, Codes, Doubles, Indices, Table, Target, Weights
from fivefold.neighbors.learned_metrics.base import LinearMetric, MetricLearner
from fivefold.neighbors.learned_metrics.pair_objective import PairObjective
from fivefold.spatial.labelled_rows import LabelledRows


class SoftNeighbors(PairObjective):
    """Minus the sum of w_i p_i; rows stand in the order of their classes."""

    def __init__(self, X: Doubles, y: Codes, w: Weights) -> None:
        super().__init__(X)
        self.w, self.y = w, y
        self.bounds = np.searchsorted(y, np.arange(int(y[-1]) + 2))  # class c has the rows bounds[c] .. bounds[c + 1]
        self.copies = np.maximum(w - 1, 0)  # of a row among its own neighbours

    def row_terms(self, D: Doubles, rows: Indices, Z: Doubles) -> tuple[float, Doubles]:
        m = np.arange(len(rows))
        D[m, rows] = np.where(self.copies[rows] > 0, 0.0, np.inf)
        D -= D.min(axis=1, keepdims=True)
        P = np.exp(np.negative(D, out=D), out=D)
        P *= self.w
        P[m, rows] = np.where(self.copies[rows] > 0, P[m, rows] / self.w[rows] * self.copies[rows], 0.0)
        P /= P.sum(axis=1, keepdims=True)
        value, first = 0.0, 0
        while first < len(rows):  # a run of rows of one class at a time: its columns lie side by side
            c = self.y[rows[first]]
            lo, hi = self.bounds[c], self.bounds[c + 1]
            last = first + int(min(hi, rows[-1] + 1) - rows[first])
            run, own = P[first:last], self.w[rows[first:last]]
            right = run[:, lo:hi].sum(axis=1)  # p_i
            value -= float(own @ right)
            factor = own * right
            inside = run[:, lo:hi] * own[:, None]
            run *= -factor[:, None]
            run[:, lo:hi] += inside
            first = last
        return value, P


class NeighborhoodComponentsAnalysis(
    MetricLearner, keywords="init warm_start max_iter tol callback verbose random_state"
):
    """A linear map after which nearest neighbours have the same label.

    Parameters
    ----------
    callback
        called after every step with the map, as one vector, and the number of the step.
    verbose
        above zero, the objective is printed after every step.

    Examples
    --------
    >>> from fivefold.neighbors import NeighborhoodComponentsAnalysis
    >>> X = [[0, 9], [1, -8], [0, -7], [5, 8], [6, -9], [5, 7]]
    >>> y = ["low", "low", "low", "high", "high", "high"]
    >>> model = NeighborhoodComponentsAnalysis(n_components=1, random_state=0).fit(X, y)
    >>> bool(abs(model.components_[0, 0]) > abs(model.components_[0, 1]))
    True
    """

    _: KW_ONLY
    callback: Callable[..., Any] | None = None
    verbose: Index = 0

    card = Card(
        applications=("dimension reduction", "visualization"),
        use="Before nearest neighbours where columns differ in scale or worth, and for a picture of labelled rows.",
        steps=(
            "Start from principal axes, discriminants or the columns themselves.",
            "Let every row draw a neighbour, near ones more often, by distances after the map.",
            "Climb along the gradient of the expected number of rows whose neighbour has their label.",
        ),
        source="Goldberger, Roweis, Hinton & Salakhutdinov (2005)",
        see_also=("LMNN", "LMCA", "LinearDiscriminantAnalysis"),
        variants=({"n_components": 1, "init": "pca"},),
        growth=2.0,
    )

    def _fit(self, X: Table, y: Target, w: Weights, earlier: LinearMetric | None = None) -> None:
        self._check_width(X.shape[1])
        if w.sum() <= 1:
            raise ValueError(f"{type(self).__name__}: 2 rows are needed, but there is only 1 sample, so n_samples=1")
        rows = LabelledRows.of(X, y, w).by_label()
        objective = SoftNeighbors(rows.X.astype(np.float64), rows.y, rows.w)
        start = self._start(rows, earlier)
        step = count(1)

        def after_step(x: Array, value: float) -> bool:
            number = next(step)
            if self.callback is not None:
                self.callback(x, number)
            if self.verbose:
                print(f"[{type(self).__name__}] step {number}: objective {-value:.6e}")
            return False

        found = self._descend(objective, start, self.tol, X, after_step)
        self.model_ = LinearMetric(found.x.reshape(start.shape), -found.value, found.steps, X.dtype)
        if self.verbose and found.reason == "max_iter":
            warn(
                f"[{type(self).__name__}] NCA did not converge in max_iter={self.max_iter} steps; raise it, or tol",
                ConvergenceWarning,
            )

    @property
    def random_state_(self) -> np.random.RandomState:
        """The generator that decided the start."""
        return check_random_state(self.random_state)
