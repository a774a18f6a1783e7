"""Rules from text: what `str` of a rule list or rule set writes, or a person writes in the same form.

    if petal_width <= 0.8 then setosa  (50 rows: setosa 50)
    if 0.8 < petal_width <= 1.75 and (colour in {red, "dark blue"} or missing) then versicolor
    else virginica

Each line is `if CONDITIONS then LABEL`, the last one `else LABEL`; with "vote:" or "best:" at the start of every line
the rules are a set. A condition bounds a column, `x <= 2`, `x > 1`, `1 < x <= 2`, lists categories, `x in {a, b}`, or
is `x is known` or `x is missing`; `or missing` lets missing values pass. `always` stands for no condition. Names that
are not one word are in double quotes. In brackets after the label are the number of rows, their weight and their class
weights; a line `smoothing 1` gives what is added to the weight of every class. Text after # is ignored.
"""

from __future__ import annotations

import json
import re
from collections.abc import Iterator, Sequence
from dataclasses import replace
from difflib import get_close_matches
from functools import cached_property
from math import inf
from typing import Any, Literal, NamedTuple

from fivefold.partition.export.conditions import Condition
from fivefold.partition.export.conjunctions import Rule
from fivefold.partition.export.text_formats import RESERVED_WORDS, quote_name
from fivefold.rules.rule_lists.rule_lists import RuleList, RuleSet, Schema

TOKEN_PATTERN = re.compile(
    r"""(?P<space>[ \t\r]+|\#[^\n]*) | (?P<line>\n) | (?P<text>"(?:[^"\\\n]|\\.)*")
      | (?P<number>[-+]?(?:(?:\d+\.?\d*|\.\d+)(?:[eE][-+]?\d+)?|inf)(?![\w.]))
      | (?P<word>[^\W\d]\w*) | (?P<sign><=|[<>(){},:])""",
    re.VERBOSE,
)
VOTE_PREFIXES: dict[str, Literal["distribution", "best"]] = {"vote": "distribution", "best": "best"}  # -> RuleSet.vote
BOOLEAN_WORDS = {"True": True, "False": False}


class Token(NamedTuple):
    """A piece of text."""

    kind: str  # a group of TOKEN_PATTERN, or "end"
    text: str
    at: int  # position of its first character


class RuleDraft(NamedTuple):
    """A rule as it is written, before the classes are known."""

    conditions: tuple[Condition, ...]
    label: Any  # text, a number or a truth value
    rows: int
    weight: float | None  # None if it is not written
    classes: dict[Any, float]  # label -> weight
    at: int  # position of the label in the text


def parse(text: str, schema: Schema | Sequence[str] | None = None) -> RuleList | RuleSet:
    """The rules that a text describes.

    `schema` gives the columns, categories and classes, or only the names of the columns; what it does not give is taken
    from the text: columns and categories in the order in which they appear, classes sorted.

    Examples
    --------
    >>> rules = parse("if age <= 38.5 and job in {A} then yes\\nelse no", ["age", "job"])
    >>> print(rules)
    if age <= 38.5 and job in {A} then yes
    else no
    >>> rules.predict([[30.0, 0.0], [40.0, 0.0]])
    array(['yes', 'no'], dtype='<U3')
    """
    return _RuleParser(text, schema).rules()


class _RuleParser:
    """A recursive-descent parser over the tokens of a text."""

    def __init__(self, text: str, schema: Schema | Sequence[str] | None) -> None:
        self.source = text
        self.fixed = isinstance(schema, Schema)  # are categories and classes given?
        self.open = schema is None  # are columns taken from the text?
        given = schema if isinstance(schema, Schema) else Schema(tuple(map(str, schema or ())))
        self.columns, self.classes = list(given.columns), given.classes
        self.categories = {j: list(values) for j, values in given.categories.items()}
        if len(set(self.columns)) < len(self.columns):
            repeated = next(name for name in self.columns if self.columns.count(name) > 1)
            raise ValueError(f"two columns are called {repeated!r}: rules as text need different names")
        self.tokens, self.i, self.smoothing = list(_tokens(self)), 0, 0.0

    def rules(self) -> RuleList | RuleSet:
        """The rules of the whole text."""
        drafts: list[RuleDraft] = []
        prefixes: set[str | None] = set()
        default: RuleDraft | None = None
        while self._skip_lines():
            if default is not None:
                raise self._wrong("nothing after the line of `else`, which is the last")
            if self._take("smoothing"):
                self.smoothing = self._number()
                continue
            prefixes.add(self._prefix())
            if self._take("else"):
                default = self._answer(())
            else:
                self._need("if")
                conditions = self._conjunction()
                self._need("then")
                drafts.append(self._answer(conditions))
        if default is None:
            raise self._wrong("a last line `else LABEL`, which answers where no rule holds")
        if len(prefixes) > 1:
            raise ValueError("some lines begin with 'vote:' or 'best:' and some do not: begin all of them alike")
        return self._assembled(drafts, default, prefixes.pop())

    def _assembled(self, drafts: list[RuleDraft], default: RuleDraft, prefix: str | None) -> RuleList | RuleSet:
        classes = self.classes if self.fixed else _classes_of([*drafts, default])
        categories = {j: tuple(values) for j, values in self.categories.items()}
        schema = Schema(tuple(self.columns), categories, classes)
        *rules, last = (self._rule(draft, schema) for draft in (*drafts, default))
        if prefix is None:
            return RuleList(tuple(rules), last, schema, smoothing=self.smoothing)
        return RuleSet(tuple(rules), last, schema, vote=VOTE_PREFIXES[prefix], smoothing=self.smoothing)

    def _rule(self, draft: RuleDraft, schema: Schema) -> Rule:
        weight = float(draft.rows) if draft.weight is None else draft.weight
        rule = Rule(draft.conditions, draft.label, weight=weight, rows=draft.rows)
        if schema.classes is None:
            return replace(rule, label=float(draft.label))
        known = {**{str(c): c for c in schema.classes}, **{c: c for c in schema.classes}}
        for label in (draft.label, *draft.classes):
            if label not in known:
                raise self._wrong(
                    f"a class: one of {', '.join(map(repr, schema.classes))}; {label!r} is none", draft.at
                )
        held = {known[label]: weight for label, weight in draft.classes.items()}
        value = tuple(held.get(c, 0.0) for c in schema.classes) if held else ()
        return replace(rule, label=known[draft.label], value=value)

    def _prefix(self) -> str | None:
        """ "vote" or "best" if the line begins with one of them and a colon."""
        if self._now.text in VOTE_PREFIXES and self.tokens[self.i + 1].text == ":":
            self.i += 2
            return self.tokens[self.i - 2].text
        return None

    def _conjunction(self) -> tuple[Condition, ...]:
        if self._take("always"):
            return ()
        found = [self._condition()]
        while self._take("and"):
            found.append(self._condition())
        return tuple(found)

    def _condition(self) -> Condition:
        if self._take("("):
            inside = self._condition()
            self._need(")")
            return inside
        low = -inf
        if self._now.kind == "number":
            low = self._number()
            self._need("<")
            column = self._column()
            self._need("<=")
            c = Condition(column, low, self._number(), missing=False)
        else:
            c = self._one_sided(self._column())
        if self._take("or"):
            self._need("missing")
            return replace(c, missing=True)
        return c

    def _one_sided(self, column: int) -> Condition:
        if self._take("<="):
            return Condition(column, high=self._number(), missing=False)
        if self._take(">"):
            return Condition(column, low=self._number(), missing=False)
        if self._take("in"):
            return Condition(column, levels=self._levels(column), missing=False)
        if self._take("is"):
            if self._take("missing"):
                return Condition(column, low=inf)
            self._need("known")
            return Condition(column, missing=False)
        raise self._wrong("`<=`, `>`, `in`, `is known` or `is missing` after the name of a column")

    def _levels(self, column: int) -> frozenset[Any]:
        self._need("{")
        found: list[Any] = []
        while not self._take("}"):
            if found:
                self._need(",")
            token = self._now
            found.append(self._code(column, self._literal(), token))
        return frozenset(found)

    def _code(self, column: int, value: Any, token: Token) -> Any:
        """The code of a category; a number is its own code in a column without named categories."""
        known = self.categories.get(column)
        if known is None and not isinstance(value, str | bool):
            return value
        if known is None:
            known = [] if self.fixed else self.categories.setdefault(column, [])
        code = next((k for k, v in enumerate(known) if v == value), None)
        if code is None:
            code = next((k for k, v in enumerate(known) if str(v) == value), None)
        if code is not None:
            return code
        if self.fixed:
            listed = ", ".join(map(repr, known)) or "none: it holds numbers"
            raise self._wrong(
                f"a category of column {self.columns[column]!r}, which are {listed}; {value!r} is new", token.at
            )
        known.append(value)
        return len(known) - 1

    def _answer(self, conditions: tuple[Condition, ...]) -> RuleDraft:
        at, label = self._now.at, self._literal()
        rows, weight, classes = 0, None, dict[Any, float]()
        if self._take("("):
            while not self._take(")"):
                if self._take(":"):
                    classes = self._class_weights()
                elif self._take("weight"):
                    weight = self._number()
                elif self._now.kind == "number":
                    rows = int(self._number())
                    if not self._take("rows"):
                        self._need("row")
                else:
                    self._need(",")
        if self._now.kind not in ("line", "end"):
            raise self._wrong("the end of the line")
        return RuleDraft(conditions, label, rows, weight, classes, at)

    def _class_weights(self) -> dict[Any, float]:
        out = dict[Any, float]()
        while True:
            label = self._literal()
            out[label] = self._number()
            if not self._take(","):
                return out

    def _literal(self) -> Any:
        token = self._now
        if token.kind == "text":
            self.i += 1
            return json.loads(token.text, strict=False)
        if token.kind == "number":
            self.i += 1
            return int(token.text) if token.text.lstrip("+-").isdecimal() else float(token.text)
        if token.kind == "word" and (token.text in BOOLEAN_WORDS or token.text not in RESERVED_WORDS):
            self.i += 1
            return BOOLEAN_WORDS.get(token.text, token.text)
        raise self._wrong("a label or category: a word, a number, or text in double quotes")

    def _number(self) -> float:
        if self._now.kind != "number":
            raise self._wrong("a number")
        self.i += 1
        return float(self.tokens[self.i - 1].text)

    def _column(self) -> int:
        token = self._now
        if token.kind == "text":
            name = json.loads(token.text, strict=False)
        elif token.kind == "word" and token.text not in RESERVED_WORDS:
            name = token.text
        else:
            raise self._wrong("the name of a column, in double quotes where it is not one word")
        self.i += 1
        if name not in self._places:
            if not self.open:
                raise self._wrong(f"the name of a column{_hint(name, self.columns)}", token.at)
            self._places[name] = len(self.columns)
            self.columns.append(name)
        return self._places[name]

    @cached_property
    def _places(self) -> dict[str, int]:
        return {name: j for j, name in enumerate(self.columns)}

    @property
    def _now(self) -> Token:
        return self.tokens[self.i]

    def _take(self, text: str) -> bool:
        """Go on if the next token is this word or sign; was it?"""
        found = self._now.kind in ("word", "sign") and self._now.text == text
        self.i += found
        return found

    def _need(self, text: str) -> None:
        if not self._take(text):
            raise self._wrong(f"`{text}`")

    def _skip_lines(self) -> bool:
        """Go to the next line that is not empty; False at the end of the text."""
        while self._now.kind == "line":
            self.i += 1
        return self._now.kind != "end"

    def _wrong(self, wanted: str, at: int | None = None) -> ValueError:
        """The error for a text that goes wrong at the current token, or at a given position."""
        if at is None:
            at = self._now.at
        before = self.source[:at]
        line = before.count("\n")
        source_line = self.source.split("\n")[line].strip()
        got = repr(self.source[at:].split("\n")[0].split(" ")[0]) if self.source[at:].strip() else "the end"
        place = f"line {line + 1}, character {at - (before.rfind(chr(10)) + 1) + 1}"
        return ValueError(f"rules cannot be read at {place}: wanted {wanted}; got {got} in {source_line!r}")


def _tokens(parser: _RuleParser) -> Iterator[Token]:
    at, source = 0, parser.source
    while at < len(source):
        found = TOKEN_PATTERN.match(source, at)
        if found is None:
            raise parser._wrong("a name, a number, text in double quotes, or one of <= < > ( ) { } , :", at)
        if found.lastgroup != "space":
            yield Token(str(found.lastgroup), found[0], at)
        at = found.end()
    yield Token("end", "", at)


def _classes_of(drafts: list[RuleDraft]) -> tuple[Any, ...] | None:
    """The classes that a text mentions; None if its labels are numbers with decimals."""
    labels = {label for draft in drafts for label in (draft.label, *draft.classes)}
    has_class_weights = any(draft.classes for draft in drafts)
    if not has_class_weights and any(isinstance(label, float) for label in labels):
        return None
    return tuple(sorted(labels, key=lambda label: (isinstance(label, str), label)))


def _hint(name: str, columns: list[str]) -> str:
    near = get_close_matches(name, columns, n=1)
    known = ", ".join(map(quote_name, columns[:8])) + (", ..." if len(columns) > 8 else "")
    return f"; {name!r} is none" + (f", did you mean {near[0]!r}?" if near else f", those are {known}")
