"""Margins of fitted classifiers of two classes, with the norm or the family that they are measured against."""

from __future__ import annotations

import math
from dataclasses import dataclass
from functools import singledispatch
from typing import Any

import numpy as np
from scipy.sparse import issparse
from sklearn.pipeline import Pipeline

from fivefold.core.types import Doubles, Labels, Table
from fivefold.theory.bounds import NotApplicable
from fivefold.theory.capacity.model_capacity import Capacity, capacity, tree_family

# Answer with the sign of coef_ x + intercept_, and have both.
LINEAR_CLASSIFIERS = frozenset(
    [
        "LeastSquaresClassifier",
        "LinearDiscriminantAnalysis",
        "LinearSVC",
        "LogisticRegression",
        "LogisticRegressionCV",
        "Pegasos",
        "Perceptron",
        "ProbitRegression",
        "RidgeClassifier",
        "RidgeClassifierCV",
        "RiskMinimiserClassifier",
        "SGDClassifier",
    ]
)
UNIT_KERNELS = frozenset({"rbf", "laplacian", "cosine"})  # k(x, x) = 1 for every x
FORESTS = frozenset({"RandomForestClassifier", "ExtraTreesClassifier"})


@dataclass(frozen=True)
class ScaledMargins:
    """y f(x) of every row, and the norm of f; a threshold is the coefficient of a column of ones."""

    margins: Doubles  # (n,)
    norm: float
    trace: float  # sum of k(x, x) + 1 over the rows
    trace_known: bool  # before the rows were seen


@singledispatch
def scaled_margins(model: Any, X: Table, y: Labels) -> ScaledMargins:
    """Of a linear or kernel classifier."""
    name = type(model).__name__
    if isinstance(model, Pipeline):
        raise NotApplicable("the pipeline scales columns by the rows themselves; margins need a scale fixed before")
    if getattr(model, "variant", None) == "voted":
        raise NotApplicable('a perceptron with variant="voted" is a vote of hyperplanes')
    if name in LINEAR_CLASSIFIERS:
        signs = _signs(model, y)
        w = model.coef_.toarray() if issparse(model.coef_) else np.asarray(model.coef_)
        w, b = w.ravel().astype(np.float64), float(np.ravel(model.intercept_)[0])
        squares = np.asarray(X.multiply(X).sum() if issparse(X) else np.square(np.asarray(X, dtype=float)).sum())
        return _scaled(signs * (np.asarray(X @ w) + b), float(w @ w) + b * b, float(squares), len(y), known=False)
    if name in ("SVC", "NuSVC") and hasattr(model, "squared_norm_"):
        signs = _signs(model, y)
        kernel = model.model_.kernel
        if kernel.name in ("precomputed", "function"):
            raise NotApplicable(f"a {kernel.name} kernel is not known to be fixed before the rows were seen")
        if kernel.name != "linear":
            refuse_row_width(model)
        squared = float(model.squared_norm_[0]) + float(np.ravel(model.intercept_)[0]) ** 2
        f = np.asarray(model.decision_function(X), dtype=float)
        return _scaled(signs * f, squared, float(kernel.diagonal(X).sum()), len(y), known=kernel.name in UNIT_KERNELS)
    if name == "KernelRidgeClassifier":
        signs = _signs(model, y)
        found = model.model_
        if not isinstance(model.kernel, str) or model.kernel == "precomputed":
            raise NotApplicable("the kernel is not known to be fixed before the rows were seen; give it by name")
        dual = np.asarray(found.dual, dtype=float).ravel()
        inner = np.asarray(found.kernel(found.rows, found.rows), dtype=float) @ dual
        squared = float(dual @ inner) + float(np.ravel(found.offset)[0]) ** 2
        f = np.asarray(model.decision_function(X), dtype=float)
        diagonal = float(np.sum(found.kernel.diag(X)))
        return _scaled(signs * f, squared, diagonal, len(y), known=model.kernel in UNIT_KERNELS)
    raise NotApplicable(f"{name} is not known to be a linear or kernel classifier of bounded norm")


@singledispatch
def vote_margins(model: Any, X: Table, y: Labels) -> tuple[Doubles, Capacity]:
    """y f(x) with f the mean of the members' answers in [-1, 1], and the family of the members."""
    name = type(model).__name__
    if name == "AdaBoostClassifier":
        signs = _signs(model, y)
        family = max((capacity(member) for member in model.estimators_), key=lambda one: one.dimension)
        weights = np.asarray(model.estimator_weights_, dtype=float)[: len(model.estimators_)]
        votes = np.array([2.0 * (member.predict(X) == model.classes_[1]) - 1.0 for member in model.estimators_])
        return signs * (weights @ votes) / max(weights.sum(), np.finfo(float).tiny), family
    if name in FORESTS:
        signs = _signs(model, y)
        if hasattr(model, "categories_in_"):
            raise NotApplicable("the capacity of trees is known for columns of numbers; these cut sets of categories")
        L, share = forest_leaves(model)
        family = tree_family(L, model.n_features_in_, 2, share)
        return signs * (2.0 * np.asarray(model.predict_proba(X), dtype=float)[:, 1] - 1.0), family
    raise NotApplicable(f"{name} is not known to be a vote of members from one family")


def forest_leaves(model: Any) -> tuple[int, float]:
    """The leaves of the largest tree, or those that the settings allow, and the logarithm of its share of delta."""
    if model.max_leaf_nodes is not None:
        return int(model.max_leaf_nodes), 0.0
    L = max(int(tree.get_n_leaves()) for tree in model.estimators_)
    return L, -math.log(L * (L + 1))


def refuse_row_width(model: Any) -> None:
    """gamma="scale" is computed from all rows: neither the kernel nor a part of the rows is fixed by the settings."""
    if getattr(model, "gamma", None) == "scale":
        raise NotApplicable('gamma="scale" takes the width of the kernel from the rows; give gamma as a number')


def _scaled(margins: Doubles, squared_norm: float, squares: float, n: int, *, known: bool) -> ScaledMargins:
    """With the column of ones, whose square is 1 in every row."""
    return ScaledMargins(margins, math.sqrt(max(squared_norm, np.finfo(float).tiny)), squares + n, known)


def _signs(model: Any, y: Labels) -> Doubles:
    if len(model.classes_) != 2:
        raise NotApplicable(f"the margin is known for two classes; this model has {len(model.classes_)}")
    signs: Doubles = np.where(np.asarray(y) == model.classes_[1], 1.0, -1.0)
    return signs
