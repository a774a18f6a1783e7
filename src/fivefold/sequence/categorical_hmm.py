"""Hidden Markov model whose states emit symbols.

    p(z, x) = pi_{z_1} prod_t A_{z_{t-1}, z_t} prod_t B_{z_t, x_t}

fitted by expectation-maximisation (Baum & Welch). Several columns are independent given the state; a missing symbol is
left out. Rabiner (1989).
"""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import KW_ONLY
from typing import Annotated, Any, ClassVar, Literal

import numpy as np

from fivefold.core.admission.takes import Takes
from fivefold.core.estimators.params import Count, Index, NonNegative, Range, Seed
from fivefold.core.registry import Card
from fivefold.core.types import Array, Codes, Rng, Weights
from fivefold.distributions.categorical import Categorical, CategoricalMembers
from fivefold.sequence.hidden_markov.base import BaseHMM, HMMParameter, Parts, pseudo_counts
from fivefold.sequence.hidden_markov.emissions import CategoricalEmission
from fivefold.sequence.hidden_markov.hmm import SequenceBatch
from fivefold.sequence.hidden_markov.initial_states import renumbered
from fivefold.sequence.hidden_markov.symbols import SymbolMixin

# Parameters of a Dirichlet or another prior: a number, or one per entry
Prior = Annotated[float, Range(0)] | list[Any] | tuple[Any, ...] | np.ndarray[Any, Any]


class CategoricalHMM(SymbolMixin, BaseHMM):
    """Hidden Markov model of symbols: codes 0, 1, ... or categories.

    Parameters
    ----------
    emissionprob_prior
        parameters of a Dirichlet prior of the symbols of each state.
    n_features
        number of symbols; the largest code plus one if it is not given.

    Attributes
    ----------
    emissionprob_
        probability of each symbol in each state; the symbols of several columns stand side by side.

    Examples
    --------
    >>> from fivefold.sequence import CategoricalHMM
    >>> weather = CategoricalHMM(2, random_state=0)
    >>> weather.startprob_, weather.transmat_ = [0.6, 0.4], [[0.7, 0.3], [0.4, 0.6]]
    >>> weather.emissionprob_ = [[0.1, 0.4, 0.5], [0.6, 0.3, 0.1]]
    >>> weather.decode([[0], [1], [2]])[1]
    array([1, 0, 0])
    >>> weather.predict_proba([[0], [1], [2]]).round(3)
    array([[0.232, 0.768],
           [0.624, 0.376],
           [0.864, 0.136]])
    """

    n_components: Count = 1
    startprob_prior: Prior = 1.0
    transmat_prior: Prior = 1.0
    _: KW_ONLY
    emissionprob_prior: Prior = 1.0
    n_features: Count | None = None
    algorithm: Literal["viterbi", "map"] = "viterbi"
    random_state: Seed = None
    n_iter: Index = 10
    tol: NonNegative = 1e-2
    verbose: bool = False
    params: str = "ste"
    init_params: str = "ste"
    implementation: Literal["log", "scaling"] = "log"
    n_init: Count = 1
    training: Literal["soft", "hard"] = "soft"
    tied_states: list[int] | tuple[int, ...] | np.ndarray[Any, Any] | None = None

    takes = Takes(missing=True, empty=False, categories=True, positive=True, sequence=True)
    card = Card(
        applications=("clustering", "density estimation"),
        use="Sequences of symbols whose hidden regime changes from step to step: tags, codes, discrete signals. For "
        "numbers use GaussianHMM.",
        steps=(
            "Draw start, transition and emission probabilities at random.",
            "Sum over all paths of states, forward and backward: the probability of each state and step.",
            "Divide the expected counts by their sums; repeat until the log-likelihood gains less than tol.",
        ),
        source="Baum, Petrie, Soules & Weiss (1970); Rabiner (1989)",
        see_also=("GaussianHMM", "MultinomialHMM", "FamilyHMM"),
        variants=({"emissionprob_prior": 1.5, "implementation": "scaling"},),
    )

    parts: ClassVar[Mapping[str, str]] = {"s": "startprob_", "t": "transmat_", "e": "emissionprob_"}
    emissionprob_ = HMMParameter("emission.members.probability")

    def _emission(self, parts: Parts, d: int) -> CategoricalEmission:
        levels = self._levels(parts, d)
        p = np.asarray(parts["emissionprob_"], dtype=np.float64)
        K, size = self._n_emissions, sum(levels)
        expected = size if self.n_features is None or d > 1 else self.n_features
        if p.shape != (K, expected) or (p < 0).any():
            raise ValueError(
                f"{type(self).__name__}: emissionprob_ must be probabilities of the shape {(K, expected)}; got "
                f"{p.shape}"
            )
        sums = np.add.reduceat(p, np.cumsum((0, *levels[:-1])), axis=1)
        if not np.allclose(sums, 1):
            row = int((~np.isclose(sums, 1)).any(axis=1).argmax())
            raise ValueError(f"{type(self).__name__}: row {row} of emissionprob_ must sum to 1; it sums to {sums[row]}")
        prior = pseudo_counts(self.emissionprob_prior)
        return CategoricalEmission(Categorical(levels), CategoricalMembers(p, levels), prior, "e" in self.params)

    def _started(self, missing: list[str], batch: SequenceBatch, w: Weights, rng: Rng) -> dict[str, Array]:
        levels = vars(self)["levels_"]
        drawn = [rng.rand(self._n_emissions, m) for m in levels]
        return {"emissionprob_": np.hstack([p / p.sum(axis=1, keepdims=True) for p in drawn])}

    def _initial_states(self, batch: SequenceBatch, w: Weights, rng: Rng) -> Codes:
        return renumbered(rng.randint(self.n_components, size=len(batch)), batch.allowed, self.n_components)
