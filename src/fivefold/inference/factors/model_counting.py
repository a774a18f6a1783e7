"""Counting the satisfying assignments of clauses as inference, which shows that inference is #P-hard.

A clause lists literals: i for variable i, -i for its negation, counted from 1. Two roads to the same number:

    count = number of configurations on which no clause table is zero         in the counting semiring, exact
    count = 2^n P(A_k = 1)    X_i fair coins, C_j = clause j holds, A_j = A_{j-1} and C_j       a Bayesian network
"""

from __future__ import annotations

from collections.abc import Iterable, Sequence

import numpy as np

from fivefold.inference.factors.elimination_order import DEFAULT_MEMORY
from fivefold.inference.factors.factor import Factor
from fivefold.inference.factors.semirings import COUNTING
from fivefold.inference.factors.variable_elimination import eliminate

Clauses = Sequence[Sequence[int]]


def count_models(clauses: Clauses, variables: int, memory: float = DEFAULT_MEMORY) -> int:
    """How many of the 2^variables assignments satisfy every clause.

    Examples
    --------
    >>> count_models([(1, 2, 3), (-1, 2, 4), (-2, -3, 4)], 4)
    10
    """
    factors = [clause_factor(clause, variables) for clause in clauses]
    mentioned = {v for f in factors for v in f.variables}
    count = int(eliminate(factors, (), [2] * variables, COUNTING, memory=memory).table)
    return count * 2 ** (variables - len(mentioned))


def clause_factor(clause: Sequence[int], variables: int) -> Factor:
    """One where a literal holds, zero elsewhere; variable i of the clause is variable i - 1 of the factor."""
    literals: dict[int, set[bool]] = {}
    for literal in clause:
        if not 1 <= abs(literal) <= variables:
            raise ValueError(f"The clause {tuple(clause)} has the literal {literal}; variables are 1 to {variables}.")
        literals.setdefault(abs(literal) - 1, set()).add(literal > 0)
    table = np.ones((2,) * len(literals))
    if all(len(signs) == 1 for signs in literals.values()):  # x or not x always holds
        table[tuple(0 if True in signs else 1 for signs in literals.values())] = 0.0
    return Factor(tuple(literals), table)


def clause_network(clauses: Clauses, variables: int) -> tuple[list[Factor], list[int]]:
    """Conditional tables of the network of coins, clauses and conjunctions, and the numbers of states.

    Variables are the coins X_1..X_n, then C_1, A_1, C_2, A_2, ...; the last, A_k, says whether all clauses hold.
    """
    coins = [Factor((v,), np.array([0.5, 0.5])) for v in range(variables)]
    rest = []
    for j, clause in enumerate(clauses):
        holds = clause_factor(clause, variables)
        c, a = variables + 2 * j, variables + 2 * j + 1
        rest.append(Factor((*holds.variables, c), np.stack([1.0 - holds.table, holds.table], axis=-1)))
        if j == 0:
            rest.append(Factor((c, a), np.eye(2)))
        else:
            both = np.zeros((2, 2, 2))
            both[..., 0] = 1.0
            both[1, 1] = [0.0, 1.0]
            rest.append(Factor((a - 2, c, a), both))
    return coins + rest, [2] * (variables + 2 * len(clauses))


def read_dimacs(lines: Iterable[str]) -> tuple[list[tuple[int, ...]], int]:
    """Clauses and the number of variables of a file in the DIMACS format: a clause ends with 0."""
    clauses: list[tuple[int, ...]] = []
    clause: list[int] = []
    variables = 0
    for line in lines:
        words = line.split()
        if not words or words[0] in ("c", "%"):
            continue
        if words[0] == "p":
            if len(words) < 4 or words[1] != "cnf":
                raise ValueError(f"The line {line.strip()!r} should read 'p cnf VARIABLES CLAUSES'.")
            variables = int(words[2])
            continue
        for word in words:
            literal = int(word)
            if literal:
                clause.append(literal)
            else:
                clauses.append(tuple(clause))
                clause = []
    if clause:
        clauses.append(tuple(clause))
    return clauses, max([variables, *(abs(literal) for c in clauses for literal in c)])
