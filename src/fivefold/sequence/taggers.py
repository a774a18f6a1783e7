"""Taggers of words by counting: the most frequent tag of each word, and a hidden Markov model of tags.

    most frequent   tag(w) = argmax_k #(w, k)
    hidden Markov   argmax over tags of prod_t P(tag_t | tag_{t-1}) P(word_t | tag_t),   P from smoothed counts

A word that was never seen is tagged as words seen once are: they are the likeliest to be new. Brants (2000).
"""

from __future__ import annotations

from collections.abc import Hashable, Iterable, Sequence
from dataclasses import dataclass, field
from itertools import chain
from typing import Any, Literal, Self

import numpy as np

from fivefold.core.types import Codes, Doubles, Labels
from fivefold.inference.chains.best_paths import best_path
from fivefold.inference.chains.chain import Chain, chain_offsets
from fivefold.inference.chains.forward_backward import forward_backward
from fivefold.sequence.categorical_hmm import CategoricalHMM
from fivefold.sequence.linear_chain.sequence_input import labels_of, split_by

Words = Sequence[Sequence[Hashable]]


@dataclass
class MostFrequentTagger:
    """The tag that each word had most often: the baseline of every tagger.

    Examples
    --------
    >>> X, y = [["the", "run"], ["the", "run"], ["we", "run"]], [["D", "N"], ["D", "N"], ["P", "V"]]
    >>> tagger = MostFrequentTagger().fit(X, y)
    >>> tagger.predict([["we", "run", "the", "marathon"]])
    [['P', 'N', 'D', 'P']]
    """

    classes_: Labels = field(init=False, repr=False)
    tag_of_: dict[Hashable, int] = field(init=False, repr=False)
    unknown_: int = field(init=False, repr=False)  # the tag of words that were never seen

    def fit(self, X: Words, y: Sequence[Sequence[Any]]) -> Self:
        """Count the tags of words."""
        self.classes_, codes = labels_of(X, y, type(self).__name__)
        words, numbers = _numbered(X)
        counts = _pair_counts(words, codes, len(numbers), len(self.classes_))
        best = counts.argmax(axis=1).tolist()
        self.tag_of_ = {word: best[i] for word, i in numbers.items()}
        self.unknown_ = int(_rare_tags(counts).argmax())
        return self

    def predict(self, X: Words) -> list[list[Any]]:
        """The tags of each sequence of words."""
        labels = self.classes_.tolist()
        return [[labels[self.tag_of_.get(word, self.unknown_)] for word in words] for words in X]

    def score(self, X: Words, y: Sequence[Sequence[Any]]) -> float:
        """The share of words whose tag is right."""
        return _accuracy(self.predict(X), y)


@dataclass
class HMMTagger:
    """Tags by a hidden Markov model whose states are tags, from the counts of tagged texts.

    `alpha` is added to counts of transitions, `unknown` is the share of each tag's probability kept for new words;
    `decoding` is "sequence" (Viterbi) or "hamming" (the likeliest tag of each word).

    Examples
    --------
    >>> tagger = HMMTagger().fit([["the", "run"], ["the", "run"], ["we", "run"]], [["D", "N"], ["D", "N"], ["P", "V"]])
    >>> tagger.predict([["we", "run"], ["the", "marathon"]])
    [['P', 'V'], ['D', 'N']]
    """

    alpha: float = 0.01
    unknown: float = 0.01
    decoding: Literal["sequence", "hamming"] = "sequence"
    classes_: Labels = field(init=False, repr=False)
    numbers_: dict[Hashable, int] = field(init=False, repr=False)
    start_: Doubles = field(init=False, repr=False)  # (K,)
    transition_: Doubles = field(init=False, repr=False)  # (K, K)
    emission_: Doubles = field(init=False, repr=False)  # (words + 1, K): the last row is that of new words

    def fit(self, X: Words, y: Sequence[Sequence[Any]]) -> Self:
        """Count tags, pairs of tags, and words of each tag."""
        if not self.alpha > 0 or not 0 < self.unknown < 1:
            raise ValueError(f"alpha must be positive and unknown between 0 and 1; got {self.alpha}, {self.unknown}")
        self.classes_, codes = labels_of(X, y, type(self).__name__)
        words, self.numbers_ = _numbered(X)
        K, offsets = len(self.classes_), _offsets(X)
        first = offsets[:-1]
        inside = np.setdiff1d(np.arange(len(codes)), first)
        pairs = np.bincount(codes[inside - 1] * K + codes[inside], minlength=K * K).reshape(K, K)
        begun = np.bincount(codes[first], minlength=K) + self.alpha
        followed = pairs + self.alpha
        self.start_, self.transition_ = begun / begun.sum(), followed / followed.sum(axis=1, keepdims=True)
        counts = _pair_counts(words, codes, len(self.numbers_), K)
        new = _rare_tags(counts) + self.alpha
        total = counts.sum(axis=0)
        emission = np.vstack([(1 - self.unknown) * counts / total, self.unknown * K * new / new.sum()])
        self.emission_ = emission / emission.sum(axis=0)
        return self

    def refine(self, X: Words, n_iter: int = 10) -> Self:
        """Go on learning from texts without tags, by Baum-Welch from the tables so far."""
        codes = self._codes(X)
        hmm = CategoricalHMM(len(self.classes_), n_features=len(self.emission_), init_params="", n_iter=n_iter, tol=0.0)
        hmm.startprob_, hmm.transmat_, hmm.emissionprob_ = self.start_, self.transition_, self.emission_.T
        hmm.fit(codes[:, None], lengths=np.diff(_offsets(X)))
        self.start_, self.transition_ = np.asarray(hmm.startprob_), np.asarray(hmm.transmat_)
        self.emission_ = np.asarray(hmm.emissionprob_).T
        return self

    def chain(self, X: Words) -> Chain:
        """The log tables for texts."""
        with np.errstate(divide="ignore"):
            tables = np.log(self.start_), np.log(self.transition_), np.log(self.emission_)
        return Chain(*tables, _offsets(X), self._codes(X))

    def predict(self, X: Words) -> list[list[Any]]:
        """The tags of each sequence of words."""
        full = [words for words in X if len(words)]
        if not full:
            return [[] for _ in X]
        tables = self.chain(full)
        codes = (
            best_path(tables).path if self.decoding == "sequence" else forward_backward(tables).marginals.argmax(axis=1)
        )
        found = iter(split_by(self.classes_[codes].tolist(), tables.offsets))
        return [next(found) if len(words) else [] for words in X]

    def score(self, X: Words, y: Sequence[Sequence[Any]]) -> float:
        """The share of words whose tag is right."""
        return _accuracy(self.predict(X), y)

    def _codes(self, X: Words) -> Codes:
        new = len(self.numbers_)
        return np.array([self.numbers_.get(word, new) for word in chain.from_iterable(X)], dtype=np.int64)


def _offsets(X: Words) -> Codes:
    lengths = [len(words) for words in X if len(words)]
    return chain_offsets(lengths, sum(lengths))


def _numbered(X: Words) -> tuple[Codes, dict[Hashable, int]]:
    """Words as numbers, by first appearance."""
    numbers: dict[Hashable, int] = {}
    codes = [numbers.setdefault(word, len(numbers)) for word in chain.from_iterable(X)]
    return np.array(codes, dtype=np.int64), numbers


def _pair_counts(words: Codes, codes: Codes, n_words: int, K: int) -> Doubles:
    """How often each word has each tag (words, K)."""
    return np.bincount(words * K + codes, minlength=n_words * K).reshape(n_words, K).astype(np.float64)


def _rare_tags(counts: Doubles) -> Doubles:
    """How often each tag stands with a word seen once, or with any where there is none (K,)."""
    once = counts.sum(axis=1) == 1
    found: Doubles = counts[once].sum(axis=0) if once.any() else counts.sum(axis=0)
    return found


def _accuracy(found: Iterable[Sequence[Any]], y: Iterable[Sequence[Any]]) -> float:
    pairs = [(a, b) for p, q in zip(found, y, strict=True) for a, b in zip(p, q, strict=True)]
    return float(np.mean([a == b for a, b in pairs]))
