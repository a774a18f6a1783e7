"""Pruning a fitted tree on separate rows: reduced-error pruning.

    from the bottom up, a node becomes a leaf where that is not worse on the pruning set           search = "bottom_up"
    the node whose removal helps most becomes a leaf, again and again, while one does no harm      search = "best_first"

The pruning set is neither that of fit nor the one on which the tree is finally judged. The label of a new leaf is that
of the rows of fit below it. Numbers are judged by squared error, classes by mistakes.

Quinlan (1987); Mitchell (1997), section 3.7.1.1.
"""

from __future__ import annotations

from copy import copy
from typing import Literal, TypeVar

import numpy as np
from sklearn.base import is_classifier
from sklearn.utils.validation import check_is_fitted

from fivefold.core.admission.targets import admit_weights
from fivefold.core.types import Table, Target, UserTable, UserTarget, UserWeights, Vector, Weights
from fivefold.partition.pruning.pruning_methods import best_removal_pruning, bottom_up, node_totals
from fivefold.tree.export.tree_reader import TreeEstimator
from fivefold.tree.shared.base import TreeModel
from fivefold.tree.shared.multiway_trees import MultiwayModel

FittedTree = TypeVar("FittedTree")  # an estimator of this chapter


def prune_on(
    model: FittedTree,
    X: UserTable,
    y: UserTarget,
    sample_weight: UserWeights = None,
    *,
    search: Literal["bottom_up", "best_first"] = "bottom_up",
) -> FittedTree:
    """A copy of a fitted tree, pruned by its errors on the rows of X.

    Examples
    --------
    >>> from sklearn.datasets import load_breast_cancer
    >>> from fivefold.tree import ID3Classifier, prune_on
    >>> X, y = load_breast_cancer(return_X_y=True)
    >>> model = ID3Classifier().fit(X[:300], y[:300])
    >>> smaller = prune_on(model, X[300:400], y[300:400])
    >>> smaller.get_n_leaves() < model.get_n_leaves(), smaller.score(X[400:], y[400:]) >= model.score(X[400:], y[400:])
    (True, True)
    """
    check_is_fitted(model)
    if not isinstance(getattr(model, "model_", None), TreeModel | MultiwayModel):
        raise TypeError(f"{type(model).__name__} is not a tree that prune_on can prune; fit one of fivefold.tree")
    pruned: TreeEstimator = copy(model)
    X = pruned._admit(X)
    w = admit_weights(pruned, sample_weight, X)
    errors, stuck = _errors(pruned, X, np.asarray(y), w)
    parent = pruned.model_.tree.parent
    leaves = bottom_up(parent, errors, stuck) if search == "bottom_up" else best_removal_pruning(parent, errors)
    pruned.model_ = pruned.model_.prune(leaves)
    return pruned


def _errors(model: TreeEstimator, X: Table, y: Target, w: Weights) -> tuple[Vector, Vector]:
    """The error of each node as a leaf on the rows that pass through it, and of inner nodes on rows that end there."""
    tree, value = model.model_.tree, model.model_.value
    missing = model.model_.missing if isinstance(model.model_, MultiwayModel) else "majority"
    if is_classifier(model):
        codes = np.searchsorted(model.classes_, y).clip(0, len(model.classes_) - 1)
        known = (np.eye(len(model.classes_))[codes] * (model.classes_[codes] == y)[:, None]) * w[:, None]
        passed, ended = node_totals(tree, X, np.column_stack([known, w]), missing)
        best = value.argmax(axis=1)
        at = np.arange(len(best))
        return passed[:, -1] - passed[at, best], np.where(tree.feature >= 0, ended[:, -1] - ended[at, best], 0.0)
    t = y.astype(np.float64)
    passed, _ = node_totals(tree, X, np.column_stack([w, w * t, w * t * t]), missing)
    mean = value[:, 0]
    return passed[:, 2] - 2 * mean * passed[:, 1] + mean**2 * passed[:, 0], np.zeros(len(mean))
