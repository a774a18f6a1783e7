"""Edited nearest neighbours: rows that their own neighbours classify wrongly are left out.

    keep x if the vote of its k nearest rows, itself left out, gives its label

Rows inside another class disappear, and the boundary of what remains is smoother: nearest neighbours of the edited
table come close to the Bayes rule. Several passes edit what an earlier one left. A class never disappears: its row with
most votes for it stays.

Wilson (1972); Tomek (1976).
"""

from __future__ import annotations

from dataclasses import KW_ONLY

import numpy as np

from fivefold.core.estimators.params import Count
from fivefold.core.registry import Card
from fivefold.core.types import Doubles, Indices
from fivefold.neighbors.condensed_neighbors import PrototypeNeighborsClassifier
from fivefold.spatial.labelled_rows import LabelledRows


class EditedNeighborsClassifier(PrototypeNeighborsClassifier):
    """Nearest neighbours among the rows that their own neighbours classify right.

    Parameters
    ----------
    n_neighbors
        how many of the rows that are left vote on a new one.
    editing_neighbors
        how many neighbours of a row of fit decide whether it stays.
    max_passes
        how often the table is edited; it ends earlier if a pass leaves all rows.

    Examples
    --------
    >>> from fivefold.neighbors import EditedNeighborsClassifier
    >>> X = [[0.0], [0.1], [0.2], [0.15], [1.0], [1.1], [1.2], [1.3]]
    >>> y = ["a", "a", "a", "b", "b", "b", "b", "b"]
    >>> model = EditedNeighborsClassifier(editing_neighbors=3).fit(X, y)
    >>> model.prototype_indices_, model.predict([[0.16]])
    (array([0, 1, 2, 4, 5, 6, 7]), array(['a'], dtype='<U1'))
    """

    _: KW_ONLY
    editing_neighbors: Count = 3
    max_passes: Count = 1

    card = Card(
        applications=("classification", "data mining"),
        use="Nearest neighbours of noisy labels; before condensing, which would store every row on the wrong side.",
        steps=(
            "Classify every row by its nearest others.",
            "Leave out the rows that this gets wrong.",
            "Give a new row the label of the nearest row that is left.",
        ),
        source="Wilson (1972); Tomek (1976)",
        see_also=("CondensedNeighborsClassifier", "KNeighborsClassifier"),
        variants=({"editing_neighbors": 5, "max_passes": 10, "n_neighbors": 3},),
        growth=1.5,
    )

    def _chosen(self, rows: LabelledRows) -> Doubles:
        kept, K = np.arange(len(rows.y)), len(self.classes_)
        for _ in range(self.max_passes):
            shares = self._own_votes(rows, kept, K)
            y = rows.y[kept]
            right = shares.argmax(axis=1) == y
            for c in np.unique(y):
                if not right[y == c].any():
                    members = np.flatnonzero(y == c)
                    right[members[shares[members, c].argmax()]] = True
            if right.all():
                break
            kept = kept[right]
        counts = np.zeros(len(rows.y))
        counts[kept] = rows.w[kept]
        return counts

    def _own_votes(self, rows: LabelledRows, kept: Indices, K: int) -> Doubles:
        """Votes (n, K) of the nearest others of each kept row, whose weights add up to the number asked for."""
        k, votes = min(self.editing_neighbors, len(kept) - 1), np.zeros((len(kept), K))
        if not k:
            votes[np.arange(len(kept)), rows.y[kept]] = 1.0
            return votes
        near = kept[self._stored(rows.X[kept]).index.query(None, k)[1]]
        upto = np.cumsum(rows.w[near], axis=1)
        weight = np.clip(self.editing_neighbors - upto + rows.w[near], 0.0, rows.w[near])
        np.add.at(votes, (np.arange(len(kept))[:, None], rows.y[near]), weight)
        return votes
