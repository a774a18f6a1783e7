"""CART for numbers: least squares, and a price per leaf chosen by cross-validation.

    choose the tree of least  sum_leaves W I / W_all + alpha x leaves

As alpha grows, the tree of least total shrinks by one weakest link at a time; between two links it does not change, and
the geometric mean of their prices represents it. For each fold a tree is grown without it and pruned at every price in
turn; its squared error on the fold judges the price. Of the prices whose error is within `standard_errors` of the
least, the largest wins, and with it the smallest tree. Equal rows are in one fold, which their content decides, so
weights mean repetition.

Breiman, Friedman, Olshen & Stone (1984), Classification and Regression Trees, sections 3.4 and 8.5.
"""

from __future__ import annotations

from dataclasses import KW_ONLY, dataclass, fields
from typing import Annotated

import numpy as np

from fivefold.core.estimators.base import learned
from fivefold.core.estimators.params import NonNegative, Range
from fivefold.core.registry import Card
from fivefold.core.types import Table, Target, Vector, Weights
from fivefold.partition.content_folds import content_folds
from fivefold.tree.cart import candidate_alphas
from fivefold.tree.decision_tree import DecisionTreeRegressor
from fivefold.tree.shared.base import TreeModel

MAX_ALPHAS = 50  # prices per leaf that are tried, at most
ERROR_TOLERANCE = 1e-9  # relative difference of errors that counts as rounding


@dataclass(frozen=True)
class PrunedTreeModel(TreeModel):
    """A tree pruned at a price, and the prices that were tried with their errors."""

    alpha: float = 0.0
    alphas: Vector | None = None  # (m,)
    errors: Vector | None = None  # (m,) mean squared error on held-out rows


class CARTRegressor(DecisionTreeRegressor):
    """CART for numbers: a tree of least squares, pruned to the size that does best on held-out rows.

    Parameters
    ----------
    ccp_alpha
        price per leaf; None chooses it by cross-validation.
    folds
        number of cross-validation folds.
    standard_errors
        the smallest tree wins whose error is within this many standard errors of the least; 1 is CART's own rule.

    Attributes
    ----------
    ccp_alpha_
        the price per leaf that was chosen.
    alphas_, alpha_errors_
        the prices that were tried, and the cross-validated mean squared error of each.

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
            "Split by least squares until the target is constant or the rows are few.",
            "Find the prices per leaf at which the tree shrinks.",
            "Grow a tree without each fold and judge the prices on the fold; prune the tree of all rows at the best.",
        ),
        source="Breiman, Friedman, Olshen & Stone (1984)",
        see_also=("DecisionTreeRegressor", "CARTClassifier", "ModelTreeRegressor"),
        variants=({"standard_errors": 1.0, "folds": 3}, {"ccp_alpha": 0.01, "min_samples_leaf": 3}),
        search={"min_samples_leaf": (1, 5, 20), "standard_errors": (0.0, 1.0)},
    )

    def _fit(self, X: Table, y: Target, w: Weights) -> None:
        whole = self._unpruned(X, y, w)
        alphas: Vector = np.zeros(1)
        errors: Vector = np.full(1, np.nan)
        alpha = self.ccp_alpha
        if alpha is None:
            alphas = candidate_alphas(whole.pruning_path().alpha, MAX_ALPHAS)
            errors, alpha = self._cross_validate(X, y, w, alphas)
        tree = whole.pruned(alpha)
        known = {field.name: getattr(tree, field.name) for field in fields(TreeModel)}
        self.model_ = PrunedTreeModel(**known, alpha=float(alpha), alphas=alphas, errors=errors)

    def _unpruned(self, X: Table, y: Target, w: Weights) -> TreeModel:
        """The tree before it is pruned."""
        names = DecisionTreeRegressor().get_params()
        tree = DecisionTreeRegressor(**{name: getattr(self, name) for name in names} | {"ccp_alpha": 0.0})
        if "categories_in_" in vars(self):
            tree.categories_in_ = vars(self)["categories_in_"]
        tree._fit(X, y, w)
        return tree.model_

    def _cross_validate(self, X: Table, y: Target, w: Weights, alphas: Vector) -> tuple[Vector, float]:
        """Mean squared errors of the prices on held-out rows, and the price to take."""
        fold, target = content_folds(X, y, self.folds), y.reshape(len(y), -1)
        if fold.max() == 0:  # all rows are equal: there is nothing to judge by
            return np.full(len(alphas), np.nan), 0.0
        squares = np.zeros((len(alphas), len(y)))
        for k in range(fold.max() + 1):
            kept, out = np.flatnonzero(fold != k), np.flatnonzero(fold == k)
            tree, held_out = self._unpruned(X[kept], y[kept], w[kept]), X[out]
            path = tree.pruning_path()
            for i, alpha in enumerate(alphas):
                smaller = tree.pruned(alpha, path)
                squares[i, out] = ((smaller.value[smaller.tree.apply(held_out)] - target[out]) ** 2).mean(axis=1)
        errors = squares @ w / w.sum()
        best = int(errors.argmin())
        spread = np.sqrt((squares[best] - errors[best]) ** 2 @ w / w.sum() ** 2)
        room = self.standard_errors * spread + ERROR_TOLERANCE * errors[best]
        return errors, float(alphas[np.flatnonzero(errors <= errors[best] + room)[-1]])
