"""Polynomial features: all products of at most `degree` columns.

    (a, b) -> (1, a, b, a^2, ab, b^2)          degree 2

A linear model of these is a polynomial of the columns. High powers of unscaled numbers are nearly dependent (degree 20
on [-4, 7] has a condition number near 1e32): scale first, or take orthogonal polynomials (`BasisExpansion`).
"""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from dataclasses import KW_ONLY, dataclass
from itertools import chain, combinations, combinations_with_replacement
from math import comb
from numbers import Integral
from typing import Any, Literal

import numpy as np
from scipy.sparse import hstack, issparse
from sklearn.utils.validation import check_is_fitted

from fivefold.core.admission.takes import Takes
from fivefold.core.estimators.base import Unsupervised, learned
from fivefold.core.estimators.params import Index
from fivefold.core.estimators.transformer_mixins import FloatTransformerMixin
from fivefold.core.parallel import BLOCK_ROWS, map_parts
from fivefold.core.registry import Card
from fivefold.core.types import Array, Indices, Labels, Sparse, Table, UserTable
from fivefold.preprocessing.feature_names import input_names
from fivefold.preprocessing.polynomial_loops import expand_dense, expand_sparse


@dataclass(frozen=True)
class Monomials:
    """Products of `least` to `most` columns out of d, distinct ones if `strict`; a one first if `bias`."""

    d: int
    least: int
    most: int
    strict: bool
    bias: bool

    def count(self, least: int | None = None) -> int:
        """Their number, from degree `least` up."""
        lowest = max(1, self.least if least is None else least)
        return self.bias + sum(self.choices(self.d, t) for t in range(lowest, self.highest + 1))

    @property
    def highest(self) -> int:
        """The highest degree that has products: at most d if columns must be distinct."""
        return min(self.most, self.d) if self.strict else self.most

    def choices(self, m: int, r: int) -> int:
        """Ways to choose r columns out of m."""
        if r == 0:
            return 1
        return comb(m, r) if self.strict else comb(m + r - 1, r) if m else 0

    def columns(self) -> Iterator[tuple[int, ...]]:
        """The columns of each product, in order."""
        pick = combinations if self.strict else combinations_with_replacement
        every = chain.from_iterable(pick(range(self.d), t) for t in range(max(1, self.least), self.highest + 1))
        return chain([()], every) if self.bias else every

    def product_runs(self) -> Indices:
        """The products of the compiled loop: (column, source, length, target) of every run, from degree 2 up."""
        found, target = [], self.bias + self.d
        for t in range(2, self.highest + 1):
            end = target  # of the products of degree t - 1
            for j in range(self.d):
                length = self.choices(self.d - j - self.strict, t - 1)
                if length:
                    found.append((j, end - length, length, target))
                    target += length
        return np.array(found, dtype=np.int64).reshape(-1, 4)

    @property
    def n_below_min_degree(self) -> int:
        """Number of products below the least degree, which the loop computes on its way."""
        return self.count(1) - self.count()


@dataclass(frozen=True)
class PolynomialExpansion:
    """The products and their number."""

    terms: Monomials
    size: int

    def check_arrays(self, columns: int) -> None:
        """Check the numbers of a model file that decide where the loop writes."""
        terms = self.terms
        if terms.d != columns or not 0 <= terms.least <= terms.most:
            raise ValueError(
                f"products of {terms.least} to {terms.most} of {terms.d} columns, where there are {columns}"
            )
        # each degree has at least one product: too many degrees are refused before their products are counted
        degrees = terms.highest - max(1, terms.least) + 1
        if degrees > self.size or terms.count() != self.size:
            raise ValueError(f"products of up to {terms.most} of {columns} columns are not {self.size}")


class PolynomialFeatures(FloatTransformerMixin, Unsupervised):
    """All products of at most `degree` columns.

    Parameters
    ----------
    degree
        the highest degree, or (lowest, highest).
    interaction_only
        whether only products of distinct columns are formed.
    include_bias
        whether a column of ones comes first.
    order
        memory order of a dense result.

    Attributes
    ----------
    powers_
        the power of each column in each product.
    n_output_features_
        number of products.

    Examples
    --------
    >>> from fivefold.preprocessing import PolynomialFeatures
    >>> PolynomialFeatures(2).fit_transform([[2.0, 3.0]])
    array([[1., 2., 3., 4., 6., 9.]])
    """

    degree: Index | tuple[Any, ...] | list[Any] = 2
    _: KW_ONLY
    interaction_only: bool = False
    include_bias: bool = True
    order: Literal["C", "F"] = "C"

    takes = Takes(sparse=True)
    card = Card(
        applications=("data mining",),
        use="Curves and interactions for a linear model, few columns, low degree. The number of products grows as "
        "columns ** degree; kernels achieve the same without computing them.",
        steps=(
            "List the products by degree and by their columns.",
            "Compute each degree from the one below it, a run of products at a time.",
        ),
        source="Gergonne (1815)",
        see_also=("SplineTransformer", "BasisExpansion"),
        variants=({"degree": (2, 3), "include_bias": False}, {"degree": 3, "interaction_only": True, "order": "F"}),
    )

    n_output_features_ = learned("size")

    def _fit(self, X: Table) -> None:
        least, most = (0, self.degree) if isinstance(self.degree, Integral) else self._range()
        if most == 0 and not self.include_bias:
            raise ValueError("PolynomialFeatures: degree 0 without include_bias leaves no column; raise degree")
        terms = Monomials(X.shape[1], int(least), int(most), self.interaction_only, self.include_bias)
        if (size := terms.count()) > np.iinfo(np.intp).max:
            raise ValueError(
                f"PolynomialFeatures: the output would have {size} features, which is too large to be indexed by "
                f"{np.intp().dtype.name}: {X.shape[1]} columns, degree {self.degree}. Lower the degree"
            )
        self.model_ = PolynomialExpansion(terms, size)

    def _range(self) -> tuple[int, int]:
        pair = tuple(self.degree)  # type: ignore[arg-type]  # `_fit` handles an integer
        if len(pair) != 2 or not all(isinstance(v, Integral) for v in pair) or not 0 <= pair[0] <= pair[1]:
            raise ValueError(
                "PolynomialFeatures: degree=(min_degree, max_degree) must be non-negative integers that fulfil "
                f"min_degree <= max_degree, got {self.degree}"
            )
        return pair

    @property
    def powers_(self) -> Indices:
        """The power of each column in each product, (products, columns)."""
        check_is_fitted(self)
        terms = self.model_.terms
        return np.vstack([np.bincount(c, minlength=terms.d) if c else np.zeros(terms.d, int) for c in terms.columns()])

    def get_feature_names_out(self, input_features: Sequence[str] | None = None) -> Labels:
        """Names such as "x0^2 x1"."""
        names = input_names(self, input_features)
        return np.array([_name(names, row) for row in self.powers_], dtype=object)

    def transform(self, X: UserTable) -> Table:
        """The products of each row; a csc matrix gives a csc matrix, any other sparse matrix csr."""
        given, X = X, self._admit(X)
        terms = self.model_.terms
        if issparse(X):
            return _sparse(X, terms).asformat("csc" if given.format == "csc" else "csr")
        return _dense(X, terms, self.model_.size, self.order)


def _dense(X: Array, terms: Monomials, size: int, order: Literal["C", "F"]) -> Array:
    out = np.empty((len(X), size), dtype=X.dtype, order=order)
    runs, bias, dropped = terms.product_runs(), int(terms.bias), terms.n_below_min_degree
    if terms.most == 0:
        out[:] = 1
        return out
    direct = dropped == 0 and order == "C"

    def part(lo: int, hi: int) -> None:
        if direct:
            expand_dense(X[lo:hi], runs, bias, out[lo:hi])
            return
        whole = np.empty((min(BLOCK_ROWS, hi - lo), size + dropped), dtype=X.dtype)
        for a in range(lo, hi, BLOCK_ROWS):
            b = min(a + BLOCK_ROWS, hi)
            expand_dense(X[a:b], runs, bias, whole[: b - a])
            out[a:b, :bias] = 1
            out[a:b, bias:] = whole[: b - a, bias + dropped :]

    map_parts(part, len(X))
    return out


def _sparse(X: Sparse, terms: Monomials) -> Sparse:
    X = X.copy() if not X.has_sorted_indices else X
    X.sort_indices()
    n, d = X.shape
    stored = np.diff(X.indptr)
    blocks = [type(X)(np.ones((n, 1), dtype=X.dtype))] if terms.bias else []
    for t in range(max(1, terms.least), terms.most + 1):
        counts = np.array([[terms.choices(m, r) for r in range(t + 1)] for m in range(d + 1)], dtype=np.int64)
        products = [terms.choices(p, t) for p in range(int(stored.max(initial=0)) + 1)]  # by number of stored entries
        indptr = np.append(0, np.cumsum(np.array(products, dtype=np.int64)[stored]))
        data, indices = np.empty(indptr[-1], dtype=X.dtype), np.empty(indptr[-1], dtype=np.int64)
        given = X.indices.astype(np.int64), X.indptr.astype(np.int64)
        expand_sparse(X.data, *given, d, t, int(terms.strict), counts, 0, indptr, data, indices)
        blocks.append(type(X)((data, indices, indptr), shape=(n, int(counts[d, t]))))
    return hstack(blocks, format="csr", dtype=X.dtype)


def _name(names: Labels, powers: Indices) -> str:
    parts = [names[j] if p == 1 else f"{names[j]}^{p}" for j, p in enumerate(powers) if p]
    return " ".join(parts) or "1"
