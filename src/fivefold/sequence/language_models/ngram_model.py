"""What all n-gram models share: the probability of texts, perplexity, sampling.

    ln P(text) = sum over words w of ln P(w | the order - 1 words before it)
    perplexity = exp(-ln P(texts) / words)

A model says P(w | context) for many pairs at once (`_probabilities`) and for all words after one context
(`distribution`).
"""

from __future__ import annotations

from abc import ABC, abstractmethod
from collections.abc import Iterable, Sequence
from dataclasses import dataclass, field
from typing import Self

import numpy as np

from fivefold.core.types import Codes, Doubles, Rng
from fivefold.sequence.language_models.ngram_counter import (
    BEGIN,
    END,
    NO_WORD,
    UNKNOWN,
    NGramCounter,
    NGramCounts,
    Text,
    Token,
    encode_tokens,
    tokens_of,
    windows_of,
)


@dataclass
class NGramModel(ABC):
    """A distribution of words given the words before.

    `order` counts the words of the longest n-gram, `boundaries` lets texts begin and end, words rarer than `min_count`
    count as <unk>, as do words that fit did not see.
    """

    order: int = 3
    boundaries: bool = True
    min_count: int = 1
    counts_: NGramCounts = field(init=False, repr=False)

    def fit(self, texts: Iterable[Text]) -> Self:
        """Count the n-grams of texts, which are sequences of tokens or strings with white space between words."""
        counter = NGramCounter(self.order, boundaries=self.boundaries, min_count=self.min_count)
        return self.fit_counts(counter.update(texts).counts())

    def fit_counts(self, counts: NGramCounts) -> Self:
        """The same from counts, which may have been collected from a stream."""
        if counts.order < self.order or counts.boundaries != self.boundaries:
            raise ValueError(
                f"counts of order {counts.order} with boundaries={counts.boundaries} were given to a model of order "
                f"{self.order} with boundaries={self.boundaries}"
            )
        self.counts_ = NGramCounts(counts.words, counts.levels[: self.order], counts.boundaries)
        self._estimate()
        return self

    @abstractmethod
    def _estimate(self) -> None:
        """What follows from the counts."""

    @abstractmethod
    def _probabilities(self, windows: Codes) -> Doubles:
        """P(last word | the words before it in the window) (m,)."""

    @abstractmethod
    def _distribution(self, history: Codes) -> Doubles:
        """P(. | history) for all words of the vocabulary; history (1, order - 1)."""

    @property
    def vocabulary(self) -> tuple[Token, ...]:
        """The words that can be predicted, <unk> and, with boundaries, </s> among them."""
        return self.counts_.words

    def windows(self, texts: Iterable[Text]) -> Codes:
        """Each word of texts behind the words before it, as numbers (words, order)."""
        numbers = self.counts_.numbers()
        begin, end = numbers[BEGIN], numbers.get(END, NO_WORD)
        parts = [
            windows_of(encode_tokens(tokens_of(text), numbers), self.order, begin, end, self.boundaries)
            for text in texts
        ]
        return np.concatenate(parts) if parts else np.empty((0, self.order), dtype=np.int64)

    def probability(self, word: Token, context: Sequence[Token] = ()) -> float:
        """P(word | context); the context may be longer than the model looks, and begin with <s>."""
        window = np.append(self._history(context), encode_tokens([word], self.counts_.numbers()))
        return float(self._probabilities(window[None])[0])

    def distribution(self, context: Sequence[Token] = ()) -> dict[Token, float]:
        """P(word | context) for every word of the vocabulary."""
        return dict(zip(self.vocabulary, self._distribution(self._history(context)[None]).tolist(), strict=True))

    def log_probabilities(self, texts: Iterable[Text]) -> Doubles:
        """ln P of each word of the texts; with boundaries each text has one word more, its end."""
        with np.errstate(divide="ignore"):
            return np.log(self._probabilities(self.windows(texts)))

    def score(self, texts: Iterable[Text]) -> float:
        """Mean ln P per word."""
        found = self.log_probabilities(texts)
        if not len(found):
            raise ValueError("there is no word to score: give at least one text that is not empty")
        return float(found.mean())

    def perplexity(self, texts: Iterable[Text]) -> float:
        """exp of minus the mean ln P per word; infinite where a word has probability zero."""
        return float(np.exp(-self.score(texts)))

    def sample(
        self, max_words: int = 100, *, context: Sequence[Token] | None = None, rng: int | Rng = 0
    ) -> list[Token]:
        """A text drawn word by word, until </s> or `max_words`; a context of None is the beginning of a text."""
        rng = np.random.RandomState(rng) if isinstance(rng, int) else rng
        said: list[Token] = []
        before = list(context) if context is not None else [BEGIN] if self.boundaries else []
        while len(said) < max_words:
            P = np.cumsum(self._distribution(self._history([*before, *said])[None]))
            word = self.vocabulary[int(np.searchsorted(P, rng.uniform() * P[-1], side="right"))]
            if word == END:
                break
            said.append(word)
        return said

    def _history(self, context: Sequence[Token]) -> Codes:
        """The last order - 1 words of a context (order - 1,)."""
        history = np.full(self.order - 1, NO_WORD)
        known = encode_tokens(list(context)[len(context) - self.order + 1 :] if self.order > 1 else [], self._numbers)
        if len(known):
            history[-len(known) :] = known
        return history

    @property
    def _numbers(self) -> dict[Token, int]:
        return self.counts_.numbers()


__all__ = ["UNKNOWN", "NGramModel"]
