"""Hidden Markov models whose parameters have a distribution, fitted by variational Bayes.

    q(z, theta) = q(z) q(pi) prod_k q(A_k) q(emission k)       pi, A_k Dirichlet

E-step  sums over paths with exp(E_q log pi), exp(E_q log A), exp(E_q log p(x | k)) in the place of probabilities
M-step  parameters of the posteriors = those of the priors + expected counts
bound   log of the sum over paths - KL(q(pi) || prior) - sum_k KL(q(A_k) || prior) - KL of the emissions <= log p(x)

States that the data do not need keep their priors, so that a model with too many states uses fewer.

Beal (2003), Variational algorithms for approximate Bayesian inference; MacKay (1997).
"""

from __future__ import annotations

from dataclasses import dataclass, replace
from typing import Any, Protocol, Self

import numpy as np
from scipy.special import digamma, gammaln

from fivefold.core.types import Doubles, Weights
from fivefold.inference.chains.chain import Chain
from fivefold.inference.chains.forward_backward import forward_backward
from fivefold.sequence.hidden_markov.emissions import EmissionStats
from fivefold.sequence.hidden_markov.hmm import HiddenMarkovModel, HiddenMarkovStats, SequenceBatch, refuse_impossible

MIN_CONCENTRATION = 1e-10  # of a Dirichlet distribution: a draw of zero, as a start, has no logarithm


class EmissionPosterior(Protocol):
    """The distribution of what the K states emit."""

    def expected(self) -> Any:
        """An Emission whose log_rows are E_q log p(x | k)."""
        ...

    def mean(self) -> Any:
        """The Emission with the means of the parameters."""
        ...

    def maximise(self, stats: EmissionStats) -> Self:
        """The posterior after these statistics."""
        ...

    def divergence(self) -> float:
        """KL from the prior, over all states."""
        ...


@dataclass(frozen=True)
class VariationalHMM:
    """Posteriors and priors of the parameters; `start` and `transition` are parameters of Dirichlet distributions."""

    start: Doubles  # (K,)
    transition: Doubles  # (K, K)
    emission: EmissionPosterior
    start_prior: Doubles  # (K,)
    transition_prior: Doubles  # (K, K)
    learns: str = "st"  # the emission knows by itself what it learns

    @property
    def mean_model(self) -> HiddenMarkovModel:
        """The model with the means of the parameters, which answers questions about sequences."""
        return HiddenMarkovModel(
            self.start / self.start.sum(),
            self.transition / self.transition.sum(axis=1, keepdims=True),
            self.emission.mean(),
        )

    def expect(self, X: SequenceBatch, w: Weights) -> tuple[HiddenMarkovStats, float]:
        """Expected counts, and the lower bound of the log evidence; w (S,) are the weights of the sequences."""
        chain = self._expected_chain(X)
        found = forward_backward(chain, w)
        refuse_impossible(chain, found.log_partition, w > 0)
        R = found.marginals
        if not (w == 1).all():
            R *= np.repeat(w, np.diff(X.offsets))[:, None]
        if X.row_weights is not None:
            R *= X.row_weights[:, None]
        stats = HiddenMarkovStats(found.starts, found.counts, self.emission.mean().stats(X.table, R))
        bound = float(w @ np.where(w > 0, found.log_partition, 0.0)) - self.divergence()
        return stats, bound

    def _expected_chain(self, X: SequenceBatch) -> Chain:
        ones = np.ones_like(self.start), np.ones_like(self.transition)
        chain = HiddenMarkovModel(*ones, self.emission.expected()).chain(X)
        return replace(chain, log_start=expected_log(self.start), log_transition=expected_log(self.transition))

    def maximise(self, stats: HiddenMarkovStats) -> VariationalHMM:
        """The posterior after these counts."""
        return replace(
            self,
            start=self.start_prior + stats.starts if "s" in self.learns else self.start,
            transition=self.transition_prior + stats.counts if "t" in self.learns else self.transition,
            emission=self.emission.maximise(stats.emission),
        )

    def divergence(self) -> float:
        """KL of all posteriors from their priors."""
        own = dirichlet_divergence(self.start, self.start_prior).sum()
        steps = dirichlet_divergence(self.transition, self.transition_prior).sum()
        return float(own + steps) + self.emission.divergence()

    def log_prior(self) -> float:
        """Nothing: the bound holds the priors already."""
        return 0.0

    def lost_states(self) -> list[int]:
        """None: a state without rows keeps its prior."""
        return []

    def check_arrays(self, columns: int) -> None:
        """Refuse parameters that do not fit together."""
        K = len(self.start)
        if self.transition.shape != (K, K) or self.transition_prior.shape != (K, K) or len(self.start_prior) != K:
            raise ValueError("the parameters of start and transitions do not fit together")


def expected_log(alpha: Doubles) -> Doubles:
    """E log p of Dirichlet distributions along the last axis."""
    safe = np.maximum(alpha, MIN_CONCENTRATION)
    found: Doubles = digamma(safe) - digamma(safe.sum(axis=-1, keepdims=True))
    return found


def dirichlet_divergence(q: Doubles, p: Doubles) -> Doubles:
    """KL(q || p) of Dirichlet distributions along the last axis."""
    q, p = np.maximum(q, MIN_CONCENTRATION), np.maximum(p, MIN_CONCENTRATION)
    scale = gammaln(q.sum(axis=-1)) - gammaln(p.sum(axis=-1)) - (gammaln(q) - gammaln(p)).sum(axis=-1)
    found: Doubles = scale + ((q - p) * expected_log(q)).sum(axis=-1)
    return found
