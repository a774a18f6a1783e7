"""Foil: rules with variables, learned from facts.

    grandparent(X, Y) :- parent(X, Z), parent(Z, Y)

The outer loop learns clauses until every positive example is covered or no clause pays; the inner loop adds literals
until no negative example is left, by Foil's gain over bindings (see `logic.foil_search`). What is not a fact is false:
the negative examples are all other tuples of constants of the right types, or those given. Literals that a finished
clause does not need are dropped, as are clauses of a finished program. A clause is kept if enough of the examples it
covers are positive and if it takes fewer bits than naming the examples would,

    bits of literals + log2 (p + n + 1) + log2 (p + n choose n) + log2 (N - p - n choose P - p)  <  log2 (N choose P)

where P of N examples are positive and not explained yet, and the clause covers p of them and n negative ones. So noise
is not explained.

Quinlan (1990), Learning logical definitions from relations; Quinlan & Cameron-Jones (1993), FOIL: a midterm report.
"""

from __future__ import annotations

from collections.abc import Iterable, Iterator
from dataclasses import dataclass
from typing import Any, Literal, Self

import numpy as np
from sklearn.callback import with_callbacks
from sklearn.utils.validation import check_is_fitted

from fivefold.core._sklearn import BaseEstimator, CallbackSupportMixin
from fivefold.core.console.fit_progress import fit_steps, interruptible_fit, warn_kept_best
from fivefold.core.estimators import params
from fivefold.core.estimators.params import Count, Fraction, Index, Seed
from fivefold.core.random_state import check_random_state
from fivefold.core.types import Codes, Mask, Rng
from fivefold.rules.logic.clauses import Clause, Program
from fivefold.rules.logic.foil_search import ClauseGrower, Order, descending_orders
from fivefold.rules.logic.joins import TooManyBindings
from fivefold.rules.logic.literals import Atom
from fivefold.rules.logic.relations import Bindings, Database, Relation, UserFacts, UserRelations, fact_rows


@dataclass(frozen=True)
class FoilModel:
    """The clauses, the facts they were learned from, and how many examples each covers."""

    program: Program
    database: Database
    target: str
    positives: tuple[int, ...]  # examples that each clause covers
    negatives: tuple[int, ...]


@dataclass(eq=False, repr=False, kw_only=True)
class Foil(CallbackSupportMixin, BaseEstimator):
    """First-order rules over relational tables: clauses with variables that define one relation by others.

    It learns from relations, not from a table of rows: `fit(relations, target)`.

    Parameters
    ----------
    negation
        whether literals may be negated.
    equality
        whether literals may require variables to be equal or different.
    recursion
        whether a clause may use the relation that is learned, if that leads down along facts without cycles.
    determinate
        whether literals that determine new variables uniquely are added when no literal gains much.
    stop
        what ends a clause: "description_length", when it would take more bits than the examples it explains; or "gain",
        when no literal gains anything.
    min_precision
        minimum share of positive examples among those that a clause covers.
    max_literals
        maximum number of literals of a body.
    max_new_variables
        maximum number of variables of a body that are not in the head.
    max_clauses
        maximum number of clauses; None for no limit.
    max_bindings
        maximum number of bindings of a clause; literals that make more are not tried.
    max_negatives
        maximum number of negative examples; of more, a sample is drawn.
    backtracks
        how often a clause is restarted with a literal that was nearly as good.
    random_state
        seed of the sample of negative examples.

    Attributes
    ----------
    program_
        the clauses, which print, parse and derive facts.
    clauses_
        the clauses, as a tuple.
    missed_, wrong_
        positive facts that do not follow from the program, and negative examples that do.

    Examples
    --------
    >>> from fivefold.rules import Foil
    >>> family = {
    ...     "parent": [("ann", "bob"), ("ann", "eve"), ("bob", "cy"), ("eve", "dan"), ("cy", "fay")],
    ...     "female": ["ann", "eve", "fay"],
    ...     "grandparent": [("ann", "cy"), ("ann", "dan"), ("bob", "fay")],
    ... }
    >>> model = Foil(random_state=0).fit(family, "grandparent")
    >>> print(model.program_)
    grandparent(X, Y) :- parent(X, Z), parent(Z, Y)
    >>> print(model.bindings(0))
    X    Y    Z
    ann  cy   bob
    ann  dan  eve
    bob  fay  cy
    >>> model.predict([("ann", "cy"), ("cy", "ann")])
    array([ True, False])
    """

    negation: bool = False
    equality: bool = False
    recursion: bool = True
    determinate: bool = False
    stop: Literal["description_length", "gain"] = "description_length"
    min_precision: Fraction = 0.7
    max_literals: Count = 6
    max_new_variables: Index = 3
    max_clauses: Count | None = None
    max_bindings: Count = 2_000_000
    max_negatives: Count = 100_000
    backtracks: Index = 5
    random_state: Seed = None

    @property
    def program_(self) -> Program:
        """The clauses."""
        check_is_fitted(self)
        return self.model_.program

    @property
    def clauses_(self) -> tuple[Clause, ...]:
        """The clauses, as a tuple."""
        return self.program_.clauses

    def __sklearn_is_fitted__(self) -> bool:
        return "model_" in vars(self)

    @with_callbacks
    def fit(
        self, relations: UserRelations, target: str | Relation, negatives: Iterable[tuple[Any, ...]] | None = None
    ) -> Self:
        """Learn clauses for `target`, the name of one of the relations or a further one.

        `relations` maps names to tuples, data frames or columns. `negatives` are facts known to be false; without them
        every other tuple of the right types is false.
        """
        params.check_params(self)
        vars(self).pop("model_", None)
        database, name, false = _admitted(relations, target, negatives)
        rng = check_random_state(self.random_state)
        examples, positive, scale = _examples(database, name, false, self.max_negatives, rng)
        growth, bodies = self._growth(database, name, len(examples)), list[tuple[Atom, ...]]()
        with interruptible_fit(self):
            self.model_ = self._learned(growth, bodies, examples, positive)
            with fit_steps(self, "clause", int(positive.sum()), relations) as monitor:
                try:
                    for body in self._covering(growth, examples, positive, scale):
                        bodies.append(body)
                        self.model_ = self._learned(growth, bodies, examples, positive)
                        if monitor(self.model_, len(bodies)) or len(bodies) == self.max_clauses:
                            break
                except KeyboardInterrupt:
                    warn_kept_best(self, len(bodies), "clause")
            self.model_ = self._learned(growth, _needed(growth, bodies, examples[positive]), examples, positive)
        known = self._derived(database)
        facts = [tuple(database.constants[i] for i in row) for row in examples.tolist()]
        self.missed_ = [f for f, true in zip(facts, positive, strict=True) if true and f not in known]
        self.wrong_ = [f for f, true in zip(facts, positive, strict=True) if not true and f in known]
        return self

    def predict(self, facts: UserFacts, relations: UserRelations = None) -> Mask:
        """Does each fact follow from the relations of fit, or from others?"""
        check_is_fitted(self)
        rows, arity = fact_rows(facts)[0], len(self._head().terms)
        if wrong := [row for row in rows if len(row) != arity]:
            raise ValueError(
                f"{self.model_.target!r} has arity {arity}; the fact {wrong[0]!r} has {len(wrong[0])} value(s)"
            )
        known = self._derived(self.model_.database if relations is None else Database.of(relations))
        return np.array([row in known for row in rows], dtype=bool)

    def derive(self, relations: UserRelations = None) -> Relation:
        """Every fact of the target that follows from the relations of fit, or from others."""
        check_is_fitted(self)
        database = self.model_.database if relations is None else Database.of(relations)
        return Relation(self.model_.target, frozenset(self._derived(database)), len(self._head().terms))

    def bindings(self, clause: int, relations: UserRelations = None) -> Bindings:
        """All values of the variables of a clause that make its body true."""
        database = self.model_.database if relations is None else Database.of(relations)
        return self.program_[clause].bindings(database)

    def to_text(self) -> str:
        """The clauses as sentences, each with the number of examples it covers."""
        lines = zip(self.clauses_, self.model_.positives, self.model_.negatives, strict=True)
        return "\n".join(f"{clause.if_then()}  ({p} right, {n} wrong)" for clause, p, n in lines)

    def _head(self) -> Atom:
        arity = self.model_.database[self.model_.target].arity
        return Atom(self.model_.target, tuple(ClauseGrower.variable(v) for v in range(arity)))

    def _derived(self, database: Database) -> set[tuple[Any, ...]]:
        return set(self.program_.derive(database).facts) if len(self.program_) else set()

    def _growth(self, database: Database, name: str, count: int) -> ClauseGrower:
        head = Atom(name, tuple(ClauseGrower.variable(v) for v in range(database[name].arity)))
        return ClauseGrower(
            database, head, descending_orders(database, name) if self.recursion else frozenset(), count,
            negation=self.negation, equality=self.equality, determinate=self.determinate,
            lengths=self.stop == "description_length", max_literals=self.max_literals,
            max_new_variables=self.max_new_variables, max_bindings=self.max_bindings, backtracks=self.backtracks,
        )  # fmt: skip

    def _covering(
        self, growth: ClauseGrower, examples: Codes, positive: Mask, scale: float
    ) -> Iterator[tuple[Atom, ...]]:
        """One clause after another, each for the positive examples not covered yet."""
        left, orders = positive.copy(), growth.all_orders
        while left.any():
            at = np.flatnonzero(left | ~positive)
            found = self._best(growth, examples[at], left[at], orders, scale)
            if found is None:
                return
            body, covers = found
            if _recursive(growth, body):
                orders &= growth.kept_orders(body)
            yield body
            left[at[covers]] = False

    def _best(
        self, growth: ClauseGrower, examples: Codes, positive: Mask, orders: frozenset[Order], scale: float
    ) -> tuple[tuple[Atom, ...], Mask] | None:
        """The best clause of a search and its alternatives: its body and the examples it covers; None if none pays."""
        best, found = 0.0, None
        for path in growth.clauses(growth.start(examples, positive, orders)):
            precise = [s for s in (path if growth.lengths else path[-1:]) if self._precise(s.covered, scale)]
            for state in sorted(precise, key=growth.saved)[-1:]:
                p, n = state.covered
                worth = growth.saved(state) if growth.lengths else p * p / (p + scale * n)
                if state.body and worth > best + 1e-9:
                    best, found = worth, state
            if found is not None and not found.counts[1]:
                break
        return None if found is None else _pruned(growth, found.body, examples, positive, orders)

    def _precise(self, covered: tuple[int, int], scale: float) -> bool:
        p, n = covered
        return p > 0 and p >= self.min_precision * (p + scale * n)

    def _learned(
        self, growth: ClauseGrower, bodies: list[tuple[Atom, ...]], examples: Codes, positive: Mask
    ) -> FoilModel:
        covers = [growth.covered_in_parts(body, examples) for body in bodies]
        program = Program(tuple(Clause(growth.head, body) for body in bodies))
        right, wrong = (tuple(int((c & side).sum()) for c in covers) for side in (positive, ~positive))
        return FoilModel(program, growth.database, growth.head.relation, right, wrong)


def _admitted(
    relations: UserRelations, target: str | Relation, negatives: UserFacts
) -> tuple[Database, str, Codes | None]:
    """One database with the target, the name of the target, and the negative examples if they are given."""
    database = Database.of(relations)
    if isinstance(target, Relation):
        database, target = Database.of({**database.relations, target.name: target}), target.name
    if not isinstance(target, str):
        raise ValueError(f"the target is the name of a relation, or a Relation; got {target!r}")
    arity = database[target].arity
    if not len(database[target]):
        raise ValueError(f"the target {target!r} has no facts: there is nothing to learn from")
    if negatives is None:
        return database, target, None
    false = Relation.of(f"not {target}", negatives, arity)
    if both := false.facts & database[target].facts:
        raise ValueError(f"{target}{next(iter(both))} is both a fact and among the negatives")
    known = Database.of({**database.relations, false.name: false})
    tables = {name: table for name, table in known.tables.items() if name != false.name}
    held = Database(database.relations, known.constants, tables)
    return held, target, known.tables[false.name]


def _examples(database: Database, target: str, false: Codes | None, most: int, rng: Rng) -> tuple[Codes, Mask, float]:
    """Positive and negative tuples, which of them are positive, and how many negatives each sampled one represents."""
    true, scale = database.tables[target], 1.0
    if false is None:
        domains = [database.domain(target, j) for j in range(true.shape[1])]
        size = int(np.prod([len(d) for d in domains], dtype=float))
        at = np.arange(size) if size <= most + len(true) else np.unique(rng.randint(size, size=most))
        places = np.unravel_index(at, [len(d) for d in domains])
        rows = np.column_stack([d[i] for d, i in zip(domains, places, strict=True)])
        false = rows[~np.isin(database.keys(rows), database.keys(true))]
        scale = (size - len(true)) / max(len(false), 1)
    if not len(false):
        raise ValueError(
            f"every tuple of constants is a fact of {target!r}: nothing is negative, so there is nothing to tell apart"
        )
    return np.vstack([true, false]), np.arange(len(true) + len(false)) < len(true), scale


def _pruned(
    growth: ClauseGrower, body: tuple[Atom, ...], examples: Codes, positive: Mask, orders: frozenset[Order]
) -> tuple[tuple[Atom, ...], Mask]:
    """The body without literals that exclude no negative example, tried from the last; and the examples it covers."""
    covers = growth.covered(body, examples)
    for i in range(len(body) - 1, -1, -1):
        shorter = (*body[:i], *body[i + 1 :])
        endless = _recursive(growth, shorter) and not growth.kept_orders(shorter) & orders
        if not shorter or endless:
            continue
        try:
            now = growth.covered(shorter, examples)
        except TooManyBindings:
            continue
        if (now & ~positive).sum() <= (covers & ~positive).sum():
            body, covers = shorter, now
    return growth.renamed(body), covers


def _needed(growth: ClauseGrower, bodies: list[tuple[Atom, ...]], positives: Codes) -> list[tuple[Atom, ...]]:
    """The clauses except those whose examples other clauses cover; clauses that are not recursive come first."""
    covers = [growth.covered_in_parts(body, positives) for body in bodies]
    for i in range(len(bodies) - 1, -1, -1):
        others = [c for j, c in enumerate(covers) if j != i]
        if others and not (covers[i] & ~np.logical_or.reduce(others)).any():
            del bodies[i], covers[i]
    return sorted(bodies, key=lambda body: _recursive(growth, body))


def _recursive(growth: ClauseGrower, body: tuple[Atom, ...]) -> bool:
    return any(atom.relation == growth.head.relation for atom in body)
