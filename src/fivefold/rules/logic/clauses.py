"""Horn clauses as values: they print, parse, and are evaluated by joins that find every binding of their variables.

    daughter(X, Y) :- parent(Y, X), female(X)               also: IF parent(Y, X) AND female(X) THEN daughter(X, Y)

A clause holds for values of its variables that make every literal of its body true. A literal may be negated (no fact
matches it) or an equation. Names that begin with a capital letter or _ are variables, all others constants. The clauses
of a program are applied until nothing new follows, so a clause may use the relation that it defines.
"""

from __future__ import annotations

import re
from collections.abc import Iterable, Iterator
from dataclasses import dataclass

import numpy as np

from fivefold.core.types import Codes
from fivefold.rules.logic.joins import MAX_BINDINGS, join_literals
from fivefold.rules.logic.literals import EQUAL, Atom, Term, Variable
from fivefold.rules.logic.relations import Bindings, Database, Relation, UserRelations

SYMBOL_PATTERN = re.compile(
    r"""\s*(?:(?P<sign>:-|\\=|!=|\\\+|[(),.=~&])|(?P<quoted>'[^']*'|"[^"]*")"""
    r"""|(?P<number>-?\d+(?:\.\d+)?(?:[eE][+-]?\d+)?)|(?P<word>[^\W\d]\w*))"""
)


@dataclass(frozen=True)
class Clause:
    """The head holds where every literal of the body does.

    Examples
    --------
    >>> clause = parse_clause("daughter(X, Y) :- parent(Y, X), female(X)")
    >>> print(clause.if_then())
    IF parent(Y, X) AND female(X) THEN daughter(X, Y)
    >>> print(clause.bindings({"parent": [("ann", "bob"), ("bob", "cy"), ("dan", "cy")], "female": ["ann", "cy"]}))
    X   Y
    cy  bob
    cy  dan
    """

    head: Atom
    body: tuple[Atom, ...] = ()

    @property
    def variables(self) -> tuple[str, ...]:
        """Names of its variables, those of the head first."""
        return tuple(dict.fromkeys(v for atom in (self.head, *self.body) for v in atom.variables))

    @property
    def recursive(self) -> bool:
        """Does the body use the relation of the head?"""
        return any(atom.relation == self.head.relation for atom in self.body)

    def __str__(self) -> str:
        return f"{self.head} :- {', '.join(map(str, self.body))}" if self.body else str(self.head)

    def if_then(self) -> str:
        """As IF ... AND ... THEN ..."""
        return f"IF {' AND '.join(map(str, self.body)) or 'true'} THEN {self.head}"

    def bindings(self, relations: UserRelations, start: Bindings | None = None, most: int = MAX_BINDINGS) -> Bindings:
        """All values of its variables that make the body true, in order, given the bindings of `start`."""
        found = self._bound(Database.of(relations), start, most)
        shown = tuple(v for v in self.variables if v in found.variables)
        return found.distinct(shown)

    def _bound(self, database: Database, start: Bindings | None = None, most: int = MAX_BINDINGS) -> Bindings:
        if start is None:
            start = Bindings((), np.zeros((1, 0), dtype=np.int64), database.constants)
        domains = {
            t.name: database.domain(self.head.relation, j)
            for j, t in enumerate(self.head.terms)
            if isinstance(t, Variable)
        }
        return join_literals(self.body, database, start, most, domains)

    def implied(self, database: Database, start: Bindings | None = None) -> Codes:
        """(m, arity): the facts of the head that follow, as codes of constants, each once."""
        found = self._bound(database, start)
        columns = [
            found.codes[:, found.variables.index(t.name)] if isinstance(t, Variable)
            else np.full(len(found), database.codes.get(t, -1)) for t in self.head.terms
        ]  # fmt: skip
        return np.unique(np.column_stack(columns), axis=0)


@dataclass(frozen=True)
class Program:
    """Clauses that together define one relation, one per line."""

    clauses: tuple[Clause, ...]

    def __post_init__(self) -> None:
        names = {clause.head.relation for clause in self.clauses}
        if len(names) > 1:
            raise ValueError(f"the clauses of a program define one relation; these define {', '.join(sorted(names))}")
        if any(not a.positive and a.relation in names for clause in self.clauses for a in clause.body):
            raise ValueError("a clause cannot deny the relation that it defines: nothing would follow for certain")

    def __len__(self) -> int:
        return len(self.clauses)

    def __iter__(self) -> Iterator[Clause]:
        return iter(self.clauses)

    def __getitem__(self, i: int) -> Clause:
        return self.clauses[i]

    def __str__(self) -> str:
        return "\n".join(map(str, self.clauses))

    @classmethod
    def parse(cls, text: str, variables: Iterable[str] = ()) -> Program:
        """Read clauses, one per line."""
        return cls(tuple(parse_clause(line, variables) for line in text.splitlines() if line.strip()))

    def derive(self, relations: UserRelations) -> Relation:
        """Every fact that follows from the other relations; clauses are applied until nothing new does.

        >>> program = Program.parse("above(X, Y) :- on(X, Y)\\nabove(X, Y) :- on(X, Z), above(Z, Y)")
        >>> sorted(program.derive({"on": [("a", "b"), ("b", "c")]}).facts)
        [('a', 'b'), ('a', 'c'), ('b', 'c')]
        """
        if not self.clauses:
            raise ValueError("a program without clauses defines no relation")
        head = self.clauses[0].head
        codes, database = self.consequences(_with_target(Database.of(relations), head))
        facts = frozenset(
            tuple(database.constants[i] for i in row) for row in codes.tolist() if min(row, default=0) >= 0
        )
        return Relation(head.relation, facts, len(head.terms))

    def consequences(self, database: Database) -> tuple[Codes, Database]:
        """The derived facts as codes of constants, and the database with them in place of the given ones."""
        name, arity = self.clauses[0].head.relation, len(self.clauses[0].head.terms)
        known = np.zeros((0, arity), dtype=np.int64)
        while True:
            now = database.replaced(name, known)
            found = np.unique(np.vstack([known, *(clause.implied(now) for clause in self.clauses)]), axis=0)
            if len(found) == len(known):
                return known, now
            known = found


def _with_target(database: Database, head: Atom) -> Database:
    """A database that holds the relation of the head, without facts if it had none; bodies determine its types."""
    if head.relation in database.relations:
        return database
    empty = Relation(head.relation, frozenset(), len(head.terms))
    return Database.of({**database.relations, head.relation: empty})


# Reading


def parse_clause(text: str, variables: Iterable[str] = ()) -> Clause:
    """Read "head :- body" or "IF body THEN head"; `variables` names words that are variables besides capital ones."""
    reader = _ClauseParser(text, frozenset(variables))
    if reader.takes("if"):
        body = reader.body("then")
        reader.asks("then")
        head = reader.atom()
    else:
        head = reader.atom()
        body = reader.body("") if reader.takes(":-") else ()
    reader.takes(".")
    if reader.at < len(reader.symbols):
        raise ValueError(f"{reader.here()!r} stands after the clause in {text!r}")
    if not head.positive or head.relation == EQUAL:
        raise ValueError(f"the head of a clause is a relation, not {head}")
    return Clause(head, body)


class _ClauseParser:
    """Reads the symbols of a clause, one after another."""

    def __init__(self, text: str, variables: frozenset[str]) -> None:
        self.text, self.variables, self.at, self.open = text, variables, 0, 0
        self.symbols: list[tuple[str, str]] = []
        place = 0
        while place < len(text.rstrip()):
            found = SYMBOL_PATTERN.match(text, place)
            if found is None:
                raise ValueError(f"cannot read {text[place:]!r} in {text!r}")
            self.symbols.append((str(found.lastgroup), found[str(found.lastgroup)]))
            place = found.end()

    def here(self) -> str:
        return self.symbols[self.at][1] if self.at < len(self.symbols) else "the end"

    def takes(self, wanted: str) -> bool:
        """Step over a sign or keyword if it comes next."""
        if self.at < len(self.symbols):
            kind, text = self.symbols[self.at]
            if kind in ("sign", "word") and text.lower() == wanted:
                self.at += 1
                return True
        return False

    def asks(self, wanted: str) -> None:
        if not self.takes(wanted):
            raise ValueError(f"{wanted!r} should come before {self.here()!r} in {self.text!r}")

    def body(self, end: str) -> tuple[Atom, ...]:
        if self.takes("true"):
            return ()
        atoms = [self.atom()]
        while self.takes(",") or self.takes("and") or self.takes("&"):
            atoms.append(self.atom())
        return tuple(atoms)

    def atom(self) -> Atom:
        if self.takes("not") or self.takes("\\+") or self.takes("~"):
            inner = self.atom()
            return Atom(inner.relation, inner.terms, not inner.positive)
        kind, word = self.symbols[self.at] if self.at < len(self.symbols) else ("", "")
        follows = self.symbols[self.at + 1][1] if self.at + 1 < len(self.symbols) else ""
        if kind in ("word", "quoted") and follows == "(":
            self.at += 2
            terms = [self.term()]
            while self.takes(","):
                terms.append(self.term())
            self.asks(")")
            return Atom(word.strip("'\""), tuple(terms))
        left = self.term()
        equal = self.takes("=")
        if not equal and not (self.takes("\\=") or self.takes("!=")):
            raise ValueError(f"a literal is relation(terms) or X = Y; got {self.here()!r} in {self.text!r}")
        return Atom(EQUAL, (left, self.term()), equal)

    def term(self) -> Term:
        kind, text = self.symbols[self.at] if self.at < len(self.symbols) else ("", "the end")
        if kind in ("", "sign"):
            raise ValueError(f"a variable or constant should come before {text!r} in {self.text!r}")
        self.at += 1
        if kind == "number":
            return int(text) if re.fullmatch(r"-?\d+", text) else float(text)
        if kind == "quoted":
            return text[1:-1]
        if text == "_":  # an anonymous variable: each occurrence is a different one
            self.open += 1
            return Variable(f"_{self.open}")
        return Variable(text) if text[0].isupper() or text[0] == "_" or text in self.variables else text
