"""Which prior is conjugate to which family of rows.

    Bernoulli, Binomial      BetaMembers              Categorical (one column), Multinomial   DirichletMembers
    Poisson, Exponential     GammaMembers             UniformBox (from zero up)               ParetoMembers
    Gaussian, Diagonal       NormalGammaMembers       Gaussian, Full                          NormalWishartMembers
    Gaussian, Fixed          GaussianMembers

Precisions of normals with a known mean have pairs of their own: NormalPrecision, MultivariateNormalPrecision.
"""

from __future__ import annotations

from collections.abc import Callable

import numpy as np

from fivefold.distributions.bernoulli import Bernoulli
from fivefold.distributions.beta import BetaMembers
from fivefold.distributions.binomial import Binomial
from fivefold.distributions.categorical import Categorical
from fivefold.distributions.conjugate.conjugate_pair import ConjugatePair, Parameters
from fivefold.distributions.conjugate.count_pairs import (
    BinomialBeta,
    CategoricalDirichlet,
    ExponentialGamma,
    MultinomialDirichlet,
    PoissonGamma,
)
from fivefold.distributions.conjugate.multivariate_pairs import MultivariateNormalMean, MultivariateNormalWishart
from fivefold.distributions.conjugate.normal_gamma import NormalGammaMembers
from fivefold.distributions.conjugate.normal_pairs import NormalMean, NormalNormalGamma
from fivefold.distributions.conjugate.normal_wishart import NormalWishartMembers
from fivefold.distributions.conjugate.uniform_pair import ParetoMembers, UniformPareto
from fivefold.distributions.dirichlet import DirichletMembers
from fivefold.distributions.exponential import Exponential
from fivefold.distributions.family import Family
from fivefold.distributions.gamma import GammaMembers
from fivefold.distributions.gaussian import Diagonal, Fixed, Full, Gaussian, GaussianMembers
from fivefold.distributions.multinomial import Multinomial
from fivefold.distributions.poisson import Poisson
from fivefold.distributions.uniform import UniformBox


def _normal_mean(family: Gaussian, prior: GaussianMembers) -> ConjugatePair | None:
    if not isinstance(family.structure, Fixed):
        return None
    known = np.asarray(family.structure.given, dtype=np.float64)
    if known.ndim < 2:
        return NormalMean(float(known) if known.ndim == 0 else tuple(known.tolist()))
    return MultivariateNormalMean(tuple(map(tuple, known.tolist())))


def _categorical(family: Categorical) -> ConjugatePair | None:
    return CategoricalDirichlet(family.levels[0]) if len(family.levels) == 1 else None


PAIRS: dict[tuple[type[Family], type], Callable[..., ConjugatePair | None]] = {
    (Bernoulli, BetaMembers): lambda family, prior: BinomialBeta(1),
    (Binomial, BetaMembers): lambda family, prior: BinomialBeta(family.trials),
    (Categorical, DirichletMembers): lambda family, prior: _categorical(family),
    (Multinomial, DirichletMembers): lambda family, prior: MultinomialDirichlet(),
    (Poisson, GammaMembers): lambda family, prior: PoissonGamma(),
    (Exponential, GammaMembers): lambda family, prior: ExponentialGamma(),
    (UniformBox, ParetoMembers): lambda family, prior: UniformPareto(),
    (Gaussian, GaussianMembers): _normal_mean,
    (Gaussian, NormalGammaMembers): lambda family, prior: (
        NormalNormalGamma() if isinstance(family.structure, Diagonal) else None
    ),
    (Gaussian, NormalWishartMembers): lambda family, prior: (
        MultivariateNormalWishart() if isinstance(family.structure, Full) else None
    ),
}


def conjugate_pair(family: Family, prior: Parameters) -> ConjugatePair | None:
    """The pair of a family of rows and a prior of its parameters; None if the prior is not conjugate.

    >>> one = np.ones((1, 1))
    >>> conjugate_pair(Poisson(), GammaMembers(one, one))
    PoissonGamma()
    """
    make = PAIRS.get((type(family), type(prior)))
    return None if make is None else make(family, prior)
