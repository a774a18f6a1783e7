"""Near-singularity: what is found in tables that were made nearly singular, and what ridge does to them."""

import numpy as np
import pandas as pd
import pytest
from numpy.testing import assert_allclose
from sklearn.preprocessing import StandardScaler

from fivefold.linear_model import LinearRegression, RedundantFeatures, diagnose


def columns(n=200, gap=1e-3, seed=0):
    """x3 is nearly x0, x4 nearly x1 - x2, in units of their own; x5 is by itself."""
    rng = np.random.default_rng(seed)
    X = rng.normal(size=(n, 6))
    X[:, 3] = X[:, 0] + gap * X[:, 3]
    X[:, 4] = 1e6 * (X[:, 1] - X[:, 2] + gap * X[:, 4])
    return X


def test_groups_are_the_columns_that_were_made_dependent():
    found = diagnose(columns())
    assert found.tiny == 2
    assert set(found.groups) == {("x0", "x3"), ("x1", "x2", "x4")}


def test_well_separated_columns_have_no_group():
    found = diagnose(columns(gap=1.0))
    assert found.tiny == 0 and found.groups == ()
    assert "Ridge" not in str(found)


def test_variance_inflation_is_that_of_regressing_a_column_on_the_others():
    """1 / (1 - R^2), by a fit for each column."""
    X = columns(gap=0.1)
    found = diagnose(X)
    for j in range(X.shape[1]):
        others = np.delete(X, j, axis=1)
        r2 = LinearRegression().fit(others, X[:, j]).score(others, X[:, j])
        assert found.inflation[j] == pytest.approx(1 / (1 - r2), rel=1e-6)


def test_shares_of_the_dimensions_add_up_for_each_coefficient():
    assert_allclose(diagnose(columns()).proportions.sum(axis=0), 1, rtol=1e-12)


def test_units_do_not_change_indices_nor_groups():
    X = columns()
    one, other = diagnose(X), diagnose(X * 10.0 ** np.arange(-3, 3))
    assert_allclose(one.index, other.index, rtol=1e-6)
    assert one.groups == other.groups
    assert one.condition != pytest.approx(other.condition, rel=0.1)


@pytest.mark.parametrize("standardised", [False, True])
def test_the_penalty_it_names_reaches_the_condition_asked_for(standardised):
    X = columns()
    found = diagnose(X)
    alpha = found.alpha_for(900.0, standardised=standardised)
    Z = StandardScaler().fit_transform(X) if standardised else X - X.mean(axis=0)
    assert np.linalg.cond(Z.T @ Z + alpha * np.eye(6)) == pytest.approx(900, rel=1e-6)
    assert found.with_ridge(alpha, standardised=standardised)[1] == pytest.approx(900, rel=1e-9)
    assert diagnose(columns(gap=1.0)).alpha_for(1e20) == 0


def test_weights_are_rows():
    X = columns(50)
    w = np.random.default_rng(1).integers(1, 4, 50)
    weighted, repeated = diagnose(X, w), diagnose(X.repeat(w, axis=0))
    # values spread over nine digits: the least has seven
    assert_allclose(weighted.singular, repeated.singular, rtol=1e-6)
    assert_allclose(weighted.index, repeated.index, rtol=1e-8)
    assert weighted.weight == repeated.weight


def test_a_constant_column_is_an_exact_dependency():
    """Its mean, 0.1, is not exact in binary: rounding must not pass for a direction."""
    X = columns(gap=1.0)
    X[:, 2] = 0.1
    found = diagnose(X)
    assert found.index[-1] == np.inf and found.tiny == 1
    assert diagnose(X, centred=False).index[-1] < 100


def test_fewer_rows_than_columns_leave_dimensions_without_any_length():
    found = diagnose(columns(4))
    assert found.index.shape == (6,) and found.tiny >= 3
    assert found.condition > 1e12


def test_the_report_names_columns_of_a_frame_and_the_cure():
    frame = pd.DataFrame(columns(), columns=list("abcdef"))
    text = str(diagnose(frame))
    assert "nearly dependent dimensions: 2" in text
    assert ": a, d" in text and ": b, c, e" in text
    assert "take Ridge: alpha = " in text


def test_redundant_features_keep_the_first_of_each_group_and_its_name():
    frame = pd.DataFrame(columns(gap=0.0), columns=list("abcdef"))
    keep = RedundantFeatures().fit(frame)
    assert list(keep.get_feature_names_out()) == ["a", "b", "c", "f"]
    assert keep.redundant_ == {3: (0,), 4: (1, 2)}


def test_a_table_of_constants_is_refused():
    with pytest.raises(ValueError, match="all 2 columns are constant"):
        RedundantFeatures().fit(np.ones((5, 2)))
