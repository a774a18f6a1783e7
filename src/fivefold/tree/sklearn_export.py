"""Trees shown by scikit-learn's own functions: the same text, graph and drawing for the same tree.

The functions take a tree of scikit-learn's class. They get one that holds our nodes under the names they read.
They cannot show questions about categories: `to_text`, `to_dot` and `fivefold.plot.trees.tree_diagram` can.
"""

from __future__ import annotations

from importlib import import_module
from typing import Any, TextIO, TypeAlias

from sklearn.base import is_classifier
from sklearn.utils.validation import check_is_fitted

from fivefold.tree.export.tree_reader import FeatureNames
from fivefold.tree.shared.base import TreeMethods

ClassNames: TypeAlias = Any  # as users pass them: a list or an array of names, True for the labels, None for none
SklearnTree: TypeAlias = Any  # a fitted tree of scikit-learn's class, which has no types
UserTree: TypeAlias = Any  # a fitted tree of either library

FITTED_ATTRIBUTES = ("classes_", "n_classes_", "n_outputs_", "n_features_in_", "feature_names_in_")


def export_text(
    decision_tree: UserTree,
    *,
    feature_names: FeatureNames = None,
    class_names: ClassNames = None,
    max_depth: int = 10,
    spacing: int = 3,
    decimals: int = 2,
    show_weights: bool = False,
) -> str:
    """The rules of a tree as text, by `sklearn.tree.export_text`.

    >>> from fivefold.tree import DecisionTreeRegressor
    >>> print(export_text(DecisionTreeRegressor(random_state=0).fit([[0.0], [1.0], [2.0]], [1.0, 1.0, 5.0])))
    |--- feature_0 <= 1.50
    |   |--- value: [1.00]
    |--- feature_0 >  1.50
    |   |--- value: [5.00]
    <BLANKLINE>
    """
    return _call_sklearn("export_text", locals())


def export_graphviz(
    decision_tree: UserTree,
    out_file: str | TextIO | None = None,
    *,
    max_depth: int | None = None,
    feature_names: FeatureNames = None,
    class_names: ClassNames = None,
    label: str = "all",
    filled: bool = False,
    leaves_parallel: bool = False,
    impurity: bool = True,
    node_ids: bool = False,
    proportion: bool = False,
    rotate: bool = False,
    rounded: bool = False,
    special_characters: bool = False,
    precision: int = 3,
    fontname: str = "helvetica",
) -> str | None:
    """A tree in the language of Graphviz, by `sklearn.tree.export_graphviz`."""
    return _call_sklearn("export_graphviz", locals())


def plot_tree(
    decision_tree: UserTree,
    *,
    max_depth: int | None = None,
    feature_names: FeatureNames = None,
    class_names: ClassNames = None,
    label: str = "all",
    filled: bool = False,
    impurity: bool = True,
    node_ids: bool = False,
    proportion: bool = False,
    rounded: bool = False,
    precision: int = 3,
    ax: Any = None,  # of matplotlib, which is not imported
    fontsize: int | None = None,
) -> list[Any]:  # annotations of matplotlib
    """A drawing of a tree, by `sklearn.tree.plot_tree`; `fivefold.plot.trees.tree_diagram` draws every kind of tree."""
    return _call_sklearn("plot_tree", locals())


def _call_sklearn(name: str, given: dict[str, object]) -> Any:  # each function has its own answer
    """What scikit-learn's function of this name makes of the tree."""
    return getattr(import_module("sklearn.tree"), name)(as_sklearn_tree(given.pop("decision_tree")), **given)


def as_sklearn_tree(model: UserTree) -> SklearnTree:
    """Our tree as one of scikit-learn's class, with the same nodes; scikit-learn's own is returned unchanged."""
    theirs = import_module("sklearn.tree")
    if isinstance(model, theirs.BaseDecisionTree):
        return model
    name = type(model).__name__
    if not isinstance(model, TreeMethods):
        raise TypeError(
            f"{name} is not a binary tree of questions about single columns; fivefold.plot.trees.tree_diagram draws "
            "other trees"
        )
    check_is_fitted(model)
    if model.model_.tree.set_start is not None:
        raise ValueError(
            f"{name} asks about categories, which these functions cannot show: use its to_text or to_dot, or "
            "fivefold.plot.trees.tree_diagram"
        )
    kind = theirs.DecisionTreeClassifier if is_classifier(model) else theirs.DecisionTreeRegressor
    out = kind(criterion=model.criterion)
    out.tree_ = model.tree_
    for noted in FITTED_ATTRIBUTES:
        if hasattr(model, noted):
            setattr(out, noted, getattr(model, noted))
    return out
