"""The table of coefficients beside numbers that statsmodels printed; `ols_summary.json` holds data and results."""

import json
from pathlib import Path

import numpy as np
import pytest
from numpy.testing import assert_allclose

from fivefold.linear_model import LinearRegression

GOLDEN = json.loads((Path(__file__).parent / "ols_summary.json").read_text())
FITS = {
    "with offset": ({}, None),
    "without offset": ({"fit_intercept": False}, None),
    "repeated": ({}, GOLDEN["counts"]),
}
FACTS = {"R^2": "r2", "adjusted R^2": "adjusted", "F": "F", "p of F": "p_of_F"}
VALUES = (
    "estimate",
    "standard_error",
    "statistic",
    "p_value",
    "interval",
    "covariance",
    "dof",
    "log_likelihood",
    "aic",
    "bic",
)


def summary(name, **options):
    settings, counts = FITS[name]
    return LinearRegression(**settings).fit(GOLDEN["X"], GOLDEN["y"], sample_weight=counts).summary(**options)


@pytest.mark.parametrize("value", VALUES)
@pytest.mark.parametrize("name", FITS)
def test_every_number_of_the_table_is_statsmodels(name, value):
    """A weight of two counts as two rows: "repeated" was given to statsmodels with its rows repeated."""
    assert_allclose(getattr(summary(name), value), GOLDEN[name][value], rtol=1e-10, atol=1e-14)


@pytest.mark.parametrize("name", FITS)
def test_facts_above_the_table_are_statsmodels(name):
    facts = summary(name).facts
    for ours, theirs in FACTS.items():
        assert facts[ours] == pytest.approx(GOLDEN[name][theirs], rel=1e-9), ours


@pytest.mark.parametrize("name", ["with offset", "without offset"])
def test_the_condition_number_is_statsmodels(name):
    assert summary(name).facts["condition number"] == pytest.approx(GOLDEN[name]["condition"], rel=1e-10)


def test_weights_are_rows_in_the_condition_too():
    """statsmodels has the repeated rows; the weighted moments are the same."""
    assert summary("repeated").facts["condition number"] == pytest.approx(GOLDEN["repeated"]["condition"], rel=1e-10)


def test_another_level_has_another_interval():
    wide, narrow = (summary("with offset", level=level).interval for level in (0.99, 0.5))
    assert (wide[:, 0] < narrow[:, 0]).all() and (narrow[:, 1] < wide[:, 1]).all()
    assert_allclose(wide.mean(axis=1), narrow.mean(axis=1))


def test_the_table_reads_well():
    text = str(summary("with offset"))
    head, *rest = text.splitlines()
    assert head == "Least squares"
    assert any(line.split()[:2] == ["rows", "12"] for line in rest)
    lines = {line.split()[0]: line.split()[1:] for line in rest if line}
    assert lines["intercept"][0] == f"{GOLDEN['with offset']['estimate'][0]:.6g}"
    assert lines["x1"][3] == f"{GOLDEN['with offset']['p_value'][2]:.4f}"
    assert len({len(line) for line in text.split("\n\n")[1].splitlines()}) == 1  # columns line up


def test_columns_of_the_table_are_a_data_frame_in_waiting():
    said = summary("with offset").to_dict()
    assert list(said) == ["name", "estimate", "std. error", "t", "p", "95% from", "to"]
    assert said["name"] == ["intercept", "x0", "x1", "x2"]
    assert np.shape(said["estimate"]) == (4,)
