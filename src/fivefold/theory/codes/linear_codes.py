"""Codes of sparse linear rules: a list of features with weights, and a constant.

    natural   N (b + log2 M) + len(N)                             N weights of b bits, of M features
    text      b N (1 + log2 M)                                    as printed, far too long
    terms     len(k) + sum len(w_i) + sum len(phi_i) - log2 (k - 1)!

k counts the terms, the constant first; the others may be listed in any order, which saves log2 (k - 1)! bits. The
approximation of that by (k - 2)(log2(k - 2) - 1) exceeds it from k = 20 on, where lengths would break Kraft's
inequality; it is not used. A term more costs  len(w) + len(phi) - log2 k + len(k + 1) - len(k).

Weights of a fitted classifier are written as doubles, or as binary fractions of a range (-2^e, 2^e) that all share,
whichever is shorter. McAllester (2009), Case Studies in Machine Learning.
"""

from __future__ import annotations

from math import frexp, inf, log2
from typing import Any

import numpy as np
from numpy.typing import ArrayLike
from scipy.sparse import issparse
from sklearn.utils.validation import check_is_fitted

from fivefold.core.types import Matrix, Vector
from fivefold.information.number_lengths import integer_bits, list_bits
from fivefold.linear_model.base import LinearClassifier
from fivefold.linear_model.online.base import OnlineClassifier
from fivefold.svm.linear_svm import LinearSVC
from fivefold.theory.bounds import NotApplicable
from fivefold.theory.codes.descriptions import SCHEMA_KNOWN, Description, describe, description
from fivefold.theory.codes.number_codes import RangeCode, double_bits, signed_integer_bits

CODE_BITS = 1  # doubles, or fractions of a shared range


def weight_list_bits(weights: int, width: float, features: int, *, printed: bool = False) -> float:
    """Length of a list of weights of `width` bits, each with the number of its feature; `printed` as in the text.

    Examples
    --------
    >>> weight_list_bits(10, 8, 1024, printed=True), round(weight_list_bits(10, 8, 1024), 2)
    (880.0, 186.78)
    """
    if weights < 1:
        raise ValueError(f"a list has at least one weight; got {weights}. A rule without weights is a constant")
    if printed:
        return width * weights * (1 + log2(features))
    return weights * (width + log2(features)) + integer_bits(weights)


def term_bits(k: int, weight: float, feature: float) -> float:
    """Bits that one term more costs a rule of k terms, the constant counted.

    Examples
    --------
    >>> round(term_bits(3, 5.0, 4.0), 3)  # 4 and 3 terms, any order
    8.152
    """
    return weight + feature - log2(k) + integer_bits(k + 1) - integer_bits(k)


def shared_exponent(weights: ArrayLike) -> int:
    """The smallest e with all weights in (-2^e, 2^e)."""
    return frexp(float(np.abs(np.asarray(weights, dtype=np.float64)).max(initial=0.0)))[1]


def weight_range(e: int) -> RangeCode:
    """The code of weights in (-2^e, 2^e): zero, the midpoint, costs one bit."""
    return RangeCode(-(2.0**e), 2.0**e)


@describe.register(LinearClassifier)
@describe.register(OnlineClassifier)
@describe.register(LinearSVC)
def _(model: Any, ranges: ArrayLike | None = None) -> Description:
    check_is_fitted(model)
    if vars(model).get("variant") == "voted":
        raise NotApplicable("a voted perceptron is a vote of many hyperplanes; variant='averaged' is a single one")
    coef, constant = surfaces(model)
    parts = weight_parts(coef, constant)
    features = int((coef != 0).sum()) * log2(coef.shape[1])
    order = sum(list_bits(0.0, 0.0, k) for k in 1 + (coef != 0).sum(axis=1))  # numbers of terms, in any order
    return description("sparse linear rule", {"terms": order, "columns": features, **parts}, (SCHEMA_KNOWN,))


def surfaces(model: Any) -> tuple[Matrix, Vector]:
    """Coefficients (outputs, d) and constants (outputs,) of a linear classifier."""
    coef = model.coef_.toarray() if issparse(model.coef_) else np.asarray(model.coef_)
    coef = np.atleast_2d(coef)
    return coef, np.broadcast_to(np.asarray(model.intercept_, dtype=coef.dtype), len(coef))


def weight_parts(coef: Matrix, constant: Vector) -> dict[str, float]:
    """Bits of the weights and constants that are not zero, the constants in any case, by the shorter of two codes."""
    weights = [*coef[coef != 0], *constant]
    plain = sum(map(double_bits, weights))
    e = shared_exponent(weights)
    if abs(e) < 1000:  # finite weights, and a range within the doubles
        code = weight_range(e)
        lengths = [code.length(float(w)) for w in weights]
        shared = sum(inf if length is None else length for length in lengths) + signed_integer_bits(e)
        plain = min(plain, shared)
    return {"weights": CODE_BITS + plain}
