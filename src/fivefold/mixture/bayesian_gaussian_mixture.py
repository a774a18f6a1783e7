"""Bayesian Gaussian mixture, fitted by variational inference.

    pi ~ Dirichlet, or the stick-breaking weights of a Dirichlet process,   z_i | pi ~ pi
    Lambda_k ~ Wishart,   mu_k | Lambda_k ~ N(m_0, (kappa_0 Lambda_k)^-1),   x_i | z_i = k ~ N(mu_k, Lambda_k^-1)

A factorised posterior is fitted by the loop of expectation-maximisation (estimation/variational_mixture.py). The
components that the rows do not need get next to no weight, so `n_components` is an upper limit.

Attias (2000); Blei & Jordan (2006); Bishop (2006), section 10.2.
"""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import KW_ONLY
from typing import Any, ClassVar, Literal, cast

import numpy as np

from fivefold.core.admission.takes import Takes
from fivefold.core.admission.targets import as_float64
from fivefold.core.estimators.base import learned, learned_in_dtype
from fivefold.core.estimators.params import Count, Index, NonNegative, Positive, Seed
from fivefold.core.registry import Card
from fivefold.core.types import Array, Matrix, Rng, Table, Vector, Weights
from fivefold.distributions.gaussian import Diagonal, Full, Gaussian
from fivefold.mixture.base import BaseMixture
from fivefold.mixture.estimation.finite_mixture import FiniteMixture
from fivefold.mixture.estimation.gaussian_components import COVARIANCE_TYPES
from fivefold.mixture.estimation.variational_mixture import MixturePrior, VariationalMixture
from fivefold.spatial.centres.chunked_lloyd import points_of


class BayesianGaussianMixture(BaseMixture):
    """Gaussian mixture with a prior on every parameter; components that are not needed lose their weight.

    Parameters
    ----------
    covariance_type
        one matrix per component (full), one for all components (tied), one variance per column of each component
        (diag), or one variance per component (spherical).
    tol
        stop when a step raises the bound, a sum over all rows, by no more than this.
    reg_covar
        added to the diagonal of every covariance.
    init_params
        where to start: clusters of k-means, cells around k-means++ seeds or around random rows, or random
        responsibilities.
    weight_concentration_prior_type
        whether weights are those of a Dirichlet process, which prefers few components, or of a Dirichlet distribution.
    weight_concentration_prior
        concentration of the weights: the smaller, the fewer components are used; by default 1 / n_components.
    mean_precision_prior
        number of pseudo-rows that draw each mean towards `mean_prior`; by default 1.
    mean_prior
        the mean of the means; by default that of the data.
    degrees_of_freedom_prior
        degrees of freedom of the precisions, more than the number of columns less one; by default that number.
    covariance_prior
        what precisions are scaled by, in the shape of one covariance; by default the covariance of the data.

    Attributes
    ----------
    means_
        expected mean of each component.
    covariances_
        inverses of the expected precisions, in the shape of the covariance type.
    precisions_
        expected precisions.
    precisions_cholesky_
        upper triangular factors of the precisions.
    weight_concentration_
        parameters of the posterior of the weights: of the Dirichlet distribution (K,), or both of the beta
        distributions of the sticks.
    mean_precision_
        precision of each mean, in rows.
    degrees_of_freedom_
        degrees of freedom of each precision.
    weight_concentration_prior_, mean_precision_prior_, mean_prior_, degrees_of_freedom_prior_, covariance_prior_
        the priors that were used.
    lower_bound_
        bound on the log evidence at the end of the best run, without constants.

    Examples
    --------
    >>> from fivefold.mixture import BayesianGaussianMixture
    >>> X = [[0.0], [0.1], [0.2], [0.3], [5.0], [5.1], [5.2], [5.3]]
    >>> model = BayesianGaussianMixture(n_components=4, covariance_prior=[[0.01]], random_state=0).fit(X)
    >>> (model.weights_ > 0.1).sum(), model.predict([[0.0], [5.0]])
    (np.int64(2), array([0, 1]))
    """

    _: KW_ONLY
    n_components: Count = 1
    covariance_type: Literal["full", "tied", "diag", "spherical"] = "full"
    tol: NonNegative = 1e-3
    reg_covar: NonNegative = 1e-6
    max_iter: Index = 100
    n_init: Count = 1
    init_params: Literal["kmeans", "k-means++", "random", "random_from_data"] = "kmeans"
    weight_concentration_prior_type: Literal["dirichlet_process", "dirichlet_distribution"] = "dirichlet_process"
    weight_concentration_prior: Positive | None = None
    mean_precision_prior: Positive | None = None
    mean_prior: Any = None  # whatever NumPy can read as an array
    degrees_of_freedom_prior: Positive | None = None
    covariance_prior: Any = None  # likewise
    random_state: Seed = None
    warm_start: bool = False
    verbose: Index | bool = 0
    verbose_interval: Count = 10

    assignment: ClassVar[str] = "soft"  # type: ignore[misc]  # a field of the other mixtures
    takes = Takes(empty=False)
    card = Card(
        applications=("clustering", "density estimation", "quantization", "outlier detection"),
        use="Groups whose number is not known, small samples, and many columns, where a prior keeps covariances "
        "regular. Not where the likeliest parameters are wanted: take GaussianMixture.",
        steps=(
            "Start from the clusters of k-means.",
            "Give each row to every component, by expected log weight and log density.",
            "Update the posterior of weights, means and precisions: prior plus moments of the rows.",
            "Repeat until the bound on the evidence gains less than tol; keep the best of n_init runs.",
        ),
        source="Attias (2000); Blei & Jordan (2006)",
        see_also=("GaussianMixture", "KMeans", "Mixture"),
        variants=(
            {"n_components": 3},
            {"n_components": 3, "covariance_type": "tied", "init_params": "k-means++"},
            {"n_components": 3, "covariance_type": "diag", "weight_concentration_prior_type": "dirichlet_distribution"},
            {"n_components": 3, "covariance_type": "spherical", "init_params": "random", "max_iter": 500},
        ),
        search={"n_components": (2, 5, 10), "covariance_type": ("full", "tied", "diag", "spherical")},
    )

    means_ = learned_in_dtype("components.mean")
    covariances_ = learned_in_dtype("components.covariance.matrix")
    precisions_ = learned_in_dtype("components.covariance.precision")
    precisions_cholesky_ = learned_in_dtype("components.covariance.precision_factor")
    mean_precision_ = learned_in_dtype("mean_precision")
    degrees_of_freedom_ = learned("degrees")
    weight_concentration_prior_ = learned("parameters.concentration")
    mean_precision_prior_ = learned("parameters.mean_precision")
    mean_prior_ = learned_in_dtype("parameters.mean")
    degrees_of_freedom_prior_ = learned("parameters.degrees")
    covariance_prior_ = learned_in_dtype("parameters.covariance")

    @property
    def weight_concentration_(self) -> Vector | tuple[Vector, Vector]:
        found = cast("VariationalMixture", self.model_).concentration
        assert found is not None
        return (found[0], found[1]) if found.ndim == 2 else found

    def _bound_unit(self, weight: float) -> float:
        return 1.0  # the bound is a sum over all rows, to which the prior is added once

    def _unfitted(self, X: Table, w: Weights) -> FiniteMixture:
        family = Gaussian(COVARIANCE_TYPES[self.covariance_type][0], self.reg_covar)
        return VariationalMixture(family, parameters=self._prior(X, w))

    def _starts(self, unfitted: FiniteMixture, X: Table, w: Weights, rng: Rng) -> Iterator[FiniteMixture]:
        points = points_of(X, w)
        while True:
            stats = unfitted.family.stats(points.table, self._start_groups(unfitted, points, rng))
            yield unfitted.maximise(stats)

    def _prior(self, X: Matrix, w: Weights) -> MixturePrior:
        name, d = type(self).__name__, X.shape[1]
        degrees = d if self.degrees_of_freedom_prior is None else self.degrees_of_freedom_prior
        if not degrees > d - 1:
            raise ValueError(
                f"The parameter 'degrees_of_freedom_prior' should be greater than {d - 1}, but got {degrees:.3f}. "
                f"{name}: a Wishart distribution of {d} columns needs more than {d - 1} degrees of freedom"
            )
        structure = COVARIANCE_TYPES[self.covariance_type][0]
        whole = Diagonal() if structure.by_column else Full()
        seen = Gaussian(whole).stats(X, w[:, None])
        return MixturePrior(
            process=self.weight_concentration_prior_type == "dirichlet_process",
            concentration=(
                1.0 / self.n_components if self.weight_concentration_prior is None else self.weight_concentration_prior
            ),
            mean=self._given(self.mean_prior, "mean_prior", (d,), seen.mean[0]),
            mean_precision=1.0 if self.mean_precision_prior is None else self.mean_precision_prior,
            degrees=degrees,
            covariance=self._covariance_prior(seen.scatter[0], w, d),
        )

    def _covariance_prior(self, scatter: Array, w: Weights, d: int) -> Array:
        """The given prior, or the covariance of the data, with n - 1 degrees of freedom."""
        weight = float(w.sum())
        shapes = {"full": (d, d), "tied": (d, d), "diag": (d,), "spherical": ()}
        if self.covariance_prior is None and not weight > 1:
            raise ValueError(
                f"{type(self).__name__}: the covariance of the data, which is the prior, needs rows of more than 1 in "
                f"weight; got {weight:g} (n_samples={len(w)}). Give covariance_prior, or more rows"
            )
        default = scatter / (weight - 1) if weight > 1 else scatter
        default = np.asarray(default.mean()) if self.covariance_type == "spherical" else default
        found = self._given(self.covariance_prior, "covariance_prior", shapes[self.covariance_type], default)
        if self.covariance_prior is not None:
            symmetric = found.ndim < 2 or np.allclose(found, found.T)
            positive = (found if found.ndim < 2 else np.linalg.eigvalsh(found)).min() > 0
            if not (symmetric and positive):
                raise ValueError(
                    f"{type(self).__name__}: covariance_prior must be a covariance, symmetric and positive definite, "
                    "or positive variances"
                )
        return found

    def _given(self, value: Any, name: str, shape: tuple[int, ...], default: Array) -> Array:
        if value is None:
            return default
        found = as_float64(self, value, name)
        if found.shape != shape:
            raise ValueError(f"{type(self).__name__}: {name} must have the shape {shape}; got {found.shape}")
        return found

    def _problems(self) -> list[str]:
        return []  # a component without rows is what the prior asks for
