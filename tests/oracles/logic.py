"""Formulas and clauses the slow way: every formula is written out, every assignment of variables is tried."""

from itertools import product

import numpy as np
from oracles.greedy import all_formulas

from fivefold.rules.formulas.boolean_formulas import Formula
from fivefold.rules.logic.literals import EQUAL, Variable


def best_score(B, y, w, score, nodes):
    """The least score(mistakes, bits) over every formula of up to so many symbols, and the constant."""
    best = score(min(w[y].sum(), w[~y].sum()), 0.0)
    for n in range(1, nodes + 1):
        for tokens in all_formulas(B.shape[1], n):
            formula = Formula(tokens)
            wrong = w[formula.truth(B) != y].sum()
            best = min(best, score(min(wrong, w.sum() - wrong), formula.bits(B.shape[1])))
    return best


def value(formula, row):
    """Prefix order read by recursion: the value of a formula for a dictionary of truth values."""

    def read(tokens):
        first, rest = tokens[0], tokens[1:]
        if first == "not":
            true, rest = read(rest)
            return not true, rest
        if first in ("and", "or"):
            left, rest = read(rest)
            right, rest = read(rest)
            return (left and right) if first == "and" else (left or right), rest
        return bool(row.get(first, 0)), rest

    return read(list(formula.tokens))[0]


def assignments(clause, facts, constants):
    """Every assignment of constants to the variables of a clause that makes its body true, as tuples in their order."""
    names = clause.variables
    found = set()
    for values in product(constants, repeat=len(names)):
        held = dict(zip(names, values, strict=True))

        def term(t, held=held):
            return held[t.name] if isinstance(t, Variable) else t

        def true(atom, term=term):
            values = tuple(term(t) for t in atom.terms)
            said = values[0] == values[1] if atom.relation == EQUAL else values in facts[atom.relation]
            return said == atom.positive

        if all(true(atom) for atom in clause.body):
            found.add(values)
    return found


def counts_of_bindings(examples, positive, body, head, facts, constants):
    """Rows of bindings of positive and of negative examples, and positive examples' rows, by trying everything."""
    from fivefold.rules.logic.clauses import Clause

    names = tuple(t.name for t in head.terms)
    clause = Clause(head, body)
    rows = assignments(clause, facts, constants)
    place = [clause.variables.index(n) for n in names]
    p = sum(tuple(r[i] for i in place) in positive for r in rows)
    n = sum(tuple(r[i] for i in place) in examples - positive for r in rows)
    return p, n


def closure(pairs):
    """Pairs that are linked by a way of one pair or more."""
    found = set(pairs)
    while True:
        more = {(a, d) for a, b in found for c, d in pairs if b == c} - found
        if not more:
            return found
        found |= more


def noisy_rows(formula, n, d, wrong, seed):
    """Random bits, the truth of a formula, a share of it turned round."""
    rng = np.random.RandomState(seed)
    B = rng.rand(n, d) < 0.5
    y = formula.truth(B)
    return B, y ^ (rng.rand(n) < wrong), y
