"""Passes of the structured perceptron over labelled sequences, with the average of the weights on the way."""

from __future__ import annotations

from collections.abc import Callable

import numpy as np

from fivefold.core.console.fit_progress import fit_steps, warn_kept_best
from fivefold.core.types import Indices
from fivefold.sequence.linear_chain.chain_model import ChainModel, LabelledSequences, pass_scratch
from fivefold.sequence.linear_chain.sequence_pass_loops import perceptron_pass


class PerceptronPasses:
    """Weights that passes over the sequences change; their average can be read off at any time."""

    def __init__(self, data: LabelledSequences, model: ChainModel, average: bool) -> None:
        positions = data.positions
        self._sequences = (positions.offsets, positions.start, positions.attribute, positions.value, data.codes)
        self._features = (model.features.start, model.features.label, model.has_transition)
        self._work = pass_scratch(positions.offsets, model.n_labels)
        self._model, self._average, self._clock = model, average, 0.0
        self._state, self._transition = model.state.copy(), model.transition.copy()
        self._sums = (np.zeros_like(model.state), np.zeros_like(model.transition))

    def learn(self, estimator: object, max_passes: int, next_order: Callable[[], Indices]) -> tuple[int, ...]:
        """Passes until one has no mistake; the number of sequences that each got wrong."""
        mistakes: list[int] = []
        with fit_steps(estimator, "pass", max_passes, None) as monitor:
            try:
                while len(mistakes) < max_passes and 0 not in mistakes[-1:]:
                    mistakes.append(self.run(next_order()))
                    if monitor(self.model, float(mistakes[-1])):
                        break
            except KeyboardInterrupt:
                warn_kept_best(estimator, len(mistakes), "pass")
        return tuple(mistakes)

    def run(self, order: Indices) -> int:
        """One pass; how many sequences were wrong."""
        mistakes, self._clock = perceptron_pass(
            order, self._sequences, self._features, self._state, self._transition, *self._sums, self._clock, self._work
        )
        return int(mistakes)

    def model(self) -> ChainModel:
        """The model so far."""
        state, transition = self._state.copy(), self._transition.copy()
        if self._average and self._clock:
            state -= self._sums[0] / (self._clock + 1)
            transition -= self._sums[1] / (self._clock + 1)
        return self._model.with_parameters(np.concatenate([state, transition[self._model.has_transition]]))
