"""The ranking figure holds the projections it claims to show."""

import matplotlib
import numpy as np
import pytest
from numpy.testing import assert_allclose

from examples.plot_ranking import POINTS, RANKS, draw
from fivefold.plot import ranking_projection
from fivefold.rank import LinearRanker

matplotlib.use("Agg")
import matplotlib.pyplot as plt


@pytest.fixture(autouse=True)
def _close_figures():
    yield
    plt.close("all")


def test_projections_are_in_the_order_of_the_ranks():
    """E-344: best first along the direction; each foot is the point less what is orthogonal to w."""
    model = LinearRanker(C=100.0).fit(POINTS, -RANKS[0])
    ax = ranking_projection(model, POINTS, -RANKS[0], names=RANKS[0])
    feet, shown = (np.asarray(c.get_offsets()) for c in ax.collections)
    assert_allclose(shown, POINTS)
    assert (np.diff(feet @ model.coef_) < 0).all()
    across = np.array([-model.coef_[1], model.coef_[0]])
    assert_allclose((shown - feet) @ model.coef_, 0, atol=1e-9)
    assert_allclose(feet @ across, (feet @ across)[0], atol=1e-9)
    assert [text.get_text() for text in ax.texts if text.get_text()] == ["1", "2", "3", "4", "5"]


def test_a_small_change_of_the_ranks_turns_the_direction():
    """E-344: two neighbours exchanged turn w by more than ten degrees here."""
    first, second = (LinearRanker(C=100.0).fit(POINTS, -ranks).coef_ for ranks in RANKS[:2])
    cosine = first @ second / np.linalg.norm(first) / np.linalg.norm(second)
    assert np.degrees(np.arccos(cosine)) > 10
    assert len(draw().axes) == 3
