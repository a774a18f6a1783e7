"""Formulas in order of code length, one per function of the rows.

A formula is identified by its truth values on the distinct rows of a table, packed 64 to a word: `and`, `or` and `not`
of formulas are those of their words. Sizes (symbols, features) are processed in order of length; a formula is made from
shorter ones and kept if its words are not in a hash table yet, so each function appears once, as its shortest formula.
"""

from __future__ import annotations

from collections.abc import Iterator
from math import log2
from typing import Any

import numpy as np

from fivefold.core.compilation.jit import jit
from fivefold.core.types import Codes, Mask
from fivefold.rules.formulas.boolean_formulas import AND, NOT, OR, Formula

MAX_TRUTH_VALUES = 400_000_000  # truth values stored at most, one bit each: 50 MB
OPERATORS = {1: NOT, 2: AND, 3: OR}  # 0: a feature
ONCE = 0, 1  # range of second operands for formulas that have none
LENGTH_TOLERANCE = 1e-9  # lengths in bits that differ by less are equal


class FormulaEnumeration:
    """All formulas over the columns of a table of truth values, made size by size, shortest first."""

    def __init__(self, patterns: Mask, most: int) -> None:
        U, d = patterns.shape
        most = max(min(most, MAX_TRUTH_VALUES // max(U, 1)), d)
        self.columns, self.count, self.closed = d, 0, False
        self.words = np.zeros((most + 1, -(-U // 64)), dtype=np.uint64)  # the last row is scratch
        self.made = np.zeros((most, 3), dtype=np.int32)  # operator, operands; a feature's number
        self.bits = np.zeros(most)
        self.full = pack_words(np.ones((1, U), dtype=bool))[0]
        self.slots = np.full(1 << (2 * most + 2).bit_length(), -1, dtype=np.int32)
        self.leaves = pack_words(patterns.T)
        self.sizes: dict[tuple[int, int], tuple[int, int]] = {}  # symbols, features -> from, to

    @property
    def room(self) -> bool:
        """Is there room for more formulas?"""
        return self.count < len(self.made)

    def grow(self, budget: float = np.inf) -> Iterator[tuple[float, int, int]]:
        """(length, from, to) of each size in turn, until the budget is spent or the table is full."""
        price = log2(self.columns)
        for n, l in _sizes(budget, self.columns):
            start = self.count
            if n > 1 and 2 * n + l * price > 2 * self.bits[start - 1] + 2 + LENGTH_TOLERANCE:
                self.closed = True  # all combinations of two were tried: there are no other functions
                return
            yield 2 * n + l * price, start, start  # the caller may stop before they are made
            self._make(n, l)
            self.bits[start : self.count] = 2 * n + l * price
            self.sizes[n, l] = start, self.count
            yield 2 * n + l * price, start, self.count
            if not self.room:
                return

    def formula(self, i: int) -> Formula:
        """Formula number i."""
        tokens: list[Any] = []
        stack = [i]
        while stack:
            op, left, right = self.made[stack.pop()].tolist()
            tokens.append(OPERATORS.get(op, left))
            stack += [] if op == 0 else [left] if op == 1 else [right, left]
        return Formula(tuple(tokens))

    def _make(self, n: int, l: int) -> None:
        if n == 1:
            self._add(self.leaves, (0, len(self.leaves)), ONCE, (0, 1))
            return
        if (below := self.sizes.get((n - 1, l))) is not None:
            self._add(self.words, below, ONCE, (1, 2))
        for (n1, l1), left in list(self.sizes.items()):
            rest = n - 1 - n1, l - l1
            if rest in self.sizes and (n1, l1) <= rest:
                self._add(self.words, left, self.sizes[rest], (2, 4), (n1, l1) == rest)

    def _add(
        self,
        source: Codes,
        left: tuple[int, int],
        right: tuple[int, int],
        operators: tuple[int, int],
        same: bool = False,
    ) -> None:
        state = self.words, self.made, self.slots, self.full, self.count
        self.count = _add_new(*state, source, *left, *right, *operators, same)


def shortest_formulas(patterns: Mask, budget: float, most: int) -> tuple[list[Formula], Mask]:
    """Formulas of at most `budget` bits with different truth values on the patterns, shortest first; and those values.

    At most `most` are made. Values are (formulas, patterns), Boolean; constants are left out.
    """
    found = FormulaEnumeration(patterns, most)
    for _ in found.grow(budget):
        pass
    tokens: list[tuple[Any, ...]] = []
    for op, left, right in found.made[: found.count].tolist():  # operands come before what is made of them
        parts = (left,) if op == 0 else (OPERATORS[op], *tokens[left], *(tokens[right] if op > 1 else ()))
        tokens.append(parts)
    return [Formula(t) for t in tokens], unpack_words(found.words[: found.count], len(patterns))


def pack_words(rows: Mask) -> Codes:
    """Rows of truth values (m, U) as words of 64 bits."""
    m, U = rows.shape
    out = np.zeros((m, -(-U // 64) * 8), dtype=np.uint8)
    bytes_ = np.packbits(rows, axis=1, bitorder="little")
    out[:, : bytes_.shape[1]] = bytes_
    return out.view("<u8").astype(np.uint64, copy=False)


def unpack_words(words: Codes, U: int) -> Mask:
    """The truth values (m, U) in these words."""
    bytes_ = np.ascontiguousarray(words).astype("<u8", copy=False).view(np.uint8)
    return np.unpackbits(bytes_, axis=1, count=U, bitorder="little").astype(bool)


def _sizes(budget: float, d: int) -> Iterator[tuple[int, int]]:
    """(symbols, features) within the budget, in order of length; l features need at least 2 l - 1 symbols."""
    price, band, done = log2(d), 64.0, 0.0
    while done < budget:
        top = min(done + band, budget)
        found = [
            (n, l)
            for n in range(1, int(top // 2) + 1)
            for l in range(1, (n + 1) // 2 + 1)
            if done < 2 * n + l * price <= top
        ]
        yield from sorted(found, key=lambda size: (2 * size[0] + size[1] * price, size))
        done = top


@jit
def _add_new(words, made, slots, full, count, source, lo, hi, lo2, hi2, first, last, same):
    """Make op(left, right) for each pair and operator; keep what is not constant and not in the hash table yet."""
    W, mask = words.shape[1], np.uint64(slots.shape[0] - 1)
    for i in range(lo, hi):
        for j in range(i + 1 if same else lo2, hi2):
            for op in range(first, last):
                if count == made.shape[0]:
                    return count
                never, always = True, True
                h = np.uint64(14695981039346656037)
                for k in range(W):
                    v = source[i, k]
                    if op == 1:
                        v = ~v & full[k]
                    elif op == 2:
                        v &= words[j, k]
                    elif op == 3:
                        v |= words[j, k]
                    words[count, k] = v
                    never &= v == np.uint64(0)
                    always &= v == full[k]
                    h = (h ^ v) * np.uint64(1099511628211)
                    h ^= h >> np.uint64(29)
                if never or always:
                    continue
                place = h & mask
                while slots[place] >= 0:
                    other, k = slots[place], 0
                    while k < W and words[other, k] == words[count, k]:
                        k += 1
                    if k == W:
                        break
                    place = (place + np.uint64(1)) & mask
                if slots[place] < 0:
                    slots[place] = count
                    made[count, 0], made[count, 1], made[count, 2] = op, i, j
                    count += 1
    return count
