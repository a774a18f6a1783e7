"""Parameters and attributes documented once: a docstring is completed by what the bases of its class say.

A class documents what is its own; `complete_docstring` adds, for every other parameter of its signature, the entry of
the nearest base that has one, in the order of the signature, and the attributes that its bases document. An entry is a
line of names and an indented text, as in every docstring of the library.
"""

from __future__ import annotations

import re
from dataclasses import fields
from functools import cache
from inspect import cleandoc
from typing import NamedTuple

INHERITED_SECTIONS = ("Parameters", "Attributes")
HEADING = re.compile(r"^(\w[\w ]*)\n-{3,}\n", re.MULTILINE)
ENTRY = re.compile(r"^(\w[\w, ]*)\n((?:[ \t]+[^\n]*\n?|\n(?=[ \t]))+)", re.MULTILINE)


class Entry(NamedTuple):
    """What some parameters or attributes are."""

    names: tuple[str, ...]
    text: str  # indented, as it stands below the names

    def without(self, known: set[str]) -> Entry:
        """The entry for the names that are not known yet."""
        return Entry(tuple(name for name in self.names if name not in known), self.text)


def sections(doc: str) -> dict[str, str]:
    """The text below each heading of a docstring, in order; what stands before the first is that of ''."""
    parts = HEADING.split(cleandoc(doc))
    return {
        "": parts[0].rstrip(),
        **{title: text.rstrip() for title, text in zip(parts[1::2], parts[2::2], strict=True)},
    }


def entries(text: str) -> list[Entry]:
    """The entries of a section."""
    found = ENTRY.findall(text + "\n")
    return [Entry(tuple(name.strip() for name in names.split(",")), body.rstrip()) for names, body in found]


@cache  # a base is read for each of its subclasses
def _inheritable(doc: str) -> dict[str, tuple[Entry, ...]]:
    """The parameters and attributes that the docstring of a base documents."""
    found = sections(doc)
    return {title: tuple(entries(found.get(title, ""))) for title in INHERITED_SECTIONS}


def documented_parameters(cls: type) -> dict[str, str]:
    """The meaning of each parameter, on one line, from the docstring of a class."""
    found = entries(sections(cls.__doc__ or "").get("Parameters", ""))
    return {name: " ".join(entry.text.split()) for entry in found for name in entry.names}


def complete_docstring(cls: type) -> None:
    """Add to a docstring what the bases say about the parameters and attributes that it does not document."""
    own = vars(cls).get("__doc__")
    bases = [_inheritable(text) for base in cls.__mro__[1:] if "---\n" in (text := vars(base).get("__doc__") or "")]
    if not own or not bases:
        return
    order = {field.name: place for place, field in enumerate(fields(cls))}
    made = sections(own)
    for title in INHERITED_SECTIONS:
        listed = entries(made.get(title, ""))
        known = {name for entry in listed for name in entry.names}
        more = []
        for base in bases:
            for entry in base[title]:
                left = entry.without(known | (set() if title == "Attributes" else set(entry.names) - set(order)))
                if left.names:
                    more.append(left)
                    known |= set(left.names)
        if more:
            listed += more
            if title == "Parameters":
                listed.sort(key=lambda entry: min(order.get(name, len(order)) for name in entry.names))
            made[title] = "\n".join(f"{', '.join(entry.names)}\n{entry.text}" for entry in listed)
    titles = [title for title in made if title not in ("", *INHERITED_SECTIONS)]
    titles = [title for title in INHERITED_SECTIONS if title in made] + titles
    cls.__doc__ = "\n\n".join([made[""], *(f"{title}\n{'-' * len(title)}\n{made[title]}" for title in titles)]) + "\n"
