"""Histogram, Parzen windows and neighbours: too little smoothing, about right, too much.

Two thousand rows of two Gaussians, N(5, 10) and N(30, 5); the true density is grey, a share of the rows stands below
each curve. From the left: bins of growing width, Gaussian windows of growing width, and the volume that k neighbours
need, which is spiky for every k and does not integrate to one.
"""

import matplotlib.pyplot as plt
import numpy as np
from scipy.stats import norm

from fivefold import plot
from fivefold.density import HistogramDensity, KernelDensity, KNeighborsDensity


def truth(x):
    return 0.5 * norm.pdf(x, 5, 10) + 0.5 * norm.pdf(x, 30, 5)


def draw():
    rng = np.random.default_rng(0)
    n = 2000
    first = rng.random(n) < 0.5
    X = np.where(first, rng.normal(5, 10, n), rng.normal(30, 5, n))[:, None]
    figure, panels = plt.subplots(3, 3, figsize=(10, 5.4), sharex=True, sharey=True, layout="constrained")
    families = (
        (HistogramDensity(), "width", (0.5, 3.0, 20.0)),
        (KernelDensity(), "bandwidth", (0.2, 1.5, 10.0)),
        (KNeighborsDensity(), "n_neighbors", (5, 60, 1000)),
    )
    for column, (estimator, parameter, values) in enumerate(families):
        plot.smoothing_family(estimator, parameter, values, X, truth=truth, panels=panels[:, column])
    panels[0, 0].set_ylim(0, 0.06)
    return figure


if __name__ == "__main__":
    draw()
    plt.show()
