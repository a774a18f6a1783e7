"""Interpolated n-grams: relative frequencies after long and short contexts, mixed.

    P(w3 | w1, w2) = lambda_1 #(w1 w2 w3) / #(w1 w2) + lambda_2 #(w2 w3) / #(w2) + lambda_3 #(w3) / N

#(c) counts the occurrences of c that have a successor. A context that was never seen hands its weight to the next
shorter one. The weights are given, or fitted by EM on held-out texts; then a further weight may go to the uniform
distribution, and weights may depend on how often the context was seen. All weight on the longest context is maximum
likelihood.

Jelinek & Mercer (1980).
"""

from __future__ import annotations

from collections.abc import Iterable, Sequence
from dataclasses import dataclass, field
from typing import Self

import numpy as np

from fivefold.core.types import Codes, Doubles, Indices
from fivefold.sequence.language_models.convex_weights import fit_convex_weights
from fivefold.sequence.language_models.ngram_counter import Text
from fivefold.sequence.language_models.ngram_model import NGramModel


@dataclass
class InterpolatedNGrams(NGramModel):
    """Mixture of the relative frequencies of all orders.

    `weights` go from the longest context to the shortest, and add up to one; one more than `order` ends with the
    weight of the uniform distribution. Without weights, and until `fit_weights` learns them, all are equal.

    Examples
    --------
    >>> text = "we the people we the people we the states"
    >>> model = InterpolatedNGrams(weights=(0.6, 0.3, 0.1), boundaries=False).fit([text])
    >>> round(model.probability("people", ["we", "the"]), 5), round(model.probability("states", ["we", "the"]), 5)
    (0.62222, 0.31111)
    """

    weights: Sequence[float] | None = None
    weights_: Doubles = field(init=False, repr=False)  # (buckets, components)
    edges_: Doubles = field(init=False, repr=False)  # counts of the longest context at which buckets end

    def _estimate(self) -> None:
        weights = np.full(self.order + 1, 1 / (self.order + 1)) if self.weights is None else np.array(self.weights)
        if (
            weights.ndim != 1
            or len(weights) not in (self.order, self.order + 1)
            or not (weights >= 0).all()
            or not np.isclose(weights.sum(), 1)
        ):
            raise ValueError(
                f"weights must be {self.order} numbers from 0 up, or one more for the uniform distribution, that add "
                f"up to one; got {self.weights!r}"
            )
        self.weights_, self.edges_ = np.append(weights, [0.0] * (self.order + 1 - len(weights)))[None], np.empty(0)

    def fit_weights(self, texts: Iterable[Text], *, bucket_edges: Sequence[float] = ()) -> Self:
        """Learn the weights on texts that were not counted, by EM.

        `bucket_edges`: contexts seen less often than the first edge, between two edges, or more often have weights of
        their own; how often is the count of the longest context, zero where it was never seen.
        """
        windows, edges = self.windows(texts), np.sort(np.asarray(bucket_edges, dtype=np.float64))
        if not len(windows):
            raise ValueError("weights need a held-out text that is not empty")
        self.edges_ = edges
        result = fit_convex_weights(self._components(windows), bucket=self._bucket(windows), n_buckets=len(edges) + 1)
        self.weights_ = result.model.weights
        return self

    def _bucket(self, windows: Codes) -> Indices:
        node = self.counts_.find_nodes(windows[:, :-1])[-1]
        seen = np.where(node >= 0, self.counts_.levels[-1].totals[node], 0.0)
        return np.searchsorted(self.edges_, seen, side="right")

    def _components(self, windows: Codes) -> Doubles:
        """P(word | context) by each order, longest first, and the uniform one (m, order + 1)."""
        counts, word = self.counts_, windows[:, -1]
        P = np.empty((len(windows), self.order + 1))
        P[:, -1] = 1 / counts.n_words
        for k, node in enumerate(counts.find_nodes(windows[:, :-1])):
            level, entry = counts.levels[k], counts.find_entries(k, node, word)
            ratio = np.where(entry >= 0, level.count[entry], 0.0) / level.totals[node]
            P[:, self.order - 1 - k] = np.where(node >= 0, ratio, P[:, self.order - k])
        return P

    def _probabilities(self, windows: Codes) -> Doubles:
        P: Doubles = (self._components(windows) * self.weights_[self._bucket(windows)]).sum(axis=1)
        return P

    def _distribution(self, history: Codes) -> Doubles:
        words = np.arange(self.counts_.n_words)
        return self._probabilities(np.column_stack([np.repeat(history, len(words), axis=0), words]))


@dataclass
class MaximumLikelihoodNGrams(InterpolatedNGrams):
    """Relative frequencies after the longest context that was seen.

    Examples
    --------
    >>> model = MaximumLikelihoodNGrams(order=2, boundaries=False).fit(["a b a c a b"])
    >>> model.probability("b", ["a"]), model.probability("c", ["a"])
    (0.6666666666666666, 0.3333333333333333)
    """

    weights: None = field(init=False, default=None)

    def _estimate(self) -> None:
        self.weights_, self.edges_ = np.eye(1, self.order + 1), np.empty(0)
