"""CART for numbers: least squares, and a price for each leaf that rows left out decide.

    choose the tree of least  sum_leaves W I / W_all + alpha x leaves

As alpha grows the tree of least total shrinks by one weakest link at a time; between two links it stays as it is, and
the geometric mean of their prices stands for it. A tree grows without each of the folds and is cut back at every price
in turn; its squared error on the fold judges the price. Of prices whose error is within `standard_errors` of the least,
the largest wins, and with it the smallest tree. Equal rows are in one fold, which their content decides, so weights
mean repetition.

Breiman, Friedman, Olshen & Stone (1984), Classification and Regression Trees, sections 3.4 and 8.5.
"""

from __future__ import annotations

from dataclasses import KW_ONLY, dataclass, fields
from typing import Annotated, Any

import numpy as np

from fivefold.core.estimators.base import learned
from fivefold.core.estimators.params import NonNegative, Range
from fivefold.core.registry import Card
from fivefold.core.types import Table, Target, Weights
from fivefold.partition.content_folds import content_folds
from fivefold.tree.cart import candidate_alphas
from fivefold.tree.decision_tree import DecisionTreeRegressor
from fivefold.tree.shared.base import TreeModel

MAX_ALPHAS = 50  # prices that are tried
ERROR_TOLERANCE = 1e-9  # errors that differ by this share are equal


@dataclass(frozen=True)
class PrunedTreeModel(TreeModel):
    """A tree cut back at a price, and the prices that were tried with their errors."""

    alpha: float = 0.0
    alphas: Any = None  # (m,)
    errors: Any = None  # (m,) mean squared error on rows left out


class CARTRegressor(DecisionTreeRegressor):
    """CART for numbers: a tree of least squares, cut back to the size that does best on rows left out.

    Parameters
    ----------
    criterion
        "squared_error" and "friedman_mse" lower the variance, "poisson" the deviance of counts; leaves answer with the
        mean. "absolute_error" lowers the absolute deviation from the median, the answer; "max_error" the worst error
        about the middle of the range.
    splitter
        "best" takes the best cut of a column, "random" one at a threshold drawn between its least and largest value.
    max_depth
        most questions on a way down; None for no limit.
    min_samples_split, min_samples_leaf
        least rows of a node that is divided, and of a leaf; a fraction is a share of all rows.
    min_weight_fraction_leaf
        least share of the total weight in a leaf.
    max_features
        columns tried at a node, drawn at random: a number, a share, "sqrt", "log2", or None for all.
    random_state
        seed of the draws of columns and thresholds.
    max_leaf_nodes
        most leaves; the nodes that gain most are divided first.
    min_impurity_decrease
        least fall of the impurity by a cut, a share of the root's weight.
    ccp_alpha
        price of a leaf; None lets rows left out decide.
    monotonic_cst
        1 for each column along which the answer must rise, -1 where it must fall, 0 elsewhere.
    min_impurity
        nodes of no more impurity are leaves.
    missing
        side of rows whose value is missing: "learned", the one that lowers the impurity more; "majority", that of most
        known rows; "tested", that too, unless the missing rows differ from the known by three standard errors.
    folds
        parts of the rows that are left out in turn.
    standard_errors
        the smallest tree wins whose error is within so many standard errors of the least; 1 is the rule of the book.

    Attributes
    ----------
    ccp_alpha_
        the price of a leaf that was taken.
    alphas_, alpha_errors_
        the prices that were tried, and the mean squared error of each on rows left out.
    tree_
        the nodes, under scikit-learn's names.
    feature_importances_
        share of each column in the fall of the impurity.

    Examples
    --------
    >>> import numpy as np
    >>> from fivefold.tree import CARTRegressor
    >>> rng = np.random.default_rng(0)
    >>> X = rng.uniform(size=(400, 3))
    >>> model = CARTRegressor(standard_errors=1, random_state=0).fit(X, (X[:, 0] > 0.5) + 0.3 * rng.normal(size=400))
    >>> model.get_n_leaves(), model.predict([[0.2, 0.5, 0.5], [0.8, 0.5, 0.5]]).round(1).tolist()
    (2, [0.0, 1.0])
    """

    _: KW_ONLY
    ccp_alpha: NonNegative | None = None  # type: ignore[assignment]  # wider: None asks the folds
    folds: Annotated[int, Range(2)] = 5
    standard_errors: NonNegative = 0.0

    ccp_alpha_ = learned("alpha")
    alphas_ = learned("alphas")
    alpha_errors_ = learned("errors")

    card = Card(
        applications=("regression", "data mining"),
        use="One tree to read, of a size that needs no tuning. A forest or boosting predicts better.",
        steps=(
            "Divide by least squares until the target is constant or the rows are few.",
            "Find the prices of a leaf at which the tree shrinks.",
            "Grow a tree without each fold and judge the prices on it; cut the tree of all rows back at the best.",
        ),
        source="Breiman, Friedman, Olshen & Stone (1984)",
        see_also=("DecisionTreeRegressor", "CARTClassifier", "ModelTreeRegressor"),
        variants=({"standard_errors": 1.0, "folds": 3}, {"ccp_alpha": 0.01, "min_samples_leaf": 3}),
        search={"min_samples_leaf": (1, 5, 20), "standard_errors": (0.0, 1.0)},
    )

    def _fit(self, X: Table, y: Target, w: Weights) -> None:
        whole = self._whole(X, y, w)
        alphas, errors, alpha = np.zeros(1), np.full(1, np.nan), self.ccp_alpha
        if alpha is None:
            alphas = candidate_alphas(whole.links().alpha, MAX_ALPHAS)
            errors, alpha = self._judged(X, y, w, alphas)
        tree = whole.pruned(alpha)
        known = {field.name: getattr(tree, field.name) for field in fields(TreeModel)}
        self.model_ = PrunedTreeModel(**known, alpha=float(alpha), alphas=alphas, errors=errors)

    def _whole(self, X: Table, y: Target, w: Weights) -> TreeModel:
        """The tree before it is cut back."""
        names = DecisionTreeRegressor().get_params()
        tree: Any = DecisionTreeRegressor(**{name: getattr(self, name) for name in names} | {"ccp_alpha": 0.0})
        if "categories_in_" in vars(self):
            tree.categories_in_ = vars(self)["categories_in_"]
        tree._fit(X, y, w)
        return tree.model_

    def _judged(self, X: Table, y: Target, w: Weights, alphas: Any) -> tuple[Any, float]:
        """Mean squared errors of the prices on rows left out, and the price to take."""
        fold, target = content_folds(X, y, self.folds), y.reshape(len(y), -1)
        if fold.max() == 0:  # nothing to judge by
            return np.full(len(alphas), np.nan), 0.0
        squares = np.zeros((len(alphas), len(y)))
        for k in range(fold.max() + 1):
            kept, out = np.flatnonzero(fold != k), np.flatnonzero(fold == k)
            tree, asked = self._whole(X[kept], y[kept], w[kept]), X[out]
            path = tree.links()
            for i, alpha in enumerate(alphas):
                smaller = tree.pruned(alpha, path)
                squares[i, out] = ((smaller.value[smaller.tree.apply(asked)] - target[out]) ** 2).mean(axis=1)
        errors = squares @ w / w.sum()
        best = int(errors.argmin())
        spread = np.sqrt((squares[best] - errors[best]) ** 2 @ w / w.sum() ** 2)
        room = self.standard_errors * spread + ERROR_TOLERANCE * errors[best]
        return errors, float(alphas[np.flatnonzero(errors <= errors[best] + room)[-1]])
