"""Data sets that come with scikit-learn, by name, as one frame with the target in its last column."""

from __future__ import annotations

from typing import TYPE_CHECKING

import numpy as np
import sklearn.datasets

if TYPE_CHECKING:
    import polars as pl

EMBEDDED = ("breast_cancer", "diabetes", "digits", "iris", "wine")
TARGET_COLUMN = "target"


def load_embedded(name: str) -> pl.DataFrame:
    """The data set of that name: columns of floats, then `target`: names of classes, or floats.

    Examples
    --------
    >>> load_embedded("iris").shape
    (150, 5)
    """
    import polars as pl

    bunch = getattr(sklearn.datasets, f"load_{name}")()
    columns = {str(column): np.asarray(bunch.data[:, j], float) for j, column in enumerate(bunch.feature_names)}
    classes = bunch.get("target_names")
    target = bunch.target.astype(float) if classes is None else np.asarray(classes).astype(str)[bunch.target]
    return pl.DataFrame({**columns, TARGET_COLUMN: target})
