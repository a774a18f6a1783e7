"""Figures of solvers and losses hold the data they claim to show."""

import matplotlib
import numpy as np
import pytest
from numpy.testing import assert_allclose

from fivefold import plot
from fivefold.optim.functions import BOWL, LANDSCAPES, VALLEY
from fivefold.optim.losses.margin_losses import HingeLoss, LogLoss, SquaredMarginLoss
from fivefold.optim.minimise import minimise
from fivefold.optim.smooth.bfgs import BFGS
from fivefold.optim.smooth.line_search import ExactSearch
from fivefold.optim.smooth.steepest_descent import SteepestDescent

matplotlib.use("Agg")
import matplotlib.pyplot as plt


@pytest.fixture(autouse=True)
def _close_figures():
    yield
    plt.close("all")


@pytest.mark.parametrize("land", LANDSCAPES, ids=lambda land: land.name)
def test_paths_are_those_of_the_solvers_over_the_window_of_the_landscape(land):
    """C-42, C-43, C-45, C-49."""
    runs = {"BFGS": minimise(land.function, land.start, BFGS(), record=True, max_iter=30)}
    runs["descent"] = minimise(land.function, land.start, SteepestDescent(), record=True, max_iter=30)
    ax = plot.paths(land, runs)
    assert ax.get_xlim() == land.window[0] and ax.get_ylim() == land.window[1]
    cross, *drawn = ax.lines
    assert_allclose(cross.get_xydata(), [land.minimum])
    for line, (name, found) in zip(drawn, runs.items(), strict=True):
        assert_allclose(line.get_xydata(), found.path)
        assert line.get_label() == f"{name}: {found.steps}"


def test_the_zigzag_of_exact_lines_is_seen():
    """C-45."""
    found = minimise(BOWL.function, BOWL.start, SteepestDescent(ExactSearch()), record=True, max_iter=3)
    line = plot.paths(BOWL, {"exact": found}).lines[1]
    assert_allclose(line.get_xydata()[1:3], [(2.898671, 11.495017), (1.944787, 6.964066)], atol=5e-7)


def test_the_lines_of_equal_value_are_that():
    for land in (BOWL, VALLEY):
        lines = plot.landscape(land).collections[0]
        for level, path in zip(lines.levels, lines.get_paths(), strict=True):
            values = [land.function.value(p) for p in path.vertices[::7]]
            # between grid points the line is straight, which the quartic bends away from
            assert_allclose(values, level, rtol=0.05, atol=0.05)


def test_a_run_without_a_path_is_named():
    with pytest.raises(ValueError, match="BFGS has no path: minimise with record=True"):
        plot.paths(BOWL, {"BFGS": minimise(BOWL.function, BOWL.start, BFGS())})


def test_margin_losses_are_drawn_with_their_values():
    """B-86, E-261: also those a caller chooses."""
    ax = plot.margin_losses()
    names = [text.get_text() for text in ax.get_legend().get_texts()]
    assert names == ["0/1", "margin", "hinge", "square", "log", "probit"]
    curves = {line.get_label(): line.get_xydata() for line in ax.lines}
    for name, loss in (("hinge", HingeLoss()), ("log", LogLoss()), ("square", SquaredMarginLoss())):
        assert_allclose(curves[name][:, 1], loss.at(curves[name][:, 0]))
    printed = {
        "log": [2.1269, 1.3133, 0.6931, 0.3133, 0.1269],
        "hinge": [3, 2, 1, 0, 0],
        "probit": [0.9772, 0.8413, 0.5, 0.1587, 0.0228],
    }
    for name, values in printed.items():
        assert_allclose(np.interp([-2.0, -1, 0, 1, 2], *curves[name].T), values, atol=5e-5)
    assert len(plot.margin_losses({"hinge": HingeLoss()}).get_legend().get_texts()) == 1
