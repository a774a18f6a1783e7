"""Hidden Markov model whose states emit rows of numbers with a Gaussian distribution.

    p(x_t | z_t = k) = N(x_t | mu_k, Sigma_k)

fitted by expectation-maximisation: means and covariances are weighted moments under the probabilities of the states.
Missing entries are integrated out. Rabiner (1989).
"""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import KW_ONLY
from typing import Annotated, Any, ClassVar, Literal

import numpy as np

from fivefold.core.admission.takes import Takes
from fivefold.core.estimators.params import Count, Index, NonNegative, Range, Seed, check_params
from fivefold.core.registry import Card
from fivefold.core.types import Array, Doubles, Rng, Table, Weights
from fivefold.distributions.gaussian import Diagonal, Full, Gaussian, GroupMoments, Spherical, Tied
from fivefold.sequence.categorical_hmm import Prior
from fivefold.sequence.hidden_markov.base import BaseHMM, HMMParameter, Parts
from fivefold.sequence.hidden_markov.emissions import GaussianEmission, gaussian_members
from fivefold.sequence.hidden_markov.hmm import SequenceBatch
from fivefold.sequence.hidden_markov.initial_states import filled, kmeans_clusters, overall_covariance

# The structure of each covariance type, and the shape of its parameters: letters K and d
COVARIANCES = {
    "spherical": (Spherical(), "K"),
    "diag": (Diagonal(), "Kd"),
    "full": (Full(), "Kdd"),
    "tied": (Tied(), "dd"),
}
AnyPrior = Annotated[float, Range()] | list[Any] | tuple[Any, ...] | np.ndarray[Any, Any]


class CovarianceParameter(HMMParameter):
    """Covariances: always matrices (K, d, d) when they are read, in the shape of their type when they are set."""

    def __get__(self, estimator: object, owner: type | None = None) -> Any:
        if estimator is None:
            return self
        found, asked = np.asarray(super().__get__(estimator)), estimator
        assert isinstance(asked, GaussianHMM)
        return as_matrices(found, asked.covariance_type, asked._n_emissions, asked.n_features)

    def __set__(self, estimator: object, value: object) -> None:
        assert isinstance(estimator, GaussianHMM)
        check_params(estimator)
        given = np.array(value, dtype=np.float64)
        kind, name = estimator.covariance_type, type(estimator).__name__
        if kind == "spherical":
            given = given.reshape(len(given), -1)[:, 0]
        matrices = given if kind in ("full", "tied") else np.zeros((1, 0, 0))
        if given.ndim != len(COVARIANCES[kind][1]):
            raise ValueError(
                f"{name}: covars_ of the type {kind!r} have {len(COVARIANCES[kind][1])} axes; got {given.ndim}"
            )
        least = np.linalg.eigvalsh(matrices).min(initial=1.0) if kind in ("full", "tied") else given.min()
        if not np.allclose(matrices, np.swapaxes(matrices, -1, -2)) or least <= 0:
            raise ValueError(
                f"{name}: covars_ must be positive" + (" definite and symmetric" if matrices is given else "")
            )
        super().__set__(estimator, given)


class GaussianHMM(BaseHMM):
    """Hidden Markov model of rows of numbers, Gaussian in each state.

    Parameters
    ----------
    covariance_type
        one variance per state (spherical), one per column of each state (diag), a matrix per state (full), or one
        matrix for all states (tied).
    min_covar
        added to the variances at the start.
    means_prior, means_weight
        mean of a normal prior of the means, and the number of rows that it counts as.
    covars_prior, covars_weight
        scale and weight of an inverse gamma prior of the variances, or of an inverse Wishart prior of matrices.

    Attributes
    ----------
    means_
        mean of each state.
    covars_
        covariance matrix of each state, whatever its type.

    Examples
    --------
    >>> import numpy as np
    >>> from fivefold.sequence import GaussianHMM
    >>> X = np.concatenate([np.arange(5) / 10, 5 + np.arange(5) / 10, np.arange(5) / 10])[:, None]
    >>> model = GaussianHMM(2, random_state=0).fit(X)
    >>> model.means_.round(2).ravel().tolist(), (model.predict(X) == model.predict(X)[0]).astype(int).tolist()
    ([0.2, 5.2], [1, 1, 1, 1, 1, 0, 0, 0, 0, 0, 1, 1, 1, 1, 1])
    """

    n_components: Count = 1
    covariance_type: Literal["spherical", "diag", "full", "tied"] = "diag"
    min_covar: NonNegative = 1e-3
    startprob_prior: Prior = 1.0
    transmat_prior: Prior = 1.0
    means_prior: AnyPrior = 0
    means_weight: AnyPrior = 0
    covars_prior: AnyPrior = 1e-2
    covars_weight: AnyPrior = 1
    algorithm: Literal["viterbi", "map"] = "viterbi"
    random_state: Seed = None
    n_iter: Index = 10
    tol: NonNegative = 1e-2
    verbose: bool = False
    params: str = "stmc"
    init_params: str = "stmc"
    implementation: Literal["log", "scaling"] = "log"
    _: KW_ONLY
    n_init: Count = 1
    training: Literal["soft", "hard"] = "soft"
    start: Literal["random", "clusters"] = "random"
    tied_states: list[int] | tuple[int, ...] | np.ndarray[Any, Any] | None = None

    takes = Takes(missing=True, empty=False, sequence=True)
    card = Card(
        applications=("clustering", "density estimation"),
        use="Sequences of numbers that switch between regimes: states of a machine, of a market, of speech. Rows of "
        "one state should look like one cloud; where they do not, use GMMHMM.",
        steps=(
            "Start from the centres of k-means, the covariance of all rows, and random transitions.",
            "Sum over all paths of states, forward and backward: the probability of each state at each row.",
            "Fit mean and covariance of each state to its rows; repeat until the log-likelihood gains less than tol.",
        ),
        source="Baum, Petrie, Soules & Weiss (1970); Rabiner (1989)",
        see_also=("CategoricalHMM", "GMMHMM", "GaussianMixture"),
        variants=({"covariance_type": "full"}, {"covariance_type": "tied"}, {"covariance_type": "spherical"}),
    )

    parts: ClassVar[Mapping[str, str]] = {"s": "startprob_", "t": "transmat_", "m": "means_", "c": "covars_"}
    means_ = HMMParameter("emission.members.mean")
    covars_ = CovarianceParameter("emission.members.covariance.matrix")

    @property
    def n_features(self) -> int:
        """The number of columns."""
        found = vars(self).get("n_features_in_") or np.shape(self.means_)[-1]
        return int(found)

    @n_features.setter
    def n_features(self, count: int) -> None:
        """The means say it; hmmlearn's scripts set it all the same."""

    @property
    def _covars_(self) -> Array:
        """Covariances in the shape of their type."""
        return np.asarray(HMMParameter.__get__(type(self).__dict__["covars_"], self))

    def _given(self) -> dict[str, Array]:
        found = super()._given()
        return {**found, "covars_": self._covars_} if "covars_" in found else found

    def _width(self, parts: Parts, X: Table | None) -> int:
        return int(np.shape(parts["means_"])[-1]) if X is None else int(X.shape[1])

    def _family(self) -> Gaussian:
        return Gaussian(COVARIANCES[self.covariance_type][0])

    def _emission(self, parts: Parts, d: int) -> GaussianEmission:
        name, K = type(self).__name__, self._n_emissions
        mean = np.asarray(parts["means_"], dtype=np.float64)
        if mean.shape != (K, d):
            raise ValueError(f"{name}: means_ must have the shape {(K, d)}; got {mean.shape}")
        sigma = np.asarray(parts["covars_"], dtype=np.float64)
        shape = tuple({"K": K, "d": d}[letter] for letter in COVARIANCES[self.covariance_type][1])
        if sigma.shape != shape:
            raise ValueError(
                f"{name}: covars_ of the type {self.covariance_type!r} must have the shape {shape}; got {sigma.shape}"
            )
        family = self._family()
        members = gaussian_members(family, mean, sigma)
        prior = self._prior(K, d)
        return GaussianEmission(
            family, members, prior, learns_means="m" in self.params, learns_covariances="c" in self.params
        )

    def _prior(self, K: int, d: int) -> GroupMoments:
        """Pseudo-moments: `means_weight` rows at `means_prior`, and the scatter `covars_prior`."""
        kind, by_column = self.covariance_type, self.covariance_type in ("diag", "spherical")
        mean = _broadcast(self.means_prior, (K, d))
        count = _broadcast(self.means_weight, (K, d) if by_column else (K,))
        scatter = _broadcast(self.covars_prior, (K, d) if by_column else (K, d, d))
        free = np.maximum(np.asarray(self.covars_weight, dtype=np.float64) - (1 if by_column else d), 0.0)
        degrees = _broadcast(free, (K, d) if by_column else (K,))
        if kind == "tied":  # the members share it
            scatter, degrees = scatter / K, degrees / K
        return GroupMoments(np.zeros(K), count, mean, scatter, degrees)

    def _started(self, missing: list[str], batch: SequenceBatch, w: Weights, rng: Rng) -> dict[str, Array]:
        X, K = filled(batch.table, w), self._n_emissions
        found = dict[str, Array]()
        if "m" in missing:
            found["means_"] = kmeans_clusters(X, w, K, rng).centres
        if "c" in missing:
            found["covars_"] = overall_covariance(X, w, self.covariance_type, K, self.min_covar)
        return found


def _broadcast(value: Any, shape: tuple[int, ...]) -> Doubles:
    """A prior in this shape; one number per state, or a shape of fewer axes, is repeated for the columns."""
    given = np.asarray(value, dtype=np.float64)
    if given.ndim == 2 and len(shape) == 1:
        given = given.mean(axis=1)
    if given.ndim == 1 and len(shape) > 1 and given.shape != shape[-1:]:
        given = given.reshape(-1, *(1 for _ in shape[1:]))
    if given.ndim == 2 and len(shape) == 3 and given.shape != shape[1:]:
        given = given[:, :, None] * np.eye(shape[-1])
    return np.array(np.broadcast_to(given, shape))


def as_matrices(given: Array, kind: str, K: int, d: int) -> Array:
    """Covariances of a type as a matrix per state (K, d, d)."""
    if kind == "full":
        return given
    if kind == "tied":
        return np.tile(given, (K, 1, 1))
    variances = given if given.ndim == 2 else np.repeat(given[:, None], d, axis=1)
    return variances[:, :, None] * np.eye(d)
