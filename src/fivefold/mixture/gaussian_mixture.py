"""Gaussian mixture, fitted by expectation-maximisation.

    p(x) = sum_k pi_k N(x | mu_k, Sigma_k)

E-step  r_ik = pi_k N(x_i | mu_k, Sigma_k) / p(x_i)      the responsibilities
M-step  pi_k, mu_k, Sigma_k = weighted maximum likelihood under r_.k, reg_covar added to the variances

Missing entries are integrated out. With hard assignment, equal weights and identity covariance this is k-means.
Dempster, Laird & Rubin (1977); Ghahramani & Jordan (1994) for missing entries.
"""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import KW_ONLY
from itertools import repeat
from typing import Annotated, Any, Literal

import numpy as np

from fivefold.core.admission.takes import Takes
from fivefold.core.admission.targets import as_float64
from fivefold.core.chunks.chunked_array import sum_over_chunks
from fivefold.core.estimators.base import learned_in_dtype
from fivefold.core.estimators.params import Count, Index, NonNegative, Range, Seed
from fivefold.core.numerics.arrays import to_numpy
from fivefold.core.registry import Card
from fivefold.core.types import Codes, Matrix, Rng, Table, UserTable, Weights
from fivefold.distributions.gaussian import Gaussian
from fivefold.mixture.base import BaseMixture
from fivefold.mixture.estimation.finite_mixture import FiniteMixture
from fivefold.mixture.estimation.gaussian_components import (
    COVARIANCE_TYPES,
    GivenStart,
    collapse_problems,
    prior_moments,
)
from fivefold.mixture.estimation.initialisation import mean_imputed
from fivefold.spatial.centres.chunked_lloyd import points_of


class GaussianMixture(BaseMixture):
    """Gaussian mixture: soft clustering and density estimation.

    Parameters
    ----------
    covariance_type
        one matrix per component (full), one for all components (tied), one variance per column of each component
        (diag), one variance per component (spherical), or every variance fixed at one (identity).
    reg_covar
        added to the diagonal of every covariance.
    init_params
        where to start: clusters of k-means, cells around k-means++ seeds or around random rows, or random
        responsibilities.
    weights_init
        weights to start from.
    means_init
        means to start from.
    precisions_init
        inverse covariances to start from, in the shape of `precisions_`.
    mean_prior
        the mean towards which means are drawn; by default that of the data.
    mean_strength
        number of pseudo-rows at `mean_prior` added to every component.
    covariance_prior
        the covariance towards which covariances are drawn, as variances (d,) or a matrix; by default the variances
        of the columns.
    covariance_strength
        number of pseudo-rows with covariance `covariance_prior` added to every component.

    Attributes
    ----------
    means_
        mean of each component.
    covariances_
        covariances, in the shape of the covariance type.
    precisions_
        the inverses of the covariances.
    precisions_cholesky_
        upper triangular factors of the precisions.

    Examples
    --------
    >>> from fivefold.mixture import GaussianMixture
    >>> GaussianMixture(2, random_state=0).fit([[0.0], [0.1], [5.0], [5.1]]).predict([[0.0], [5.0]])
    array([0, 1])
    """

    n_components: Count = 1
    _: KW_ONLY
    covariance_type: Literal["full", "tied", "diag", "spherical", "identity"] = "full"
    tol: NonNegative = 1e-3
    reg_covar: NonNegative = 1e-6
    max_iter: Index = 100
    n_init: Count = 1
    init_params: Literal["kmeans", "k-means++", "random", "random_from_data"] = "kmeans"
    weights_init: Any = None  # whatever NumPy can read as an array
    means_init: Any = None  # likewise
    precisions_init: Any = None  # likewise
    random_state: Seed = None
    warm_start: bool = False
    verbose: Index | bool = 0
    verbose_interval: Count = 10
    assignment: Literal["soft", "hard"] = "soft"
    weight_prior: Annotated[float, Range(0)] = 0.0
    mean_prior: Any = None  # likewise
    mean_strength: NonNegative = 0.0
    covariance_prior: Any = None  # likewise
    covariance_strength: NonNegative = 0.0

    takes = Takes(missing=True, empty=False, tensors=True, chunks=True)
    card = Card(
        applications=("clustering", "density estimation", "quantization", "outlier detection"),
        use="Groups that overlap or differ in size, shape and direction; densities with several peaks; tables with "
        "missing entries. Not for many columns and few rows: choose diag or spherical there, or a prior.",
        steps=(
            "Start from the clusters of k-means.",
            "Give each row to every component by its posterior probability.",
            "Fit weight, mean and covariance of each component to its rows.",
            "Repeat until the log-likelihood gains less than tol per row; keep the best of n_init runs.",
        ),
        source="Dempster, Laird & Rubin (1977)",
        see_also=("KMeans", "Mixture", "GaussianNB", "QuadraticDiscriminantAnalysis"),
        variants=(
            {"n_components": 3},
            {"n_components": 3, "covariance_type": "tied", "init_params": "k-means++"},
            {"n_components": 3, "covariance_type": "diag", "init_params": "random_from_data"},
            {"n_components": 3, "covariance_type": "spherical", "init_params": "random", "max_iter": 500},
            {"n_components": 3, "assignment": "hard", "weight_prior": 1.0, "covariance_strength": 2.0},
        ),
        search={"n_components": (1, 2, 3, 5, 8), "covariance_type": ("full", "tied", "diag", "spherical")},
    )

    means_ = learned_in_dtype("components.mean")
    covariances_ = learned_in_dtype("components.covariance.matrix")
    precisions_ = learned_in_dtype("components.covariance.precision")
    precisions_cholesky_ = learned_in_dtype("components.covariance.precision_factor")

    def encode(self, X: UserTable) -> Codes:
        """The code of each row: its likeliest component."""
        return self.predict(X)

    def decode(self, codes: Codes) -> Matrix:
        """The row of each code: the mean of its component."""
        return self.means_[np.asarray(to_numpy(codes))]

    def _unfitted(self, X: Table, w: Weights) -> FiniteMixture:
        family, prior = Gaussian(COVARIANCE_TYPES[self.covariance_type][0], self.reg_covar), None
        if self.mean_strength or self.covariance_strength:
            prior = prior_moments(
                family,
                self.n_components,
                X,
                w,
                mean=self.mean_prior,
                count=self.mean_strength,
                covariance=self.covariance_prior,
                degrees=self.covariance_strength,
            )
        return FiniteMixture(family, prior=prior, share=self.weight_prior)

    def _starts(self, unfitted: FiniteMixture, X: Table, w: Weights, rng: Rng) -> Iterator[FiniteMixture]:
        parts = {"weights": self.weights_init, "means": self.means_init, "precisions": self.precisions_init}
        parts = {name: None if part is None else as_float64(self, part, f"{name}_init") for name, part in parts.items()}
        given = GivenStart.of(self.n_components, X.shape[1], self.covariance_type, **parts)
        if given.is_complete:
            yield from repeat(given.applied_to(unfitted))
        points = points_of(mean_imputed(X, w), w)
        while True:
            stats = sum_over_chunks(unfitted.family.stats, points.table, self._start_groups(unfitted, points, rng))
            yield given.applied_to(unfitted.maximise(stats))

    def _problems(self) -> list[str]:
        return [*super()._problems(), *collapse_problems(self.model_)]
