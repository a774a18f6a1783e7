"""Scaling that keeps directions: one factor for the whole table, or unit length for every row.

    CommonScaler     x -> c (x - m),   (1/n) sum_i |c (x_i - m)|^2 = 1         m = 0 unless centred
    Normalizer       x -> x / |x|                                              a row of zeros stays

One common factor keeps the shape of the cloud of rows, unlike a factor per column. With it a penalty of strength one is
a sensible start, even with more columns than rows; a centred target of one column gets unit variance.
"""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import KW_ONLY, dataclass
from typing import Any, Literal

import numpy as np
from scipy.sparse import csr_array, issparse

from fivefold.core.admission.takes import Takes
from fivefold.core.estimators.base import Unsupervised, learned
from fivefold.core.estimators.transformer_mixins import FloatTransformerMixin
from fivefold.core.parallel import map_parts
from fivefold.core.registry import Card
from fivefold.core.types import Array, Matrix, Table, UserTable, Vector, Weights
from fivefold.preprocessing.feature_names import SameNames


@dataclass(frozen=True)
class CommonScale:
    """The factor and the centre."""

    factor: float
    centre: Array  # (d,)


class CommonScaler(SameNames, FloatTransformerMixin, Unsupervised):
    """One factor for all columns, so that rows have a mean squared length of one.

    Parameters
    ----------
    centre
        whether the mean of each column is subtracted first.

    Attributes
    ----------
    factor_
        the factor that rows are multiplied by.
    centre_
        subtracted from rows first; zero without centring.

    Examples
    --------
    >>> from fivefold.preprocessing import CommonScaler
    >>> CommonScaler().fit_transform([[3.0, 4.0], [0.0, 5.0]])
    array([[0.6, 0.8],
           [0. , 1. ]])
    """

    _: KW_ONLY
    centre: bool = False

    takes = Takes(huge=True)
    card = Card(
        applications=("denoising",),
        use="Before a penalised linear model whose columns share a unit (pixels, counts, sensors): a penalty of one is "
        "then a sensible start. Columns in different units need a factor each.",
        steps=("Take the mean squared length of the rows.", "Divide by its root."),
        source="Shalev-Shwartz & Ben-David (2014), chapter 13",
        see_also=("Normalizer", "Ridge"),
        variants=({"centre": True},),
    )

    factor_ = learned("factor")
    centre_ = learned("centre")

    def _fit(self, X: Table, w: Weights) -> None:
        centre = w @ X / w.sum() if self.centre else np.zeros(X.shape[1])
        # after division by the largest entry, squares neither vanish nor overflow
        largest = float(np.abs(X - centre).max(initial=0.0)) or 1.0
        square = float(w @ (((X - centre) / largest) ** 2).sum(axis=1)) / float(w.sum())
        with np.errstate(over="ignore", divide="ignore"):
            factor = float(np.float64(1.0) / largest / np.sqrt(square))
        self.model_ = CommonScale(factor if np.isfinite(factor) else 1.0, centre)

    def transform(self, X: UserTable) -> Matrix:
        """Scaled rows."""
        X = self._admit(X)
        return ((X - self.model_.centre) * self.model_.factor).astype(X.dtype)

    def inverse_transform(self, X: UserTable) -> Matrix:
        """Rows in their original units."""
        X = np.asarray(X)
        return X / self.model_.factor + self.model_.centre

    def undo(
        self, coef: Array, intercept: float | Array = 0.0, target: CommonScaler | None = None
    ) -> tuple[Array, float | Array]:
        """Coefficients and intercept in the units of the data, of a model learned from scaled rows.

        `target` is the scaler, fitted to y as a column, of the targets that the model was trained on.
        """
        coef = np.asarray(coef) * self.model_.factor
        intercept = intercept - coef @ self.model_.centre
        if target is not None:
            coef, intercept = coef / target.factor_, intercept / target.factor_ + target.centre_[0]
        return coef, intercept


ROW_NORMS: dict[str, Callable[[Table], Table]] = {
    "l1": lambda X: abs(X).sum(axis=1),
    "l2": lambda X: _length(X),
    "max": lambda X: abs(X).max(axis=1),
}


@dataclass(frozen=True)
class ColumnCount:
    """Only the number of columns is learned."""

    columns: int


class Normalizer(SameNames, FloatTransformerMixin, Unsupervised):
    """Every row scaled to unit length; a row of zeros is left as it is.

    Parameters
    ----------
    norm
        "l2", "l1" or "max".
    copy
        False lets `transform` overwrite its argument if that is a NumPy array of floats or a csr matrix.

    Examples
    --------
    >>> from fivefold.preprocessing import Normalizer
    >>> Normalizer().fit_transform([[3.0, 4.0], [0.0, 0.0]])
    array([[0.6, 0.8],
           [0. , 0. ]])
    """

    norm: Literal["l1", "l2", "max"] = "l2"
    _: KW_ONLY
    copy: bool = True

    takes = Takes(sparse=True)
    card = Card(
        applications=("denoising",),
        use="Directions matter and lengths do not: texts, spectra, inputs of the PAC-Bayes losses.",
        steps=("Divide each row by its length.",),
        source="Salton, Wong & Yang (1975)",
        see_also=("CommonScaler",),
        variants=({"norm": "l1"}, {"norm": "max"}),
    )

    def __sklearn_tags__(self) -> Any:
        tags = super().__sklearn_tags__()
        tags.requires_fit = False
        return tags

    def __sklearn_is_fitted__(self) -> bool:
        return True

    def _fit(self, X: Table) -> None:
        self.model_ = ColumnCount(X.shape[1])

    def transform(self, X: UserTable, copy: bool | None = None) -> Table:
        """Rows of unit length; `copy` overrides the parameter of that name."""
        given, X = X, self._admit(X)
        overwrite = not (self.copy if copy is None else copy)
        inplace = overwrite and X is given
        if issparse(X):
            size = ROW_NORMS[self.norm](X)
            size = np.asarray(size.todense() if issparse(size) else size).ravel()
            own = issparse(given) and given.format == "csr" and np.shares_memory(X.data, given.data)
            out = given if overwrite and own else X.copy()
            out.data /= np.repeat(np.where(size > 0, size, 1), np.diff(out.indptr)).astype(X.dtype)
            return out
        out = X if inplace else np.empty_like(X)

        def part(lo: int, hi: int) -> None:
            size = ROW_NORMS[self.norm](X[lo:hi])
            np.divide(X[lo:hi], np.where(size > 0, size, 1)[:, None], out=out[lo:hi])

        map_parts(part, len(X))
        return out


def _length(X: Table) -> Vector:
    if issparse(X):
        return np.sqrt(np.asarray(csr_array(X.multiply(X)).sum(axis=1)).ravel())
    return np.sqrt(np.einsum("ij,ij->i", X, X))
