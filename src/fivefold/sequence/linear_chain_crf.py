"""Linear-chain conditional random field: the probability of a sequence of labels given what is seen at its positions.

    P(y | x) = exp(sum_t sum_a value(t, a) w(a, y_t) + sum_t v(y_{t-1}, y_t)) / Z(x)

    min over (w, v)   sum_i s_i (-ln P(y_i | x_i)) + c1 |(w, v)|_1 + c2 |(w, v)|_2^2

Convex; its gradient is expected less observed counts of features (linear_chain/chain_likelihood.py). L-BFGS where c1 is
zero, orthant-wise L-BFGS otherwise. "ap" is the averaged perceptron on the same features, for which probabilities are
not calibrated.

Lafferty, McCallum & Pereira (2001); Andrew & Gao (2007); Okazaki (2007), CRFsuite, whose settings these are.
"""

from __future__ import annotations

from collections import deque
from collections.abc import Iterable
from dataclasses import KW_ONLY
from typing import Any, Literal

import numpy as np

from fivefold.core.console.fit_progress import fit_steps, warn_kept_best
from fivefold.core.estimators.params import Count, NonNegative
from fivefold.core.registry import Card, SearchRange
from fivefold.core.types import Array, Doubles, UserTable
from fivefold.optim.minimise import minimise
from fivefold.optim.objective import CompositeObjective, Monitor
from fivefold.optim.penalties.proximal_operators import L1
from fivefold.optim.proximal.orthant_wise import OrthantWise
from fivefold.optim.smooth.lbfgs import LBFGS
from fivefold.sequence.linear_chain.base import SequenceLabeller
from fivefold.sequence.linear_chain.chain_likelihood import ChainLikelihood
from fivefold.sequence.linear_chain.chain_model import Decoding, LabelledSequences
from fivefold.sequence.linear_chain.perceptron_passes import PerceptronPasses
from fivefold.sequence.linear_chain.sequence_input import split_by, without_empty

MAX_PASSES = 100  # of the averaged perceptron


class LinearChainCRF(SequenceLabeller):
    """Labels of the positions of sequences, by a conditional random field.

    Parameters
    ----------
    algorithm
        "lbfgs" minimises the penalised negative log-likelihood; "ap" makes passes of the averaged perceptron, at most
        100 or `max_iterations`, without penalties.
    min_freq
        features whose values add up to less than this are left out.
    all_possible_states
        give every attribute a feature with every label, also those it was never seen with.
    all_possible_transitions
        the same for pairs of labels.
    c1, c2
        strengths of the L1 and the L2 penalty.
    max_iterations
        steps at most.
    num_memories
        changes of point and gradient that L-BFGS remembers.
    epsilon
        stop where no entry of the gradient is larger.
    period, delta
        stop where the objective improved by less than this share of itself in this many steps.
    decoding
        "sequence" predicts the likeliest sequence of labels, "hamming" the likeliest label of each position, which
        makes the expected number of wrong labels least.

    Examples
    --------
    >>> X = [[{"word": "the"}, {"word": "dog"}, {"word": "barks"}], [{"word": "a"}, {"word": "cat"}]]
    >>> y = [["DET", "NOUN", "VERB"], ["DET", "NOUN"]]
    >>> crf = LinearChainCRF().fit(X, y)
    >>> crf.predict([[{"word": "the"}, {"word": "cat"}]])
    [['DET', 'NOUN']]
    """

    card = Card(
        applications=("classification",),
        use="Labels of words, letters or moments that depend on their neighbours: tagging, entities, segmentation. "
        "Attributes may overlap. Where rows stand alone, a logistic regression does the same.",
        steps=(
            "Number the attributes of all positions, and pair them with the labels they were seen with.",
            "Find the probabilities of labels and of pairs of labels by forward-backward.",
            "Move the weights until expected and observed counts of features differ by the penalty alone.",
            "Label a new sequence by its best path, or each position by its best label.",
        ),
        source="Lafferty, McCallum & Pereira (2001); Okazaki (2007)",
        see_also=("LogisticRegression",),
        variants=({"c1": 0.1, "decoding": "hamming"},),
        search={"c2": SearchRange(1e-3, 10.0)},
    )

    algorithm: Literal["lbfgs", "ap"] = "lbfgs"
    _: KW_ONLY
    min_freq: NonNegative = 0
    all_possible_states: bool = False
    all_possible_transitions: bool = False
    c1: NonNegative = 0.0
    c2: NonNegative = 1.0
    max_iterations: Count = 1000
    num_memories: Count = 6
    epsilon: NonNegative = 1e-5
    period: Count = 10
    delta: NonNegative = 1e-5
    decoding: Literal["sequence", "hamming"] = "sequence"

    def _learn(self, data: LabelledSequences) -> None:
        model = data.empty_model(self.min_freq, self.all_possible_states, self.all_possible_transitions)
        if self.algorithm == "ap":
            passes = PerceptronPasses(data, model, average=True)
            mistakes = passes.learn(self, min(self.max_iterations, MAX_PASSES), lambda: np.arange(data.n_sequences))
            self.history_ = tuple(map(float, mistakes))
            self.model_, self.reason_ = passes.model(), "converged" if mistakes[-1:] == (0,) else "max_iter"
            return
        smooth = ChainLikelihood.of(data, model, self.c2)
        objective = CompositeObjective(smooth, L1(self.c1 * smooth.unit)) if self.c1 > 0 else smooth
        solver = OrthantWise(self.num_memories) if self.c1 > 0 else LBFGS(self.num_memories)
        slow = stop_when_slow(self.period, self.delta)
        with fit_steps(self, "step", self.max_iterations, None) as monitor:

            def report(x: Array, value: float) -> bool:
                return monitor(lambda: model.with_parameters(smooth.unit * x), value) or slow(x, value)

            found = minimise(
                objective,
                np.zeros(model.n_parameters),
                solver,
                tol=self.epsilon,
                max_iter=self.max_iterations,
                monitor=report,
            )
        self.model_ = model.with_parameters(smooth.unit * found.x)
        self.history_, self.reason_ = found.history, found.reason
        if found.reason == "interrupted":
            warn_kept_best(self, found.steps, "step")

    def _decoding(self) -> Decoding:
        return self.decoding

    def predict_proba(self, X: UserTable) -> Any:
        """Probability of each label, (n, K) for a table, a list of (positions, K) for sequences."""
        positions, is_table = self._positions(X)
        P: Doubles = self.model_.marginals(without_empty(positions))
        return P.astype(self.model_.dtype, copy=False) if is_table else split_by(P, positions.offsets)

    def predict_marginals(self, X: Iterable[Any]) -> list[list[dict[Any, float]]]:
        """The probability of every label at every position, as dictionaries."""
        labels = self.classes_.tolist()
        return [[dict(zip(labels, p, strict=True)) for p in P.tolist()] for P in self.predict_proba(X)]

    def predict_marginals_single(self, xseq: Iterable[Any]) -> list[dict[Any, float]]:
        """The probability of every label at every position of one sequence."""
        return self.predict_marginals([xseq])[0]


def stop_when_slow(period: int, delta: float) -> Monitor:
    """A monitor that ends a descent which improved by less than a share `delta` of the value in `period` steps."""
    values: deque[float] = deque(maxlen=period)

    def monitor(x: Array, value: float) -> bool:
        slow = len(values) == period and values[0] - value < delta * abs(value)
        values.append(value)
        return slow

    return monitor
