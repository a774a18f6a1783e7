"""Weights of linear classifiers in the digits that pay: see `precision`."""

from __future__ import annotations

from collections.abc import Sequence
from copy import deepcopy
from math import log2
from typing import Any

import numpy as np
from numpy.typing import ArrayLike

from fivefold.core.types import Array, Table, Target, Vector
from fivefold.information.number_lengths import list_bits
from fivefold.linear_model.base import LinearClassifier
from fivefold.linear_model.online.base import OnlineClassifier
from fivefold.svm.linear_svm import LinearSVC
from fivefold.theory.codes.descriptions import LANGUAGE_BITS
from fivefold.theory.codes.linear_codes import CODE_BITS, shared_exponent, surfaces, weight_range
from fivefold.theory.codes.number_codes import signed_integer_bits
from fivefold.theory.codes.precision import Objective, Shortened, Spellings, exchanged, shorten_parameters, shortened


@shortened.register(LinearClassifier)
@shortened.register(OnlineClassifier)
@shortened.register(LinearSVC)
def _(model: Any, X: Table, y: Target, objectives: Sequence[Objective], ranges: ArrayLike | None) -> Shortened:
    coef, constant = surfaces(model)
    K, d = coef.shape
    e, used = shared_exponent([*coef.ravel(), *constant]), coef != 0
    output, column = np.nonzero(used)
    outputs, columns = np.append(output, np.arange(K)), np.append(column, np.full(K, d))  # constants stand last
    start = np.concatenate([coef[used], constant]).astype(np.float64)
    A = np.column_stack([X.toarray() if hasattr(X, "toarray") else X, np.ones(X.shape[0])])
    fixed = LANGUAGE_BITS + CODE_BITS + signed_integer_bits(e)

    def weights(values: Vector) -> Array:
        W = np.zeros((K, d + 1))
        W[outputs, columns] = values
        return W

    def mistakes(values: Vector, i: int, tried: Vector) -> Vector:
        S = A @ weights(exchanged(values, i, 0.0)).T
        wrong = np.empty(len(tried))
        for k, v in enumerate(tried):
            T = S.copy()
            T[:, outputs[i]] += v * A[:, columns[i]]
            wrong[k] = ((T[:, 0] > 0).astype(int) != y).sum() if K == 1 else (T.argmax(axis=1) != y).sum()
        return wrong

    def length(values: Vector, bits: Vector) -> float:
        listed = (values != 0) | (columns == d)
        counts = np.bincount(outputs[listed], minlength=K).tolist()
        return fixed + float(bits[listed].sum()) + sum(list_bits(0.0, (k - 1) * log2(d), k) for k in counts)

    found = shorten_parameters([Spellings.within(weight_range(e), w) for w in start], mistakes, objectives, length)
    short, W = deepcopy(model), weights(found.values).astype(coef.dtype)
    short.coef_ = W[:, :d].reshape(np.shape(model.coef_))
    if np.ndim(model.intercept_):  # else there is none
        short.intercept_ = W[:, d]
    return short, found.history
