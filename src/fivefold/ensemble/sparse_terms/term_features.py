"""Features of sparse linear rules: what may stand in a term, its name, and its code length.

    constructor   phi(x)                                   bits
    Raws          x_j                                      log2 d
    Squares       x_j^2                                    log2 d
    Tests         +1 if x_j > t else -1                    log2 d + bits of t
    Trees         +1 or -1, by a small tree                1 + bits of the test per branch, 2 per leaf
    Formulas      +1 or -1, by a Boolean formula           2 per node, log2 d more per column
    Models        the prediction of a fitted model         given by the user

A constructor makes the features of one kind. On a table it becomes a pool, which answers one question: given residuals
alpha, which feature has the largest |alpha' phi| / |phi|? Tests try all thresholds of all columns in one pass over
columns sorted once; formulas need one product with a table of truth values.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass, replace
from math import log2, sqrt
from typing import Protocol

import numpy as np

from fivefold.core.compilation.jit import jit
from fivefold.core.parallel import map_items
from fivefold.core.types import Array, Indices, Mask, Matrix, Table, Weights
from fivefold.ensemble.members.inner_estimators import InnerEstimator
from fivefold.information.number_lengths import fraction_bits, rounded_fraction, shortest_between
from fivefold.partition.tree_arrays.binary_tree import Tree
from fivefold.rules.formulas.boolean_formulas import Formula
from fivefold.rules.formulas.formula_enumeration import shortest_formulas

MAX_COARSE_DIGITS = 16  # binary digits tried at most when a threshold is rounded
RELATIVE_TIE = 1e-10  # scores that differ by this share are equal, and the first wins


class Feature(Protocol):
    """A number per row, with a name and a code length."""

    @property
    def bits(self) -> float:
        """The length of its code."""

    def values(self, X: Table) -> Array:
        """The value for each row."""

    def name(self, names: Sequence[str]) -> str:
        """The feature in readable form, by the names of the columns."""


class Pool(Protocol):
    """Features of one kind on a table: finds the one that fits residuals best."""

    def best(self, alpha: Array) -> tuple[float, Feature | None]:
        """The highest score |alpha' phi| / |phi|, and the feature that has it; None if there is none."""


class Constructor(Protocol):
    """A kind of features."""

    def pool(self, X: Table, w: Weights, extra: float) -> Pool:
        """The features of a table; `extra` bits tell which constructor was used."""


@dataclass(frozen=True)
class ConstantFeature:
    """1, the feature of the bias."""

    bits: float = 0.0

    def values(self, X: Table) -> Array:
        return np.ones(len(X))

    def name(self, names: Sequence[str]) -> str:
        return "1"


@dataclass(frozen=True)
class RawFeature:
    """A column, unchanged."""

    column: int
    bits: float

    def values(self, X: Table) -> Array:
        return X[:, self.column].astype(np.float64)

    def name(self, names: Sequence[str]) -> str:
        return str(names[self.column])


@dataclass(frozen=True)
class SquaredFeature:
    """The square of a column."""

    column: int
    bits: float

    def values(self, X: Table) -> Array:
        return X[:, self.column].astype(np.float64) ** 2

    def name(self, names: Sequence[str]) -> str:
        return f"{names[self.column]}^2"


@dataclass(frozen=True)
class ThresholdFeature:
    """+1 above a threshold, -1 elsewhere."""

    __test__ = False  # not a test of pytest

    column: int
    fraction: float  # of the range of the column; dyadic
    low: float
    high: float
    column_bits: float

    @property
    def threshold(self) -> float:
        """Where the two sides meet."""
        return self.low + (self.high - self.low) * self.fraction

    @property
    def bits(self) -> float:
        """Bits of the column plus bits of the threshold."""
        return self.column_bits + fraction_bits(self.fraction)

    def values(self, X: Table) -> Array:
        return np.where(X[:, self.column] > self.threshold, 1.0, -1.0)

    def rounded(self) -> list[ThresholdFeature]:
        """The test with its threshold in fewer and fewer digits, itself first."""
        digits = range(min((fraction_bits(self.fraction) - 1) // 2, MAX_COARSE_DIGITS), 0, -1)
        return [self, *(replace(self, fraction=rounded_fraction(self.fraction, L)) for L in digits)]

    def name(self, names: Sequence[str]) -> str:
        return f"[{names[self.column]} > {self.threshold:.6g}]"


@dataclass(frozen=True)
class TreeFeature:
    """+1 or -1, by the leaf of a small tree."""

    tree: Tree
    side: Array  # (m,) +1 or -1 per node
    bits: float

    def values(self, X: Table) -> Array:
        return self.side[self.tree.apply(X)]

    def name(self, names: Sequence[str]) -> str:
        inner = np.flatnonzero(self.tree.feature >= 0)
        asked = ", ".join(f"{names[self.tree.feature[t]]} <= {self.tree.threshold[t]:.6g}" for t in inner)
        return f"tree({asked})"


@dataclass(frozen=True)
class FormulaFeature:
    """+1 where a formula over the columns that exceed 1/2 is true, -1 elsewhere."""

    formula: Formula
    bits: float

    def values(self, X: Table) -> Array:
        return np.where(self.formula.truth(X > 0.5), 1.0, -1.0)

    def name(self, names: Sequence[str]) -> str:
        return f"[{self.formula.text(names)}]"


@dataclass(frozen=True)
class ModelFeature:
    """The output of a fitted model: its decision function, or the number it predicts."""

    title: str
    model: InnerEstimator
    method: str
    bits: float

    def values(self, X: Table) -> Array:
        return np.asarray(getattr(self.model, self.method)(X), dtype=np.float64).ravel()

    def name(self, names: Sequence[str]) -> str:
        return self.title


@dataclass(frozen=True)
class Raws:
    """Constructor of raw columns."""

    def pool(self, X: Table, w: Weights, extra: float) -> PowerPool:
        return power_pool(X.astype(np.float64), w, RawFeature, extra)


@dataclass(frozen=True)
class Squares:
    """Constructor of squared columns."""

    def pool(self, X: Table, w: Weights, extra: float) -> PowerPool:
        return power_pool(X.astype(np.float64) ** 2, w, SquaredFeature, extra)


@dataclass(frozen=True)
class PowerPool:
    """Columns, or their squares."""

    V: Array  # (n, d)
    norms: Array  # (d,)
    kind: type[RawFeature] | type[SquaredFeature]
    bits: float

    def best(self, alpha: Array) -> tuple[float, Feature | None]:
        score = np.abs(alpha @ self.V) / np.where(self.norms > 0, self.norms, np.inf)
        j = _first(score)
        return float(score[j]), self.kind(j, self.bits)


def power_pool(V: Matrix, w: Weights, kind: type[RawFeature] | type[SquaredFeature], extra: float) -> PowerPool:
    """The pool of these columns."""
    return PowerPool(V, np.sqrt(w @ V**2), kind, log2(V.shape[1]) + extra)


@dataclass(frozen=True)
class Tests:
    """Constructor of threshold tests: every threshold between two values of a column."""

    __test__ = False

    def pool(self, X: Table, w: Weights, extra: float) -> CutPool:
        n, d = X.shape
        order, rises = np.empty((d, n), dtype=np.int32), np.zeros((d, n), dtype=bool)
        for j in range(d):
            order[j] = np.argsort(X[:, j], kind="stable")
            rises[j, :-1] = np.diff(X[order[j], j]) > 0
        return CutPool(X, order, rises, float(sqrt(w.sum())), log2(d) + extra)


@dataclass(frozen=True)
class CutPool:
    """Columns sorted once: all thresholds are scored in one pass over them."""

    X: Table
    order: Indices  # (d, n)
    rises: Mask  # (d, n): is the next value larger?
    norm: float
    bits: float

    def best(self, alpha: Array) -> tuple[float, Feature | None]:
        d = len(self.order)
        score, place = np.zeros(d), np.zeros(d, dtype=np.int64)
        total = float(alpha.sum())
        map_items(lambda j: _scan(self.order[j], self.rises[j], alpha, total, score[j:], place[j:]), d)
        j = _first(score)
        x, i = self.X[:, j], int(place[j])
        if score[j] <= 0.0:
            return 0.0, None
        first, below, above, last = (float(x[self.order[j, at]]) for at in (0, i, i + 1, -1))
        return float(score[j]) / self.norm, ThresholdFeature(
            j, shortest_between(below, above, first, last), first, last, self.bits
        )


@dataclass(frozen=True)
class Trees:
    """Constructor of small trees, grown to the residuals of each round."""

    max_depth: int = 2

    def pool(self, X: Table, w: Weights, extra: float) -> TreePool:
        return TreePool(X, float(sqrt(w.sum())), self.max_depth, extra)


@dataclass(frozen=True)
class TreePool:
    """Grows a tree that predicts the signs of the residuals, weighted by their size."""

    X: Table
    norm: float
    max_depth: int
    bits: float

    def best(self, alpha: Array) -> tuple[float, Feature | None]:
        """The score of the tree that was grown, and the tree."""
        from fivefold.tree import DecisionTreeClassifier

        grown = DecisionTreeClassifier(max_depth=self.max_depth, random_state=0)
        grown.fit(self.X, np.where(alpha >= 0, 1, -1), sample_weight=np.maximum(np.abs(alpha), 1e-300))
        tree, shares = grown.model_.tree, grown.model_.value
        if len(tree) == 1:
            return 0.0, None
        side = grown.classes_[shares.argmax(axis=1)].astype(np.float64)
        threshold, bits = tree.threshold.copy(), self.bits + 2.0 * len(tree.leaves)
        for t in np.flatnonzero(tree.feature >= 0):
            x = self.X[:, tree.feature[t]].astype(np.float64)
            low, high = float(x.min()), float(x.max())
            f = shortest_between(float(x[x <= threshold[t]].max()), float(x[x > threshold[t]].min()), low, high)
            threshold[t] = low + (high - low) * f
            bits += 1 + log2(self.X.shape[1]) + fraction_bits(f)
        feature = TreeFeature(replace(tree, threshold=threshold), side, bits)
        return float(abs(alpha @ feature.values(self.X))) / self.norm, feature


@dataclass(frozen=True)
class Formulas:
    """Constructor of Boolean formulas over columns that are true above 1/2, up to a budget of bits."""

    budget: float = 16.0
    most: int = 20_000  # at most this many formulas are made

    def pool(self, X: Table, w: Weights, extra: float) -> FormulaPool:
        patterns, which = np.unique(X > 0.5, axis=0, return_inverse=True)
        formulas, truth = shortest_formulas(patterns, self.budget, self.most)
        lengths = np.array([formula.bits(X.shape[1]) for formula in formulas])
        return FormulaPool(tuple(formulas), lengths, 2.0 * truth - 1.0, which.ravel(), float(sqrt(w.sum())), extra)


@dataclass(frozen=True)
class FormulaPool:
    """Formulas, shortest first, and their values on the patterns of the table."""

    formulas: tuple[Formula, ...]
    lengths: Array  # (formulas,) bits
    values: Array  # (formulas, patterns), -1 or +1
    which: Indices  # (n,) pattern of each row
    norm: float
    bits: float

    def best(self, alpha: Array) -> tuple[float, Feature | None]:
        """The highest score, and the shortest formula that has it."""
        if not self.formulas:
            return 0.0, None
        score = np.abs(self.values @ np.bincount(self.which, alpha, self.values.shape[1])) / self.norm
        i = _first(score)
        return float(score[i]), FormulaFeature(self.formulas[i], float(self.lengths[i]) + self.bits)


@dataclass(frozen=True)
class Models:
    """Constructor of features from fitted models: (name, model, name of its method, bits) each."""

    models: tuple[tuple[str, InnerEstimator, str, float], ...]

    def pool(self, X: Table, w: Weights, extra: float) -> ModelPool:
        made = tuple(ModelFeature(name, model, method, bits + extra) for name, model, method, bits in self.models)
        V = np.stack([feature.values(X) for feature in made], axis=1)
        return ModelPool(made, V, np.sqrt(w @ V**2))


@dataclass(frozen=True)
class ModelPool:
    """The outputs of fitted models on the table."""

    made: tuple[ModelFeature, ...]
    V: Array  # (n, models)
    norms: Array  # (models,)

    def best(self, alpha: Array) -> tuple[float, Feature | None]:
        score = np.abs(alpha @ self.V) / np.where(self.norms > 0, self.norms, np.inf)
        i = _first(score)
        return float(score[i]), self.made[i]


def threshold_products(features: Sequence[ThresholdFeature], X: Table, alpha: Array) -> Array:
    """alpha' phi of tests of one column, in one pass over the rows."""
    t = np.array([feature.threshold for feature in features])
    order = np.argsort(t, kind="stable")
    below = np.bincount(np.searchsorted(t[order], X[:, features[0].column]), alpha, len(t) + 1).cumsum()[:-1]
    out = np.empty(len(t))
    out[order] = alpha.sum() - 2 * below
    return out


def _first(score: Array) -> int:
    """The first of the largest scores, up to rounding."""
    return int(np.flatnonzero(score >= score.max() * (1 - RELATIVE_TIE))[0])


@jit
def _scan(order, rises, alpha, total, score, place):
    """The best cut of a sorted column: the sum above it less the sum below, in size."""
    s, best, at = 0.0, 0.0, 0
    for i in range(len(order)):
        s += alpha[order[i]]
        if rises[i]:
            found = abs(total - 2.0 * s)
            if found > best * (1.0 + 1e-10):
                best, at = found, i
    score[0], place[0] = best, at
