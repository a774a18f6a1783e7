"""The floor: parameters, admission, files, progress."""

import io
import subprocess
import sys
from dataclasses import KW_ONLY, dataclass
from typing import Literal

import numpy as np
import pandas as pd
import polars as pl
import pyarrow as pa
import pytest
from hypothesis import given
from hypothesis import strategies as st
from scipy import sparse

from fivefold.core.admission.tables import as_rows
from fivefold.core.admission.takes import Takes
from fivefold.core.console import fit_progress
from fivefold.core.estimators.base import Transformer, learned
from fivefold.core.estimators.params import Count, Fraction, NonNegative, OpenFraction, Positive, Seed, allows, describe
from fivefold.core.registry import find, methods
from fivefold.core.storage import model_files


@dataclass(frozen=True)
class Kept:
    table: np.ndarray


class Keeper(Transformer):
    """Keeps what admission hands it."""

    scale: Positive = 1.0
    _: KW_ONLY
    mode: Literal["a", "b"] = "a"

    takes = Takes(missing=True, categories=True)
    table_ = learned("table")

    def _fit(self, X):
        self.model_ = Kept(X)

    def _update(self, X):
        self.model_ = Kept(X)

    def transform(self, X):
        return self._admit(X)


class Coder(Keeper):
    """Takes categories, and no missing values."""

    takes = Takes(categories=True)


class Plain(Keeper):
    """Takes complete numbers only."""

    takes = Takes()


def test_fields_are_the_constructor_by_position_up_to_the_star():
    assert Keeper(2.0).scale == 2.0
    assert Keeper(mode="b").get_params() == {"scale": 1.0, "mode": "b"}
    with pytest.raises(TypeError):
        Keeper(2.0, "b")


@pytest.mark.parametrize(
    ("hint", "good", "bad"),
    [
        (Count, [1, np.int64(3)], [0, -1, 1.5, True, "1", None]),
        (Positive, [1e-9, 1, np.float32(2)], [0, -1, np.nan, np.inf, "a", True]),
        (NonNegative, [0, 3.5], [-1e-9, np.inf, None]),
        (Fraction, [0, 0.5, 1], [-0.1, 1.1]),
        (OpenFraction, [0.5], [0, 1]),
        (Seed, [None, 3, np.random.RandomState(0)], ["a", 1.5]),
        (Literal["a", None], ["a", None], ["b", 0]),
        (Count | Literal["auto"], [3, "auto"], ["none", 0]),
        (bool, [True, np.True_], [0, 1, None]),
    ],
)
def test_a_declaration_allows_what_it_says(hint, good, bad):
    assert all(allows(hint, value) for value in good)
    assert not any(allows(hint, value) for value in bad)
    assert describe(hint)


ROWS = {"number": [1.0, 2.0, None], "flag": [True, None, False], "word": ["x", None, "y"], "whole": [1, 2, 3]}
EXPECTED = [[1, 1, 0, 1], [2, np.nan, np.nan, 2], [np.nan, 0, 1, 3]]
MAKERS = {
    "pandas": pd.DataFrame,
    "pandas nullable": lambda rows: pd.DataFrame(rows).convert_dtypes(),
    "pandas category": lambda rows: pd.DataFrame(rows).astype({"word": "category"}),
    "polars": pl.DataFrame,
    "polars category": lambda rows: pl.DataFrame(rows).with_columns(pl.col("word").cast(pl.Enum(["x", "y"]))),
    "pyarrow": pa.table,
}


@pytest.mark.parametrize("maker", MAKERS)
def test_frames_are_read_alike_whatever_their_library(maker):
    keeper = Keeper().fit(MAKERS[maker](ROWS))
    np.testing.assert_array_equal(keeper.table_, EXPECTED)
    assert keeper.categories_in_.values == {1: (False, True), 2: ("x", "y")}
    assert list(keeper.feature_names_in_) == list(ROWS)


def renewed(maker, words):
    """The table with other words; the type of polars that has a list of words is not kept."""
    return (pl.DataFrame if maker == "polars category" else MAKERS[maker])({**ROWS, "word": words})


@pytest.mark.parametrize("maker", MAKERS)
def test_an_unseen_category_is_a_missing_value_where_both_are_taken(maker):
    keeper = Keeper().fit(MAKERS[maker](ROWS))
    found = keeper.transform(renewed(maker, ["y", "z", None]))
    np.testing.assert_array_equal(found[:, 2], [1, np.nan, np.nan])
    assert keeper.categories_in_.values[2] == ("x", "y")


@pytest.mark.parametrize("maker", MAKERS)
def test_an_unseen_category_is_refused_with_column_value_and_the_known_ones(maker):
    """By a method without missing values, and by one that learns from a further batch: there is no place for it."""
    whole = {name: [v for v in values if v is not None] * 6 for name, values in ROWS.items()}
    rows = MAKERS[maker]({name: values[:6] for name, values in whole.items()})
    known = "which fit did not see. Known: 'x', 'y'. Map it to one of these"
    with pytest.raises(ValueError, match=f"Coder: column 'word' holds 'z', {known} or fit again with it"):
        Coder().fit(rows).transform(renewed(maker, ["x", "z", "y"]))
    with pytest.raises(ValueError, match=f"Keeper: column 'word' holds 'z', {known}, to a missing value, or fit again"):
        Keeper().fit(rows).partial_fit(renewed(maker, ["x", "z", None]))


def test_a_column_of_another_type_than_in_fit_is_no_column_of_new_categories():
    keeper = Keeper().fit(pd.DataFrame(ROWS))
    with pytest.raises(ValueError, match=r"column 'word' holds 1\.0 where fit saw 'x', 'y'\. Give the column"):
        keeper.transform(pd.DataFrame({**ROWS, "word": [1.0, 2.0, 3.0]}))
    with pytest.raises(ValueError, match=r"column 'number' holds 'one' where fit saw numbers\. Give the column"):
        keeper.transform(pd.DataFrame({**ROWS, "number": ["one", None, "two"]}))
    gaps = keeper.transform(pd.DataFrame({**ROWS, "word": [None, None, None], "number": [None, None, None]}))
    assert np.isnan(gaps[:, [0, 2]]).all()


LEVELS = pd.DataFrame({"level": pd.Categorical([20, 10, 30, 10]), "number": [1.0, 2.0, 3.0, 4.0]})


@pytest.mark.filterwarnings("ignore:X does not have valid feature names")
def test_levels_that_are_numbers_are_found_by_value_in_an_array():
    """Not by their codes: 10 is level 0 whether a frame or an array holds it."""
    keeper = Keeper().fit(LEVELS)
    asked = np.array([[30.0, 1.0], [10, 2], [np.nan, 3], [25, 4]])
    for X in (asked, asked.astype(np.float32), asked.astype(object), pd.DataFrame(asked, columns=list(LEVELS))):
        np.testing.assert_array_equal(keeper.transform(X), [[2, 1], [0, 2], [np.nan, 3], [np.nan, 4]])
    assert asked[0, 0] == 30
    with pytest.raises(ValueError, match=r"column 'level' holds 25\.0, which fit did not see\. Known: 10, 20, 30"):
        Coder().fit(LEVELS).transform(asked[3:])
    with pytest.raises(ValueError, match="column 'level' contains infinity"):
        keeper.transform(np.array([[np.inf, 1.0]]))


@pytest.mark.filterwarnings("ignore:X does not have valid feature names")
def test_an_array_of_numbers_has_no_level_of_words():
    keeper = Keeper().fit(pd.DataFrame({"word": ["x", "y"]}))
    with pytest.raises(ValueError, match=r"column 'word' holds 1\.0 where fit saw 'x', 'y'"):
        keeper.transform([[1.0]])
    assert np.isnan(keeper.transform([[np.nan]])).all()


@pytest.mark.parametrize("levels", [[3, 1, 2], [0.5, 1.5, 2.5]])
def test_levels_that_are_numbers_are_numbers_to_a_method_without_categories(levels):
    column = pd.Series([levels[0], levels[2], levels[1]]).astype(pd.CategoricalDtype(sorted(levels), ordered=True))
    np.testing.assert_array_equal(Plain().fit(pd.DataFrame({"a": column})).table_[:, 0], column.astype(float))


def test_a_text_column_without_a_value_has_no_categories_and_any_is_new():
    keeper = Keeper().fit(pd.DataFrame({**ROWS, "word": [None, None, None]}))
    assert keeper.categories_in_.values[2] == ()
    assert np.isnan(keeper.transform(pd.DataFrame(ROWS))[:, 2]).all()


@pytest.mark.parametrize("maker", ["pandas", "polars", "pyarrow"])
def test_a_column_of_nulls_holds_no_text_and_is_to_be_dropped_where_values_may_not_be_missing(maker):
    frame = MAKERS[maker]({"number": [1.0, 2.0, 3.0], "nothing": [None, None, None]})
    with pytest.raises(ValueError, match="Plain: column 'nothing' contains NaN in 3 of 3 rows.*drop that column"):
        Plain().fit(frame)
    assert np.isnan(Keeper().fit(frame).table_[:, 1]).all()


def test_text_in_an_array_becomes_codes_for_a_method_that_takes_categories():
    keeper = Keeper().fit(np.array([["b", 1.5], ["a", 2.5], [None, None]], dtype=object))
    np.testing.assert_array_equal(keeper.table_, [[1, 1.5], [0, 2.5], [np.nan, np.nan]])


def test_a_refit_without_categories_forgets_them():
    keeper = Keeper().fit(pd.DataFrame(ROWS)).fit(pd.DataFrame({"a": [1.0, 2.0]}))
    assert "categories_in_" not in vars(keeper)
    assert "categories_in_" not in vars(keeper.fit(pd.DataFrame(ROWS)).fit(np.ones((3, 2))))


def test_dates_are_refused_with_a_cure():
    frame = pd.DataFrame({"day": pd.to_datetime(["2020-01-01", "2020-01-02"])})
    with pytest.raises(ValueError, match="column 'day' has type Datetime.*turn it into numbers"):
        Plain().fit(frame)


def test_sparse_matrices_are_refused_by_methods_that_do_not_take_them():
    with pytest.raises(TypeError, match="dense data is required"):
        Plain().fit(sparse.csr_array(np.eye(3)))


def test_a_column_of_numbers_kept_as_objects_is_read_as_numbers():
    frame = pd.DataFrame({"a": pd.Series([1, None, 2.5], dtype=object)})
    np.testing.assert_array_equal(Keeper().fit(frame).table_, [[1], [np.nan], [2.5]])


class Comparer(Keeper):
    """Compares numbers, and so takes huge ones."""

    takes = Takes(huge=True)


def test_huge_finite_numbers_are_not_taken_for_infinity():
    """They are taken where numbers are only compared; their squares would overflow without a word elsewhere."""
    X = np.full((3, 2), 1e308)
    np.testing.assert_array_equal(Comparer().fit(X).table_, X)
    X[0] = -X[0]  # the sum of which is finite
    with pytest.raises(ValueError, match=r"column 0 contains numbers beyond 1e\+100 in 3 of 3 rows.*divide the column"):
        Plain().fit(X)
    X = np.full((3, 2), 1e20, dtype=np.float32)
    with pytest.raises(ValueError, match=r"beyond 1e\+18 in 3 of 3 rows.*or give float64"):
        Plain().fit(X)
    assert Plain().fit(X.astype(np.float64)).table_.dtype == np.float64


@pytest.mark.parametrize("value", [2**70, 10**400, 1e308, 1e-308, np.nan])
def test_numbers_that_no_sum_bears_are_refused_as_parameters(value):
    with pytest.raises(ValueError, match="the 'scale' parameter must be a float in"):
        Keeper(scale=value).fit([[1.0]])


def test_an_error_in_fit_leaves_no_stale_model():
    keeper = Plain().fit([[1.0]])
    with pytest.raises(ValueError, match="NaN"):
        keeper.fit([[np.nan]])
    assert not keeper.__sklearn_is_fitted__()


def test_a_tensor_is_admitted_as_an_array():
    import torch

    X = torch.arange(6, dtype=torch.float32).reshape(3, 2)
    table = Plain().fit(X).table_
    assert isinstance(table, np.ndarray) and table.dtype == np.float32
    np.testing.assert_array_equal(table, X.numpy())


@given(st.integers(1, 5), st.integers(1, 5))
def test_points_in_columns_and_points_in_rows_are_the_same_table(n, d):
    """Row A-04."""
    X = np.arange(n * d, dtype=float).reshape(n, d)
    if n >= d:
        np.testing.assert_array_equal(as_rows(X.T, layout="columns"), as_rows(X))
    else:
        with pytest.warns(UserWarning, match="if it is transposed, pass layout"):
            as_rows(X)


def test_a_file_with_a_foreign_type_is_not_read(tmp_path):
    import skops.io
    from sklearn.linear_model import LinearRegression
    from sklearn.pipeline import FunctionTransformer

    skops.io.dump(FunctionTransformer(sys.exit), tmp_path / "bad.skops")
    with pytest.raises(ValueError, match="types that are not trusted: sys.exit; it was not read"):
        model_files.load(tmp_path / "bad.skops")
    skops.io.dump(LinearRegression(), tmp_path / "fine.skops")
    assert isinstance(model_files.load(tmp_path / "fine.skops"), LinearRegression)


class Terminal(io.StringIO):
    def isatty(self):
        return True


def test_a_long_fit_draws_a_line_in_a_terminal_and_clears_it(monkeypatch):
    screen = Terminal()
    monkeypatch.setattr(sys, "stderr", screen)
    monkeypatch.setattr(fit_progress, "SECONDS_BEFORE_LINE", 0.0)
    monkeypatch.setattr(fit_progress, "SECONDS_BETWEEN_LINES", 0.0)
    with fit_progress.fit_steps(Plain(), "step", 3) as monitor:
        assert not monitor(None, 1.5)
        assert "Plain: step 1 of at most 3, value 1.5" in screen.getvalue()
    assert screen.getvalue().endswith(" \r")


def test_a_short_fit_and_a_fit_outside_a_terminal_draw_nothing(monkeypatch):
    for screen, patience in ((Terminal(), 60.0), (io.StringIO(), 0.0)):
        monkeypatch.setattr(sys, "stderr", screen)
        monkeypatch.setattr(fit_progress, "SECONDS_BEFORE_LINE", patience)
        with fit_progress.fit_steps(Plain(), "step", 3) as monitor:
            monitor(None, 1.0)
        assert screen.getvalue() == ""


def test_the_registry_finds_methods_by_name_and_helps_with_a_slip():
    assert find("kmeans") is next(m for m in methods() if m.name == "KMeans")
    with pytest.raises(KeyError, match="no method is called 'KMeens'; did you mean KMeans"):
        find("KMeens")


def test_model_files_do_not_import_other_array_libraries():
    """scikit-learn's adapters to them would: seconds of every study where they are installed."""
    code = """
import sys
from fivefold.core.storage import model_files
model_files._skops()
assert not {"torch", "dask", "cupy"} & set(sys.modules)
assert not set(model_files.ADAPTERS) & set(sys.modules)
import sklearn.externals.array_api_compat.dask as adapter
assert adapter.__file__
"""
    subprocess.run([sys.executable, "-c", code], check=True)
