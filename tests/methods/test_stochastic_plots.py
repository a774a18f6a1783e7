"""E-338: figures of training as it goes on."""

import matplotlib
import numpy as np

matplotlib.use("Agg")
import matplotlib.pyplot as plt

from fivefold.linear_model import DeltaRule, SGDClassifier
from fivefold.plot import evolution, fits_after


def test_curves_are_drawn_after_the_chosen_passes():
    """E-338: the last line is nearly the least squares line, the first is not."""
    x = np.linspace(-1, 1, 30)
    ax = fits_after(DeltaRule(eta0=0.01, t0=1e9, random_state=0), x, 2 * x, (100, 1))
    labels = [line.get_label() for line in ax.lines]
    assert labels == ["1 pass", "100 passes"]
    gap = [np.abs(line.get_ydata() - 2 * line.get_xdata()).max() for line in ax.lines]
    assert gap[1] < 0.01 < 1 < gap[0]
    plt.close(ax.figure)


def test_errors_are_drawn_for_every_pass():
    """E-338: one value a pass for training and unseen rows."""
    rng = np.random.default_rng(0)
    X = rng.normal(size=(80, 3))
    y = (X[:, 0] > 0).astype(int)
    model = SGDClassifier(random_state=0)
    ax = evolution(model, (X[:40], y[:40]), (X[40:], y[40:]), 6)
    first, second, _ = ax.lines
    assert len(first.get_xdata()) == len(second.get_xdata()) == 6
    np.testing.assert_allclose(first.get_ydata()[-1], 1 - model.score(X[:40], y[:40]))
    np.testing.assert_allclose(second.get_ydata()[-1], 1 - model.score(X[40:], y[40:]))
    plt.close(ax.figure)
