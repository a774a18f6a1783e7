"""State features: a weight for each pair of an attribute and a label that it was seen with.

    score(t, k) = sum over the attributes a of position t of value(t, a) weight(a, k)

The scores, and their transpose (sums of features under residuals of positions), are all that learning asks of them.
"""

from __future__ import annotations

from dataclasses import dataclass
from functools import partial
from typing import NamedTuple

import numpy as np
from scipy.sparse import csr_array

from fivefold.core.parallel import map_items, map_parts
from fivefold.core.types import Codes, Doubles, Indices, Weights
from fivefold.sequence.features.attribute_encoder import PositionFeatures, starts
from fivefold.sequence.features.state_feature_loops import add_state_scores, sum_state_features

MIN_PART_POSITIONS = 1024  # positions per thread at least, when scores are added up
MAX_PARTS = 16  # parts of the attributes, when features are summed
MIN_PART_ENTRIES = 2**15  # entries per part at least


@dataclass(frozen=True)
class StateFeatures:
    """The labels that each attribute has a feature for: those of attribute a are label[start[a]..start[a + 1]]."""

    start: Indices  # (attributes + 1,)
    label: Codes  # (features,)
    n_labels: int

    @classmethod
    def seen(
        cls, positions: PositionFeatures, codes: Codes, w: Weights, n_attributes: int, n_labels: int, min_freq: float
    ) -> StateFeatures:
        """The pairs that occur in the data and whose values add up to min_freq or more; w weighs the positions."""
        counts = np.diff(positions.start)
        which = np.repeat(np.arange(positions.n_positions), counts)
        pair = positions.attribute.astype(np.int64) * n_labels + codes[which]
        found, inverse = np.unique(pair, return_inverse=True)
        if min_freq > 0:
            found = found[np.bincount(inverse, positions.value * w[which]) >= min_freq]
        counts = np.bincount(found // n_labels, minlength=n_attributes)
        return cls(starts(counts), (found % n_labels).astype(np.int32), n_labels)

    @classmethod
    def all_pairs(cls, n_attributes: int, n_labels: int) -> StateFeatures:
        """Every attribute with every label."""
        return cls(
            np.arange(n_attributes + 1) * n_labels, np.tile(np.arange(n_labels, dtype=np.int32), n_attributes), n_labels
        )

    def __len__(self) -> int:
        return len(self.label)

    def attributes(self) -> Indices:
        """The attribute of each feature."""
        return np.repeat(np.arange(len(self.start) - 1), np.diff(self.start))

    def scores(self, positions: PositionFeatures, weight: Doubles) -> Doubles:
        """Scores (positions, labels)."""
        out = np.empty((positions.n_positions, self.n_labels))
        work = partial(self._score_part, positions, weight, out)
        map_parts(work, len(out), rows=MIN_PART_POSITIONS)
        return out

    def _score_part(self, positions: PositionFeatures, weight: Doubles, out: Doubles, lo: int, hi: int) -> None:
        add_state_scores(
            positions.start, positions.attribute, positions.value, self.start, self.label, weight, lo, hi, out
        )

    def check_arrays(self, columns: int) -> None:
        """Refuse arrays that a loop would read beyond."""
        sound = self.start[0] == 0 and self.start[-1] == len(self.label) and (np.diff(self.start) >= 0).all()
        if not sound or (len(self.label) and not 0 <= self.label.min() <= self.label.max() < self.n_labels):
            raise ValueError("state features do not fit together")


class AttributeColumns(NamedTuple):
    """The positions of each attribute: the columns of the matrix of positions, cut into parts of equal work."""

    start: Indices  # (attributes + 1,)
    position: Indices  # (entries,)
    value: Doubles
    cuts: Indices  # attributes where parts begin, and the end

    @classmethod
    def of(cls, positions: PositionFeatures, n_attributes: int) -> AttributeColumns:
        """The columns of the positions of training data, in which every attribute is known."""
        shape = (positions.n_positions, n_attributes)
        columns = csr_array((positions.value, positions.attribute, positions.start), shape=shape).tocsc()
        start = columns.indptr.astype(np.int64)
        count = max(1, min(MAX_PARTS, len(positions.value) // MIN_PART_ENTRIES))
        cuts = np.searchsorted(start[1:], np.arange(count) * len(positions.value) // count)
        return cls(start, columns.indices.astype(np.int32), columns.data, np.append(cuts, n_attributes))

    def feature_sums(self, features: StateFeatures, residual: Doubles) -> Doubles:
        """For each feature (a, k) the sum of value(t, a) residual(t, k) over positions t."""
        total = np.empty(len(features))
        map_items(partial(self._sum_part, features, residual, total), len(self.cuts) - 1)
        return total

    def _sum_part(self, features: StateFeatures, residual: Doubles, total: Doubles, part: int) -> None:
        lo, hi = self.cuts[part], self.cuts[part + 1]
        columns = self.start, self.position, self.value
        sum_state_features(*columns, features.start, features.label, residual, lo, hi, total)
