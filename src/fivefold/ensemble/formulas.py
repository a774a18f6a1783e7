"""Boolean formulas over named columns, in the order of their code length.

    formula = column | not formula | formula and formula | formula or formula

A node costs two bits, a column log2 d more: a formula of m nodes and l columns takes 2 m + l log2 d bits. Formulas are
made from shorter ones, sizes in the order of their length, and kept if their truth values on the patterns at hand are
new; so every function of the patterns appears once, by its shortest formula.
"""

from __future__ import annotations

from dataclasses import dataclass
from itertools import product
from math import log2
from typing import Any

import numpy as np

JOIN = {"and": np.logical_and, "or": np.logical_or}
CELLS = 50_000_000  # truth values kept at most


@dataclass(frozen=True)
class Formula:
    """A formula in postfix order: columns, "not", "and", "or"."""

    tokens: tuple[Any, ...]
    columns: int  # of the table

    @property
    def bits(self) -> float:
        """Code length.

        >>> Formula((0, "not", 1, 2, "and", "or"), columns=8).bits
        21.0
        """
        return 2 * len(self.tokens) + sum(isinstance(t, int) for t in self.tokens) * log2(self.columns)

    def truth(self, B: Any) -> Any:
        """Its value for each row of Booleans."""
        stack: list[Any] = []
        for token in self.tokens:
            if isinstance(token, int):
                stack.append(B[:, token])
            elif token == "not":
                stack.append(~stack.pop())
            else:
                stack.append(JOIN[token](stack.pop(), stack.pop()))
        return stack.pop()

    def text(self, names: Any) -> str:
        """The formula as a person writes it."""
        stack: list[str] = []
        for token in self.tokens:
            if isinstance(token, int):
                stack.append(str(names[token]))
            elif token == "not":
                stack.append(f"not {stack.pop()}")
            else:
                right, left = stack.pop(), stack.pop()
                stack.append(f"({left} {token} {right})")
        return stack.pop()


def shortest_formulas(patterns: Any, budget: float, most: int) -> tuple[list[Formula], Any]:
    """Formulas of at most `budget` bits with different truth values on the patterns, shortest first; and those values.

    At most `most` are made. Values are (formulas, patterns), Boolean; constants are left out.
    """
    U, d = patterns.shape
    most = min(most, max(CELLS // max(U, 1), d))
    sizes: dict[tuple[int, int], list[int]] = {}  # nodes, columns -> formulas of that size
    tokens: list[tuple[Any, ...]] = []
    values: list[Any] = []
    seen = {np.zeros(U, dtype=bool).tobytes(), np.ones(U, dtype=bool).tobytes()}

    def keep(size: tuple[int, int], made: tuple[Any, ...], value: Any) -> None:
        if (key := value.tobytes()) not in seen and len(tokens) < most:
            seen.add(key)
            sizes.setdefault(size, []).append(len(tokens))
            tokens.append(made)
            values.append(value)

    for m, l in _sizes(budget, d):
        if (m, l) == (1, 1):
            for j in range(d):
                keep((1, 1), (j,), patterns[:, j].copy())
            continue
        for i in list(sizes.get((m - 1, l), ())):
            keep((m, l), (*tokens[i], "not"), ~values[i])
        for (m1, l1), left in list(sizes.items()):
            rest = (m - 1 - m1, l - l1)
            if rest in sizes and (m1, l1) <= rest:
                for i, j in product(left, sizes[rest]):
                    if (m1, l1) < rest or i < j:
                        keep((m, l), (*tokens[i], *tokens[j], "and"), values[i] & values[j])
                        keep((m, l), (*tokens[i], *tokens[j], "or"), values[i] | values[j])
                    if len(tokens) >= most:
                        break
        if len(tokens) >= most:
            break
    table = np.array(values) if values else np.empty((0, U), dtype=bool)
    return [Formula(made, d) for made in tokens], table


def _sizes(budget: float, d: int) -> list[tuple[int, int]]:
    """Pairs of nodes and columns within the budget, by their length."""
    price = log2(d)
    found = [
        (m, l)
        for m in range(1, int(budget // 2) + 1)
        for l in range(1, (m + 1) // 2 + 1)
        if 2 * m + l * price <= budget
    ]
    return sorted(found, key=lambda size: (2 * size[0] + size[1] * price, size))
