"""What users see of hidden Markov models fitted by variational Bayes, with hmmlearn's names.

Every parameter has a prior (`..._prior_`) and a posterior (`..._posterior_`), which can be set before a fit. A letter
of `params` and `init_params` stands for all of them that belong together: `leaders` says for each of the others which.
"""

from __future__ import annotations

from collections.abc import Mapping
from typing import TYPE_CHECKING, Any, ClassVar

import numpy as np

from fivefold.core.estimators.base import learned
from fivefold.core.random_state import check_random_state
from fivefold.core.types import Array, Doubles, Rng, Table, Weights
from fivefold.sequence.hidden_markov.base import BaseHMM, HMMParameter, Parts
from fivefold.sequence.hidden_markov.hmm import HiddenMarkovModel, SequenceBatch
from fivefold.sequence.hidden_markov.initial_states import dirichlet_start
from fivefold.sequence.hidden_markov.variational_model import MIN_CONCENTRATION, VariationalHMM


class MeanParameter(learned):
    """The mean of a posterior, which follows from it."""

    def __set__(self, estimator: object, value: object) -> None:
        name = self._name.strip("_")
        raise ValueError(
            f"{type(estimator).__name__}: {name}_ is the mean of a posterior and follows from it; set "
            f"{name}_posterior_ instead"
        )


class VariationalBaseHMM(BaseHMM):
    """Base of the variational hidden Markov models.

    Parameters
    ----------
    startprob_prior
        parameters of the Dirichlet prior of the start probabilities: a number, or one per state; None is one over the
        number of states.
    transmat_prior
        the same for each row of the transition probabilities.

    Attributes
    ----------
    startprob_prior_, startprob_posterior_
        parameters of the Dirichlet distributions of the start probabilities.
    transmat_prior_, transmat_posterior_
        those of each row of the transition probabilities.
    startprob_, transmat_
        means of the posteriors, which answer questions about sequences.
    monitor_
        lower bounds of the log evidence, and whether they have converged.
    """

    if TYPE_CHECKING:  # settings of the other models, which these do not have
        training: str = "soft"
        tied_states: Any = None
    else:
        training: ClassVar[str] = "soft"
        tied_states: ClassVar[None] = None
    leaders: ClassVar[Mapping[str, str]] = {"S": "s", "T": "t"}
    parts: ClassVar[Mapping[str, str]] = {
        "s": "startprob_posterior_",
        "S": "startprob_prior_",
        "t": "transmat_posterior_",
        "T": "transmat_prior_",
    }
    startprob_prior_ = HMMParameter("start_prior")
    startprob_posterior_ = HMMParameter("start")
    transmat_prior_ = HMMParameter("transition_prior")
    transmat_posterior_ = HMMParameter("transition")
    startprob_ = MeanParameter("mean_model.start")
    transmat_ = MeanParameter("mean_model.transition")

    def _fit(self, X: SequenceBatch, w: Weights) -> None:
        for letter, leader in self.leaders.items():
            if leader in self.init_params:
                vars(self).pop(self.parts[letter], None)
        super()._fit(X, w)

    def _fitted(self) -> HiddenMarkovModel:
        model: Any = super()._fitted()
        found: HiddenMarkovModel = model.mean_model
        return found

    def _made(self, parts: Parts, X: Table | None, training: bool = False) -> Any:
        """The model with these posteriors and priors, which are checked."""
        K = self.n_components
        return VariationalHMM(
            self._concentration(parts, "startprob_posterior_", (K,)),
            self._concentration(parts, "transmat_posterior_", (K, K)),
            self._emission(parts, self._width(parts, X)),
            self._concentration(parts, "startprob_prior_", (K,)),
            self._concentration(parts, "transmat_prior_", (K, K)),
            "".join(letter for letter in "st" if letter in self.params),
        )

    def _concentration(self, parts: Parts, name: str, shape: tuple[int, ...]) -> Doubles:
        """Parameters of Dirichlet distributions, or other numbers that are not negative."""
        found = np.asarray(parts[name], dtype=np.float64) if name in parts else np.empty(0)
        if found.shape != shape or not (found >= 0).all():
            raise ValueError(
                f"{type(self).__name__}: {name} must hold numbers from zero up, of the shape {shape}; got "
                f"{'the shape ' + str(found.shape) if found.shape != shape else found.min()}"
            )
        return found

    def _all_started(self, new: list[str], X: SequenceBatch, w: Weights, run: int) -> dict[str, Array]:
        """Priors as given, posteriors at random around them; draws are those of hmmlearn from the same seed."""
        K, rows, found = self.n_components, self._row_weights(X, w), dict[str, Array]()
        rng, second = (check_random_state(self.random_state) for _ in range(2))
        for generator in (rng, second) if rng is not second else (rng,):
            for _ in range(run):
                generator.uniform(size=K * K)  # another place in the stream for another run
        if "S" in new:
            found["startprob_prior_"] = prior_array(self.startprob_prior, 1 / K, (K,))
        if "s" in new:
            found["startprob_posterior_"] = positive(dirichlet_start(K, rng) * w.sum())
        if "T" in new:
            found["transmat_prior_"] = prior_array(self.transmat_prior, 1 / K, (K, K))
        if "t" in new:
            found["transmat_posterior_"] = positive(dirichlet_start(K, rng, K) * rows.sum() / K)
        emission = [letter for letter in new if letter.lower() not in "st"]
        return {**found, **(self._started(emission, X, rows, second) if emission else {})}

    def _started(self, missing: list[str], batch: SequenceBatch, w: Weights, rng: Rng) -> dict[str, Any]:
        raise TypeError(f"{type(self).__name__} does not say where to start")


def prior_array(given: Any, default: Any, shape: tuple[int, ...]) -> Doubles:
    """A prior in this shape; by default this one."""
    return np.array(np.broadcast_to(np.asarray(default if given is None else given, dtype=np.float64), shape))


def positive(drawn: Doubles) -> Doubles:
    """Parameters that were drawn, none of them zero."""
    return np.maximum(drawn, MIN_CONCENTRATION)
