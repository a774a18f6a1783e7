"""Passes over labelled sequences that learn wherever the best path is wrong; weights may be averaged on the way.

    d = phi(x, y) - phi(x, y'),   y' the best path, h its wrong labels, g = w.phi(x, y') - w.phi(x, y) >= 0

    perceptron           w <- w + d
    passive aggressive   w <- w + tau d,          cost = g + sqrt(h), or g + 1
                         tau = cost / |d|^2                       type 0
                         tau = min(c, cost / |d|^2)               type 1
                         tau = cost / (|d|^2 + 1 / (2 c))         type 2
    AROW                 w <- w + alpha S d,      S <- (S^-1 + diag(d^2) / gamma)^-1,  S diagonal
                         alpha = (g + h) / (gamma + d' S d)

Collins (2002); Crammer, Dekel, Keshet, Shalev-Shwartz & Singer (2006); Crammer, Kulesza & Dredze (2009), in the form of
CRFsuite (Okazaki 2007).
"""

from __future__ import annotations

from collections.abc import Callable
from typing import NamedTuple

import numpy as np

from fivefold.core.console.fit_progress import fit_steps, warn_kept_best
from fivefold.core.types import Indices
from fivefold.sequence.linear_chain.chain_model import ChainModel, LabelledSequences, pass_scratch
from fivefold.sequence.linear_chain.sequence_pass_loops import StepRule, online_pass


class PassResult(NamedTuple):
    """What a pass met: sequences that were wrong, and their loss over the number of all sequences."""

    mistakes: int
    loss: float


class OnlinePasses:
    """Weights that passes over the sequences change; their average can be read off at any time."""

    def __init__(
        self,
        data: LabelledSequences,
        model: ChainModel,
        rule: StepRule,
        *,
        average: bool,
        variance: float = 1.0,
    ) -> None:
        positions = data.positions
        self._sequences = (positions.offsets, positions.start, positions.attribute, positions.value, data.codes)
        self._features = (model.features.start, model.features.label, model.has_transition)
        self._work = pass_scratch(positions.offsets, model.n_labels)
        self._model, self._rule, self._average, self._clock = model, rule, average, 0.0
        self._weights = (model.state.copy(), model.transition.copy())
        self._sums = (np.zeros_like(model.state), np.zeros_like(model.transition))
        self._spread = (np.full_like(model.state, variance), np.full_like(model.transition, variance))
        count = len(model.state)
        touched = np.zeros(count, dtype=np.int64), np.zeros(count, dtype=bool)
        self._scratch = (np.zeros(count), np.zeros_like(model.transition), *touched)

    def learn(
        self,
        estimator: object,
        max_passes: int,
        next_order: Callable[[], Indices],
        *,
        tol: float = 0.0,
        report: Callable[[PassResult], None] = lambda found: None,
    ) -> tuple[PassResult, ...]:
        """Passes until one has no mistake, or less loss than `tol`."""
        found: list[PassResult] = []
        with fit_steps(estimator, "pass", max_passes, None) as monitor:
            try:
                while len(found) < max_passes:
                    found.append(self.run(next_order()))
                    report(found[-1])
                    if monitor(self.model, float(found[-1].mistakes)) or not found[-1].mistakes or found[-1].loss < tol:
                        break
            except KeyboardInterrupt:
                warn_kept_best(estimator, len(found), "pass")
        return tuple(found)

    def run(self, order: Indices) -> PassResult:
        """One pass."""
        mistakes, loss, self._clock = online_pass(
            order,
            self._sequences,
            self._features,
            self._weights,
            self._sums,
            self._spread,
            self._clock,
            self._rule,
            self._work,
            self._scratch,
        )
        return PassResult(int(mistakes), float(loss) / len(order))

    def model(self) -> ChainModel:
        """The model so far."""
        state, transition = self._weights[0].copy(), self._weights[1].copy()
        if self._average and self._clock:
            state -= self._sums[0] / (self._clock + 1)
            transition -= self._sums[1] / (self._clock + 1)
        return self._model.with_parameters(np.concatenate([state, transition[self._model.has_transition]]))
