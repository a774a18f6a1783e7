"""Condensed nearest neighbours: of all rows those are stored that the answers need.

    repeat in random order: store x if the nearest stored row has another label, until a pass stores none

The stored rows are a consistent subset: their nearest neighbours give every row its label. A smallest one is hard to
find (NP-complete), so several orders are tried and what became superfluous is removed. With a price per stored row,
errors may be worth saving a row (prototypes/condensing.py).

Hart (1968); Gates (1972).
"""

from __future__ import annotations

from dataclasses import KW_ONLY
from typing import Any

import numpy as np

from fivefold.core.admission.takes import Takes
from fivefold.core.console.fit_progress import fit_steps, warn_kept_best
from fivefold.core.estimators.params import Count, NonNegative, Seed
from fivefold.core.random_state import check_random_state
from fivefold.core.registry import Card
from fivefold.core.types import Doubles, Indices, Table, Target, UserWeights, Weights
from fivefold.neighbors.k_neighbors import KNeighborsClassifier
from fivefold.neighbors.prototypes.condensing import condense, improve, prune
from fivefold.neighbors.prototypes.stored_rows import StoredRows
from fivefold.neighbors.shared.metric_parameters import MetricTakes
from fivefold.spatial.labelled_rows import LabelledRows

MAX_PASSES = 20  # of the local search over all rows: it ends by itself after a few


class PrototypeNeighborsClassifier(KNeighborsClassifier):
    """Nearest neighbours among chosen rows: `_chosen(rows)` gives the votes of each distinct row.

    Attributes
    ----------
    prototype_indices_
        numbers of the stored rows in the table of fit.
    prototype_weights_
        how many votes each of them has.
    """

    n_neighbors: Count = 1

    takes = MetricTakes(Takes())

    def _chosen(self, rows: LabelledRows) -> Doubles:
        raise TypeError(f"{type(self).__name__} does not say which rows are stored")

    def _fit(self, X: Table, y: Target, w: Weights, given: UserWeights = None, objects: Any = None) -> None:
        if self.metric == "precomputed" or objects is not None:
            raise ValueError(f"{type(self).__name__}: metric={self.metric!r} is not taken; give rows of numbers")
        rows = LabelledRows.of(X, y, w)
        counts = self._chosen(rows)
        kept = np.flatnonzero(counts)
        kept = kept[np.argsort(rows.numbers[kept])]
        whole = self._stored(X, w, given)
        fitted = self._stored(rows.X[kept], counts[kept], target=rows.y[kept])
        self.model_ = fitted.changed(n=whole.n, positions=whole.numbered(rows.numbers[kept]))

    @property
    def prototype_indices_(self) -> Indices:
        """Numbers of the stored rows in the table of fit."""
        return np.asarray(self.model_.positions)

    @property
    def prototype_weights_(self) -> Doubles:
        """How many votes each of them has."""
        counts = self.model_.counts
        return np.ones(len(self.prototype_indices_)) if counts is None else counts

    def _refuse_few(self, X: Table, w: Weights) -> None:
        """Any number of rows will do: where fewer than n_neighbors are stored, all of them vote."""

    def _checked_count(self, n_neighbors: int | None) -> int:
        k = super()._checked_count(n_neighbors)
        return k if n_neighbors is not None else min(k, int(self.model_.total))


class CondensedNeighborsClassifier(PrototypeNeighborsClassifier):
    """Nearest neighbours among the few rows that classify all others as the whole table does.

    Parameters
    ----------
    n_neighbors
        how many stored rows vote; above one, a row may be stored several times.
    price
        what a stored row costs beside an error of weight one; with zero the stored rows classify every row right,
        except equal rows with different labels.
    pruning
        whether stored rows that later ones made superfluous are removed.
    n_init
        number of orders that are tried; the one with the lowest objective is kept.
    random_state
        decides the orders.

    Attributes
    ----------
    objective_
        errors on the rows of fit, plus the price of what is stored.

    Examples
    --------
    >>> from fivefold.neighbors import CondensedNeighborsClassifier
    >>> from sklearn.datasets import load_iris
    >>> X, y = load_iris(return_X_y=True)
    >>> model = CondensedNeighborsClassifier(random_state=0).fit(X, y)
    >>> model.score(X, y), len(model.prototype_indices_) < 20
    (1.0, True)
    """

    _: KW_ONLY
    price: NonNegative = 0.0
    pruning: bool = True
    n_init: Count = 3
    random_state: Seed = None

    card = Card(
        applications=("classification", "data mining"),
        use="Nearest neighbours with little memory and quick answers, and the rows that mark the boundary. Edit noisy "
        "tables first: every row on the wrong side is stored.",
        steps=(
            "Go through the rows in random order and store those that the stored ones classify wrongly.",
            "Go on until a pass stores none; remove stored rows that are not needed.",
            "With a price, store, remove and swap rows while errors plus price fall.",
        ),
        source="Hart (1968); Gates (1972)",
        see_also=("EditedNeighborsClassifier", "KNeighborsClassifier", "NearestClusterClassifier"),
        variants=({"n_neighbors": 3, "n_init": 1}, {"price": 1.0, "n_init": 1}),
        growth=2.0,
    )

    def _chosen(self, rows: LabelledRows) -> Doubles:
        index, rng = self._stored(rows.X).index, check_random_state(self.random_state)
        best, least = None, np.inf
        with fit_steps(self, "order", self.n_init, rows.X) as monitor:
            try:
                for _ in range(self.n_init):
                    stored = StoredRows(rows, index, self.n_neighbors, len(self.classes_))
                    order = rng.permutation(len(rows.y))
                    condense(stored, order)
                    if self.pruning:
                        prune(stored, order)
                    if self.price:
                        improve(stored, self.price, rng, MAX_PASSES)
                    value = stored.errors() + self.price * stored.size
                    if best is None or (value, stored.size) < (least, best.sum()):
                        best, least = stored.counts, value
                    if monitor(None, value):
                        break
            except KeyboardInterrupt:
                if best is None:
                    raise
                warn_kept_best(self, 1, "order")
        assert best is not None  # one order at least was tried
        self.objective_ = least
        return best.astype(np.float64)
