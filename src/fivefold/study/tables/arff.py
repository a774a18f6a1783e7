"""ARFF, the format of Weka: a header that declares the columns, then rows of values, dense or sparse.

@attribute size numeric        @attribute colour {red, 'dark red'}        @attribute day date "yyyy-MM-dd"
@data
3, red, 2020-01-31             {0 3, 2 2020-01-31}        sparse: values not named are 0 or the first level
"""

from __future__ import annotations

import re
from dataclasses import dataclass
from pathlib import Path

import numpy as np
import polars as pl

from fivefold.study.tables.conversion import BOOLEAN_WORDS
from fivefold.study.tables.table import BadInput, Table, format_places, quote_list

QUOTED_WORD = r"'(?:[^'\\]|\\.)*'|\"(?:[^\"\\]|\\.)*\""
ATTRIBUTE_LINE = re.compile(rf"@attribute\s+({QUOTED_WORD}|\S+)\s+(.+)", re.IGNORECASE)
DENSE_FIELD = re.compile(rf"\s*({QUOTED_WORD}|[^,]*?)\s*(?:,|$)")
SPARSE_FIELD = re.compile(rf"\s*(\d+)\s+({QUOTED_WORD}|[^,]*?)\s*(?:,|$)")
NUMERIC_TYPES = ("numeric", "real", "integer")
JAVA_DATE_CODES = {
    "yyyy": "%Y",
    "yy": "%y",
    "MM": "%m",
    "dd": "%d",
    "HH": "%H",
    "mm": "%M",
    "ss": "%S",
    "'": "",
    '"': "",
}


@dataclass(frozen=True)
class ArffAttribute:
    """A declared column."""

    name: str
    kind: str  # as for `--column`; empty: to be guessed
    default: str  # value of a sparse row that does not name the column


def read_arff(path: Path, content: bytes) -> Table:
    """The table of a file in UTF-8."""
    lines = content.decode().split("\n")
    attributes, start = _header(path, lines)
    names = [attribute.name for attribute in attributes]
    if len(set(names)) < len(names):
        raise BadInput(f"{path}: two attributes have the same name; the names are {quote_list(names)}")
    at, rows = list[int](), list[list[str]]()
    for number, line in enumerate(lines[start:], start + 1):
        if (bare := line.strip()) and not bare.startswith("%"):
            at.append(number)
            rows.append(_sparse(path, number, bare, attributes) if bare.startswith("{") else _dense(bare))
    odd = [line for line, row in zip(at, rows, strict=True) if len(row) != len(names)]
    if odd:
        raise BadInput(
            f"{path}: {len(odd):,} of {len(rows):,} rows do not have {len(names)} values, as declared: "
            f"{format_places(odd)}"
        )
    frame = pl.DataFrame(rows, schema=dict.fromkeys(names, pl.String), orient="row")
    kinds = {attribute.name: attribute.kind for attribute in attributes if attribute.kind}
    return Table(path.name, frame, np.array(at, int), "line", kinds=kinds)


def _header(path: Path, lines: list[str]) -> tuple[list[ArffAttribute], int]:
    """The declared columns, and the number of lines of the header."""
    attributes = list[ArffAttribute]()
    for number, line in enumerate(lines, 1):
        bare = line.strip()
        if bare.lower().startswith("@data"):
            if not attributes:
                raise BadInput(f"{path} declares no @attribute before @data")
            return attributes, number
        if bare.lower().startswith("@attribute"):
            if (found := ATTRIBUTE_LINE.fullmatch(bare)) is None:
                raise BadInput(
                    f"{path}: line {number} declares no attribute: {bare[:60]!r}; write @attribute NAME TYPE"
                )
            attributes.append(_attribute(path, number, _unquoted(found[1]), found[2]))
        elif bare and not bare.startswith("%") and not bare.lower().startswith("@relation"):
            raise BadInput(f"{path}: line {number} is not part of an ARFF header: {bare[:60]!r}")
    raise BadInput(f"{path} has no line @data: the header of an ARFF file ends with it")


def _attribute(path: Path, number: int, name: str, declared: str) -> ArffAttribute:
    kind, _, detail = declared.strip().partition(" ")
    if declared.startswith("{"):
        levels = _dense(declared.strip("{} \t"))
        truth = tuple(sorted(level.lower() for level in levels)) in BOOLEAN_WORDS
        return ArffAttribute(name, "" if truth else "category", levels[0])
    if kind.lower() in NUMERIC_TYPES:
        return ArffAttribute(name, "number", "0")
    if kind.lower() == "string":
        return ArffAttribute(name, "", "")
    if kind.lower() == "date":
        format = detail.strip() or "yyyy-MM-dd'T'HH:mm:ss"
        for java, usual in JAVA_DATE_CODES.items():
            format = format.replace(java, usual)
        return ArffAttribute(name, f"date:{format}", "")
    raise BadInput(
        f"{path}: line {number} declares {name!r} as {declared[:40]!r}; known are numeric, string, date, {{...}}"
    )


def _dense(line: str) -> list[str]:
    if "'" not in line and '"' not in line:
        return [field.strip() for field in line.split(",")]
    fields = [_unquoted(field[1]) for field in DENSE_FIELD.finditer(line)]
    return fields if line.rstrip().endswith(",") else fields[:-1]  # the pattern also matches the empty end


def _sparse(path: Path, number: int, line: str, attributes: list[ArffAttribute]) -> list[str]:
    row = [attribute.default for attribute in attributes]
    for entry in SPARSE_FIELD.finditer(line.strip("{} \t")):
        if int(entry[1]) >= len(row):
            raise BadInput(f"{path}: line {number} names value {entry[1]}, and {len(row)} are declared, from 0")
        row[int(entry[1])] = _unquoted(entry[2])
    return row


def _unquoted(word: str) -> str:
    return re.sub(r"\\(.)", r"\1", word[1:-1]) if word[:1] in ("'", '"') and len(word) > 1 else word
