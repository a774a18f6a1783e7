"""BIF, the interchange format of Bayesian networks (version 0.15), as text.

    network unknown { }
    variable rain { type discrete [ 2 ] { no, yes }; }
    probability ( wet | rain ) { (no) 0.9, 0.1; (yes) 0.2, 0.8; }

A `table` lists all numbers with the variable itself changing slowest, `default` fills rows that are not given, and
properties are skipped. Names that are not plain words stand in quotes.
"""

from __future__ import annotations

import re
from dataclasses import dataclass
from itertools import product

import numpy as np

from fivefold.core.types import Doubles
from fivefold.graphical.bayesian_network import BayesianNetwork
from fivefold.graphical.files.network_draft import NetworkDraft

TOKEN = re.compile(r'//[^\n]*|/\*.*?\*/|"[^"\n]*"|[{}()\[\],;|]|[^\s{}()\[\],;|"]+|"|\n', re.DOTALL)
PLAIN_WORD = re.compile(r"[^\s{}()\[\],;|\"/]+")
MARKS = frozenset("{}()[],;|")
KEYWORDS = frozenset({"network", "variable", "probability", "property", "type", "discrete", "table", "default"})


@dataclass
class TokenStream:
    """The words and marks of a file with their lines, read from left to right."""

    draft: NetworkDraft
    tokens: list[tuple[str, int]]
    at: int = 0

    @classmethod
    def of(cls, text: str, draft: NetworkDraft) -> TokenStream:
        tokens, line = [], 1
        for match in TOKEN.finditer(text):
            token = match.group()
            if token != "\n" and not token.startswith(("//", "/*")):
                tokens.append((token, line))
            line += token.count("\n")
        return cls(draft, [*tokens, ("", line)])

    @property
    def line(self) -> int:
        return self.tokens[self.at][1]

    def next(self) -> str:
        token, _ = self.tokens[self.at]
        self.at = min(self.at + 1, len(self.tokens) - 1)
        return token

    def peek(self) -> str:
        return self.tokens[self.at][0]

    def expect(self, *wanted: str) -> str:
        line, token = self.line, self.next()
        if token not in wanted:
            found = repr(token) if token else "the end of the file"
            self.draft.refuse(line, f"{' or '.join(map(repr, wanted))} was expected, not {found}")
        return token

    def word(self, what: str) -> str:
        line, token = self.line, self.next()
        if not token or token in MARKS or token == '"':
            self.draft.refuse(line, f"{what} was expected, not {repr(token) if token else 'the end of the file'}")
        return token[1:-1] if token.startswith('"') else token

    def words(self, what: str, end: str) -> list[str]:
        """Words with commas between them, up to a mark."""
        tokens, at, found = self.tokens, self.at, []
        while (token := tokens[at][0]) != end:
            if token in MARKS or token in ("", '"'):
                self.at = at
                self.word(what)  # refuses it
            found.append(token[1:-1] if token[0] == '"' else token)
            at += 2 if tokens[at + 1][0] == "," else 1
        self.at = at + 1
        return found

    def skip_statement(self) -> None:
        """Pass everything up to a semicolon."""
        while self.peek() not in (";", ""):
            self.next()
        self.expect(";")


def parse_bif(text: str, source: str = "BIF text") -> BayesianNetwork:
    """The network of a text in BIF.

    Examples
    --------
    >>> network = parse_bif("network n { } variable a { type discrete [2] {no, yes}; } probability (a) {table .4, .6;}")
    >>> network.query("a")["yes"]
    0.6
    """
    draft = NetworkDraft(source)
    stream = TokenStream.of(text, draft)
    readers = {"network": _network, "variable": _variable, "probability": _probability}
    while stream.peek():
        readers[stream.expect(*readers)](stream)
    return draft.network()


def bif_text(network: BayesianNetwork, name: str = "unknown") -> str:
    """A network as text in BIF; numbers have all their digits."""
    lines = [f"network {name if name.isidentifier() and name not in KEYWORDS else 'unknown'} {{\n}}"]
    for label, states in zip(network.variables.nodes, network.variables.states, strict=True):
        listed = ", ".join(_written(str(state)) for state in states)
        lines.append(f"variable {_written(label)} {{\n  type discrete [ {len(states)} ] {{ {listed} }};\n}}")
    for i, label in enumerate(network.variables.nodes):
        above = network.parents_of(label)
        condition = f" | {', '.join(map(_written, above))}" if above else ""
        lines.append(f"probability ( {_written(label)}{condition} ) {{")
        rows = network.tables[i].reshape(-1, network.variables.cards[i])
        labels = product(*(network.variables.states[p] for p in network.parents[i]))
        for states, row in zip(labels, rows, strict=True):
            numbers = ", ".join(repr(float(p)) for p in row)
            start = f"({', '.join(_written(str(state)) for state in states)})" if above else "table"
            lines.append(f"  {start} {numbers};")
        lines.append("}")
    return "\n".join(lines) + "\n"


def _network(stream: TokenStream) -> None:
    if stream.peek() != "{":
        stream.word("the name of the network")
    stream.expect("{")
    while stream.peek() not in ("}", ""):
        stream.skip_statement()
    stream.expect("}")


def _variable(stream: TokenStream) -> None:
    line, name = stream.line, stream.word("the name of a variable")
    stream.expect("{")
    states: list[str] | None = None
    while stream.peek() not in ("}", ""):
        if stream.expect("type", "property") == "property":
            stream.skip_statement()
            continue
        stream.expect("discrete")
        stream.expect("[")
        count_line, count = stream.line, stream.word("the number of states")
        stream.expect("]")
        stream.expect("{")
        states = stream.words("a state", "}")
        stream.expect(";")
        if count != str(len(states)):
            stream.draft.refuse(count_line, f"variable {name!r} has {len(states)} states, not {count}")
    stream.expect("}")
    stream.draft.add_variable(line, name, states or [])


def _probability(stream: TokenStream) -> None:
    line = stream.line
    stream.expect("(")
    name = stream.word("the name of a variable")
    parents = stream.words("a parent", ")") if stream.expect("|", ")") == "|" else []
    shape = stream.draft.start_table(line, name, parents)
    table = np.full(shape, np.nan)
    default: Doubles | None = None
    stream.expect("{")
    while stream.peek() not in ("}", ""):
        start = stream.line
        keyword = stream.expect("(", "table", "default", "property")
        if keyword == "property":
            stream.skip_statement()
        elif keyword == "table":  # the variable itself changes slowest
            values = _numbers(stream, start, name, table.size)
            table[...] = np.moveaxis(values.reshape(shape[-1:] + shape[:-1]), 0, -1)
        elif keyword == "default":
            default = _numbers(stream, start, name, shape[-1])
        else:
            row = _row(stream, start, name, parents)
            if not np.isnan(table[row]).all():
                stream.draft.refuse(start, f"the table of {name!r} gives a row twice")
            table[row] = _numbers(stream, start, name, shape[-1])
    stream.expect("}")
    if default is not None:
        table = np.where(np.isnan(table), default, table)
    stream.draft.add_table(line, name, table)


def _row(stream: TokenStream, line: int, name: str, parents: list[str]) -> tuple[int, ...]:
    states = stream.words("a state", ")")
    if len(states) != len(parents):
        stream.draft.refuse(line, f"a row of {name!r} needs the states of {len(parents)} parents, not {len(states)}")
    codes = []
    for parent, state in zip(parents, states, strict=True):
        known = stream.draft.states[parent]
        if state not in known:
            stream.draft.refuse(line, f"{parent!r} has no state {state!r}; it has {', '.join(map(str, known))}")
        codes.append(known.index(state))
    return tuple(codes)


def _numbers(stream: TokenStream, line: int, name: str, count: int) -> Doubles:
    texts = stream.words("a number", ";")
    if len(texts) != count:
        stream.draft.refuse(line, f"{count} numbers were expected in the table of {name!r}, not {len(texts)}")
    return np.array([stream.draft.number(line, text) for text in texts])


def _written(word: str) -> str:
    if '"' in word or "\n" in word:
        raise ValueError(f"BIF cannot hold the name {word!r}, which has a quote or a line break; rename it")
    return word if PLAIN_WORD.fullmatch(word) and word not in KEYWORDS else f'"{word}"'
