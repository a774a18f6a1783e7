"""Encoders of a study's columns: one small transformer per kind of column.

They take polars frames and learn in `fit` only, from the training rows of a fold.
"""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any, Self

import numpy as np
import polars as pl
from numpy.typing import ArrayLike
from sklearn.feature_extraction.text import TfidfVectorizer
from sklearn.model_selection import KFold
from sklearn.preprocessing import OneHotEncoder, OrdinalEncoder, TargetEncoder

from fivefold.core._sklearn import BaseEstimator, TransformerMixin
from fivefold.core.types import UserTable, UserTarget
from fivefold.decomposition import TruncatedSVD

OTHER_LEVEL, MISSING_LEVEL = "(other)", "(missing)"
MIN_LEVEL_ROWS = 5  # a level with fewer training rows is pooled with others
MAX_ONE_HOT_LEVELS = 20  # a column with more levels is encoded by the target
CROSS_FIT_FOLDS = 5  # folds of the target encoding
TEXT_COMPONENTS, MAX_VOCABULARY = 50, 20_000  # columns that text is reduced to; words or k-grams that are counted
STRING_MEAN_WORDS = 1.5  # texts with fewer words on average are strings: sequences, formulas, codes
STRING_GRAMS = (1, 3)  # letters of a k-gram of a string: single ones tell very short strings apart
MICROSECONDS_PER_DAY = 86_400e6

DATE_PARTS = {
    "days": lambda date, start: (date.dt.epoch("us") - start) / MICROSECONDS_PER_DAY,
    "year": lambda date, start: date.dt.year(),
    "month": lambda date, start: date.dt.month(),
    "day": lambda date, start: date.dt.day(),
    "weekday": lambda date, start: date.dt.weekday(),
    "hour": lambda date, start: date.dt.hour(),
}


class Encoder(TransformerMixin, BaseEstimator):
    """Base of the encoders: names the columns it makes."""

    names_: list[str]

    def get_feature_names_out(self, input_features: ArrayLike | None = None) -> np.ndarray:
        """Names of the columns it makes."""
        return np.array(self.names_, dtype=object)

    @property
    def sources_(self) -> list[str]:
        """The column that each of them is made from."""
        return list(self.names_)


class NumberEncoder(Encoder):
    """Numbers as they are, booleans as 0 and 1, ordered levels as 0, 1, ...; NaN for missing or unknown values."""

    def __init__(self, levels: Mapping[str, tuple[str, ...]] | None = None):
        self.levels = levels

    def fit(self, X: pl.DataFrame, y: UserTarget = None) -> Self:
        """Learn the names of the columns."""
        self.names_ = X.columns
        return self

    def transform(self, X: pl.DataFrame) -> np.ndarray:
        """One column of floats per column."""
        levels = self.levels or {}
        ranks = [
            pl.col(name).replace_strict(
                levels[name], list(range(len(levels[name]))), default=None, return_dtype=pl.Float64
            )
            for name in X.columns
            if name in levels
        ]
        return X.with_columns(ranks).cast(pl.Float64).fill_null(np.nan).to_numpy()


class OneToOneEncoder(Encoder):
    """Base of encoders that change values only."""

    def get_feature_names_out(self, input_features: ArrayLike | None = None) -> np.ndarray:
        """The columns keep their names."""
        return np.asarray(input_features, dtype=object)


class EmptyColumnFiller(OneToOneEncoder):
    """Numbers for a method that takes missing values; a column without a value in training becomes zero."""

    def fit(self, X: UserTable, y: UserTarget = None) -> Self:
        """Find the columns without a value."""
        self.empty_ = np.isnan(np.asarray(X)).all(axis=0)
        return self

    def transform(self, X: UserTable) -> np.ndarray:
        """The columns, with zeros in the empty ones."""
        return np.where(self.empty_, 0.0, np.asarray(X))


class NonNegativeShift(OneToOneEncoder):
    """Columns shifted so that training rows are not negative; new values still below zero become zero."""

    def fit(self, X: UserTable, y: UserTarget = None) -> Self:
        """Find how far each column reaches below zero."""
        self.lift_ = -np.fmin(np.fmin.reduce(np.asarray(X), axis=0), 0.0)  # fmin ignores NaN
        return self

    def transform(self, X: UserTable) -> np.ndarray:
        """Columns without negative numbers."""
        return np.asarray(np.maximum(np.asarray(X) + self.lift_, 0.0))


class LevelPooler(Encoder):
    """Categories with a level for every value; levels with under `least` training rows, and unseen ones, are pooled.

    If no level is rare, an unseen level counts as missing, or, if nothing was missing in training, as the most
    frequent level. A missing value is a level of its own, unless the method takes missing values (`missing`).
    """

    def __init__(self, least: int = 1, missing: bool = False):
        self.least = least
        self.missing = missing

    def fit(self, X: pl.DataFrame, y: UserTarget = None) -> Self:
        """Count the levels of every column."""
        self.names_ = X.columns
        self.known_, self.home_, self.hole_ = {}, {}, {}
        for column in X.cast(pl.String):
            counts = column.drop_nulls().value_counts().sort(["count", column.name], descending=[True, False])
            known = counts.filter(pl.col("count") >= self.least)[column.name].to_list()
            hole = None if self.missing and len(counts) else MISSING_LEVEL if column.null_count() else None
            home = (
                OTHER_LEVEL
                if len(known) < len(counts)
                else MISSING_LEVEL
                if hole
                else None
                if self.missing
                else known[0]
            )
            self.known_[column.name], self.home_[column.name] = known, home
            self.hole_[column.name] = hole if hole or self.missing else home
        return self

    def transform(self, X: pl.DataFrame) -> pl.DataFrame:
        """Columns of text, with levels of training rows only."""
        return (
            X.select(self.names_)
            .cast(pl.String)
            .select(
                pl.when(pl.col(name).is_in(self.known_[name]))
                .then(pl.col(name))
                .when(pl.col(name).is_null())
                .then(pl.lit(self.hole_[name], dtype=pl.String))
                .otherwise(pl.lit(self.home_[name], dtype=pl.String))
                .alias(name)
                for name in self.names_
            )
        )


class CategoryCodeEncoder(Encoder):
    """Categories as codes 0, 1, ... of the levels in training."""

    def fit(self, X: pl.DataFrame, y: UserTarget = None) -> Self:
        """Number the levels of every column."""
        self.names_ = X.columns
        self.levels_ = LevelPooler().fit(X)
        self.codes_ = OrdinalEncoder().fit(self.levels_.transform(X))
        return self

    def transform(self, X: pl.DataFrame) -> np.ndarray:
        """One column of codes per column."""
        return np.asarray(self.codes_.transform(self.levels_.transform(X)))


class OneHotTargetEncoder(Encoder):
    """Categories as numbers: one column per level up to `MAX_ONE_HOT_LEVELS` levels, target encoding above.

    The target encoding of a training row comes from other rows (cross-fitting); that of a rare level is shrunk to the
    overall mean, and an unseen level has the overall mean.
    """

    def fit(self, X: pl.DataFrame, y: UserTarget) -> Self:
        """Learn levels and encodings."""
        self.fit_transform(X, y)
        return self

    def fit_transform(self, X: pl.DataFrame, y: UserTarget, **params: Any) -> np.ndarray:  # type: ignore[override]  # as in scikit-learn
        """Learn, and encode each training row without its own target."""
        counts = X.select(pl.all().drop_nulls().n_unique()).row(0)
        self.few_ = [name for name, count in zip(X.columns, counts, strict=True) if count <= MAX_ONE_HOT_LEVELS]
        self.many_ = [name for name in X.columns if name not in self.few_]
        parts, self.names_ = [np.empty((len(X), 0))], []
        if self.few_:
            self.levels_ = LevelPooler(least=MIN_LEVEL_ROWS).fit(X.select(self.few_))
            self.one_hot_ = OneHotEncoder(drop="if_binary", sparse_output=False, feature_name_combiner=_level_name)
            parts.append(self.one_hot_.fit_transform(self.levels_.transform(X)))
            self.names_ += self.one_hot_.get_feature_names_out().tolist()
        if self.many_:
            kind = "continuous" if np.asarray(y).dtype.kind == "f" else "auto"
            folds = KFold(CROSS_FIT_FOLDS, shuffle=True, random_state=0)
            self.by_target_ = TargetEncoder(target_type=kind, cv=folds)
            parts.append(self.by_target_.fit_transform(_fill_missing_level(X, self.many_), y))
            self.names_ += [f"{name}[target]" for name in self.by_target_.get_feature_names_out()]
        return np.hstack(parts)

    def transform(self, X: pl.DataFrame) -> np.ndarray:
        """Encode new rows."""
        parts = [np.empty((len(X), 0))]
        if self.few_:
            parts.append(self.one_hot_.transform(self.levels_.transform(X)))
        if self.many_:
            parts.append(self.by_target_.transform(_fill_missing_level(X, self.many_)))
        return np.hstack(parts)

    @property
    def sources_(self) -> list[str]:
        """The column that each of them is made from: one per level, or one per class above two."""
        counts = []
        if self.few_:
            dropped = self.one_hot_.drop_idx_ if self.one_hot_.drop_idx_ is not None else [None] * len(self.few_)
            pairs = zip(self.one_hot_.categories_, dropped, strict=True)
            counts += [len(levels) - (first is not None) for levels, first in pairs]
        if self.many_:
            several = self.by_target_.target_type_ == "multiclass"
            counts += [len(self.by_target_.classes_) if several else 1] * len(self.many_)
        return [name for name, count in zip([*self.few_, *self.many_], counts, strict=True) for _ in range(count)]


class CalendarEncoder(Encoder):
    """Dates as days since the first date in training and as those parts of the calendar that vary in training.

    The days of a missing date are NaN. If `fill`, its parts are the median, so that a single column marks the gap.
    """

    def __init__(self, fill: bool = True):
        self.fill = fill

    def fit(self, X: pl.DataFrame, y: UserTarget = None) -> Self:
        """Find the first date and the parts that vary."""
        frame = X.cast(pl.Datetime("us"))
        self.start_ = {column.name: column.dt.epoch("us").min() or 0 for column in frame}  # microseconds
        self.made_ = [
            (column.name, part)
            for column in frame
            for part in DATE_PARTS
            if part == "days" or DATE_PARTS[part](column, 0).drop_nulls().n_unique() > 1
        ]
        self.medians_ = [DATE_PARTS[part](frame[name], self.start_[name]).median() for name, part in self.made_]
        self.names_ = [f"{name}[{part}]" for name, part in self.made_]
        return self

    def transform(self, X: pl.DataFrame) -> np.ndarray:
        """One column of floats per part of each date."""
        frame = X.cast(pl.Datetime("us"))
        columns = []
        for (name, part), median in zip(self.made_, self.medians_, strict=True):
            hole = median if self.fill and part != "days" else np.nan
            columns.append(DATE_PARTS[part](frame[name], self.start_[name]).cast(pl.Float64).fill_null(hole).to_numpy())
        return np.column_stack(columns)

    @property
    def sources_(self) -> list[str]:
        """The date that each of them is a part of."""
        return [name for name, _ in self.made_]


class TextEncoder(Encoder):
    """Text as TF-IDF of its words, reduced to its `TEXT_COMPONENTS` leading directions; missing text has no words.

    Strings without words have their k-grams counted: the inner product of two rows is then the normalised spectrum
    kernel of the strings (`fivefold.kernels.structured.SpectrumKernel`), with more weight on rare k-grams, and the
    directions are kernel principal components. So a kernel machine after it is one on strings, for any number of rows.
    The directions of a column are centred and scaled together, the widest to variance 1: noise stays small in them.
    """

    def fit(self, X: pl.DataFrame, y: UserTarget = None) -> Self:
        """Learn the vocabulary and directions of every column."""
        self.fit_transform(X)
        return self

    def fit_transform(self, X: pl.DataFrame, y: UserTarget = None, **params: Any) -> np.ndarray:
        """Learn, and give the coordinates of the training rows."""
        self.reduced_, self.scales_, self.names_ = {}, {}, []
        parts = [np.empty((len(X), 0))]
        for column in X:
            texts = column.cast(pl.String).fill_null("").to_list()
            words = TfidfVectorizer(sublinear_tf=True, max_features=MAX_VOCABULARY, **_units(texts))
            if any(map(words.build_analyzer(), texts)):
                counts = words.fit_transform(texts)
            else:  # no row has a word, but a vocabulary needs one
                counts = words.fit([OTHER_LEVEL]).transform(texts)
            axes = TruncatedSVD(min(TEXT_COMPONENTS, *counts.shape), algorithm="auto", random_state=0).fit(counts)
            Z = axes.transform(counts)
            self.reduced_[column.name] = words, axes
            self.scales_[column.name] = Z.mean(axis=0), float(Z.std(axis=0).max()) or 1.0
            parts.append(self._scaled(Z, column.name))
            self.names_ += [f"{column.name}[{k + 1}]" for k in range(parts[-1].shape[1])]
        return np.hstack(parts)

    def transform(self, X: pl.DataFrame) -> np.ndarray:
        """Coordinates of new rows."""
        parts = [np.empty((len(X), 0))]
        for name, (words, axes) in self.reduced_.items():
            Z = axes.transform(words.transform(X[name].cast(pl.String).fill_null("").to_list()))
            parts.append(self._scaled(Z, name))
        return np.hstack(parts)

    def _scaled(self, Z: np.ndarray, name: str) -> np.ndarray:
        # models of version 0.1.0 have no scales: a step of their own followed
        mean, spread = vars(self).get("scales_", {}).get(name, (0.0, 1.0))
        return np.asarray((Z - mean) / spread)

    @property
    def sources_(self) -> list[str]:
        """The text that each of them is a direction of."""
        return [name for name, (_, axes) in self.reduced_.items() for _ in range(len(axes.components_))]


def _units(texts: list[str]) -> dict[str, Any]:
    """What is counted in these texts: words, or k-grams of letters where most texts are one string."""
    given = [len(text.split()) for text in texts if any(map(str.isalnum, text))]
    if not given or np.mean(given) >= STRING_MEAN_WORDS:
        return {}
    return {"analyzer": "char", "ngram_range": STRING_GRAMS, "lowercase": False}


def _fill_missing_level(X: pl.DataFrame, names: list[str]) -> pl.DataFrame:
    return X.select(names).cast(pl.String).fill_null(MISSING_LEVEL)


def _level_name(column: str, level: object) -> str:
    return f"{column}[{level}]"
