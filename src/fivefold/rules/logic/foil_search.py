"""The inner loop of Foil: a clause is grown literal by literal, by the bindings it keeps.

A partial clause holds one row for every way in which an example satisfies it. A literal without new variables keeps or
drops rows; one with new variables makes a row per matching fact. How many rows a literal leaves is looked up for all
rows together, before any is made:

    gain  =  s (log2 p'/(p' + n') - log2 p/(p + n))        p, n: rows of positive and negative examples, s: rows
                                                           of positive examples that the literal keeps

Of the clauses on the way the one that saves most bits is kept: the bits that tell positive from negative examples among
all, minus those for the covered examples and for the rest, minus the bits of its literals.

A literal of the relation that is being learned must lead down: from a variable of the head to the one at the same place
of the literal, along facts without a cycle, and along the same facts in all clauses. So proofs end.
"""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass, replace
from functools import cached_property
from itertools import product
from math import lgamma, log, log2

import numpy as np

from fivefold.core.types import Codes, Indices, Mask
from fivefold.rules.covering.description_length import foil_gain
from fivefold.rules.logic.joins import TooManyBindings, join_literals
from fivefold.rules.logic.literals import EQUAL, Atom, Variable
from fivefold.rules.logic.relations import Bindings, Database

VARIABLE_NAMES = "XYZUVWABCDEFGHIJKLMNOPQRST"
# literals with this share of the best gain are alternatives; a best gain below this share of the largest possible one
# admits determinate literals
NEAR_BEST_SHARE = 0.8
GAIN_TOLERANCE = 1e-9  # gains up to this many bits are rounding
MAX_PAIRS_BOTH_WAYS = 5  # pairs of columns that are tried in both directions: 2^5 combinations
Link = tuple[str, int, int]  # a relation, its places above and below
Order = tuple[int, frozenset[Link]]  # a place of the head, and links that lead down from it


@dataclass(frozen=True)
class CandidateLiteral:
    """A literal that may be added: numbers of its variables, -1 for new ones."""

    relation: str
    slots: tuple[int, ...]
    positive: bool = True
    orders: frozenset[Order] | None = None  # along which it leads down, where it is recursive

    @property
    def new(self) -> int:
        """New variables."""
        return sum(slot < 0 for slot in self.slots)


@dataclass(frozen=True)
class PartialClause:
    """An unfinished clause, and the bindings of the examples that satisfy it."""

    body: tuple[Atom, ...]
    chosen: frozenset[tuple[str, tuple[int, ...], bool]]
    kinds: tuple[int, ...]  # types of the variables
    rows: Codes  # (m, variables)
    example: Indices  # (m,)
    positive: Mask  # (m,)
    orders: frozenset[Order]  # along which recursive literals may lead down
    left: int  # positive examples that no clause explains yet
    bits: float = 0.0

    @property
    def counts(self) -> tuple[int, int]:
        """Rows of positive and of negative examples."""
        p = int(np.count_nonzero(self.positive))
        return p, len(self.positive) - p

    @cached_property
    def covered(self) -> tuple[int, int]:
        """Positive and negative examples."""
        sides = (np.unique(self.example[side]) for side in (self.positive, ~self.positive))
        p, n = map(len, sides)
        return p, n


@dataclass(frozen=True)
class ScoredLiteral:
    """A literal with its gain and the rows it leaves."""

    choice: CandidateLiteral
    gain: float
    counts: Indices  # (m,) number of rows that each row becomes
    size: int
    bits: float


@dataclass(frozen=True)
class ClauseGrower:
    """Facts and limits for growing clauses."""

    database: Database
    head: Atom
    all_orders: frozenset[Order]
    examples: int
    negation: bool
    equality: bool
    determinate: bool
    lengths: bool  # may a clause take no more bits than the examples it explains?
    max_literals: int
    max_new_variables: int
    max_bindings: int
    backtracks: int

    def start(self, examples: Codes, positive: Mask, orders: frozenset[Order]) -> PartialClause:
        """The clause without a body."""
        kinds = tuple(self.database.types[self.head.relation, j] for j in range(examples.shape[1]))
        return PartialClause(
            (), frozenset(), kinds, examples, np.arange(len(examples)), positive, orders, int(positive.sum())
        )

    def clauses(self, start: PartialClause) -> Iterator[tuple[PartialClause, ...]]:
        """Sequences of ever longer clauses: that of the greedy search, then those of near-best choices."""
        alternatives: list[tuple[float, PartialClause, ScoredLiteral]] = []
        state, tries = start, 0
        while True:
            yield tuple(self._grown(state, alternatives))
            if not alternatives or tries == self.backtracks:
                return
            best = max(range(len(alternatives)), key=lambda i: alternatives[i][0])
            _, before, scored = alternatives.pop(best)
            state, tries = self.added(before, scored), tries + 1

    def _grown(
        self, state: PartialClause, alternatives: list[tuple[float, PartialClause, ScoredLiteral]]
    ) -> Iterator[PartialClause]:
        """The clause with one more literal at a time; near-best choices are added to `alternatives`."""
        yield state
        while state.counts[1] and len(state.body) < self.max_literals:
            literals = list(self.choices(state))
            price = log2(max(len(literals), 2))
            scored = sorted(
                (s for c in literals if (s := self.scored(state, c, price)).size <= self.max_bindings),
                key=lambda s: (-round(s.gain, 9), s.choice.new),
            )
            useful = [s for s in scored if s.gain > GAIN_TOLERANCE and self._within_bits(state, s)]
            most = foil_gain(*_of(state), state.counts[0], state.counts[0])
            more = state
            if self.determinate and (not useful or useful[0].gain < NEAR_BEST_SHARE * most):
                more = self._add_determinate(state, scored)
            if more is state:
                if not useful:
                    return
                near = NEAR_BEST_SHARE * useful[0].gain
                alternatives += [(s.gain, state, s) for s in useful[1:4] if s.gain >= near]
                more = self.added(state, useful[0])
            state = more
            yield state

    def saved(self, state: PartialClause) -> float:
        """Bits that a clause saves: those that tell positive from negative examples without it, minus those with it."""
        p, n = state.covered
        return self._bits_saved(state.left, p, n) - state.bits - log2(p + n + 1)

    def choices(self, state: PartialClause) -> Iterator[CandidateLiteral]:
        """Literals with at least one variable that already occurs."""
        left = self.max_new_variables - (len(state.kinds) - len(self.head.terms))
        for relation in self.database.relations.values():
            recursive = relation.name == self.head.relation
            if recursive and not state.orders:
                continue
            kinds = [self.database.types[relation.name, j] for j in range(relation.arity)]
            ways = [[-1, *(v for v, kind in enumerate(state.kinds) if kind == wanted)] for wanted in kinds]
            for slots in product(*(way[::-1] for way in ways)):
                if all(v < 0 for v in slots) or (relation.name, slots, True) in state.chosen:
                    continue
                if recursive:
                    orders = self.descending(state.body, slots) & state.orders
                    if not orders or sum(v < 0 for v in slots) > left:
                        continue
                    yield CandidateLiteral(relation.name, slots, True, orders)
                    continue
                if sum(v < 0 for v in slots) <= left:
                    yield CandidateLiteral(relation.name, slots)
                if self.negation and (relation.name, slots, False) not in state.chosen:
                    yield CandidateLiteral(relation.name, slots, False)
        for a, b in self._pairs(state) if self.equality else ():
            yield from (
                CandidateLiteral(EQUAL, (a, b), sign)
                for sign in (True, False)
                if (EQUAL, (a, b), sign) not in state.chosen
            )

    def scored(self, state: PartialClause, choice: CandidateLiteral, price: float) -> ScoredLiteral:
        """The gain of a literal, and the rows it leaves."""
        counts = self._matches(state, choice)
        if not choice.positive:
            counts = (counts == 0).astype(np.int64)
        of_positive = counts[state.positive]
        p, size = int(of_positive.sum()), int(counts.sum())
        kept = int(np.count_nonzero(of_positive))
        gain = foil_gain(*_of(state), p, size, kept) if kept else -np.inf
        return ScoredLiteral(choice, gain, counts, size, price)

    def added(self, state: PartialClause, scored: ScoredLiteral) -> PartialClause:
        """The clause with the literal, and its rows."""
        choice = scored.choice
        old = [j for j, v in enumerate(choice.slots) if v >= 0]
        fresh = [j for j, v in enumerate(choice.slots) if v < 0]
        if choice.positive and fresh:
            facts = self.database.sorted_by(choice.relation, tuple(old))
            keys = self.database.keys(state.rows[:, [choice.slots[j] for j in old]])
            kept, matched = facts.join(keys, scored.counts)
            rows = np.hstack([state.rows[kept], matched[:, fresh]])
            kinds = (*state.kinds, *(self.database.types[choice.relation, j] for j in fresh))
        else:
            kept, kinds = np.flatnonzero(scored.counts), state.kinds
            rows = state.rows[kept]
        return replace(
            state, rows=rows, kinds=kinds, example=state.example[kept], positive=state.positive[kept],
            body=(*state.body, self._atom(choice, len(state.kinds))),
            chosen=state.chosen | {(choice.relation, choice.slots, choice.positive)},
            orders=state.orders if choice.orders is None else choice.orders, bits=self._bits(state, scored),
        )  # fmt: skip

    def descending(self, body: tuple[Atom, ...], slots: tuple[int, ...]) -> frozenset[Order]:
        """Orders along which the body leads from a variable of the head down to that at the same place of a literal."""
        number = {self.variable(v).name: v for v in range(len(VARIABLE_NAMES))}
        found = []
        for order in self.all_orders:
            place, allowed = order
            ways = {
                (number[a.name], number[b.name]) for name, above, below in allowed for atom in body
                if atom.positive and atom.relation == name
                and (a := atom.terms[above]).name in number and (b := atom.terms[below]).name in number
            }  # fmt: skip
            if slots[place] >= 0 and _leads(ways, place, slots[place]):
                found.append(order)
        return frozenset(found)

    def kept_orders(self, body: tuple[Atom, ...]) -> frozenset[Order]:
        """Orders along which every recursive literal of a body leads down."""
        number = {self.variable(v).name: v for v in range(len(VARIABLE_NAMES))}
        orders = self.all_orders
        for atom in body:
            if atom.relation == self.head.relation:
                slots = tuple(number.get(t.name, -1) for t in atom.terms)
                orders &= self.descending(tuple(a for a in body if a is not atom), slots)
        return orders

    @staticmethod
    def variable(v: int) -> Variable:
        """The name of a variable."""
        return Variable(VARIABLE_NAMES[v] if v < len(VARIABLE_NAMES) else f"V{v}")

    def renamed(self, body: tuple[Atom, ...]) -> tuple[Atom, ...]:
        """The body with its variables named in order of first occurrence."""
        head = [t.name for t in self.head.terms]
        own = dict.fromkeys(v for atom in body for v in atom.variables if v not in head and v[0] != "_")
        open_ = dict.fromkeys(v for atom in body for v in atom.variables if v[0] == "_")
        names = {v: Variable(v) for v in head}
        names |= {v: self.variable(len(head) + i) for i, v in enumerate(own)}
        names |= {v: Variable(f"_{i + 1}") for i, v in enumerate(open_)}
        return tuple(replace(atom, terms=tuple(names[t.name] for t in atom.terms)) for atom in body)

    def covered(self, body: tuple[Atom, ...], examples: Codes) -> Mask:
        """Which examples satisfy a body."""
        names = ("#", *(t.name for t in self.head.terms))  # the number of the example is carried along
        given = Bindings(names, np.column_stack([np.arange(len(examples)), examples]), self.database.constants)
        out = np.zeros(len(examples), dtype=bool)
        out[join_literals(body, self.database, given, self.max_bindings).codes[:, 0]] = True
        return out

    def covered_in_parts(self, body: tuple[Atom, ...], examples: Codes) -> Mask:
        """As `covered`, half of the examples at a time if all together have too many bindings."""
        try:
            return self.covered(body, examples)
        except TooManyBindings:
            half = len(examples) // 2
            if not half:
                raise
            return np.concatenate([self.covered_in_parts(body, part) for part in (examples[:half], examples[half:])])

    def _matches(self, state: PartialClause, choice: CandidateLiteral) -> Indices:
        if choice.relation == EQUAL:
            return (state.rows[:, choice.slots[0]] == state.rows[:, choice.slots[1]]).astype(np.int64)
        old = tuple(j for j, v in enumerate(choice.slots) if v >= 0)
        keys = self.database.keys(state.rows[:, [choice.slots[j] for j in old]])
        return self.database.sorted_by(choice.relation, old).count(keys)

    def _atom(self, choice: CandidateLiteral, size: int) -> Atom:
        terms, fresh = list[Variable](), size
        for v in choice.slots:
            if v < 0 and not choice.positive:
                terms.append(Variable(f"_{len(terms) + 1}"))
                continue
            terms.append(self.variable(v if v >= 0 else fresh))
            fresh += v < 0
        return Atom(choice.relation, tuple(terms), choice.positive)

    def _add_determinate(self, state: PartialClause, scored: list[ScoredLiteral]) -> PartialClause:
        """The clause with every literal whose new variables have one value per positive row, at most one elsewhere."""
        for s in scored:
            fits = s.choice.positive and s.choice.new and s.choice.orders is None
            room = len(state.kinds) - len(self.head.terms) + s.choice.new <= self.max_new_variables
            if fits and room and len(state.body) < self.max_literals - 1:
                counts = self._matches(state, s.choice)
                if counts.max(initial=0) <= 1 and counts[state.positive].all():
                    state = self.added(state, replace(s, counts=counts))
        return state

    def _pairs(self, state: PartialClause) -> Iterator[tuple[int, int]]:
        K = len(state.kinds)
        return ((a, b) for a in range(K) for b in range(a + 1, K) if state.kinds[a] == state.kinds[b])

    def _bits(self, state: PartialClause, scored: ScoredLiteral) -> float:
        """Bits of the clause with one more literal, in any order of the literals."""
        return state.bits + scored.bits - log2(len(state.body) + 1)

    def _within_bits(self, state: PartialClause, scored: ScoredLiteral) -> bool:
        """Does the clause take no more bits than naming the examples that it explains?"""
        if not self.lengths:
            return True
        p = len(np.unique(state.example[state.positive & (scored.counts > 0)]))
        return self._bits(state, scored) <= self._bits_saved(state.left, p, 0)

    def _bits_saved(self, left: int, p: int, n: int) -> float:
        """Bits saved by telling apart the p positive and n negative examples of a clause separately from the rest."""
        N = self.examples
        return _choose(N, left) - _choose(N - p - n, left - p) - _choose(p + n, n)


def descending_orders(database: Database, target: str) -> frozenset[Order]:
    """For each place, sets of pairs of columns of other relations whose facts together contain no cycle."""
    pairs = [
        (name, a, b) for name, relation in database.relations.items() if name != target
        for a in range(relation.arity) for b in range(a + 1, relation.arity)
        if database.types[name, a] == database.types[name, b] and database.descends([(name, a, b)])
    ]  # fmt: skip
    found = set[Order]()
    for reversed_ in product((False, True), repeat=min(len(pairs), MAX_PAIRS_BOTH_WAYS)):
        links = list[Link]()
        for i, (name, a, b) in enumerate(pairs):
            link = (name, b, a) if i < MAX_PAIRS_BOTH_WAYS and reversed_[i] else (name, a, b)
            if database.descends([*links, link]):
                links.append(link)
        for place in range(database[target].arity):
            kind = database.types[target, place]
            if own := frozenset(link for link in links if database.types[link[0], link[1]] == kind):
                found.add((place, own))
    return frozenset(found)


def _choose(total: int, count: int) -> float:
    """log2 (total choose count): bits to tell which `count` of `total` things are meant."""
    return (lgamma(total + 1) - lgamma(count + 1) - lgamma(total - count + 1)) / log(2)


def _of(state: PartialClause) -> tuple[int, int]:
    p, n = state.counts
    return p, p + n


def _leads(ways: set[tuple[int, int]], start: int, end: int) -> bool:
    """Is there a path of at least one link?"""
    seen, stack = set[int](), [start]
    while stack:
        here = stack.pop()
        for a, b in ways:
            if a == here and b not in seen:
                seen.add(b)
                stack.append(b)
    return end in seen
