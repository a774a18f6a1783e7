"""Contributions of the columns to single predictions: Shapley values against a background.

    f(x) = base + sum_j phi_j,      base = mean over background rows b of f(b)

The columns play a game whose value v(S) is the mean of f over the rows that have the columns of S from x and the others
from b; phi_j is the mean of v(S + j) - v(S) over all orders in which columns may come (Shapley, 1953).

    linear models       phi_j = w_j (x_j - mean b_j), exact, on the scale of the linear predictor
    trees and forests   exact, by the leaves that mixtures of x and b reach; boosted trees on the scale of their sum
    other models        sampled: one order and its reverse per background row, which add up to f(x) - base exactly

Where columns depend on each other, mixtures of two rows may look like no row at all; contributions say what the model
does with them, not what would happen in the world if a column were changed.

Shapley (1953); Strumbelj & Kononenko (2014); Lundberg & Lee (2017); Mitchell et al. (2022), reversed orders.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass, field
from typing import Any

import numpy as np

from fivefold.core.estimators.params import Seed
from fivefold.core.random_state import check_random_state
from fivefold.core.types import Array, Codes, Indices, Labels, Matrix, Rng, Table, Vector
from fivefold.evaluation.inspection.linear_form import Scale, linear_form, scale_of
from fivefold.evaluation.inspection.response import outputs_of, response
from fivefold.evaluation.inspection.row_mixtures import column_names, mixed_rows, stacked
from fivefold.evaluation.protocols import FittedModel, Label

MAX_BATCH_ROWS = 20_000  # rows predicted at a time


@dataclass(frozen=True)
class Contributions:
    """Predictions of rows as sums over players: columns, or groups of columns.

    Attributes
    ----------
    base
        mean prediction of the background rows, (K,).
    values
        contributions, (n, players, K).
    standard_error
        of the contributions, by the spread over background rows and orders, (n, players, K); None if they are exact.
    players
        names of the columns or groups.
    outputs
        what is explained: classes, or "prediction", (K,).
    scale
        "prediction", "probability", or "log-odds" of the only output.
    """

    base: Vector
    values: Array = field(repr=False)
    standard_error: Array | None = field(repr=False)
    players: tuple[Any, ...]
    outputs: Labels
    scale: Scale

    @property
    def predicted(self) -> Matrix:
        """What the contributions add up to, (n, K)."""
        return self.base + self.values.sum(axis=1)

    def toward(self, label: Label | None = None) -> tuple[float, Matrix]:
        """Base and contributions (n, players) of one output; log-odds of the first of two classes have their sign
        changed."""
        if label is None or (self.scale == "log-odds" and label == self.outputs[0]):
            return float(self.base[-1]), self.values[:, :, -1]
        if self.scale == "log-odds":
            return -float(self.base[0]), -self.values[:, :, 0]
        k = int(np.flatnonzero(self.outputs == label)[0])
        return float(self.base[k]), self.values[:, :, k]

    def __str__(self) -> str:
        mean = np.abs(self.values).mean(axis=(0, 2))
        order = np.argsort(-mean, kind="stable")[:5]
        named = ", ".join(f"{self.players[j]} {mean[j]:.3g}" for j in order)
        how = "exact" if self.standard_error is None else "sampled"
        return f"{len(self.values)} rows, {how}, {self.scale}; mean size of the contributions: {named}"


def shapley_values(
    model: FittedModel,
    X: Table,
    background: Table,
    *,
    groups: Sequence[Any] | None = None,
    random_state: Seed = None,
) -> Contributions:
    """Contributions of the columns to the predictions of a fitted model for the rows of X.

    `background` is a table with the same columns; contributions explain how a prediction differs from the mean
    prediction of its rows. `groups` names the player of each column: columns of one name contribute together, such as
    those made from one category. Sampling takes two orders per background row, so more rows give smaller errors.

    Examples
    --------
    >>> from sklearn.datasets import load_iris
    >>> from fivefold.tree import DecisionTreeClassifier
    >>> X, y = load_iris(return_X_y=True)
    >>> model = DecisionTreeClassifier(max_depth=2, random_state=0).fit(X, y)
    >>> flowers = ["sepal", "sepal", "petal", "petal"]
    >>> print(shapley_values(model, X[:5], X, groups=flowers, random_state=0))
    5 rows, exact, probability; mean size of the contributions: petal 0.444, sepal 0
    """
    names = column_names(X) if groups is None else list(groups)
    if len(names) != X.shape[1]:
        raise ValueError(f"groups must name the player of each of {X.shape[1]} columns; got {len(names)} names")
    if not len(background):
        raise ValueError("the background has no rows; give some rows to compare with, such as training rows")
    players = tuple(dict.fromkeys(names))
    code = np.array([players.index(name) for name in names])
    exact = _linear_contributions(model, X, background, code) or _tree_contributions(model, X, background, code)
    if exact is None:
        base, values, error = _sampled(model, X, background, code, check_random_state(random_state))
        scale: Scale = "prediction" if len(base) == 1 else "probability"
        return Contributions(base, values, error, players, outputs_of(model), scale)
    base, values, scale = exact
    outputs = outputs_of(model)
    return Contributions(base, values, None, players, outputs[-1:] if scale == "log-odds" else outputs, scale)


def _linear_contributions(model: FittedModel, X: Table, B: Table, code: Codes) -> tuple[Vector, Array, Scale] | None:
    found = linear_form(model, B) if isinstance(X, np.ndarray) else None
    if found is None:
        return None
    centre = B.mean(axis=0)
    values = (found.w * (X - centre)) @ np.eye(int(code.max()) + 1)[code]  # (n, players)
    return np.array([found.b + found.w @ centre]), values[:, :, None], found.scale


def _tree_contributions(model: FittedModel, X: Table, B: Table, code: Codes) -> tuple[Vector, Array, Scale] | None:
    from fivefold.evaluation.inspection.additive_trees import additive_trees  # it knows all trees: slow to import

    found = additive_trees(model)
    if found is None:
        return None
    trees, admit = found
    rows, others = admit(X), admit(B)
    F = trees.sums(others)
    scale = scale_of(model, F, B)
    return None if scale is None else (F.mean(axis=0), trees.contributions(rows, others, code), scale)


def _sampled(model: FittedModel, X: Table, B: Table, code: Codes, rng: Rng) -> tuple[Vector, Array, Array]:
    """Base, contributions and their standard errors, by one order and its reverse per background row."""
    n, m, P = len(X), len(B), int(code.max()) + 1
    pool = stacked(X, B)
    orders = np.array([rng.permutation(P) for _ in range(m)])  # (m, P), the same for every row explained
    turn = np.argsort(np.stack([orders, orders[:, ::-1]], axis=1), axis=2)  # (m, 2, P): when each player comes
    block = max(1, MAX_BATCH_ROWS // (2 * (P + 1)))  # background rows at a time
    base, values, errors = np.zeros(0), [], []
    for i in range(n):
        steps, starts = [], []
        for lo in range(0, m, block):
            some = turn[lo : lo + block]
            f = response(model, mixed_rows(pool, _mixtures(some, code, i, n + lo))).reshape(len(some), 2, P + 1, -1)
            steps.append(np.take_along_axis(np.diff(f, axis=2), some[..., None], axis=2).mean(axis=1))  # (block, P, K)
            starts.append(f[:, 0, 0])
        each, base = np.concatenate(steps), np.concatenate(starts).mean(axis=0)
        values.append(each.mean(axis=0))
        errors.append(each.std(axis=0, ddof=1) / np.sqrt(m) if m > 1 else np.full(each.shape[1:], np.inf))
    return base, np.array(values), np.array(errors)


def _mixtures(turn: Codes, code: Codes, row: int, first: int) -> Indices:
    """Where the cells come from: after s steps the players that came before step s have the value of `row`.

    `turn` (m, 2, P) belongs to the background rows from number `first` on; the result is (m 2 (P + 1), d).
    """
    m, _, P = turn.shape
    from_row = turn[:, :, None, code] < np.arange(P + 1)[:, None]  # (m, 2, P + 1, d)
    return np.where(from_row, row, np.arange(first, first + m)[:, None, None, None]).reshape(-1, len(code))
