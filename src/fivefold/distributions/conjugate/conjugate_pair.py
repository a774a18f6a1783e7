"""Conjugate updating: prior and posterior of a parameter are of one family, and rows enter by sums that add.

    p(theta | X) = p(X | theta) p(theta) / p(X),    p(x | X) = integral p(x | theta) p(theta | X) dtheta

A pair says how statistics of rows change the prior, what the next row is like (the predictive distribution), and how
probable the rows were beforehand (the evidence p(X)). There are K parameters at once, one for each group of rows. Since
statistics add, rows that come one after the other give the same posterior as all at once.
"""

from __future__ import annotations

from abc import ABC, abstractmethod
from dataclasses import dataclass, replace
from typing import Any

import numpy as np

from fivefold.core.types import Array, Table, Vector
from fivefold.distributions.family import Distributions, Family, FamilyStats, GroupWeights, Members, RowWeights

# Every pair has its own class of priors, and only it knows their parameters.
Parameters = Any


@dataclass(frozen=True)
class ConjugatePair(ABC):
    """A likelihood, and the family of priors that holds its posteriors."""

    @property
    @abstractmethod
    def family(self) -> Family:
        """The family of the rows."""

    @abstractmethod
    def posterior(self, prior: Parameters, stats: FamilyStats) -> Parameters:
        """The distributions of the parameters after rows with these statistics."""

    @abstractmethod
    def predictive(self, parameters: Parameters) -> Distributions:
        """The distributions of the next row."""

    @abstractmethod
    def log_evidence(self, prior: Parameters, stats: FamilyStats) -> Vector:
        """log p(X) (K,) of the rows behind `stats`, without the sum of log h(x) (see `log_base_measure`)."""

    @abstractmethod
    def sample_size(self, parameters: Parameters) -> Array:
        """How many rows (for probabilities: trials; for waiting times: events) the distribution is worth."""

    @abstractmethod
    def mean_members(self, parameters: Parameters) -> Members:
        """The members of the family at the mean of the parameters: the plug-in estimate."""

    @abstractmethod
    def mode_members(self, parameters: Parameters) -> Members:
        """The members of the family at the mode of the parameters: maximum posterior probability."""

    def log_base_measure(self, X: Table, R: RowWeights) -> Vector:
        """sum_i r_ik log h(x_i) (K,): what the statistics do not hold of the evidence."""
        return np.zeros(R.shape[1])


@dataclass(frozen=True)
class ConjugatePosterior:
    """What is known of K parameters after some rows.

    >>> from fivefold.distributions.beta import BetaMembers
    >>> from fivefold.distributions.conjugate.count_pairs import BinomialBeta
    >>> one = np.ones((1, 1))
    >>> start = ConjugatePosterior.start(BinomialBeta(), BetaMembers(one, one))
    >>> after = start.update(np.array([[1.0], [1.0], [1.0]]))
    >>> after.parameters, after.parameters.central_interval().round(6)
    (BetaMembers(a=array([[4.]]), b=array([[1.]])), array([[[0.397635, 0.993691]]]))
    """

    pair: ConjugatePair
    parameters: Parameters
    log_evidence: Vector  # (K,) of all rows so far

    @classmethod
    def start(cls, pair: ConjugatePair, prior: Parameters) -> ConjugatePosterior:
        """Before any row."""
        return cls(pair, prior, np.zeros(len(np.atleast_1d(pair.sample_size(prior)))))

    def update(self, X: Table, R: RowWeights | Vector | None = None) -> ConjugatePosterior:
        """After more rows; R are their weights, one per row or one per row and group."""
        if len(X) == 0:
            return self
        W = row_weights(len(X), R)
        stats = self.pair.family.stats(X, W)
        gain = self.pair.log_evidence(self.parameters, stats) + self.pair.log_base_measure(X, W)
        parameters = self.pair.posterior(self.parameters, stats)
        return replace(self, parameters=parameters, log_evidence=self.log_evidence + gain)

    @property
    def predictive(self) -> Distributions:
        """The distributions of the next row."""
        return self.pair.predictive(self.parameters)

    @property
    def sample_size(self) -> Array:
        """How many rows the posterior is worth."""
        return self.pair.sample_size(self.parameters)

    @property
    def mean_members(self) -> Members:
        """The members of the family at the posterior mean."""
        return self.pair.mean_members(self.parameters)

    @property
    def mode_members(self) -> Members:
        """The members of the family at the posterior mode."""
        return self.pair.mode_members(self.parameters)


def row_weights(n: int, R: RowWeights | Vector | None) -> RowWeights:
    """Weights as a family takes them: ones by default, and a vector as one column."""
    if R is None:
        return np.ones((n, 1))
    if isinstance(R, GroupWeights):
        return R
    W = np.asarray(R, dtype=np.float64)
    return W[:, None] if W.ndim == 1 else W
