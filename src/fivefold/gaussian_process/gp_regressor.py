"""Gaussian process regression: a normal distribution over functions, conditioned on the targets that were seen.

    f ~ GP(0, k),  y = f(x) + noise          C = K + noise,  a = C^-1 y
    E f(x) = k(x)'a                          Var f(x) = k(x, x) - k(x)'C^-1 k(x)

The parameters of k maximise the evidence p(y), which falls both for functions too stiff for the targets and for ones
that could have produced almost anything. The mean is kernel ridge regression with the noise as penalty; far from the
rows the variance is that of the prior. Leaving out row i needs no second fit:

    mean  y_i - a_i / [C^-1]_ii        variance  1 / [C^-1]_ii

Rasmussen & Williams (2006), algorithm 2.1 and section 5.4.2.
"""

from __future__ import annotations

from dataclasses import KW_ONLY, dataclass
from typing import Any, Self

import numpy as np
from sklearn.callback import with_callbacks
from sklearn.utils import check_array

from fivefold.core._sklearn import Tags
from fivefold.core.admission.takes import Takes
from fivefold.core.admission.targets import admit_pair
from fivefold.core.console.user_warnings import warn
from fivefold.core.estimators.base import learned
from fivefold.core.estimators.params import Count, NonNegative, Seed
from fivefold.core.estimators.supervised_learning import Regressor
from fivefold.core.numerics.cholesky import inverse_factor, solve_lower
from fivefold.core.random_state import check_random_state
from fivefold.core.registry import Card
from fivefold.core.types import (
    Array,
    Doubles,
    Indices,
    Matrix,
    Table,
    Target,
    UserTable,
    UserTarget,
    UserWeights,
    Vector,
    Weights,
)
from fivefold.gaussian_process.base import (
    STUDY_EVIDENCE_ROWS,
    GaussianProcess,
    evidence_sample,
    kept,
    rows_of,
    two_axes,
)
from fivefold.gaussian_process.posterior.covariance_factor import warn_of_jitter
from fivefold.gaussian_process.posterior.evidence import log_evidence
from fivefold.gaussian_process.posterior.foreign_kernels import AnyKernel, ForeignKernel, computing_kernel, with_theta
from fivefold.gaussian_process.posterior.hyperparameter_search import (
    COARSE_SHARE,
    Objective,
    evaluation_reports,
    search,
    warn_of_bounds,
)
from fivefold.kernels.base import Kernel, Objects, take
from fivefold.kernels.gram import Factor

PREDICT_BLOCK = 1 << 24  # entries of the covariance of new and training rows that are held at a time
COARSE_FROM = 1000  # rows from which the search begins on a sample: below, an evaluation is cheap
ARRAYS_OF_A_FIT = 6  # n x n: distances, kernel, a product of them, factor, its inverse, weights of the gradient


@dataclass(frozen=True)
class GaussianPosterior:
    """A process conditioned on targets, in units in which they have mean 0 and, if asked, deviation 1."""

    kernel: AnyKernel
    computing: Kernel | ForeignKernel  # the same function, as matrices are computed
    X: Objects
    Y: Doubles  # (n, t)
    targets: Doubles  # Y in the shape of y
    noise: float | Vector
    mean: Vector  # (t,) what was taken from the targets,
    scale: Vector  # (t,) and what they were divided by
    factor: Factor
    dual: Doubles  # (n, t)
    evidence: float

    @property
    def L(self) -> Doubles:
        """The factor, with zeros above the diagonal."""
        return np.tril(self.factor.L)

    @property
    def alpha(self) -> Doubles:
        """Dual coefficients in the shape of y."""
        return self.dual.reshape(self.targets.shape)


@dataclass(frozen=True)
class LeaveOneOut:
    """What each target would have been predicted as, from all other rows with the same kernel; noise included."""

    mean: Array  # (n,) or (n, t)
    std: Array
    log_density: float  # sum over rows of the logarithm of the density of the target that was left out


class GaussianProcessRegressor(
    GaussianProcess,
    Regressor,
    keywords="alpha optimizer n_restarts_optimizer normalize_y copy_X_train n_targets random_state",
):
    """Regression by a distribution over functions: a mean and a standard deviation for every row.

    Parameters
    ----------
    alpha
        variance of the noise of the targets, one number or one per training row; added to the diagonal.
    normalize_y
        whether targets are brought to mean 0 and deviation 1 before; predictions are brought back.
    n_targets
        number of targets of draws before a fit.
    evidence_rows
        at most this many rows, drawn at random, decide the kernel's parameters, which takes many factorisations; all
        rows then give the function, by one. None for all.

    Attributes
    ----------
    X_train_, y_train_
        the rows, and the targets as they are learned.
    L_
        lower Cholesky factor of the covariance of the targets (n, n).
    alpha_
        coefficients of the training rows in the mean.
    jitter_
        what had to be added to the diagonal beyond alpha to factor it; zero in most cases.

    Examples
    --------
    >>> import numpy as np
    >>> from fivefold.gaussian_process import GaussianProcessRegressor
    >>> from fivefold.kernels import RBF, WhiteKernel
    >>> X = np.linspace(0, 6, 13)[:, None]
    >>> y = np.sin(X[:, 0]) + 0.1 * np.random.RandomState(0).normal(size=13)
    >>> model = GaussianProcessRegressor(1.0 * RBF() + WhiteKernel(0.01)).fit(X, y)
    >>> mean, std = model.predict([[1.25], [30.0]], return_std=True)
    >>> mean.round(2), std.round(2)
    (array([1.09, 0.  ]), array([0.1 , 0.71]))
    """

    _: KW_ONLY
    alpha: NonNegative | np.ndarray = 1e-10
    normalize_y: bool = False
    n_targets: Count | None = None
    evidence_rows: Count | None = None

    takes = Takes(outputs=True)
    card = Card(
        applications=("regression",),
        use="Few rows, smooth functions, and a standard deviation wanted for each prediction; kernels that say what is "
        "known of the function. Beyond some thousand rows take SparseGaussianProcessRegressor.",
        steps=(
            "Take the covariance of all pairs of rows from the kernel, and add the noise.",
            "Factor it; the evidence and its gradient by the kernel's parameters follow from the factor.",
            "Climb the evidence by L-BFGS-B, from several starts if asked.",
            "The mean of a new row is its covariance with the training rows times dual coefficients.",
            "Its variance is that of the prior less what the training rows say.",
        ),
        source="Rasmussen & Williams (2006)",
        see_also=("SparseGaussianProcessRegressor", "GaussianProcessClassifier", "KernelRidge"),
        variants=({"normalize_y": True, "alpha": 0.1}, {"kernel": "ard", "normalize_y": True, "evidence_rows": 50}),
        study={"kernel": "ard", "normalize_y": True, "evidence_rows": STUDY_EVIDENCE_ROWS},
        portfolio=True,
        growth=3.0,
    )

    X_train_ = learned("X")
    y_train_ = learned("targets")
    kernel_ = learned("kernel")
    L_ = learned("L")
    alpha_ = learned("alpha")
    jitter_ = learned("factor.jitter")
    log_marginal_likelihood_value_ = learned("evidence")

    def __sklearn_tags__(self) -> Tags:
        tags = super().__sklearn_tags__()
        tags.requires_fit = False  # before a fit the prior predicts
        return tags

    @with_callbacks
    def fit(self, X: UserTable, y: UserTarget) -> Self:
        """Learn from rows and their targets; noise of its own for each row goes into alpha."""
        return self._fit_admitted(X, y, None)

    def _admitted_rows(
        self, X: UserTable, y: UserTarget, sample_weight: UserWeights, *, fitting: bool
    ) -> tuple[Table, Target, Weights]:
        if self._wants_vectors:
            return super()._admitted_rows(X, y, sample_weight, fitting=fitting)
        _, y = admit_pair(self, np.zeros((rows_of(X), 1)), y, numeric=True)
        vars(self).pop("n_features_in_")
        return X, np.asarray(y, dtype=np.float64), np.ones(rows_of(X))

    def _fit(self, X: Objects, y: Target, w: Weights) -> None:
        name, kernel = type(self).__name__, self._kernel_for(X, noisy=True)
        n, Y = rows_of(X), two_axes(y)
        self._refuse_too_many(n, ARRAYS_OF_A_FIT, "SparseGaussianProcessRegressor, which needs rows x inducing points")
        noise = self._noise(n)
        if self.n_targets is not None and Y.shape[1] != self.n_targets:
            raise ValueError(
                f"{name}: the number of targets seen in `y` is {Y.shape[1]}, but n_targets={self.n_targets}"
            )
        mean, scale = np.zeros(Y.shape[1]), np.ones(Y.shape[1])
        if self.normalize_y:
            mean, scale = Y.mean(axis=0), Y.std(axis=0)
            scale = np.where(scale > 10 * np.finfo(float).eps * np.abs(mean), scale, 1.0)
        Z = (Y - mean) / scale
        rows = kept(np.asarray(X, dtype=np.float64) if self._wants_vectors else X, self.copy_X_train)
        computing, theta = computing_kernel(kernel), np.asarray(kernel.theta)

        def posterior(at: Vector) -> GaussianPosterior:
            now = computing.replace(at)
            found = log_evidence(now, rows, Z, noise)
            return GaussianPosterior(
                kernel=with_theta(kernel, at),
                computing=now,
                X=rows,
                Y=Z,
                targets=Z.reshape(y.shape),
                noise=noise,
                mean=mean,
                scale=scale,
                factor=found.factor,
                dual=found.dual,
                evidence=found.value,
            )

        searched = self.optimizer is not None and theta.size > 0
        if searched:

            def objective_of(some: Indices) -> Objective:
                few, their_noise = take(rows, some), noise[some] if isinstance(noise, np.ndarray) else noise

                def objective(at: Vector, eval_gradient: bool = True) -> Any:  # a number, or one and its gradient
                    found = log_evidence(computing.replace(at), few, Z[some], their_noise, gradient=eval_gradient)
                    return (-found.value, -found.gradient) if found.gradient is not None else -found.value

                return objective

            some = evidence_sample(Z, self.evidence_rows, self.random_state)
            coarse = some[evidence_sample(Z[some], len(some) // COARSE_SHARE, 0)] if len(some) >= COARSE_FROM else None
            rng = check_random_state(self.random_state)
            with evaluation_reports(self, 1, X) as reports:
                best = search(
                    self,
                    objective_of(some),
                    theta,
                    np.asarray(kernel.bounds),
                    rng,
                    lambda at, value: reports(lambda: posterior(at), value),
                    None if coarse is None else objective_of(coarse),
                )
            theta = best.theta
        self.model_ = model = posterior(theta)
        if searched and not isinstance(self.kernel, str):
            warn_of_bounds(name, model.kernel)
        warn_of_jitter(name, model.factor.jitter, rows, model.kernel)

    def _noise(self, n: int) -> float | Vector:
        """The variance of the noise, one number or one per row."""
        alpha = np.asarray(self.alpha, dtype=np.float64)
        if alpha.size not in (1, n) or not (np.isfinite(alpha) & (alpha >= 0)).all():
            raise ValueError(
                f"{type(self).__name__}: alpha must be a number, or an array with one for each of the rows, from 0 up "
                f"({alpha.size} entries, {n} rows)"
            )
        return float(alpha.ravel()[0]) if alpha.size == 1 else alpha.ravel()

    def predict(self, X: UserTable, return_std: bool = False, return_cov: bool = False) -> Any:
        """The mean at each row, and if asked its standard deviation or the covariance of all rows.

        Before a fit these are of the prior. Noise is in them where the kernel has it, and alpha is not.
        """
        if return_std and return_cov:
            raise RuntimeError(f"{type(self).__name__}: at most one of return_std or return_cov can be requested")
        if not self.__sklearn_is_fitted__():
            return self._prior(X, return_std, return_cov)
        rows, model = self._objects(X, fitting=False), self.model_
        means, variances, halves = [], [], []
        step = max(1, PREDICT_BLOCK // max(1, rows_of(model.X)))
        for a in range(0, rows_of(rows), step):
            block = rows[a : a + step]
            K = model.computing(block, model.X)
            means.append(K @ model.dual)
            if return_std or return_cov:
                V = solve_lower(model.factor.L, np.array(K, dtype=np.float64, order="C"))
                if return_cov:
                    halves.append(V)
                else:
                    variances.append(model.computing.diag(block) - np.einsum("ij,ij->i", V, V))
        mean = _squeezed(np.concatenate(means) * model.scale + model.mean)
        if return_cov:
            V = np.concatenate(halves)
            covariance = model.computing(rows) - V @ V.T
            return mean, _squeezed(covariance[:, :, None] * model.scale**2)
        if not return_std:
            return mean
        variance = np.concatenate(variances)
        if (variance < 0).any():
            warn(f"{type(self).__name__}: rounding made some variances negative: they were set to 0")
        return mean, _squeezed(np.sqrt(np.maximum(variance, 0.0))[:, None] * model.scale)

    def _prior(self, X: UserTable, return_std: bool, return_cov: bool) -> Any:  # as `predict`
        rows = np.asarray(check_array(X), dtype=np.float64) if self._wants_vectors else X
        kernel = computing_kernel(self._kernel_for(rows, noisy=True))
        t = self.n_targets or 1
        mean = _squeezed(np.zeros((rows_of(rows), t)))
        if return_cov:
            return mean, _squeezed(np.repeat(kernel(rows)[:, :, None], t, axis=2))
        if return_std:
            return mean, _squeezed(np.repeat(np.sqrt(kernel.diag(rows))[:, None], t, axis=1))
        return mean

    def sample_y(self, X: UserTable, n_samples: int = 1, random_state: Seed = 0) -> Array:
        """Values (n, n_samples), or (n, targets, n_samples), of functions drawn from the process."""
        rng = check_random_state(random_state)
        mean, covariance = self.predict(X, return_cov=True)
        if mean.ndim == 1:
            return rng.multivariate_normal(mean, covariance, n_samples, check_valid="ignore").T
        drawn = [
            rng.multivariate_normal(mean[:, t], covariance[:, :, t], n_samples, check_valid="ignore").T
            for t in range(mean.shape[1])
        ]
        return np.stack(drawn, axis=1)

    def log_marginal_likelihood(
        self, theta: Vector | None = None, eval_gradient: bool = False, clone_kernel: bool = True
    ) -> Any:  # a number, or one and its gradient
        """Logarithm of the evidence at `theta`, that of the fit by default; with `eval_gradient` its gradient too.

        Without `clone_kernel` the kernel of this model keeps the parameters.
        """
        if theta is None:
            if eval_gradient:
                raise ValueError(f"{type(self).__name__}: Gradient can only be evaluated for theta!=None: give a theta")
            return self.log_marginal_likelihood_value_
        model = self.model_
        theta = np.asarray(theta, dtype=np.float64)
        if not clone_kernel:
            model.kernel.theta = theta
        found = log_evidence(model.computing.replace(theta), model.X, model.Y, model.noise, gradient=eval_gradient)
        return found.value if found.gradient is None else (found.value, found.gradient)

    def leave_one_out(self) -> LeaveOneOut:
        """Predictions of each training target from all other rows, from the one factor."""
        model = self.model_
        P = inverse_factor(model.factor.L)
        precision = np.einsum("ij,ij->i", P, P)[:, None]
        residual = model.dual / precision
        density = -0.5 * (np.log(2 * np.pi / precision) + residual**2 * precision) - np.log(model.scale)
        shape = model.targets.shape
        return LeaveOneOut(
            ((model.Y - residual) * model.scale + model.mean).reshape(shape),
            (np.sqrt(1 / precision) * model.scale).reshape(shape),
            float(density.sum()),
        )


def _squeezed(a: Matrix) -> Array:
    """Without the axis of targets where there is one target."""
    return a[..., 0] if a.shape[-1] == 1 else a
