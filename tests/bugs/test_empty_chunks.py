"""Chunks without rows, such as partitions of which a query leaves nothing, were refused as empty tables."""

from itertools import pairwise

import dask
import dask.array as da
import dask.dataframe as dd
import numpy as np
import pandas as pd
import pyarrow.parquet as pq
import pytest
from sklearn.base import clone

from fivefold.data import Chunks
from fivefold.decomposition import PCA
from fivefold.ensemble import HistGradientBoostingClassifier
from fivefold.linear_model import LinearRegression, LogisticRegression
from fivefold.naive_bayes import GaussianNB, MixedNB

ROWS = 120
CUTS = (0, 0, 50, 50, ROWS, ROWS)  # the first, the third and the last chunk have no rows
METHODS = [
    GaussianNB(),
    MixedNB(),
    LogisticRegression(),
    LinearRegression(),
    PCA(2, random_state=0),
    HistGradientBoostingClassifier(max_iter=3, early_stopping=False, random_state=0),
]


def rows():
    X = np.random.RandomState(0).normal(size=(ROWS, 3))
    return X, (X[:, 0] > 0).astype(int)


def cut(a):
    return [a[lo:hi] for lo, hi in pairwise(CUTS)]


def answers(model, X):
    return [np.asarray(getattr(model, name)(X)) for name in ("predict", "transform") if hasattr(model, name)]


@pytest.mark.parametrize("method", METHODS, ids=lambda method: type(method).__name__)
@pytest.mark.parametrize("kind", ["arrays", "frames", "dask array", "dask frame"])
def test_chunks_without_rows_are_passed_over(method, kind):
    X, y = rows()
    table_of_all = X if "array" in kind else pd.DataFrame(X, columns=list("abc"))
    tables = cut(table_of_all)
    if kind == "dask array":
        table = da.concatenate([da.from_array(part, chunks=part.shape) for part in tables])
    elif kind == "dask frame":
        table = dd.from_map(lambda i: tables[i], range(len(tables)), meta=tables[0])
    else:
        table = Chunks(tables)
    targets = Chunks(cut(y)) if kind == "arrays" else y
    with dask.config.set(scheduler="synchronous"):
        model = clone(method).fit(table, targets)
        whole = clone(method).fit(table_of_all, y)
        for found, wanted in zip(answers(model, table), answers(whole, table_of_all), strict=True):
            np.testing.assert_allclose(found, wanted, rtol=1e-9, atol=1e-10)
        if hasattr(model, "score"):
            assert model.score(table, targets) == pytest.approx(whole.score(table_of_all, y), rel=1e-10)


def test_nothing_but_chunks_without_rows_is_refused_as_such():
    X, y = rows()
    model = GaussianNB().fit(X, y)
    nothing = da.from_array(X, chunks=(60, 3))[:0]
    for table in (Chunks([X[:0], X[:0]]), nothing):
        with pytest.raises(ValueError, match="GaussianNB: there are no chunks, or no rows in them"):
            GaussianNB().fit(table, y[:0])
    with pytest.raises(ValueError, match="GaussianNB: there are no chunks, or no rows in them"):
        model.predict(Chunks([X[:0]]))
    with pytest.raises(ValueError, match="GaussianNB: there are no rows of positive weight: nothing to score"):
        model.score(Chunks([X[:0]]), y[:0])


def test_files_without_rows_are_passed_over(tmp_path):
    X, y = rows()
    frame = pd.DataFrame(X, columns=list("abc")).assign(y=y)
    for i, part in enumerate(cut(frame)):
        part.to_parquet(tmp_path / f"{i}.parquet", index=False)
    assert pq.read_metadata(tmp_path / "0.parquet").num_rows == 0
    model = GaussianNB().fit(Chunks(tmp_path), "y")
    np.testing.assert_allclose(model.theta_, GaussianNB().fit(X, y).theta_, rtol=1e-12)
    assert len(model.predict(Chunks(tmp_path))) == ROWS


@pytest.mark.parametrize("far", [0.0, 1e6], ids=["near zero", "far from zero"])
def test_rows_of_weight_zero_may_fill_the_first_chunk(far):
    """The rows that tell how far from zero the columns are were looked for in the first chunk alone."""
    X, y = rows()
    w = (np.arange(ROWS) >= 50).astype(float)
    model = LogisticRegression(tol=1e-10).fit(Chunks([X[:50] + far, X[50:] + far]), y, sample_weight=w)
    whole = LogisticRegression(tol=1e-10).fit(X[50:] + far, y[50:])
    np.testing.assert_allclose(model.coef_, whole.coef_, rtol=1e-6)
