"""A page written as HTML that needs nothing else to be opened, and as Markdown."""

from __future__ import annotations

import os
import re
import tempfile
from collections.abc import Callable, Mapping
from pathlib import Path
from typing import Any

from jinja2 import Environment, FileSystemLoader, StrictUndefined
from markupsafe import Markup, escape

from fivefold.core.printable import printable
from fivefold.study.report.blocks import Block, Cell, Page, Table

HERE = Path(__file__).parent


def html(page: Page) -> str:
    """One file: style and drawings inside, no script, no reference to anything outside."""
    about = Environment(
        loader=FileSystemLoader(HERE), autoescape=True, undefined=StrictUndefined, trim_blocks=True, lstrip_blocks=True
    )
    about.filters["breaks"] = breaks
    return about.get_template("page.html").render(page=page)


def markdown(page: Page) -> str:
    """Words and tables; figures as what they show."""
    parts = [f"# {_plain(page.title)}", _plain(page.subtitle)]
    for section in page.sections:
        parts.append(f"## {_plain(section.title)}")
        parts += [_marked(block) for block in section.blocks]
    return "\n\n".join([*parts, _plain(page.footer)]) + "\n"


def save(text: str, path: Path) -> Path:
    """Write the file, whole or not at all."""
    handle, name = tempfile.mkstemp(dir=path.parent, prefix=f".{path.stem}-", suffix=path.suffix)
    try:
        with os.fdopen(handle, "w", encoding="utf-8") as file:
            file.write(printable(text))
        os.chmod(name, 0o644)
        os.replace(name, path)
    except BaseException:
        os.unlink(name)
        raise
    return path


def breaks(text: str) -> Markup:
    """Long names in CamelCase or with underscores may break where a word ends, so that narrow columns hold them."""
    return Markup(re.sub(r"\w{12,}", _broken, str(escape(text))))


def _broken(name: re.Match[str]) -> str:
    return re.sub(r"(?<=[a-z])(?=[A-Z])|(?<=_)(?=\w)", "<wbr>", name.group())


def _marked(block: Block) -> str:
    return WRITERS[block.kind](block)


def _table(table: Table) -> str:
    rule = ["---:" if numeric else "---" for numeric in table.numeric]
    lines = [[_plain(text) or " " for text in table.header], rule, *([_cell(c) for c in row] for row in table.rows)]
    return f"**{_plain(table.caption)}**\n\n" + "\n".join(f"| {' | '.join(line)} |" for line in lines)


def _cell(cell: Cell) -> str:
    text = _plain(cell.text)
    return f"**{text}**" if cell.look == "best" and text else text


def _plain(text: str) -> str:
    """Text in which nothing is taken for a mark."""
    return re.sub(r"([\\`*_|<>\[\]#])", r"\\\1", " ".join(text.split()))


def _fenced(text: str) -> str:
    """Text as it stands, between fences longer than any in it."""
    fence = "`" * max(3, 1 + max(map(len, re.findall("`+", text)), default=0))
    return f"{fence}\n{text}\n{fence}"


WRITERS: Mapping[str, Callable[[Any], str]] = {
    "text": lambda b: _plain(b.text),
    "title": lambda b: f"### {_plain(b.text)}",
    "points": lambda b: "\n".join(f"- {_plain(item)}" for item in b.items),
    "cards": lambda b: "\n".join(f"- {_plain(a)}: **{_plain(v)}** ({_plain(note)})" for a, v, note in b.items),
    "table": _table,
    "figure": lambda b: f"*Figure: {_plain(b.alternative)}*",
    "figures": lambda b: "\n".join(f"- *Figure: {_plain(item.alternative)}*" for item in b.items),
    "code": lambda b: _fenced(b.text),
    "folded": lambda b: "\n\n".join([f"#### {_plain(b.title)}", *map(_marked, b.blocks)]),
}
