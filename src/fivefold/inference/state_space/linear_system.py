"""Linear dynamical system: a hidden state that moves linearly, and noisy linear observations of it.

    x_1 ~ N(mu, P),   x_{t+1} = A x_t + b + B u_t + N(0, Q),   y_t = C x_t + d + D u_t + N(0, R)

Matrices may change with time: then they have one entry per step. NaN in Y is an entry that was not observed, and is
integrated out. Several sequences stand below one another in one table.

Kalman (1960); Rauch, Tung & Striebel (1965).
"""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass, replace
from functools import cached_property

import numpy as np

from fivefold.core.parallel import map_items
from fivefold.core.types import Doubles, Indices, Mask, Rng
from fivefold.inference.state_space.filter_loops import filter_sequences, smooth_sequences
from fivefold.inference.state_space.triangular_loops import squares_in_place

NEGATIVE_SHARE = 1e-10  # a covariance may have eigenvalues this far below zero, as a share of the largest, by rounding
SEQUENCE_GROUPS = 64  # groups of sequences that threads share, at most


@dataclass(frozen=True)
class ObservedSequences:
    """Observations of one sequence or more, one below the other, and what was done to the system meanwhile."""

    Y: Doubles  # (T, m), NaN where nothing was observed
    cuts: tuple[int, ...]  # where sequences begin, and T
    controls: Doubles  # (T, k) inputs u_t; k may be zero

    @classmethod
    def of(
        cls, Y: Doubles, lengths: tuple[int, ...] | None = None, controls: Doubles | None = None
    ) -> ObservedSequences:
        """Rows as sequences of these lengths, or as a single one."""
        ends = np.cumsum(lengths) if lengths is not None else [len(Y)]
        return cls(Y, (0, *map(int, ends)), np.empty((len(Y), 0)) if controls is None else controls)

    @cached_property
    def seen(self) -> Mask:
        """Which entries were observed."""
        return ~np.isnan(self.Y)

    @cached_property
    def age(self) -> Indices:
        """How many rows of its sequence stand before each row."""
        return np.arange(len(self.Y)) - np.repeat(self.cuts[:-1], np.diff(self.cuts))

    @cached_property
    def steps(self) -> Indices:
        """Rows that have a row after them in the same sequence."""
        inner = np.ones(len(self.Y), dtype=bool)
        inner[np.asarray(self.cuts[1:]) - 1] = False
        return np.flatnonzero(inner)


@dataclass(frozen=True)
class FilteredStates:
    """What is known about each state from the observations up to it."""

    predicted_mean: Doubles  # (T, n) before the observation of that row
    predicted_root: Doubles  # (T, n, n) square roots of covariances
    mean: Doubles  # (T, n)
    root: Doubles  # (T, n, n)
    log_prob: Doubles  # (T,) of each observation given those before it
    gain: Doubles  # (T, n, n) of the smoother, if it was asked for
    rest: Doubles  # (T, n, n) square roots of what the next state leaves unknown, likewise


@dataclass(frozen=True)
class SmoothedStates:
    """What all observations of a sequence say about each state, and about neighbouring ones."""

    mean: Doubles  # (T, n)
    covariance: Doubles  # (T, n, n)
    gain: Doubles  # (T, n, n): Cov(x_{t+1}, x_t) = covariance[t + 1] gain[t]'
    rest: Doubles  # (T, n, n) square roots of the covariance of x_t when x_{t+1} is known
    log_prob: Doubles  # (T,)


@dataclass(frozen=True)
class LinearSystem:
    """A linear dynamical system; matrices have a leading axis, of length one where they stay the same."""

    transition: Doubles  # A (1 or T - 1, n, n)
    transition_offset: Doubles  # b (1 or T - 1, n)
    transition_covariance: Doubles  # Q (1 or T - 1, n, n)
    observation: Doubles  # C (1 or T, m, n)
    observation_offset: Doubles  # d (1 or T, m)
    observation_covariance: Doubles  # R (1 or T, m, m)
    initial_mean: Doubles  # (n,)
    initial_covariance: Doubles  # (n, n)
    control: Doubles  # B (n, k)
    feedthrough: Doubles  # D (m, k)

    @cached_property
    def roots(self) -> tuple[Doubles, Doubles, Doubles]:
        """Square roots of Q, R and P."""
        return (
            covariance_roots(self.transition_covariance, "transition_covariance"),
            covariance_roots(self.observation_covariance, "observation_covariance"),
            covariance_roots(self.initial_covariance[None], "initial_state_covariance"),
        )

    def drives(self, data: ObservedSequences) -> tuple[Doubles, Doubles]:
        """What is added to the next state (T, n) and to the observation (T, m) of each row."""
        drive = self.transition_offset[np.minimum(data.age, len(self.transition_offset) - 1)]
        level = self.observation_offset[np.minimum(data.age, len(self.observation_offset) - 1)]
        if data.controls.shape[1]:
            drive, level = drive + data.controls @ self.control.T, level + data.controls @ self.feedthrough.T
        return drive, level

    def filter(self, data: ObservedSequences, smoothing: bool = False) -> FilteredStates:
        """The states given the observations up to each; with what a smoother needs, if asked."""
        T, (m, n) = len(data.Y), self.observation.shape[1:]
        x_p, x_f, log_prob = np.empty((T, n)), np.empty((T, n)), np.empty(T)
        S_p, S_f = np.empty((T, n, n)), np.empty((T, n, n))
        J, rest = (np.zeros((T if smoothing else 0, n, n)) for _ in range(2))
        (root_Q, root_R, root_P), (drive, level) = self.roots, self.drives(data)
        cuts = np.asarray(data.cuts)

        def work(first: int, last: int) -> None:
            U, V = np.empty((1, m + n, m + n)), np.empty((1, 2 * n, 2 * n))
            z, pivots = np.empty(m), np.empty(m + 2 * n, dtype=np.int64)
            bad = filter_sequences(
                data.Y, data.seen, cuts, first, last, self.transition, drive, root_Q, self.observation, level, root_R,
                self.initial_mean, root_P, x_p, S_p, x_f, S_f, log_prob, J, rest, U, V, z, pivots,
            )  # fmt: skip
            if bad >= 0:
                raise ValueError(
                    f"the observed entries of row {bad} determine one another: their covariance given the rows before "
                    "is singular. Add a small number to the diagonal of observation_covariance"
                )

        _for_groups(work, len(cuts) - 1)
        return FilteredStates(x_p, S_p, x_f, S_f, log_prob, J, rest)

    def smooth(self, data: ObservedSequences) -> SmoothedStates:
        """The states given whole sequences."""
        found = self.filter(data, smoothing=True)
        x, S, n = found.mean, found.root, found.mean.shape[1]

        cuts = np.asarray(data.cuts)

        def work(first: int, last: int) -> None:
            W, pivots = np.empty((1, n, 2 * n)), np.empty(n, dtype=np.int64)
            smooth_sequences(cuts, first, last, found.predicted_mean, x, S, found.gain, found.rest, W, pivots)

        _for_groups(work, len(cuts) - 1)
        squares_in_place(S, np.empty((n, n)))
        return SmoothedStates(x, S, found.gain, found.rest, found.log_prob)

    def sample(
        self, T: int, rng: Rng, controls: Doubles | None = None, start: Doubles | None = None
    ) -> tuple[Doubles, Doubles]:
        """States (T, n) and observations (T, m) of one sequence; from `start`, if given."""
        n, m = self.transition.shape[1], self.observation.shape[1]
        root_Q, root_R, root_P = self.roots
        noise, errors = rng.normal(size=(T, n)), rng.normal(size=(T, m))
        drive, level = self.drives(ObservedSequences.of(np.empty((T, m)), None, controls))
        x = np.empty((T, n))
        x[0] = self.initial_mean + root_P[0] @ noise[0] if start is None else start
        for t in range(T - 1):
            a, q = min(t, len(self.transition) - 1), min(t, len(root_Q) - 1)
            x[t + 1] = self.transition[a] @ x[t] + drive[t] + root_Q[q] @ noise[t + 1]
        c, r = (np.minimum(np.arange(T), len(part) - 1) for part in (self.observation, root_R))
        y = level + np.einsum("tmn,tn->tm", self.observation[c], x) + np.einsum("tij,tj->ti", root_R[r], errors)
        return x, y

    def predicted_observations(self, data: ObservedSequences) -> tuple[Doubles, Doubles]:
        """Mean (T, m) and covariance (T, m, m) of each observation given those before it."""
        found = self.filter(data)
        P = found.predicted_root @ found.predicted_root.transpose(0, 2, 1)
        _, level = self.drives(data)
        C = self.observation[np.minimum(data.age, len(self.observation) - 1)]
        R = self.observation_covariance[np.minimum(data.age, len(self.observation_covariance) - 1)]
        return level + np.einsum("tmn,tn->tm", C, found.predicted_mean), C @ P @ C.transpose(0, 2, 1) + R

    def exchanged(self, name: str, value: Doubles) -> LinearSystem:
        """With another value in place of what was learned, of the shape that users see."""
        return replace(
            self, **{name: np.asarray(value, dtype=np.float64).reshape((-1, *getattr(self, name).shape[1:]))}
        )


def covariance_roots(P: Doubles, name: str) -> Doubles:
    """S with S S' = P for each of a stack of covariances, singular ones too."""
    if not np.isfinite(P).all():
        raise ValueError(
            f"{name} contains NaN or infinity. The system may grow without bound: give it smaller matrices"
        )
    try:
        return np.asarray(np.linalg.cholesky(P), dtype=np.float64)
    except np.linalg.LinAlgError:
        values, vectors = np.linalg.eigh(P)
    if (values.min(axis=1) < -NEGATIVE_SHARE * np.abs(values).max(axis=1)).any():
        raise ValueError(
            f"{name} is not a covariance: it has the eigenvalue {values.min():g}. Give a symmetric matrix "
            "without negative eigenvalues"
        )
    return np.asarray(vectors * np.sqrt(np.maximum(values, 0.0))[:, None, :], dtype=np.float64)


def _for_groups(work: Callable[[int, int], None], sequences: int) -> None:
    """work(first, last) of groups of sequences, which threads share."""
    size = -(-sequences // SEQUENCE_GROUPS)
    map_items(lambda i: work(i * size, min((i + 1) * size, sequences)), -(-sequences // size))
