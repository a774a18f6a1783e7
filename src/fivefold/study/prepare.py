"""Columns made ready for a method, inside the folds: what is learned here is learned from training rows only.

numbers       as they are where the method takes missing values, else the median and a flag;
              scaled to mean 0 and variance 1 unless the method wants counts or works column by column
categories    as they are where the method takes them, else one column a category
"""

from __future__ import annotations

from typing import Any, Self

import polars as pl
from sklearn.compose import ColumnTransformer
from sklearn.impute import SimpleImputer
from sklearn.pipeline import make_pipeline
from sklearn.preprocessing import FunctionTransformer, OneHotEncoder, StandardScaler

from fivefold.core._sklearn import BaseEstimator, TransformerMixin
from fivefold.core.data import Takes


class Known(TransformerMixin, BaseEstimator):
    """Categories that training did not see become missing, or the commonest one where nothing may be missing."""

    def __init__(self, missing: bool = False):
        self.missing = missing

    def fit(self, X: pl.DataFrame, y: Any = None) -> Self:
        """Remember the categories of every column."""
        self.categories_ = {column.name: column.drop_nulls().unique().sort() for column in X}
        self.commonest_ = {column.name: column.drop_nulls().mode().sort().first() for column in X}
        return self

    def transform(self, X: pl.DataFrame) -> pl.DataFrame:
        """The columns with known categories only."""
        known = [
            pl.when(pl.col(name).is_in(values.implode()))
            .then(pl.col(name))
            .otherwise(None if self.missing else pl.lit(self.commonest_[name]))
            .alias(name)
            for name, values in self.categories_.items()
        ]
        return X.select(known)

    def get_feature_names_out(self, input_features: Any = None) -> list[str]:
        """The columns keep their names."""
        return list(self.categories_)


def prepare(takes: Takes, numbers: list[str], categories: list[str]) -> ColumnTransformer:
    """What turns columns of a study's table into what a method takes."""
    steps: list[Any] = []
    if not takes.missing:
        steps.append(SimpleImputer(strategy="median", add_indicator=True, keep_empty_features=True))
    if not (takes.positive or takes.categories):
        steps.append(StandardScaler())
    encode = (
        Known(missing=takes.missing)
        if takes.categories
        else OneHotEncoder(handle_unknown="ignore", drop="if_binary", sparse_output=False)
    )
    ready = ColumnTransformer(
        [
            (
                "numbers",
                make_pipeline(*steps) if steps else FunctionTransformer(feature_names_out="one-to-one"),
                numbers,
            ),
            ("categories", encode, categories),
        ],
        verbose_feature_names_out=False,
    )
    return ready.set_output(transform="polars") if takes.categories else ready
