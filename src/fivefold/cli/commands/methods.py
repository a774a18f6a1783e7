"""`fivefold methods` and `fivefold describe`: the registry as a table, the card of a method on screen or as a page."""

from __future__ import annotations

import re
from dataclasses import asdict
from itertools import groupby
from pathlib import Path
from typing import Any

from rich.padding import Padding
from rich.table import Table
from rich.text import Text

from fivefold.cli.options import Console
from fivefold.core.registry import Method, SearchRange, SearchValues, TypedValue


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
    """The card of one method."""
    card = method.card
    console.print(Text.assemble((method.name, "bold"), ("  " + ", ".join(card.applications), "dim")))
    console.print(Text(f"from fivefold.{method.chapter} import {method.name}", style="cyan"))
    console.print()
    _print_part(console, "", method.summary)
    _print_part(console, "Formula", _reflow(method.formula))
    _print_part(console, "Input", _typed(method.inputs))
    _print_part(console, "Output", _typed(method.outputs))
    _print_part(console, "Algorithm", _steps(method))
    _print_part(console, "Discussion", method.discussion)
    _print_part(console, "Parameters", _parameters(method))
    _print_part(console, "Takes and gives", ", ".join(method.abilities))
    _print_part(console, "See also", ", ".join(card.see_also))
    _print_part(console, "Literature", card.source)


def card_page(method: Method) -> str:
    """The card as Markdown; "See also" links to pages in the same folder."""
    card = method.card
    steps = "\n".join(f"{i}. {step}" for i, step in enumerate(card.steps, 1))
    typed = ("\n".join(f"- `{t.name}`: {t.type}" for t in part) for part in (method.inputs, method.outputs))
    links = ", ".join(f"[{name}]({name}.md)" for name in card.see_also)
    parameters = "\n".join(
        f"- `{p.name}={p.default!r}`: {p.meaning}" + ("" if p.allowed == "Any" else f" {_capital(p.allowed)}.")
        for p in method.parameters
    )
    parts = {
        "Applications": ", ".join(card.applications),
        "Summary": method.summary,
        "Formula": f"```\n{method.formula}\n```",
        "Input": next(typed),
        "Output": next(typed),
        "Algorithm": steps,
        "Discussion": method.discussion,
        "Parameters": parameters,
        "See also": links,
        "Literature": card.source,
    }
    head = f"# {method.name}\n\n`from fivefold.{method.chapter} import {method.name}`\n"
    return "\n".join([head, *(f"## {title}\n\n{text}\n" for title, text in parts.items() if text)])


def write_pages(methods: list[Method], folder: Path) -> Path:
    """Write one page per method and an index; returns the path of the index."""
    folder.mkdir(parents=True, exist_ok=True)
    for method in methods:
        (folder / f"{method.name}.md").write_text(card_page(method), encoding="utf-8")
    lines = ["# Methods"]
    for chapter, group in groupby(methods, key=lambda method: method.chapter):
        lines += [f"\n## fivefold.{chapter}\n", *(f"- [{m.name}]({m.name}.md): {m.summary}" for m in group)]
    index = folder / "index.md"
    index.write_text("\n".join(lines) + "\n", encoding="utf-8")
    return index


def card_to_json(method: Method) -> dict[str, Any]:
    """The card as plain values."""
    card = method.card
    return {
        "name": method.name,
        "chapter": method.chapter,
        "import": f"from fivefold.{method.chapter} import {method.name}",
        "summary": method.summary,
        "applications": list(card.applications),
        "formula": method.formula,
        "use": card.use,
        "inputs": [asdict(t) for t in method.inputs],
        "outputs": [asdict(t) for t in method.outputs],
        "steps": list(card.steps),
        "discussion": method.discussion,
        "limits": list(method.limits),
        "hyperparameters": {name: _searched(values) for name, values in method.hyperparameters.items()},
        "parameters": [asdict(p) | {"default": _default(p.default)} for p in method.parameters],
        "abilities": list(method.abilities),
        "see_also": list(card.see_also),
        "source": card.source,
    }


def _print_part(console: Console, title: str, content: str | Table) -> None:
    """Print a titled paragraph, unless it is empty."""
    if content:
        if title:
            console.print(Text(title, style="bold cyan"))
        console.print(Padding(Text(content) if isinstance(content, str) else content, (0, 0, 1, 2)))


def _reflow(text: str) -> str:
    """Paragraphs as long lines, for the screen to wrap; formulas and lists, laid out with spaces, unchanged."""
    parts = text.split("\n\n")
    return "\n\n".join(part if re.search(r"^ |\S  +\S", part, re.M) else " ".join(part.split()) for part in parts)


def _parameters(method: Method) -> Table:
    """`name=default`, then the meaning and the allowed values."""
    table = Table(box=None, padding=(0, 2, 0, 0), pad_edge=False, show_header=False)
    table.add_column(no_wrap=True)
    table.add_column()
    for p in method.parameters:
        named = Text.assemble((p.name, "bold"), "=", repr(p.default))
        allowed = "" if p.allowed == "Any" else f" {_capital(p.allowed)}."
        table.add_row(named, Text.assemble(_capital(p.meaning), (allowed, "dim")))
    return table


def _typed(things: tuple[TypedValue, ...]) -> Table:
    table = Table.grid(padding=(0, 2))
    for thing in things:
        table.add_row(Text(thing.name, style="bold"), Text(thing.type))
    return table


def _steps(method: Method) -> Table:
    table = Table.grid(padding=(0, 1))
    for number, step in enumerate(method.card.steps, 1):
        table.add_row(f"{number}.", Text(step))
    return table


def _capital(text: str) -> str:
    return text[:1].upper() + text[1:]


def _searched(values: SearchValues) -> object:
    """The values that a study tries, or the ends of their range."""
    if isinstance(values, SearchRange):
        return {"from": values.low, "to": values.high, **({"divided by": "columns"} if values.per_column else {})}
    return [_default(value) for value in values]


def _default(value: object) -> object:
    return value if value is None or isinstance(value, bool | int | float | str) else repr(value)
