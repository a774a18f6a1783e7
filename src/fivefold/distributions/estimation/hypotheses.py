"""Degrees of belief in a few hypotheses, updated as observations arrive.

    P(h | x) = p(x | h) P(h) / sum_g p(x | g) P(g)

Rows that are independent given the hypothesis may come one by one or all at once: the result is the same.
"""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np
from numpy.typing import ArrayLike
from scipy.special import logsumexp

from fivefold.core.types import Array, Matrix, Table, Vector
from fivefold.distributions.family import Distributions


@dataclass(frozen=True)
class Hypotheses:
    """Log probabilities of H hypotheses, and of what was observed so far.

    >>> fair_or_biased = Hypotheses.of([0.5, 0.5])
    >>> fair_or_biased.update(np.log([[0.5, 0.9], [0.5, 0.9]])).probability.round(4)
    array([0.2358, 0.7642])
    """

    log_probability: Vector  # (H,)
    log_evidence: float = 0.0

    @classmethod
    def of(cls, prior: ArrayLike) -> Hypotheses:
        """From prior probabilities, which sum to one."""
        p = np.asarray(prior, dtype=np.float64)
        if (p < 0).any() or abs(p.sum() - 1) > 1e-9:
            raise ValueError(f"prior probabilities are not negative and sum to one; got {p.tolist()}")
        with np.errstate(divide="ignore"):
            return cls(np.log(p))

    @property
    def probability(self) -> Vector:
        """(H,)."""
        return np.exp(self.log_probability)

    @property
    def most_probable(self) -> int:
        """The number of the hypothesis of largest probability (MAP); the first of equals."""
        return int(self.log_probability.argmax())

    def average(self, values: ArrayLike) -> Array:
        """sum_h P(h) values[h] of values (H, ...): what all hypotheses together predict."""
        relative = np.exp(self.log_probability - self.log_probability.max())
        return np.tensordot(relative, np.asarray(values, dtype=np.float64), axes=(0, 0)) / relative.sum()

    def update(self, log_likelihood: ArrayLike) -> Hypotheses:
        """After observations with these log likelihoods (n, H), or (H,) for one."""
        logs = self.log_probability + np.atleast_2d(np.asarray(log_likelihood, dtype=np.float64)).sum(axis=0)
        total = float(logsumexp(logs))
        if total == -np.inf:
            raise ValueError("no hypothesis with positive probability allows what was observed")
        return Hypotheses(logs - total, self.log_evidence + total)

    def observe(self, members: Distributions, X: Table) -> Hypotheses:
        """After the rows of X, where hypothesis h says that they come from member h."""
        return self.update(members.log_prob(X))

    def path(self, log_likelihood: Matrix) -> Matrix:
        """Probabilities (n + 1, H) before and after each observation."""
        logs = self.log_probability + np.vstack(
            [np.zeros(len(self.log_probability)), np.cumsum(log_likelihood, axis=0)]
        )
        return np.exp(logs - logsumexp(logs, axis=1, keepdims=True))
