"""Columns prepared for a method inside each fold, so that only training rows are learned from.

numbers       as they are if the method takes missing values; otherwise missing ones become the median, with a flag;
              scaled to mean 0 and variance 1, unless the method takes counts or works column by column
ordinal       0, 1, ... in the given order, then as numbers
boolean       0 and 1, then as numbers
categories    as they are if the method takes them; otherwise one column per level, rare and unseen levels pooled;
              above 20 levels encoded by the target, cross-fitted
dates         days since the first one, and year, month, day, weekday, hour those that vary; then as numbers
text          TF-IDF of words, or of k-grams of strings without words, reduced to 50 components that are scaled together
identifiers   left out
"""

from __future__ import annotations

from dataclasses import dataclass
from typing import Literal

import numpy as np
from sklearn.compose import ColumnTransformer
from sklearn.impute import SimpleImputer
from sklearn.pipeline import Pipeline, make_pipeline
from sklearn.preprocessing import StandardScaler
from sklearn.utils import get_tags

from fivefold.core._sklearn import TransformerMixin
from fivefold.core.admission.takes import Takes
from fivefold.core.estimators.base import Estimator
from fivefold.evaluation.protocols import TunableModel
from fivefold.study.formatting import first_names
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
from fivefold.study.sequences.neighbour_columns import StepPlaces
from fivefold.study.tables.dataset import Data

MAX_NAMES_SHOWN = 6  # column names per line; the others are counted
USABLE_KINDS = ("number", "ordinal", "boolean", "category", "date", "text")


@dataclass(frozen=True)
class InputNeeds:
    """What a method needs of its columns."""

    missing: bool  # does it take missing values?
    categories: Literal["text", "codes", "columns"]
    positive: bool  # does it refuse negative numbers?

    @property
    def scaled(self) -> bool:
        """Are numbers standardised? Not for methods that take counts or treat each column by itself."""
        return not self.positive and self.categories == "columns"


def input_needs(estimator: TunableModel) -> InputNeeds:
    """The needs of an estimator, by its tags."""
    if isinstance(estimator, Estimator):
        return needs_from_takes(estimator.takes)
    tags = get_tags(estimator).input_tags
    return InputNeeds(tags.allow_nan, "codes" if tags.categorical else "columns", tags.positive_only)


def needs_from_takes(takes: Takes) -> InputNeeds:
    """The needs of one of our methods."""
    return InputNeeds(takes.missing, "text" if takes.categories else "columns", takes.positive)


def make_transformer(needs: InputNeeds, data: Data, *, places: bool = False) -> ColumnTransformer:
    """The transformer of a table's columns for a method; values are looked at in `fit` only.

    With `places`, two columns come first that say where a row stands in which sequence.
    """
    names, levels = _columns_by_treatment(needs, data), {c.name: c.levels for c in data.columns if c.kind == "ordinal"}
    encode = {
        "text": LevelPooler(missing=needs.missing),
        "codes": CategoryCodeEncoder(),
        "columns": OneHotTargetEncoder(),
    }[needs.categories]
    blocks = [
        ("places", StepPlaces(), [data.sequence_column, data.order_column] if places else []),
        ("numbers", make_pipeline(NumberEncoder(levels), *_numeric_steps(needs)), names["numbers"]),
        ("categories", encode, names["categories"]),
        ("dates", make_pipeline(CalendarEncoder(fill=not needs.missing), *_numeric_steps(needs)), names["dates"]),
        ("text", make_pipeline(TextEncoder(), *_shift(needs)), names["text"]),
    ]
    ready = ColumnTransformer([block for block in blocks if block[2]], verbose_feature_names_out=False)
    return ready.set_output(transform="polars") if needs.categories == "text" else ready


@dataclass(frozen=True)
class PreparedColumn:
    """A column that a fitted transformer makes: the column of the table it comes from, and what it was divided by."""

    name: str
    source: str
    scale: float  # one if it was not standardised


def prepared_columns(ready: ColumnTransformer) -> list[PreparedColumn]:
    """The columns that a fitted transformer makes, in order. Each depends on its source alone."""
    sources, scales = list[str](), list[float]()
    for name, block, _ in ready.transformers_:
        if name == "remainder":
            continue
        first, *later = block.named_steps.values() if isinstance(block, Pipeline) else (block,)
        own, scale = first.sources_, np.ones(0)
        for step in later:
            if isinstance(step, SimpleImputer) and step.indicator_ is not None:
                own = own + [own[j] for j in step.indicator_.features_]
            elif isinstance(step, StandardScaler):
                scale = step.scale_
        sources += own
        scales += scale.tolist() if len(scale) else [1.0] * len(own)
    names = ready.get_feature_names_out()
    return [PreparedColumn(str(n), s, float(c)) for n, s, c in zip(names, sources, scales, strict=True)]


def describe_treatment(needs: InputNeeds, data: Data) -> list[str]:
    """What the transformer does to the columns of this table, one line per kind."""
    numeric, names = _describe_numeric(needs), _columns_by_treatment(needs, data)
    encode = {
        "text": "as they are; an unseen level is taken as "
        + ("missing" if needs.missing else "the most frequent level"),
        "codes": "codes 0, 1, ...; an unseen level is taken as missing, or as the most frequent level",
        "columns": f"one column per level, levels with fewer than {MIN_LEVEL_ROWS} rows pooled with unseen ones; with "
        f"more than {MAX_ONE_HOT_LEVELS} levels the mean target of the level, shrunk to the overall mean if it has few "
        "rows, and for a training row computed from other rows",
    }[needs.categories]
    treatments = {
        "numbers": numeric,
        "categories": encode,
        "dates": f"days since the first, and {', '.join(tuple(DATE_PARTS)[1:])} those that vary; {numeric}",
        "text": f"TF-IDF of the words, or of the k-grams of strings without words (a spectrum kernel), reduced to "
        f"{TEXT_COMPONENTS} components or as many as there are words, which are scaled together",
    }
    lines = [
        f"{kind} ({len(names[kind])}: {first_names(names[kind], MAX_NAMES_SHOWN)}): {how}"
        for kind, how in treatments.items()
        if names[kind]
    ]
    ordinal = [f"{c.name}: {' < '.join(c.levels)}" for c in data.columns if c.kind == "ordinal"]
    lines += [f"ordered levels as 0, 1, ...: {'; '.join(ordinal)}"] if ordinal else []
    dropped = data.of_kind("identifier")
    return lines + (
        [f"identifiers ({len(dropped)}: {first_names(dropped, MAX_NAMES_SHOWN)}): left out"] if dropped else []
    )


def _columns_by_treatment(needs: InputNeeds, data: Data) -> dict[str, list[str]]:
    """Column names by treatment. Booleans are categories for a method that takes these, otherwise numbers."""
    part = {"number": "numbers", "ordinal": "numbers", "boolean": "numbers", "category": "categories"}
    part |= {"date": "dates", "text": "text"} | ({"boolean": "categories"} if needs.categories == "text" else {})
    found: dict[str, list[str]] = {name: [] for name in part.values()}
    for column in data.columns:
        if column.kind in part:
            found[part[column.kind]].append(column.name)
    return found


def _numeric_steps(needs: InputNeeds) -> list[TransformerMixin]:
    """The steps that every numeric column goes through."""
    fill = SimpleImputer(strategy="median", add_indicator=True, keep_empty_features=True)
    return [
        EmptyColumnFiller() if needs.missing else fill,
        *_shift(needs),
        *([StandardScaler()] if needs.scaled else []),
    ]


def _shift(needs: InputNeeds) -> list[TransformerMixin]:
    return [NonNegativeShift()] if needs.positive else []


def _describe_numeric(needs: InputNeeds) -> str:
    return "; ".join(
        [
            "missing values stay missing" if needs.missing else "missing values become the median, with a flag",
            *(["shifted to start at zero if negative"] if needs.positive else []),
            *(["scaled to mean 0 and variance 1"] if needs.scaled else []),
        ]
    )
