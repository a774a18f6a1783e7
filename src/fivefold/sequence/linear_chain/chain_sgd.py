"""Stochastic gradient descent on the penalised likelihood of sequences, with a calibrated first step.

    min over w   sum_i s_i (ln Z_i - score_i) + c2 |w|^2        ridge = 2 c2 / n,  step t:  1 / (ridge (t0 + t))

t0 = 1 / (ridge eta) is calibrated: passes over some sequences from weights of zero with eta, eta times the rate, ... as
long as the objective falls below that of zero, then with smaller ones; the eta of the least objective is taken.

Bottou (2010), Large-scale machine learning with stochastic gradient descent; CRFsuite (Okazaki 2007), whose settings
these are.
"""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass
from typing import Literal

import numpy as np

from fivefold.core.types import Doubles, Indices, Rng
from fivefold.sequence.linear_chain.chain_model import ChainModel, LabelledSequences
from fivefold.sequence.linear_chain.chain_sgd_loops import sgd_pass

MIN_RIDGE = 1e-12  # of a step's rate: without a penalty steps would never become shorter


@dataclass(frozen=True)
class Calibration:
    """How the first step is found."""

    eta: float = 0.1  # the first rate tried
    rate: float = 2.0  # between one and the next
    samples: int = 1000  # sequences of a trial, at most
    candidates: int = 10  # rates that improve on weights of zero, in either direction
    max_trials: int = 20


class ChainSGD:
    """Weights that passes over the sequences change."""

    def __init__(self, data: LabelledSequences, model: ChainModel, c2: float) -> None:
        positions, K = data.positions, model.n_labels
        n = positions.n_positions
        self._data, self._model = data, model
        self._sequences = (positions.offsets, positions.start, positions.attribute, positions.value, data.codes)
        self._features = (model.features.start, model.features.label, model.has_transition)
        self._price = data.w.astype(np.float64)
        self._ridge = max(2 * c2 / float(self._price.sum()), MIN_RIDGE)
        tables = np.empty((n, K)), np.empty((n, K)), np.empty((K, K)), np.empty((n, K)), np.empty(n), np.arange(n)
        self._work = (*tables, np.empty((1, K, K)), np.empty((3 + K, K)), np.empty((0, K, K)))
        self._state, self._transition, self._clock, self._t0 = model.state.copy(), model.transition.copy(), 0.0, 1.0

    def calibrate(self, how: Calibration, rng: Rng) -> float:
        """Find the rate of the first step, from which passes begin with weights of zero."""
        order = rng.permutation(self._data.n_sequences)[: how.samples]
        lengths = np.diff(self._data.positions.offsets)[order]
        zero = float(self._price[order] @ lengths) * np.log(self._model.n_labels)
        best, least = how.eta, np.inf
        eta, growing, left = how.eta, True, how.candidates
        for _ in range(how.max_trials):
            self._restart(eta)
            loss = self._objective(self.run(order), float(self._price[order].sum()))
            better = np.isfinite(loss) and loss < zero
            left -= better
            if better and loss < least:
                best, least = eta, loss
            if growing and better and left > 0:
                eta *= how.rate
            elif growing:
                growing, left, eta = False, how.candidates, how.eta / how.rate
            else:
                eta /= how.rate
            if not growing and left <= 0:
                break
        self._restart(best)
        return best

    def learn(
        self, max_passes: int, period: int, delta: float, rng: Rng, monitor: Callable[[ChainModel, float], bool]
    ) -> tuple[ChainModel, tuple[float, ...], Literal["converged", "max_iter", "interrupted"]]:
        """Passes until the objective falls by less than a share `delta` in `period` of them; the best weights."""
        values, best = list[float](), (np.inf, self.model())
        for done in range(max_passes):
            loss = self.run(rng.permutation(self._data.n_sequences))
            values.append(self._objective(loss, float(self._price.sum())))
            if values[-1] < best[0]:
                best = values[-1], self.model()
            if monitor(self.model(), values[-1]):
                return best[1], tuple(values), "interrupted"
            if done >= period and (values[-1 - period] - values[-1]) / values[-1] < delta:
                return best[1], tuple(values), "converged"
        return best[1], tuple(values), "max_iter"

    def run(self, order: Indices) -> float:
        """One pass; the loss of each sequence before its step, summed."""
        rate = self._ridge, self._t0
        loss, self._clock = sgd_pass(
            order,
            self._sequences,
            self._price,
            self._features,
            self._state,
            self._transition,
            rate,
            self._clock,
            self._work,
        )
        return float(loss)

    def model(self) -> ChainModel:
        """The model so far."""
        return self._model.with_parameters(self._parameters())

    def _parameters(self) -> Doubles:
        return np.concatenate([self._state, self._transition[self._model.has_transition]])

    def _objective(self, loss: float, total: float) -> float:
        """The loss with the share of the penalty that sequences of this total weight have."""
        x = self._parameters()
        return loss + 0.5 * self._ridge * total * float(x @ x)

    def _restart(self, eta: float) -> None:
        self._state[:], self._transition[:], self._clock = 0.0, 0.0, 0.0
        self._t0 = max(1.0 / (self._ridge * eta), 2.0)  # the first step shrinks weights by half at most
