"""Nodes of a graph by name: what directed, undirected and partially directed graphs share."""

from __future__ import annotations

from collections.abc import Iterable
from dataclasses import Field, fields
from difflib import get_close_matches
from functools import cached_property
from typing import Any, ClassVar, TypeAlias

Nodes: TypeAlias = str | Iterable[str]  # one name, or several
Edge: TypeAlias = tuple[int, int]


class StoredFields:
    """A dataclass of which files keep the fields, and nothing that was derived from them."""

    __dataclass_fields__: ClassVar[dict[str, Field[Any]]]  # of the classes below

    def __getstate__(self) -> dict[str, Any]:
        return {field.name: getattr(self, field.name) for field in fields(self)}


class NamedNodes(StoredFields):
    """Nodes or variables that have names; inside, each is its number."""

    nodes: tuple[str, ...]

    def index(self, name: str) -> int:
        """The number of a node."""
        try:
            return self._numbers[name]
        except (KeyError, TypeError):
            close = get_close_matches(str(name), self.nodes, n=1)
            hint = f"; did you mean {close[0]!r}?" if close else f"; there are {_listed(self.nodes)}"
            raise ValueError(f"there is no variable {name!r}{hint}") from None

    def indices(self, names: Nodes) -> tuple[int, ...]:
        """The numbers of one node or of several, without repetition."""
        several = (names,) if isinstance(names, str) else names
        return tuple(dict.fromkeys(self.index(name) for name in several))

    def names(self, indices: Iterable[int]) -> tuple[str, ...]:
        """The names of nodes, in their order in the graph."""
        return tuple(self.nodes[i] for i in sorted(indices))

    @cached_property
    def _numbers(self) -> dict[str, int]:
        return {name: i for i, name in enumerate(self.nodes)}


def node_names(nodes: Iterable[str], edges: Iterable[tuple[str, str]]) -> tuple[str, ...]:
    """The nodes that are listed, and after them those that only edges name; a node listed twice is refused."""
    listed = tuple(nodes)
    if twice := [name for name in dict.fromkeys(listed) if listed.count(name) > 1]:
        raise ValueError(f"node {twice[0]!r} is listed twice")
    return tuple(dict.fromkeys([*listed, *(name for edge in edges for name in edge)]))


def _listed(names: tuple[str, ...], most: int = 8) -> str:
    return ", ".join(map(repr, names[:most])) + (f" and {len(names) - most} more" if len(names) > most else "")
