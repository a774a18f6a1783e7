"""Fuzzy ARTMAP: categories of fuzzy adaptive resonance that belong to classes, learned one row at a time.

    input           a = (x, 1 - x),  columns scaled to [0, 1]                       complement coding
    choice          T_k = |a ^ w_k| / (alpha + |w_k|)                               ^: smaller of each pair; |.|: sum
    match           |a ^ w_k| >= rho |a|
    match tracking  the chosen category has another class:  rho <- |a ^ w_k| / |a| + epsilon, and the next is chosen
    learning        w_k <- beta (a ^ w_k) + (1 - beta) w_k,  or a new category w = a of the class of the row

A category is a box, so the model is a list of boxes with classes; boxes are made only as small as the classes ask.
A table in parts (partial_fit) may widen the range of a column: boxes keep their places in it.

Carpenter, Grossberg, Markuzon, Reynolds & Rosen (1992).
"""

from __future__ import annotations

from dataclasses import KW_ONLY, dataclass, replace
from typing import NamedTuple

import numpy as np

from fivefold.competitive.fuzzy_art import STILL, Categories, ResonanceLearner
from fivefold.competitive.units.resonance_loops import class_choices, labelled_resonance_pass
from fivefold.competitive.units.row_passes import run_passes
from fivefold.core.estimators.params import Fraction, Positive
from fivefold.core.estimators.supervised_learning import Classifier
from fivefold.core.random_state import check_random_state
from fivefold.core.registry import Card
from fivefold.core.storage.array_checks import check_indices, check_lengths
from fivefold.core.types import Codes, Doubles, Labels, Matrix, Table, Target, Weights
from fivefold.spatial.labelled_rows import LabelledRows


@dataclass(frozen=True)
class MappedCategories(Categories):
    """Categories with the class of each."""

    owners: Codes  # (K,) positions in classes_

    def check_arrays(self, columns: int) -> None:
        """Refuse arrays, as of an altered file, that do not make categories over this many columns."""
        super().check_arrays(columns)
        check_lengths(len(self.weights), self.owners)

    def within(self, low: Doubles, width: Doubles) -> MappedCategories:
        """The same boxes where columns are scaled by a wider range."""
        d = len(low)
        unit = np.where(width > 0, width, 1.0)
        corners = self.low + self.weights[:, :d] * self.width, self.low + (1 - self.weights[:, d:]) * self.width
        new = np.concatenate([(corners[0] - low) / unit, 1 - (corners[1] - low) / unit], axis=1)
        return replace(self, weights=new, low=low, width=width)


class MappedWeights(NamedTuple):
    """What a pass changes: weights of the categories (K, 2 d), and their classes (K,)."""

    W: Doubles
    owners: Codes


class FuzzyARTMAP(ResonanceLearner, Classifier):
    """Classes as unions of boxes, which grow to hold the rows of their class; also from rows that arrive in parts.

    Parameters
    ----------
    vigilance
        how much of a row its category has to match, from 0 to 1, before classes ask for more.
    match_tracking
        epsilon: how far the vigilance is raised above the match of a category of another class.

    Attributes
    ----------
    category_labels_
        the class of each category.

    Examples
    --------
    >>> from fivefold.competitive import FuzzyARTMAP
    >>> X, y = [[0.0, 0.1], [0.1, 0.0], [0.9, 1.0], [1.0, 0.9]], ["low", "low", "high", "high"]
    >>> model = FuzzyARTMAP(random_state=0).fit(X, y)
    >>> model.predict([[0.2, 0.2], [0.8, 0.9]]).tolist(), len(model.weights_)
    (['low', 'high'], 2)
    """

    vigilance: Fraction = 0.0
    _: KW_ONLY
    match_tracking: Positive = 0.001

    card = Card(
        applications=("classification",),
        use="Rows that arrive one after the other, rare cases that have to be remembered at once, and classes that "
        "boxes describe. Labels that are wrong become boxes of their own: the order of the rows and noise matter.",
        steps=(
            "Scale the columns to [0, 1], and add one minus each of them.",
            "Choose the category that a row lies in, or nearest to.",
            "If it has another class, ask for a better match than its, and choose again.",
            "Let the box grow to hold the row, or make the row a new box of its class.",
            "Give a new row the class of the box that is chosen.",
        ),
        source="Carpenter, Grossberg, Markuzon, Reynolds & Rosen (1992)",
        see_also=("FuzzyART", "LVQClassifier"),
        variants=({"vigilance": 0.7, "learning_rate": 0.5, "max_iter": 5},),
        order_dependent=True,
    )

    @property
    def category_labels_(self) -> Labels:
        """The class of each category."""
        return self.classes_[self.model_.owners]

    def _fit(self, X: Table, y: Target, w: Weights) -> None:
        rng, rows = check_random_state(self.random_state), LabelledRows.of(X, y, w)
        start = self._empty(np.ascontiguousarray(rows.X, dtype=np.float64))
        A, labels = start.inputs(rows.X), rows.y.astype(np.int64)

        def step(t: int, state: MappedWeights) -> tuple[MappedWeights, float, bool]:
            now, changed = self._show(A, labels, rows.w, rng.permutation(len(A)), state)
            return now, float(len(now.W)), changed <= STILL

        def model_of(state: MappedWeights, value: float, done: int) -> MappedCategories:
            return replace(start, weights=state.W, owners=state.owners, n_iter=done)

        first = MappedWeights(start.weights, start.owners)
        self.model_ = model_of(*run_passes(self, X, self.max_iter, first, step, model_of))

    def _update(self, X: Table, y: Target, w: Weights) -> None:
        Z = np.ascontiguousarray(X, dtype=np.float64)
        known = self.model_ if self.__sklearn_is_fitted__() else self._empty(Z)
        low = np.minimum(known.low, Z.min(axis=0))
        known = known.within(low, np.maximum(known.low + known.width, Z.max(axis=0)) - low)
        labels, state = y.astype(np.int64), MappedWeights(known.weights, known.owners)
        now, _ = self._show(known.inputs(Z), labels, w, np.arange(len(Z)), state)
        self.model_ = replace(known, weights=now.W, owners=now.owners, n_iter=known.n_iter + 1)

    def _empty(self, Z: Doubles) -> MappedCategories:
        low, d = Z.min(axis=0), Z.shape[1]
        none = np.empty((0, 2 * d)), np.empty(0, dtype=np.int64)
        return MappedCategories(none[0], low, Z.max(axis=0) - low, self.choice, "fuzzy", 0, none[1])

    def _show(
        self, A: Doubles, y: Codes, w: Weights, order: Codes, state: MappedWeights
    ) -> tuple[MappedWeights, float]:
        W, owners, changed = labelled_resonance_pass(
            A, y, w, order, state.W.copy(), state.owners.copy(), float(self.vigilance), float(self.choice),
            float(self.learning_rate), float(self.match_tracking),
        )  # fmt: skip
        return MappedWeights(W, owners), float(changed)

    def _scores(self, X: Table) -> Matrix:
        scores = np.zeros((X.shape[0], len(self.classes_)))
        check_indices("classes of categories", self.model_.owners, len(self.classes_))  # they may come from a file
        class_choices(self.model_.inputs(X), self.model_.weights, self.model_.owners, self.model_.choice, scores)
        return scores.astype(X.dtype, copy=False)
