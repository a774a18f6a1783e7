"""Literals on a database: the bindings of variables under which they are true, by joins of whole columns."""

from __future__ import annotations

from collections.abc import Iterable, Mapping
from typing import Any

import numpy as np

from fivefold.core.types import Codes
from fivefold.rules.logic.literals import EQUAL, Atom, Variable
from fivefold.rules.logic.relations import Bindings, Database

MAX_BINDINGS = 20_000_000  # rows of bindings at most: 160 MB per variable
NO_DOMAINS: Mapping[str, Any] = {}


class TooManyBindings(ValueError):
    """A join has more rows than allowed."""


def join_literals(
    body: Iterable[Atom],
    database: Database,
    start: Bindings,
    most: int = MAX_BINDINGS,
    domains: Mapping[str, Any] = NO_DOMAINS,
) -> Bindings:
    """The bindings under which every literal is true; literals that bind nothing are applied last.

    A variable with a domain that no literal binds takes every value of the domain.
    """
    found, late = start, []
    for atom in sorted(body, key=lambda atom: atom.relation == EQUAL):
        known = atom.relation != EQUAL or set(atom.variables) & set(found.variables)
        if atom.positive and known:
            found = join_literal(found, atom, database, most)
        else:
            late.append(atom)
    for name, domain in domains.items():
        if name not in found.variables:
            found = _crossed(found, name, domain, most)
    for atom in late:
        found = join_literal(found, atom, database, most)
    return found


def join_literal(found: Bindings, atom: Atom, database: Database, most: int = MAX_BINDINGS) -> Bindings:
    """The bindings under which this literal is true as well, extended by its new variables."""
    if atom.relation == EQUAL:
        return _equated(found, atom, database, most)
    relation = database[atom.relation]
    if len(atom.terms) != relation.arity:
        raise ValueError(f"{atom} has {len(atom.terms)} term(s); relation {relation.name!r} has arity {relation.arity}")
    bound, new, same = _places(found, atom, database)
    table = np.column_stack([*bound.values(), np.zeros(len(found), dtype=np.int64)])[:, :-1]
    known = np.asarray((table >= 0).all(axis=1))  # a constant that occurs in no fact matches none
    facts, key = database.sorted_by(atom.relation, tuple(bound)), database.keys(np.where(known[:, None], table, 0))
    counts = np.where(known, facts.count(key), 0)
    if not same and not (atom.positive and new):
        return Bindings(found.variables, found.codes[(counts > 0) == atom.positive], found.constants)
    if (size := int(counts.sum())) > most:
        raise TooManyBindings(f"{atom} gives {size} rows of bindings, more than {most}: order the literals otherwise")
    rows, matched = facts.join(key, counts)
    agree = np.all([matched[:, i] == matched[:, j] for i, j in same], axis=0) if same else np.ones(size, dtype=bool)
    if not atom.positive:
        held = np.zeros(len(found), dtype=bool)
        held[rows[agree]] = True
        return Bindings(found.variables, found.codes[~held], found.constants)
    codes = np.hstack([found.codes[rows[agree]], matched[agree][:, list(new.values())]])
    return Bindings((*found.variables, *new), codes, found.constants)


def _places(
    found: Bindings, atom: Atom, database: Database
) -> tuple[dict[int, Codes], dict[str, int], list[tuple[int, int]]]:
    """Places with known values, one per row; the first place of each new variable; pairs of places that share one."""
    bound, new = dict[int, Codes](), dict[str, int]()
    same: list[tuple[int, int]] = []
    for place, term in enumerate(atom.terms):
        if not isinstance(term, Variable):
            bound[place] = np.full(len(found), database.codes.get(term, -1))
        elif term.name in found.variables:
            bound[place] = found.codes[:, found.variables.index(term.name)]
        elif term.name in new:
            same.append((new[term.name], place))
        else:
            new[term.name] = place
    return bound, new, same


def _crossed(found: Bindings, name: str, domain: Codes, most: int) -> Bindings:
    if (size := len(found) * len(domain)) > most:
        raise TooManyBindings(f"variable {name} is open, which gives {size} rows of bindings, more than {most}")
    codes = np.hstack([np.repeat(found.codes, len(domain), axis=0), np.tile(domain, len(found))[:, None]])
    return Bindings((*found.variables, name), codes, found.constants)


def _equated(found: Bindings, atom: Atom, database: Database, most: int) -> Bindings:
    """X = Y or X != Y; if one side is not bound yet, X = Y binds it."""
    for name in atom.variables if not atom.positive or not set(atom.variables) & set(found.variables) else ():
        if name not in found.variables:
            found = _crossed(found, name, np.arange(len(database.constants)), most)
    sides: list[Any] = [
        np.full(len(found), database.codes.get(t, -1)) if not isinstance(t, Variable)
        else found.codes[:, found.variables.index(t.name)] if t.name in found.variables else None
        for t in atom.terms
    ]  # fmt: skip
    for i in range(2):
        if sides[i] is None:
            codes = np.column_stack([found.codes, sides[1 - i]])
            return Bindings((*found.variables, atom.terms[i].name), codes, found.constants)
    return Bindings(found.variables, found.codes[(sides[0] == sides[1]) == atom.positive], found.constants)
