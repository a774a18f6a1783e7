"""Sparse factors: only the configurations whose value is not zero, for deterministic or mostly-zero tables.

A table is a list of rows of states with a value each. A product joins the rows that agree on the shared variables; a
sum adds up the rows that agree on all others. Both cost the rows that there are, not the cells of a table: an exclusive
or of fifty variables in a chain of sums, or a network of logical gates, fits where dense tables do not.
"""

from __future__ import annotations

from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass
from math import prod

import numpy as np

from fivefold.core.types import Doubles, Indices
from fivefold.inference.factors.elimination_order import DEFAULT_MEMORY, Order, elimination_order
from fivefold.inference.factors.factor import Cards, Factor
from fivefold.inference.factors.semirings import SUM_PRODUCT, Semiring, UfuncSemiring, Values
from fivefold.inference.factors.variable_elimination import Pool

# Keys of configurations are whole numbers below this.
MAX_KEY = 2**62


@dataclass(frozen=True, eq=False)
class SparseFactor:
    """Configurations of the variables with values that are not zero; all others are zero.

    Examples
    --------
    >>> parity = SparseFactor.of(Factor((0, 1, 2), np.indices((2, 2, 2)).sum(axis=0) % 2 == 0))
    >>> parity.eliminate(2).to_dense().table
    array([[1., 1.],
           [1., 1.]])
    """

    variables: tuple[int, ...]
    cards: tuple[int, ...]
    states: Indices  # (rows, variables)
    values: Doubles  # (rows,)

    @classmethod
    def of(cls, factor: Factor, semiring: Semiring = SUM_PRODUCT) -> SparseFactor:
        """The entries of a table that are not the semiring's zero."""
        there = factor.table != semiring.zero
        values = np.asarray(factor.table.ravel()[there.ravel()], dtype=np.float64)
        return cls(factor.variables, factor.table.shape, np.argwhere(there), values)

    def to_dense(self, semiring: Semiring = SUM_PRODUCT) -> Factor:
        """The whole table."""
        table = np.full(prod(self.cards), semiring.zero, dtype=np.float64)
        table[row_keys(self.states, self.cards)] = self.values
        return Factor(self.variables, table.reshape(self.cards))

    def multiply(
        self, other: SparseFactor, semiring: Semiring = SUM_PRODUCT, memory: float = DEFAULT_MEMORY
    ) -> SparseFactor:
        """The product: the rows of both that agree on the variables they share."""
        shared = [v for v in self.variables if v in other.variables]
        new = [v for v in other.variables if v not in self.variables]
        union = (*self.variables, *new)
        both = np.concatenate([self._columns(shared), other._columns(shared)])
        keys = row_keys(both, [self.cards[self.variables.index(v)] for v in shared])
        own, theirs = keys[: len(self.values)], keys[len(self.values) :]
        order = np.argsort(theirs, kind="stable")
        first, last = (np.searchsorted(theirs[order], own, side=side) for side in ("left", "right"))
        counts = last - first
        total = int(counts.sum())
        if total * (8 * len(union) + 8) > memory:
            raise ValueError(
                f"The product over variables {union} has {total:,} configurations that are not zero, which need "
                f"{total * (8 * len(union) + 8):,} bytes, more than the {int(memory):,} allowed."
            )
        a = np.repeat(np.arange(len(own)), counts)
        within = np.arange(total) - np.repeat(np.cumsum(counts) - counts, counts)
        b = order[np.repeat(first, counts) + within]
        return SparseFactor(
            variables=union,
            cards=(*self.cards, *(other.cards[other.variables.index(v)] for v in new)),
            states=np.concatenate([self.states[a], other._columns(new)[b]], axis=1),
            values=semiring.multiply(self.values[a], other.values[b]),
        )

    def eliminate(self, variable: int, semiring: Semiring = SUM_PRODUCT) -> SparseFactor:
        """The sum over the states of one variable."""
        if variable not in self.variables:
            raise ValueError(f"This factor is over variables {self.variables}; it has no variable {variable}.")
        at = self.variables.index(variable)
        rest = self.variables[:at] + self.variables[at + 1 :]
        cards = self.cards[:at] + self.cards[at + 1 :]
        states = np.delete(self.states, at, axis=1)
        _, first, group = np.unique(row_keys(states, cards), return_index=True, return_inverse=True)
        return SparseFactor(rest, cards, states[first], grouped_sums(self.values, group, len(first), semiring))

    def condition(self, evidence: Mapping[int, int]) -> SparseFactor:
        """The rows with the observed states; the observed variables are gone."""
        keep = [v for v in self.variables if v not in evidence]
        agree = np.ones(len(self.values), dtype=np.bool_)
        for i, v in enumerate(self.variables):
            if v in evidence:
                agree &= self.states[:, i] == evidence[v]
        cards = tuple(self.cards[self.variables.index(v)] for v in keep)
        return SparseFactor(tuple(keep), cards, self._columns(keep)[agree], self.values[agree])

    def _columns(self, variables: Sequence[int]) -> Indices:
        return self.states[:, [self.variables.index(v) for v in variables]]


def eliminate_sparse(
    factors: Iterable[SparseFactor | Factor],
    keep: Sequence[int],
    cards: Cards,
    semiring: Semiring = SUM_PRODUCT,
    order: Order | None = None,
    memory: float = DEFAULT_MEMORY,
) -> SparseFactor:
    """`eliminate` on sparse factors; the memory is checked before each product, by the rows that it will have."""
    given = [f if isinstance(f, SparseFactor) else SparseFactor.of(f, semiring) for f in factors]
    if order is None:
        order = elimination_order([f.variables for f in given], cards, keep)
    pool: Pool[SparseFactor] = Pool()
    for factor in given:
        pool.add(factor, factor.variables)
    for variable in order.order:
        message = _product(pool.take(variable), semiring, memory).eliminate(variable, semiring)
        pool.add(message, message.variables)
    held = {v for f in given for v in f.variables}
    free = [SparseFactor.of(Factor((v,), np.full(cards[v], semiring.one)), semiring) for v in keep if v not in held]
    whole = _product([*pool.left(), *free], semiring, memory)
    places = [whole.variables.index(v) for v in keep]
    return SparseFactor(tuple(keep), tuple(whole.cards[i] for i in places), whole.states[:, places], whole.values)


def row_keys(states: Indices, cards: Sequence[int]) -> Indices:
    """A whole number per row that is the same for equal rows and, unless it would be too large, in their order."""
    keys, size = np.zeros(len(states), dtype=np.int64), 1
    for column, states_of in zip(states.T, cards, strict=True):
        if size * states_of >= MAX_KEY:
            kinds, keys = np.unique(keys, return_inverse=True)
            size = len(kinds)
        keys, size = keys * states_of + column, size * states_of
    return keys


def grouped_sums(values: Doubles, group: Indices, groups: int, semiring: Semiring) -> Values:
    """The semiring's sum of the values of each group."""
    if semiring is SUM_PRODUCT:
        return np.bincount(group, values, groups)
    sums = np.full(groups, semiring.zero)
    addition = semiring.addition if isinstance(semiring, UfuncSemiring) else np.logaddexp
    addition.at(sums, group, values)
    return sums


def _product(factors: list[SparseFactor], semiring: Semiring, memory: float) -> SparseFactor:
    if not factors:
        return SparseFactor((), (), np.zeros((1, 0), dtype=np.int64), np.array([semiring.one]))
    ordered = sorted(factors, key=lambda f: len(f.values))
    whole = ordered[0]
    for factor in ordered[1:]:
        whole = whole.multiply(factor, semiring, memory)
    return whole
