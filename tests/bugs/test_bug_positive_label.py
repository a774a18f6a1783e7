"""`positive=1` was the default of counts, thresholds and calibration: where no label is 1, all were negative."""

import numpy as np
import pytest
from matplotlib.figure import Figure

from fivefold.evaluation import ConfusionCounts, brier, reliability
from fivefold.evaluation.metrics import is_positive
from fivefold.evaluation.thresholds import sweep_thresholds
from fivefold.plot import classification

Y01 = np.array([0, 1, 0, 1, 1, 0, 1, 0])
P = np.array([0.1, 0.8, 0.4, 0.7, 0.3, 0.2, 0.9, 0.6])
PAIRS = [("no", "yes"), (1, 2), (-1, 1), (False, True), (2.5, 7.5)]


def asked(y, *, positive=None):
    """Every judgement of two classes, as numbers."""
    counts, found = sweep_thresholds(y, P, positive=positive).counts, reliability(y, P, bins=4, positive=positive)
    curves = (classification.roc, classification.precision_recall)
    drawn = [curve(y, P, positive=positive, ax=Figure().subplots()).lines[-1].get_xydata() for curve in curves]
    return [counts.tp, counts.fp, found.observed, [brier(y, P, positive=positive).score], *drawn]


@pytest.mark.parametrize("pair", PAIRS)
def test_the_greater_of_two_labels_is_the_positive_one(pair):
    y, guess = np.array(pair)[Y01], np.array(pair)[(P > 0.5).astype(int)]
    assert (
        ConfusionCounts.from_labels(y, guess)
        == ConfusionCounts(tp=3, fp=1, fn=1, tn=3)
        == ConfusionCounts.from_labels(y, guess, positive=pair[1])
    )
    for found, expected in zip(asked(y), asked(Y01), strict=True):
        np.testing.assert_array_equal(found, expected)


def test_a_named_label_is_held_against_all_others():
    y, guess = [1, 2, 3, 2], [2, 2, 3, 1]
    assert ConfusionCounts.from_labels(y, guess, positive=2) == ConfusionCounts(tp=1, fp=1, fn=1, tn=1)
    three = np.array(["a", "b", "c"])[[0, 1, 2, 1, 1, 0, 1, 2]]
    for found, expected in zip(asked(three, positive="b"), asked(three == "b"), strict=True):
        np.testing.assert_array_equal(found, expected)


@pytest.mark.parametrize(
    ("y", "positive", "words"),
    [
        (["a", "b", "c"] * 2 + ["a", "b"], None, "y holds 3 .*'a', 'b', 'c'.*Name the positive label"),
        (["a"] * 8, None, "y holds 1 .*'a'"),
        (["a", "b"] * 4, "B", "'a', 'b'; got 'B'"),
        ([0, 1] * 4, "1", "0, 1; got '1'"),
    ],
)
def test_what_is_not_clear_is_refused(y, positive, words):
    for judged in (
        lambda: ConfusionCounts.from_labels(y, y, positive=positive),
        lambda: sweep_thresholds(y, P, positive=positive),
        lambda: brier(y, P, positive=positive),
        lambda: reliability(y, P, positive=positive),
        lambda: classification.roc(y, P, positive=positive, ax=Figure().subplots()),
        lambda: classification.precision_recall(y, P, positive=positive, ax=Figure().subplots()),
    ):
        with pytest.raises(ValueError, match=words):
            judged()


def test_codes_are_two_labels_even_where_the_rows_hold_one():
    assert not is_positive([0, 0]).any() and is_positive([1.0, 1.0]).all()
    assert not is_positive([-1, -1], 1).any() and not is_positive([False], True).any()
    assert ConfusionCounts.from_labels([0, 0], [0, 1]) == ConfusionCounts(tp=0, fp=1, fn=0, tn=1)
