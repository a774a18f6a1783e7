"""What sets a group apart, in words: the columns whose values differ most from those of the other rows."""

from __future__ import annotations

import re
from collections import Counter
from collections.abc import Iterable
from dataclasses import dataclass

import numpy as np
import polars as pl

from fivefold.core.types import Codes, Mask
from fivefold.study.formatting import format_count, format_significant
from fivefold.study.tables.dataset import Data

MAX_TRAITS = 5  # columns named per group
MIN_DIFFERENCE = 0.5  # in standard deviations of the column, or of a share: smaller ones do not set a group apart
MAX_WORDS = 200  # of a column of texts that are looked at, those in most rows first
WORD = re.compile(r"\w{2,}")
NUMBER_DIGITS = 3  # significant ones of a mean


@dataclass(frozen=True)
class Trait:
    """A column that sets a group apart."""

    column: str
    difference: float  # to the other rows, in standard deviations
    words: str


@dataclass(frozen=True)
class GroupProfile:
    """A group in words."""

    group: int  # from 1
    rows: int
    traits: tuple[Trait, ...]

    def __str__(self) -> str:
        said = ", ".join(trait.words for trait in self.traits) or "no column sets it apart by itself"
        return f"group {self.group} ({format_count(self.rows, 'row')}): {said}"


def profile_groups(data: Data, codes: Codes, count: int) -> list[GroupProfile]:
    """The profile of each group, against all other rows."""
    found = []
    for k in range(count):
        own = codes == k
        traits = [trait for column in data.columns for trait in _traits(data, column.name, column.kind, own)]
        large = sorted((one for one in traits if abs(one.difference) >= MIN_DIFFERENCE), key=_size, reverse=True)
        found.append(GroupProfile(k + 1, int(own.sum()), tuple(large[:MAX_TRAITS])))
    return found


def _size(trait: Trait) -> float:
    return abs(trait.difference)


def _traits(data: Data, name: str, kind: str, own: Mask) -> list[Trait]:
    values = data.X[name]
    if kind == "number":
        return _number_trait(name, values.to_numpy().astype(float), own)
    if kind == "date":
        days = values.dt.epoch("us").cast(pl.Float64).fill_null(float("nan")).to_numpy()
        return _date_trait(name, days, own)
    if kind in ("category", "ordinal", "boolean"):
        texts = values.cast(pl.String)
        levels = texts.drop_nulls().unique().sort()
        cases = ((f"{name} is {level}", (texts == level).fill_null(False).to_numpy()) for level in levels)
        return _share_trait(name, cases, values.is_not_null().to_numpy(), own)
    if kind == "text":
        rows = [set(WORD.findall((text or "").lower())) for text in values.cast(pl.String)]
        often = Counter(word for row in rows for word in sorted(row)).most_common(MAX_WORDS)
        words = ((f"{name} has {word!r}", np.array([word in row for row in rows])) for word, _ in often)
        return _share_trait(name, words, values.is_not_null().to_numpy(), own)
    return []


def _difference(x: np.ndarray, own: Mask) -> tuple[float, float, float] | None:
    """Means of the group and of the others, and their difference in standard deviations."""
    given = ~np.isnan(x)
    if not (given & own).any() or not (given & ~own).any() or (spread := float(x[given].std())) == 0:
        return None
    inside, outside = float(x[given & own].mean()), float(x[given & ~own].mean())
    return inside, outside, (inside - outside) / spread


def _number_trait(name: str, x: np.ndarray, own: Mask) -> list[Trait]:
    if (found := _difference(x, own)) is None:
        return []
    inside, outside, size = found
    means = (_mean_text(inside), _mean_text(outside))
    return [Trait(name, size, f"{'high' if size > 0 else 'low'} {name} ({means[0]}, others {means[1]})")]


def _mean_text(value: float) -> str:
    """A mean with three significant digits, no zeros behind."""
    text = format_significant(value, NUMBER_DIGITS) if abs(value) < 1e6 else f"{value:.3g}"
    return text.rstrip("0").rstrip(".") if "." in text else text


def _date_trait(name: str, x: np.ndarray, own: Mask) -> list[Trait]:
    if (found := _difference(x, own)) is None:
        return []
    days = [str(np.datetime64(int(value), "us").astype("datetime64[D]")) for value in found[:2]]
    return [Trait(name, found[2], f"{'late' if found[2] > 0 else 'early'} {name} ({days[0]}, others {days[1]})")]


def _share_trait(name: str, cases: Iterable[tuple[str, Mask]], given: Mask, own: Mask) -> list[Trait]:
    """Of several things that rows may have, such as levels or words, the one that is most over-represented."""
    best: list[Trait] = []
    for words, present in cases:
        found = _difference(np.where(given, present, np.nan), own)
        if found is not None and found[2] > (best[0].difference if best else 0.0):
            best = [Trait(name, found[2], f"{words} ({found[0]:.0%}, others {found[1]:.0%})")]
    return best
