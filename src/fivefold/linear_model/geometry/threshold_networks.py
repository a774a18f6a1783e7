"""Threshold units for Boolean functions, and two-level networks of them from formulas.

    s(a) = 1 if a > 0 else 0,     unit(x) = s(w'x + b),     x in {0, 1}^d

    AND  s(x1 + x2 - 1.5)    OR  s(x1 + x2 - 0.5)    NOT  s(0.5 - x)    NAND  s(1.5 - x1 - x2)

A conjunction of literals is one unit: weight +1 for a plain and -1 for a negated variable, threshold half below the
number of plain ones. So is a disjunction. A formula in disjunctive normal form is a level of conjunctions under one OR,
in conjunctive normal form a level of disjunctions under one AND. No single unit computes XOR; parity of d bits takes
2^(d-1) conjunctions.

McCulloch & Pitts (1943); Minsky & Papert (1969).
"""

from __future__ import annotations

from collections.abc import Callable, Iterable, Mapping, Sequence
from dataclasses import dataclass
from itertools import product

import numpy as np

from fivefold.core.types import Array, Codes, Matrix, Table, Vector

Clause = Mapping[int, bool]  # variable -> True if it is plain, False if it is negated
UnitOfClause = Callable[[Clause, int], tuple[Vector, float]]  # weights (d,) and bias


def heaviside(a: Array) -> Codes:
    """s(a): 1 where a > 0, 0 elsewhere; a tie is 0."""
    return (np.asarray(a) > 0).astype(np.int64)


def add_bias_column(X: Table) -> Array:
    """(1, x) for every row: then (b, w)' (1, x) = w'x + b."""
    X = np.atleast_2d(np.asarray(X, dtype=np.float64))
    return np.column_stack([np.ones(len(X)), X])


@dataclass(frozen=True)
class ThresholdLayer:
    """K threshold units side by side: x -> s(W x + b)."""

    W: Array  # (K, d)
    b: Array  # (K,)

    def __call__(self, X: Table) -> Codes:
        """0 or 1 for each row and unit (n, K)."""
        return np.asarray(heaviside(np.atleast_2d(np.asarray(X, dtype=np.float64)) @ self.W.T + self.b))


@dataclass(frozen=True)
class ThresholdNetwork:
    """Layers one after the other; the last has one unit."""

    layers: tuple[ThresholdLayer, ...]

    def __call__(self, X: Table) -> Codes:
        """The Boolean value of each row (n,)."""
        for layer in self.layers:
            X = layer(X)
        return np.asarray(X)[:, 0]

    @property
    def units(self) -> int:
        """Units of the first level."""
        return len(self.layers[0].b)


def conjunction(clause: Clause, d: int) -> tuple[Array, float]:
    """Weights (d,) and bias of the unit that is 1 where every literal holds."""
    w = _weights(clause, d)
    return w, 0.5 - float((w > 0).sum())


def disjunction(clause: Clause, d: int) -> tuple[Array, float]:
    """Weights (d,) and bias of the unit that is 1 where one literal or more holds."""
    w = _weights(clause, d)
    return w, float((w < 0).sum()) - 0.5


def threshold_unit(w: Sequence[float], b: float) -> ThresholdNetwork:
    """One threshold unit."""
    return ThresholdNetwork((ThresholdLayer(np.atleast_2d(np.asarray(w, dtype=np.float64)), np.array([float(b)])),))


AND, OR, NOT, NAND = (
    threshold_unit([1, 1], -1.5),
    threshold_unit([1, 1], -0.5),
    threshold_unit([-1], 0.5),
    threshold_unit([-1, -1], 1.5),
)


def from_dnf(clauses: Sequence[Clause], d: int) -> ThresholdNetwork:
    """The network of an OR of conjunctions of d variables.

    >>> xor = from_dnf([{0: True, 1: False}, {0: False, 1: True}], 2)
    >>> xor(truth_table(2)).tolist()
    [0, 1, 1, 0]
    """
    return _two_levels(clauses, d, conjunction, disjunction)


def from_cnf(clauses: Sequence[Clause], d: int) -> ThresholdNetwork:
    """The network of an AND of disjunctions of d variables."""
    return _two_levels(clauses, d, disjunction, conjunction)


def parity(d: int) -> ThresholdNetwork:
    """1 where an odd number of d bits is 1: a conjunction for each such row of the truth table."""
    rows = truth_table(d)
    return from_dnf([{j: bool(bit) for j, bit in enumerate(row)} for row in rows[rows.sum(axis=1) % 2 == 1]], d)


def truth_table(d: int) -> Codes:
    """All 2^d rows of d bits, in the order of counting."""
    return np.array(list(product((0, 1), repeat=d)), dtype=np.int64)


def collapse_layers(first: Matrix, second: Matrix) -> Matrix:
    """The one matrix of two linear layers without a threshold between them: second @ first."""
    return np.asarray(np.matmul(second, first))


def _weights(clause: Clause, d: int) -> Array:
    w = np.zeros(d)
    for j, plain in clause.items():
        w[j] = 1.0 if plain else -1.0
    return w


def _two_levels(clauses: Iterable[Clause], d: int, inner: UnitOfClause, outer: UnitOfClause) -> ThresholdNetwork:
    parts = [inner(clause, d) for clause in clauses]
    w, b = outer(dict.fromkeys(range(len(parts)), True), len(parts))
    first = ThresholdLayer(np.array([w for w, _ in parts]).reshape(-1, d), np.array([b for _, b in parts]))
    return ThresholdNetwork((first, ThresholdLayer(w[None], np.array([b]))))
