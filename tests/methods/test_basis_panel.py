"""The panel of too stiff, right and too loose fits."""

import sys
from pathlib import Path

import matplotlib as mpl
import numpy as np
import pytest

from fivefold.baselines import MajorityClassifier
from fivefold.plot import fit_panel, width_panel

mpl.use("Agg")
import matplotlib.pyplot as plt

sys.path.insert(0, str(Path(__file__).resolve().parents[2] / "examples"))


@pytest.fixture(autouse=True)
def _close_figures():
    yield
    plt.close("all")


def test_training_error_falls_with_the_width_and_test_error_is_least_in_the_middle():
    """A-162: Gaussian widths 1, 0.05, 0.001, strength one; both errors are shown on each panel."""
    from plot_overfit import waves

    new = waves(2000, 1)
    found = width_panel(*waves(300, 0), *new)
    own, other = found.training_errors, found.test_errors
    assert own[0] > own[1] > own[2] == 0
    assert other[1] < min(other[0], other[2])
    assert found.best == "width 0.05"
    assert len(found.axes) == 3
    for ax, name, a, b, model in zip(found.axes, found.names, own, other, found.models, strict=True):
        assert ax.get_title(loc="left") == f"{name}\ntraining error {a:.2f}, test error {b:.2f}"
        assert b == pytest.approx(np.mean(model.predict(new[0]) != new[1]))
        assert sum(len(line.get_xydata()) for line in ax.lines) == 300
        assert f"{name}: training error {a:.3f}" in str(found)


def test_a_panel_has_two_columns_and_as_many_axes_as_models():
    X, y = np.random.default_rng(0).random((20, 3)), np.arange(20) % 2
    with pytest.raises(ValueError, match="two columns; X has shape"):
        fit_panel({"majority": MajorityClassifier()}, X, y, X, y)
    with pytest.raises(ValueError, match="3 panels; 1 axes were given"):
        width_panel(X[:, :2], y, X[:, :2], y, panels=[plt.subplots()[1]])
