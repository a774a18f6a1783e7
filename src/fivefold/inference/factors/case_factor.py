"""Case-factor algorithm: a partition function by recursion on partial assignments, and the junction tree it induces.

    Z(rho) = prod over parts of Z(rho restricted to the part)     if the unassigned variables fall into parts
           = prod of the factors at rho                           if every variable is assigned
           = sum over the states x of some X of Z(rho, X = x)     otherwise

Variables are joined when a factor holds both. A problem is given by its assignment, restricted to the variables that
its factors mention, and is solved once. Which problems arise depends on which variables are assigned, not on their
states: they form a tree whose nodes, labelled by the assigned variables, are a junction tree of the factors. A chain
takes linear time, and in general each node meets d^(width + 1) assignments at most. A factor that is zero at an
assignment ends the branch, so deterministic tables make the recursion short.
"""

from __future__ import annotations

import operator
from collections.abc import Callable, Iterable, Mapping, Sequence
from dataclasses import dataclass
from typing import Any

import numpy as np

from fivefold.inference.factors.clique_tree import CliqueTree
from fivefold.inference.factors.elimination_order import DEFAULT_MEMORY, check_memory, elimination_order
from fivefold.inference.factors.factor import Cards, Factor, checked_cards
from fivefold.inference.factors.semirings import COUNTING, LOG_SUM_EXP, MAX_PRODUCT, SUM_PRODUCT, Semiring

# Addition and multiplication of single values; counts are Python's integers.
OPERATIONS: dict[Semiring, tuple[Callable[..., Any], Callable[..., Any]]] = {
    SUM_PRODUCT: (operator.add, operator.mul),
    COUNTING: (operator.add, operator.mul),
    MAX_PRODUCT: (max, operator.mul),
    LOG_SUM_EXP: (lambda a, b: float(np.logaddexp(a, b)), operator.add),
}


@dataclass
class Problem:
    """A node of the recursion: `assigned` variables that its factors mention, and how it is solved."""

    assigned: tuple[int, ...]
    variable: int | None  # the one that is split into cases
    factor: int | None  # the one that is looked up, all its variables being assigned
    children: list[int]  # numbers of the sub-problems: one for a case, several for a product
    places: list[tuple[int, ...]]  # for each child, where its assignment stands in this one, followed by the case


class CaseFactor:
    """The recursion for some factors, planned once; `partition` runs it.

    `choose` says which variable is split into cases: "min_fill" or "min_width" (the last of the variables that an
    elimination order leaves), "max_split" (the one whose assignment leaves the smallest largest part), or a sequence of
    variables.

    Examples
    --------
    >>> pair = np.array([[2.0, 1.0], [1.0, 2.0]])
    >>> triangle = [Factor((0,), np.array([3.0, 1.0])), *(Factor(s, pair) for s in [(0, 1), (1, 2), (0, 2)])]
    >>> CaseFactor(triangle, [2, 2, 2]).partition()
    56.0
    """

    def __init__(
        self,
        factors: Iterable[Factor],
        cards: Cards,
        choose: str | Sequence[int] = "min_fill",
        memory: float = DEFAULT_MEMORY,
    ) -> None:
        self.factors = list(factors)
        self.cards = checked_cards(self.factors, cards)
        self.scopes = [frozenset(f.variables) for f in self.factors]
        self.factors_of: dict[int, list[int]] = {v: [] for v in self.cards}
        for number, scope in enumerate(self.scopes):
            for v in scope:
                self.factors_of[v].append(number)
        if choose == "max_split":
            self.rank: dict[int, int] | None = None
        else:
            order = self._order(choose, memory)
            self.rank = {v: place for place, v in enumerate(order)}
        self.problems: list[Problem] = []
        self._plan()

    def partition(self, evidence: Mapping[int, int] | None = None, semiring: Semiring = SUM_PRODUCT) -> Any:
        """Z(rho): the sum over all configurations that extend the evidence, of the product of the factors."""
        return self.solve(evidence, semiring)[0]

    def solve(self, evidence: Mapping[int, int] | None = None, semiring: Semiring = SUM_PRODUCT) -> tuple[Any, int]:
        """Z(rho) and how many different problems were solved."""
        if semiring not in OPERATIONS:
            raise ValueError("The case-factor algorithm works in sum-product, max-product, log-sum-exp and counting.")
        add, multiply = OPERATIONS[semiring]
        number = int if semiring is COUNTING else float
        zero, one = number(semiring.zero), number(semiring.one)
        tables = [semiring.lift(f.table) for f in self.factors]
        observed = dict(evidence or {})
        for v, state in observed.items():
            if v not in self.cards or not 0 <= state < self.cards[v]:
                raise ValueError(f"The evidence says that variable {v} has state {state}; there is no such state.")
        solved: dict[tuple[int, tuple[int, ...]], Any] = {}
        ahead: list[tuple[int, tuple[int, ...]]] = [(0, ())]
        while ahead:
            node, states = ahead[-1]
            problem = self.problems[node]
            value, missing = one, None
            if problem.factor is not None:
                value = number(tables[problem.factor][states])
            elif problem.variable is not None:
                value, v = zero, problem.variable
                for x in [observed[v]] if v in observed else range(self.cards[v]):
                    key = self._child(problem, 0, (*states, x))
                    if key not in solved:
                        missing = key
                        break
                    value = add(value, solved[key])
            else:
                for child in range(len(problem.children)):
                    key = self._child(problem, child, states)
                    if key not in solved:
                        missing = key
                        break
                    value = multiply(value, solved[key])
                    if value == zero:
                        break
            if missing is None:
                solved[node, states] = value
                ahead.pop()
            else:
                ahead.append(missing)
        return solved[0, ()], len(solved)

    @property
    def width(self) -> int:
        """Variables of the largest node of the induced junction tree, less one."""
        return self.junction_tree().width

    def junction_tree(self) -> CliqueTree:
        """The problems, labelled by their assigned variables."""
        parents = [-1] * len(self.problems)
        for node, problem in enumerate(self.problems):
            for child in problem.children:
                parents[child] = node
        labels = [problem.assigned for problem in self.problems]
        separators = [
            tuple(v for v in label if parent >= 0 and v in labels[parent])
            for label, parent in zip(labels, parents, strict=True)
        ]
        return CliqueTree(tuple(labels), tuple(parents), tuple(separators))

    def to_text(self, names: Mapping[int, str] | None = None) -> str:
        """The tree of problems, one per line: its assigned variables and how it is solved."""
        lines, ahead = [], [(0, 0)]
        while ahead:
            node, depth = ahead.pop()
            problem = self.problems[node]
            label = ", ".join(str(v) if names is None else names[v] for v in problem.assigned)
            if problem.variable is not None:
                how = f"cases of {problem.variable if names is None else names[problem.variable]}"
            else:
                how = "product" if problem.factor is None else f"factor {problem.factor}"
            lines.append(f"{'  ' * depth}{{{label}}} {how}")
            ahead += [(child, depth + 1) for child in reversed(problem.children)]
        return "\n".join(lines)

    def _order(self, choose: str | Sequence[int], memory: float) -> list[int]:
        if isinstance(choose, str):
            order = elimination_order([f.variables for f in self.factors], self.cards, method=choose)
            check_memory(order, order.cost, memory)
            return list(reversed(order.order))
        if sorted(choose) != sorted(self.cards):
            raise ValueError("An order of cases names every variable once.")
        return list(choose)

    def _plan(self) -> None:
        """Make the problems, each before its sub-problems."""
        everything = (frozenset(self.cards), tuple(range(len(self.factors))))
        ahead: list[tuple[frozenset[int], tuple[int, ...], int]] = [(*everything, -1)]
        while ahead:
            free, numbers, parent = ahead.pop()
            parts = self._parts(free, numbers)
            looked_up = len(parts) == 1 and not free
            mentioned = frozenset[int]().union(*(self.scopes[i] for i in numbers)) - free
            assigned = self.factors[numbers[0]].variables if looked_up else tuple(sorted(mentioned))
            if parent >= 0:
                above = self.problems[parent]
                known = above.assigned if above.variable is None else (*above.assigned, above.variable)
                above.children.append(len(self.problems))
                above.places.append(tuple(known.index(v) for v in assigned))
            own = len(self.problems)
            problem = Problem(assigned, None, None, [], [])
            self.problems.append(problem)
            if looked_up:
                problem.factor = numbers[0]
            elif len(parts) == 1:
                problem.variable = self._case(free, numbers)
                ahead.append((free - {problem.variable}, numbers, own))
            else:
                ahead += [(part, held, own) for part, held in parts]

    def _case(self, free: frozenset[int], numbers: tuple[int, ...]) -> int:
        if self.rank is not None:
            return min(free, key=self.rank.__getitem__)
        return min(free, key=lambda v: (max((len(p) for p, _ in self._parts(free - {v}, numbers)), default=0), v))

    def _parts(self, free: frozenset[int], numbers: tuple[int, ...]) -> list[tuple[frozenset[int], tuple[int, ...]]]:
        """Connected parts of the unassigned variables with their factors; assigned factors are parts of their own."""
        mine = set(numbers)
        parts: list[tuple[frozenset[int], tuple[int, ...]]] = []
        seen: set[int] = set()
        for start in sorted(free):
            if start in seen:
                continue
            part, held, ahead = {start}, set[int](), [start]
            while ahead:
                for number in self.factors_of[ahead.pop()]:
                    if number in mine and number not in held:
                        held.add(number)
                        new = (self.scopes[number] & free) - part
                        part |= new
                        ahead += new
            seen |= part
            parts.append((frozenset(part), tuple(sorted(held))))
        return parts + [(frozenset[int](), (i,)) for i in numbers if not self.scopes[i] & free]

    def _child(self, problem: Problem, child: int, states: tuple[int, ...]) -> tuple[int, tuple[int, ...]]:
        return problem.children[child], tuple(states[i] for i in problem.places[child])
