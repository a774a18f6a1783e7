"""`fivefold methods`: the registry as a table, and the card of a method."""

from __future__ import annotations

import re
from dataclasses import asdict
from itertools import groupby
from typing import Any

from rich.console import Console
from rich.padding import Padding
from rich.table import Table
from rich.text import Text

from fivefold.core.registry import Method


def show_list(console: Console, methods: list[Method]) -> None:
    """Every method, chapter by chapter."""
    for chapter, group in groupby(methods, key=lambda method: method.chapter):
        console.print(Text(f"fivefold.{chapter}", style="bold cyan"))
        table = Table(box=None, show_header=False, padding=(0, 2, 0, 0), pad_edge=False)
        table.add_column(width=2 + max(len(method.name) for method in methods), no_wrap=True)
        table.add_column()
        for method in group:
            said = Text.assemble(method.summary.removesuffix("."), (" · " + ", ".join(method.card.applications), "dim"))
            table.add_row(Text("  " + method.name, style="bold"), said)
        console.print(table)
    console.print(Text(f"\n{len(methods)} methods; `fivefold methods NAME` prints a card.", style="dim"))


def show_card(console: Console, method: Method) -> None:
    """All there is to know before using a method."""
    card = method.card
    console.print(Text.assemble((method.name, "bold"), ("  " + ", ".join(card.applications), "dim")))
    console.print(Text(f"from fivefold.{method.chapter} import {method.name}", style="cyan"))
    console.print()
    _part(console, "", method.summary)
    _part(console, "Formula", _reflowed(method.formula))
    _part(console, "When to use it", card.use)
    _part(console, "Algorithm", _steps(method))
    _part(console, "Parameters", _parameters(method))
    _part(console, "Takes and gives", ", ".join(method.abilities))
    _part(console, "See also", ", ".join(card.see_also))
    _part(console, "Source", card.source)


def as_json(method: Method) -> dict[str, Any]:
    """The card in plain values."""
    card = method.card
    return {
        "name": method.name,
        "chapter": method.chapter,
        "import": f"from fivefold.{method.chapter} import {method.name}",
        "summary": method.summary,
        "applications": list(card.applications),
        "formula": method.formula,
        "use": card.use,
        "steps": list(card.steps),
        "parameters": [asdict(p) | {"default": _default(p.default)} for p in method.parameters],
        "abilities": list(method.abilities),
        "see_also": list(card.see_also),
        "source": card.source,
    }


def _part(console: Console, title: str, content: str | Table) -> None:
    """A titled paragraph; nothing where there is nothing to say."""
    if content:
        if title:
            console.print(Text(title, style="bold cyan"))
        console.print(Padding(Text(content) if isinstance(content, str) else content, (0, 0, 1, 2)))


def _reflowed(text: str) -> str:
    """Prose as long lines, for the screen to fold; formulas and lists, which are set with spaces, as they are."""
    parts = text.split("\n\n")
    return "\n\n".join(part if re.search(r"^ |\S  +\S", part, re.M) else " ".join(part.split()) for part in parts)


def _parameters(method: Method) -> Table:
    """`name=default`, then what it means and what is allowed."""
    table = Table(box=None, padding=(0, 2, 0, 0), pad_edge=False, show_header=False)
    table.add_column(no_wrap=True)
    table.add_column()
    for p in method.parameters:
        named = Text.assemble((p.name, "bold"), "=", repr(p.default))
        allowed = "" if p.allowed == "Any" else f" {_capital(p.allowed)}."
        table.add_row(named, Text.assemble(_capital(p.meaning), (allowed, "dim")))
    return table


def _steps(method: Method) -> Table:
    table = Table.grid(padding=(0, 1))
    for number, step in enumerate(method.card.steps, 1):
        table.add_row(f"{number}.", Text(step))
    return table


def _capital(text: str) -> str:
    return text[:1].upper() + text[1:]


def _default(value: Any) -> Any:
    return value if value is None or isinstance(value, bool | int | float | str) else repr(value)
