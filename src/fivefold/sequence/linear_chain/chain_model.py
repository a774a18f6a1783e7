"""A linear chain over labels whose scores are sums of weighted features.

    score(y | x) = sum_t sum_a value(t, a) state(a, y_t) + sum_t transition(y_{t-1}, y_t)
    P(y | x) = exp(score(y | x)) / Z(x)

State features are pairs of attribute and label, transition features pairs of labels; a pair without a feature has the
weight zero.
"""

from __future__ import annotations

from dataclasses import dataclass, replace
from typing import Literal

import numpy as np

from fivefold.core.types import Codes, Doubles, Indices, Labels, Mask, Weights
from fivefold.inference.chains.best_paths import best_path
from fivefold.inference.chains.chain import Chain
from fivefold.inference.chains.forward_backward import forward_backward
from fivefold.sequence.features.attribute_encoder import AttributeNames, PositionFeatures
from fivefold.sequence.features.state_features import AttributeColumns, StateFeatures

Decoding = Literal["sequence", "hamming"]


@dataclass(frozen=True)
class ChainModel:
    """The features of a chain and their weights."""

    names: AttributeNames
    features: StateFeatures
    state: Doubles  # (state features,)
    transition: Doubles  # (K, K), from a row to a column
    has_transition: Mask  # (K, K): which transitions are features
    columns: int  # of the table it was fitted to, whose rows are sequences of one position; -1 for attributes
    dtype: str = "float64"  # of that table

    @property
    def n_labels(self) -> int:
        """The number of labels."""
        return self.features.n_labels

    @property
    def n_parameters(self) -> int:
        """The number of features."""
        return len(self.features) + int(self.has_transition.sum())

    def with_parameters(self, x: Doubles) -> ChainModel:
        """The same features with other weights: those of states, then those of transitions."""
        m, transition = len(self.features), np.zeros_like(self.transition)
        transition[self.has_transition] = x[m:]
        return replace(self, state=x[:m], transition=transition)

    def parameters(self) -> Doubles:
        """The weights as one vector."""
        return np.concatenate([self.state, self.transition[self.has_transition]])

    def chain(self, positions: PositionFeatures) -> Chain:
        """The scores of all labels of all positions."""
        scores = self.features.scores(positions, self.state)
        return Chain(np.zeros(self.n_labels), self.transition, scores, positions.offsets)

    def decode(self, positions: PositionFeatures, decoding: Decoding) -> Codes:
        """One label per position: the best sequence, or the best label at each position."""
        if not positions.n_positions:
            return np.empty(0, dtype=np.int64)
        if decoding == "sequence":
            return best_path(self.chain(positions)).path
        return self.marginals(positions).argmax(axis=1)

    def marginals(self, positions: PositionFeatures) -> Doubles:
        """P(label at position t | x) (positions, K)."""
        if not positions.n_positions:
            return np.empty((0, self.n_labels))
        return forward_backward(self.chain(positions)).marginals

    def check_arrays(self, columns: int) -> None:
        """Refuse weights that do not fit to the features."""
        K = self.n_labels
        if self.transition.shape != (K, K) or self.has_transition.shape != (K, K):
            raise ValueError("the transitions do not fit to the labels")
        if len(self.state) != len(self.features) or len(self.features.start) != len(self.names) + 1:
            raise ValueError("the weights do not fit to the features")


@dataclass(frozen=True)
class LabelledSequences:
    """Sequences to learn from: no sequence is empty, every attribute is known."""

    positions: PositionFeatures
    codes: Codes  # (positions,)
    w: Weights  # (sequences,)
    labels: Labels
    names: AttributeNames
    columns: int = -1
    dtype: str = "float64"

    @property
    def n_sequences(self) -> int:
        """The number of sequences."""
        return len(self.w)

    @property
    def position_weights(self) -> Doubles:
        """The weight of the sequence of each position."""
        return np.repeat(self.w, np.diff(self.positions.offsets)).astype(np.float64)

    def attribute_columns(self) -> AttributeColumns:
        """The positions of each attribute."""
        return AttributeColumns.of(self.positions, len(self.names))

    def transition_counts(self, codes: Codes, w: Weights | None = None) -> Doubles:
        """How often each label follows each other one within these sequences, each of its weight (K, K)."""
        K, weight = len(self.labels), self.position_weights if w is None else w
        inside = np.setdiff1d(np.arange(len(codes)), self.positions.offsets[:-1])
        counts = np.bincount(codes[inside - 1] * K + codes[inside], weight[inside], minlength=K * K)
        return counts.reshape(K, K).astype(np.float64)

    def empty_model(self, min_freq: float, all_states: bool, all_transitions: bool) -> ChainModel:
        """The features that the data, or the settings, ask for, with weights of zero."""
        K, A = len(self.labels), len(self.names)
        if all_states:
            features = StateFeatures.all_pairs(A, K)
        else:
            features = StateFeatures.seen(self.positions, self.codes, self.position_weights, A, K, min_freq)
        seen = self.transition_counts(self.codes)
        has = np.full((K, K), True) if all_transitions else (seen > 0) & (seen >= min_freq)
        return ChainModel(
            names=self.names,
            features=features,
            state=np.zeros(len(features)),
            transition=np.zeros((K, K)),
            has_transition=has,
            columns=self.columns,
            dtype=self.dtype,
        )


def pass_scratch(offsets: Indices, K: int) -> tuple[Doubles, Indices, Codes, Doubles, Doubles, int]:
    """What a pass over sequences works in: scores, rows, path, its value, scores of starts, longest length."""
    n, lengths = int(offsets[-1]), np.diff(offsets)
    path = np.empty(n, dtype=np.int64)
    return np.empty((n, K)), np.arange(n), path, np.empty(len(lengths)), np.zeros(K), int(lengths.max())
