"""The critical-difference diagram shows the ranks and the groups it was given."""

import matplotlib
import numpy as np
import pytest
from numpy.testing import assert_allclose

from fivefold.evaluation.comparison import friedman_test
from fivefold.plot.critical_difference import critical_difference

matplotlib.use("Agg")
import matplotlib.pyplot as plt


@pytest.fixture(autouse=True)
def _close_figures():
    yield
    plt.close("all")


@pytest.fixture
def found():
    S = np.random.default_rng(0).normal(size=(20, 7)) + np.linspace(0, 2, 7)
    return friedman_test(S, list("abcdefg"), [f"set {i}" for i in range(20)])


def drawn(ax, gid):
    return [line.get_xydata() for line in ax.lines if line.get_gid() == gid]


def test_every_learner_hangs_at_its_mean_rank_with_its_name(found):
    ax = critical_difference(found)
    assert_allclose(sorted(P[0, 0] for P in drawn(ax, "learner")), sorted(found.mean_ranks))
    texts = " ".join(text.get_text() for text in ax.texts)
    for name, rank in zip(found.learners, found.mean_ranks, strict=True):
        assert f"{name}  {rank:.2f}" in texts or f"{rank:.2f}  {name}" in texts


def test_a_bar_spans_each_group(found):
    bars = drawn(critical_difference(found), "group")
    rank = dict(zip(found.learners, found.mean_ranks, strict=True))
    assert len(bars) == len(found.groups) > 1
    for bar, group in zip(bars, found.groups, strict=True):
        assert_allclose(bar[:, 0], [rank[group[0]], rank[group[-1]]], atol=0.1)  # they reach a little over
    assert len({bar[0, 1] for bar in bars}) == len(bars)  # none lies on another


def test_the_critical_difference_is_drawn_to_scale(found):
    _, given = plt.subplots()
    ax = critical_difference(found, ax=given)
    assert ax is given
    (bar,) = drawn(ax, "critical difference")
    assert np.ptp(bar[:, 0]) == pytest.approx(found.critical_difference)


def test_names_stay_within_the_figure_and_off_each_other(found):
    names = ["LinearDiscriminantAnalysis", "b", "HistGradientBoosting", "d", "e", "MajorityClassifier", "Ridge"]
    long = friedman_test(np.random.default_rng(0).normal(size=(9, 7)), names, [str(i) for i in range(9)])
    for result in (found, long):
        ax = critical_difference(result)
        ax.figure.canvas.draw()
        boxes = [text.get_window_extent() for text in ax.texts]
        whole = ax.figure.bbox
        assert all(whole.x0 <= box.x0 and box.x1 <= whole.x1 and whole.y0 <= box.y0 for box in boxes)
        assert not any(a.overlaps(b) for i, a in enumerate(boxes) for b in boxes[i + 1 :])
