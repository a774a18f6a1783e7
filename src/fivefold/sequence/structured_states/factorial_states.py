"""Factorial hidden Markov model: several independent chains whose states add up to the mean of what is seen.

    p(z, y) = prod_m p(z^m),        y_t ~ N(c + sum_m W^m[z_t^m], C)

Exact inference runs over the product of the chains, K^M states. Structured mean field keeps each chain whole and lets
them be independent given y: chain m sees what the others, in the mean, leave of y_t, as an emission

    log h_t^m(k) = W^m[k]' C^-1 (y_t - c - sum_{l != m} E W^l[z_t^l]) - W^m[k]' C^-1 W^m[k] / 2

and the chains are updated in turn until the lower bound of log p(y) stops rising. Either way EM fits the model.

Ghahramani & Jordan (1997).
"""

from __future__ import annotations

from dataclasses import dataclass, replace
from functools import cached_property
from itertools import product

import numpy as np
from scipy.linalg import cho_factor, cho_solve

from fivefold.core.types import Codes, Doubles, Rng, Weights
from fivefold.inference.chains.best_paths import best_path
from fivefold.inference.chains.chain import Chain
from fivefold.inference.chains.forward_backward import ChainPosterior, forward_backward
from fivefold.sequence.structured_states.sequence_em import SequenceTable
from fivefold.sequence.structured_states.state_chain import check_cells, shares

LOG_TWO_PI = float(np.log(2.0 * np.pi))
MAX_SWEEPS = 50  # over the chains, at most
SWEEP_TOL = 1e-6  # of the bound per row: a sweep that gains less is the last


@dataclass(frozen=True)
class FactorialPosterior:
    """What is known of the states of all chains."""

    marginals: Doubles  # (n, M, K)
    pairs: Doubles  # (M K, M K) sum over rows of the probabilities of two states of two chains, or of one
    starts: Doubles  # (M, K)
    counts: Doubles  # (M, K, K)
    value: float  # log p(y), or its lower bound


@dataclass(frozen=True)
class FactorialStats:
    """What a step of EM needs: the posterior, and sums of rows with it."""

    posterior: FactorialPosterior
    zy: Doubles  # (M K, d) about the centre
    yy: Doubles  # (d, d) likewise
    count: float


@dataclass(frozen=True)
class FactorialStates:
    """M chains of K states each, and what they emit together."""

    starts: Doubles  # (M, K)
    transitions: Doubles  # (M, K, K) from a row to a column
    means: Doubles  # (M, K, d) what each state adds
    centre: Doubles  # c (d,)
    covariance: Doubles  # C (d, d)
    exact: bool = True
    floor: float = 0.0  # added to the variances that are learned

    @cached_property
    def joint_states(self) -> Codes:
        """States of the product of the chains (K^M, M)."""
        M, K = self.starts.shape
        check_cells(K**M, "the product of the chains")
        return np.array(list(product(range(K), repeat=M)))

    def joint_chain(self, rows: SequenceTable) -> Chain:
        """The product of the chains, as one."""
        states, M = self.joint_states, len(self.starts)
        with np.errstate(divide="ignore"):
            start, step = np.log(self.starts), np.log(self.transitions)
        log_start = sum(start[m][states[:, m]] for m in range(M))
        log_step = sum(step[m][np.ix_(states[:, m], states[:, m])] for m in range(M))
        means = sum(self.means[m][states[:, m]] for m in range(M))
        return Chain(log_start, log_step, self._log_densities(rows.X, means), rows.offsets)

    def posterior(self, rows: SequenceTable) -> FactorialPosterior:
        """Probabilities of the states given the rows: exact, or by structured mean field."""
        return self._exact_posterior(rows) if self.exact else self._mean_field(rows)

    def best_states(self, rows: SequenceTable) -> Codes:
        """States of all chains (n, M): the best joint path, or chain by chain the likeliest state."""
        if self.exact:
            return self.joint_states[best_path(self.joint_chain(rows)).path]
        return self.posterior(rows).marginals.argmax(axis=2)

    def expect(self, rows: SequenceTable, w: Weights) -> tuple[FactorialStats, float]:
        """Expected statistics, and the log-likelihood or its bound."""
        found = self.posterior(rows)
        Y = rows.X - self.centre
        Z = found.marginals.reshape(len(Y), -1)
        return FactorialStats(found, Z.T @ Y, Y.T @ Y, float(len(Y))), found.value

    def maximise(self, stats: FactorialStats) -> FactorialStates:
        """The chains by their counts, the means by least squares, the covariance of what is left."""
        found = stats.posterior
        W = np.linalg.lstsq(found.pairs, stats.zy, rcond=None)[0]  # states of two chains may say the same: least norm
        left = stats.yy - W.T @ stats.zy - stats.zy.T @ W + W.T @ found.pairs @ W
        C = (left + left.T) / (2 * stats.count) + self.floor * np.eye(len(left))
        return replace(
            self,
            starts=shares(found.starts, self.starts),
            transitions=shares(found.counts, self.transitions),
            means=np.asarray(W, dtype=np.float64).reshape(self.means.shape),
            covariance=C,
        )

    def sample(self, T: int, rng: Rng) -> tuple[Doubles, Codes]:
        """Rows (T, d) of one sequence, and the states of the chains (T, M)."""
        M, K = self.starts.shape
        states, u = np.empty((T, M), dtype=np.int64), rng.random_sample((T, M))
        for t in range(T):
            p = self.starts if t == 0 else self.transitions[np.arange(M), states[t - 1]]
            states[t] = np.minimum((u[t, :, None] >= np.cumsum(p, axis=1)).sum(axis=1), K - 1)
        noise = rng.normal(size=(T, len(self.centre))) @ np.linalg.cholesky(self.covariance).T
        return self.centre + self.means[np.arange(M), states].sum(axis=1) + noise, states

    def _exact_posterior(self, rows: SequenceTable) -> FactorialPosterior:
        (M, K), states = self.starts.shape, self.joint_states
        found = forward_backward(self.joint_chain(rows))
        hot = (states[:, :, None] == np.arange(K)).astype(np.float64)  # (K^M, M, K)
        flat = hot.reshape(len(states), M * K)
        return FactorialPosterior(
            (found.marginals @ flat).reshape(-1, M, K),
            flat.T @ (found.marginals.sum(axis=0)[:, None] * flat),
            (found.starts @ flat).reshape(M, K),
            np.stack([hot[:, m].T @ found.counts @ hot[:, m] for m in range(M)]),
            float(found.log_partition.sum()),
        )

    def _mean_field(self, rows: SequenceTable) -> FactorialPosterior:
        """Sweeps over the chains, from states of equal probability."""
        M, K = self.starts.shape
        Y, factor = rows.X - self.centre, cho_factor(self.covariance, lower=True)
        with np.errstate(divide="ignore"):
            start, step = np.log(self.starts), np.log(self.transitions)
        white = cho_solve(factor, self.means.reshape(M * K, -1).T).T.reshape(self.means.shape)  # W C^-1 (M, K, d)
        half = 0.5 * np.einsum("mkd,mkd->mk", white, self.means)
        R = np.full((len(Y), M, K), 1.0 / K)
        answers: list[ChainPosterior | None] = [None] * M
        entropy, value = np.zeros(M), -np.inf
        for _ in range(MAX_SWEEPS):
            for m in range(M):
                others = np.einsum("nlk,lkd->nd", np.delete(R, m, axis=1), np.delete(self.means, m, axis=0))
                log_h = (Y - others) @ white[m].T - half[m]
                answers[m] = found = forward_backward(Chain(start[m], step[m], log_h, rows.offsets))
                R[:, m] = found.marginals
                entropy[m] = found.log_partition.sum() - (found.marginals * log_h).sum()  # E log p(z) - E log q(z)
            before, value = value, float(entropy.sum()) + self._expected_log_density(Y, R, factor, half)
            if value - before <= SWEEP_TOL * len(Y):
                break
        chains = [answer for answer in answers if answer is not None]
        flat = R.reshape(len(Y), M * K)
        pairs = flat.T @ flat
        for m in range(M):
            own = slice(m * K, (m + 1) * K)
            pairs[own, own] = np.diag(R[:, m].sum(axis=0))
        return FactorialPosterior(
            R, pairs, np.stack([c.starts for c in chains]), np.stack([c.counts for c in chains]), value
        )

    def _expected_log_density(self, Y: Doubles, R: Doubles, factor: tuple[Doubles, bool], half: Doubles) -> float:
        """E log N(y | ...) when the chains are independent."""
        by_chain = np.einsum("nmk,mkd->nmd", R, self.means)
        off = Y - by_chain.sum(axis=1)
        spread = float((R.sum(axis=0) * half).sum()) - 0.5 * float(
            (by_chain * cho_solve(factor, by_chain.reshape(-1, Y.shape[1]).T).T.reshape(by_chain.shape)).sum()
        )
        norm = 2 * float(np.log(np.diag(factor[0])).sum()) + Y.shape[1] * LOG_TWO_PI
        return -0.5 * (float((off * cho_solve(factor, off.T).T).sum()) + len(Y) * norm) - spread

    def _log_densities(self, Y: Doubles, means: Doubles) -> Doubles:
        """log N(y | c + mean, C) of every row and mean (n, means)."""
        L, _ = cho_factor(self.covariance, lower=True)
        root = np.linalg.solve(np.tril(L), np.column_stack([(Y - self.centre).T, means.T]))
        a, b = root[:, : len(Y)].T, root[:, len(Y) :].T
        norm = 2 * float(np.log(np.diag(L)).sum()) + Y.shape[1] * LOG_TWO_PI
        return np.asarray(-0.5 * ((a**2).sum(axis=1)[:, None] + (b**2).sum(axis=1) + norm) + a @ b.T)
