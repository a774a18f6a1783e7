"""`fivefold bounds`: the registry of bounds as a table, the card of a bound on screen."""

from __future__ import annotations

from dataclasses import asdict
from difflib import get_close_matches
from typing import TYPE_CHECKING, Annotated

import typer
from rich.padding import Padding
from rich.table import Table
from rich.text import Text

from fivefold.cli.options import JSON_OPTION, Console, refuse, show_json

if TYPE_CHECKING:
    from fivefold.theory.bounds import BoundCard

ROWS_TITLES = {"held out": "On rows that were held out", "training": "On the rows of training"}


def bounds(
    name: Annotated[str | None, typer.Argument(help="A bound whose card to show, or a part of its name.")] = None,
    as_json: JSON_OPTION = False,
) -> None:
    """List the bounds of the error on new data, or show the card of one: formula, assumptions, when it is tight."""
    from fivefold.theory.bounds import registered_bounds

    cards = [bound.card for bound in registered_bounds()]
    chosen = cards if name is None else matching_cards(cards, name)
    if as_json:
        show_json([asdict(card) for card in chosen])
    elif name is None:
        show_bounds(Console(), chosen)
    else:
        for card in chosen:
            show_bound(Console(), card)


def matching_cards(cards: list[BoundCard], name: str) -> list[BoundCard]:
    """The card of that name, or all whose names hold it; letter case does not matter."""
    exact = [card for card in cards if card.name.lower() == name.lower()]
    found = exact or [card for card in cards if name.lower() in card.name.lower()]
    if not found:
        near = get_close_matches(name.lower(), [card.name.lower() for card in cards], n=3, cutoff=0.4)
        hint = f"did you mean {' or '.join(near)}?" if near else "see `fivefold bounds` for the list"
        refuse(f"no bound is called {name!r}; {hint}")
    return found


def show_bounds(console: Console, cards: list[BoundCard]) -> None:
    """Every bound, those for held-out rows first."""
    for rows, title in ROWS_TITLES.items():
        console.print(Text(title, style="bold cyan"))
        table = Table(box=None, show_header=False, padding=(0, 2, 0, 0), pad_edge=False)
        table.add_column(width=2 + max(len(card.name) for card in cards), no_wrap=True)
        table.add_column()
        for card in cards:
            if card.rows == rows:
                table.add_row(Text("  " + card.name, style="bold"), Text(card.use))
        console.print(table)
    console.print(Text(f"\n{len(cards)} bounds; `fivefold bounds NAME` prints a card.", style="dim"))


def show_bound(console: Console, card: BoundCard) -> None:
    """The card of one bound."""
    console.print(Text.assemble((card.name, "bold"), (f"  {ROWS_TITLES[card.rows].lower()}", "dim")))
    parts = {
        "Error on new data, with probability 1 - delta, at most": card.formula,
        "It assumes that": "\n".join(card.assumptions),
        "Use": card.use,
        "Never above": ", ".join(card.never_above),
        "Literature": card.source,
    }
    for title, text in parts.items():
        if text:
            console.print(Text(title, style="bold cyan"))
            console.print(Padding(Text(text), (0, 0, 1, 2)))
