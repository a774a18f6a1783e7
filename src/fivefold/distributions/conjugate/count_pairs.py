"""Conjugate pairs of counts and waiting times.

    successes among n      Beta(a, b)      ->  Beta(a + successes, b + failures)
    one of d outcomes      Dirichlet(a)    ->  Dirichlet(a + counts)
    Poisson counts         Gamma(a, b)     ->  Gamma(a + events, b + rows)
    exponential times      Gamma(a, b)     ->  Gamma(a + rows, b + time)

The evidence is a ratio of normalising constants, A(posterior) - A(prior) in logarithms. Missing entries are left out.
"""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np

from fivefold.core.types import Array, Table, Vector
from fivefold.distributions.beta import BetaMembers
from fivefold.distributions.binomial import Binomial, BinomialMembers
from fivefold.distributions.categorical import Categorical, CategoricalMembers, LevelCounts
from fivefold.distributions.conjugate.conjugate_pair import ConjugatePair
from fivefold.distributions.conjugate.predictives import (
    BetaBinomials,
    DirichletMultinomials,
    Lomaxes,
    NegativeBinomials,
)
from fivefold.distributions.dirichlet import DirichletMembers
from fivefold.distributions.exponential import Exponential, ExponentialMembers
from fivefold.distributions.family import Distributions, GroupWeights, RowWeights
from fivefold.distributions.gamma import GammaMembers
from fivefold.distributions.multinomial import Multinomial, MultinomialMembers
from fivefold.distributions.poisson import Poisson, PoissonMembers
from fivefold.distributions.statistics.counts import Totals


def _gain(after: BetaMembers | DirichletMembers | GammaMembers, before: object) -> Vector:
    """A(posterior) - A(prior) (K,)."""
    assert isinstance(before, type(after))
    return after.log_normaliser(after.natural_parameters) - before.log_normaliser(before.natural_parameters)


def _sum_base(logs: Vector, R: RowWeights) -> Vector:
    W = R.to_matrix() if isinstance(R, GroupWeights) else np.asarray(R)
    return W.T @ logs


@dataclass(frozen=True)
class BinomialBeta(ConjugatePair):
    """Successes among `trials` (one: Bernoulli), with beta priors of their probability."""

    trials: int | tuple[int, ...] = 1

    @property
    def family(self) -> Binomial:
        return Binomial(self.trials)

    def posterior(self, prior: BetaMembers, stats: Totals) -> BetaMembers:
        return BetaMembers(prior.a + stats.total, prior.b + stats.observed * np.asarray(self.trials) - stats.total)

    def predictive(self, parameters: BetaMembers) -> Distributions:
        return BetaBinomials(parameters.a, parameters.b, self.trials)

    def log_evidence(self, prior: BetaMembers, stats: Totals) -> Vector:
        return _gain(self.posterior(prior, stats), prior)

    def log_base_measure(self, X: Table, R: RowWeights) -> Vector:
        return _sum_base(BinomialMembers(np.full((1, X.shape[1]), 0.5), self.trials).log_base_measure(X), R)

    def sample_size(self, parameters: BetaMembers) -> Array:
        return parameters.a + parameters.b

    def mean_members(self, parameters: BetaMembers) -> BinomialMembers:
        return BinomialMembers(parameters.mean, self.trials)

    def mode_members(self, parameters: BetaMembers) -> BinomialMembers:
        return BinomialMembers(parameters.mode, self.trials)


@dataclass(frozen=True)
class CategoricalDirichlet(ConjugatePair):
    """One column of codes 0 .. levels - 1, with Dirichlet priors of their probabilities."""

    levels: int

    @property
    def family(self) -> Categorical:
        return Categorical((self.levels,))

    def posterior(self, prior: DirichletMembers, stats: LevelCounts) -> DirichletMembers:
        return DirichletMembers(prior.alpha + stats.counts)

    def predictive(self, parameters: DirichletMembers) -> Distributions:
        return self.mean_members(parameters)

    def log_evidence(self, prior: DirichletMembers, stats: LevelCounts) -> Vector:
        return _gain(self.posterior(prior, stats), prior)

    def sample_size(self, parameters: DirichletMembers) -> Array:
        return parameters.strength

    def mean_members(self, parameters: DirichletMembers) -> CategoricalMembers:
        return CategoricalMembers(parameters.mean, (self.levels,))

    def mode_members(self, parameters: DirichletMembers) -> CategoricalMembers:
        return CategoricalMembers(parameters.mode, (self.levels,))


@dataclass(frozen=True)
class MultinomialDirichlet(ConjugatePair):
    """Rows of counts of d outcomes, with Dirichlet priors; `length` is the number of trials of the next row."""

    length: int = 1

    @property
    def family(self) -> Multinomial:
        return Multinomial()

    def posterior(self, prior: DirichletMembers, stats: Totals) -> DirichletMembers:
        return DirichletMembers(prior.alpha + stats.total)

    def predictive(self, parameters: DirichletMembers) -> Distributions:
        return DirichletMultinomials(parameters.alpha, self.length)

    def log_evidence(self, prior: DirichletMembers, stats: Totals) -> Vector:
        return _gain(self.posterior(prior, stats), prior)

    def log_base_measure(self, X: Table, R: RowWeights) -> Vector:
        d = X.shape[1]
        return _sum_base(MultinomialMembers(np.full((1, d), 1 / d), np.ones(1)).log_base_measure(X), R)

    def sample_size(self, parameters: DirichletMembers) -> Array:
        return parameters.strength

    def mean_members(self, parameters: DirichletMembers) -> MultinomialMembers:
        return MultinomialMembers(parameters.mean, np.full(len(parameters.alpha), float(self.length)))

    def mode_members(self, parameters: DirichletMembers) -> MultinomialMembers:
        return MultinomialMembers(parameters.mode, np.full(len(parameters.alpha), float(self.length)))


@dataclass(frozen=True)
class PoissonGamma(ConjugatePair):
    """Poisson counts, with gamma priors of their rates."""

    @property
    def family(self) -> Poisson:
        return Poisson()

    def posterior(self, prior: GammaMembers, stats: Totals) -> GammaMembers:
        return GammaMembers(prior.shape + stats.total, prior.rate + stats.observed)

    def predictive(self, parameters: GammaMembers) -> Distributions:
        return NegativeBinomials(parameters.shape, parameters.rate)

    def log_evidence(self, prior: GammaMembers, stats: Totals) -> Vector:
        return _gain(self.posterior(prior, stats), prior)

    def log_base_measure(self, X: Table, R: RowWeights) -> Vector:
        return _sum_base(PoissonMembers(np.ones((1, X.shape[1]))).log_base_measure(X), R)

    def sample_size(self, parameters: GammaMembers) -> Array:
        return parameters.rate

    def mean_members(self, parameters: GammaMembers) -> PoissonMembers:
        return PoissonMembers(parameters.mean)

    def mode_members(self, parameters: GammaMembers) -> PoissonMembers:
        return PoissonMembers(parameters.mode)


@dataclass(frozen=True)
class ExponentialGamma(ConjugatePair):
    """Exponential waiting times, with gamma priors of their rates."""

    @property
    def family(self) -> Exponential:
        return Exponential()

    def posterior(self, prior: GammaMembers, stats: Totals) -> GammaMembers:
        return GammaMembers(prior.shape + stats.observed, prior.rate + stats.total)

    def predictive(self, parameters: GammaMembers) -> Distributions:
        return Lomaxes(parameters.shape, parameters.rate)

    def log_evidence(self, prior: GammaMembers, stats: Totals) -> Vector:
        return _gain(self.posterior(prior, stats), prior)

    def sample_size(self, parameters: GammaMembers) -> Array:
        return parameters.shape

    def mean_members(self, parameters: GammaMembers) -> ExponentialMembers:
        return ExponentialMembers(parameters.mean)

    def mode_members(self, parameters: GammaMembers) -> ExponentialMembers:
        return ExponentialMembers(parameters.mode)
