"""Smoothers on one noisy curve: bins, windows, kernels, lines and splines.

The regressogram jumps at the edges of its bins; a window around every point jumps less, a kernel not at all. Lines keep
the slope, and a band says how well the curve is known. The widths are those that leave-one-out chose.
"""

import matplotlib.pyplot as plt
import numpy as np

from fivefold.plot import curve_panels
from fivefold.smoothing import LocalPolynomial, NadarayaWatson, Regressogram, RunningLine, RunningMean, SmoothingSpline


def draw():
    rng = np.random.default_rng(0)
    X = rng.uniform(0, 8, size=(90, 1))
    y = 2 * np.sin(1.5 * X[:, 0]) + rng.normal(size=90) * 0.6
    models = {
        "regressogram": Regressogram(),
        "running mean": RunningMean(),
        "kernel smoother": NadarayaWatson(),
        "regressogram of lines": Regressogram(1.6, degree=1),
        "running line": RunningLine(),
        "local line with its band": LocalPolynomial(1, kernel="gaussian"),
        "local parabola": LocalPolynomial(2, kernel="tricube"),
        "smoothing spline": SmoothingSpline("loo"),
    }
    figure, panels = plt.subplots(2, 4, figsize=(11, 5), layout="constrained", sharex=True, sharey=True)
    fitted = {name: model.fit(X, y) for name, model in models.items()}
    panels = list(panels.ravel())
    curve_panels(fitted, X, y, panels=panels)
    panels[5].clear()
    curve_panels({"local line with its band": fitted["local line with its band"]}, X, y, level=0.95, panels=panels[5:6])
    return figure


if __name__ == "__main__":
    draw()
    plt.show()
