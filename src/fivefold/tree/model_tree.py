"""Model trees: a least squares surface in every leaf.

    divide a node where two surfaces leave the least squares; keep the division where it pays:

    Q_left + Q_right  <=  Q (1 - penalty (d + 2) log(W) / W)

Q are squared residuals: a division brings d + 2 numbers, those of one more surface and a threshold; the condition is
that of Schwarz's criterion for penalty 1. So data on one plane are one leaf. The leaf answers with the surface, with
the mean, or with the median; with fewer rows than a surface has numbers it is the mean, and of dependent columns the
shortest surface is taken.

Quinlan (1992), Learning with continuous classes; Schwarz (1978).
"""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import KW_ONLY
from typing import Any, Literal

import numpy as np
from sklearn.utils.validation import check_is_fitted

from fivefold.core.estimators.base import learned
from fivefold.core.estimators.params import Count, NonNegative, Positive
from fivefold.core.estimators.supervised_learning import Regressor
from fivefold.core.registry import Card
from fivefold.core.types import Indices, Table, Target, UserTable, Weights
from fivefold.linear_model.solvers.least_squares_solver import least_squares
from fivefold.tree.shared.leaf_models import LinearLeaves, grow_by_cuts, residual_cut, residual_squares

EXACT_FIT_SHARE = 1e-9  # share of the variance below which residuals are rounding


class ModelTreeRegressor(Regressor):
    """A tree with a linear surface in every leaf: fewer leaves, each with more to say.

    Parameters
    ----------
    leaf
        what a leaf answers with: a "linear" surface, the "mean", or the "median", which heavy noise does not move.
    max_depth
        most questions on a way down.
    min_samples_leaf
        least weight of the rows of a leaf; None for twice the numbers of a surface.
    penalty
        how many times Schwarz's price a division must pay; smaller gives more leaves.
    smoothing
        width of the boundaries between leaves, in spreads of the column; zero for a step, more for a continuous answer.

    Attributes
    ----------
    tree_
        the nodes, a struct of arrays.
    coef_, intercept_
        the surfaces of all nodes, a row a node; those at `tree_.leaves` answer.

    Examples
    --------
    >>> import numpy as np
    >>> from fivefold.tree import ModelTreeRegressor
    >>> X = np.linspace(-1, 1, 41)[:, None]
    >>> model = ModelTreeRegressor().fit(X, np.abs(X[:, 0]))
    >>> model.get_n_leaves(), model.predict([[-0.5], [2.0]])
    (2, array([0.5, 2. ]))
    """

    _: KW_ONLY
    leaf: Literal["linear", "mean", "median"] = "linear"
    max_depth: Count = 8
    min_samples_leaf: Positive | None = None
    penalty: NonNegative = 1.0
    smoothing: NonNegative = 0.0

    card = Card(
        applications=("regression",),
        use="Targets that are linear in parts, with kinks or jumps between them. Beyond the data its surfaces go on, "
        "which a tree of means does not.",
        steps=(
            "Try the cuts of every column: two surfaces, one a side, leave some squares unexplained.",
            "Divide at the best cut if it pays for the numbers it brings; go on in both parts.",
            "Answer with the surface, mean or median of the leaf; blend neighbouring leaves where boundaries are soft.",
        ),
        source="Quinlan (1992)",
        see_also=("DecisionTreeRegressor", "LinearRegression"),
        variants=({"leaf": "median", "max_depth": 3}, {"smoothing": 0.1}, {"leaf": "mean", "penalty": 0.5}),
        search={"penalty": (0.5, 1.0, 3.0), "max_depth": (2, 4, 8)},
    )

    tree_ = learned("tree")

    @property
    def coef_(self) -> Any:
        """The slopes of the surface of each node."""
        return self.model_.coef[:, 0]

    @property
    def intercept_(self) -> Any:
        """The height at zero of the surface of each node."""
        return self.model_.intercept[:, 0]

    def _fit(self, X: Table, y: Target, w: Weights) -> None:
        X, y = X.astype(np.float64), y.astype(np.float64)
        linear = self.leaf == "linear"
        centre, height = w @ X / w.sum(), float(w @ y / w.sum())
        spread = np.sqrt(w @ (X - centre) ** 2 / w.sum())
        scaled = (X - centre) / np.where(spread > 0, spread, 1.0)
        Z = np.column_stack([np.ones(len(X)), *(scaled.T if linear else ()), y - height])
        least = self.min_samples_leaf or float(2 * (Z.shape[1] - 1) if linear else 5)
        nothing = EXACT_FIT_SHARE * float(w @ (y - height) ** 2)

        def best_cut(rows: Indices) -> tuple[int, float] | None:
            W = float(w[rows].sum())
            moments = (Z[rows] * w[rows][:, None]).T @ Z[rows]
            rest = float(residual_squares(moments))
            if W < 2 * least or rest <= nothing:
                return None
            after, j, threshold = residual_cut(X, Z, w, rows, least)
            pays = after <= rest * (1 - self.penalty * Z.shape[1] * np.log(W) / W)
            return (j, threshold) if j >= 0 and pays else None

        tree, members = grow_by_cuts(X, np.arange(len(X)), best_cut, self.max_depth)
        models = [LEAF_MODELS[self.leaf](X[rows], y[rows], w[rows]) for rows in members.values()]
        coef, intercept = (np.array(part)[:, None] for part in zip(*models, strict=True))
        self.model_ = LinearLeaves(tree, coef, intercept, self.smoothing * spread)

    def predict(self, X: UserTable) -> Any:
        """The answer of the leaf of each row, or a blend of neighbouring leaves."""
        X = self._admit(X)
        return self.model_.answers(X)[:, 0].astype(X.dtype, copy=False)

    def apply(self, X: UserTable) -> Any:
        """The index of the leaf of each row."""
        return self.model_.tree.apply(self._admit(X))

    def get_n_leaves(self) -> int:
        """Number of leaves."""
        check_is_fitted(self)
        return len(self.model_.tree.leaves)


def _surface(X: Table, y: Target, w: Weights) -> tuple[Any, float]:
    if w.sum() <= X.shape[1] + 1:
        return _mean(X, y, w)
    found = least_squares(np.ascontiguousarray(X), y[:, None], w, True)
    return found.W[:, 0], float(found.intercept[0])


def _mean(X: Table, y: Target, w: Weights) -> tuple[Any, float]:
    return np.zeros(X.shape[1]), float(w @ y / w.sum())


def _median(X: Table, y: Target, w: Weights) -> tuple[Any, float]:
    """Half of the weight is on either side; halfway between two values that divide it."""
    order = np.argsort(y, kind="stable")
    share = np.cumsum(w[order]) / w.sum()
    low = order[np.searchsorted(share, 0.5 - 1e-12)]
    high = order[min(int(np.searchsorted(share, 0.5 + 1e-12)), len(y) - 1)]
    return np.zeros(X.shape[1]), float(y[low] / 2 + y[high] / 2)


LEAF_MODELS: dict[str, Callable[..., tuple[Any, float]]] = {"linear": _surface, "mean": _mean, "median": _median}
