"""Variable elimination: sum a product of factors over all variables but a few, one variable at a time.

    sum_x f(x, y) g(x, z) h(z) = h(z) sum_x f(x, y) g(x, z)

A step multiplies the factors that hold the variable and sums it out; the others are not touched. Its largest table
decides the cost, which elimination_order.py knows before anything is allocated.

Zhang & Poole (1994); Dechter (1999), Bucket elimination.
"""

from __future__ import annotations

from collections.abc import Iterable, Sequence
from dataclasses import dataclass
from typing import Generic, TypeVar

from fivefold.inference.factors.elimination_order import (
    DEFAULT_MEMORY,
    Order,
    check_memory,
    elimination_order,
    order_of,
)
from fivefold.inference.factors.factor import Cards, Factor, checked_cards, constant, lifted, product
from fivefold.inference.factors.semirings import SUM_PRODUCT, Semiring

T = TypeVar("T")


def eliminate(
    factors: Iterable[Factor],
    keep: Sequence[int],
    cards: Cards,
    semiring: Semiring = SUM_PRODUCT,
    order: Order | Sequence[int] | None = None,
    memory: float = DEFAULT_MEMORY,
) -> Factor:
    """The product of the factors, summed over every variable of theirs that is not in `keep`, with axes as in `keep`.

    Tables hold what the semiring says: plain values, or logarithms for LOG_SUM_EXP and MAX_SUM, energies for MIN_SUM.
    Variables that no factor holds are not summed over. Evidence comes first, by `Factor.condition`.

    Examples
    --------
    >>> import numpy as np
    >>> chain = [Factor((0,), np.array([3.0, 1.0])), *(Factor((i, i + 1), np.eye(2) + 1) for i in range(2))]
    >>> float(eliminate(chain, (), [2, 2, 2]).table)
    36.0
    """
    pool = list(factors)
    checked_cards(pool, cards)
    scopes = [f.variables for f in pool]
    if order is None:
        order = elimination_order(scopes, cards, keep)
    elif not isinstance(order, Order):
        order = order_of(order, scopes, cards, keep)
    check_memory(order, order.largest * semiring.value_size**2, memory)  # a product makes all pairs of numbers first
    pool = sum_out(lifted(pool, semiring), order.order, semiring)
    held_now = {v for f in pool for v in f.variables}
    pool += [constant((v,), cards, semiring) for v in keep if v not in held_now]
    return product(pool, semiring).transpose(keep)


def sum_out(factors: Iterable[Factor], variables: Iterable[int], semiring: Semiring) -> list[Factor]:
    """Factors whose product is that of `factors` summed over the variables, eliminated in this order."""
    pool = _pooled(factors)
    for variable in variables:
        message = product(pool.take(variable), semiring).eliminate(variable, semiring)
        pool.add(message, message.variables)
    return pool.left()


@dataclass(frozen=True)
class EliminationStep:
    """One variable summed out: which tables were multiplied, and what came of it."""

    variable: int
    scopes: tuple[tuple[int, ...], ...]
    cells: int  # of the product
    message: Factor

    def __str__(self) -> str:
        held = " ".join(f"f({', '.join(map(str, scope))})" for scope in self.scopes)
        left = ", ".join(map(str, self.message.variables))
        return f"sum over {self.variable} of {held} = m({left}), {self.cells} cells"


def elimination_steps(
    factors: Iterable[Factor], keep: Sequence[int], cards: Cards, order: Sequence[int] | None = None
) -> list[EliminationStep]:
    """The steps of `eliminate` in sum-product, one by one, to be looked at or printed.

    Examples
    --------
    >>> import numpy as np
    >>> chain = [Factor((i, i + 1), np.eye(2) + 1) for i in range(2)]
    >>> for step in elimination_steps(chain, (2,), [2, 2, 2]):
    ...     print(step)
    sum over 0 of f(0, 1) = m(1), 4 cells
    sum over 1 of f(1, 2) f(1) = m(2), 4 cells
    """
    given = list(factors)
    if order is None:
        order = elimination_order([f.variables for f in given], cards, keep).order
    pool, steps = _pooled(given), []
    for variable in order:
        held = pool.take(variable)
        whole = product(held)
        message = whole.eliminate(variable)
        pool.add(message, message.variables)
        steps.append(EliminationStep(variable, tuple(f.variables for f in held), whole.table.size, message))
    return steps


def _pooled(factors: Iterable[Factor]) -> Pool[Factor]:
    pool: Pool[Factor] = Pool()
    for factor in factors:
        pool.add(factor, factor.variables)
    return pool


class Pool(Generic[T]):
    """Tables by the variables that they hold, so that a step of elimination finds its own at once."""

    def __init__(self) -> None:
        self.items: dict[int, tuple[T, tuple[int, ...]]] = {}
        self.holding: dict[int, dict[int, None]] = {}  # numbers of items, in the order in which they came
        self.count = 0

    def add(self, item: T, variables: tuple[int, ...]) -> None:
        self.items[self.count] = item, variables
        for v in variables:
            self.holding.setdefault(v, {})[self.count] = None
        self.count += 1

    def take(self, variable: int) -> list[T]:
        """Remove and return what holds a variable."""
        taken = []
        for number in list(self.holding.get(variable, ())):
            item, variables = self.items.pop(number)
            for v in variables:
                del self.holding[v][number]
            taken.append(item)
        return taken

    def left(self) -> list[T]:
        return [item for item, _ in self.items.values()]
