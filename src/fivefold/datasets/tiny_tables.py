"""Tables of a few rows to fit a method on: one per kind of input that the method takes.

The laws fit every method on them, and `fivefold warm` compiles every loop by doing the same.
"""

from __future__ import annotations

from dataclasses import dataclass
from importlib.util import find_spec
from typing import TYPE_CHECKING

import numpy as np
from scipy.sparse import csr_matrix

from fivefold.core.estimators.supervised_learning import Regressor
from fivefold.core.registry import Method
from fivefold.core.types import Codes, Matrix, Table, Target, UserTable, Vector

if TYPE_CHECKING:
    import polars as pl

N_ROWS, N_COLUMNS, N_CLASSES = 60, 4, 3  # of every tiny table


@dataclass(frozen=True)
class TinyTable:
    """Rows and a target; `kind` says what is special about them."""

    kind: str
    X: UserTable
    y: Target


def tiny_tables(method: Method) -> tuple[TinyTable, ...]:
    """Small tables for `method`: dense in both precisions, and sparse, missing, categories if it takes them.

    Examples
    --------
    >>> from fivefold.core.registry import find
    >>> [table.kind for table in tiny_tables(find("Ridge"))][:2]
    ['float64', 'float32']
    """
    takes = method.cls.takes
    rng = np.random.default_rng(0)
    codes = np.arange(N_ROWS) % N_CLASSES
    X = rng.poisson(2.0 + codes[:, None], (N_ROWS, N_COLUMNS)).astype(float)  # (n, d)
    if not takes.positive:
        X = X - 2.0 + rng.normal(0.0, 0.1, X.shape)
    y = _regression_targets(method, X, rng) if issubclass(method.cls, Regressor) else codes
    holes = np.where(rng.random(X.shape) < 0.1, np.nan, X)
    tables: list[tuple[str, UserTable]] = [("float64", X), ("float32", X.astype(np.float32))]
    if takes.sparse:
        tables += [("sparse float64", csr_matrix(X)), ("sparse float32", csr_matrix(X.astype(np.float32)))]
    if takes.missing:
        tables += [("missing float64", holes), ("missing float32", holes.astype(np.float32))]
    if takes.categories and find_spec("polars"):
        tables += [("categories", _with_categories(X, codes))]
    return tuple(TinyTable(kind, Z, y) for kind, Z in tables)


def _regression_targets(method: Method, X: Table, rng: np.random.Generator) -> Vector | Matrix:
    """Targets of a regressor: positive, as some require; two columns if it needs several outputs."""
    y = np.abs(X.sum(axis=1) + rng.normal(size=N_ROWS)) + 0.1
    wanted = method.cls(**method.card.given).__sklearn_tags__().target_tags
    return y if wanted.single_output else np.column_stack([y, -y + X[:, 0]])


def _with_categories(X: Table, codes: Codes) -> pl.DataFrame:
    """The same table as a frame whose last column is text."""
    import polars as pl

    words = np.array(["red", "green", "blue"])[(codes + (X[:, 0] > np.median(X[:, 0]))) % N_CLASSES]
    return pl.DataFrame({**{f"x{j}": X[:, j] for j in range(N_COLUMNS - 1)}, "colour": words})
