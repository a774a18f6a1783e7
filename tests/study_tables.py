"""Tables for tests of the study, made without a file."""

import numpy as np
import polars as pl

from fivefold.study.tables.dataset import Column, Data


def study_table(X, y, *, kinds=(), levels=(), **more):
    """A matrix or a frame with its target as a study takes them; columns are numbers unless `kinds` says otherwise."""
    frame = (
        X
        if isinstance(X, pl.DataFrame)
        else pl.DataFrame({f"x{j}": column for j, column in enumerate(np.asarray(X).T)})
    )
    kinds, levels = dict(kinds), dict(levels)
    columns = tuple(
        Column(s.name, kinds.get(s.name, "number"), s.drop_nulls().n_unique(), s.null_count(), levels.get(s.name, ()))
        for s in frame
    )
    y = np.asarray(y)
    task = "regression" if y.dtype.kind == "f" else "classification"
    return Data("table", frame, y, "y", task, columns, **more)


def blobs(n=200, K=2, d=3, *, seed=0, apart=1.0, **more):
    """K classes of equal size, named a, b, ..., whose means differ in the first column."""
    rng = np.random.default_rng(seed)
    codes = rng.permutation(np.arange(n) % K)
    X = rng.normal(size=(n, d))
    X[:, 0] += apart * codes
    return study_table(X, np.array(list("abcdefghijkl"))[codes], **more)
