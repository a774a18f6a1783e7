"""Automatic relevance determination: every coefficient has a precision of its own, learned from the evidence.

    y = w'x + b + noise,   noise ~ N(0, 1 / alpha),   w_j ~ N(0, 1 / lambda_j)

    Sigma = (alpha Z'Z + diag(lambda))^-1,  w = alpha Sigma Z't
    gamma_j  = 1 - lambda_j Sigma_jj                                       how far the data determine w_j
    lambda_j = (gamma_j + 2 lambda_1) / (w_j^2 + 2 lambda_2)
    alpha    = (n - sum gamma + 2 alpha_1) / (|t - Z w|^2 + 2 alpha_2)

The precision of a column that explains nothing grows without bound; beyond a threshold the column is dropped for good.
The products Z'Z are taken once; with fewer rows than columns Sigma comes from a matrix of the size of the rows
(Woodbury).

MacKay (1994); Tipping (2001).
"""

from __future__ import annotations

from abc import ABC, abstractmethod
from dataclasses import KW_ONLY, dataclass

import numpy as np
from scipy.linalg import LinAlgError, cho_factor, cho_solve, pinvh, qr

from fivefold.core.blas_threads import one_blas_thread
from fivefold.core.console.fit_progress import fit_steps, warn_kept_best
from fivefold.core.estimators.params import NonNegative
from fivefold.core.numerics.table_moments import weighted_moments
from fivefold.core.registry import Card
from fivefold.core.types import Array, Mask, Matrix, Table, Target, Vector, Weights
from fivefold.linear_model.base import cast_learned, centred_linear
from fivefold.linear_model.bayesian.bayesian_ridge import (
    EPS,
    MIN_SQUARES,
    EvidenceRegressor,
    GammaPriors,
    RidgePosterior,
)
from fivefold.optim.design import Design


class WeightPosterior(ABC):
    """What the updates need of the rows: the covariance and mean of some weights, and the error of all."""

    @abstractmethod
    def posterior(self, alpha: float, lambda_: Array, kept: Array) -> tuple[Array, Array]:
        """Sigma (k, k) and w (k,) of the kept columns."""

    @abstractmethod
    def error(self, W: Array) -> float:
        """|t - Z w|^2."""


@dataclass(frozen=True)
class GramPosterior(WeightPosterior):
    """From Z'Z and Z't; errors are computed about the least squares solution, so that a small one keeps its digits."""

    G: Array  # (d, d)
    q: Array  # (d,)
    solution: Array  # (d,) of least squares
    gradient: Array  # (d,) minus half the gradient that rounding left there
    squared_error: float  # there
    rank: int  # of Z, columns scaled to length one

    @classmethod
    def of(cls, X: Array, t: Array, w: Array, centre: Array | None) -> GramPosterior:
        design = Design(X, intercept=False, centre=centre)
        moments = weighted_moments(X, w)
        G = moments.scatter
        if centre is None:
            G = G + moments.weight * np.outer(moments.mean, moments.mean)
        q = design.transpose(w * t)
        size = 1 / np.sqrt(np.maximum(G.diagonal(), MIN_SQUARES))
        found, _, rank, _ = np.linalg.lstsq(G * size * size[:, None], size * q)
        solution = size * found
        residuals = t - design.predictor(solution)
        return cls(G, q, solution, design.transpose(w * residuals), float(w @ residuals**2), int(rank))

    def posterior(self, alpha: float, lambda_: Array, kept: Array) -> tuple[Array, Array]:
        A = alpha * self.G[np.ix_(kept, kept)]
        A[np.diag_indices_from(A)] += lambda_[kept]
        sigma = _inverse(A)
        return sigma, alpha * (sigma @ self.q[kept])

    def error(self, W: Array) -> float:
        step = W - self.solution
        return max(self.squared_error - 2 * float(self.gradient @ step) + float(step @ self.G @ step), 0.0)


@dataclass(frozen=True)
class RowPosterior(WeightPosterior):
    """From as many rows as Z has rank, if that is less than the number of columns: Z'Z and Z't are the same.

    Z'Z has directions without data then, where only the precisions of the weights speak: alpha Z'Z + diag(lambda) is
    ill-conditioned, and so is a matrix over rows of which some are copies. Over independent rows it is not.
    """

    Z: Array  # (r, d)
    t: Array  # (r,)
    rest: float  # the part of |t|^2 that no weights reach

    @classmethod
    def of(cls, Z: Matrix, t: Vector) -> RowPosterior:
        n, d = Z.shape
        size = 1 / np.sqrt(np.maximum(np.square(Z).sum(axis=0), MIN_SQUARES))
        (R,) = qr(np.column_stack([Z * size, t]), mode="r", check_finite=False)
        R = R[: d + 1]  # the rows below are zero
        Q, top, order = qr(R[:, :d], mode="economic", pivoting=True, check_finite=False)
        pivots = np.abs(top.diagonal())
        r = max(int((pivots > pivots[0] * max(n, d) * EPS).sum()), 1)
        rows, reached = np.empty((r, d)), Q[:, :r].T @ R[:, d]
        rows[:, order] = top[:r]
        return cls(rows / size, reached, float(np.square(R[:, d] - Q[:, :r] @ reached).sum()))

    def posterior(self, alpha: float, lambda_: Array, kept: Array) -> tuple[Array, Array]:
        Z, spread = self.Z[:, kept], 1 / lambda_[kept]
        ZS = Z * spread
        K = ZS @ Z.T
        K[np.diag_indices_from(K)] += 1 / alpha
        inner = _inverse(K)
        sigma = -ZS.T @ (inner @ ZS)
        sigma[np.diag_indices_from(sigma)] += spread
        return sigma, ZS.T @ (inner @ self.t)  # alpha Sigma Z't, without the cancellation within Sigma

    def error(self, W: Array) -> float:
        residuals = self.t - self.Z @ W
        return float(residuals @ residuals) + self.rest


class ARDRegression(
    EvidenceRegressor, keywords="max_iter tol alpha_1 alpha_2 lambda_1 lambda_2 compute_score threshold_lambda"
):
    """Linear regression that finds out which columns matter: each has its own precision, learned from the data.

    Parameters
    ----------
    compute_score
        keep the log evidence after every update.
    threshold_lambda
        a column whose precision reaches it is dropped.

    Attributes
    ----------
    coef_, intercept_
        the posterior mean; exactly zero for a dropped column.
    alpha_, lambda_
        precision of the noise, and of each weight.
    sigma_
        posterior covariance of the coefficients that were kept.

    Examples
    --------
    >>> import numpy as np
    >>> from fivefold.linear_model import ARDRegression
    >>> X = np.random.RandomState(0).normal(size=(50, 10))
    >>> model = ARDRegression().fit(X, 3 * X[:, 2] + 0.1 * X[:, 0] ** 2)
    >>> int(np.argmax(np.abs(model.coef_)))
    2
    """

    _: KW_ONLY
    threshold_lambda: NonNegative = 1e4

    card = Card(
        applications=("regression", "data mining"),
        use="Few of many columns matter, and error bars are wanted. Scale the columns first: the threshold is in their "
        "units. A few hundred columns at most; for more take Lasso.",
        steps=(
            "Take the posterior of the weights under the present precisions.",
            "See how far the data determine each weight, and set its precision accordingly.",
            "Drop the columns whose precision passed the threshold; repeat until the weights settle.",
        ),
        source="MacKay (1994); Tipping (2001)",
        see_also=("BayesianRidge", "BayesianLinearRegression", "Ridge"),
        variants=({"compute_score": True, "threshold_lambda": 1e3},),
    )

    def _fit(self, X: Table, y: Target, w: Weights) -> None:
        n, d = X.shape
        weight, dtype, y = float(w.sum()), X.dtype, y.astype(np.float64)
        mean, mean_target = (w @ X / weight, float(w @ y) / weight) if self.fit_intercept else (np.zeros(d), 0.0)
        t = y - mean_target
        rows: WeightPosterior | None = None
        if n >= d:
            moments = GramPosterior.of(X, t, w, mean if self.fit_intercept else None)
            rows = moments if moments.rank == d else None
        rows = rows or RowPosterior.of(np.sqrt(w)[:, None] * (X - mean), np.sqrt(w) * t)
        variance = float(w @ (y - float(w @ y) / weight) ** 2) / weight
        W, sigma, alpha, lambda_, scores, done = self._maximise_evidence(rows, weight, 1 / (variance + EPS), d)
        self.model_ = RidgePosterior(
            linear=centred_linear(W, mean, np.float64(mean_target), dtype, intercept=self.fit_intercept),
            alpha=np.float64(alpha),
            lambda_=cast_learned(lambda_, dtype),
            sigma=cast_learned(sigma, dtype),
            scores=np.array(scores) if self.compute_score else [],
            n_iter=done,
            offset=mean.astype(dtype),
            scale=np.ones(d, dtype=dtype),
        )

    def _maximise_evidence(
        self, rows: WeightPosterior, n: float, alpha: float, d: int
    ) -> tuple[Vector, Matrix, float, Vector, list[float], int]:
        """Weights, their covariance, the precisions, the log evidence after every update, and the number of updates."""
        gammas = self._priors
        W, lambda_, kept = np.zeros(d), np.ones(d), np.ones(d, dtype=bool)
        before, scores, done = None, [], 0
        with fit_steps(self, "update", self.max_iter) as monitor, one_blas_thread():
            try:
                while done < self.max_iter:
                    sigma, W[kept] = rows.posterior(alpha, lambda_, kept)
                    error = rows.error(W)
                    gamma = 1 - lambda_[kept] * sigma.diagonal()
                    lambda_[kept] = (gamma + 2 * gammas.lambda_1) / np.maximum(
                        W[kept] ** 2 + 2 * gammas.lambda_2, MIN_SQUARES
                    )
                    alpha = (n - gamma.sum() + 2 * gammas.alpha_1) / max(error + 2 * gammas.alpha_2, MIN_SQUARES)
                    kept = lambda_ < self.threshold_lambda
                    W[~kept] = 0
                    done += 1
                    if self.compute_score:
                        scores.append(_score(gammas, sigma, W, n, alpha, lambda_, error))
                    settled = before is not None and float(np.abs(before - W).sum()) < self.tol
                    if settled or not kept.any() or monitor(None, error):
                        break
                    before = W.copy()
            except KeyboardInterrupt:
                warn_kept_best(self, done, "update")
        sigma = np.empty((0, 0))
        if kept.any():
            sigma, W[kept] = rows.posterior(alpha, lambda_, kept)
        return W, sigma, alpha, lambda_, scores, done

    def _kept(self) -> Mask:
        return np.asarray(self.model_.lambda_ < self.threshold_lambda)


def _score(gammas: GammaPriors, sigma: Array, W: Array, n: float, alpha: float, lambda_: Array, error: float) -> float:
    """The log evidence, up to a constant."""
    gauss = np.linalg.slogdet(sigma)[1] + n * np.log(alpha) + np.log(lambda_).sum()
    return float(gammas.log_prior(alpha, lambda_) + 0.5 * (gauss - alpha * error - (lambda_ * W**2).sum()))


def _inverse(A: Matrix) -> Matrix:
    """The inverse of a symmetric matrix by Cholesky, or its pseudo-inverse if it is singular."""
    try:
        return cho_solve(cho_factor(A, lower=True, check_finite=False), np.eye(len(A)), check_finite=False)
    except LinAlgError:
        return pinvh(A)
