"""Figures of splits, times, differences, effects and contributions hold the data they claim to show."""

import matplotlib
import numpy as np
import polars as pl
import pytest
from numpy.testing import assert_allclose, assert_array_equal
from sklearn.datasets import load_iris

from fivefold import plot
from fivefold.evaluation import partial_dependence
from fivefold.naive_bayes import GaussianNB

matplotlib.use("Agg")
import matplotlib.pyplot as plt

X, Y = load_iris(return_X_y=True)


@pytest.fixture(autouse=True)
def _close_figures():
    yield
    plt.close("all")


def test_strips_show_every_split_and_the_means():
    scores = np.array([[0.1, 0.2, 0.3], [0.4, 0.2, 0.6]])
    ax = plot.split_strips(["a", "b"], scores, "loss")
    marks = [np.asarray(dots.get_offsets()) for dots in ax.collections]
    assert_array_equal([m[:, 0] for m in marks], scores)
    means = [line.get_xdata()[0] for line in ax.lines[3:]]
    assert_allclose(means, scores.mean(axis=1))
    assert [t.get_text() for t in ax.get_yticklabels()] == ["a", "b"]


@pytest.mark.parametrize("larger", [False, True])
def test_the_line_joins_those_that_no_other_beats_in_both(larger):
    seconds, scores = [0.1, 0.5, 2.0, 1.0], np.array([0.9, 0.5, 0.2, 0.7])
    ax = plot.score_against_time(list("abcd"), seconds, 1 - scores if larger else scores, "s", larger_is_better=larger)
    assert_array_equal(ax.lines[0].get_xdata(), [0.1, 0.5, 2.0])
    assert [text.get_text() for text in ax.texts] == list("abcd")
    ax.figure.canvas.draw()
    assert all("$" not in label.get_text() for label in ax.get_xticklabels(which="both"))  # plain numbers


def test_the_matrix_is_bold_where_differences_are_significant():
    D = np.array([[0, -0.2, -0.5], [0.2, 0, -0.3], [0.5, 0.3, 0]])
    sure = np.array([[0, 0, 1], [0, 0, 0], [1, 0, 0]], dtype=bool)
    ax = plot.difference_matrix(list("abc"), D, sure, "difference")
    assert_array_equal(np.asarray(ax.images[0].get_array()), D)
    bold = {text.get_text() for text in ax.texts if text.get_weight() == "bold"}
    assert len(ax.texts) == 6 and bold == {"-0.5", "0.5"}


def test_effects_show_the_mean_and_single_rows_or_one_line_per_class():
    model = GaussianNB().fit(X, Y)
    found = partial_dependence(model, X, 2, max_values=6)
    one = plot.effect(found, outputs=[1])
    assert_allclose(one.lines[-1].get_ydata(), found.average[:, 1])
    assert len(one.lines) == 41  # 40 rows and the mean
    several = plot.effect(found, outputs=[0, 1, 2])
    assert_allclose([line.get_ydata() for line in several.lines], found.average.T)
    assert [t.get_text() for t in several.get_legend().get_texts()] == ["0", "1", "2"]


def test_bars_have_the_length_and_side_of_the_contributions():
    ax = plot.contribution_bars(["a", "b", "c"], [0.5, -0.25, 0.0], "probability")
    assert_allclose([bar.get_width() for bar in ax.patches], [0.5, -0.25, 0.0])
    assert [text.get_text() for text in ax.texts] == ["+0.5", "-0.25", "+0"]
    large = plot.contribution_bars(["a", "b", "c"], [387.4, -12_345.0, 99.0], "prediction")
    assert [text.get_text() for text in large.texts] == ["+387", "-12,345", "+99"]  # no exponent


def test_the_name_of_a_column_fits_below_its_effect():
    rows = pl.DataFrame({"a_name_that_is_much_too_long_for_the_axis_of_a_small_figure": X[:, 0], "x": X[:, 1]})
    found = partial_dependence(GaussianNB().fit(rows, Y), rows, rows.columns[0], max_values=4)
    assert plot.effect(found).get_xlabel() == "a_name_that_is_much_too_long_…"
