"""Canonical correlation analysis in the feature spaces of two kernels.

    (f, g) = argmax cor(f(x), g(y)) with a penalty on the lengths of f and g

The features of each table are taken as coordinates along the components of its centred kernels, with variances l. The
pairs are the singular vectors of the product of the two sets of coordinates, each coordinate of variance l divided by
sqrt(l + penalty): a penalty of 0 and linear kernels give canonical correlation analysis. Without a penalty a kernel of
many features correlates anything with anything.

Akaho (2001); Hardoon, Szedmak & Shawe-Taylor (2004).
"""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import KW_ONLY, dataclass
from typing import Any, Literal

import numpy as np
from numpy.typing import DTypeLike
from sklearn.utils import check_array

from fivefold.core._sklearn import ClassNamePrefixFeaturesOutMixin
from fivefold.core.admission.takes import Takes
from fivefold.core.console.user_warnings import warn
from fivefold.core.estimators.base import learned_in_dtype
from fivefold.core.estimators.params import Count, NonNegative
from fivefold.core.estimators.supervised_learning import NumericTarget
from fivefold.core.estimators.transformer_mixins import FloatTransformerMixin
from fivefold.core.numerics.eigenpairs import eigen, largest_positive
from fivefold.core.numerics.svd import thin_svd
from fivefold.core.registry import Card
from fivefold.core.storage.memory_limits import refuse_square
from fivefold.core.types import Doubles, Matrix, Table, Target, UserTable, UserTarget, UserWeights, Vector, Weights
from fivefold.kernels.base import Kernel
from fivefold.kernels.kernel_parameter import kernel_of

ALIKE = 1e-14  # spread of the features, as a share of their size: below it is rounding
RANK_FLOOR = 1e-10  # eigenvalues of the centred kernels below this share of the largest are rounding

KernelName = Literal["linear", "poly", "polynomial", "rbf", "laplacian", "sigmoid", "cosine", "chi2"]


@dataclass(frozen=True)
class KernelView:
    """Scores of the rows of one table: (k(x, .) - means) coef, every column of coef summing to zero."""

    kernel: Kernel
    rows: Matrix  # (n, d)
    means: Vector  # (n,) weighted mean of k(x_i, .) over the rows
    coef: Matrix  # (n, k)

    def scores(self, X: Table) -> Doubles:
        """Coordinates (n, k) of rows."""
        found: Doubles = (np.asarray(self.kernel(X, self.rows), dtype=np.float64) - self.means) @ self.coef
        return found


@dataclass(frozen=True)
class KernelPairs:
    """Both tables, and how much their scores have in common."""

    x: KernelView
    y: KernelView
    correlations: Vector  # (k,) penalised
    dtype: DTypeLike


class KernelCCA(ClassNamePrefixFeaturesOutMixin, FloatTransformerMixin, NumericTarget):
    """Pairs of functions of two tables whose values correlate most.

    Parameters
    ----------
    n_components
        number of pairs of functions.
    kernel
        the name of a kernel, a kernel of `fivefold.kernels`, or a function of two rows; of X.
    y_kernel
        the same, of y.
    gamma
        factor of "rbf", "laplacian", "poly", "sigmoid" and "chi2"; by default one over the number of columns.
    degree
        exponent of "poly".
    coef0
        constant term of "poly" and "sigmoid".
    alpha
        penalty on the length of a function, as a share of the variance of its features.

    Attributes
    ----------
    correlations_
        correlation of each pair on the training rows, lowered by the penalty (k,).

    Examples
    --------
    >>> import numpy as np
    >>> from fivefold.cross_decomposition import KernelCCA
    >>> x = np.linspace(-2, 2, 60)[:, None]
    >>> t, u = KernelCCA(1, alpha=1e-3).fit(x, x**2).transform(x, x**2)
    >>> bool(np.corrcoef(t[:, 0], u[:, 0])[0, 1] > 0.99)
    True
    """

    n_components: Count = 2
    _: KW_ONLY
    kernel: KernelName | Kernel | Callable[..., Any] = "rbf"
    y_kernel: KernelName | Kernel | Callable[..., Any] = "rbf"
    gamma: NonNegative | None = None
    degree: NonNegative = 3
    coef0: float = 1
    alpha: NonNegative = 1e-2

    takes = Takes(outputs=True)
    card = Card(
        applications=("dimension reduction", "visualization"),
        use="Two descriptions of the same things that have something in common which no linear map shows. Choose alpha "
        "by the correlation on rows that were held out. Some thousand rows at most.",
        steps=(
            "Take the kernels of all pairs of rows in both tables, centre and decompose them.",
            "Divide each coordinate by the root of its variance and the penalty.",
            "Decompose the product of the two sets of coordinates.",
        ),
        source="Akaho (2001); Hardoon, Szedmak & Shawe-Taylor (2004)",
        see_also=("CCA", "KernelPCA"),
        given={"n_components": 1},
        variants=({"kernel": "linear", "y_kernel": "linear"},),
        growth=3.0,
    )

    correlations_ = learned_in_dtype("correlations")

    def _fit(self, X: Table, y: Target, w: Weights) -> None:
        n, Y = len(X), y.reshape(len(y), -1)
        if n < 2:
            raise ValueError("KernelCCA needs two rows or more: X has n_samples=1")
        if self.n_components > n:
            raise ValueError(
                f"KernelCCA: n_components={self.n_components} must be at most the number of rows; X has n_samples={n}"
            )
        refuse_square("KernelCCA", n, 8, "Take a sample of the rows, or CCA")
        share = w / w.sum()
        sides = [self._side(k, Z, share) for k, Z in ((self.kernel, X), (self.y_kernel, Y))]
        for name, side in zip("Xy", sides, strict=True):
            if not side.V.any():
                warn(f"KernelCCA: to {side.kernel} all rows of {name} are alike: there is no component, scores are 0")
        U, s, Vt = thin_svd(sides[0].weighted.T @ sides[1].weighted)
        k = min(self.n_components, len(s))
        signs = largest_positive((sides[0].weighted @ U[:, :k]) / np.sqrt(share)[:, None])
        views = [side.view(A[:, :k] * signs, self.n_components) for side, A in zip(sides, (U, Vt.T), strict=True)]
        values = np.pad(s[:k], (0, self.n_components - k))
        self.model_ = KernelPairs(views[0], views[1], np.minimum(values, 1.0), X.dtype)

    def _side(self, kernel: Any, Z: Table, share: Weights) -> _Side:
        chosen = kernel_of(kernel, Z.shape[1], self.gamma, self.degree, self.coef0)
        G = np.asarray(chosen(Z), dtype=np.float64)
        means = G @ share
        root = np.sqrt(share)
        values, V = eigen((G - means - means[:, None] + share @ means) * root[:, None] * root)
        if not values[0] > ALIKE * float(share @ np.abs(G.diagonal())):
            V[:] = 0.0
        rank = max(1, int((values > RANK_FLOOR * max(float(values[0]), np.finfo(float).tiny)).sum()))
        values, V = np.maximum(values[:rank], np.finfo(float).tiny), V[:, :rank]
        return _Side(chosen, Z.copy(), means, share, V, values, self.alpha * float(values.sum()))

    def transform(self, X: UserTable, y: UserTarget = None) -> Any:  # Matrix, or two where y is given
        """Scores (n, k) of the rows of X; with y also those of the rows of y, as a second array."""
        X, model = self._admit(X), self.model_
        found = model.x.scores(X).astype(X.dtype, copy=False)
        if y is None:
            return found
        Y = check_array(y, ensure_2d=False, dtype=(np.float64, np.float32), input_name="y", estimator=self)
        Y = Y.reshape(len(Y), -1)
        if Y.shape[1] != model.y.rows.shape[1]:
            raise ValueError(f"KernelCCA: y has {Y.shape[1]} columns, but fit saw {model.y.rows.shape[1]}; give those")
        return found, model.y.scores(Y).astype(Y.dtype, copy=False)

    def fit_transform(self, X: UserTable, y: UserTarget = None, sample_weight: UserWeights = None) -> Matrix:
        """Learn from both tables, and give the scores of the rows of X."""
        return self.fit(X, y, sample_weight).transform(X)

    @property
    def _n_features_out(self) -> int:
        return self.model_.x.coef.shape[1]


@dataclass(frozen=True)
class _Side:
    """A table while it is fitted: its centred, weighted kernels are V diag(values) V'."""

    kernel: Kernel
    rows: Matrix
    means: Vector
    share: Weights
    V: Matrix  # (n, r)
    values: Vector  # (r,)
    penalty: float

    @property
    def weighted(self) -> Matrix:
        """Coordinates (n, r) of the features, each divided by the root of its variance and the penalty."""
        return self.V * np.sqrt(self.values / (self.values + self.penalty))

    def view(self, A: Matrix, k: int) -> KernelView:
        """The scores along the columns of A (r, k'), with k - k' columns of zeros."""
        root = np.sqrt(self.share)[:, None]
        coef = (root * self.V / np.sqrt(self.values * (self.values + self.penalty))) @ A
        coef = np.pad(coef - self.share[:, None] * coef.sum(axis=0), ((0, 0), (0, k - A.shape[1])))
        return KernelView(self.kernel, self.rows, self.means, coef)
