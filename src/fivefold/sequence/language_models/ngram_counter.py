"""Counts of n-grams, collected text by text, and the tree of contexts in which models look them up.

    #(c w)    how often word w follows the context c, the 0 .. order - 1 words before it

A context is a node: its parent lacks the earliest word. With `boundaries` a text begins with the context word <s> and
ends with the word </s>; without, its first words have shorter contexts. The sum of #(c w) over w is the number of times
that c has a successor, so that the last words of a text do not count as a context.

Texts can come one after the other: what is kept grows with the number of different n-grams, not with the text.
"""

from __future__ import annotations

from collections.abc import Hashable, Iterable, Sequence
from dataclasses import dataclass

import numpy as np

from fivefold.core.types import Codes, Doubles, Indices

Token = Hashable
Text = Sequence[Token] | str  # a string is split at white space
BEGIN, END, UNKNOWN = "<s>", "</s>", "<unk>"
NO_WORD = -1  # stands before the beginning of a history
BUFFER_TOKENS = 2**20  # windows of tokens that are held before equal ones are counted


@dataclass(frozen=True)
class ContextLevel:
    """The contexts of one length, and the words that follow them.

    A code is node * n_ids + word; codes are sorted. Node j has the entries first[j]..first[j + 1].
    """

    nodes: Indices  # (nodes,) code of the parent and the earliest word
    entries: Indices  # (entries,) code of the node and the word that follows
    first: Indices  # (nodes + 1,)
    count: Doubles  # (entries,)
    extensions: Doubles  # (entries,) how many different words stand before context and word; the count after BEGIN

    @property
    def totals(self) -> Doubles:
        """How many successors each context has (nodes,)."""
        return np.add.reduceat(self.count, self.first[:-1])


@dataclass(frozen=True)
class NGramCounts:
    """Counts of all n-grams up to an order; words are numbered, BEGIN comes last and is never predicted."""

    words: tuple[Token, ...]
    levels: tuple[ContextLevel, ...]  # by the length of the context
    boundaries: bool

    @property
    def order(self) -> int:
        """Words of the longest n-gram."""
        return len(self.levels)

    @property
    def n_words(self) -> int:
        """The size of the vocabulary, with UNKNOWN and END."""
        return len(self.words)

    @property
    def total(self) -> float:
        """How many words were counted."""
        return float(self.levels[0].count.sum())

    def count(self, *gram: Token) -> float:
        """#(gram); BEGIN may stand first."""
        codes = encode_tokens(gram, self.numbers())
        history = np.full((1, self.order - 1), NO_WORD)
        if len(gram) > 1:
            history[0, -(len(gram) - 1) :] = codes[:-1]
        node = self.find_nodes(history)[len(gram) - 1]
        entry = self.find_entries(len(gram) - 1, node, codes[-1:])[0]
        return float(self.levels[len(gram) - 1].count[entry]) if entry >= 0 else 0.0

    def numbers(self) -> dict[Token, int]:
        """The number of each word, and of BEGIN."""
        return {**{word: i for i, word in enumerate(self.words)}, BEGIN: self.n_words}

    def find_nodes(self, history: Codes) -> list[Indices]:
        """For each length of a context its node (m,), -1 where it was not seen; the last column is the latest word."""
        found: list[Indices] = [np.zeros(len(history), dtype=np.int64)]
        for k, level in enumerate(self.levels[1:], start=1):
            word = history[:, -k]
            code = np.where((found[-1] >= 0) & (word >= 0), found[-1] * (self.n_words + 1) + word, -1)
            found.append(find_sorted(level.nodes, code))
        return found

    def find_entries(self, length: int, node: Indices, word: Codes) -> Indices:
        """The entry (m,) of words after nodes of contexts of a length, -1 where there is none."""
        code = np.where((node >= 0) & (word >= 0), node * (self.n_words + 1) + word, -1)
        return find_sorted(self.levels[length].entries, code)


class NGramCounter:
    """Collects counts from texts, as many and as long as you like.

    `min_count`: rarer words are counted as <unk> once all texts were seen.

    Examples
    --------
    >>> counts = NGramCounter(2, boundaries=False).update(["we the people we the states"]).counts()
    >>> counts.count("we"), counts.count("we", "the"), counts.count("the", "people"), counts.total
    (2.0, 2.0, 1.0, 6.0)
    """

    def __init__(self, order: int = 3, *, boundaries: bool = True, min_count: int = 1) -> None:
        if order < 1:
            raise ValueError(f"the order of n-grams must be 1 or more; got {order!r}")
        self.order, self.boundaries, self.min_count = order, boundaries, min_count
        self._numbers: dict[Token, int] = {BEGIN: 0, END: 1, UNKNOWN: 2}
        self._buffer: list[Codes] = []
        self._buffered = 0
        self._windows = np.empty((0, order), dtype=np.int64)
        self._count: Doubles = np.empty(0)

    def update(self, texts: Iterable[Text], weight: float = 1.0) -> NGramCounter:
        """Count further texts; a weight of two counts each twice."""
        for text in texts:
            codes = np.array([self._number(token) for token in tokens_of(text)], dtype=np.int64)
            if len(codes) or self.boundaries:
                self._buffer.append(windows_of(codes, self.order, 0, 1, self.boundaries))
                self._buffered += len(codes)
            if self._buffered >= BUFFER_TOKENS:
                self._merge(weight)
        self._merge(weight)
        return self

    def counts(self) -> NGramCounts:
        """The counts so far."""
        if not len(self._windows):
            raise ValueError("no words have been counted: give at least one text that is not empty")
        return _count_levels(*self._renumbered(), self.boundaries)

    def _number(self, token: Token) -> int:
        if token == BEGIN:
            raise ValueError(f"{BEGIN!r} stands for the beginning of a text and cannot be a word of it")
        return self._numbers.setdefault(token, len(self._numbers))

    def _merge(self, weight: float) -> None:
        if self._buffer:
            new = np.concatenate(self._buffer)
            windows = np.concatenate([self._windows, new])
            count = np.concatenate([self._count, np.full(len(new), weight)])
            group, first = _groups(windows, len(self._numbers))
            self._windows, self._count = windows[first], np.bincount(group, count).astype(np.float64)
            self._buffer, self._buffered = [], 0

    def _renumbered(self) -> tuple[Codes, Doubles, tuple[Token, ...]]:
        """Windows in the numbers of the vocabulary: by first appearance, UNKNOWN and END after them, BEGIN last."""
        frequency = np.bincount(self._windows[:, -1], self._count, minlength=len(self._numbers))
        kept = [
            token
            for token, i in self._numbers.items()
            if token not in (BEGIN, END, UNKNOWN) and frequency[i] >= self.min_count
        ]
        words = (*kept, UNKNOWN, *((END,) if self.boundaries else ()))
        place = {**{word: i for i, word in enumerate(words)}, BEGIN: len(words)}
        table = np.array([place.get(token, place[UNKNOWN]) for token in self._numbers] + [NO_WORD])
        return table[self._windows], self._count, words


def tokens_of(text: Text) -> Sequence[Token]:
    """The words of a text."""
    return text.split() if isinstance(text, str) else text


def encode_tokens(tokens: Iterable[Token], numbers: dict[Token, int]) -> Codes:
    """Numbers of tokens; that of UNKNOWN for those not in the vocabulary."""
    unknown = numbers[UNKNOWN]
    return np.array([numbers.get(token, unknown) for token in tokens], dtype=np.int64)


def windows_of(codes: Codes, order: int, begin: int, end: int, boundaries: bool) -> Codes:
    """Each word of a text behind the order - 1 words before it (words, order)."""
    head = np.full(order - 1, NO_WORD)
    if boundaries:
        codes = np.append(codes, end)
        head[-1:] = begin
    return np.lib.stride_tricks.sliding_window_view(np.concatenate([head, codes]), order)


def find_sorted(sorted_codes: Indices, code: Indices) -> Indices:
    """The place of each code, -1 where it is missing."""
    if not len(sorted_codes):
        return np.full(len(code), -1, dtype=np.int64)
    place = np.searchsorted(sorted_codes, code).clip(0, len(sorted_codes) - 1)
    return np.where(sorted_codes[place] == code, place, -1)


def _groups(windows: Codes, n_ids: int) -> tuple[Indices, Indices]:
    """A number for each window, the same for equal ones, and a row of each number."""
    group = np.zeros(len(windows), dtype=np.int64)
    first = np.zeros(1, dtype=np.int64)
    for column in windows.T:
        _, first, group = np.unique(group * (n_ids + 1) + column + 1, return_index=True, return_inverse=True)
    return group, first


def _count_levels(windows: Codes, count: Doubles, words: tuple[Token, ...], boundaries: bool) -> NGramCounts:
    n_ids, order = len(words) + 1, windows.shape[1]
    node, word = np.zeros(len(windows), dtype=np.int64), windows[:, -1]
    nodes, levels = np.zeros(1, dtype=np.int64), list[ContextLevel]()
    rows = np.arange(len(windows))  # those whose context is long enough
    for k in range(order):
        entries, entry = np.unique(node * n_ids + word[rows], return_inverse=True)
        first = np.searchsorted(entries, np.arange(len(nodes) + 1) * n_ids)
        totals = np.bincount(entry, count[rows]).astype(np.float64)
        extensions = _left_extensions(windows, rows, entry, totals, k, len(words))
        levels.append(ContextLevel(nodes, entries, first, totals, extensions))
        if k + 1 < order:
            inside = windows[rows, -2 - k] >= 0
            rows, node = rows[inside], node[inside]
            nodes, node = np.unique(node * n_ids + windows[rows, -2 - k], return_inverse=True)
    return NGramCounts(words, tuple(levels), boundaries)


def _left_extensions(windows: Codes, rows: Indices, entry: Indices, totals: Doubles, k: int, begin: int) -> Doubles:
    """How many different words stand before each entry; its count where BEGIN is the first word of its context."""
    if k + 1 == windows.shape[1]:
        return totals
    before = windows[rows, -2 - k]
    pairs = np.unique(entry[before >= 0] * (begin + 1) + before[before >= 0]) // (begin + 1)
    found = np.bincount(pairs, minlength=len(totals)).astype(np.float64)
    begun = np.bincount(entry, windows[rows, -1 - k] == begin, minlength=len(totals)) > 0
    return np.where(begun, totals, found)
