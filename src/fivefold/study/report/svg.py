"""Figures as inline SVG: text stays text, nothing refers outside, and each has an alternative text."""

from __future__ import annotations

import io
import re
from collections.abc import Callable
from html import escape
from typing import TYPE_CHECKING
from warnings import catch_warnings, filterwarnings

from fivefold.study.report.blocks import Figure

if TYPE_CHECKING:
    from matplotlib.axes import Axes

MAX_PIXELS_PER_POINT = 1.7  # so that text in small figures does not grow on a wide screen
SCROLL_WIDTH_INCHES = 5.0  # wider figures scroll on a phone instead of shrinking below the next number
MIN_PIXELS_PER_POINT = 1.1
FONT = "font-family: system-ui, sans-serif"


def draw_figure(
    name: str,
    draw: Callable[[Axes], object],
    alternative: str,
    caption: str = "",
    *,
    width: float = 3.5,
    height: float = 3.3,
    inside: tuple[float, float, float, float] | None = None,
) -> Figure:
    """A figure drawn by `draw` on axes of its own; `inside` places them if no room is needed for labels."""
    import matplotlib as mpl
    from matplotlib.backends.backend_svg import FigureCanvasSVG
    from matplotlib.figure import Figure as Drawing

    with mpl.rc_context({"svg.fonttype": "none", "svg.hashsalt": name, "text.parse_math": False}), catch_warnings():
        filterwarnings("ignore", message="Glyph")  # the browser has fonts that matplotlib lacks
        drawing = Drawing(figsize=(width, height), layout=None if inside else "constrained")
        FigureCanvasSVG(drawing)
        draw(drawing.add_axes(inside) if inside else drawing.add_subplot())
        if (engine := drawing.get_layout_engine()) is not None:
            engine.execute(drawing)  # savefig would draw everything once more for it
            drawing.set_layout_engine(None)
        file = io.StringIO()
        drawing.savefig(file, format="svg", transparent=True, metadata={"Date": None})
    return Figure(_inline_svg(file.getvalue(), name, alternative, width), alternative, caption)


def _inline_svg(text: str, name: str, alternative: str, width: float) -> str:
    """The SVG for use inside a page: without prologue, with unique ids and a size that follows the page."""
    text = text[text.index("<svg") :]
    text = re.sub(r"<metadata>.*?</metadata>|<!--.*?-->", "", text, flags=re.S)
    text = re.sub(r"\sxmlns(:\w+)?=\"[^\"]*\"", "", text).replace("xlink:href", "href")
    text = re.sub(r"\bid=\"([^\"]+)\"", rf'id="{name}-\1"', text)
    text = re.sub(r"\"#([^\"]+)\"", rf'"#{name}-\1"', text)
    text = re.sub(r"url\(#([^)]+)\)", rf"url(#{name}-\1)", text)
    text = re.sub(r"font: ((?:[a-z0-9]+ )*)([\d.]+)px [^;\"]*", _font_style, text)
    size = f"max-width:{72 * width * MAX_PIXELS_PER_POINT:.0f}px" + (
        f";min-width:{72 * width * MIN_PIXELS_PER_POINT:.0f}px" if width > SCROLL_WIDTH_INCHES else ""
    )
    box = re.search(r"viewBox=\"[^\"]*\"", text)
    head = (
        f'<svg {box.group() if box else ""} role="img" aria-labelledby="{name}-says" style="{size}">'
        f'<title id="{name}-says">{escape(alternative)}</title>'
    )
    return re.sub(r"\n\s*", "\n", head + text[text.index(">") + 1 :]).strip()


def _font_style(found: re.Match[str]) -> str:
    style = "font-weight: bold; " if "bold" in found[1] or "700" in found[1] else ""
    return f"{style}font-size: {found[2]}px; {FONT}"
