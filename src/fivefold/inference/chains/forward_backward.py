"""Sums over all paths of a chain: log-likelihood, marginals of positions and of steps, expected counts.

    alpha_t(k) = p(x_1 .. x_t, z_t = k)            forward, divided by its sum at each t
    beta_t(k)  = p(x_{t+1} .. x_T | z_t = k)       backward, divided by the same sums
    p(z_t = k | x) = alpha_t(k) beta_t(k),   p(z_{t-1} = i, z_t = k | x) = alpha_{t-1}(i) A_ik b_t(k) beta_t(k) / c_t
    log p(x) = sum_t log c_t,                c_t = p(x_t | x_1 .. x_{t-1})

Sequences go to threads in parts that their sizes alone decide, and sums of parts are added in order: the number of
threads changes no byte. Rabiner (1989).
"""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass
from typing import NamedTuple

import numpy as np

from fivefold.core.parallel import MIN_PART_ROWS, map_items, map_parts
from fivefold.core.types import Doubles, Mask, Matrix, Vector, Weights
from fivefold.inference.chains.chain import Chain
from fivefold.inference.chains.forward_backward_loops import (
    exponentials,
    filtered,
    log_forward,
    log_posterior,
    posterior,
)


@dataclass(frozen=True)
class ChainPosterior:
    """What is known of the states of a batch of sequences after all of their observations."""

    log_partition: Doubles  # (S,): log p(x) of each sequence; minus infinity where no path is possible
    marginals: Doubles  # (n, K): p(z_t = k | x); zero where no path is possible
    starts: Doubles  # (K,): sum over sequences of the marginals of first positions
    counts: Doubles  # (K, K): sum over steps of p(z_{t-1} = i, z_t = k | x)
    pairs: Doubles | None = None  # (n, K, K): the terms of that sum, zero at first positions


def forward_backward(
    chain: Chain, weights: Weights | None = None, *, pairwise: bool = False, in_logs: bool = False
) -> ChainPosterior:
    """Marginals and expected counts; `weights` (S,) count sequences in the sums `starts` and `counts`.

    `pairwise` keeps the marginals of every step; `in_logs` sums in logs, many times slower, as an oracle.

    >>> chain = Chain(np.log([0.5, 0.5]), np.log([[0.9, 0.1], [0.1, 0.9]]), np.log([[0.8, 0.2]] * 5), np.array([0, 5]))
    >>> found = forward_backward(chain)
    >>> np.exp(found.log_partition).round(7), found.marginals[:, 0].round(6)
    (array([0.1169012]), array([0.963781, 0.986184, 0.990388, 0.986184, 0.963781]))
    """
    n, K, S = chain.n_positions, chain.n_states, chain.n_sequences
    v = np.ones(S) if weights is None else np.ascontiguousarray(weights, dtype=np.float64)
    scale, marginals, fails = np.empty(n), np.empty((n, K)), np.full(S, in_logs)
    pairs = np.zeros((n if pairwise else 0, K, K))
    sums = np.zeros((len(chain.parts), K + 1, K))  # per part: counts, then starts
    tables = _Scaled.of(chain) if not in_logs else None

    def work(i: int) -> None:
        if tables is not None:
            posterior(
                tables.start, tables.steps, tables.emission, chain.rows, chain.offsets, v, *chain.parts[i], scale,
                marginals, sums[i, K], sums[i, :K], pairs, fails, np.empty((K + 2, K)),
            )  # fmt: skip

    for_parts(work, len(chain.parts))
    total = sums.sum(axis=0) if len(sums) > 1 else sums[0]
    if tables is not None and len(chain.steps) == 1:
        total[:K] *= tables.steps[0]
    logs = tables.log_scale(chain, scale, fails) if tables is not None else scale
    if fails.any():
        _again_in_logs(chain, v, fails, marginals, total, pairs, logs)
    return ChainPosterior(
        np.add.reduceat(logs, chain.offsets[:-1]), marginals, total[K], total[:K], pairs if pairwise else None
    )


class Filtered(NamedTuple):
    """What is known at each position from the observations up to it."""

    log_scale: Doubles  # (n,): log p(x_t | x_1 .. x_{t-1})
    states: Doubles  # (n, K): p(z_t = k | x_1 .. x_t)


def forward_filter(chain: Chain) -> Filtered:
    """The forward messages alone: predictive log densities, which sum to the log-likelihood, and filtered states."""
    n, K, S = chain.n_positions, chain.n_states, chain.n_sequences
    scale, alpha, fails = np.empty(n), np.empty((n, K)), np.zeros(S, dtype=bool)
    tables = _Scaled.of(chain)

    def work(i: int) -> None:
        filtered(
            tables.start, tables.steps, tables.emission, chain.rows, chain.offsets, *chain.parts[i], scale, alpha, fails
        )

    for_parts(work, len(chain.parts))
    logs = tables.log_scale(chain, scale, fails)
    if fails.any():
        _again_in_logs(chain, np.ones(S), fails, np.empty((n, K)), np.zeros((K + 1, K)), np.zeros((0, K, K)), logs)
        _filter_again(chain, fails, alpha)
    return Filtered(logs, alpha)


def for_parts(work: Callable[[int], None], count: int) -> None:
    """The work on all parts; a single one is done without asking for threads, which takes longer than a short chain."""
    if count == 1:
        work(0)
    else:
        map_items(work, count)


def log_likelihood(chain: Chain) -> Doubles:
    """log p(x) of each sequence (S,); minus infinity where no path is possible."""
    return np.add.reduceat(forward_filter(chain).log_scale, chain.offsets[:-1])


class _Scaled(NamedTuple):
    """The tables as plain numbers, each row or table divided by its largest entry, and the logs of these."""

    start: Doubles
    steps: Doubles
    emission: Doubles
    start_level: float
    step_levels: Doubles  # (1,) or (n,)
    emission_levels: Doubles  # (rows of the emissions,)

    @classmethod
    def of(cls, chain: Chain) -> _Scaled:
        K, steps = chain.n_states, chain.steps
        start, start_level = scaled_exponentials(chain.log_start[None])
        table, step_levels = scaled_exponentials(steps.reshape(len(steps), K * K))
        emission, emission_levels = scaled_exponentials(chain.log_emission)
        return cls(start[0], table.reshape(steps.shape), emission, float(start_level[0]), step_levels, emission_levels)

    def log_scale(self, chain: Chain, scale: Vector, fails: Mask) -> Doubles:
        """log p(x_t | x_1 .. x_{t-1}) from the sums of scaled messages; not yet where they failed."""
        if fails.any():
            scale[np.repeat(fails, np.diff(chain.offsets))] = 1.0
        logs = np.log(scale)
        logs += self.emission_levels if chain.codes is None else self.emission_levels[chain.codes]
        first = chain.offsets[:-1]
        own = logs[first] + self.start_level
        logs += self.step_levels
        logs[first] = own
        return logs


def scaled_exponentials(L: Matrix) -> tuple[Doubles, Doubles]:
    """exp(L - largest of each row), and the largest (m,), 0 for a row of minus infinity."""
    out, top = np.empty(L.shape), np.empty(len(L))

    def work(lo: int, hi: int) -> None:
        part = out[lo:hi]
        low = np.empty(L.shape[1])
        exponentials(L[lo:hi], top[lo:hi], part, part.view(np.int64), low, low.view(np.int64))

    if len(L) < MIN_PART_ROWS:
        work(0, len(L))
    else:
        map_parts(work, len(L))
    return out, top


def _again_in_logs(
    chain: Chain, v: Weights, fails: Mask, marginals: Matrix, total: Matrix, pairs: Doubles, logs: Vector
) -> None:
    """Do the sequences that underflowed again in logs; their log p(x_t | x_1 .. x_{t-1}) go into `logs`."""
    K = chain.n_states
    for s in np.flatnonzero(fails):
        lo, hi = chain.offsets[s], chain.offsets[s + 1]
        log_posterior(
            chain.log_start, chain.steps, chain.log_emission, chain.rows, lo, hi, v[s], marginals, total[K], total[:K],
            pairs, logs,
        )  # fmt: skip
        possible = int(np.isfinite(logs[lo:hi]).sum())
        logs[lo + possible : hi] = -np.inf
        logs[lo + 1 : lo + possible] = np.diff(logs[lo : lo + possible])
        if lo + possible + 1 < hi:
            logs[lo + possible + 1 : hi] = 0.0  # one minus infinity says where the sequence became impossible


def _filter_again(chain: Chain, fails: Mask, alpha: Matrix) -> None:
    """Filtered states of the sequences that underflowed: each is the last marginal of a shorter sequence."""
    for s in np.flatnonzero(fails):
        lo, hi = chain.offsets[s], chain.offsets[s + 1]
        messages = np.empty((chain.n_positions, chain.n_states))
        log_forward(
            chain.log_start, chain.steps, chain.log_emission, chain.rows, lo, hi, messages, np.empty(chain.n_states)
        )
        alpha[lo:hi] = scaled_exponentials(messages[lo:hi])[0]
        alpha[lo:hi] /= np.maximum(alpha[lo:hi].sum(axis=1, keepdims=True), np.finfo(float).tiny)
