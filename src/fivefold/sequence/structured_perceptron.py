"""Structured perceptron: where the best path is wrong, the weights move from its features to the right ones.

    w <- w + phi(x, y) - phi(x, argmax_y' w.phi(x, y'))

If some w separates every sequence from all its wrong labellings by gamma |w|, there are at most (R / gamma)^2 mistakes,
R the largest distance between the features of two labellings. The average of the weights over all steps is the better
predictor where nothing separates.

Collins (2002).
"""

from __future__ import annotations

from dataclasses import KW_ONLY
from typing import Self

import numpy as np
from sklearn.callback import with_callbacks

from fivefold.core.estimators.params import Count, Seed
from fivefold.core.random_state import check_random_state
from fivefold.core.registry import Card
from fivefold.core.types import UserTable, UserTarget
from fivefold.sequence.linear_chain.base import SequenceLabeller
from fivefold.sequence.linear_chain.chain_model import LabelledSequences
from fivefold.sequence.linear_chain.online_passes import OnlinePasses
from fivefold.sequence.linear_chain.sequence_pass_loops import PERCEPTRON, StepRule


class StructuredPerceptron(SequenceLabeller):
    """Labels of sequences, by a perceptron on the features of whole labellings.

    Parameters
    ----------
    max_iter
        passes over the sequences at most; a pass without a mistake is the last.
    average
        predict by the mean of the weights over all steps.
    shuffle
        visit the sequences in another order in each pass.
    all_possible_states, all_possible_transitions
        give every attribute, or label, a feature with every label, also those it was never seen with.
    random_state
        seed of the order in which sequences are visited.

    Examples
    --------
    >>> X = [[{"word": "the"}, {"word": "dog"}, {"word": "barks"}], [{"word": "a"}, {"word": "cat"}]]
    >>> y = [["DET", "NOUN", "VERB"], ["DET", "NOUN"]]
    >>> StructuredPerceptron(random_state=0).fit(X, y).predict([[{"word": "the"}, {"word": "cat"}]])
    [['DET', 'NOUN']]
    """

    card = Card(
        applications=("classification",),
        use="Taggers that train in seconds on many sequences, and need no probabilities. A conditional random field is "
        "slower and usually better by a little.",
        steps=(
            "Find the best labels of the next sequence under the weights so far.",
            "Where they are wrong, add the features of the right labels and subtract those of the best ones.",
            "Predict by the average of all weights on the way.",
        ),
        source="Collins (2002)",
        see_also=("LinearChainCRF", "StructuredSVM"),
        variants=({"average": False},),
        order_dependent=True,
    )

    max_iter: Count = 20
    _: KW_ONLY
    average: bool = True
    shuffle: bool = True
    all_possible_states: bool = False
    all_possible_transitions: bool = False
    random_state: Seed = None

    @with_callbacks
    def fit(self, X: UserTable, y: UserTarget) -> Self:
        """Learn from sequences, or rows, and their labels."""
        return self._fit_admitted(X, y, None)

    def _learn(self, data: LabelledSequences) -> None:
        rng = check_random_state(self.random_state)
        model = data.empty_model(0.0, self.all_possible_states, self.all_possible_transitions)
        passes = OnlinePasses(data, model, StepRule(PERCEPTRON), average=self.average)
        n = data.n_sequences
        found = passes.learn(self, self.max_iter, lambda: rng.permutation(n) if self.shuffle else np.arange(n))
        self.model_, self.n_iter_ = passes.model(), len(found)
        self.mistakes_ = tuple(one.mistakes for one in found)
