"""How many classifiers a model was chosen from: `capacity(model)`, by what kind of model it is.

A capacity is that of the family the model comes from, whatever the rows were: hyperplanes for a logistic regression,
trees of L leaves for a tree. It is known before the rows are seen, or it is one of a list of families L = 1, 2, ...
with a share of delta for each, 1 / (L (L + 1)); then `log_weight` is the logarithm of that share.

Classes are known by their names, since fivefold's are those of scikit-learn where it has them: both are answered, and
no chapter is imported. `capacity.register(cls)` adds others.
"""

from __future__ import annotations

import math
from collections.abc import Callable
from dataclasses import dataclass, replace
from functools import partial, singledispatch
from typing import Any

from sklearn.pipeline import Pipeline
from sklearn.utils.validation import check_is_fitted

from fivefold.theory.bounds import NotApplicable
from fivefold.theory.capacity.growth_function import (
    log_linear_growth,
    log_pairwise_growth,
    log_stump_growth,
    log_tree_growth,
    log_vote_growth,
)
from fivefold.theory.capacity.vc_dimensions import (
    dimension_of_growth,
    hyperplane_dimension,
    infinite_dimension,
    polynomial_dimension,
    stump_dimension,
)

LogGrowth = Callable[[int], float]  # the logarithm of the growth function, of a number of points
MAX_FIXED_DEPTH = 4  # a tree of at most this depth counts as one of 2^depth leaves; deeper ones by the leaves they have
# scikit-learn's, which stretch and move each column: hyperplanes stay hyperplanes, and tests x <= t stay such tests
COLUMN_SCALERS = frozenset({"StandardScaler", "MinMaxScaler", "MaxAbsScaler", "RobustScaler"})


@dataclass(frozen=True)
class Capacity:
    """The family that a model was chosen from."""

    family: str  # in words
    dimension: float  # its VC dimension, or an upper bound of it
    log_growth: LogGrowth | None = None  # None where the dimension is infinite
    log_weight: float = 0.0  # of the share of delta, where the family is one of a list

    def growth_at(self, points: int) -> float:
        """The logarithm of the growth function; refused in words if the dimension is infinite."""
        if self.log_growth is None:
            raise NotApplicable(
                f"the VC dimension of {self.family} is infinite: they divide any points in every way, and the training "
                "error alone says nothing. Ask a bound that looks at the margin, at support vectors or at single rows"
            )
        return self.log_growth(points)


@singledispatch
def capacity(model: Any) -> Capacity:
    """The capacity of the family that a fitted classifier comes from; a model of unknown capacity is refused.

    Examples
    --------
    >>> from sklearn.datasets import load_iris
    >>> from fivefold.linear_model import LogisticRegression
    >>> X, y = load_iris(return_X_y=True)
    >>> found = capacity(LogisticRegression().fit(X[50:], y[50:]))
    >>> found.family, found.dimension
    ('hyperplanes in 4 columns', 5.0)
    """
    rule = _rule(model)
    if rule is None:
        raise NotApplicable(
            f"the capacity of {type(model).__name__} is not known. capacity.register adds a class; a bound from rows "
            "that were held out needs no capacity"
        )
    check_is_fitted(model)
    return rule(model)


def _rule(model: Any) -> Callable[[Any], Capacity] | None:
    """By the name of the class itself: a subclass may answer in other ways."""
    cls = type(model)
    return RULES.get(cls.__name__) if cls.__module__.partition(".")[0] in ("fivefold", "sklearn") else None


@capacity.register
def _(model: Pipeline) -> Capacity:
    names = [type(step).__name__ for _, step in model.steps[:-1] if step not in (None, "passthrough")]
    if other := [name for name in names if name not in COLUMN_SCALERS]:
        raise NotApplicable(
            f"the pipeline's {other[0]} may turn hyperplanes into something else; known are "
            f"{', '.join(sorted(COLUMN_SCALERS))}"
        )
    last = model.steps[-1][1]
    if names and getattr(last, "binarize", None) is not None:
        raise NotApplicable("binarize cuts columns that were scaled by the rows: the cuts were not fixed before")
    if names and getattr(last, "kernel", None) == "poly":
        return _svm(last, shifted=True)
    return capacity(last)


def _hyperplanes(model: Any) -> Capacity:
    return _linear(model.n_features_in_, len(model.classes_), f"hyperplanes in {model.n_features_in_} columns")


def _linear(d: int, classes: int, family: str) -> Capacity:
    growth = partial(log_linear_growth, d=d, classes=classes)
    return Capacity(family, hyperplane_dimension(d) if classes == 2 else dimension_of_growth(growth), growth)


def _perceptron(model: Any) -> Capacity:
    if getattr(model, "variant", None) == "voted":
        raise NotApplicable('a perceptron with variant="voted" answers with a vote of hyperplanes, as many as mistakes')
    return _hyperplanes(model)


def _centroids(model: Any) -> Capacity:
    if model.metric == "manhattan" or getattr(model, "covariance", "pooled") != "pooled":
        raise NotApplicable(f"nearest centres with metric={model.metric!r} are no hyperplanes; known is 'euclidean'")
    return _hyperplanes(model)


def _quadrics(model: Any) -> Capacity:
    d = model.n_features_in_
    return _linear(d * (d + 3) // 2, len(model.classes_), f"quadratic surfaces in {d} columns")


def _diagonal_quadrics(model: Any) -> Capacity:
    d = model.n_features_in_
    return _linear(2 * d, len(model.classes_), f"quadratic surfaces without products in {d} columns")


def _svm(model: Any, *, shifted: bool = False) -> Capacity:
    """Machines of pairs of classes, by their kernel; columns that were moved have every power up to the degree."""
    d, K, kernel = model.n_features_in_, len(model.classes_), model.kernel
    if kernel == "rbf":
        return Capacity("Gaussian kernel machines", infinite_dimension())
    if kernel not in ("linear", "poly"):
        raise NotApplicable(f"the capacity of machines with the kernel {kernel!r} is not known")
    if K > 2 and getattr(model, "break_ties", False):
        raise NotApplicable("break_ties=True decides between classes by more than the votes of the pairs")
    if kernel == "linear":
        features, family = d, f"hyperplanes in {d} columns"
    else:
        h = polynomial_dimension(d, int(model.degree), constant=shifted or model.coef0 != 0)
        features, family = int(h) - 1, f"polynomials of degree {model.degree} in {d} columns"
    growth = partial(log_pairwise_growth, d=features, classes=K)
    return Capacity(family, hyperplane_dimension(features) if K == 2 else dimension_of_growth(growth), growth)


def _leaves(tree: Any) -> tuple[int, float]:
    """The number of leaves that the settings allow, or that there are; and the logarithm of its share of delta."""
    if tree.max_leaf_nodes is not None:
        return int(tree.max_leaf_nodes), 0.0
    if tree.max_depth is not None and tree.max_depth <= MAX_FIXED_DEPTH:
        return 2 ** int(tree.max_depth), 0.0
    L = int(tree.get_n_leaves())
    return L, -math.log(L * (L + 1))


def _trees(model: Any) -> Capacity:
    if hasattr(model, "categories_in_"):
        raise NotApplicable("the capacity of trees is known for columns of numbers; this one cuts sets of categories")
    L, share = _leaves(model)
    return tree_family(L, model.n_features_in_, len(model.classes_), share)


def tree_family(leaves: int, d: int, classes: int, log_weight: float = 0.0) -> Capacity:
    """Trees of at most that many leaves, whose nodes compare one of d columns with a number."""
    if leaves <= 2 and classes == 2:
        return Capacity(f"stumps in {d} columns", stump_dimension(d), partial(log_stump_growth, d=d), log_weight)
    growth = partial(log_tree_growth, d=d, leaves=leaves, classes=classes)
    return Capacity(f"trees of at most {leaves} leaves in {d} columns", dimension_of_growth(growth), growth, log_weight)


def _votes(model: Any) -> Capacity:
    if len(model.classes_) != 2:
        raise NotApplicable("the capacity of votes is known for two classes")
    members = [capacity(member) for member in model.estimators_]
    largest = max(members, key=lambda member: (member.dimension, -member.log_weight))
    T = int(model.n_estimators)
    growth = partial(_vote_growth, members=T, base=largest)
    return Capacity(f"votes of {T} {largest.family}", dimension_of_growth(growth), growth, largest.log_weight)


def _vote_growth(m: int, members: int, base: Capacity) -> float:
    return log_vote_growth(m, members, base.growth_at(m))


def _selected(model: Any) -> Capacity:
    """One of several families, each with an equal share of delta."""
    found = capacity(model.estimator_)
    return replace(found, log_weight=found.log_weight - math.log(len(model.values)))


def _constants(model: Any) -> Capacity:
    K = len(model.classes_)
    return Capacity("constant answers", 1.0, partial(_constant_growth, classes=K))


def _constant_growth(m: int, classes: int) -> float:
    return math.log(classes)


def _infinite(family: str) -> Callable[[Any], Capacity]:
    return lambda model: Capacity(family, infinite_dimension())


RULES: dict[str, Callable[[Any], Capacity]] = {
    "BernoulliNB": _hyperplanes,
    "ComplementNB": _hyperplanes,
    "LeastSquaresClassifier": _hyperplanes,
    "LinearDiscriminantAnalysis": _hyperplanes,
    "LinearSVC": _hyperplanes,
    "LogisticRegression": _hyperplanes,
    "LogisticRegressionCV": _hyperplanes,
    "MultinomialNB": _hyperplanes,
    "OnlineSoftmax": _hyperplanes,
    "Pegasos": _hyperplanes,
    "ProbitRegression": _hyperplanes,
    "RidgeClassifier": _hyperplanes,
    "RidgeClassifierCV": _hyperplanes,
    "RiskMinimiserClassifier": _hyperplanes,
    "SGDClassifier": _hyperplanes,
    "SigmoidRegressionClassifier": _hyperplanes,
    "AdaBoostClassifier": _votes,
    "DecisionTreeClassifier": _trees,
    "ExtraTreeClassifier": _trees,
    "GaussianNB": _diagonal_quadrics,
    "MajorityClassifier": _constants,
    "NearestCentroid": _centroids,
    "NuSVC": _svm,
    "Perceptron": _perceptron,
    "QuadraticDiscriminantAnalysis": _quadrics,
    "QuadraticLogisticRegression": _quadrics,
    "SVC": _svm,
    "StructuralRiskMinimizer": _selected,
    "SineClassifier": _infinite("sines of one column"),
    **dict.fromkeys(
        ("CondensedNeighborsClassifier", "EditedNeighborsClassifier", "KNeighborsClassifier"),
        _infinite("nearest neighbours"),
    ),
}
