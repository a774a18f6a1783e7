"""Hidden Markov model whose states emit counts with Poisson distributions.

    p(x_t | z_t = k) = prod_j lambda_kj^x_tj e^-lambda_kj / x_tj!

Columns are independent given the state. A Gamma(a, b) prior makes the rate (a + sum of counts) / (b + rows).
"""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import KW_ONLY
from typing import Any, ClassVar, Literal

import numpy as np

from fivefold.core.admission.takes import Takes
from fivefold.core.estimators.params import Count, Index, NonNegative, Seed
from fivefold.core.registry import Card
from fivefold.core.types import Array, Rng, Table, Weights
from fivefold.distributions.poisson import Poisson, PoissonMembers
from fivefold.distributions.statistics.counts import Totals
from fivefold.sequence.categorical_hmm import Prior
from fivefold.sequence.hidden_markov.base import BaseHMM, HMMParameter, Parts
from fivefold.sequence.hidden_markov.emissions import FamilyEmission
from fivefold.sequence.hidden_markov.hmm import SequenceBatch


class PoissonHMM(BaseHMM):
    """Hidden Markov model of counts.

    Parameters
    ----------
    lambdas_prior, lambdas_weight
        events and exposure of a gamma prior of the rates.

    Attributes
    ----------
    lambdas_
        rate of each column in each state.

    Examples
    --------
    >>> from fivefold.sequence import PoissonHMM
    >>> X = [[0], [1], [0], [2], [9], [11], [10], [8], [1], [0]]
    >>> model = PoissonHMM(2, random_state=0, n_init=5).fit(X)
    >>> model.lambdas_.round(1).ravel().tolist()
    [0.7, 9.4]
    """

    n_components: Count = 1
    startprob_prior: Prior = 1.0
    transmat_prior: Prior = 1.0
    lambdas_prior: Prior = 0.0
    lambdas_weight: Prior = 0.0
    algorithm: Literal["viterbi", "map"] = "viterbi"
    random_state: Seed = None
    n_iter: Index = 10
    tol: NonNegative = 1e-2
    verbose: bool = False
    params: str = "stl"
    init_params: str = "stl"
    implementation: Literal["log", "scaling"] = "log"
    _: KW_ONLY
    n_init: Count = 1
    training: Literal["soft", "hard"] = "soft"
    start: Literal["random", "clusters"] = "random"
    tied_states: list[int] | tuple[int, ...] | np.ndarray[Any, Any] | None = None

    takes = Takes(missing=True, empty=False, positive=True, sequence=True)
    card = Card(
        applications=("clustering", "density estimation"),
        use="Series of counts whose rate switches: earthquakes, calls, spikes.",
        steps=(
            "Draw rates from a gamma distribution with the mean and the variance of all counts.",
            "Sum over all paths of states, forward and backward.",
            "Divide expected events by expected rows; repeat until the log-likelihood gains less than tol.",
        ),
        source="Zucchini, MacDonald & Langrock (2016)",
        see_also=("CategoricalHMM", "GaussianHMM", "MultinomialHMM"),
        variants=({"lambdas_prior": 1.0, "lambdas_weight": 0.5},),
    )

    parts: ClassVar[Mapping[str, str]] = {"s": "startprob_", "t": "transmat_", "l": "lambdas_"}
    lambdas_ = HMMParameter("emission.members.rate")

    def _width(self, parts: Parts, X: Table | None) -> int:
        return int(np.shape(parts["lambdas_"])[-1]) if X is None else int(X.shape[1])

    def _emission(self, parts: Parts, d: int) -> FamilyEmission:
        rate, K = np.asarray(parts["lambdas_"], dtype=np.float64), self._n_emissions
        if rate.shape != (K, d) or (rate < 0).any():
            raise ValueError(f"{type(self).__name__}: lambdas_ must be rates of the shape {(K, d)}; got {rate.shape}")
        events, exposure = (_per_entry(prior, K, d) for prior in (self.lambdas_prior, self.lambdas_weight))
        return FamilyEmission(
            Poisson(), PoissonMembers(rate), Totals(np.zeros(K), exposure, events), learns="l" in self.params
        )

    def _started(self, missing: list[str], batch: SequenceBatch, w: Weights, rng: Rng) -> dict[str, Array]:
        X, d = batch.table, batch.table.shape[1]
        v = np.where(np.isnan(X), 0.0, w[:, None])
        mean = float((v * np.nan_to_num(X)).sum() / v.sum())
        variance = float((v * (np.nan_to_num(X) - mean) ** 2).sum() / v.sum())
        if not (mean > 0 and variance > 0):
            return {"lambdas_": np.full((self._n_emissions, d), mean)}
        return {"lambdas_": rng.gamma(mean**2 / variance, variance / mean, size=(self._n_emissions, d))}


def _per_entry(prior: Any, K: int, d: int) -> Array:
    """A prior per state, or per state and column, as (K, d)."""
    given = np.asarray(prior, dtype=np.float64)
    return np.array(np.broadcast_to(given[:, None] if given.shape == (K,) else given, (K, d)))
