"""Hidden Markov model of rows of numbers, fitted by variational Bayes: states that are not needed fall away.

    pi ~ Dir(a),  A_k ~ Dir(b),  mu_k | L_k ~ N(m0, (beta0 L_k)^-1),  L_k ~ Wishart(nu0, S0^-1)

and a posterior of the same form for each. McGrory & Titterington (2009); Gruhl & Sick (2016).
"""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import KW_ONLY
from typing import Any, ClassVar, Literal

import numpy as np

from fivefold.core.admission.takes import Takes
from fivefold.core.estimators.params import Count, Index, NonNegative, Seed
from fivefold.core.registry import Card
from fivefold.core.types import Array, Doubles, Rng, Table, Weights
from fivefold.sequence.categorical_hmm import Prior
from fivefold.sequence.gaussian_hmm import COVARIANCES, AnyPrior, as_matrices
from fivefold.sequence.hidden_markov.base import HMMParameter, Parts
from fivefold.sequence.hidden_markov.emission_posteriors import GaussianWishartEmission
from fivefold.sequence.hidden_markov.hmm import SequenceBatch
from fivefold.sequence.hidden_markov.initial_states import kmeans_clusters, overall_covariance
from fivefold.sequence.hidden_markov.variational_base import MeanParameter, VariationalBaseHMM, prior_array

START_FLOOR = 1e-3  # added to the variances at the start, and the scale of the prior if none is given


class VariationalGaussianHMM(VariationalBaseHMM):
    """Hidden Markov model of rows of numbers, Gaussian in each state, with distributions of its parameters.

    Parameters
    ----------
    covariance_type
        one variance per state (spherical), one per column of each state (diag), a matrix per state (full), or one
        matrix for all states (tied).
    means_prior, beta_prior
        mean of the prior of the means, by default that of all rows, and the number of rows that it counts as, by
        default 1.
    dof_prior, scale_prior
        degrees of freedom of the Wishart prior of the precisions, by default the number of columns, and its inverse
        scale, by default 0.001, in the shape of the covariance type.

    Attributes
    ----------
    means_prior_, means_posterior_, beta_prior_, beta_posterior_
        means of the means, and the number of rows that they count as.
    dof_prior_, dof_posterior_, scale_prior_, scale_posterior_
        degrees of freedom and inverse scales of the precisions.
    means_, covars_
        mean and covariance matrix of each state, from the means of the posteriors.

    Examples
    --------
    >>> import numpy as np
    >>> from fivefold.sequence import VariationalGaussianHMM
    >>> X = np.concatenate([np.arange(9) / 10, 5 + np.arange(9) / 10, np.arange(9) / 10])[:, None]
    >>> model = VariationalGaussianHMM(2, random_state=0).fit(X)
    >>> sorted(model.means_.round(1).ravel().tolist())
    [0.5, 5.1]
    """

    n_components: Count = 1
    covariance_type: Literal["spherical", "diag", "full", "tied"] = "full"
    startprob_prior: Prior | None = None
    transmat_prior: Prior | None = None
    means_prior: AnyPrior | None = None
    beta_prior: AnyPrior | None = None
    dof_prior: AnyPrior | None = None
    scale_prior: AnyPrior | None = None
    algorithm: Literal["viterbi", "map"] = "viterbi"
    random_state: Seed = None
    n_iter: Index = 100
    tol: NonNegative = 1e-6
    verbose: bool = False
    params: str = "stmc"
    init_params: str = "stmc"
    implementation: Literal["log", "scaling"] = "log"
    _: KW_ONLY
    n_init: Count = 1

    takes = Takes(sequence=True)
    card = Card(
        applications=("clustering", "density estimation"),
        use="Sequences of numbers with an unknown number of regimes: too many states are given, and those that the "
        "data do not need keep their priors.",
        steps=(
            "Start from the clusters of k-means, the covariance of all rows, and random transitions.",
            "Sum over all paths of states, with the exponentials of expected logarithms for probabilities.",
            "Add expected counts and moments to the priors; repeat until the bound gains less than tol.",
        ),
        source="McGrory & Titterington (2009); Gruhl & Sick (2016)",
        see_also=("GaussianHMM", "VariationalCategoricalHMM"),
        variants=({"covariance_type": "diag"}, {"covariance_type": "tied"}, {"covariance_type": "spherical"}),
    )

    leaders: ClassVar[Mapping[str, str]] = {
        **VariationalBaseHMM.leaders,
        **dict.fromkeys("MbB", "m"),
        **dict.fromkeys("CdD", "c"),
    }
    parts: ClassVar[Mapping[str, str]] = {
        **VariationalBaseHMM.parts,
        "m": "means_posterior_",
        "M": "means_prior_",
        "b": "beta_posterior_",
        "B": "beta_prior_",
        "c": "scale_posterior_",
        "C": "scale_prior_",
        "d": "dof_posterior_",
        "D": "dof_prior_",
    }
    means_prior_ = HMMParameter("emission.mean_prior")
    means_posterior_ = HMMParameter("emission.mean_")
    beta_prior_ = HMMParameter("emission.beta_prior")
    beta_posterior_ = HMMParameter("emission.beta")
    scale_prior_ = HMMParameter("emission.scale_prior")
    scale_posterior_ = HMMParameter("emission.scale")
    dof_prior_ = HMMParameter("emission.dof_prior")
    dof_posterior_ = HMMParameter("emission.dof")
    means_ = MeanParameter("emission.mean_")
    _covars_ = MeanParameter("emission.covariance")

    @property
    def covars_(self) -> Array:
        """The covariance matrix of each state (K, d, d)."""
        return as_matrices(np.asarray(self._covars_), self.covariance_type, self.n_components, self.means_.shape[1])

    @property
    def n_features(self) -> int:
        """The number of columns."""
        return int(vars(self).get("n_features_in_") or np.shape(self.means_posterior_)[-1])

    def _width(self, parts: Parts, X: Table | None) -> int:
        return int(np.shape(parts["means_posterior_"])[-1]) if X is None else int(X.shape[1])

    def _shape(self, d: int) -> tuple[int, ...]:
        return tuple({"K": self.n_components, "d": d}[letter] for letter in COVARIANCES[self.covariance_type][1])

    def _emission(self, parts: Parts, d: int) -> GaussianWishartEmission:
        K, name = self.n_components, type(self).__name__
        for part in ("means_posterior_", "means_prior_"):
            if np.shape(parts[part]) != (K, d):
                raise ValueError(f"{name}: {part} must have the shape {(K, d)}; got {np.shape(parts[part])}")
        counts: tuple[int, ...] = () if self.covariance_type == "tied" else (K,)
        return GaussianWishartEmission(
            kind=self.covariance_type,
            mean_=np.asarray(parts["means_posterior_"], dtype=np.float64),
            beta=self._concentration(parts, "beta_posterior_", (K,)),
            dof=self._concentration(parts, "dof_posterior_", counts),
            scale=self._scale(parts, "scale_posterior_", d),
            mean_prior=np.asarray(parts["means_prior_"], dtype=np.float64),
            beta_prior=self._concentration(parts, "beta_prior_", (K,)),
            dof_prior=self._concentration(parts, "dof_prior_", counts),
            scale_prior=self._scale(parts, "scale_prior_", d),
            learns_means="m" in self.params,
            learns_scales="c" in self.params,
        )

    def _scale(self, parts: Parts, name: str, d: int) -> Doubles:
        found: Doubles = np.asarray(parts[name], dtype=np.float64)
        if found.shape != self._shape(d):
            raise ValueError(
                f"{type(self).__name__}: {name} of the type {self.covariance_type!r} must have the shape "
                f"{self._shape(d)}; got {found.shape}"
            )
        return found

    def _started(self, missing: list[str], batch: SequenceBatch, w: Weights, rng: Rng) -> dict[str, Any]:
        K, d = self.n_components, batch.table.shape[1]
        X = np.asarray(batch.table, dtype=np.float64)
        tied, shape = self.covariance_type == "tied", self._shape(d)
        clusters = kmeans_clusters(X, w, K, rng)
        counts = np.maximum(np.bincount(clusters.labels, w[w > 0], minlength=K), 1.0)
        # more than d - 1, or the mean logarithm of the precisions is infinite
        dof = np.asarray(counts.sum() if tied else np.maximum(counts, d))
        scale = START_FLOOR * (np.eye(d) if self.covariance_type in ("full", "tied") else np.ones(shape))
        covariance = overall_covariance(X, w, self.covariance_type, K, START_FLOOR)
        values: dict[str, Any] = {
            "m": clusters.centres,
            "M": prior_array(self.means_prior, np.average(X, axis=0, weights=w), (K, d)),
            "b": counts,
            "B": prior_array(self.beta_prior, 1.0, (K,)),
            "c": covariance * dof.reshape(dof.shape + (1,) * (covariance.ndim - dof.ndim)),
            "C": prior_array(self.scale_prior, scale, shape),
            "d": dof,
            "D": prior_array(self.dof_prior, d, () if tied else (K,)),
        }
        return {self.parts[letter]: np.array(values[letter], dtype=np.float64) for letter in missing}
