"""Outliers of one Gaussian, or of a mixture of them: rows of low density.

    score(x) = log N(x | mean, S)                  falls with the Mahalanobis distance from the mean
    score(x) = log sum of pi_k N(x | mean_k, S_k)  far from every centre, or in a component that few rows share

A few outliers spoil mean and covariance, and hide themselves and others; `robust` takes them from the majority of the
rows.
"""

from __future__ import annotations

from dataclasses import KW_ONLY, dataclass, replace
from typing import Any, Literal

import numpy as np

from fivefold.core.estimators.params import Count, Fraction, NonNegative, Seed
from fivefold.core.registry import Card
from fivefold.core.types import Doubles, Table, UserTable, Vector, Weights
from fivefold.density.detectors.base import RowScorer, ScoreDetector
from fivefold.density.detectors.minimum_covariance_determinant import minimum_covariance_determinant
from fivefold.distributions.covariances.structures import Full
from fivefold.distributions.family import GroupWeights
from fivefold.distributions.gaussian import Gaussian
from fivefold.mixture.gaussian_mixture import GaussianMixture


@dataclass(frozen=True)
class GaussianScorer:
    """One Gaussian, as members of the family."""

    members: Any

    def scores(self, X: Table) -> Doubles:
        """log density of each row."""
        return np.asarray(self.members.log_prob(np.asarray(X, dtype=np.float64))[:, 0], dtype=np.float64)


@dataclass(frozen=True)
class DensityScorer:
    """A fitted density estimator."""

    estimator: Any

    def scores(self, X: Table) -> Doubles:
        """log density of each row."""
        return np.asarray(self.estimator.score_samples(X), dtype=np.float64)


class GaussianOutlierDetector(ScoreDetector):
    """Marks rows that one Gaussian makes unlikely.

    Parameters
    ----------
    robust
        whether mean and covariance are those of the majority of the rows, which outliers cannot spoil.
    support_fraction
        share of the rows in that majority, for `robust`; at least a half is taken.
    reg_covar
        added to the variance of every column.

    Attributes
    ----------
    location_, covariance_
        mean and covariance.

    Examples
    --------
    >>> from fivefold.density import GaussianOutlierDetector
    >>> X = [[0.0], [0.1], [-0.1], [0.2], [-0.2], [0.05], [9.0]]
    >>> GaussianOutlierDetector(contamination=0.1).fit_predict(X)
    array([ 1,  1,  1,  1,  1,  1, -1])
    """

    _: KW_ONLY
    robust: bool = False
    support_fraction: Fraction = 0.5
    reg_covar: NonNegative = 1e-6

    card = Card(
        applications=("outlier detection",),
        use="One compact cloud of rows. If outliers may be among the rows of fit, set robust.",
        steps=("Estimate mean and covariance.", "Score rows by their log density.", "Mark those with the lowest."),
        source="Rousseeuw & Van Driessen (1999); Hubert, Rousseeuw & Verdonck (2012)",
        see_also=("MixtureOutlierDetector", "KernelDensityOutlierDetector"),
        variants=({"robust": True, "contamination": 0.2},),
    )

    def _learn(self, X: Table, w: Weights) -> tuple[RowScorer, Doubles | None]:
        if len(X) < 2:
            raise ValueError("GaussianOutlierDetector needs two rows or more (n_samples=1 was given)")
        family = Gaussian(Full(), self.reg_covar)
        Z = np.asarray(X, dtype=np.float64)
        codes = np.zeros(len(Z), dtype=np.int64)
        stats = family.stats(Z, GroupWeights(codes, w, 1))
        if not self.robust:
            return GaussianScorer(family.fit(stats)), None
        mean, S, _ = minimum_covariance_determinant(Z, w, self.support_fraction, self.reg_covar)
        majority = replace(stats, mean=mean[None], scatter=stats.degrees[:, None, None] * S[None])
        return GaussianScorer(Gaussian(Full(), 0.0).fit(majority)), None

    @property
    def location_(self) -> Vector:
        """The mean (d,)."""
        return np.asarray(self.model_.scorer.members.mean[0])

    @property
    def covariance_(self) -> Doubles:
        """The covariance (d, d)."""
        return np.asarray(self.model_.scorer.members.covariance.matrix[0])

    def mahalanobis(self, X: UserTable) -> Vector:
        """The squared Mahalanobis distance of each row from the mean."""
        X = self._admit(X)
        return np.asarray(self.model_.scorer.members.mahalanobis(np.asarray(X, dtype=np.float64))[:, 0])


class MixtureOutlierDetector(ScoreDetector):
    """Marks rows that a mixture of Gaussians makes unlikely.

    Parameters
    ----------
    n_components
        number of Gaussians; one equals GaussianOutlierDetector.
    covariance_type
        of the components, as in GaussianMixture.
    reg_covar
        added to the variance of every column.
    n_init
        runs from different starts, of which the likeliest is kept.
    random_state
        seed of the starts.

    Attributes
    ----------
    mixture_
        the fitted GaussianMixture.

    Examples
    --------
    >>> from fivefold.density import MixtureOutlierDetector
    >>> X = [[0.0], [0.1], [0.2], [5.0], [5.1], [5.2], [2.5]]
    >>> MixtureOutlierDetector(2, contamination=0.1, random_state=0).fit_predict(X)
    array([ 1,  1,  1,  1,  1,  1, -1])
    """

    n_components: Count = 2
    _: KW_ONLY
    covariance_type: Literal["full", "tied", "diag", "spherical"] = "full"
    reg_covar: NonNegative = 1e-6
    n_init: Count = 1
    random_state: Seed = None

    card = Card(
        applications=("outlier detection",),
        use="Several clouds of rows, with outliers between and beyond them. Outliers that form a group may become a "
        "component: fewer components then.",
        steps=("Fit a mixture of Gaussians.", "Score rows by their log density.", "Mark those with the lowest."),
        source="Dempster, Laird & Rubin (1977)",
        see_also=("GaussianOutlierDetector", "GaussianMixture"),
        variants=({"n_components": 1}, {"covariance_type": "diag", "contamination": 0.2}),
    )

    def _learn(self, X: Table, w: Weights) -> tuple[RowScorer, Doubles | None]:
        mixture = GaussianMixture(
            self.n_components,
            covariance_type=self.covariance_type,
            reg_covar=self.reg_covar,
            n_init=self.n_init,
            random_state=self.random_state,
        )
        return DensityScorer(mixture.fit(X, sample_weight=w)), None

    @property
    def mixture_(self) -> GaussianMixture:
        """The fitted mixture."""
        fitted: GaussianMixture = self.model_.scorer.estimator
        return fitted
