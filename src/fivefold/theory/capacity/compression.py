"""Sample compression: a model that some d of its n rows determine, judged on the n - d others.

    R  <=  the largest p with  P(Bin(n - d, p) <= k)  >=  delta / ((d + 1)(d + 2) C(n, d))        k errors on the others

For a fixed set of d rows the others are a test sample; there are C(n, d) sets of each size, and the shares
1 / ((d + 1)(d + 2)) of all sizes add to 1. What rows determine is learned again from them alone:

    SVC                          its support vectors, which have the same margin as all rows (KKT conditions)
    kernel perceptron            the rows of its mistakes, in their order
    condensed neighbours         the stored rows

By the same argument a row that is not a support vector is answered rightly when it is left out, so that
E[P(error)] <= E[support vectors] / (n + 1) over samples of n + 1 rows; that is no statement about one machine.

Littlestone & Warmuth (1986); Floyd & Warmuth (1995); Graepel, Herbrich & Shawe-Taylor (2005); Langford (2005).
"""

from __future__ import annotations

import math
from dataclasses import dataclass
from functools import singledispatch
from typing import Any

import numpy as np
from scipy.optimize import brentq
from scipy.sparse import issparse
from scipy.special import gammaln

from fivefold.core.types import Indices, Mask, Table
from fivefold.theory.bounds import BoundCard, BoundValue, Case, NotApplicable, register
from fivefold.theory.capacity.margins import refuse_row_width
from fivefold.theory.capacity.vc_bounds import INDEPENDENT

FIXED_METRICS = frozenset(  # distances that no row changes
    {"euclidean", "manhattan", "chebyshev", "minkowski", "cosine", "l1", "l2", "cityblock", "sqeuclidean", "hamming"}
)


@dataclass(frozen=True)
class CompressionSet:
    """Rows of fit that determine a model."""

    rows: Indices  # their numbers
    stored: Table  # the rows themselves, to see that numbers mean the same table; None if not kept
    name: str

    def __len__(self) -> int:
        return len(self.rows)


@singledispatch
def compression_set(model: Any) -> CompressionSet:
    """The rows that determine a fitted model; a model that all rows determine is refused.

    Examples
    --------
    >>> from fivefold.svm import SVC
    >>> model = SVC(kernel="linear", C=10.0).fit([[0.0], [2.0], [3.0]], [-1, 1, 1])
    >>> compression_set(model).rows.tolist()
    [0, 1]
    """
    name = type(model).__name__
    if getattr(model, "class_weight", None) == "balanced":
        raise NotApplicable('class_weight="balanced" counts all rows; give the weights as a dict')
    if name == "SVC":
        if model.kernel not in ("linear", "rbf", "poly", "sigmoid"):
            raise NotApplicable("the kernel is not known to be independent of the rows; give it by name")
        if model.kernel != "linear":
            refuse_row_width(model)
        return CompressionSet(np.asarray(model.support_), model.support_vectors_, "support vectors")
    if name == "KernelPerceptron":
        if model.shuffle:
            raise NotApplicable("with shuffle=True the order of the mistakes depends on all rows; take shuffle=False")
        refuse_row_width(model)
        return CompressionSet(np.asarray(model.model_.support), model.model_.support_vectors, "mistakes")
    if name in ("CondensedNeighborsClassifier", "EditedNeighborsClassifier"):
        if model.n_neighbors != 1 or model.metric not in FIXED_METRICS:
            raise NotApplicable(
                "stored rows determine the model with n_neighbors=1 and a metric that no row changes; got "
                f"n_neighbors={model.n_neighbors}, metric={model.metric!r}"
            )
        return CompressionSet(np.asarray(model.prototype_indices_), None, "stored rows")
    raise NotApplicable(f"all rows determine {name}; known are support vectors, mistakes and condensed neighbours")


def compression_size(model: Any) -> int:
    """How many rows determine a fitted model."""
    return len(compression_set(model))


def compression_upper(errors: int, size: int, n: int, delta: float = 0.05) -> float:
    """The bound of the error, from the errors on the n - size rows that do not determine the model.

    Examples
    --------
    >>> round(compression_upper(0, 10, 1000), 4)
    0.0605
    """
    if not 0 <= size <= n or not 0 <= errors <= n - size or not 0 < delta < 1:
        raise ValueError(
            "size lies between 0 and n, errors between 0 and n - size, delta between 0 and 1; got "
            f"errors={errors}, size={size}, n={n}, delta={delta}"
        )
    sets = float(gammaln(n + 1) - gammaln(size + 1) - gammaln(n - size + 1))
    return log_binomial_upper(errors, n - size, math.log(delta) - sets - math.log((size + 1) * (size + 2)))


def log_binomial_upper(errors: int, n: int, log_delta: float) -> float:
    """The p with ln P(Bin(n, p) <= errors) = log_delta, for probabilities that may be below the smallest float."""
    if errors >= n:
        return 1.0
    if errors == 0:
        return -math.expm1(log_delta / n)
    i = np.arange(errors + 1)
    ways = gammaln(n + 1) - gammaln(i + 1) - gammaln(n - i + 1)

    def excess(odds: float) -> float:  # the logarithm of p / (1 - p), which has no ends to run into
        return float(np.logaddexp.reduce(ways + i * odds)) - n * float(np.logaddexp(0.0, odds)) - log_delta

    low = math.log(errors / (n - errors)) - 1.0  # p below errors / n: the tail is above one half, hence above delta
    low = low if excess(low) > 0 else low - 50.0
    high = low + 1.0
    while excess(high) > 0:
        high += 2.0 * (high - low)
    odds = brentq(excess, low, high, xtol=1e-12)
    return float(1.0 / (1.0 + math.exp(-odds)))


def support_vector_bound(support_vectors: float, n: int) -> float:
    """The mean error of machines trained on n - 1 rows, at most: the share of support vectors, averaged over samples.

    It also bounds the leave-one-out error of the machine at hand.

    Examples
    --------
    >>> support_vector_bound(12, 400)
    0.03
    """
    if n < 1 or not 0 <= support_vectors <= n:
        raise ValueError(f"support vectors are counted among the n rows; got {support_vectors} of {n}")
    return support_vectors / n


@register(
    BoundCard(
        name="sample compression",
        formula="R <= max p with P(Bin(n - d, p) <= k) >= delta / ((d + 1)(d + 2) C(n, d)), k errors outside d rows",
        rows="training",
        assumptions=(
            INDEPENDENT,
            "kernel, distance and settings were fixed before the rows were seen",
            "trained again on the rows it keeps, the model is the same",
        ),
        use="Models that a small share of the rows determines: few support vectors, mistakes or stored rows. Beyond "
        "some 15 percent of the rows it says little.",
        source="Littlestone & Warmuth (1986); Floyd & Warmuth (1995); Graepel, Herbrich & Shawe-Taylor (2005)",
    )
)
def compression_bound(case: Case, delta: float) -> BoundValue:
    """From the rows that determine the model and its errors on the others."""
    kept, n = compression_set(case.model), case.n
    d = len(np.unique(kept.rows))
    if d >= n or (len(kept) and int(kept.rows.max()) >= n):
        return BoundValue(1.0)
    others = ~_mask(kept, case)
    # where the order of the rows is not that of fit, all errors are counted: too many, hence still a bound
    errors = int(case.wrong[others].sum()) if others.sum() == n - d else min(case.errors, n - d)
    return BoundValue(compression_upper(errors, d, n, delta), details={kept.name: float(d), "errors": float(errors)})


def _mask(kept: CompressionSet, case: Case) -> Mask:
    """Which rows of the case determine the model; none if they are not at the places they had in fit."""
    mask = np.zeros(case.n, dtype=bool)
    if kept.stored is None:
        return mask
    A, B = case.X[kept.rows], kept.stored
    if issparse(A) or issparse(B):
        same = issparse(A) and issparse(B) and A.shape == B.shape and abs(A - B).sum() == 0
    else:
        same = np.array_equal(np.asarray(A), np.asarray(B))
    mask[kept.rows] = same
    return mask
