"""What a report is made of: sections of blocks, which `page` writes as HTML and as Markdown."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from typing import ClassVar, Literal


@dataclass(frozen=True)
class Cell:
    """A cell of a table; a number is kept in full precision in `value`."""

    text: str
    value: float | None = None
    look: Literal["", "best", "soft", "bad"] = ""


@dataclass(frozen=True)
class Paragraph:
    """A paragraph."""

    text: str
    kind: ClassVar[str] = "text"


@dataclass(frozen=True)
class SubHeading:
    """A heading inside a section."""

    text: str
    kind: ClassVar[str] = "title"


@dataclass(frozen=True)
class BulletList:
    """A list."""

    items: tuple[str, ...]
    kind: ClassVar[str] = "points"


@dataclass(frozen=True)
class KeyFigures:
    """The few numbers that matter most: name, value, remark."""

    items: tuple[tuple[str, str, str], ...]
    kind: ClassVar[str] = "cards"


@dataclass(frozen=True)
class TableBlock:
    """Rows of cells under a header."""

    caption: str
    header: tuple[str, ...]
    rows: tuple[tuple[Cell, ...], ...]
    name: str = ""
    kind: ClassVar[str] = "table"

    @property
    def numeric(self) -> tuple[bool, ...]:
        """Which columns hold numbers."""
        return tuple(any(row[i].value is not None for row in self.rows) for i in range(len(self.header)))


@dataclass(frozen=True)
class Figure:
    """A figure as SVG, with an alternative text and a caption."""

    svg: str
    alternative: str
    caption: str
    kind: ClassVar[str] = "figure"


@dataclass(frozen=True)
class FigureRow:
    """Figures side by side, as many as fit; `small` for many small ones."""

    items: tuple[Figure, ...]
    small: bool = False
    kind: ClassVar[str] = "figures"


@dataclass(frozen=True)
class Code:
    """A command to copy."""

    text: str
    kind: ClassVar[str] = "code"


@dataclass(frozen=True)
class CollapsedBlocks:
    """Blocks that are hidden until they are opened."""

    title: str
    blocks: tuple[Block, ...]
    kind: ClassVar[str] = "folded"


@dataclass(frozen=True)
class BlockColumns:
    """Groups of blocks side by side where the page is wide enough, else one below the other."""

    groups: tuple[tuple[Block, ...], ...]
    kind: ClassVar[str] = "columns"


Block = (
    Paragraph
    | SubHeading
    | BulletList
    | KeyFigures
    | TableBlock
    | Figure
    | FigureRow
    | Code
    | CollapsedBlocks
    | BlockColumns
)


@dataclass(frozen=True)
class Section:
    """A section of the report; links go to its name.

    A folded one tells how the study was done: it stands below the evidence, closed, with a summary beside its title.
    """

    name: str
    title: str
    blocks: tuple[Block, ...]
    folded: bool = False
    summary: str = ""


@dataclass(frozen=True)
class Page:
    """A whole report."""

    title: str
    subtitle: str
    sections: tuple[Section, ...]
    footer: str


def text_cells(texts: Sequence[str]) -> tuple[Cell, ...]:
    """Cells of plain text."""
    return tuple(Cell(text) for text in texts)
