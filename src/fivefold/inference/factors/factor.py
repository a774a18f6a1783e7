"""Factor: a table over discrete variables, with multiply, eliminate and condition.

    (f g)(x, y, z) = f(x, y) g(y, z)          (sum_y f)(x) = sum over y of f(x, y)          f(x | y = b) = f(x, b)

in any semiring. Variables are whole numbers, one per axis of the table, in any order.
"""

from __future__ import annotations

from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass
from functools import reduce
from math import prod
from typing import TypeAlias

import numpy as np

from fivefold.inference.factors.semirings import SUM_PRODUCT, Semiring, Values

Cards: TypeAlias = Sequence[int] | Mapping[int, int]  # numbers of states, by variable
# NumPy's arrays have at most 64 axes.
MAX_AXES = 64


@dataclass(frozen=True, eq=False)
class Factor:
    """A table over discrete variables; axes after those of the variables belong to a value of the semiring.

    Examples
    --------
    >>> import numpy as np
    >>> rain = Factor((0,), np.array([0.8, 0.2]))
    >>> wet_given_rain = Factor((0, 1), np.array([[0.9, 0.1], [0.2, 0.8]]))
    >>> rain.multiply(wet_given_rain).eliminate(0).table
    array([0.76, 0.24])
    """

    variables: tuple[int, ...]
    table: Values  # one axis per variable: numbers of states

    def __post_init__(self) -> None:
        object.__setattr__(self, "table", np.asarray(self.table))  # sums over all axes are bare numbers
        if len(set(self.variables)) < len(self.variables):
            raise ValueError(f"A factor names a variable twice: {self.variables}.")
        if self.table.ndim < len(self.variables):
            raise ValueError(
                f"A factor of {len(self.variables)} variables {self.variables} needs a table of as many axes; "
                f"this one has shape {self.table.shape}."
            )

    @property
    def cards(self) -> dict[int, int]:
        """Number of states of each variable."""
        return dict(zip(self.variables, self.table.shape, strict=False))

    def multiply(self, other: Factor, semiring: Semiring = SUM_PRODUCT) -> Factor:
        """The product, over the union of the variables: this factor's first, then those that only `other` has."""
        union = self.variables + tuple(v for v in other.variables if v not in self.variables)
        return Factor(union, semiring.multiply(self.aligned(union), other.aligned(union)))

    def eliminate(self, variable: int, semiring: Semiring = SUM_PRODUCT) -> Factor:
        """The sum over the states of one variable."""
        axis = self._axis(variable)
        return Factor(self.variables[:axis] + self.variables[axis + 1 :], semiring.reduce(self.table, axis))

    def condition(self, evidence: Mapping[int, int]) -> Factor:
        """The table at observed states; the observed variables are gone from it."""
        observed = [v for v in self.variables if v in evidence]
        if not observed:
            return self
        cards = self.cards
        for v in observed:
            if not 0 <= evidence[v] < cards[v]:
                raise ValueError(f"Variable {v} has states 0 to {cards[v] - 1}; the evidence says {evidence[v]}.")
        at = tuple(evidence[v] if v in evidence else slice(None) for v in self.variables)
        return Factor(tuple(v for v in self.variables if v not in evidence), np.asarray(self.table[at]))

    def aligned(self, variables: Sequence[int]) -> Values:
        """A view of the table with one axis per variable of `variables`, of length 1 where this factor lacks it."""
        position = {v: i for i, v in enumerate(variables)}
        own = len(self.variables)
        axes = sorted(range(own), key=lambda axis: position[self.variables[axis]])
        shape = [1] * len(variables)
        for axis in axes:
            shape[position[self.variables[axis]]] = self.table.shape[axis]
        value_axes = range(own, self.table.ndim)
        return self.table.transpose((*axes, *value_axes)).reshape((*shape, *self.table.shape[own:]))

    def transpose(self, variables: Sequence[int]) -> Factor:
        """The same factor with its axes in another order."""
        if sorted(variables) != sorted(self.variables):
            raise ValueError(f"A factor over {self.variables} cannot be put in the order {tuple(variables)}.")
        return Factor(tuple(variables), self.aligned(variables))

    def normalise(self) -> Factor:
        """Divided by its sum, for sum-product."""
        total = float(self.table.sum())
        if not 0.0 < total < np.inf:
            raise ValueError(f"A table over variables {self.variables} that sums to {total} cannot be normalised.")
        return Factor(self.variables, self.table / total)

    def _axis(self, variable: int) -> int:
        if variable not in self.variables:
            raise ValueError(f"This factor is over variables {self.variables}; it has no variable {variable}.")
        return self.variables.index(variable)


def constant(variables: Sequence[int], cards: Cards, semiring: Semiring = SUM_PRODUCT) -> Factor:
    """A factor that is one everywhere."""
    table = np.full(tuple(cards[v] for v in variables), semiring.one)
    return Factor(tuple(variables), semiring.lift(table))


def product(factors: Iterable[Factor], semiring: Semiring = SUM_PRODUCT) -> Factor:
    """The product of several factors, small ones first; of none, a table without variables that holds one."""
    ordered = sorted(factors, key=lambda f: f.table.size)
    start = ordered.pop(0) if ordered else constant((), (), semiring)
    return reduce(lambda a, b: a.multiply(b, semiring), ordered, start)


def lifted(factors: Iterable[Factor], semiring: Semiring) -> list[Factor]:
    """Factors of plain tables as factors of the semiring's values."""
    plain = list(factors)
    cards = checked_cards(plain)
    configurations = prod(cards.values())
    return [Factor(f.variables, semiring.lift(f.table, configurations)) for f in plain]


def checked_cards(factors: Iterable[Factor], cards: Cards | None = None) -> dict[int, int]:
    """Numbers of states of the variables in the tables; factors that disagree are refused."""
    found: dict[int, int] = {}
    for number, factor in enumerate(factors):
        for v, states in factor.cards.items():
            expected = found.setdefault(v, states if cards is None else cards[v])
            if states != expected:
                raise ValueError(f"Factor {number} has {states} states for variable {v}; elsewhere it has {expected}.")
    return found
