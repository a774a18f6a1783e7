"""Values, names and conditions as exact text, SQL, and Graphviz (DOT).

Every number is written in digits that read back as the same double.
"""

from __future__ import annotations

import json
import re
from collections.abc import Sequence
from math import frexp, inf, isinf
from typing import Any, Protocol

import numpy as np

from fivefold.partition.export.conditions import Condition

EXACT_DECIMAL_RANGE = 1e-10, 1e15  # absolute values that databases read back exactly from 17 digits
WORD_PATTERN = re.compile(r"[^\W\d]\w*")
GRAMMAR_WORDS = ("if", "then", "else", "and", "or", "in", "is", "missing", "known", "always", "row", "rows", "weight")
RESERVED_WORDS = frozenset((*GRAMMAR_WORDS, "smoothing", "inf", "nan", "True", "False"))


class NamedColumns(Protocol):
    """Columns and their categories as the user named them."""

    @property
    def columns(self) -> tuple[str, ...]:
        """Names of the columns, unquoted."""
        ...

    @property
    def categories(self) -> dict[int, tuple[Any, ...]]:
        """The categories of each column that has them, in the order of their codes."""
        ...

    def values(self, column: int, levels: frozenset[int]) -> list[Any]:
        """The categories with these codes, unquoted."""
        ...


def exact_digits(value: float) -> str:
    """The shortest text that reads back as the same double.

    >>> exact_digits(2.0), exact_digits(0.1), exact_digits(0.1 + 0.2), exact_digits(float("inf"))
    ('2', '0.1', '0.30000000000000004', 'inf')
    """
    short = f"{value:g}"
    return short if float(short) == value else repr(float(value))


def quote_name(text: str) -> str:
    """The name itself where it is a single word without another meaning, otherwise in double quotes.

    >>> quote_name("petal"), quote_name("petal width"), quote_name("or"), quote_name("2")
    ('petal', '"petal width"', '"or"', '"2"')
    """
    return text if WORD_PATTERN.fullmatch(text) and text not in RESERVED_WORDS else json.dumps(text, ensure_ascii=False)


def text_literal(value: Any) -> str:
    """A label or a category: a word, a number in exact digits, or a truth value.

    >>> text_literal("a b"), text_literal(2), text_literal(2.5), text_literal(True)
    ('"a b"', '2', '2.5', 'True')
    """
    value = value.item() if type(value).__module__ == "numpy" else value
    if isinstance(value, bool | int):
        return str(value)
    return repr(value) if isinstance(value, float) else quote_name(str(value))


def sql_literal(value: Any) -> str:
    """A value as SQL; a number in digits that even slightly inexact parsers read back as the same double.

    >>> sql_literal(2.45), sql_literal(0.1 + 0.2), sql_literal("it's")
    ('2.45', '0.30000000000000004', "'it''s'")
    """
    value = value.item() if isinstance(value, np.generic) else value
    if isinstance(value, bool):
        return str(int(value))
    if isinstance(value, int):
        return str(value)
    if not isinstance(value, float):
        return "'" + str(value).replace("'", "''") + "'"
    if isinf(value):
        return "9e999" if value > 0 else "-9e999"  # overflows to infinity when it is parsed
    if value == 0 or EXACT_DECIMAL_RANGE[0] <= abs(value) < EXACT_DECIMAL_RANGE[1]:
        short, exact = f"{value:.15g}", f"{value:.17g}"
        text = short if float(short) == value else exact
        return text if set(text) & set(".e") else text + ".0"
    mantissa, exponent = frexp(value)  # a whole number times a power of two: no decimals to round
    text, power = f"{int(mantissa * 2**53)} * 1.0", exponent - 53
    while power:
        step = min(abs(power), 60)
        text += f" {'*' if power > 0 else '/'} {1 << step}"
        power -= step if power > 0 else -step
    return f"({text})"


def sql_name(name: str) -> str:
    """The name of a column or a table in SQL."""
    return '"' + name.replace('"', '""') + '"'


def sql_condition(c: Condition, source: NamedColumns) -> str:
    """A condition in SQL, where a missing value is NULL or a category not seen in fit."""
    name = sql_name(source.columns[c.column])
    if c.trivial or c.empty:
        return str(int(c.trivial))
    if c.column in source.categories:
        held = c.holds(np.arange(float(len(source.categories[c.column]))))
        named = frozenset(np.flatnonzero(held != c.missing).tolist())  # the categories that pass, or those that fail
        listed = f"IN ({', '.join(map(sql_literal, source.values(c.column, named)))})"
        if not named:
            return str(int(c.missing))
        return f"{name} NOT {listed} OR {name} IS NULL" if c.missing else f"{name} {listed}"
    if c.only_missing:
        return f"{name} IS NULL"
    if c.levels is not None:
        asked = f"{name} IN ({', '.join(map(sql_literal, source.values(c.column, c.levels)))})"
    elif c.low == -inf and c.high == inf:
        return f"{name} IS NOT NULL"
    else:
        low = [f"{name} > {sql_literal(float(c.low))}"] * (c.low > -inf)
        asked = " AND ".join(low + [f"{name} <= {sql_literal(float(c.high))}"] * (c.high < inf))
    return f"{asked} OR {name} IS NULL" if c.missing else asked


def sql_select(columns: Sequence[tuple[str, str]], table: str | None) -> str:
    """Expressions and their names as a query of a table; without a table as a list, one alone without its name.

    >>> sql_select([("x + 1", "next")], "t"), sql_select([("x + 1", "next")], None)
    ('SELECT x + 1 AS "next"\\nFROM "t"', 'x + 1')
    """
    single = table is None and len(columns) == 1
    listed = ",\n".join(text if single else f"{text} AS {sql_name(name)}" for text, name in columns)
    return listed if table is None else f"SELECT {listed}\nFROM {sql_name(table)}"


def dot_graph(name: str, statements: Sequence[str]) -> str:
    """Statements as a directed graph of Graphviz, in the style that all graphs share."""
    style = '  node [fontname="Helvetica", fontsize=10];', '  edge [fontsize=9, color="gray40"];'
    return "\n".join([f"digraph {name} {{", *style, *statements, "}"])


def dot_label(*lines: str) -> str:
    """A text of several lines as a Graphviz label."""
    return '"' + "\\n".join(line.replace("\\", "\\\\").replace('"', '\\"') for line in lines) + '"'
