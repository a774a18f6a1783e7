"""Learning a linear dynamical system by expectation-maximisation, with any of its parts free.

Given the smoothed states, both equations are regressions with known second moments:

    x_{t+1} on (x_t, 1, u_t)  gives  A, b, B and Q          y_t on (x_t, 1, u_t)  gives  C, d, D and R

They are solved for the residuals under the current parts, about the mean of the regressors where the offset is free, so
that large levels do not cost digits. An entry of y_t that was not observed has its expectation given the others.

Shumway & Stoffer (1982); Ghahramani & Hinton (1996).
"""

from __future__ import annotations

from dataclasses import dataclass, replace

import numpy as np

from fivefold.core.types import Doubles, Indices, Mask, Weights
from fivefold.inference.state_space.linear_system import LinearSystem, ObservedSequences, SmoothedStates

# Parts that can be learned: names of fields of LinearSystem.
Blocks = tuple[str, str, str]  # names of the slope, the offset and the coefficients of inputs
STATE_PARTS = ("transition", "transition_offset", "control")
OBSERVATION_PARTS = ("observation", "observation_offset", "feedthrough")
ALL_PARTS = (
    *STATE_PARTS,
    "transition_covariance",
    *OBSERVATION_PARTS,
    "observation_covariance",
    "initial_mean",
    "initial_covariance",
)


@dataclass(frozen=True)
class ResidualRegression:
    """Expected second moments of residuals e and regressors (x, 1, u), which stand about a centre."""

    count: float
    ee: Doubles  # (p, p)
    ez: Doubles  # (p, n + 1 + k)
    zz: Doubles  # (n + 1 + k, n + 1 + k)
    centre: Doubles  # (n + 1 + k,), zero for the constant

    @classmethod
    def of(cls, E: Doubles, x: Doubles, u: Doubles, ee: Doubles, ex: Doubles, xx: Doubles) -> ResidualRegression:
        """From means of residuals and states, one row each, and sums of their covariances."""
        n, N = x.shape[1], len(x)
        centre = np.concatenate([x.mean(axis=0), [0.0], u.mean(axis=0)]) if N else np.zeros(n + 1 + u.shape[1])
        Z = np.column_stack([x, np.ones(N), u]) - centre
        zz, ez = Z.T @ Z, E.T @ Z
        zz[:n, :n] += xx
        ez[:, :n] += ex
        return cls(float(N), E.T @ E + ee, ez, zz, centre)

    def solve(self, free: tuple[bool, bool, bool], n: int) -> tuple[Doubles, Doubles]:
        """What to add to the coefficients (p, n + 1 + k) of the free blocks, and the covariance left over."""
        width = len(self.centre)
        on = np.repeat(free, [n, 1, width - n - 1])
        back = np.eye(width)  # regressors as they are, from those about the centre
        back[:, n] += self.centre
        zz, ez = (self.zz, self.ez) if free[1] else (back @ self.zz @ back.T, self.ez @ back.T)
        D = np.zeros_like(ez)
        if on.any():
            scale = np.sqrt(np.diag(zz)[on])
            scale[scale == 0] = 1.0
            scaled = zz[np.ix_(on, on)] / np.outer(scale, scale)
            D[:, on] = (np.linalg.lstsq(scaled, (ez[:, on] / scale).T, rcond=None)[0] / scale[:, None]).T
        left = self.ee - D @ ez.T - ez @ D.T + D @ zz @ D.T
        return D @ np.linalg.inv(back) if free[1] else D, (left + left.T) / (2 * self.count)


@dataclass(frozen=True)
class SystemStatistics:
    """What a step of EM needs of the sequences."""

    transition: ResidualRegression
    observation: ResidualRegression
    first_mean: Doubles  # (S, n) of the first states
    first_covariance: Doubles  # (n, n) their mean covariance


@dataclass(frozen=True)
class LearnableSystem:
    """A system and which of its parts are free, as a model that EM can fit."""

    system: LinearSystem
    free: frozenset[str]
    floor: Doubles  # (m,) variances of the observations may not fall below these

    def expect(self, data: ObservedSequences, w: Weights) -> tuple[SystemStatistics, float]:
        """Expected second moments, and the log-likelihood."""
        smoothed = self.system.smooth(data)
        first = np.asarray(data.cuts[:-1])
        stats = SystemStatistics(
            _transition_moments(self.system, data, smoothed),
            _observation_moments(self.system, data, smoothed),
            smoothed.mean[first],
            smoothed.covariance[first].mean(axis=0),
        )
        return stats, float(smoothed.log_prob.sum())

    def maximise(self, stats: SystemStatistics) -> LearnableSystem:
        """The system with its free parts at the maximum of the expected log-likelihood."""
        changed: dict[str, Doubles] = {}
        for parts, covariance, moments in (
            (STATE_PARTS, "transition_covariance", stats.transition),
            (OBSERVATION_PARTS, "observation_covariance", stats.observation),
        ):
            if moments.count:
                changed |= self._regress(parts, covariance, moments)
        mean = stats.first_mean.mean(axis=0) if "initial_mean" in self.free else self.system.initial_mean
        if "initial_covariance" in self.free:
            off = stats.first_mean - mean
            changed["initial_covariance"] = stats.first_covariance + off.T @ off / len(off)
        return replace(self, system=replace(self.system, initial_mean=mean, **changed))

    def _regress(self, parts: Blocks, covariance: str, moments: ResidualRegression) -> dict[str, Doubles]:
        n = self.system.transition.shape[1]
        slope_name, offset_name, inputs_name = parts
        free = slope_name in self.free, offset_name in self.free, inputs_name in self.free
        D, left = moments.solve(free, n)
        slope, offset, inputs = D[None, :, :n], D[None, :, n], D[:, n + 1 :]
        deltas = zip(parts, (slope, offset, inputs), free, strict=True)
        changed = {name: getattr(self.system, name) + delta for name, delta, is_free in deltas if is_free}
        if covariance in self.free:
            floor = self.floor if covariance == "observation_covariance" else np.zeros(len(left))
            changed[covariance] = _raised(left, floor)[None]
        return changed


def check_free_parts(system: LinearSystem, free: frozenset[str]) -> None:
    """Refuse to learn parts that change with time, or whose noise does."""
    for parts, covariance in ((STATE_PARTS, "transition_covariance"), (OBSERVATION_PARTS, "observation_covariance")):
        noisy = len(getattr(system, covariance)) > 1
        for name in (*parts[:2], covariance):
            if name in free and (len(getattr(system, name)) > 1 or noisy):
                raise ValueError(
                    f"{name} cannot be learned while it, or the covariance of its noise, changes with time"
                )


def _transition_moments(system: LinearSystem, data: ObservedSequences, smoothed: SmoothedStates) -> ResidualRegression:
    t = data.steps
    A, age = system.transition, data.age[t]
    A = A[np.minimum(age, len(A) - 1)] if len(A) > 1 else A
    drive, _ = system.drives(data)
    x, J, rest = smoothed.mean, smoothed.gain[t], smoothed.rest[t]
    E = x[t + 1] - np.einsum("tij,tj->ti", np.broadcast_to(A, J.shape), x[t]) - drive[t]
    off = np.eye(A.shape[1]) - A @ J  # e = off x_{t+1} - A (what x_{t+1} leaves of x_t)
    P_off = smoothed.covariance[t + 1] @ off.transpose(0, 2, 1)
    AS = A @ rest
    ee = _sum_of_products(off, P_off.transpose(0, 2, 1)) + _sum_of_products(AS, AS)
    ex = _sum_of_products(P_off.transpose(0, 2, 1), J) - _sum_of_products(AS, rest)
    return ResidualRegression.of(E, x[t], data.controls[t], ee, ex, smoothed.covariance[t].sum(axis=0))


def _sum_of_products(a: Doubles, b: Doubles) -> Doubles:
    """Sum over t of a[t] b[t]'."""
    return np.asarray(np.tensordot(a, b, axes=((0, 2), (0, 2))))


def _observation_moments(system: LinearSystem, data: ObservedSequences, smoothed: SmoothedStates) -> ResidualRegression:
    """Pattern by pattern of observed entries; rows without any teach nothing."""
    C, R = system.observation, system.observation_covariance[0]
    _, level = system.drives(data)
    m, n = C.shape[1:]
    E = np.zeros_like(data.Y)
    ee, ex = np.zeros((m, m)), np.zeros((m, n))
    for rows, o in _patterns(data):
        Ct = C[np.minimum(data.age[rows], len(C) - 1)][:, o] if len(C) > 1 else C[:, o]
        H, W = np.eye(m)[:, o], np.zeros((m, m))  # residual = H residual[o] + N(0, W)
        if not o.all():
            H[~o] = np.linalg.lstsq(R[np.ix_(o, o)], R[np.ix_(o, ~o)], rcond=None)[0].T
            W[np.ix_(~o, ~o)] = R[np.ix_(~o, ~o)] - H[~o] @ R[np.ix_(o, ~o)]
        x, P = smoothed.mean[rows], smoothed.covariance[rows]
        E[rows] = (
            data.Y[rows][:, o]
            - level[rows][:, o]
            - np.einsum("toj,tj->to", np.broadcast_to(Ct, (len(rows), *Ct.shape[1:])), x)
        ) @ H.T
        if len(C) > 1:
            CP = Ct @ P
            sum_CP, sum_CPC = CP.sum(axis=0), _sum_of_products(CP, Ct)
        else:
            sum_CP = Ct[0] @ P.sum(axis=0)
            sum_CPC = sum_CP @ Ct[0].T
        ex -= H @ sum_CP
        ee += H @ sum_CPC @ H.T + len(rows) * W
    known = data.seen.any(axis=1)
    xx = smoothed.covariance[known].sum(axis=0)
    return ResidualRegression.of(E[known], smoothed.mean[known], data.controls[known], ee, ex, xx)


def _patterns(data: ObservedSequences) -> list[tuple[Indices, Mask]]:
    """Rows with the same observed entries, and which these are; rows without any are left out."""
    if data.seen.all():
        return [(np.arange(len(data.Y)), data.seen[0])]
    kinds, of_row = np.unique(data.seen, axis=0, return_inverse=True)
    of_row = of_row.ravel()
    return [(np.flatnonzero(of_row == i), kind) for i, kind in enumerate(kinds) if kind.any()]


def _raised(P: Doubles, floor: Doubles) -> Doubles:
    """P with no variance below the floor in any direction; as it is where none lies below."""
    if not floor.any():
        return P
    scale = np.sqrt(floor)
    values, vectors = np.linalg.eigh(P / np.outer(scale, scale))
    if values[0] >= 1.0:
        return P
    return np.asarray((vectors * np.maximum(values, 1.0)) @ vectors.T * np.outer(scale, scale))
