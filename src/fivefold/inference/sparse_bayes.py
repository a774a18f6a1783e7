"""Sparse Bayesian learning: every weight has a precision of its own, and most precisions are infinite.

    f = Phi w,   w_m ~ N(0, 1 / alpha_m),   p(t | f) normal with precision beta, or Bernoulli by the logistic function

The evidence p(t | alpha, beta) depends on one alpha_m through two numbers, given all others: s_m, how much of phi_m the
other columns explain already, and q_m, how phi_m correlates with what is left of the targets. It has one maximum

    alpha_m = s_m^2 / (q_m^2 - s_m)  where q_m^2 > s_m,  infinite otherwise:  the column is left out

so columns enter, leave and change one at a time, each time the one that raises the evidence most. Only columns with a
finite precision are ever worked on. For Bernoulli targets the evidence is Laplace's approximation at the mode of w; a
step that does not raise it is taken back. The noise is learned by MacKay's update, or by that of
expectation-maximisation where the former overshoots: the evidence never falls. At the end

    alpha_m = gamma_m / w_m^2,   gamma_m = 1 - alpha_m Sigma_mm        1 / beta = |t - Phi w|^2 / (n - sum of gamma_m)

Tipping (2001); Faul & Tipping (2002); Tipping & Faul (2003).
"""

from __future__ import annotations

from abc import ABC, abstractmethod
from collections.abc import Callable
from dataclasses import dataclass, replace

import numpy as np
from scipy.linalg import cho_factor, cho_solve, solve_triangular
from scipy.special import expit, log_expit

from fivefold.core.blas_threads import one_blas_thread
from fivefold.core.types import Doubles, Indices, Mask

INITIAL_NOISE_SHARE = 0.1  # of the variance of the targets
MAX_PRECISION_FACTOR = 1e6  # the noise has at least one part in this many of the variance of the targets
MIN_NEW_SHARE = 1e-8  # a column may enter if at least this share of it is not explained by those that are in
NOISE_TOLERANCE = 1e-6  # a change of log beta that counts as none
MAX_NEWTON_STEPS = 50
NEWTON_TOLERANCE = 1e-12  # of the value, relative
MIN_NEWTON_SHARE = 1e-10  # of a Newton step

Monitor = Callable[[int, float], bool]  # steps and log evidence so far; True ends the ascent


@dataclass(frozen=True)
class WeightPosterior:
    """Weights of the columns that are in, and what every column would add."""

    columns: Indices  # (M,)
    alpha: Doubles  # (M,)
    mean: Doubles  # (M,)
    covariance: Doubles  # (M, M)
    S: Doubles  # (m,) of all columns, the precision of each beside those that are in
    Q: Doubles  # (m,)
    log_evidence: float

    @property
    def determination(self) -> Doubles:
        """gamma: how far the data determine each weight."""
        return np.asarray(1.0 - self.alpha * self.covariance.diagonal())


class SparseLikelihood(ABC):
    """The targets, given the columns."""

    @abstractmethod
    def posterior(self, columns: Indices, alpha: Doubles, start: Doubles) -> WeightPosterior:
        """The posterior of the weights of these columns; `start` is close to its mode."""

    @abstractmethod
    def squares(self) -> Doubles:
        """S of all columns while none is in."""

    def with_better_noise(self, now: WeightPosterior) -> tuple[SparseLikelihood, WeightPosterior]:
        """The same with noise of higher evidence, where there is noise to learn."""
        return self, now


@dataclass(frozen=True)
class NormalTargets(SparseLikelihood):
    """From the products of the columns with each other and the targets, all weighted by rows."""

    G: Doubles  # (m, m) Phi'W Phi
    c: Doubles  # (m,) Phi'W t
    squared_target: float  # t'W t
    weight: float  # of all rows
    beta: float
    max_beta: float

    @classmethod
    def of(cls, Phi: Doubles, t: Doubles, w: Doubles) -> NormalTargets:
        """The noise starts at a tenth of the targets' variance about zero."""
        weighted = w[:, None] * Phi
        squares, weight = float(w @ t**2), float(w.sum())
        variance = squares / weight
        return cls(
            G=Phi.T @ weighted,
            c=weighted.T @ t,
            squared_target=squares,
            weight=weight,
            beta=1.0 / (INITIAL_NOISE_SHARE * variance),
            max_beta=MAX_PRECISION_FACTOR / variance,
        )

    def posterior(self, columns: Indices, alpha: Doubles, start: Doubles) -> WeightPosterior:
        beta, among = self.beta, self.G[columns]  # (M, m)
        A = beta * among[:, columns]
        A[np.diag_indices_from(A)] += alpha
        L = np.linalg.cholesky(A)
        mean = beta * cho_solve((L, True), self.c[columns], check_finite=False)
        half = solve_triangular(L, among, lower=True, check_finite=False) if len(columns) else among
        S = beta * self.G.diagonal() - beta**2 * (half * half).sum(axis=0)
        Q = beta * (self.c - mean @ among)
        quadratic = beta * (self.squared_target - float(mean @ self.c[columns]))  # error and penalty together
        evidence = (
            self.weight * np.log(beta / (2 * np.pi)) + np.log(alpha).sum() - 2 * np.log(L.diagonal()).sum() - quadratic
        )
        covariance = cho_solve((L, True), np.eye(len(columns)), check_finite=False)
        return WeightPosterior(columns, alpha, mean, covariance, S, Q, 0.5 * float(evidence))

    def squares(self) -> Doubles:
        return np.asarray(self.beta * self.G.diagonal())

    def with_better_noise(self, now: WeightPosterior) -> tuple[SparseLikelihood, WeightPosterior]:
        among = self.G[np.ix_(now.columns, now.columns)]
        error = self.squared_target - float(now.mean @ (2 * self.c[now.columns] - among @ now.mean))
        determined = float(now.determination.sum())
        floor = self.weight / self.max_beta
        for beta in (
            max(self.weight - determined, 0.0) / max(error, floor),
            self.weight / max(error + determined / self.beta, floor),
        ):
            if beta > 0.0:
                likelihood = replace(self, beta=min(beta, self.max_beta))
                found = likelihood.posterior(now.columns, now.alpha, now.mean)
                if found.log_evidence >= now.log_evidence:
                    return likelihood, found
        return self, now


@dataclass(frozen=True)
class BernoulliTargets(SparseLikelihood):
    """Targets 0 and 1 with probability 1 / (1 + exp(-f)) of a one; Laplace's approximation."""

    Phi: Doubles  # (n, m)
    t: Doubles  # (n,)
    w: Doubles  # (n,)

    def posterior(self, columns: Indices, alpha: Doubles, start: Doubles) -> WeightPosterior:
        active = np.ascontiguousarray(self.Phi[:, columns])
        mean, value = self._mode(active, alpha, start)
        p = expit(active @ mean)
        B = self.w * p * (1 - p)
        among = (active * B[:, None]).T @ self.Phi  # (M, m)
        A = among[:, columns]
        A[np.diag_indices_from(A)] += alpha
        L = np.linalg.cholesky(A)
        half = solve_triangular(L, among, lower=True, check_finite=False) if len(columns) else among
        S = B @ (self.Phi * self.Phi) - (half * half).sum(axis=0)
        evidence = value + 0.5 * float(np.log(alpha).sum()) - float(np.log(L.diagonal()).sum())
        covariance = cho_solve((L, True), np.eye(len(columns)), check_finite=False)
        Q = self.Phi.T @ (self.w * (self.t - p))
        return WeightPosterior(columns, alpha, mean, covariance, S, Q, evidence)

    def squares(self) -> Doubles:
        return np.asarray((0.25 * self.w) @ (self.Phi * self.Phi))

    def _value(self, f: Doubles, x: Doubles, alpha: Doubles) -> float:
        likelihood = self.w @ (self.t * log_expit(f) + (1 - self.t) * log_expit(-f))
        return float(likelihood) - 0.5 * float(alpha @ x**2)

    def _mode(self, active: Doubles, alpha: Doubles, start: Doubles) -> tuple[Doubles, float]:
        """The likeliest weights, by Newton's method, and the logarithm of likelihood times prior there."""
        x, f = start, active @ start
        value = self._value(f, x, alpha)
        for _ in range(MAX_NEWTON_STEPS):
            p = expit(f)
            H = (active * (self.w * p * (1 - p))[:, None]).T @ active
            H[np.diag_indices_from(H)] += alpha
            step = cho_solve(cho_factor(H, lower=True), active.T @ (self.w * (self.t - p)) - alpha * x)
            move, share = active @ step, 1.0
            new = self._value(f + move, x + step, alpha)
            while new < value and share > MIN_NEWTON_SHARE:
                share *= 0.5
                new = self._value(f + share * move, x + share * step, alpha)
            if new < value:
                break
            x, f, gain, value = x + share * step, f + share * move, new - value, new
            if gain <= NEWTON_TOLERANCE * max(1.0, abs(value)):
                break
        return x, value


@dataclass(frozen=True)
class SparseFit:
    """Columns with finite precisions, the posterior of their weights, and how it was found."""

    likelihood: SparseLikelihood
    posterior: WeightPosterior
    history: tuple[float, ...]  # the log evidence, step by step
    reason: str  # "converged", "max_iter", "stopped"


def maximise_sparse_evidence(
    likelihood: SparseLikelihood, tol: float, max_iter: int, monitor: Monitor | None = None
) -> SparseFit:
    """Raise the evidence, one precision at a time, until no change gains `tol` and the noise has settled.

    Examples
    --------
    >>> Phi = np.eye(4)
    >>> found = maximise_sparse_evidence(NormalTargets.of(Phi, np.array([9.0, 1.0, -1.0, 1.0]), np.ones(4)), 1e-6, 100)
    >>> found.posterior.columns
    array([0])
    """
    nothing = np.empty(0)
    with one_blas_thread():
        now = likelihood.posterior(np.empty(0, dtype=np.int64), nothing, nothing)
        history, blocked = [now.log_evidence], np.zeros(len(now.S), dtype=bool)
        for step in range(max_iter):
            m, alpha, promised = _best_change(likelihood, now, blocked)
            if promised > tol:
                found = likelihood.posterior(*_changed(now, m, alpha))
                gained = found.log_evidence - now.log_evidence
                if gained > tol:
                    blocked[:] = False
                blocked[m] = gained <= tol  # an approximation may promise more than it holds
                now = found if gained >= 0 else now
            better, now = likelihood.with_better_noise(now)
            settled = promised <= tol and _log_ratio(likelihood, better) <= NOISE_TOLERANCE
            likelihood = better
            history.append(now.log_evidence)
            stopped = monitor is not None and monitor(step, now.log_evidence)
            if settled or stopped:
                return SparseFit(likelihood, now, tuple(history), "converged" if settled else "stopped")
    return SparseFit(likelihood, now, tuple(history), "max_iter")


def _log_ratio(before: SparseLikelihood, after: SparseLikelihood) -> float:
    if isinstance(before, NormalTargets) and isinstance(after, NormalTargets):
        return abs(float(np.log(after.beta / before.beta)))
    return 0.0


def _best_change(likelihood: SparseLikelihood, now: WeightPosterior, blocked: Mask) -> tuple[int, float, float]:
    """The column whose best precision gains most, that precision (infinite: out), and the gain of log evidence."""
    S, Q, inside = now.S, now.Q, now.columns
    s, q = S.copy(), Q.copy()
    apart = np.maximum(now.alpha - S[inside], np.finfo(np.float64).tiny)
    s[inside], q[inside] = now.alpha * S[inside] / apart, now.alpha * Q[inside] / apart
    theta = q**2 - s
    own = np.full(len(S), np.inf)
    own[inside] = now.alpha
    gain = np.full(len(S), -np.inf)
    enters = np.isinf(own) & (theta > 0) & (MIN_NEW_SHARE * likelihood.squares() < S)
    gain[enters] = (Q[enters] ** 2 - S[enters]) / S[enters] + np.log(S[enters] / Q[enters] ** 2)
    changes = ~np.isinf(own) & (theta > 0)
    best = np.full(len(S), np.inf)
    best[theta > 0] = s[theta > 0] ** 2 / theta[theta > 0]
    d = 1.0 / best[changes] - 1.0 / own[changes]
    gain[changes] = Q[changes] ** 2 / (S[changes] + 1.0 / d) - np.log1p(S[changes] * d) if changes.any() else 0.0
    leaves = ~np.isinf(own) & (theta <= 0)
    gain[leaves] = Q[leaves] ** 2 / (S[leaves] - own[leaves]) - np.log1p(-S[leaves] / own[leaves])
    gain[blocked | ~np.isfinite(gain)] = -np.inf
    m = int(gain.argmax())
    return m, float(best[m]), 0.5 * float(gain[m])


def _changed(now: WeightPosterior, m: int, alpha: float) -> tuple[Indices, Doubles, Doubles]:
    """Columns, precisions and weights to start from, after the precision of column m has changed."""
    at = np.flatnonzero(now.columns == m)
    if not np.isfinite(alpha):
        return np.delete(now.columns, at), np.delete(now.alpha, at), np.delete(now.mean, at)
    if len(at):
        precisions = now.alpha.copy()
        precisions[at] = alpha
        return now.columns, precisions, now.mean
    return np.append(now.columns, m), np.append(now.alpha, alpha), np.append(now.mean, 0.0)
