"""Structured support vector machine: right labellings score higher than wrong ones by the number of wrong labels.

    min over w   1/2 |w|^2 + C sum_i s_i max_y [ Hamming(y_i, y) + w.phi(x_i, y) - w.phi(x_i, y_i) ]

The dual has a distribution over labellings per sequence, of which only the mean features matter: shares of labels at
positions and counts of pairs. Block-coordinate Frank-Wolfe takes a sequence, finds its worst labelling by Viterbi with
one added to every wrong label, and moves the mean towards it by the best step, which has a closed form. The gaps of all
sequences add up to an upper bound on how far the weights are from the minimum.

Tsochantaridis, Joachims, Hofmann & Altun (2005); Lacoste-Julien, Jaggi, Schmidt & Pletscher (2013).
"""

from __future__ import annotations

from dataclasses import KW_ONLY

import numpy as np

from fivefold.core.console.fit_progress import fit_steps, warn_kept_best
from fivefold.core.estimators.params import Count, NonNegative, Positive, Seed
from fivefold.core.random_state import check_random_state
from fivefold.core.registry import Card, SearchRange
from fivefold.core.types import Indices
from fivefold.inference.chains.best_paths import best_path
from fivefold.inference.chains.chain import Chain
from fivefold.sequence.linear_chain.base import SequenceLabeller
from fivefold.sequence.linear_chain.chain_model import ChainModel, LabelledSequences, pass_scratch
from fivefold.sequence.linear_chain.sequence_pass_loops import frank_wolfe_pass


class StructuredSVM(SequenceLabeller):
    """Labels of sequences with a margin that grows with the number of wrong labels.

    Parameters
    ----------
    C
        price of a wrong label beside the length of the weights.
    tol
        stop where the minimum is at most this share of the objective away.
    max_iter
        passes over the sequences at most.
    all_possible_states, all_possible_transitions
        give every attribute, or label, a feature with every label, also those it was never seen with.
    random_state
        seed of the order in which sequences are visited.

    Attributes
    ----------
    objective_, gap_
        the objective, and how much lower the minimum can be.

    Examples
    --------
    >>> X = [[{"word": "the"}, {"word": "dog"}, {"word": "barks"}], [{"word": "a"}, {"word": "cat"}]]
    >>> y = [["DET", "NOUN", "VERB"], ["DET", "NOUN"]]
    >>> StructuredSVM(random_state=0).fit(X, y).predict([[{"word": "the"}, {"word": "cat"}]])
    [['DET', 'NOUN']]
    """

    card = Card(
        applications=("classification",),
        use="Labels of sequences where single wrong labels count and probabilities are not asked for.",
        steps=(
            "Find the labelling of a sequence that violates its margin most.",
            "Move the mean features of the sequence towards it, as far as the dual falls.",
            "Stop when the gaps of all sequences are small.",
        ),
        source="Tsochantaridis et al. (2005); Lacoste-Julien et al. (2013)",
        see_also=("LinearChainCRF", "StructuredPerceptron"),
        search={"C": SearchRange(0.01, 10.0)},
        order_dependent=True,
    )

    C: Positive = 1.0
    _: KW_ONLY
    tol: NonNegative = 1e-3
    max_iter: Count = 200
    all_possible_states: bool = True
    all_possible_transitions: bool = True
    random_state: Seed = None

    def _learn(self, data: LabelledSequences) -> None:
        rng = check_random_state(self.random_state)
        problem = FrankWolfe(
            data, data.empty_model(0.0, self.all_possible_states, self.all_possible_transitions), self.C
        )
        value, gap, done = np.inf, np.inf, 0
        with fit_steps(self, "pass", self.max_iter, None) as monitor:
            try:
                while done < self.max_iter:
                    seen = problem.run(rng.permutation(data.n_sequences))
                    done += 1
                    if monitor(problem.model, seen):
                        break
                    if seen <= 2 * self.tol * max(problem.length(), 1e-300) or done == self.max_iter:
                        value, gap = problem.value_and_gap()
                        if gap <= self.tol * value:
                            break
            except KeyboardInterrupt:
                warn_kept_best(self, done, "pass")
        self.model_, self.n_iter_ = problem.model(), done
        self.objective_, self.gap_ = (value, gap) if np.isfinite(value) else problem.value_and_gap()


class FrankWolfe:
    """The mixtures of labellings of all sequences, and the weights that follow from them."""

    def __init__(self, data: LabelledSequences, model: ChainModel, C: float) -> None:
        positions, K, n = data.positions, model.n_labels, data.n_sequences
        self._data, self._model, self._price = data, model, C * data.w.astype(np.float64)
        self._sequences = (positions.offsets, positions.start, positions.attribute, positions.value, data.codes)
        self._features = (model.features.start, model.features.label, model.has_transition)
        self._work = pass_scratch(positions.offsets, K)
        self._state, self._transition = model.state.copy(), model.transition.copy()
        self._shares = np.zeros((positions.n_positions, K))
        self._shares[np.arange(len(self._shares)), data.codes] = 1.0
        self._pairs = np.zeros((n, K, K))
        inside = np.setdiff1d(np.arange(len(data.codes)), positions.offsets[:-1])
        owner = np.repeat(np.arange(n), np.diff(positions.offsets))
        np.add.at(self._pairs, (owner[inside], data.codes[inside - 1], data.codes[inside]), 1.0)
        self._scratch = np.zeros_like(self._state)

    def run(self, order: Indices) -> float:
        """One pass over the sequences; the sum of the gaps that it met."""
        mixtures = self._shares, self._pairs, self._price
        weights = self._state, self._transition
        return float(
            frank_wolfe_pass(order, self._sequences, self._features, *weights, *mixtures, self._work, self._scratch)
        )

    def length(self) -> float:
        """Half the squared length of the weights."""
        return 0.5 * float(self._state @ self._state + (self._transition**2).sum())

    def model(self) -> ChainModel:
        """The model so far."""
        x = np.concatenate([self._state, self._transition[self._model.has_transition]])
        return self._model.with_parameters(x.copy())

    def value_and_gap(self) -> tuple[float, float]:
        """The objective at the present weights, and an upper bound on its distance from the minimum."""
        data, chain = self._data, self.model().chain(self._data.positions)
        right = chain.path_log_prob(data.codes)
        costs = chain.log_emission + 1.0
        costs[np.arange(len(costs)), data.codes] -= 1.0
        worst = best_path(Chain(chain.log_start, chain.log_transition, costs, chain.offsets)).value
        value = self.length() + float(self._price @ (worst - right))
        wrong = 1.0 - self._shares[np.arange(len(data.codes)), data.codes]
        dual = float(np.repeat(self._price, np.diff(chain.offsets)) @ wrong) - self.length()
        return value, value - dual
