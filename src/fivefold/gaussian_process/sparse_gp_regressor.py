"""Gaussian process regression through inducing points: n m^2 in place of n^3.

    mean(x) = k(x, Z) U^-T LA^-T c          var(x) = k(x, x) - |U^-1 k(Z, x)|^2 + |LA^-1 U^-1 k(Z, x)|^2

The process is seen through its values at m inducing points. "vfe" maximises a bound from below on the evidence of the
full process: it never pretends to know more, and tends to the full process as points are added. "fitc" changes the
model so that its own evidence is cheap; its noise comes out too small more often. The points are chosen one after the
other where the process is least known given those before (the pivots of a Cholesky factor), from the rows themselves.

Snelson & Ghahramani (2006); Titsias (2009); Burt, Rasmussen & van der Wilk (2020).
"""

from __future__ import annotations

from dataclasses import KW_ONLY, dataclass
from typing import Any, Literal, Self

import numpy as np
from scipy.linalg import solve_triangular
from sklearn.callback import with_callbacks

from fivefold.core.admission.takes import Takes
from fivefold.core.estimators.base import learned
from fivefold.core.estimators.params import Count, Positive
from fivefold.core.estimators.supervised_learning import Regressor
from fivefold.core.random_state import check_random_state
from fivefold.core.registry import Card
from fivefold.core.types import Array, Doubles, Matrix, Table, Target, UserTable, UserTarget, Vector, Weights
from fivefold.gaussian_process.base import GaussianProcess, two_axes
from fivefold.gaussian_process.posterior.foreign_kernels import AnyKernel, with_theta
from fivefold.gaussian_process.posterior.hyperparameter_search import evaluation_reports, search, warn_of_bounds
from fivefold.gaussian_process.posterior.sparse_evidence import SparseState, sparse_evidence
from fivefold.kernels.base import Kernel, as_kernel
from fivefold.kernels.low_rank import incomplete_cholesky

PREDICT_ROWS = 4096  # rows that are predicted at a time
NOISE_BOUNDS = (1e-8, 1e5)  # of the variance of the noise, in units of the targets' variance where these are scaled


@dataclass(frozen=True)
class SparsePosterior:
    """A process seen through inducing points."""

    kernel: AnyKernel
    computing: Kernel
    Z: Doubles  # (m, d) the inducing points
    noise: float | Vector
    mean: Vector  # (t,) what was taken from the targets,
    scale: Vector  # (t,) and what they were divided by
    state: SparseState
    evidence: float
    single: bool

    def predict(self, X: Doubles) -> tuple[Matrix, Vector]:
        """Means (n, t) and variances (n,) of the function, without noise, in the units of the process."""
        V = solve_triangular(self.state.U, self.computing(self.Z, X), lower=True, check_finite=False)
        W = solve_triangular(self.state.LA, V, lower=True, check_finite=False)
        variance = self.computing.diag(X) - np.einsum("ij,ij->j", V, V) + np.einsum("ij,ij->j", W, W)
        return W.T @ self.state.c, np.maximum(variance, 0.0)


class SparseGaussianProcessRegressor(GaussianProcess, Regressor):
    """Gaussian process regression through inducing points, for many rows.

    Parameters
    ----------
    n_inducing
        number of inducing points, chosen from the rows.
    inducing_points
        inducing points to use instead (m, d).
    approximation
        "vfe", a bound on the evidence of the full process, or "fitc".
    noise_variance
        variance of the noise of the targets, from which the search starts; or one per row, which is kept. The kernel
        itself has no noise.
    normalize_y
        whether targets are brought to mean 0 and deviation 1 before; predictions are brought back.

    Attributes
    ----------
    inducing_points_
        the points (m, d).
    noise_variance_
        the variance of the noise found, in the units of the process.

    Examples
    --------
    >>> import numpy as np
    >>> from fivefold.gaussian_process import SparseGaussianProcessRegressor
    >>> rng = np.random.RandomState(0)
    >>> X = rng.uniform(0, 6, size=(2000, 1))
    >>> y = np.sin(X[:, 0]) + 0.1 * rng.normal(size=2000)
    >>> model = SparseGaussianProcessRegressor(n_inducing=15).fit(X, y)
    >>> mean, std = model.predict([[1.25]], return_std=True)
    >>> mean.round(2), round(float(np.sqrt(model.noise_variance_) * y.std()), 2)
    (array([0.94]), 0.1)
    """

    _: KW_ONLY
    n_inducing: Count = 100
    inducing_points: np.ndarray | None = None
    approximation: Literal["vfe", "fitc"] = "vfe"
    noise_variance: Positive | np.ndarray = 0.1
    normalize_y: bool = True

    takes = Takes(outputs=True)
    card = Card(
        applications=("regression",),
        use="A standard deviation for each prediction with thousands to millions of rows of few columns. With few rows "
        "the full process is exact.",
        steps=(
            "Choose inducing points where the process is least known given those before.",
            "Climb the evidence, or a bound on it, by the kernel's parameters and the noise.",
            "Predict through the inducing points.",
        ),
        source="Snelson & Ghahramani (2006); Titsias (2009); Burt, Rasmussen & van der Wilk (2020)",
        see_also=("GaussianProcessRegressor", "KernelRidge"),
        variants=({"approximation": "fitc", "n_inducing": 10},),
    )

    kernel_ = learned("kernel")
    inducing_points_ = learned("Z")
    noise_variance_ = learned("noise")
    log_marginal_likelihood_value_ = learned("evidence")

    @with_callbacks
    def fit(self, X: UserTable, y: UserTarget) -> Self:
        """Learn from rows and their targets; noise of its own for each row goes into noise_variance."""
        return self._fit_admitted(X, y, None)

    def _fit(self, X: Table, y: Target, w: Weights) -> None:
        given = self._kernel_for(X, noisy=False)
        kernel, rows, Y = as_kernel(given), np.asarray(X, dtype=np.float64), two_axes(y)
        mean, scale = np.zeros(Y.shape[1]), np.ones(Y.shape[1])
        if self.normalize_y:
            mean, scale = Y.mean(axis=0), Y.std(axis=0)
            scale = np.where(scale > 10 * np.finfo(float).eps * np.abs(mean), scale, 1.0)
        targets, noise = (Y - mean) / scale, self._noise(len(rows))
        Z = self._inducing(kernel, rows)
        common = noise.size == 1
        per_row = np.broadcast_to(noise, len(rows))

        def unpacked(at: Vector) -> tuple[Kernel, Vector]:
            return (
                (kernel.replace(at[:-1]), np.full(len(rows), np.exp(at[-1])))
                if common
                else (kernel.replace(at), per_row)
            )

        def objective(at: Vector, eval_gradient: bool = True) -> Any:  # a number, or one and its gradient
            now, variance = unpacked(at)
            found = sparse_evidence(now, rows, Z, targets, variance, self.approximation, gradient=eval_gradient)
            if found.gradient is None:
                return -found.value
            return -found.value, -(found.gradient if common else found.gradient[:-1])

        at, bounds = kernel.theta, kernel.bounds
        if common:
            at = np.append(at, np.log(noise))
            bounds = np.vstack([bounds, np.log([NOISE_BOUNDS])])

        def posterior(at: Vector) -> SparsePosterior:
            now, variance = unpacked(at)
            found = sparse_evidence(now, rows, Z, targets, variance, self.approximation)
            return SparsePosterior(
                kernel=with_theta(given, now.theta),
                computing=now,
                Z=Z,
                noise=float(variance[0]) if common else np.array(variance),
                mean=mean,
                scale=scale,
                state=found.state,
                evidence=found.value,
                single=y.ndim == 1,
            )

        if self.optimizer is not None and at.size:
            rng = check_random_state(self.random_state)
            with evaluation_reports(self, 1, X) as reports:
                at = search(
                    self, objective, at, bounds, rng, lambda at, value: reports(lambda: posterior(at), value)
                ).theta
        self.model_ = posterior(at)
        if self.optimizer is not None and not isinstance(self.kernel, str):
            warn_of_bounds(type(self).__name__, self.model_.kernel)

    def _noise(self, n: int) -> Doubles:
        noise = np.atleast_1d(np.asarray(self.noise_variance, dtype=np.float64)).ravel()
        if noise.size not in (1, n) or not (np.isfinite(noise) & (noise > 0)).all():
            raise ValueError(
                f"{type(self).__name__}: noise_variance must be above 0, one number or one for each of the {n} rows"
            )
        return noise

    def _inducing(self, kernel: Kernel, X: Doubles) -> Doubles:
        if self.inducing_points is None:
            return X[incomplete_cholesky(kernel, X, min(self.n_inducing, len(X)), tol=1e-12).pivots]
        Z = np.array(self.inducing_points, dtype=np.float64)
        if Z.ndim != 2 or Z.shape[1] != X.shape[1] or not len(Z):
            raise ValueError(
                f"{type(self).__name__}: inducing_points must be a table with the {X.shape[1]} columns of X: {Z.shape}"
            )
        return Z

    def predict(self, X: UserTable, return_std: bool = False, return_noise: bool = False) -> Any:
        """The mean at each row, and if asked the standard deviation of the function, or of a target with its noise."""
        X = self._admit(X)
        rows, model = np.asarray(X, dtype=np.float64), self.model_
        parts = [model.predict(rows[a : a + PREDICT_ROWS]) for a in range(0, len(rows), PREDICT_ROWS)]
        mean = np.concatenate([part[0] for part in parts]) * model.scale + model.mean
        if not (return_std or return_noise):
            return self._shaped(mean, X)
        variance = np.concatenate([part[1] for part in parts])
        if return_noise:
            if np.ndim(model.noise):
                raise ValueError(
                    f"{type(self).__name__}: the noise of a new row is not known: noise_variance was per row"
                )
            variance = variance + model.noise
        return self._shaped(mean, X), self._shaped(np.sqrt(variance)[:, None] * model.scale, X)

    def _shaped(self, found: Matrix, X: Table) -> Array:
        return (found[:, 0] if self.model_.single else found).astype(X.dtype, copy=False)
