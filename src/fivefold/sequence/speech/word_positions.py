"""A hidden Markov model of continuous speech: states are the last words and the position inside the present one.

A state (w1, w2, w3, position) prints as "we the pe*ople". Inside a word it stays with probability 1/2 and goes on by
one symbol with 1/2, so that every symbol lasts two frames on average; at the end of a word the next word begins,

    we the people*  ->  the people *w4        with probability P(w4 | the, people) of a language model

Symbols are letters, or the sounds of a lexicon. A state emits the symbol behind its star; the end of a word emits
nothing. The states are made as they are met: the best sequence of words is searched with a beam of states.

Jelinek (1997); Lowerre (1976), beam search.
"""

from __future__ import annotations

import math
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass, field
from typing import NamedTuple

from fivefold.sequence.language_models.ngram_counter import BEGIN, END, UNKNOWN, Token
from fivefold.sequence.language_models.ngram_model import NGramModel

STAY = 0.5  # probability that a state goes on for another frame


class WordPosition(NamedTuple):
    """The words before, the present word, and how many of its symbols are over."""

    history: tuple[Token, ...]
    word: Token
    position: int


@dataclass(frozen=True)
class SpokenWords:
    """What a beam search found."""

    words: list[Token]
    log_prob: float  # ln P(states, frames) of the best path
    path: list[WordPosition]  # one state per frame


@dataclass
class WordPositionModel:
    """States of words and positions over a language model.

    `lexicon` gives the symbols of each word; without one they are its letters. Only words of the vocabulary are said.
    """

    language: NGramModel
    lexicon: Mapping[Token, Sequence[str]] | None = None
    _next_words: dict[tuple[Token, ...], dict[Token, float]] = field(init=False, repr=False, default_factory=dict)

    def symbols(self, word: Token) -> Sequence[str]:
        """What is heard while a word is said."""
        if self.lexicon is None:
            return str(word)
        if word not in self.lexicon:
            raise ValueError(f"the lexicon does not hold the word {word!r}")
        return self.lexicon[word]

    def start(self) -> list[tuple[WordPosition, float]]:
        """The states in which a text begins, with their probabilities."""
        history: tuple[Token, ...] = (BEGIN,) if self.language.boundaries else ()
        return [(WordPosition(history, word, 0), p) for word, p in self._words(history).items() if word != END]

    def successors(self, state: WordPosition) -> list[tuple[WordPosition, float]]:
        """Where a state leads to, with probabilities that add up to one, less that of the end of the text."""
        if state.position < len(self.symbols(state.word)):
            return [(state, STAY), (state._replace(position=state.position + 1), 1 - STAY)]
        history = self._after(state)
        return [(WordPosition(history, word, 0), p) for word, p in self._words(history).items() if word != END]

    def end_probability(self, state: WordPosition) -> float:
        """The probability that the text ends after this word, once its last symbol is over."""
        if not self.language.boundaries:
            return 1.0
        return self._words(self._after(state)).get(END, 0.0)

    def emitting_successors(self, state: WordPosition) -> list[tuple[WordPosition, float]]:
        """States that emit a symbol in the next frame: ends of words are passed in no time."""
        stay, on = self.successors(state)
        if on[0].position < len(self.symbols(state.word)):
            return [stay, on]
        found = dict([stay])
        for there, p in self.successors(on[0]):  # the same word of one symbol again is the same state
            found[there] = found.get(there, 0.0) + on[1] * p
        return list(found.items())

    def symbol(self, state: WordPosition) -> str:
        """The symbol that a state emits."""
        return self.symbols(state.word)[state.position]

    def text(self, state: WordPosition) -> str:
        """The state as "we the pe*ople"."""
        symbols = self.symbols(state.word)
        join = "" if self.lexicon is None else " "
        said = join.join(symbols[: state.position]) + "*" + join.join(symbols[state.position :])
        return " ".join([*(str(word) for word in state.history if word != BEGIN), said])

    def decode(
        self, frames: Sequence[object], log_emission: Callable[[object, str], float], *, beam: int = 1000
    ) -> SpokenWords:
        """The best words for frames, of which log_emission(frame, symbol) is ln p(frame | symbol).

        At most `beam` states are followed from frame to frame; the end of the text must be the end of a word.
        """
        if not len(frames):
            raise ValueError("there is nothing to decode: no frames were given")
        scores = {state: math.log(p) for state, p in self.start() if p > 0}
        sources: list[dict[WordPosition, WordPosition]] = []
        for t, frame in enumerate(frames):
            if t:
                scores, source = self._advance(scores)
                sources.append(source)
            heard: dict[str, float] = {}
            for state in scores:
                symbol = self.symbol(state)
                if symbol not in heard:
                    heard[symbol] = log_emission(frame, symbol)
            scores = {state: value + heard[self.symbol(state)] for state, value in scores.items()}
            scores = dict(sorted(scores.items(), key=lambda item: -item[1])[:beam])
        return self._traced(scores, sources)

    def _advance(
        self, scores: Mapping[WordPosition, float]
    ) -> tuple[dict[WordPosition, float], dict[WordPosition, WordPosition]]:
        new: dict[WordPosition, float] = {}
        source: dict[WordPosition, WordPosition] = {}
        for state, value in scores.items():
            for there, p in self.emitting_successors(state):
                if p > 0 and value + math.log(p) > new.get(there, -math.inf):
                    new[there], source[there] = value + math.log(p), state
        return new, source

    def _traced(
        self, scores: Mapping[WordPosition, float], sources: Sequence[Mapping[WordPosition, WordPosition]]
    ) -> SpokenWords:
        """The best path that ends at the last symbol of a word."""
        ends = {
            state: value + math.log(p) + math.log(1 - STAY)
            for state, value in scores.items()
            if state.position == len(self.symbols(state.word)) - 1 and (p := self.end_probability(state)) > 0
        }
        if not ends:
            raise ValueError("no path of words ends with the frames: widen the beam or give more frames")
        state = max(ends, key=lambda s: ends[s])
        log_prob, path = ends[state], [state]
        for source in reversed(sources):
            path.append(source[path[-1]])
        path.reverse()
        begins = [here.word for t, here in enumerate(path) if here.position == 0 and (t == 0 or path[t - 1] != here)]
        return SpokenWords(begins, log_prob, path)

    def _after(self, state: WordPosition) -> tuple[Token, ...]:
        """The history once the word is over: the last words that the language model looks at."""
        kept = self.language.order - 1
        words = (*state.history, state.word)
        return words[len(words) - kept :] if kept else ()

    def _words(self, history: tuple[Token, ...]) -> dict[Token, float]:
        """The words that may follow, END among them, with their probabilities given that the word is known."""
        if history not in self._next_words:
            found = self.language.distribution(history)
            known = 1 - found[UNKNOWN]
            self._next_words[history] = {word: p / known for word, p in found.items() if p > 0 and word != UNKNOWN}
        return self._next_words[history]
