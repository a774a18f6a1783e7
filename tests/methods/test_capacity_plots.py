"""Figures of capacity: confidence terms, margins, families and labellings."""

import matplotlib.pyplot as plt
import numpy as np
import pytest

from fivefold import plot
from fivefold.theory import StructuralRiskMinimizer, vc_confidence
from fivefold.theory.capacity import margin_error_bound


@pytest.fixture(autouse=True)
def close_figures():
    yield
    plt.close("all")


def test_confidence_against_dimension_and_rows():
    """C-173: rises with h, falls with n."""
    ax = plot.confidence_curves((1000, 5000), [1, 3, 10])
    few, many = (line.get_ydata() for line in ax.lines[:2])
    assert few[1] == vc_confidence(3, 1000) and (np.diff(few) > 0).all() and (many < few).all()


def test_margin_errors_against_rows():
    """D-281: a line per ratio, cut at 1."""
    ax = plot.margin_error_curves(0.05, (1.0, 10.0), [1e4, 1e6])
    tight, loose = (line.get_ydata() for line in ax.lines[:2])
    assert loose[0] == pytest.approx(float(margin_error_bound(0.05, 1e4, 10.0))) and (tight < loose).all()


def test_families_by_their_bounds():
    """C-177: the sum of error and confidence, and the chosen family."""
    rng = np.random.RandomState(0)
    X, y = rng.normal(size=(200, 2)), rng.randint(2, size=200)
    model = StructuralRiskMinimizer(values=(2, 4, 8)).fit(X, y)
    ax = plot.structural_risk_curve(model)
    risk, added, both = (line.get_ydata() for line in ax.lines[:3])
    assert np.allclose(risk + added, both) and model.values[int(both.argmin())] == model.best_value_
    assert ax.lines[3].get_xdata()[0] == both.argmin()


def test_a_panel_per_labelling():
    """C-175: of the sixteen labellings of a square two are crossed out."""
    panels = plot.labelling_panels([[0, 0], [0, 1], [1, 0], [1, 1]])
    assert len(panels) == 16 and sum(len(ax.lines) == 4 for ax in panels) == 2
    with pytest.raises(ValueError, match=r"got shape \(5, 2\)"):
        plot.labelling_panels(np.zeros((5, 2)))
