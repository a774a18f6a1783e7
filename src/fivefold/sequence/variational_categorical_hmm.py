"""Hidden Markov model of symbols, fitted by variational Bayes: states that are not needed fall away.

    pi ~ Dir(a),  A_k ~ Dir(b),  B_k ~ Dir(c);   q(z, pi, A, B) = q(z) q(pi) prod_k q(A_k) q(B_k)

The bound of the evidence compares numbers of states without a test set. Beal (2003).
"""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import KW_ONLY
from typing import Any, ClassVar, Literal

import numpy as np

from fivefold.core.admission.takes import Takes
from fivefold.core.estimators.params import Count, Index, NonNegative, Seed
from fivefold.core.registry import Card
from fivefold.core.types import Codes, Rng, Weights
from fivefold.sequence.categorical_hmm import Prior
from fivefold.sequence.hidden_markov.base import HMMParameter, Parts
from fivefold.sequence.hidden_markov.emission_posteriors import DirichletEmission
from fivefold.sequence.hidden_markov.hmm import SequenceBatch
from fivefold.sequence.hidden_markov.initial_states import renumbered
from fivefold.sequence.hidden_markov.symbols import SymbolMixin
from fivefold.sequence.hidden_markov.variational_base import MeanParameter, VariationalBaseHMM, positive, prior_array


class VariationalCategoricalHMM(SymbolMixin, VariationalBaseHMM):
    """Hidden Markov model of symbols with distributions of its parameters.

    Parameters
    ----------
    emissionprob_prior
        parameters of the Dirichlet prior of the symbols of each state: a number, or one per state and symbol; None is
        one over the number of symbols.
    n_features
        number of symbols; by default the largest code that fit sees, and one.

    Attributes
    ----------
    emissionprob_prior_, emissionprob_posterior_
        parameters of the Dirichlet distributions of the symbols of each state.
    emissionprob_
        mean probability of each symbol in each state.

    Examples
    --------
    >>> import numpy as np
    >>> from fivefold.sequence import VariationalCategoricalHMM
    >>> X = np.array([0, 1, 2] * 20)[:, None]
    >>> model = VariationalCategoricalHMM(5, random_state=0).fit(X)
    >>> len(set(model.predict(X).tolist()))
    3
    """

    n_components: Count = 1
    startprob_prior: Prior | None = None
    transmat_prior: Prior | None = None
    emissionprob_prior: Prior | None = None
    n_features: Count | None = None
    algorithm: Literal["viterbi", "map"] = "viterbi"
    random_state: Seed = None
    n_iter: Index = 100
    tol: NonNegative = 1e-6
    verbose: bool = False
    params: str = "ste"
    init_params: str = "ste"
    implementation: Literal["log", "scaling"] = "log"
    _: KW_ONLY
    n_init: Count = 1

    takes = Takes(missing=True, empty=False, categories=True, positive=True, sequence=True)
    card = Card(
        applications=("clustering", "density estimation"),
        use="Sequences of symbols with an unknown number of regimes: too many states are given, and those that the "
        "data do not need keep their priors.",
        steps=(
            "Draw parameters of the posteriors at random.",
            "Sum over all paths of states, with the exponentials of expected logarithms for probabilities.",
            "Add the expected counts to the parameters of the priors; repeat until the bound gains less than tol.",
        ),
        source="Beal (2003)",
        see_also=("CategoricalHMM", "VariationalGaussianHMM"),
        variants=({"emissionprob_prior": 0.5, "transmat_prior": 1.0},),
    )

    symbol_part: ClassVar[str] = "emissionprob_posterior_"
    leaders: ClassVar[Mapping[str, str]] = {**VariationalBaseHMM.leaders, "E": "e"}
    parts: ClassVar[Mapping[str, str]] = {
        **VariationalBaseHMM.parts,
        "e": "emissionprob_posterior_",
        "E": "emissionprob_prior_",
    }
    emissionprob_prior_ = HMMParameter("emission.prior")
    emissionprob_posterior_ = HMMParameter("emission.alpha")
    emissionprob_ = MeanParameter("mean_model.emission.members.probability")

    def _emission(self, parts: Parts, d: int) -> DirichletEmission:
        levels, K = self._levels(parts, d), self.n_components
        size = sum(levels)
        expected = size if self.n_features is None or d > 1 else self.n_features
        alpha = self._concentration(parts, "emissionprob_posterior_", (K, expected))
        prior = self._concentration(parts, "emissionprob_prior_", (K, expected))
        return DirichletEmission(levels, alpha, prior, "e" in self.params)

    def _started(self, missing: list[str], batch: SequenceBatch, w: Weights, rng: Rng) -> dict[str, Any]:
        K, levels = self.n_components, vars(self)["levels_"]
        shape, found = (K, sum(levels)), dict[str, Any]()
        each = np.concatenate([np.full(m, 1.0 / m) for m in levels])
        if "E" in missing:
            found["emissionprob_prior_"] = prior_array(self.emissionprob_prior, each, shape)
        if "e" in missing:
            number = self.emissionprob_prior if isinstance(self.emissionprob_prior, int | float) else None
            drawn = [rng.dirichlet(np.full(m, 1.0 / m if number is None else number), size=K) for m in levels]
            found["emissionprob_posterior_"] = positive(np.hstack(drawn) * w.sum() / K)
        return found

    def _initial_states(self, batch: SequenceBatch, w: Weights, rng: Rng) -> Codes:
        return renumbered(rng.randint(self.n_components, size=len(batch)), batch.allowed, self.n_components)
