"""A page written as HTML that needs nothing else to be opened, and as Markdown."""

from __future__ import annotations

import re
from collections.abc import Callable, Mapping
from pathlib import Path
from typing import Any

from jinja2 import Environment, FileSystemLoader, StrictUndefined
from markupsafe import Markup, escape

from fivefold.core.console.control_characters import printable
from fivefold.core.storage.atomic_write import write_text
from fivefold.study.formatting import escape_markdown
from fivefold.study.report.blocks import Block, Cell, Page, TableBlock

TEMPLATE_FOLDER = Path(__file__).parent / "templates"  # page.html; blocks/KIND.html writes the blocks of a kind


def to_html(page: Page) -> str:
    """One self-contained file: style and drawings inside, no script, no external reference."""
    environment = Environment(
        loader=FileSystemLoader(TEMPLATE_FOLDER),
        autoescape=True,
        undefined=StrictUndefined,
        trim_blocks=True,
        lstrip_blocks=True,
    )
    environment.filters["breaks"] = allow_breaks
    return environment.get_template("page.html").render(page=page)


def to_markdown(page: Page) -> str:
    """Text and tables; figures by their alternative texts."""
    parts = [f"# {_one_line(page.title)}", _one_line(page.subtitle)]
    for section in page.sections:
        parts.append(f"## {_one_line(section.title)}")
        parts += [_block_markdown(block) for block in section.blocks]
    return "\n\n".join([*parts, _one_line(page.footer)]) + "\n"


def save_text(text: str, path: Path) -> Path:
    """Write the file, whole or not at all, with control characters made visible."""
    return write_text(path, printable(text))


def allow_breaks(text: str) -> Markup:
    """Text in which long names in CamelCase or with underscores may break, so that they fit into narrow columns."""
    return Markup(re.sub(r"\w{12,}", _break_name, str(escape(text))))


def _break_name(name: re.Match[str]) -> str:
    return re.sub(r"(?<=[a-z])(?=[A-Z])|(?<=_)(?=\w)", "<wbr>", name.group())


def _block_markdown(block: Block) -> str:
    return BLOCK_WRITERS[block.kind](block)


def _table(table: TableBlock) -> str:
    rule = ["---:" if numeric else "---" for numeric in table.numeric]
    lines = [
        [_one_line(text) or " " for text in table.header],
        rule,
        *([_cell(c) for c in row] for row in table.rows),
    ]
    return f"**{_one_line(table.caption)}**\n\n" + "\n".join(f"| {' | '.join(line)} |" for line in lines)


def _cell(cell: Cell) -> str:
    text = _one_line(cell.text)
    return f"**{text}**" if cell.look == "best" and text else text


def _one_line(text: str) -> str:
    """Text without line breaks, in which no character is taken for markup."""
    return escape_markdown(" ".join(text.split()))


def _fence(text: str) -> str:
    """Text verbatim, between fences longer than any inside it."""
    fence = "`" * max(3, 1 + max(map(len, re.findall("`+", text)), default=0))
    return f"{fence}\n{text}\n{fence}"


BLOCK_WRITERS: Mapping[str, Callable[[Any], str]] = {
    "text": lambda b: _one_line(b.text),
    "title": lambda b: f"### {_one_line(b.text)}",
    "points": lambda b: "\n".join(f"- {_one_line(item)}" for item in b.items),
    "cards": lambda b: "\n".join(f"- {_one_line(a)}: **{_one_line(v)}** ({_one_line(note)})" for a, v, note in b.items),
    "table": _table,
    "figure": lambda b: f"*Figure: {_one_line(b.alternative)}*",
    "figures": lambda b: "\n".join(f"- *Figure: {_one_line(item.alternative)}*" for item in b.items),
    "code": lambda b: _fence(b.text),
    "folded": lambda b: "\n\n".join([f"#### {_one_line(b.title)}", *map(_block_markdown, b.blocks)]),
    "columns": lambda b: "\n\n".join(_block_markdown(block) for group in b.groups for block in group),
}
