"""Kernel principal component analysis: principal components of the features behind a kernel.

    H K H = V L V',  H = I - 11'/n        z_k(x) = (1 / sqrt l_k) sum_t v_tk [k(x_t, x) - m_t - m(x) + m]

m_t is the mean of row t of K, m(x) the mean of k(x, .) over the training rows, m the mean of K: features about their
mean. With the linear kernel it is PCA. A few components come from block Lanczos on the centred operator, whose
matrix is never made. Going back from coordinates to rows is learned, by ridge regression in the space of coordinates.

Schoelkopf, Smola & Mueller (1998); Bakir, Weston & Schoelkopf (2004), Learning to find pre-images.
"""

from __future__ import annotations

from collections.abc import Callable, Iterator
from dataclasses import KW_ONLY, dataclass, replace
from typing import Any, Literal

import numpy as np
from numpy.typing import DTypeLike
from sklearn.utils import check_array
from sklearn.utils.validation import check_is_fitted

from fivefold.core.admission.takes import Takes
from fivefold.core.console.fit_progress import value_steps
from fivefold.core.estimators.base import Transformer, learned, learned_in_dtype, not_fitted_error
from fivefold.core.estimators.params import Count, Index, NonNegative, Seed
from fivefold.core.estimators.precomputed_kernels import TakesPrecomputedKernels
from fivefold.core.numerics.eigenpairs import EigenDecomposition, eigen, krylov_eigenpairs
from fivefold.core.numerics.products import double_centre, product
from fivefold.core.random_state import check_random_state
from fivefold.core.registry import Card
from fivefold.core.storage.memory_limits import refuse_square
from fivefold.core.types import Array, Doubles, Matrix, Table, UserTable, Vector
from fivefold.kernels.base import Kernel, count, take
from fivefold.kernels.gram import Centring, cholesky_with_jitter
from fivefold.kernels.gram_blocks import densified
from fivefold.kernels.kernel_parameter import kernel_of

MIN_KRYLOV_ROWS = 200  # smaller matrices are decomposed whole
KRYLOV_RATIO = 20  # Lanczos is taken where at most one component in this many rows is wanted
BLOCK_ENTRIES = 1 << 22  # kernels of new rows with training rows that are held at a time
NEGATIVE = 1e-5  # share of the largest eigenvalue: more negative ones mean that the kernel is none
ZERO = {"d": 1e-12, "f": 2e-7}  # share of the largest eigenvalue below which one counts as zero, by precision


@dataclass(frozen=True)
class KernelComponents:
    """Training rows, eigenpairs of their centred kernels, and the way back."""

    kernel: Kernel
    rows: Table
    centring: Centring
    values: Vector  # (k,)
    vectors: Matrix  # (n, k)
    trace: float  # of the centred matrix
    gamma: float
    dtype: DTypeLike
    scores: Matrix | None = None  # (n, k) coordinates of the training rows, for the way back
    inverse_kernel: Kernel | None = None
    inverse: Matrix | None = None  # (n, d)

    @property
    def scaled(self) -> Matrix:
        """v / sqrt l, zero where l is zero."""
        roots = np.sqrt(self.values)
        return np.divide(self.vectors, roots, out=np.zeros_like(self.vectors), where=roots > 0)

    @property
    def share(self) -> Vector:
        """Share of the variance of the features that each component has."""
        return self.values / (self.trace or 1.0)


class KernelPCA(TakesPrecomputedKernels, Transformer):
    """Principal components of the features behind a kernel.

    Parameters
    ----------
    n_components
        number of components; by default all whose eigenvalue is more than rounding.
    kernel
        "linear", "poly", "rbf", "sigmoid", "cosine", "precomputed" if X holds the kernels of its rows with the
        training rows, a kernel of `fivefold.kernels`, or a function of two rows. With a kernel of texts, graphs or sets
        X is a collection of these.
    gamma
        factor of "rbf", "poly" and "sigmoid"; by default one over the number of columns.
    degree
        exponent of "poly".
    coef0
        constant term of "poly" and "sigmoid".
    kernel_params
        further arguments of a function, by name.
    alpha
        penalty of the ridge regression that learns the way back.
    fit_inverse_transform
        whether the way back from coordinates to rows is learned in fit; otherwise each `inverse_transform` learns it.
    eigen_solver
        "dense" decomposes the whole matrix; "arpack" and "randomized" find the leading components by block Lanczos;
        "auto" chooses by their number.
    tol
        accuracy of Lanczos as a share of the largest eigenvalue; zero asks for all that rounding allows.
    max_iter
        most blocks of Lanczos, after which the whole matrix is decomposed.
    iterated_power, copy_X, n_jobs
        kept for scikit-learn's signature; X is never overwritten, and all cores are used with the same result.
    remove_zero_eig
        whether components without variance are left out when n_components is given.
    random_state
        seed of the first block of Lanczos.
    centre_new
        whether a new row is centred like the training rows; without, its coordinates are those of the plain feature
        vector, which differ by a constant per component.

    Attributes
    ----------
    eigenvalues_, eigenvectors_
        of the centred matrix of kernels, largest first (k,) and (n, k).
    explained_variance_ratio_
        share of the variance of the features along each component.
    X_fit_, gamma_
        the training rows, and the gamma that was used.
    dual_coef_, X_transformed_fit_
        of the way back: coefficients (n, d), and the coordinates of the training rows.

    Examples
    --------
    >>> from sklearn.datasets import make_circles
    >>> from fivefold.decomposition import KernelPCA
    >>> X, y = make_circles(200, factor=0.3, noise=0.05, random_state=0)
    >>> Z = KernelPCA(1, kernel="rbf", gamma=2.0).fit_transform(X)[:, 0]
    >>> bool(abs(Z[y == 1].mean() - Z[y == 0].mean()) > 4 * Z[y == 1].std())
    True
    """

    n_components: Count | None = None
    _: KW_ONLY
    kernel: Literal["linear", "poly", "rbf", "sigmoid", "cosine", "precomputed"] | Kernel | Callable[..., Any] = (
        "linear"
    )
    gamma: NonNegative | None = None
    degree: NonNegative = 3
    coef0: float = 1
    kernel_params: dict[str, Any] | None = None
    alpha: NonNegative = 1.0
    fit_inverse_transform: bool = False
    eigen_solver: Literal["auto", "dense", "arpack", "randomized"] = "auto"
    tol: NonNegative = 0
    max_iter: Count | None = None
    iterated_power: Index | Literal["auto"] = "auto"
    remove_zero_eig: bool = False
    random_state: Seed = None
    copy_X: bool = True
    n_jobs: int | None = None
    centre_new: bool = True

    takes = Takes(sparse=True)
    card = Card(
        applications=("dimension reduction", "visualization", "denoising"),
        use="Curved structure, or rows that are known only through a kernel. Not for many thousands of rows: kernels "
        "of all pairs are held in memory. A narrow Gaussian kernel has no leading components.",
        steps=(
            "Take the kernels of all pairs of rows, and centre them.",
            "Find the leading eigenvectors, by block Lanczos where few are wanted.",
            "A row's coordinates are its centred kernels times eigenvectors over root eigenvalues.",
            "If asked, learn the way back by ridge regression on the coordinates.",
        ),
        source="Schoelkopf, Smola & Mueller (1998); Bakir, Weston & Schoelkopf (2004)",
        see_also=("PCA", "KernelSVD", "KernelLDA"),
        variants=(
            {"kernel": "rbf", "n_components": 2, "fit_inverse_transform": True},
            {"kernel": "poly", "n_components": 2, "eigen_solver": "arpack"},
        ),
        growth=3.0,
    )

    eigenvalues_ = learned_in_dtype("values")
    eigenvectors_ = learned_in_dtype("vectors")
    explained_variance_ratio_ = learned_in_dtype("share")
    X_fit_ = learned("rows")
    gamma_ = learned("gamma")

    @property
    def dual_coef_(self) -> Matrix:
        """Coefficients (n, d) of the way back."""
        return self._way_back().inverse

    @property
    def X_transformed_fit_(self) -> Matrix:
        """Coordinates (n, k) of the training rows."""
        return self._way_back().scores

    @property
    def _takes_rows(self) -> bool:
        """Are rows of numbers compared? Kernels of texts, graphs and the like take objects as they are."""
        return not isinstance(self.kernel, Kernel) or self.kernel.requires_vector_input

    def _admit_for_fit(self, X: UserTable) -> Table:
        return super()._admit_for_fit(X) if self._takes_rows else X

    def _admit(self, X: UserTable) -> Table:
        if self._takes_rows:
            return super()._admit(X)
        check_is_fitted(self)
        return X

    def _fit(self, X: Table) -> None:
        n, d = X.shape if self._takes_rows else (count(X), 1)
        if self.fit_inverse_transform and (self._is_precomputed or not self._takes_rows):
            raise ValueError(
                "KernelPCA: Cannot fit_inverse_transform with a precomputed kernel, or one of texts or graphs: there "
                "are no rows"
            )
        if self._takes_rows:
            self._refuse_oblong(X)
        if self.n_components is not None and self.n_components > n:
            raise ValueError(
                f"KernelPCA: n_components={self.n_components} must be at most the number of rows; X has n_samples={n}. "
                "Ask for fewer components"
            )
        refuse_square("KernelPCA", n, 3, "Take a sample of the rows, or PCA of features from kernel_approximation")
        gamma = 1.0 / d if self.gamma is None else self.gamma
        kernel = kernel_of(self.kernel, d, gamma, self.degree, self.coef0, self.kernel_params)
        K = np.asarray(kernel(X), dtype=np.float64)
        means = K.mean(axis=0)
        centring = Centring(means, float(means.mean()))
        values, vectors = self._decompose(K, X)
        trace = float(np.trace(K) - n * centring.mean)  # the sum of all eigenvalues, of which only some are known
        kind = X.dtype if self._takes_rows else np.dtype(np.float64)
        values = _nonnegative(np.append(values, min(trace / n, 0.0)), kind.char)[:-1]
        if self.remove_zero_eig or self.n_components is None:
            values, vectors = values[values > 0], vectors[:, values > 0]
        model = KernelComponents(
            kernel=kernel,
            rows=X.copy() if self._takes_rows else take(X, np.arange(n)),
            centring=centring,
            values=values,
            vectors=vectors,
            trace=trace,
            gamma=gamma,
            dtype=kind,
        )
        self.model_ = self._with_way_back(model, X) if self.fit_inverse_transform else model

    def _decompose(self, K: Doubles, X: Table) -> EigenDecomposition:
        """The leading eigenpairs of H K H."""
        n, k = len(K), self.n_components or len(K)
        few = n > MIN_KRYLOV_ROWS and KRYLOV_RATIO * k <= n
        wanted = self.eigen_solver in ("arpack", "randomized") or self.eigen_solver == "auto"
        if few and wanted and not self._is_precomputed:

            def times(V: Array) -> Array:
                image = product(K, V - V.mean(axis=0))
                return image - image.mean(axis=0)

            rng, most = check_random_state(self.random_state), self.max_iter or 200
            with value_steps(self, "block", most, X) as report:
                found = krylov_eigenpairs(times, n, k, rng, max(self.tol, 1e-12), most, report)
            if found is not None:
                return found
        values, vectors = eigen(double_centre(K), count=k)
        return EigenDecomposition(values[:k], vectors[:, :k])

    def _with_way_back(self, model: KernelComponents, X: Table) -> KernelComponents:
        Z = np.ascontiguousarray(model.vectors * np.sqrt(model.values))
        kernel = kernel_of(self.kernel, X.shape[1], model.gamma, self.degree, self.coef0, self.kernel_params)
        factor = cholesky_with_jitter(np.asarray(kernel(Z), dtype=np.float64), self.alpha)
        return replace(model, scores=Z, inverse_kernel=kernel, inverse=factor.solve(densified(X).astype(np.float64)))

    def fit_transform(self, X: UserTable, y: Any = None, **params: Any) -> Matrix:
        """Fit, and give the coordinates of the rows."""
        model = self.fit(X, y, **params).model_
        return (model.vectors * np.sqrt(model.values)).astype(model.dtype, copy=False)

    def transform(self, X: UserTable) -> Matrix:
        """Coordinates (n, k) of the rows along the components."""
        X = self._admit(X)
        scaled = self.model_.scaled
        parts = [self._centred(K) @ scaled for K in self._kernel_blocks(X)]
        return np.concatenate(parts).astype(X.dtype if self._takes_rows else self.model_.dtype, copy=False)

    def _centred(self, K: Doubles) -> Doubles:
        if self.centre_new:
            return self.model_.centring.centred(K)
        return K - K.mean(axis=1, keepdims=True)

    def _kernel_blocks(self, X: Table) -> Iterator[Doubles]:
        """Kernels of the rows with the training rows, a block of rows at a time."""
        model = self.model_
        step = max(1, BLOCK_ENTRIES // max(1, len(model.vectors)))
        n = count(X)
        for a in range(0, n, step):
            some = X[a : a + step] if self._takes_rows else take(X, np.arange(a, min(a + step, n)))
            yield np.asarray(model.kernel(some, model.rows), dtype=np.float64)

    def reconstruction_error(self, X: UserTable) -> Vector:
        """Squared distance, in feature space, of each row from its projection onto the components."""
        X = self._admit(X)
        if self._is_precomputed:
            raise ValueError("KernelPCA: kernels of the rows with themselves are needed, which X does not hold")
        model, scaled, parts = self.model_, self.model_.scaled, []
        for K in self._kernel_blocks(X):
            Z = model.centring.centred(K) @ scaled
            parts.append(2 * K.mean(axis=1) + np.einsum("ij,ij->i", Z, Z))
        return np.maximum(model.kernel.diag(X) + model.centring.mean - np.concatenate(parts), 0.0)

    def inverse_transform(self, X: UserTable) -> Matrix:
        """Rows whose coordinates are about these; the way back is learned now if the fit did not learn it."""
        check_is_fitted(self)
        model = self.model_
        if model.inverse is None:
            if self._is_precomputed or not self._takes_rows:
                raise not_fitted_error(self, "dual_coef_")
            model = self._with_way_back(model, model.rows)
        Z = check_array(X, dtype=(np.float64, np.float32), estimator=self)
        return (model.inverse_kernel(Z, model.scores) @ model.inverse).astype(Z.dtype, copy=False)

    def _way_back(self) -> Any:  # the model, with its inverse
        check_is_fitted(self)
        if self.model_.inverse is None:
            raise not_fitted_error(self, "dual_coef_")
        return self.model_

    @property
    def _n_features_out(self) -> int:
        return self.model_.vectors.shape[1]


def _nonnegative(values: Vector, kind: str) -> Vector:
    """Eigenvalues with rounding set to zero; refuses those that rounding does not explain."""
    largest = float(values.max(initial=0.0))
    lowest = float(values.min(initial=0.0))
    if lowest < -max(NEGATIVE * largest, 1e-10):
        raise ValueError(
            f"KernelPCA: There are significant negative eigenvalues ({lowest:.3g} beside a largest of {largest:.3g}): "
            "the kernel is not positive definite for these rows. Ask for fewer components, or take another kernel"
        )
    return np.where(values > ZERO.get(kind, ZERO["d"]) * largest, values, 0.0)
