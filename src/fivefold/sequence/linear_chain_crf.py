"""Linear-chain conditional random field: the probability of a sequence of labels given what is seen at its positions.

    P(y | x) = exp(sum_t sum_a value(t, a) w(a, y_t) + sum_t v(y_{t-1}, y_t)) / Z(x)

    min over (w, v)   sum_i s_i (-ln P(y_i | x_i)) + c1 |(w, v)|_1 + c2 |(w, v)|_2^2

Convex; its gradient is expected less observed counts of features (linear_chain/chain_likelihood.py). L-BFGS where c1 is
zero, orthant-wise L-BFGS otherwise; or stochastic gradient descent (linear_chain/chain_sgd.py). The others learn from
best paths that are wrong (linear_chain/online_passes.py), and their probabilities are not calibrated.

Lafferty, McCallum & Pereira (2001); Andrew & Gao (2007); Okazaki (2007), CRFsuite, whose settings these are.
"""

from __future__ import annotations

import sys
from collections import deque
from collections.abc import Iterable
from dataclasses import KW_ONLY
from typing import Any, Literal

import numpy as np

from fivefold.core.console.fit_progress import fit_steps, warn_kept_best
from fivefold.core.estimators.params import Count, NonNegative, Positive
from fivefold.core.random_state import check_random_state
from fivefold.core.registry import Card, SearchRange
from fivefold.core.types import Array, Doubles, UserTable
from fivefold.optim.minimise import minimise
from fivefold.optim.objective import CompositeObjective, Monitor
from fivefold.optim.penalties.proximal_operators import L1
from fivefold.optim.proximal.orthant_wise import OrthantWise
from fivefold.optim.smooth.lbfgs import LBFGS
from fivefold.sequence.linear_chain.base import SequenceLabeller
from fivefold.sequence.linear_chain.chain_likelihood import ChainLikelihood
from fivefold.sequence.linear_chain.chain_model import ChainModel, Decoding, LabelledSequences
from fivefold.sequence.linear_chain.chain_sgd import Calibration, ChainSGD
from fivefold.sequence.linear_chain.online_passes import OnlinePasses
from fivefold.sequence.linear_chain.sequence_input import split_by, without_empty
from fivefold.sequence.linear_chain.sequence_pass_loops import AROW, PASSIVE_AGGRESSIVE, PERCEPTRON, StepRule

MAX_STEPS, MAX_PASSES = 1000, 100  # of lbfgs and l2sgd, and of ap, pa and arow, unless told


class LinearChainCRF(SequenceLabeller):
    """Labels of the positions of sequences, by a conditional random field.

    Parameters
    ----------
    algorithm
        "lbfgs" minimises the penalised negative log-likelihood, "l2sgd" too, with c2 alone, a sequence at a time. "ap",
        "pa" and "arow" make passes of the averaged perceptron, of passive aggressive steps and of AROW, without
        penalties or weights of sequences. None is "lbfgs".
    min_freq
        features whose values add up to less than this are left out.
    all_possible_states
        give every attribute a feature with every label, also those it was never seen with.
    all_possible_transitions
        the same for pairs of labels.
    c1, c2
        strengths of the L1 and the L2 penalty.
    max_iterations
        steps or passes at most; None is 1000, and 100 for ap, pa and arow.
    num_memories
        changes of point and gradient that L-BFGS remembers.
    epsilon
        lbfgs: stop where no entry of the gradient is larger; ap, pa and arow: where the loss per sequence is smaller.
    period, delta
        lbfgs and l2sgd: stop where the objective improved by less than this share of itself in this many steps. None is
        1e-5 and 1e-6.
    linesearch, max_linesearch
        of CRFsuite's L-BFGS. Ours always meets the strong Wolfe conditions; the minimum is the same.
    calibration_eta, calibration_rate, calibration_samples, calibration_candidates, calibration_max_trials
        l2sgd: the first rate of learning that is tried, the ratio of one to the next, the sequences of a trial, how
        many rates that help, and how many in all.
    pa_type, c, error_sensitive, averaging
        pa: steps without slack (0), of length c at most (1), or with squared slack (2); whether the margin grows with
        the square root of the number of wrong labels; whether weights are averaged over all sequences.
    variance, gamma
        arow: the variance of every weight at the start, and how slowly it shrinks.
    verbose
        whether the loss of each step is printed to the error output.
    model_filename, keep_tempfiles, trainer_cls
        of sklearn-crfsuite; only their defaults are taken, as a model is no file: `core.storage` saves it.
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

    algorithm: Literal["lbfgs", "l2sgd", "ap", "pa", "arow"] | None = "lbfgs"
    min_freq: NonNegative = 0
    all_possible_states: bool = False
    all_possible_transitions: bool = False
    c1: NonNegative = 0.0
    c2: NonNegative = 1.0
    max_iterations: Count | None = None
    num_memories: Count = 6
    epsilon: NonNegative = 1e-5
    period: Count = 10
    delta: NonNegative | None = None
    linesearch: Literal["MoreThuente", "Backtracking", "StrongBacktracking"] = "MoreThuente"
    max_linesearch: Count = 20
    calibration_eta: Positive = 0.1
    calibration_rate: Positive = 2.0
    calibration_samples: Count = 1000
    calibration_candidates: Count = 10
    calibration_max_trials: Count = 20
    pa_type: Literal[0, 1, 2] = 1
    c: Positive = 1.0
    error_sensitive: bool = True
    averaging: bool = True
    variance: Positive = 1.0
    gamma: Positive = 1.0
    verbose: bool = False
    model_filename: None = None
    keep_tempfiles: Literal[False] = False
    trainer_cls: None = None
    _: KW_ONLY
    decoding: Literal["sequence", "hamming"] = "sequence"

    def _learn(self, data: LabelledSequences) -> None:
        model = data.empty_model(self.min_freq, self.all_possible_states, self.all_possible_transitions)
        algorithm = self.algorithm or "lbfgs"
        if algorithm == "lbfgs":
            self._minimise(data, model)
        elif algorithm == "l2sgd":
            self._descend(data, model)
        else:
            self._make_passes(data, model, self._step_rule(algorithm))

    def _minimise(self, data: LabelledSequences, model: ChainModel) -> None:
        """By L-BFGS."""
        smooth, steps = ChainLikelihood.of(data, model, self.c2), self.max_iterations or MAX_STEPS
        objective = CompositeObjective(smooth, L1(self.c1 * smooth.unit)) if self.c1 > 0 else smooth
        solver = OrthantWise(self.num_memories) if self.c1 > 0 else LBFGS(self.num_memories)
        slow = stop_when_slow(self.period, 1e-5 if self.delta is None else self.delta)
        with fit_steps(self, "step", steps, None) as monitor:

            def report(x: Array, value: float) -> bool:
                self._say("step", value)
                return monitor(lambda: model.with_parameters(smooth.unit * x), value) or slow(x, value)

            x0 = np.zeros(model.n_parameters)
            found = minimise(objective, x0, solver, tol=self.epsilon, max_iter=steps, monitor=report)
        self.model_ = model.with_parameters(smooth.unit * found.x)
        self.history_, self.reason_ = found.history, found.reason
        if found.reason == "interrupted":
            warn_kept_best(self, found.steps, "step")

    def _descend(self, data: LabelledSequences, model: ChainModel) -> None:
        """By stochastic gradient descent."""
        if self.c1 > 0:
            raise ValueError(f"{type(self).__name__}: l2sgd has no L1 penalty: leave c1={self.c1} out, or take lbfgs")
        problem, rng = ChainSGD(data, model, self.c2), check_random_state(0)
        how = Calibration(
            self.calibration_eta,
            self.calibration_rate,
            self.calibration_samples,
            self.calibration_candidates,
            self.calibration_max_trials,
        )
        problem.calibrate(how, rng)
        steps, delta = self.max_iterations or MAX_STEPS, 1e-6 if self.delta is None else self.delta
        with fit_steps(self, "pass", steps, None) as monitor:

            def report(found: ChainModel, value: float) -> bool:
                self._say("pass", value)
                return monitor(lambda: found, value)

            self.model_, self.history_, self.reason_ = problem.learn(steps, self.period, delta, rng, report)

    def _make_passes(self, data: LabelledSequences, model: ChainModel, rule: StepRule) -> None:
        """By steps where best paths are wrong."""
        if (data.w != data.w[0]).any():
            raise ValueError(
                f"{type(self).__name__}: algorithm={self.algorithm!r} takes no sample_weight; lbfgs and l2sgd do"
            )
        average = rule.kind == PERCEPTRON or (rule.kind != AROW and self.averaging)
        passes = OnlinePasses(data, model, rule, average=average, variance=self.variance if rule.kind == AROW else 1.0)
        found = passes.learn(
            self,
            self.max_iterations or MAX_PASSES,
            lambda: np.arange(data.n_sequences),
            tol=self.epsilon,
            report=lambda one: self._say("pass", one.loss),
        )
        self.model_, self.history_ = passes.model(), tuple(one.loss for one in found)
        done = found[-1].mistakes == 0 or found[-1].loss < self.epsilon if found else False
        self.reason_ = "converged" if done else "max_iter"

    def _step_rule(self, algorithm: str) -> StepRule:
        if algorithm == "ap":
            return StepRule(PERCEPTRON)
        if algorithm == "arow":
            return StepRule(AROW, gamma=float(self.gamma))
        return StepRule(PASSIVE_AGGRESSIVE + self.pa_type, float(self.c), bool(self.error_sensitive))

    def _say(self, noun: str, value: float) -> None:
        if self.verbose:
            print(f"{type(self).__name__}: {noun}, loss {value:.6g}", file=sys.stderr)

    @property
    def num_attributes_(self) -> int:
        """The number of attributes that have a feature."""
        return len(self.attributes_)

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
