"""Fuzzy adaptive resonance theory: categories are boxes that grow to hold the rows they resonate with.

    input     a = (x, 1 - x),  columns scaled to [0, 1]                     complement coding
    choice    T_k = |a ^ w_k| / (alpha + |w_k|)                             ^: smaller of each pair; |.|: sum
    match     |a ^ w_k| >= rho |a|       the chosen category resonates, else the next best; a new one if none does
    learning  w_k <- beta (a ^ w_k) + (1 - beta) w_k

rho, the vigilance, bounds the size of a box: small boxes, many categories. With binary columns ("art1") no complement
is taken and ^ is AND: ART1 with fast learning. Carpenter, Grossberg & Rosen (1991); Carpenter & Grossberg (1987), ART1.
"""

from __future__ import annotations

from dataclasses import KW_ONLY, dataclass
from typing import Literal

import numpy as np

from fivefold.competitive.units.resonance_loops import choose_categories, resonance_pass
from fivefold.competitive.units.row_passes import distinct_rows, run_passes
from fivefold.core.estimators.base import Clusterer, Estimator, learned
from fivefold.core.estimators.params import Count, Fraction, Positive, Seed
from fivefold.core.random_state import check_random_state
from fivefold.core.registry import Card
from fivefold.core.storage.array_checks import check_lengths
from fivefold.core.types import Codes, Doubles, Table, Weights

STILL = 1e-9  # total change of the weights at which passes end


@dataclass(frozen=True)
class Categories:
    """Weights of the categories, and how rows become inputs."""

    weights: Doubles  # (K, 2 d), or (K, d) for ART1
    low: Doubles  # (d,)
    width: Doubles  # (d,)
    choice: float
    form: str
    n_iter: int

    def check_arrays(self, columns: int) -> None:
        """Refuse arrays, as of an altered file, that do not make categories over this many columns."""
        check_lengths(columns, self.low, self.width)
        if np.shape(self.weights)[1:] != (columns if self.form == "art1" else 2 * columns,):
            raise ValueError(f"the categories have shape {np.shape(self.weights)}, for {columns} columns")

    def inputs(self, X: Table) -> Doubles:
        """Rows as inputs from zero to one."""
        Z = np.asarray(X, dtype=np.float64)
        if self.form == "art1":
            return (Z > self.low + 0.5 * self.width).astype(np.float64)
        A = np.clip((Z - self.low) / np.where(self.width > 0, self.width, 1.0), 0.0, 1.0)
        return np.concatenate([A, 1 - A], axis=1)


class ResonanceLearner(Estimator):
    """Base of methods whose categories grow to hold the rows they resonate with.

    Parameters
    ----------
    learning_rate
        how far a category shrinks towards what it has in common with a row; 1 is fast learning.
    choice
        alpha of the choice function: a small number prefers the smallest of several boxes that hold a row.
    max_iter
        maximum number of passes over the rows; passes end when one changes nothing.
    random_state
        seed of the order of the rows in `fit`.

    Attributes
    ----------
    weights_
        the categories (K, 2 n_features): the low corner of a box, and one minus its high corner, in scaled columns.
    n_iter_
        passes made.
    """

    _: KW_ONLY
    learning_rate: Fraction = 1.0
    choice: Positive = 0.001
    max_iter: Count = 20
    random_state: Seed = None

    weights_, n_iter_ = learned("weights"), learned("n_iter")


class FuzzyART(ResonanceLearner, Clusterer):
    """Fuzzy adaptive resonance, and ART1 for binary columns.

    Parameters
    ----------
    vigilance
        how much of a row its category has to match, from 0 to 1: the larger, the more categories.
    form
        "fuzzy" for numbers, or "art1", which takes a column for present above the middle of its range, and whose
        categories (K, n_features) are what their rows have in common.

    Attributes
    ----------
    labels_
        the category of each row.

    Examples
    --------
    >>> from fivefold.competitive import FuzzyART
    >>> model = FuzzyART(0.8, random_state=0).fit([[0.0, 0.1], [0.1, 0.0], [0.9, 1.0], [1.0, 0.9]])
    >>> len(model.weights_), model.labels_.tolist()
    (2, [1, 1, 0, 0])
    """

    vigilance: Fraction = 0.6
    _: KW_ONLY
    form: Literal["fuzzy", "art1"] = "fuzzy"

    card = Card(
        applications=("clustering",),
        use="Groups that fit into boxes, of unknown number; the vigilance says how large a box may be. The order of "
        "the rows, which the seed decides, matters.",
        steps=(
            "Scale the columns to [0, 1], and add one minus each of them.",
            "Choose the category that a row lies in, or nearest to.",
            "If its box would become too large, try the next; if none is left, make the row a new category.",
            "Let the box grow to hold the row.",
        ),
        source="Carpenter, Grossberg & Rosen (1991); Carpenter & Grossberg (1987)",
        see_also=("FuzzyARTMAP", "LeaderClustering", "KMeans"),
        variants=({"vigilance": 0.8, "learning_rate": 0.5}, {"form": "art1"}),
    )

    def _fit(self, X: Table, w: Weights) -> None:
        rng = check_random_state(self.random_state)
        Z, v = distinct_rows(X, w)
        low = Z.min(axis=0)
        empty = Categories(np.empty((0, 0)), low, Z.max(axis=0) - low, self.choice, self.form, 0)
        A = empty.inputs(Z)

        def step(t: int, W: Doubles) -> tuple[Doubles, float, bool]:
            order = rng.permutation(len(A))
            W, changed = resonance_pass(A, v, order, W.copy(), self.vigilance, self.choice, self.learning_rate)
            return W, float(len(W)), bool(changed <= STILL)

        def model_of(W: Doubles, value: float, done: int) -> Categories:
            return Categories(W, low, empty.width, self.choice, self.form, done)

        W, _, done = run_passes(self, X, self.max_iter, np.empty((0, A.shape[1])), step, model_of)
        labels = np.zeros(len(A), dtype=np.int64)
        choose_categories(A, W, self.choice, labels)
        self.model_ = model_of(W[np.unique(labels)], 0.0, done)  # a category may lose its rows to later ones

    def _assign(self, X: Table) -> Codes:
        labels = np.zeros(X.shape[0], dtype=np.int64)
        choose_categories(self.model_.inputs(X), self.model_.weights, self.model_.choice, labels)
        return labels
