"""Columns made ready for a method, inside the folds: what is learned here is learned from training rows only.

numbers       as they are where the method takes missing values, else the median and a flag;
              scaled to mean 0 and variance 1 unless the method wants counts or works column by column
ordinal       0, 1, ... in the given order, then as numbers
boolean       0 and 1, then as numbers
categories    as they are where the method takes them; else one column a level, the rare and the unseen pooled;
              above 20 levels encoded by the target, cross-fitted
dates         days since the first one, and year, month, day, weekday, hour as far as they change; then as numbers
text          TF-IDF, reduced to 50 components; then as numbers
identifiers   left out
"""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any, Literal

from sklearn.compose import ColumnTransformer
from sklearn.impute import SimpleImputer
from sklearn.pipeline import make_pipeline
from sklearn.preprocessing import StandardScaler
from sklearn.utils import get_tags

from fivefold.core.admission.tables import Takes
from fivefold.core.estimators.base import Estimator
from fivefold.study.preparation.encoders import (
    DATE_PARTS,
    MAX_ONE_HOT_LEVELS,
    MIN_LEVEL_ROWS,
    TEXT_COMPONENTS,
    CalendarEncoder,
    CategoryCodeEncoder,
    EmptyColumnFiller,
    LevelPooler,
    NonNegativeShift,
    NumberEncoder,
    OneHotTargetEncoder,
    TextEncoder,
)
from fivefold.study.tables.dataset import Data

MAX_NAMES_SHOWN = 6  # of the columns of a kind, so many are named in a line
USABLE_KINDS = ("number", "ordinal", "boolean", "category", "date", "text")


@dataclass(frozen=True)
class InputNeeds:
    """How a method wants its columns."""

    missing: bool  # may numbers be missing?
    categories: Literal["text", "codes", "columns"]
    positive: bool  # no negative numbers

    @property
    def scaled(self) -> bool:
        """Are numbers brought to one scale? Not counts, nor for methods that look at each column by itself."""
        return not self.positive and self.categories == "columns"


def input_needs(estimator: Any) -> InputNeeds:
    """What an estimator, ours or any other, says of its input."""
    if isinstance(estimator, Estimator):
        return needs_from_takes(estimator.takes)
    tags = get_tags(estimator).input_tags
    return InputNeeds(tags.allow_nan, "codes" if tags.categorical else "columns", tags.positive_only)


def needs_from_takes(takes: Takes) -> InputNeeds:
    """What one of our methods wants."""
    return InputNeeds(takes.missing, "text" if takes.categories else "columns", takes.positive)


def make_transformer(wanted: InputNeeds, data: Data) -> ColumnTransformer:
    """What turns the columns of a study's table into what a method takes; nothing is looked at before `fit`."""
    names, levels = _columns_by_treatment(wanted, data), {c.name: c.levels for c in data.columns if c.kind == "ordinal"}
    encode = {
        "text": LevelPooler(missing=wanted.missing),
        "codes": CategoryCodeEncoder(),
        "columns": OneHotTargetEncoder(),
    }[wanted.categories]
    blocks = [
        ("numbers", make_pipeline(NumberEncoder(levels), *_numeric_steps(wanted)), names["numbers"]),
        ("categories", encode, names["categories"]),
        ("dates", make_pipeline(CalendarEncoder(fill=not wanted.missing), *_numeric_steps(wanted)), names["dates"]),
        ("text", make_pipeline(TextEncoder(), *_numeric_steps(wanted)), names["text"]),
    ]
    ready = ColumnTransformer([block for block in blocks if block[2]], verbose_feature_names_out=False)
    return ready.set_output(transform="polars") if wanted.categories == "text" else ready


def describe_treatment(wanted: InputNeeds, data: Data) -> list[str]:
    """What `prepare` does to the columns of this table, a line for each kind there is."""
    numeric, names = _describe_numeric(wanted), _columns_by_treatment(wanted, data)
    encode = {
        "text": "as they are; a level that training did not see is taken as "
        + ("missing" if wanted.missing else "the commonest"),
        "codes": "codes 0, 1, ...; a level that training did not see is taken as missing, or as the commonest",
        "columns": f"one column a level, levels with fewer than {MIN_LEVEL_ROWS} rows pooled with those that training "
        "did not "
        f"see; with more than {MAX_ONE_HOT_LEVELS} levels the mean target of the level, drawn to the overall mean "
        "where rows "
        "are few, of a training row without itself",
    }[wanted.categories]
    said = {
        "numbers": numeric,
        "categories": encode,
        "dates": f"days since the first, and {', '.join(tuple(DATE_PARTS)[1:])} as far as they change; {numeric}",
        "text": f"TF-IDF of the words, reduced to {TEXT_COMPONENTS} components or as many as there are words",
    }
    lines = [
        f"{kind} ({len(names[kind])}: {_first_names(names[kind])}): {how}" for kind, how in said.items() if names[kind]
    ]
    ordinal = [f"{c.name}: {' < '.join(c.levels)}" for c in data.columns if c.kind == "ordinal"]
    lines += [f"ordered levels as 0, 1, ...: {'; '.join(ordinal)}"] if ordinal else []
    dropped = data.of_kind("identifier")
    return lines + ([f"identifiers ({len(dropped)}: {_first_names(dropped)}): left out"] if dropped else [])


def _columns_by_treatment(wanted: InputNeeds, data: Data) -> dict[str, list[str]]:
    """Truth values are categories to a method that takes them, else numbers, as are ordered levels."""
    part = {"number": "numbers", "ordinal": "numbers", "boolean": "numbers", "category": "categories"}
    part |= {"date": "dates", "text": "text"} | ({"boolean": "categories"} if wanted.categories == "text" else {})
    found: dict[str, list[str]] = {name: [] for name in part.values()}
    for column in data.columns:
        if column.kind in part:
            found[part[column.kind]].append(column.name)
    return found


def _numeric_steps(wanted: InputNeeds) -> list[Any]:
    """The steps every number goes through."""
    fill = SimpleImputer(strategy="median", add_indicator=True, keep_empty_features=True)
    return [
        EmptyColumnFiller() if wanted.missing else fill,
        *([NonNegativeShift()] if wanted.positive else []),
        *([StandardScaler()] if wanted.scaled else []),
    ]


def _describe_numeric(wanted: InputNeeds) -> str:
    return "; ".join(
        [
            "missing values stay missing" if wanted.missing else "missing values become the median, with a flag",
            *(["moved up to start at zero where negative"] if wanted.positive else []),
            *(["scaled to mean 0 and variance 1"] if wanted.scaled else []),
        ]
    )


def _first_names(names: list[str]) -> str:
    return ", ".join(names[:MAX_NAMES_SHOWN]) + (
        f" and {len(names) - MAX_NAMES_SHOWN} more" if len(names) > MAX_NAMES_SHOWN else ""
    )
