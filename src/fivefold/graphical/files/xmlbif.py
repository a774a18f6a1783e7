"""XMLBIF, the interchange format of Bayesian networks (version 0.3), as XML.

    <VARIABLE TYPE="nature"><NAME>rain</NAME><OUTCOME>no</OUTCOME><OUTCOME>yes</OUTCOME></VARIABLE>
    <DEFINITION><FOR>wet</FOR><GIVEN>rain</GIVEN><TABLE>0.9 0.1 0.2 0.8</TABLE></DEFINITION>

In a table the variable itself changes fastest, then the last parent.
"""

from __future__ import annotations

from xml.parsers import expat
from xml.sax.saxutils import escape

import numpy as np

from fivefold.graphical.bayesian_network import BayesianNetwork
from fivefold.graphical.files.network_draft import NetworkDraft

TEXT_TAGS = frozenset({"NAME", "OUTCOME", "VALUE", "FOR", "GIVEN", "TABLE"})
HEADER = """<?xml version="1.0" encoding="UTF-8"?>
<!-- XMLBIF: https://www.cs.cmu.edu/~fgcozman/Research/InterchangeFormat/ -->
<BIF VERSION="0.3">
<NETWORK>"""


class XmlbifReader:
    """What the events of the XML parser leave behind."""

    def __init__(self, source: str) -> None:
        self.draft = NetworkDraft(source)
        self.parser = expat.ParserCreate()
        self.parser.StartElementHandler = self._start
        self.parser.EndElementHandler = self._end
        self.parser.CharacterDataHandler = self._data
        self.parser.EntityDeclHandler = self._entity
        self.open: list[str] = []
        self.text = ""
        self.found: dict[str, list[str]] = {}  # texts within the variable or definition that is open
        self.first_line = 0
        self.definitions: list[tuple[int, dict[str, list[str]]]] = []

    def read(self, text: str) -> BayesianNetwork:
        try:
            self.parser.Parse(text, True)
        except expat.ExpatError as error:
            self.draft.refuse(error.lineno, f"this is no XML ({expat.errors.messages.get(error.code, error)})")
        for line, found in self.definitions:  # variables may be declared after the tables that name them
            self._define(line, found)
        return self.draft.network()

    def _start(self, tag: str, attributes: dict[str, str]) -> None:
        self.open.append(tag.upper())
        self.text = ""
        if tag.upper() in ("VARIABLE", "DEFINITION"):
            self.found, self.first_line = {}, self.parser.CurrentLineNumber
            kind = attributes.get("TYPE", "nature")
            if tag.upper() == "VARIABLE" and kind != "nature":
                self.draft.refuse(self.first_line, f"a variable of type {kind!r}; only 'nature' is read")

    def _data(self, data: str) -> None:
        self.text += data

    def _entity(self, name: str, *_: object) -> None:
        self.draft.refuse(self.parser.CurrentLineNumber, f"it declares the entity {name!r}; entities are not read")

    def _end(self, tag: str) -> None:
        tag = self.open.pop()
        if tag in TEXT_TAGS:
            self.found.setdefault(tag, []).append(self.text.strip())
        elif tag == "VARIABLE":
            name = self._only("NAME", self.found)
            states = [*self.found.get("OUTCOME", []), *self.found.get("VALUE", [])]
            self.draft.add_variable(self.first_line, name, states)
        elif tag == "DEFINITION":
            self.definitions.append((self.first_line, self.found))

    def _only(self, tag: str, found: dict[str, list[str]], line: int | None = None) -> str:
        values = found.get(tag, [])
        if len(values) != 1:
            self.draft.refuse(line or self.first_line, f"one <{tag}> was expected, not {len(values)}")
        return values[0]

    def _define(self, line: int, found: dict[str, list[str]]) -> None:
        name = self._only("FOR", found, line)
        shape = self.draft.start_table(line, name, found.get("GIVEN", []))
        numbers = self._only("TABLE", found, line).split()
        size = int(np.prod(shape))
        if len(numbers) != size:
            self.draft.refuse(line, f"{size} numbers were expected in the table of {name!r}, not {len(numbers)}")
        table = np.array([self.draft.number(line, text) for text in numbers]).reshape(shape)
        self.draft.add_table(line, name, table)


def parse_xmlbif(text: str, source: str = "XMLBIF text") -> BayesianNetwork:
    """The network of a text in XMLBIF."""
    return XmlbifReader(source).read(text)


def xmlbif_text(network: BayesianNetwork, name: str = "unknown") -> str:
    """A network as text in XMLBIF; numbers have all their digits."""
    lines = [HEADER, f"<NAME>{escape(name)}</NAME>"]
    for label, states in zip(network.variables.nodes, network.variables.states, strict=True):
        outcomes = "".join(f"<OUTCOME>{escape(str(state))}</OUTCOME>" for state in states)
        lines.append(f'<VARIABLE TYPE="nature"><NAME>{escape(label)}</NAME>{outcomes}</VARIABLE>')
    for i, label in enumerate(network.variables.nodes):
        given = "".join(f"<GIVEN>{escape(parent)}</GIVEN>" for parent in network.parents_of(label))
        numbers = " ".join(repr(float(p)) for p in network.tables[i].ravel())
        lines.append(f"<DEFINITION><FOR>{escape(label)}</FOR>{given}<TABLE>{numbers}</TABLE></DEFINITION>")
    return "\n".join([*lines, "</NETWORK>", "</BIF>", ""])
