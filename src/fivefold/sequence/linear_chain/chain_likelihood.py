"""The negative log-likelihood of labelled sequences, with a ridge, and how it is minimised.

    f(x) = sum_i w_i (ln Z(x_i) - score(y_i | x_i)) + c2 |x|^2
    gradient = expected less observed counts of each feature + 2 c2 x

Forward-backward gives ln Z and the marginals; one pass over the attributes turns marginals into expected counts.
Frequent attributes have steep weights, rare ones flat: descent goes in units of each weight in which the curvature
would be one if labels depended on one attribute at a time.
Lafferty, McCallum & Pereira (2001).
"""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np

from fivefold.core.types import Array, Doubles
from fivefold.inference.chains.forward_backward import forward_backward
from fivefold.optim.objective import SmoothObjective
from fivefold.sequence.features.state_features import AttributeColumns
from fivefold.sequence.linear_chain.chain_model import ChainModel, LabelledSequences

PRIOR_COUNT = 5.0  # occurrences, with labels by their frequencies, that are added to those of each attribute
MIN_CURVATURE = 1e-3  # added to curvatures, so that a weight without any has a unit


@dataclass(frozen=True)
class ChainCounts:
    """Counts of the features of a model in labelled sequences."""

    data: LabelledSequences
    model: ChainModel
    columns: AttributeColumns

    @classmethod
    def of(cls, data: LabelledSequences, model: ChainModel) -> ChainCounts:
        """With the entries sorted by attribute once for all."""
        return cls(data, model, data.attribute_columns())

    def of_shares(self, shares: Doubles, transitions: Doubles) -> Doubles:
        """Feature counts of shares of labels at positions (positions, K) and counts of transitions (K, K)."""
        states = self.columns.feature_sums(self.model.features, shares)
        return np.concatenate([states, transitions[self.model.has_transition]])

    def observed(self) -> Doubles:
        """Feature counts of the labels that were given."""
        shares = np.zeros((len(self.data.codes), self.model.n_labels))
        shares[np.arange(len(shares)), self.data.codes] = self.data.position_weights
        return self.of_shares(shares, self.data.transition_counts(self.data.codes))

    def curvature(self) -> Doubles:
        """About the second derivative of -ln P by each weight: labels drawn one by one, given each attribute alone."""
        data, model, w = self.data, self.model, self.data.position_weights
        p = np.bincount(data.codes, w, minlength=model.n_labels) / w.sum()
        squares = self.columns._replace(value=self.columns.value**2)
        shares = np.zeros((len(data.codes), model.n_labels))
        shares[np.arange(len(shares)), data.codes] = w
        seen = squares.feature_sums(model.features, shares)
        every = np.bincount(
            data.positions.attribute,
            data.positions.value**2 * np.repeat(w, np.diff(data.positions.start)),
            minlength=len(data.names),
        )[model.features.attributes()]
        r = (seen + PRIOR_COUNT * p[model.features.label]) / (every + PRIOR_COUNT)
        pairs = data.transition_counts(data.codes)
        q = (pairs + PRIOR_COUNT * np.outer(p, p)) / (pairs.sum() + PRIOR_COUNT)
        return np.concatenate([every * r * (1 - r), (pairs.sum() * q * (1 - q))[model.has_transition]])


@dataclass(frozen=True)
class ChainLikelihood(SmoothObjective):
    """Minus the log-likelihood plus c2 |x|^2."""

    counts: ChainCounts
    observed: Doubles
    ridge: float  # c2
    weighted: bool  # is any weight of a sequence not one?
    unit: Doubles  # x = unit * the point that a solver sees

    @classmethod
    def of(cls, data: LabelledSequences, model: ChainModel, ridge: float) -> ChainLikelihood:
        """The likelihood of the features of a model."""
        counts = ChainCounts.of(data, model)
        unit = 1 / np.sqrt(counts.curvature() + 2 * ridge + MIN_CURVATURE)
        return cls(counts, counts.observed(), ridge, bool((data.w != 1).any()), unit)

    def value_and_gradient(self, z: Array) -> tuple[float, Array]:
        data, x = self.counts.data, self.unit * z
        found = forward_backward(self.counts.model.with_parameters(x).chain(data.positions), data.w)
        shares = found.marginals
        if self.weighted:
            shares *= data.position_weights[:, None]
        expected = self.counts.of_shares(shares, found.counts)
        value = float(data.w @ found.log_partition) - float(self.observed @ x) + self.ridge * float(x @ x)
        return value, self.unit * (expected - self.observed + 2 * self.ridge * x)
