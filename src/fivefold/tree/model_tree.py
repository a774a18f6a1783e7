"""Model trees: a least squares surface in every leaf.

    split a node where two surfaces leave the smallest sum of squares; keep the split where it pays:

    Q_left + Q_right  <=  Q (1 - penalty (d + 2) log(W) / W)

Q are sums of squared residuals. A split adds d + 2 parameters: one more surface and a threshold; for penalty 1 the
condition is Schwarz's criterion. So data on one plane are one leaf. A leaf answers with its surface, its mean, or its
median; with fewer rows than a surface has parameters it answers with the mean, and where columns are dependent, with
the surface of smallest norm.

Quinlan (1992), Learning with continuous classes; Schwarz (1978).
"""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import KW_ONLY
from typing import Literal

import numpy as np
from sklearn.utils.validation import check_is_fitted

from fivefold.core.estimators.base import learned
from fivefold.core.estimators.params import Count, NonNegative, Positive
from fivefold.core.estimators.supervised_learning import Regressor
from fivefold.core.registry import Card
from fivefold.core.types import Indices, Matrix, Table, Target, UserTable, Vector, Weights
from fivefold.linear_model.solvers.least_squares_solver import least_squares
from fivefold.tree.shared.leaf_models import LinearLeaves, grow_by_cuts, mean_and_spread, residual_cut, residual_squares

EXACT_FIT_SHARE = 1e-9  # squared residuals below this share of the sum of squares of y are rounding


class ModelTreeRegressor(Regressor):
    """A tree with a linear surface in every leaf: fewer leaves, each with more to say.

    Parameters
    ----------
    leaf
        what a leaf answers with: a "linear" surface, the "mean", or the "median", which outliers do not move.
    max_depth
        maximum number of questions on a path.
    min_samples_leaf
        minimum weight of the rows of a leaf; None for twice the number of parameters of a surface, or 5 without one.
    penalty
        how many times Schwarz's price a split must gain; smaller values give more leaves.
    smoothing
        width of the boundaries between leaves, in units of the spread of the column; with zero the answer jumps at a
        boundary, otherwise it is continuous.

    Attributes
    ----------
    tree_
        the nodes, a struct of arrays.
    coef_, intercept_
        the surfaces of all nodes, one row per node; those at `tree_.leaves` answer.

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
        use="Targets that are linear in parts, with kinks or jumps between them. Beyond the data its surfaces go on "
        "rising or falling, as those of a tree of means do not.",
        steps=(
            "For cuts of every column, fit one surface per side and sum the squared residuals.",
            "Split at the best cut if it gains more than the price of its parameters; go on in both parts.",
            "Answer with the surface, mean or median of the leaf; blend neighbouring leaves where boundaries are soft.",
        ),
        source="Quinlan (1992)",
        see_also=("DecisionTreeRegressor", "LinearRegression"),
        variants=({"leaf": "median", "max_depth": 3}, {"smoothing": 0.1}, {"leaf": "mean", "penalty": 0.5}),
        search={"penalty": (0.5, 1.0, 3.0), "max_depth": (2, 4, 8)},
    )

    tree_ = learned("tree")

    @property
    def coef_(self) -> Matrix:
        """The slopes of the surface of each node."""
        return self.model_.coef[:, 0]

    @property
    def intercept_(self) -> Vector:
        """The intercept of the surface of each node."""
        return self.model_.intercept[:, 0]

    def _fit(self, X: Table, y: Target, w: Weights) -> None:
        X, y = X.astype(np.float64), y.astype(np.float64)
        linear = self.leaf == "linear"
        (centre, spread), mean = mean_and_spread(X, w), float(w @ y / w.sum())
        scaled = (X - centre) / np.where(spread > 0, spread, 1.0)
        Z = np.column_stack([np.ones(len(X)), *(scaled.T if linear else ()), y - mean])
        least = self.min_samples_leaf or float(2 * (Z.shape[1] - 1) if linear else 5)
        rounding = EXACT_FIT_SHARE * float(w @ (y - mean) ** 2)

        def best_cut(rows: Indices) -> tuple[int, float] | None:
            W = float(w[rows].sum())
            moments = (Z[rows] * w[rows][:, None]).T @ Z[rows]
            before = float(residual_squares(moments))
            if W < 2 * least or before <= rounding:
                return None
            cut = residual_cut(X, Z, w, rows, least)
            pays = cut.squares <= before * (1 - self.penalty * Z.shape[1] * np.log(W) / W)
            return (cut.column, cut.threshold) if cut.column >= 0 and pays else None

        tree, members = grow_by_cuts(X, np.arange(len(X)), best_cut, self.max_depth)
        models = [LEAF_MODELS[self.leaf](X[rows], y[rows], w[rows]) for rows in members.values()]
        coef, intercept = (np.array(part)[:, None] for part in zip(*models, strict=True))
        self.model_ = LinearLeaves(tree, coef, intercept, self.smoothing * spread)

    def predict(self, X: UserTable) -> Vector:
        """The answer of the leaf of each row, or a blend of neighbouring leaves."""
        X = self._admit(X)
        return self.model_.answers(X)[:, 0].astype(X.dtype, copy=False)

    def apply(self, X: UserTable) -> Indices:
        """The index of the leaf of each row."""
        return self.model_.tree.apply(self._admit(X))

    def get_n_leaves(self) -> int:
        """Number of leaves."""
        check_is_fitted(self)
        return len(self.model_.tree.leaves)


Surface = tuple[Vector, float]  # coefficients (d,) and intercept


def _surface(X: Table, y: Target, w: Weights) -> Surface:
    if w.sum() <= X.shape[1] + 1:
        return _mean(X, y, w)
    found = least_squares(np.ascontiguousarray(X), y[:, None], w, True)
    return found.W[:, 0], float(found.intercept[0])


def _mean(X: Table, y: Target, w: Weights) -> Surface:
    return np.zeros(X.shape[1]), float(w @ y / w.sum())


def _median(X: Table, y: Target, w: Weights) -> Surface:
    """Half of the weight is on either side of the median; halfway between two values that halve the weight."""
    order = np.argsort(y, kind="stable")
    share = np.cumsum(w[order]) / w.sum()
    low = order[np.searchsorted(share, 0.5 - 1e-12)]
    high = order[min(int(np.searchsorted(share, 0.5 + 1e-12)), len(y) - 1)]
    return np.zeros(X.shape[1]), float(y[low] / 2 + y[high] / 2)


LEAF_MODELS: dict[str, Callable[..., Surface]] = {"linear": _surface, "mean": _mean, "median": _median}
