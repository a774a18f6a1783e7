"""Hidden Markov model whose states emit mixtures of Gaussians.

    p(x_t | z_t = k) = sum_m c_km N(x_t | mu_km, Sigma_km)

fitted by expectation-maximisation over states and components at once. Rabiner (1989), section IV A.
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
from fivefold.distributions.gaussian import Diagonal, Full, Gaussian, GroupMoments, Spherical
from fivefold.sequence.categorical_hmm import Prior
from fivefold.sequence.gaussian_hmm import AnyPrior
from fivefold.sequence.hidden_markov.base import BaseHMM, HMMParameter, Parts
from fivefold.sequence.hidden_markov.emissions import gaussian_members
from fivefold.sequence.hidden_markov.hmm import SequenceBatch
from fivefold.sequence.hidden_markov.initial_states import filled, kmeans_clusters
from fivefold.sequence.hidden_markov.mixture_emission import MixtureEmission

# The structure of each covariance type, and the shape of its parameters: K states, M components, d columns
STRUCTURES = {
    "spherical": (Spherical(), "KM"),
    "diag": (Diagonal(), "KMd"),
    "full": (Full(), "KMdd"),
    "tied": (Full(), "Kdd"),
}
MIN_VARIANCE_RATIO = 1e-9  # of a column's variance, added to the variances of components, which may have one row


class ComponentParameter(HMMParameter):
    """A parameter of the K M components, which users see by state and component."""

    def __get__(self, estimator: object, owner: type | None = None) -> Any:
        found = super().__get__(estimator, owner)
        if estimator is None or "model_" not in vars(estimator):
            return found
        assert isinstance(estimator, GMMHMM)
        K, M = estimator.model_.emission.weights.shape
        by_state = np.asarray(found).reshape(K, M, *np.shape(found)[1:])
        tied = self._name == "covars_" and estimator.covariance_type == "tied"
        return by_state[:, 0] if tied else by_state


class GMMHMM(BaseHMM):
    """Hidden Markov model of rows of numbers, a mixture of Gaussians in each state.

    Parameters
    ----------
    n_mix
        number of components of each state.
    min_covar
        added to the variances at the start.
    weights_prior
        parameters of a Dirichlet prior of the weights of components.
    means_prior, means_weight
        mean of a normal prior of the means, and the number of rows that it counts as.
    covars_prior, covars_weight
        parameters of an inverse Wishart prior of matrices (scale and degrees), or of an inverse gamma prior of
        variances (shape and scale); none by default.
    covariance_type
        one variance per component (spherical), one per column (diag), a matrix per component (full), or one for the
        components of a state (tied).

    Attributes
    ----------
    weights_
        share of each component in its state.
    means_
        mean of each component.
    covars_
        covariance of each component, in the shape of its type.

    Examples
    --------
    >>> import numpy as np
    >>> from fivefold.sequence import GMMHMM
    >>> rng = np.random.RandomState(0)
    >>> centres = np.concatenate([rng.choice([-3, 3], size=(40, 1)), rng.choice([7, 13], size=(40, 1))])
    >>> X = centres + rng.normal(size=(80, 1))
    >>> model = GMMHMM(2, n_mix=2, random_state=0).fit(X)
    >>> int((np.diff(model.predict(X)) != 0).sum()), model.weights_.shape
    (1, (2, 2))
    """

    n_components: Count = 1
    n_mix: Count = 1
    min_covar: NonNegative = 1e-3
    startprob_prior: Prior = 1.0
    transmat_prior: Prior = 1.0
    weights_prior: Prior = 1.0
    means_prior: AnyPrior = 0.0
    means_weight: AnyPrior = 0.0
    covars_prior: AnyPrior | None = None
    covars_weight: AnyPrior | None = None
    algorithm: Literal["viterbi", "map"] = "viterbi"
    covariance_type: Literal["spherical", "diag", "full", "tied"] = "diag"
    random_state: Seed = None
    n_iter: Index = 10
    tol: NonNegative = 1e-2
    verbose: bool = False
    params: str = "stmcw"
    init_params: str = "stmcw"
    implementation: Literal["log", "scaling"] = "log"
    _: KW_ONLY
    n_init: Count = 1
    training: Literal["soft", "hard"] = "soft"
    start: Literal["random", "clusters"] = "random"
    tied_states: None = None

    takes = Takes(missing=True, empty=False, sequence=True)
    card = Card(
        applications=("clustering", "density estimation"),
        use="Sequences of numbers whose states are not single clouds, such as sounds by many speakers.",
        steps=(
            "Divide the rows among states by k-means, and those of a state among its components.",
            "Sum over all paths of states; divide each row within a state among its components.",
            "Fit weights, means and covariances of all components; repeat until the gain is less than tol.",
        ),
        source="Rabiner (1989)",
        see_also=("GaussianHMM", "GaussianMixture"),
        variants=({"covariance_type": "full"}, {"covariance_type": "tied"}, {"covariance_type": "spherical"}),
    )

    parts: ClassVar[Mapping[str, str]] = {
        "s": "startprob_",
        "t": "transmat_",
        "m": "means_",
        "c": "covars_",
        "w": "weights_",
    }
    weights_ = HMMParameter("emission.weights")
    means_ = ComponentParameter("emission.members.mean")
    covars_ = ComponentParameter("emission.members.covariance.matrix")

    @property
    def n_features(self) -> int:
        """The number of columns."""
        return int(np.shape(self.means_)[-1])

    @n_features.setter
    def n_features(self, count: int) -> None:
        """The means say it; hmmlearn's scripts set it all the same."""

    def _width(self, parts: Parts, X: Table | None) -> int:
        return int(np.shape(parts["means_"])[-1]) if X is None else int(X.shape[1])

    def _prepared(self, X: Table, fitting: bool) -> Table:
        if fitting:
            vars(self)["floor_"] = MIN_VARIANCE_RATIO * (float(np.nanvar(X, axis=0).mean()) + self.min_covar)
        return X

    def _shape(self, letters: str, d: int) -> tuple[int, ...]:
        return tuple({"K": self.n_components, "M": self.n_mix, "d": d}[letter] for letter in letters)

    def _emission(self, parts: Parts, d: int) -> MixtureEmission:
        name, (structure, letters) = type(self).__name__, STRUCTURES[self.covariance_type]
        weights = self._distribution(parts, "weights_", self._shape("KM", d))
        mean, sigma = (np.asarray(parts[part], dtype=np.float64) for part in ("means_", "covars_"))
        for part, value, shape in (("means_", mean, "KMd"), ("covars_", sigma, letters)):
            if value.shape != self._shape(shape, d):
                raise ValueError(f"{name}: {part} must have the shape {self._shape(shape, d)}; got {value.shape}")
        tied = self.covariance_type == "tied"
        sigma = np.repeat(sigma, self.n_mix, axis=0) if tied else sigma.reshape(-1, *sigma.shape[2:])
        family = Gaussian(structure, vars(self).get("floor_", 0.0))
        members = gaussian_members(family, mean.reshape(-1, d), sigma)
        return MixtureEmission(
            family, members, weights, self._prior(d), np.asarray(self.weights_prior) - 1.0, tied,
            "".join(letter for letter in "mcw" if letter in self.params),
        )  # fmt: skip

    def _prior(self, d: int) -> GroupMoments:
        """Pseudo-moments of the K M components; without covars_prior and covars_weight those of the means alone."""
        K, M, kind = self.n_components, self.n_mix, self.covariance_type
        n, by_column = K * M, kind in ("diag", "spherical")
        mean = np.broadcast_to(np.asarray(self.means_prior, dtype=float), (K, M, d)).reshape(n, d)
        count = np.broadcast_to(np.asarray(self.means_weight, dtype=float), (K, M)).reshape(n)
        if by_column:
            return self._variance_prior(mean, count)
        psi, nu = _or(self.covars_prior, 0.0), _or(self.covars_weight, -(d + 2.0))
        if kind == "tied":
            scatter = np.repeat(np.broadcast_to(psi, (K, d, d)), M, axis=0) / M
            extra = 0.0 if self.covars_weight is None else np.broadcast_to(nu, K) + d + 1.0 + M
            degrees = np.repeat(np.broadcast_to(extra, K), M) / M
        else:
            scatter = np.broadcast_to(psi, (K, M, d, d)).reshape(n, d, d)
            degrees = np.broadcast_to(nu + d + 2.0, (K, M)).reshape(n)
        return GroupMoments(np.zeros(n), np.array(count), mean, np.array(scatter), np.array(degrees))

    def _variance_prior(self, mean: Array, count: Array) -> GroupMoments:
        """The same where variances have inverse gamma priors."""
        K, M, d, n = self.n_components, self.n_mix, mean.shape[1], len(mean)
        shape, scale = (_or(value, none) for value, none in ((self.covars_prior, -1.5), (self.covars_weight, 0.0)))
        degrees = np.broadcast_to(_entries(2.0 * shape + 3.0, K, M, d), (K, M, d)).reshape(n, d)
        scatter = np.broadcast_to(_entries(2.0 * scale, K, M, d), (K, M, d)).reshape(n, d)
        if self.covariance_type == "spherical":  # one variance for all columns
            scatter, degrees = scatter / d, degrees / d
        return GroupMoments(np.zeros(n), np.repeat(count[:, None], d, axis=1), mean, scatter, degrees)

    def _started(self, missing: list[str], batch: SequenceBatch, w: Weights, rng: Rng) -> dict[str, Array]:
        X, K, M = filled(batch.table, w), self.n_components, self.n_mix
        found: dict[str, Array] = {"weights_": np.full((K, M), 1.0 / M)} if "w" in missing else {}
        if "m" in missing:
            run = kmeans_clusters(X, w, K, rng)
            states = np.full(len(X), -1)
            states[w > 0] = run.labels
            found["means_"] = np.stack(
                [self._component_means(X, w * (states == k), run.centres[k], rng) for k in range(K)]
            )
        if "c" in missing:
            d = X.shape[1]
            sigma = np.atleast_2d(np.cov(X.T, aweights=w)) if len(X) > 1 else np.zeros((d, d))
            sigma = sigma + max(self.min_covar, np.finfo(float).tiny) * np.eye(d)
            start = {"diag": np.diag(sigma), "spherical": np.diag(sigma).mean()}.get(self.covariance_type, sigma)
            found["covars_"] = np.array(np.broadcast_to(start, self._shape(STRUCTURES[self.covariance_type][1], d)))
        return found

    def _component_means(self, X: Array, w: Weights, centre: Array, rng: Rng) -> Doubles:
        """Centres of the components of a state, whose rows have these weights; near its centre if they are too few."""
        if len(np.unique(X[w > 0], axis=0)) >= self.n_mix:
            return np.asarray(kmeans_clusters(X, w, self.n_mix, rng).centres, dtype=np.float64)
        return np.asarray(centre, dtype=np.float64) + X.std(axis=0) * rng.standard_normal((self.n_mix, X.shape[1])) * (
            self.n_mix > 1
        )


def _or(value: Any, none: float) -> Doubles:
    return np.asarray(none if value is None else value, dtype=np.float64)


def _entries(value: Doubles, K: int, M: int, d: int) -> Doubles:
    """A prior per component as one per component and column."""
    return value[:, :, None] if value.shape == (K, M) and value.shape != (M, d) else value
