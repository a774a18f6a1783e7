"""Linear discriminant analysis in the feature space of a kernel (kernel Fisher discriminant).

    max over f of  between(f) / (within(f) + alpha |f|^2),    f(x) = sum_i a_i k(x_i, x)

Directions of features along which the class means lie far apart beside the spread within classes. The features of the
rows are taken as coordinates Z along the components of the centred kernels, S K S = V L V', in which the problem is
that of ordinary linear discriminants: S_b v = l (S_w + alpha I) v. With the linear kernel and alpha = 0 it is linear
discriminant analysis. A row has the class whose mean is nearest among the discriminants, a priori probabilities added.

Mika, Raetsch, Weston, Schoelkopf & Mueller (1999); Baudat & Anouar (2000).
"""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import KW_ONLY, dataclass
from typing import Any, Literal

import numpy as np
from numpy.typing import DTypeLike
from scipy.linalg import eigh

from fivefold.core.admission.takes import Takes
from fivefold.core.estimators.base import learned, learned_in_dtype
from fivefold.core.estimators.params import Count, NonNegative
from fivefold.core.estimators.supervised_learning import Classifier
from fivefold.core.estimators.transformer_mixins import ClassAxesMixin
from fivefold.core.numerics.eigenpairs import eigen, largest_positive
from fivefold.core.registry import Card, SearchRange
from fivefold.core.storage.memory_limits import refuse_square
from fivefold.core.types import Array, Codes, Doubles, Matrix, Table, Target, UserTable, Vector, Weights
from fivefold.kernels.base import Kernel
from fivefold.kernels.kernel_parameter import kernel_of

BLOCK_ENTRIES = 1 << 22  # kernels of new rows with training rows that are held at a time
RANK_FLOOR = 1e-12  # eigenvalues of the centred kernels below this share of the largest are rounding


@dataclass(frozen=True)
class KernelDiscriminants:
    """f_j(x) = sum_i coef_ij (k(x_i, x) - its mean) + offset_j, and the class means there."""

    kernel: Kernel
    rows: Table
    coef: Matrix  # (n, m); each column sums to zero
    offset: Vector  # (m,)
    means: Matrix  # (K, m) of the classes among the discriminants
    log_priors: Vector  # (K,)
    ratio: Vector  # (m,) between over within, largest first
    n_axes: int  # of `transform`; classes are told apart by all
    dtype: DTypeLike

    def __call__(self, X: Table) -> Doubles:
        """Coordinates (n, m) of the rows, by blocks."""
        step = max(1, BLOCK_ENTRIES // max(1, len(self.coef)))
        parts = [
            np.asarray(self.kernel(X[a : a + step], self.rows), dtype=np.float64) @ self.coef
            for a in range(0, X.shape[0], step)
        ]
        found: Doubles = np.concatenate(parts) + self.offset
        return found


class KernelLDA(ClassAxesMixin, Classifier):
    """Linear discriminants of the features behind a kernel: curved axes that separate the classes best.

    Parameters
    ----------
    n_components
        number of axes of `transform`; at most, and by default, the number of classes less one. All of them predict.
    kernel
        the name of a kernel, a kernel of `fivefold.kernels`, or a function of two rows.
    gamma
        factor of "rbf", "laplacian", "poly", "sigmoid" and "chi2"; by default one over the number of columns.
    degree
        exponent of "poly".
    coef0
        constant term of "poly" and "sigmoid".
    kernel_params
        further arguments of a function, by name.
    alpha
        penalty on the length of a direction, as a share of the variance of the features; without one the classes of few
        rows are separated by chance.

    Attributes
    ----------
    classes_
        the labels, sorted.
    dual_coef_
        coefficients of the training rows in each axis (n, m).
    separation_
        spread of the class means along each axis beside that within classes, largest first.

    Examples
    --------
    >>> from sklearn.datasets import make_circles
    >>> from fivefold.decomposition import KernelLDA
    >>> X, y = make_circles(200, factor=0.3, noise=0.05, random_state=0)
    >>> model = KernelLDA(kernel="rbf").fit(X, y)
    >>> model.score(X, y), model.transform(X).shape
    (1.0, (200, 1))
    """

    n_components: Count | None = None
    _: KW_ONLY
    kernel: (
        Literal["linear", "poly", "polynomial", "rbf", "laplacian", "sigmoid", "cosine", "chi2"]
        | Kernel
        | Callable[..., Any]
    ) = "rbf"
    gamma: NonNegative | None = None
    degree: NonNegative = 3
    coef0: float = 1
    kernel_params: dict[str, Any] | None = None
    alpha: NonNegative = 1e-3

    takes = Takes(sparse=True, one_class=False)
    card = Card(
        applications=("classification", "dimension reduction", "visualization"),
        use="Classes that curved boundaries separate, and a picture of them on few axes. Some thousand rows at most.",
        steps=(
            "Take the kernels of all pairs of rows, centre and decompose them: coordinates of the features.",
            "Take the scatter of the class means and the scatter within classes among these.",
            "The axes are those of the largest ratio of the two, the second one penalised.",
            "Give a row the class of the nearest mean.",
        ),
        source="Mika, Raetsch, Weston, Schoelkopf & Mueller (1999); Baudat & Anouar (2000)",
        see_also=("LinearDiscriminantAnalysis", "KernelPCA", "KernelRidgeClassifier"),
        variants=({"kernel": "poly", "degree": 2, "n_components": 1},),
        search={"alpha": SearchRange(1e-4, 1e-1), "gamma": SearchRange(1e-2, 1.0)},
        growth=3.0,
    )

    dual_coef_ = learned_in_dtype("coef")
    separation_ = learned_in_dtype("ratio")
    log_priors_ = learned("log_priors")

    def _fit(self, X: Table, y: Target, w: Weights) -> None:
        n, K = X.shape[0], len(self.classes_)
        if self.n_components is not None and self.n_components > K - 1:
            raise ValueError(
                f"KernelLDA: n_components={self.n_components} cannot be larger than n_classes - 1 = {K - 1}"
            )
        refuse_square("KernelLDA", n, 4, "Take a sample of the rows, or LinearDiscriminantAnalysis")
        kernel = kernel_of(self.kernel, X.shape[1], self.gamma, self.degree, self.coef0, self.kernel_params)
        G = np.asarray(kernel(X), dtype=np.float64)
        share = w / w.sum()
        means = G @ share
        centred = G - means - means[:, None] + share @ means  # features about their weighted mean
        root = np.sqrt(share)
        values, V = eigen(centred * root[:, None] * root)
        rank = max(1, int((values > RANK_FLOOR * values[0]).sum()))
        values, V = np.maximum(values[:rank], np.finfo(float).tiny), V[:, :rank]
        Z = V * np.sqrt(values) / root[:, None]  # (n, r): coordinates of the features, with variance `values`
        A, ratio, class_means, priors = _discriminants(Z, y, share, K, self.alpha * values.sum())
        A *= largest_positive(Z @ A)
        coef = (root[:, None] * V / np.sqrt(values)) @ A
        coef -= share[:, None] * coef.sum(axis=0)
        self.model_ = KernelDiscriminants(
            kernel=kernel,
            rows=X.copy(),
            coef=coef,
            offset=-(means @ coef),
            means=class_means @ A,
            log_priors=np.log(priors),
            ratio=ratio,
            n_axes=self.n_components or K - 1,
            dtype=X.dtype,
        )

    def transform(self, X: UserTable) -> Matrix:
        """Coordinates of the rows along the discriminants."""
        X = self._admit(X)
        return self.model_(X)[:, : self.model_.n_axes].astype(X.dtype, copy=False)

    def predict_proba(self, X: UserTable) -> Matrix:
        """Probabilities (n, K) of normal classes with the spread within classes that was found."""
        X = self._admit(X)
        scores = self._scores(X)
        P = np.exp(scores - scores.max(axis=1, keepdims=True))
        return (P / P.sum(axis=1, keepdims=True)).astype(X.dtype, copy=False)

    def _scores(self, X: Table) -> Matrix:
        model = self.model_
        gaps = self.model_(X)[:, None, :] - model.means
        return model.log_priors - 0.5 * np.square(gaps).sum(axis=2)

    @property
    def _n_features_out(self) -> int:
        return self.model_.n_axes


def _discriminants(
    Z: Doubles, y: Codes, share: Weights, K: int, ridge: float
) -> tuple[Doubles, Vector, Doubles, Array]:
    """Axes (r, K - 1) scaled to variance one within classes, their ratios, class means (K, r) and shares (K,)."""
    members = np.eye(K)[y] * share[:, None]  # (n, K)
    priors = members.sum(axis=0)
    means = (members.T @ Z) / priors[:, None]
    residual = (Z - means[y]) * np.sqrt(share)[:, None]
    within = residual.T @ residual
    within.flat[:: len(within) + 1] += max(ridge, 1e-12 * float(np.trace(within)) / len(within), np.finfo(float).tiny)
    between = (means * priors[:, None]).T @ means
    r, m = len(within), min(K - 1, len(within))
    ratio, A = eigh(between, within, subset_by_index=(r - m, r - 1), check_finite=False)
    A = A[:, ::-1]
    if m < K - 1:  # fewer dimensions than classes: the rest say nothing
        A, ratio = np.pad(A, ((0, 0), (0, K - 1 - m))), np.pad(ratio, (K - 1 - m, 0))
    return A, ratio[::-1], means, priors
