"""Occam pruning of a fitted tree, on the rows of its fit: the part of it with the fewest errors and bits.

    cost      errors + price x (bits per branching: 1 + its test; per leaf: 1 + log2 K)         price = 2 ln 2
    test      log2 d + bits of the threshold, a number of any size that is shorter the fewer digits it has

From the bottom up a branching becomes a leaf where that costs no more, which gives the cheapest of all prunings: with
two classes and two leaves, where it adds no more than price (3 + bits of the test) errors. `OccamTreeClassifier`
shortens thresholds as well.
"""

from __future__ import annotations

from copy import copy
from math import log2
from typing import TypeVar

import numpy as np
from sklearn.utils.validation import check_is_fitted

from fivefold.core.types import UserTable, UserTarget
from fivefold.information.occam_bounds import PRICE_PER_BIT
from fivefold.partition.pruning.pruning_methods import node_totals, occam_pruning
from fivefold.theory.codes.number_codes import double_bits
from fivefold.tree.shared.base import TreeModel
from fivefold.tree.shared.single_column_trees import BaseTreeClassifier

FittedTree = TypeVar("FittedTree", bound=BaseTreeClassifier)


def occam_prune(model: FittedTree, X: UserTable, y: UserTarget, *, price: float = PRICE_PER_BIT) -> FittedTree:
    """A copy of a fitted binary tree, pruned by its errors on the rows of X and by its bits.

    Examples
    --------
    >>> from sklearn.datasets import load_breast_cancer
    >>> from fivefold.tree import DecisionTreeClassifier
    >>> X, y = load_breast_cancer(return_X_y=True)
    >>> model = DecisionTreeClassifier(random_state=0).fit(X, y)
    >>> pruned = occam_prune(model, X, y)
    >>> model.get_n_leaves(), pruned.get_n_leaves()
    (22, 2)
    """
    check_is_fitted(model)
    held = getattr(model, "model_", None)
    if not isinstance(model, BaseTreeClassifier) or not isinstance(held, TreeModel) or held.outputs > 1:
        raise TypeError(
            f"{type(model).__name__} is not a tree that occam_prune can prune; fit a binary tree of fivefold.tree to "
            "one column of labels, or use OccamTreeClassifier"
        )
    if not price >= 0:
        raise ValueError(f"price is the number of errors that a bit is worth, not negative; got {price}")
    if held.tree.set_start is not None:
        raise TypeError("occam_prune takes tests of numbers; this tree asks about sets of categories")
    pruned = copy(model)
    table, K = pruned._admit(X), len(model.classes_)
    wrong = (np.asarray(y)[:, None] != model.classes_).astype(float)  # (n, K) if the leaf of a row had this class
    passed, _ = node_totals(held.tree, table, wrong)
    errors = passed[np.arange(len(passed)), held.value.argmax(axis=1)]
    cuts = np.array([0.0 if np.isnan(t) else double_bits(t) for t in held.tree.threshold.tolist()])  # nan for a leaf
    leaves = occam_pruning(held.tree.parent, errors, log2(held.columns) + cuts, price, log2(K))
    pruned.model_ = held.prune(leaves)
    return pruned
