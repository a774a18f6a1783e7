"""Hidden Markov model whose states emit rows of counts with multinomial distributions.

p(x_t | z_t = k) = n_t! / prod_j x_tj! prod_j B_kj^x_tj,   n_t = sum_j x_tj
"""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import KW_ONLY
from typing import Any, ClassVar, Literal

import numpy as np

from fivefold.core.admission.takes import Takes
from fivefold.core.estimators.params import Count, Index, NonNegative, Seed
from fivefold.core.registry import Card
from fivefold.core.types import Array, Codes, Matrix, Rng, Table, Weights
from fivefold.distributions.multinomial import Multinomial, MultinomialMembers
from fivefold.sequence.categorical_hmm import Prior
from fivefold.sequence.hidden_markov.base import BaseHMM, HMMParameter, Parts
from fivefold.sequence.hidden_markov.emissions import FamilyEmission
from fivefold.sequence.hidden_markov.hmm import SequenceBatch


class MultinomialHMM(BaseHMM):
    """Hidden Markov model of rows that count outcomes, such as words of each kind.

    Parameters
    ----------
    n_trials
        number of trials of each row: a number, or one per row; rows have any number if it is not given, and samples
        have the mean of their state.

    Attributes
    ----------
    emissionprob_
        probability of each outcome in each state.

    Examples
    --------
    >>> from fivefold.sequence import MultinomialHMM
    >>> X = [[4, 1, 0], [3, 2, 0], [0, 1, 4], [1, 0, 4], [5, 0, 0]]
    >>> MultinomialHMM(2, n_trials=5, random_state=0).fit(X).predict(X)
    array([0, 0, 1, 1, 0])
    """

    n_components: Count = 1
    n_trials: Count | list[int] | tuple[int, ...] | np.ndarray[Any, Any] | None = None
    startprob_prior: Prior = 1.0
    transmat_prior: Prior = 1.0
    algorithm: Literal["viterbi", "map"] = "viterbi"
    random_state: Seed = None
    n_iter: Index = 10
    tol: NonNegative = 1e-2
    verbose: bool = False
    params: str = "ste"
    init_params: str = "ste"
    implementation: Literal["log", "scaling"] = "log"
    _: KW_ONLY
    n_init: Count = 1
    training: Literal["soft", "hard"] = "soft"
    start: Literal["random", "clusters"] = "random"
    tied_states: list[int] | tuple[int, ...] | np.ndarray[Any, Any] | None = None

    takes = Takes(missing=True, empty=False, positive=True, sequence=True)
    card = Card(
        applications=("clustering", "density estimation"),
        use="Sequences of bags: how often each word, species or product occurred at each step.",
        steps=(
            "Draw start, transition and outcome probabilities at random.",
            "Sum over all paths of states, forward and backward.",
            "Divide expected counts by their sums; repeat until the log-likelihood gains less than tol.",
        ),
        source="Rabiner (1989)",
        see_also=("CategoricalHMM", "PoissonHMM", "MultinomialNB"),
    )

    parts: ClassVar[Mapping[str, str]] = {"s": "startprob_", "t": "transmat_", "e": "emissionprob_"}
    emissionprob_ = HMMParameter("emission.members.probability")

    @property
    def n_features(self) -> int:
        """The number of outcomes."""
        return int(np.shape(self.emissionprob_)[-1])

    @n_features.setter
    def n_features(self, count: int) -> None:
        """The emissions say it; hmmlearn's scripts set it all the same."""

    def _width(self, parts: Parts, X: Table | None) -> int:
        return int(np.shape(parts["emissionprob_"])[-1]) if X is None else int(X.shape[1])

    def _prepared(self, X: Table, fitting: bool) -> Table:
        if fitting and self.n_trials is not None and (np.nansum(X, axis=1) != self.n_trials).any():
            row = int((np.nansum(X, axis=1) != self.n_trials).argmax())
            raise ValueError(
                f"{type(self).__name__}: row {row} counts {np.nansum(X[row]):g} outcomes, which are not its n_trials"
            )
        return X

    def _emission(self, parts: Parts, d: int) -> FamilyEmission:
        p, K = self._distribution(parts, "emissionprob_", (self._n_emissions, d)), self._n_emissions
        length = np.full(K, np.mean(self.n_trials) if self.n_trials is not None else 1.0)
        return FamilyEmission(Multinomial(), MultinomialMembers(p, length), learns="e" in self.params)

    def _started(self, missing: list[str], batch: SequenceBatch, w: Weights, rng: Rng) -> dict[str, Array]:
        if not np.nansum(batch.table) > 0:
            raise ValueError(f"{type(self).__name__}: every count is zero in all of the n_samples={len(batch)} rows")
        drawn = rng.rand(self._n_emissions, batch.table.shape[1])
        return {"emissionprob_": drawn / drawn.sum(axis=1, keepdims=True)}

    def sample(
        self, n_samples: int = 1, random_state: Seed = None, currstate: int | None = None
    ) -> tuple[Matrix, Codes]:
        """Draw a sequence of rows; return them and their states. All rows must have the same number of trials."""
        if self.n_trials is not None and len(np.unique(self.n_trials)) > 1:
            raise ValueError(f"{type(self).__name__}: samples need one n_trials for all rows; got {self.n_trials!r}")
        X, states = super().sample(n_samples, random_state, currstate)
        return X.astype(np.int64), states
