"""The formula of least score: by increasing code length as far as possible, then by extending the best.

    score (mistakes, bits)        rises in both, so no formula of L bits or more can win once
                                  score (least mistakes any function makes, L) >= the best score so far

Then the search ends with a proof. If the table of formulas is full before, a beam continues: each of the best so far
is joined by `and` and `or` with short ones and their negations. The rows where f and g are both true are counted once,
which gives the rows covered by all four ways of joining them.
"""

from __future__ import annotations

from collections.abc import Callable, Iterator
from dataclasses import dataclass
from typing import Any, NamedTuple

import numpy as np

from fivefold.core.compilation.jit import jit
from fivefold.core.types import Array, Codes, Mask, Matrix
from fivefold.rules.formulas.boolean_formulas import AND, ARITY, NOT, OR, Formula
from fivefold.rules.formulas.formula_enumeration import LENGTH_TOLERANCE, FormulaEnumeration, pack_words

MIN_POOL_SIZE = 2000  # a beam joins with at least this many short formulas, more if a round stays below
MAX_ROUND_WORDS = 30_000_000  # this many 64-bit words read
MAX_WEIGHT_BITS = 12  # integer weights below 2^12 are counted bit by bit
MAX_IDLE_ROUNDS = 2  # rounds without progress before a beam gives up

Score = Callable[[Any, Any], Any]  # (mistakes, bits) -> score to minimise; numbers or arrays


@dataclass(frozen=True)
class FormulaResult:
    """The formula of least score, or None if the constant is as good; and how far the search was exhaustive."""

    formula: Formula | None
    score: float
    proved: bool  # no formula has a smaller score
    complete: float  # every function that has a formula of fewer bits was tried
    tried: int  # formulas scored


def find_formula(
    patterns: Mask, weights: Matrix, score: Score, *, budget: float, most: int, beam: int, fixed: bool = False
) -> FormulaResult:
    """The formula over the columns of `patterns` (U, d) with the least score of its mistakes and bits.

    Where it is true it predicts the most common class there, elsewhere the most common of the rest; with `fixed` the
    first class where it is true, the second elsewhere. `weights` (U, K) are the class weights of each pattern. It must
    beat the constant, which has zero bits.
    """
    judge = _FormulaScorer(patterns, weights, score, fixed)
    found = FormulaEnumeration(patterns, most)
    complete, proved = 0.0, False
    for bits, start, stop in found.grow(budget):
        if start == stop and judge.settled(bits):
            proved = True
            break
        judge.see(found, start, stop)
        complete = bits if found.room else complete
    proved = proved or found.closed
    if not proved and beam:
        _grow_beam(found, judge, beam)
        if judge.formula is not None:
            _trim(judge, patterns)
    return FormulaResult(judge.formula, judge.best, proved, complete, judge.tried)


class _FormulaScorer:
    """Scores formulas by their truth values, packed in words, and remembers the best."""

    def __init__(self, patterns: Mask, weights: Matrix, score: Score, fixed: bool) -> None:
        self.score, self.total, self.fixed = score, weights.sum(axis=0), fixed
        self.weigh = _weigher(weights)
        # the better of two classes, row by row
        pairs = np.maximum(weights[:, :, None], weights[:, None, :]).sum(axis=0)
        self.floor = float(max(self.total.sum() - pairs.max(), 0.0))
        self.best = float(score(self.total.sum() - (self.total[1] if fixed else self.total.max()), 0.0))
        self.formula: Formula | None = None
        self.tried = 0

    def settled(self, bits: float) -> bool:
        """Can no formula of at least this many bits be better?"""
        return bool(self.score(self.floor, bits) >= self.best - self._slack())

    def near(self, bits: Array) -> int:
        """How many of these lengths, in increasing order, could still win."""
        return int(np.count_nonzero(self.score(self.floor, bits) < self.best - self._slack()))

    def covered(self, words: Codes) -> Array:
        """(K, m): the class weights of the rows where formulas with these words are true."""
        out = np.zeros((len(self.total), len(words)))
        self.weigh(np.ascontiguousarray(words), out)
        return out

    def scores(self, covered: Array, bits: Array) -> Array:
        """The scores of formulas that cover these class weights and have these lengths."""
        self.tried += covered.shape[1]
        rest = self.total[:, None] - covered
        right = covered[0] + rest[1] if self.fixed else covered.max(axis=0) + rest.max(axis=0)
        return self.score(np.maximum(self.total.sum() - right, 0.0), bits)

    def see(self, found: FormulaEnumeration, start: int, stop: int) -> None:
        """Score a range of formulas; of equal scores the first is kept."""
        if start < stop:
            values = self.scores(self.covered(found.words[start:stop]), found.bits[start:stop])
            self.offer(values, lambda i: found.formula(start + i))

    def offer(self, values: Array, formula: Callable[[int], Formula]) -> bool:
        """Take the best of these if it beats the best so far."""
        i = int(np.argmax(values <= values.min() + self._slack()))
        if values[i] >= self.best - self._slack():
            return False
        self.best, self.formula = float(values[i]), formula(i)
        return True

    def _slack(self) -> float:
        return LENGTH_TOLERANCE * max(1.0, abs(self.best))


@dataclass(frozen=True)
class _BeamFormula:
    """A formula of a beam."""

    formula: Formula
    words: Codes  # packed truth values
    bits: float


class _Join(NamedTuple):
    """A way to join f with g."""

    words: Callable[[Codes, Codes], Codes]  # truth values from those of f and g
    opening: Callable[[Formula], tuple[Any, ...]]  # the tokens before those of g
    bits: float  # of the operators
    cover: Callable[[Array, Array, Array, Array], Array]  # weights covered, from those of f, g, both and all


JOINS = (
    _Join(lambda f, g: f & g, lambda f: (AND, *f.tokens), 2.0, lambda f, g, both, total: both),
    _Join(lambda f, g: f | g, lambda f: (OR, *f.tokens), 2.0, lambda f, g, both, total: f + g - both),
    _Join(lambda f, g: f & ~g, lambda f: (AND, *f.tokens, NOT), 4.0, lambda f, g, both, total: f - both),
    _Join(lambda f, g: f | ~g, lambda f: (OR, *f.tokens, NOT), 4.0, lambda f, g, both, total: total - g + both),
)


def _grow_beam(found: FormulaEnumeration, judge: _FormulaScorer, beam: int) -> None:
    """Join the best formulas with short ones as long as that lowers the score."""
    pool = min(found.count, max(MIN_POOL_SIZE, MAX_ROUND_WORDS // (beam * found.words.shape[1])))
    covered = judge.covered(found.words[: found.count])
    scores = judge.scores(covered, found.bits[: found.count])
    order = np.argsort(scores, kind="stable")[:beam]
    states = [_BeamFormula(found.formula(int(i)), found.words[i], float(found.bits[i])) for i in order]
    idle = 0
    while idle < MAX_IDLE_ROUNDS and states:
        states, better = _beam_round(found, judge, states, covered[:, :pool], beam)
        idle = 0 if better else idle + 1


def _beam_round(
    found: FormulaEnumeration, judge: _FormulaScorer, states: list[_BeamFormula], covered: Array, beam: int
) -> tuple[list[_BeamFormula], bool]:
    """The best of all joined formulas, one per function; and whether one is the best so far."""
    made, values = list[tuple[_BeamFormula, int, int]](), list[Array]()
    for state in states:
        near = judge.near(state.bits + 2 + found.bits[: covered.shape[1]])
        both = judge.covered(state.words & found.words[:near])
        own = judge.covered(state.words[None])
        for k, join in enumerate(JOINS):
            bits = state.bits + join.bits + found.bits[:near]
            value = judge.scores(join.cover(own, covered[:, :near], both, judge.total[:, None]), bits)
            best = np.argpartition(value, beam)[: beam + 1] if near > beam + 1 else np.arange(near)
            made += [(state, k, int(i)) for i in best]
            values.append(value[best])
    if not made:
        return [], False

    def built(at: int) -> _BeamFormula:
        state, k, i = made[at]
        join = JOINS[k]
        words = join.words(state.words, found.words[i]) & found.full
        tokens = (*join.opening(state.formula), *found.formula(i).tokens)
        return _BeamFormula(Formula(tokens), words, state.bits + join.bits + float(found.bits[i]))

    value = np.concatenate(values)
    better = judge.offer(value, lambda at: built(at).formula)
    kept: dict[bytes, _BeamFormula] = {}
    for at in np.argsort(value, kind="stable"):
        if len(kept) == beam:
            break
        state = built(int(at))
        kept.setdefault(state.words.tobytes(), state)
    return list(kept.values()), better


def _trim(judge: _FormulaScorer, patterns: Mask) -> None:
    """Remove parts of the best formula as long as that lowers the score."""
    better = True
    while better and judge.formula and (shorter := list(_without_a_part(judge.formula.tokens))):
        covered = judge.covered(pack_words(np.array([f.truth(patterns) for f in shorter])))
        values = judge.scores(covered, np.array([f.bits(patterns.shape[1]) for f in shorter]))
        better = judge.offer(values, shorter.__getitem__)


def _without_a_part(tokens: tuple[Any, ...]) -> Iterator[Formula]:
    """Every formula in which one operand replaces its operator."""
    for i, token in enumerate(tokens):
        if token in (AND, OR):
            middle = _end(tokens, i + 1)
            end = _end(tokens, middle)
            yield Formula((*tokens[:i], *tokens[i + 1 : middle], *tokens[end:]))
            yield Formula((*tokens[:i], *tokens[middle:end], *tokens[end:]))
        elif token == NOT:
            yield Formula((*tokens[:i], *tokens[i + 1 :]))


def _end(tokens: tuple[Any, ...], start: int) -> int:
    """One past the last symbol of the subformula that begins at `start`."""
    open_operands = 1
    while open_operands:
        open_operands += ARITY.get(tokens[start], 0) - 1
        start += 1
    return start


def _weigher(weights: Matrix) -> Callable[[Codes, Array], None]:
    """A function that fills in the class weights where formulas are true; counts bits if weights are small integers."""
    top = weights.max(initial=0.0)
    if top < 1 << MAX_WEIGHT_BITS and (weights == np.floor(weights)).all():
        planes = int(top).bit_length()
        bits = (weights.astype(np.int64).T[:, None] >> np.arange(planes)[:, None]) & 1  # (K, planes, U)
        masks = pack_words(bits.reshape(-1, len(weights)).astype(bool)).reshape(len(weights.T), planes, -1)
        return lambda words, out: _count_covered(words, masks, out)
    sums = _nibble_sums(weights, -(-len(weights) // 64) * 16)
    return lambda words, out: _add_covered(words, sums, out)


def _nibble_sums(weights: Matrix, nibbles: int) -> Array:
    """(nibbles, 16, K): for every four patterns, the class weights of each subset of them."""
    U, K = weights.shape
    four = np.zeros((nibbles * 4, K))
    four[:U] = weights
    subsets = (np.arange(16)[:, None] >> np.arange(4)) & 1  # (16, 4)
    return np.ascontiguousarray(np.einsum("sb,nbk->nsk", subsets.astype(float), four.reshape(nibbles, 4, K)))


@jit
def _count_covered(words, masks, out):
    """Whole weights of the classes where each formula is true: 64 patterns and a bit of their weights at a look."""
    ones, twos, fours = np.uint64(0x5555555555555555), np.uint64(0x3333333333333333), np.uint64(0x0F0F0F0F0F0F0F0F)
    for f in range(words.shape[0]):
        for c in range(masks.shape[0]):
            total = 0
            for b in range(masks.shape[1]):
                held = 0
                for k in range(words.shape[1]):
                    v = words[f, k] & masks[c, b, k]
                    v -= (v >> np.uint64(1)) & ones
                    v = (v & twos) + ((v >> np.uint64(2)) & twos)
                    v = (v + (v >> np.uint64(4))) & fours
                    held += int((v * np.uint64(0x0101010101010101)) >> np.uint64(56))
                total += held << b
            out[c, f] = total


@jit
def _add_covered(words, sums, out):
    """Weights of the classes where each formula is true, four patterns at a look."""
    for f in range(words.shape[0]):
        for k in range(words.shape[1]):
            word = words[f, k]
            for q in range(16):
                nibble = (word >> np.uint64(4 * q)) & np.uint64(15)
                if nibble != np.uint64(0):
                    for c in range(sums.shape[2]):
                        out[c, f] += sums[16 * k + q, nibble, c]
