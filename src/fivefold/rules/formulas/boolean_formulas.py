"""Boolean formulas over named 0/1 features, as values.

    formula  =  feature  |  not formula  |  formula and formula  |  formula or formula

A formula is kept in prefix (Polish) order, the operator before its operands: `not f or (g and w)` is the sequence
or, not, f, and, g, w. No brackets are needed, and a reader knows where it ends. With n symbols, of which l are
features,

    length  =  2 n + l log2 d  bits                        two bits: which of the four; log2 d: which of d features

A formula is true or false of a row; a feature that a sparse row does not name is 0, so there may be infinitely many.

McAllester (2009), Case Studies in Machine Learning; Lukasiewicz for the notation.
"""

from __future__ import annotations

import re
from collections.abc import Hashable, Iterable, Mapping, Sequence
from dataclasses import dataclass
from itertools import product
from math import log2
from typing import Any

import numpy as np
from numpy.typing import ArrayLike

from fivefold.core.types import Mask, Table

NOT, AND, OR = "not", "and", "or"
ARITY = {NOT: 1, AND: 2, OR: 2}
NUMPY_OPERATORS = {AND: np.logical_and, OR: np.logical_or}
PRECEDENCE = {OR: 1, AND: 2, NOT: 3}  # higher binds closer
WORDS = {NOT: NOT, AND: AND, OR: OR}
SIGNS = {NOT: "¬", AND: "∧", OR: "∨"}
OPERATOR_SPELLINGS = {
    **WORDS, **{sign: word for word, sign in SIGNS.items()},
    "~": NOT, "!": NOT, "&": AND, "&&": AND, "|": OR, "||": OR,
}  # fmt: skip
SYMBOL_PATTERN = re.compile(
    r"""\s*(?:(?P<quoted>"[^"]*"|'[^']*'|\[[^]]*\])|(?P<sign>&&|\|\||[()¬∧∨~!&|])|(?P<name>[^][\s()¬∧∨~!&|"']+))"""
)


@dataclass(frozen=True)
class Formula:
    """A formula in prefix order: "not", "and", "or", and features, which are names or numbers of columns.

    Examples
    --------
    >>> phi = parse_formula("not f or (g and w)")
    >>> phi.nodes, phi.leaves, phi.prefix("")
    (6, 3, '∨¬f∧gw')
    >>> phi({"f": 1, "g": 1, "w": 0}), phi({"g": 1, "w": 1, "never heard of": 1})
    (False, True)
    >>> f, g = Formula(("f",)), Formula(("g",))
    >>> print(~(f & ~g))
    not (f and not g)
    """

    tokens: tuple[Any, ...]

    def __post_init__(self) -> None:
        open_ends = 1
        for i, token in enumerate(self.tokens):
            if open_ends == 0:
                raise ValueError(f"the formula ends before {self.tokens[i]!r}, symbol {i + 1} of {list(self.tokens)}")
            open_ends += ARITY.get(token, 0) - 1
        if open_ends:
            raise ValueError(f"{open_ends} more operand(s) must follow {list(self.tokens)}: the operator comes first")

    def __invert__(self) -> Formula:
        return Formula((NOT, *self.tokens))

    def __and__(self, other: Formula) -> Formula:
        return Formula((AND, *self.tokens, *other.tokens))

    def __or__(self, other: Formula) -> Formula:
        return Formula((OR, *self.tokens, *other.tokens))

    @property
    def nodes(self) -> int:
        """Symbols of the formula, n."""
        return len(self.tokens)

    @property
    def leaves(self) -> int:
        """Symbols that are features, l."""
        return sum(token not in ARITY for token in self.tokens)

    @property
    def features(self) -> tuple[Any, ...]:
        """The features that occur, each once, in order of first occurrence."""
        return tuple(dict.fromkeys(token for token in self.tokens if token not in ARITY))

    def bits(self, columns: int) -> float:
        """Code length if there are this many features to choose from.

        >>> parse_formula("not f or (g and w)").bits(8)
        21.0
        """
        return 2 * self.nodes + self.leaves * log2(columns)

    def __call__(self, x: Any) -> bool:
        """Is it true of one row: values by feature, pairs of feature and value, or a vector for numbered features?"""
        if isinstance(x, Mapping):
            known = x
        elif isinstance(x, Sequence) and len(x) and isinstance(x[0], tuple):
            known = dict(x)
        else:
            return bool(self.truth(np.atleast_2d(np.asarray(x)))[0])
        return bool(self.holds({f: _binary(known.get(f, 0), f) for f in self.features})[0])

    def truth(self, X: Table, names: Iterable[Any] | None = None) -> Mask:
        """Its value for each row of a table (n, d) of 0 and 1; `names` of the columns if features are names."""
        columns = list(range(X.shape[1]) if names is None else names)
        place = {name: j for j, name in enumerate(columns)}
        if unknown := [f for f in self.features if f not in place]:
            raise ValueError(f"the table has no column {unknown[0]!r}; its columns are {_listed(columns)}")
        return self.holds({f: _binary(X[:, place[f]], f) for f in self.features})

    def renamed(self, names: Mapping[Any, Any] | Sequence[Any]) -> Formula:
        """The formula with names[f] in place of every feature f."""
        return Formula(tuple(token if token in ARITY else names[token] for token in self.tokens))

    def text(self, names: Mapping[Any, Any] | Sequence[Any] | None = None, *, signs: Mapping[str, str] = WORDS) -> str:
        """The formula as a person writes it; `signs=SIGNS` for those of logic. `parse_formula` reads it back."""
        stack: list[tuple[str, int]] = []  # text, and precedence of its outermost operator
        for token in reversed(self.tokens):
            if token not in ARITY:
                stack.append((_quoted(token if names is None else names[token]), 4))
                continue
            own = PRECEDENCE[token]
            if token == NOT:
                gap = "" if len(signs[NOT]) == 1 else " "
                stack.append((signs[NOT] + gap + _bracketed(*stack.pop(), own), own))
            else:  # operators associate to the left: no brackets are needed there
                left, right = _bracketed(*stack.pop(), own), _bracketed(*stack.pop(), own + 1)
                stack.append((f"{left} {signs[token]} {right}", own))
        return stack.pop()[0]

    def __str__(self) -> str:
        return self.text()

    def prefix(self, gap: str = " ", *, signs: Mapping[str, str] = SIGNS) -> str:
        """In Polish notation; `parse_prefix` reads it back."""
        return gap.join(signs[token] if token in ARITY else _quoted(token) for token in self.tokens)

    def terms(self) -> tuple[dict[Any, bool], ...]:
        """Disjunctive normal form: terms of features that must be true or false; no terms if it is never true.

        >>> parse_formula("f and not (g and w)").terms()
        ({'f': True, 'g': False}, {'f': True, 'w': False})
        """
        stack: list[tuple[list[Any], list[Any]]] = []  # terms where a part is true, and where it is false
        for token in reversed(self.tokens):
            if token == NOT:
                true, false = stack.pop()
                stack.append((false, true))
            elif token in ARITY:
                (p, not_p), (q, not_q) = stack.pop(), stack.pop()
                meet, join = (_both, _either) if token == AND else (_either, _both)
                stack.append((meet(p, q), join(not_p, not_q)))
            else:
                stack.append(([{token: True}], [{token: False}]))
        return tuple(stack.pop()[0])

    def holds(self, values: Mapping[Any, Mask]) -> Mask:
        """Its value given those of its features: Boolean arrays of one shape."""
        stack: list[Mask] = []
        for token in reversed(self.tokens):
            if token == NOT:
                stack.append(~stack.pop())
            elif token in NUMPY_OPERATORS:
                stack.append(NUMPY_OPERATORS[token](stack.pop(), stack.pop()))
            else:
                stack.append(values[token])
        return stack.pop()


def parse_formula(text: str) -> Formula:
    """Read "not f or (g and w)", also with ~ & | or the signs of logic; not binds closest, then and, then or.

    A name with a space or a sign in it is written in quotes or square brackets.
    """
    symbols = list(_symbols(text))
    out, waiting = list[list[Any]](), list[str]()  # finished parts, and operators whose right operand is not finished

    def close(limit: int) -> None:
        while waiting and waiting[-1] != "(" and PRECEDENCE[waiting[-1]] >= limit:
            op = waiting.pop()
            operands = [out.pop() for _ in range(ARITY[op])][::-1]
            out.append([op, *(token for part in operands for token in part)])

    operand = True  # is a feature, a bracket or "not" expected next?
    for word, name in symbols:
        if operand != (name is not None or word in ("(", NOT)):
            raise ValueError(_misplaced(text, word or repr(name), operand))
        if name is not None:
            out.append([name])
            operand = False
        elif word in ("(", NOT):
            waiting.append(word)
        elif word == ")":
            close(0)
            if not waiting:
                raise ValueError(f"a bracket closes that was not opened in {text!r}")
            waiting.pop()
        else:
            close(PRECEDENCE[word])
            waiting.append(word)
            operand = True
    if operand:
        raise ValueError(f"{text!r} ends where a feature should follow")
    close(0)
    if waiting:
        raise ValueError(f"a bracket is not closed in {text!r}")
    return Formula(tuple(out.pop()))


def parse_prefix(text: str, names: Iterable[str] | None = None) -> Formula:
    """Read Polish notation; with `names`, features need no gap between them: "∨¬f∧gw" with names "fgw"."""
    tokens: list[Any] = []
    known = None if names is None else re.compile("|".join(map(re.escape, sorted(names, key=len, reverse=True))))
    for word, name in _symbols(text):
        if word in ("(", ")"):
            raise ValueError(f"Polish notation has no brackets; got {text!r}. `parse_formula` reads infix")
        if name is None:
            tokens.append(word)
        elif known is None or known.fullmatch(name):
            tokens.append(name)
        else:
            parts = known.findall(name)
            if "".join(parts) != name:
                raise ValueError(f"{name!r} in {text!r} is not made of the names given")
            tokens += parts
    return Formula(tuple(tokens))


def _symbols(text: str) -> Iterable[tuple[str, str | None]]:
    """Operators and brackets as words with None, features as "" with their names."""
    at = 0
    while at < len(text.rstrip()):
        found = SYMBOL_PATTERN.match(text, at)
        if found is None:
            raise ValueError(f"a quote or square bracket is not closed in {text!r}")
        at = found.end()
        if found["quoted"]:
            if (name := found["quoted"][1:-1]) in ARITY:
                raise ValueError(f"{name!r} is an operator, not the name of a feature; got {text!r}")
            yield "", name
        elif found["sign"]:
            yield OPERATOR_SPELLINGS.get(found["sign"], found["sign"]), None
        elif found["name"].lower() in ARITY:
            yield found["name"].lower(), None
        else:
            yield "", found["name"]


def _misplaced(text: str, word: str, operand: bool) -> str:
    wanted = "a feature, 'not' or a bracket" if operand else "'and', 'or' or the end"
    return f"{word} stands in {text!r} where {wanted} should follow"


def _quoted(name: Hashable) -> str:
    """A name as `parse_formula` reads it back."""
    text = str(name)
    plain = SYMBOL_PATTERN.fullmatch(text)
    if plain and plain["name"] and text.lower() not in ARITY and text == text.strip():
        return text
    if "[" not in text and "]" not in text:
        return f"[{text}]"
    return f"'{text}'" if '"' in text else f'"{text}"'


def _bracketed(text: str, binds: int, least: int) -> str:
    return text if binds >= least else f"({text})"


def _binary(x: ArrayLike, feature: Hashable) -> Mask:
    """0 and 1 as truth values."""
    x = np.atleast_1d(np.asarray(x))
    if x.dtype.kind == "b":
        return x
    true = x == 1
    if not (true | (x == 0)).all():
        bad = x[~(true | (x == 0))][0]
        raise ValueError(f"feature {feature!r} is 0 or 1; got {bad!r}. Compare it with a threshold first")
    return true


def _both(p: list[dict[Any, bool]], q: list[dict[Any, bool]]) -> list[dict[Any, bool]]:
    """Terms of the conjunction: one of each side, those that contradict themselves left out."""
    pairs = ({**a, **b} for a, b in product(p, q) if all(a.get(f, v) == v for f, v in b.items()))
    return _shortest(pairs)


def _either(p: list[dict[Any, bool]], q: list[dict[Any, bool]]) -> list[dict[Any, bool]]:
    return _shortest([*p, *q])


def _shortest(terms: Iterable[dict[Any, bool]]) -> list[dict[Any, bool]]:
    """The terms without those that another term makes redundant: a or (a and b) is a."""
    kept: list[dict[Any, bool]] = []
    for term in terms:
        if any(other.items() <= term.items() for other in kept):
            continue
        kept = [other for other in kept if not term.items() <= other.items()]
        kept.append(term)
    return kept


def _listed(names: Iterable[Any]) -> str:
    return ", ".join(map(repr, names))
