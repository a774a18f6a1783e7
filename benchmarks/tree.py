"""Trees beside scikit-learn's; impurities of the leaves are recomputed from the rows in them."""

from functools import partial

import numpy as np

from benchmarks.harness import Case, as_good, data, drop_in, fit, no_worse, predict, same_predictions

CLASSES = partial(data.classes, d=30, redundant=6)
EIGHT = partial(data.classes, d=30, K=8, redundant=6)
LINEAR = partial(data.linear, d=30)
TREE = partial(drop_in, "tree.DecisionTreeClassifier", random_state=0)
NUMBERS = partial(drop_in, "tree.DecisionTreeRegressor", random_state=0)


def leaves(table, model):
    """Leaves of a tree grown until its rows agree; cuts that gain the same are many, so the numbers differ a little."""
    return float(model.get_n_leaves())


def squares_left(table, model):
    """Sum of squares about the means of the leaves."""
    leaf = np.unique(model.apply(table.X), return_inverse=True)[1]
    means = np.bincount(leaf, table.y) / np.bincount(leaf)
    return float(((table.y - means[leaf]) ** 2).sum())


def squares_predicted(table, predicted):
    """Sum of squares about the answers."""
    return float(((table.y - predicted) ** 2).sum())


def deviations_left(table, model):
    """Sum of absolute deviations from the answers."""
    return float(np.abs(table.y - model.predict(table.X)).sum())


CASES = (
    Case(
        "DecisionTreeClassifier fit",
        CLASSES,
        100_000,
        TREE(fit),
        no_worse(leaves, 0.02),
        8,
        "2 classes, to the end",
        memory=3,
    ),
    Case(
        "DecisionTreeClassifier fit 8 classes",
        EIGHT,
        50_000,
        TREE(fit),
        no_worse(leaves, 0.02),
        5,
        "to the end",
        memory=3,
    ),
    Case(
        "DecisionTreeClassifier predict",
        CLASSES,
        100_000,
        TREE(predict, max_depth=8),
        same_predictions(0.999),
        1,
        "2 classes, depth 8",
    ),
    Case(
        "DecisionTreeRegressor fit",
        LINEAR,
        50_000,
        NUMBERS(fit, max_depth=10),
        as_good(squares_left, rtol=1e-3),  # thresholds of float32 beside those of float64
        5,
        "depth 10",
        memory=3,
    ),
    Case(
        "DecisionTreeRegressor fit absolute error",
        LINEAR,
        3_000,
        NUMBERS(fit, criterion="absolute_error", max_depth=6),
        as_good(deviations_left, rtol=1e-2),
        1,
        "depth 6",
    ),
    Case(
        "DecisionTreeRegressor predict",
        LINEAR,
        100_000,
        NUMBERS(predict, max_depth=10),
        as_good(squares_predicted, rtol=1e-3),  # thresholds of float32 beside those of float64
        1,
        "depth 10",
    ),
    Case(
        "ExtraTreeRegressor fit",
        LINEAR,
        50_000,
        drop_in("tree.ExtraTreeRegressor", fit, random_state=0, max_depth=10),
        no_worse(squares_left, 0.1),  # draws of thresholds differ
        1,
        "depth 10",
        memory=3,
    ),
    Case(
        "ExtraTreeClassifier fit",
        CLASSES,
        100_000,
        drop_in("tree.ExtraTreeClassifier", fit, random_state=0),
        no_worse(leaves, 0.1),  # draws of thresholds differ
        1,
        "2 classes, to the end",
        memory=3,
    ),
)
