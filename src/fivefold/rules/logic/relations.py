"""Relations as values: sets of facts, and a database that joins them in whole columns.

    parent = {(ann, bob), (bob, cy)}            a relation of arity 2; what is not among its facts is false

In a database constants are numbered, a relation is a table of these codes, and a join finds for every row of bindings
the facts that match it in the columns they share: facts are sorted by the shared columns once, and looked up for all
rows together. Two columns have the same type if a chain of columns with common constants links them: a literal never
compares a person with a number.
"""

from __future__ import annotations

from collections.abc import Iterable, Mapping
from dataclasses import dataclass, field, replace
from functools import cached_property
from typing import Any, TypeAlias

import narwhals.stable.v2 as nw
import numpy as np
from scipy.sparse import coo_matrix
from scipy.sparse.csgraph import connected_components

from fivefold.core.types import Codes, Indices

MAX_DENSE_KEYS = 1 << 22  # with at most this many possible keys, facts are counted in a table instead of by bisection
MAX_KEY = 1 << 62  # keys must fit in int64


UserFacts: TypeAlias = Any  # what `Relation.of` takes: tuples, values, a data frame of any library, columns by name
UserRelations: TypeAlias = Any  # what `Database.of` takes: facts by name, relations, a database


@dataclass(frozen=True)
class Relation:
    """A name and a set of facts, all of one arity.

    Examples
    --------
    >>> Relation.of("parent", [("ann", "bob"), ("bob", "cy")])
    Relation('parent', arity=2, 2 facts)
    >>> Relation.of("female", ["ann", "cy"]).facts == {("ann",), ("cy",)}
    True
    >>> Relation.of("age", {"who": ["ann", "bob"], "years": [71, 44]}).columns
    ('who', 'years')
    """

    name: str
    facts: frozenset[tuple[Any, ...]]
    arity: int
    columns: tuple[str, ...] = ()

    def __post_init__(self) -> None:
        for fact in self.facts:
            if len(fact) != self.arity:
                raise ValueError(
                    f"relation {self.name!r} has arity {self.arity}; the fact {fact!r} has {len(fact)} value(s)"
                )
            if any(v is None or v != v for v in fact):
                raise ValueError(f"relation {self.name!r}: the fact {fact!r} has a missing value; drop or name it")

    @classmethod
    def of(cls, name: str, facts: UserFacts, arity: int | None = None) -> Relation:
        """From tuples, single values (arity 1), a data frame, a table, or columns by name; no facts need an `arity`."""
        if isinstance(facts, Relation):
            return replace(facts, name=name)
        rows, columns = fact_rows(facts)
        if not rows and arity is None and not columns:
            raise ValueError(f"relation {name!r} has no facts: say its arity, Relation.of({name!r}, [], arity=2)")
        size = arity if arity is not None else len(rows[0]) if rows else len(columns)
        return cls(name, frozenset(rows), size, columns)

    def __len__(self) -> int:
        return len(self.facts)

    def __contains__(self, fact: Iterable[Any]) -> bool:
        return tuple(fact) in self.facts

    def __repr__(self) -> str:
        return f"Relation({self.name!r}, arity={self.arity}, {len(self)} fact{'s' * (len(self) != 1)})"


def fact_rows(facts: UserFacts) -> tuple[list[tuple[Any, ...]], tuple[str, ...]]:
    """Facts as tuples, in order, and the names of their columns if they have any."""
    columns: tuple[str, ...] = ()
    if nw.dependencies.is_into_dataframe(facts):
        frame = nw.from_native(facts, eager_only=True)
        columns, rows = tuple(frame.columns), frame.rows()
    elif isinstance(facts, Mapping):
        columns, rows = tuple(facts), list(zip(*facts.values(), strict=True))
    else:
        rows = facts.tolist() if isinstance(facts, np.ndarray) else list(facts)
    return [tuple(row) if isinstance(row, tuple | list) else (row,) for row in rows], columns


@dataclass(frozen=True)
class Bindings:
    """Values of variables that make something true, one row per solution; prints as a table."""

    variables: tuple[str, ...]
    codes: Codes  # (m, variables)
    constants: tuple[Any, ...]

    def __len__(self) -> int:
        return len(self.codes)

    def rows(self) -> list[tuple[Any, ...]]:
        """The values, one tuple per row."""
        return [tuple(self.constants[code] for code in row) for row in self.codes.tolist()]

    def columns(self) -> dict[str, list[Any]]:
        """The values by variable, as a data frame takes them."""
        return {v: [self.constants[i] for i in self.codes[:, j]] for j, v in enumerate(self.variables)}

    def distinct(self, variables: Iterable[str]) -> Bindings:
        """The different values of some variables."""
        chosen = tuple(variables)
        codes = self.codes[:, [self.variables.index(v) for v in chosen]]
        return Bindings(chosen, np.unique(codes, axis=0), self.constants)

    def __str__(self) -> str:
        table = [self.variables, *([str(v) for v in row] for row in self.rows())]
        widths = [max(len(row[j]) for row in table) for j in range(len(self.variables))]
        return "\n".join("  ".join(f"{v:{n}}" for v, n in zip(row, widths, strict=True)).rstrip() for row in table)


@dataclass(frozen=True)
class FactIndex:
    """The facts of a relation sorted by some of its columns."""

    base: int  # number of constants
    keys: Codes  # (facts,) sorted
    table: Codes  # (facts, arity) in that order
    dense: Codes | None  # number of facts per possible key; None if there are too many keys

    def count(self, keys: Codes) -> Indices:
        """How many facts have each of these keys."""
        if self.dense is not None:
            return self.dense[keys]
        return np.searchsorted(self.keys, keys, side="right") - np.searchsorted(self.keys, keys)

    def join(self, keys: Codes, counts: Indices) -> tuple[Indices, Codes]:
        """Pairs of a row of `keys` and a fact that matches; `counts` is the number per row, zero leaves a row out."""
        rows = np.repeat(np.arange(len(keys)), counts)
        first = np.searchsorted(self.keys, keys)
        facts = np.arange(len(rows)) - np.repeat(np.cumsum(counts) - counts - first, counts)
        return rows, self.table[facts]


@dataclass(frozen=True)
class Database:
    """Relations by name, their constants numbered."""

    relations: dict[str, Relation]
    constants: tuple[Any, ...]
    tables: dict[str, Codes]  # (facts, arity) codes of constants
    _sorted: dict[Any, FactIndex] = field(default_factory=dict, compare=False, repr=False)

    @classmethod
    def of(cls, relations: UserRelations) -> Database:
        """From relations by name, in any form `Relation.of` takes, or from a list of relations.

        >>> Database.of({"parent": [("ann", "bob")], "female": ["ann"]}).constants
        ('ann', 'bob')
        """
        if isinstance(relations, Database):
            return relations
        if isinstance(relations, Relation):
            relations = [relations]
        if not isinstance(relations, Mapping):
            listed = list(relations)
            if not all(isinstance(r, Relation) for r in listed):
                raise ValueError("relations are given by name, {'parent': [('ann', 'bob')]}, or as a list of Relation")
            relations = {r.name: r for r in listed}
        held = {name: Relation.of(name, facts) for name, facts in relations.items()}
        values = {v for r in held.values() for fact in r.facts for v in fact}
        constants = tuple(sorted(values, key=lambda v: (type(v).__name__, v)))
        code = {v: i for i, v in enumerate(constants)}
        return cls(held, constants, {name: _numbered(r, code) for name, r in held.items()})

    def __getitem__(self, name: str) -> Relation:
        if name not in self.relations:
            known = ", ".join(f"{r.name}/{r.arity}" for r in self.relations.values())
            raise ValueError(f"no relation is called {name!r}; there are {known}")
        return self.relations[name]

    @cached_property
    def codes(self) -> dict[Any, int]:
        """The number of each constant."""
        return {v: i for i, v in enumerate(self.constants)}

    @cached_property
    def types(self) -> dict[tuple[str, int], int]:
        """The type of each column of each relation: columns that share a constant have one type."""
        places = [(name, j) for name, r in self.relations.items() for j in range(r.arity)]
        held = [(i, np.unique(self.tables[name][:, j])) for i, (name, j) in enumerate(places)]
        rows = np.concatenate([np.full(len(codes), i) for i, codes in held]) if held else np.zeros(0, dtype=int)
        cols = np.concatenate([codes for _, codes in held]) + len(places) if held else rows
        size = len(places) + len(self.constants)
        _, label = connected_components(coo_matrix((np.ones(len(rows)), (rows, cols)), shape=(size, size)), False)
        return {place: int(label[i]) for i, place in enumerate(places)}

    @cached_property
    def domains(self) -> dict[int, Codes]:
        """The constants of each type."""
        found: dict[int, list[Any]] = {}
        for (name, j), kind in self.types.items():
            found.setdefault(kind, []).append(self.tables[name][:, j])
        return {kind: np.unique(np.concatenate(parts)) for kind, parts in found.items()}

    def domain(self, name: str, place: int) -> Codes:
        """The constants that may occur at a place of a relation; all if its type is unknown."""
        known = self.domains.get(self.types.get((name, place), -1))
        return known if known is not None and len(known) else np.arange(len(self.constants))

    def sorted_by(self, name: str, places: tuple[int, ...]) -> FactIndex:
        """The facts of a relation by the values at these places; sorted once."""
        if (name, places) not in self._sorted:
            table, base = self.tables[name], len(self.constants)
            keys = self.keys(table[:, list(places)])
            order = np.argsort(keys, kind="stable")
            possible = base ** len(places)
            dense = np.bincount(keys, minlength=possible) if possible <= MAX_DENSE_KEYS else None
            self._sorted[name, places] = FactIndex(base, keys[order], table[order], dense)
        return self._sorted[name, places]

    def keys(self, codes: Codes) -> Codes:
        """One number per row of codes."""
        base, width = len(self.constants), codes.shape[1]
        if base**width > MAX_KEY:
            raise ValueError(f"{base} constants at {width} places are too many to join: use fewer columns or constants")
        key = np.zeros(len(codes), dtype=np.int64)
        for j in range(width):
            key = key * base + codes[:, j]
        return key

    def numbered(self, facts: Iterable[tuple[Any, ...]], arity: int) -> Codes:
        """Facts as codes of constants; -1 for constants that the database does not know."""
        rows = [[self.codes.get(v, -1) for v in fact] for fact in facts]
        return np.array(rows, dtype=np.int64).reshape(len(rows), arity)

    def replaced(self, name: str, codes: Codes) -> Database:
        """The database with other facts of one relation, as codes of the same constants; types do not change."""
        kept = {key: facts for key, facts in self._sorted.items() if key[0] != name}
        other = Database(self.relations, self.constants, {**self.tables, name: codes}, kept)
        vars(other).update(types=self.types, domains=self.domains, codes=self.codes)
        return other

    def descends(self, links: Iterable[tuple[str, int, int]]) -> bool:
        """Do the facts, as links from the constant at one place to that at another, contain no cycle?"""
        ends = [self.tables[name][:, [above, below]] for name, above, below in links]
        a, b = np.vstack(ends).T if ends else np.zeros((2, 0), dtype=np.int64)
        size = len(self.constants)
        parts, _ = connected_components(coo_matrix((np.ones(len(a)), (a, b)), shape=(size, size)), True, "strong")
        return bool(parts == size and not (a == b).any() and len(a) > 0)


def _numbered(relation: Relation, code: Mapping[Any, int]) -> Codes:
    rows = sorted([code[v] for v in fact] for fact in relation.facts)
    return np.array(rows, dtype=np.int64).reshape(len(rows), relation.arity)
