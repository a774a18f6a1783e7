"""Weights of linear classifiers in the digits that pay: see `precision`."""

from __future__ import annotations

from collections.abc import Sequence
from copy import deepcopy
from math import log2
from typing import Any

import numpy as np
from numpy.typing import ArrayLike
from scipy.sparse import issparse

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
    kept, place = np.unique(column, return_inverse=True)  # columns that some output uses
    one = len(kept)  # the place of the constants, which stand last
    outputs, places = np.append(output, np.arange(K)), np.append(place, np.full(K, one))
    start = np.concatenate([coef[used], constant]).astype(np.float64)
    A = np.column_stack([X[:, kept].toarray() if issparse(X) else X[:, kept], np.ones(X.shape[0])])
    fixed = LANGUAGE_BITS + CODE_BITS + signed_integer_bits(e)

    def weights(values: Vector) -> Array:
        W = np.zeros((K, one + 1))
        W[outputs, places] = values
        return W

    def mistakes(values: Vector, i: int, tried: Vector) -> Vector:
        S = A @ weights(exchanged(values, i, 0.0)).T
        wrong = np.empty(len(tried))
        for k, v in enumerate(tried):
            T = S.copy()
            T[:, outputs[i]] += v * A[:, places[i]]
            wrong[k] = ((T[:, 0] > 0).astype(int) != y).sum() if K == 1 else (T.argmax(axis=1) != y).sum()
        return wrong

    def length(values: Vector, bits: Vector) -> float:
        listed = (values != 0) | (places == one)
        counts = np.bincount(outputs[listed], minlength=K).tolist()
        return fixed + float(bits[listed].sum()) + sum(list_bits(0.0, (k - 1) * log2(d), k) for k in counts)

    found = shorten_parameters([Spellings.within(weight_range(e), w) for w in start], mistakes, objectives, length)
    short, W = deepcopy(model), weights(found.values).astype(coef.dtype)
    rounded = np.zeros_like(coef)
    rounded[:, kept] = W[:, :one]
    short.coef_ = rounded.reshape(np.shape(model.coef_))
    if np.ndim(model.intercept_):  # else there is none
        short.intercept_ = W[:, one]
    return short, found.history
