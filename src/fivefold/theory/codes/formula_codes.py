"""Codes of Boolean formulas: in bits, with names of any length, and as draws of a grammar.

    bit code        and 11, or 01, not 10, feature 00 and its number         2 n + l ceil(log2 d)
    named code      the name in place of the number, by a code of its own    2 n + sum of the lengths of the names
    grammar         draw and, or, not, feature; then the operands            sum of log2 1 / P(symbol) + l log2 d

for n symbols in prefix order, l of them features. A reader of prefix order knows where a formula ends.

The grammar is a branching process. With b the probability of "and" or "or", and f that of a feature, it ends with
probability min(1, f / b): with 1/4 for each of the four symbols only every second draw ends, and the probabilities of
all formulas sum to 1/2. Given that it ends it is again a grammar, in which operators are b_i q, "not" stays, and f / q
(q = f / b), and which always ends; its formulas are one bit shorter for q = 1/2. That grammar is the default.

McAllester (2009), Case Studies in Machine Learning; Athreya & Ney (1972), Branching processes, for the dual process.
"""

from __future__ import annotations

import warnings
from bisect import bisect_right
from collections.abc import Callable, Sequence
from dataclasses import KW_ONLY, dataclass
from functools import partial
from itertools import accumulate
from math import log2
from typing import Any

from fivefold.core.types import Rng
from fivefold.rules.formulas.boolean_formulas import AND, ARITY, NOT, OR, Formula
from fivefold.theory.codes.prefix_codes import decode_index, encode_index, index_width, text_bits

SYMBOL_BITS = {AND: "11", OR: "01", NOT: "10"}
FEATURE_BITS = "00"
SYMBOL_OF_BITS = {bits: symbol for symbol, bits in SYMBOL_BITS.items()}
SUM_TOLERANCE = 1e-9  # by which the probabilities of the four symbols may miss one


def encode_formula(formula: Formula, features: int | Sequence[Any]) -> str:
    """The bits of a formula over this many numbered features, or over these named ones.

    Examples
    --------
    >>> from fivefold.rules.formulas.boolean_formulas import parse_formula
    >>> encode_formula(parse_formula("not f or (g and w)"), ["f", "g", "w"])
    '011000001100010010'
    """
    names = range(features) if isinstance(features, int) else list(features)
    return _encode(formula, lambda feature: encode_index(_place(feature, names), len(names)))


def decode_formula(bits: str, features: int | Sequence[Any]) -> tuple[Formula, int]:
    """The formula at the beginning of the bits, and the number of bits it takes.

    Examples
    --------
    >>> formula, read = decode_formula("011000001100010010" + "1111", ["f", "g", "w"])
    >>> print(formula, read)
    not f or g and w 18
    """
    names = range(features) if isinstance(features, int) else list(features)

    def feature(rest: str) -> tuple[Any, int]:
        i, read = decode_index(rest, len(names))
        return names[i], read

    return _decode(bits, feature)


def formula_bits(formula: Formula, features: int) -> int:
    """Length of the bit code: 2 n + l ceil(log2 d).

    Examples
    --------
    >>> from fivefold.rules.formulas.boolean_formulas import parse_formula
    >>> [formula_bits(parse_formula("not f or (g and w)"), d) for d in (3, 5, 8, 100)]
    [18, 21, 21, 33]
    """
    return 2 * formula.nodes + formula.leaves * index_width(features)


def named_formula_bits(formula: Formula, name_bits: Callable[[Any], float] = text_bits) -> float:
    """Length with names of features, of which there may be infinitely many; by default texts that a null byte ends.

    Examples
    --------
    >>> from fivefold.rules.formulas.boolean_formulas import parse_formula
    >>> named_formula_bits(parse_formula("smoker and not athlete"))
    128
    """
    return 2 * formula.nodes + sum(name_bits(token) for token in formula.tokens if token not in ARITY)


def encode_named_formula(formula: Formula) -> str:
    """The bits of a formula whose features are texts, each ended by a null byte."""

    def name(feature: Any) -> str:
        text_bits(str(feature))  # refuses a null byte within
        return "".join(f"{byte:08b}" for byte in (*str(feature).encode(), 0))

    return _encode(formula, name)


def decode_named_formula(bits: str) -> tuple[Formula, int]:
    """The formula with named features at the beginning of the bits, and the number of bits it takes."""

    def name(rest: str) -> tuple[str, int]:
        each = [rest[i : i + 8] for i in range(0, len(rest), 8)]
        if "00000000" not in each:
            raise ValueError("the bits end within a name: no null byte follows")
        end = each.index("00000000")
        return bytes(int(byte, 2) for byte in each[:end]).decode(), 8 * (end + 1)

    return _decode(bits, name)


@dataclass(frozen=True)
class FormulaGrammar:
    """Formulas drawn symbol by symbol, from a number of features that are equally likely.

    Examples
    --------
    >>> from fivefold.rules.formulas.boolean_formulas import parse_formula
    >>> phi = parse_formula("not f or (g and w)")
    >>> [round(FormulaGrammar(d).bits(phi), 3) for d in (3, 5, 8, 100)]
    [15.755, 17.966, 20.0, 30.932]
    >>> import numpy as np
    >>> print(FormulaGrammar(4).sample(np.random.RandomState(5)))
    2 or not 0
    """

    features: int
    _: KW_ONLY
    p_and: float = 1 / 8
    p_or: float = 1 / 8
    p_not: float = 1 / 4
    p_feature: float = 1 / 2

    def __post_init__(self) -> None:
        each = self.probabilities
        if self.features < 1 or min(each.values()) < 0 or abs(sum(each.values()) - 1) > SUM_TOLERANCE:
            raise ValueError(f"a grammar has features, and four probabilities that sum to one; got {self}")
        if self.p_feature <= 0:
            raise ValueError("no formula ends without a feature: p_feature has to be positive")
        if self.ends < 1:
            warnings.warn(
                f"this grammar ends with probability {self.ends:.3g} only, and its formulas have no more probability "
                "in all. `given_that_it_ends()` is the same distribution, summing to one",
                stacklevel=3,
            )

    @property
    def probabilities(self) -> dict[str, float]:
        """The probability of each symbol."""
        return {AND: self.p_and, OR: self.p_or, NOT: self.p_not, "feature": self.p_feature}

    @property
    def ends(self) -> float:
        """The probability that a draw ends: the smaller solution of q = b q^2 + p_not q + f."""
        b = self.p_and + self.p_or
        return min(1.0, self.p_feature / b) if b > 0 else 1.0

    def given_that_it_ends(self) -> FormulaGrammar:
        """The grammar of the draws that end, which always ends itself."""
        q, b = self.ends, self.p_and + self.p_or
        if q == 1:
            return self
        grown = {"p_and": self.p_and * q, "p_or": self.p_or * q, "p_not": self.p_not}
        return FormulaGrammar(self.features, **grown, p_feature=b)

    def bits(self, formula: Formula) -> float:
        """log2 1 / P(formula); infinite where a symbol has probability zero."""
        p = self.probabilities
        each = [p[token] if token in ARITY else p["feature"] / self.features for token in formula.tokens]
        return float("inf") if min(each) == 0 else -sum(log2(x) for x in each)

    def draw(self, rng: Rng, max_nodes: int = 1000) -> Formula | None:
        """One draw; None if it has not ended after this many symbols, as it may never."""
        tokens, open_ends = list[Any](), 1
        symbols, steps = list(self.probabilities), list(accumulate(self.probabilities.values()))
        while open_ends:
            if len(tokens) + open_ends > max_nodes:
                return None
            symbol = symbols[min(bisect_right(steps, rng.random_sample()), 3)]
            tokens.append(symbol if symbol in ARITY else int(rng.randint(self.features)))
            open_ends += ARITY.get(symbol, 0) - 1
        return Formula(tuple(tokens))

    def sample(self, rng: Rng, max_nodes: int = 1000) -> Formula:
        """A formula of at most this many symbols, drawn from the formulas of that size."""
        one = self.given_that_it_ends()
        return next(found for found in iter(partial(one.draw, rng, max_nodes), 0) if found is not None)


def _encode(formula: Formula, name: Callable[[Any], str]) -> str:
    return "".join(SYMBOL_BITS[t] if t in ARITY else FEATURE_BITS + name(t) for t in formula.tokens)


def _decode(bits: str, feature: Callable[[str], tuple[Any, int]]) -> tuple[Formula, int]:
    """Read symbols until every operator has its operands."""
    tokens, at, open_ends = list[Any](), 0, 1
    while open_ends:
        pair = bits[at : at + 2]
        if len(pair) < 2:
            raise ValueError(f"the bits end within a formula: {open_ends} more operand(s) must follow")
        at += 2
        if pair == FEATURE_BITS:
            token, read = feature(bits[at:])
            tokens.append(token)
            at += read
        else:
            tokens.append(SYMBOL_OF_BITS[pair])
        open_ends += ARITY.get(tokens[-1], 0) - 1
    return Formula(tuple(tokens)), at


def _place(feature: Any, names: Sequence[Any]) -> int:
    if feature not in names:
        shown = f"0 .. {len(names) - 1}" if isinstance(names, range) else ", ".join(map(repr, names[:10]))
        raise ValueError(f"the formula asks about {feature!r}; the features are {shown}")
    return names.index(feature)
