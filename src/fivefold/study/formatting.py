"""Numbers and lists as text, written alike in messages, in the report and on the screen."""

from __future__ import annotations

import math
import re
from collections.abc import Iterable, Mapping, Sequence
from typing import TYPE_CHECKING, Any

if TYPE_CHECKING:
    from fivefold.evaluation.comparison.estimate import Estimate

KIND_NOUNS: Mapping[str, tuple[str, str]] = {  # kinds of columns, as one and as several are called
    "number": ("number", "numbers"),
    "category": ("category", "categories"),
    "ordinal": ("ordinal", "ordinals"),
    "boolean": ("truth value", "truth values"),
    "date": ("date", "dates"),
    "text": ("text", "texts"),
    "identifier": ("identifier", "identifiers"),
}


def format_number(value: float, digits: int = 3) -> str:
    """A number with `digits` decimals, zero without a sign; a dash for NaN.

    Examples
    --------
    >>> format_number(0.12345), format_number(float("inf")), format_number(float("nan")), format_number(-0.0001)
    ('0.123', '∞', '–', '0.000')
    """
    if math.isnan(value):
        return "–"
    if math.isinf(value):
        return "∞" if value > 0 else "-∞"
    return f"{value:z.{digits}f}"


def decimals_for(size: float) -> int:
    """Decimals that show three significant digits of numbers of this size, from 0 to 3."""
    return 3 if not math.isfinite(size) or abs(size) < 1 else max(0, 2 - math.floor(math.log10(abs(size))))


def format_significant(value: float, digits: int = 2) -> str:
    """A number with this many significant digits, never with an exponent.

    Examples
    --------
    >>> format_significant(0.00693), format_significant(1234.6), format_significant(0.0)
    ('0.0069', '1235', '0')
    """
    return format_number(value, significant_decimals(value, digits))


def significant_decimals(value: float, digits: int = 2) -> int:
    """Decimals that show this many significant digits of a number.

    Examples
    --------
    >>> significant_decimals(0.00693), significant_decimals(1234.6), significant_decimals(0.0)
    (4, 0, 0)
    """
    return 0 if value == 0 or not math.isfinite(value) else max(0, digits - 1 - math.floor(math.log10(abs(value))))


def format_interval(estimate: Estimate, digits: int = 3) -> str:
    """The interval of an estimate, without a line break."""
    return format_range(estimate.low, estimate.high, digits)


def format_range(low: float, high: float, digits: int = 3) -> str:
    """From low to high, without a line break."""
    return f"{format_number(low, digits)}\u00a0to\u00a0{format_number(high, digits)}"


def name_class(label: object) -> str:
    """A class within a sentence, where a number alone would be taken for a count.

    Examples
    --------
    >>> name_class("spam"), name_class(2)
    ('spam', 'class 2')
    """
    text = str(label)
    return f"class {text}" if re.fullmatch(r"[-+]?[\d.]+", text) else text


def format_p_value(value: float) -> str:
    """A p-value.

    Examples
    --------
    >>> format_p_value(0.2), format_p_value(1e-9)
    ('0.200', '< 0.001')
    """
    return f"{value:.3f}" if value >= 0.001 else "< 0.001"


def format_seconds(value: float) -> str:
    """A time.

    Examples
    --------
    >>> format_seconds(0.0123), format_seconds(3.21), format_seconds(95.0)
    ('12 ms', '3.2 s', '95 s')
    """
    if value < 1:
        return f"{1000 * value:.0f} ms" if value >= 0.001 else "< 1 ms"
    return f"{value:.1f} s" if value < 10 else f"{value:.0f} s"


def format_bytes(value: float | None) -> str:
    """Bytes.

    Examples
    --------
    >>> format_bytes(812), format_bytes(81_200), format_bytes(4_300_000), format_bytes(None)
    ('812 B', '81 kB', '4.3 MB', '–')
    """
    if value is None:
        return "–"
    for unit, scale in (("MB", 1e6), ("kB", 1e3)):
        if value >= scale:
            return f"{value / scale:.{1 if value < 10 * scale else 0}f} {unit}"
    return f"{value:.0f} B"


def join_names(names: Sequence[str]) -> str:
    """Names joined by commas and "and".

    Examples
    --------
    >>> join_names(["a"]), join_names(["a", "b", "c"])
    ('a', 'a, b and c')
    """
    return names[0] if len(names) == 1 else f"{', '.join(names[:-1])} and {names[-1]}"


def shorten_name(name: str, most: int) -> str:
    """A name of at most `most` characters: of a dotted one the first and last part are kept, any other is cut inside.

    Examples
    --------
    >>> shorten_name("sklearn.ensemble.ExtraTreesClassifier", 32), shorten_name("a_column_with_a_long_name", 12)
    ('sklearn…ExtraTreesClassifier', 'a_co…ng_name')
    """
    if len(name) <= most:
        return name
    ends = f"{name.partition('.')[0]}…{name.rpartition('.')[2]}"
    if "." in name and len(ends) <= most:
        return ends
    tail = (most - 1) * 2 // 3  # names that belong together differ at their ends
    return f"{name[: most - 1 - tail]}…{name[len(name) - tail :]}"


def escape_markdown(text: str) -> str:
    """Text in which Markdown takes no character for markup.

    Examples
    --------
    >>> escape_markdown("a_b [c]")
    'a\\\\_b \\\\[c\\\\]'
    """
    return re.sub(r"([\\`*_|<>\[\]#])", r"\\\1", text)


def format_setting(parameters: Mapping[str, Any]) -> str:
    """Parameters as NAME=VALUE.

    Examples
    --------
    >>> format_setting({"alpha": 1.0, "solver": "svd"}), format_setting({})
    ('alpha=1.0, solver=svd', 'defaults')
    """
    shown = (
        f"{name}={value:.4g}" if isinstance(value, float) and value % 1 else f"{name}={value}"
        for name, value in parameters.items()
    )
    return ", ".join(shown) or "defaults"


def first_names(names: Iterable[str], most: int = 8) -> str:
    """The first `most` of some names, and how many more there are."""
    names = list(names)
    return ", ".join(names[:most]) + (f" and {len(names) - most} more" if len(names) > most else "")


def format_count(number: int, thing: str, things: str = "") -> str:
    """A number and its noun; `things` is an irregular plural.

    Examples
    --------
    >>> format_count(1, "row"), format_count(1200, "row"), format_count(2, "class", "classes")
    ('1 row', '1,200 rows', '2 classes')
    """
    return f"{number:,} {thing if number == 1 else things or thing + 's'}"
