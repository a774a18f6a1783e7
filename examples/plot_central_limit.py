"""The central limit theorem: scaled means of skewed, correlated draws turn Gaussian as n grows.

The covariance is right from the start; the shape is not, as the probability of a quadrant shows.
"""

import matplotlib.pyplot as plt
import numpy as np

from fivefold.plot import central_limit, central_limit_experiment


def skewed(rng, shape):
    """Two exponentials that share a third: means (2, 2), variances 2, covariance 1."""
    E = rng.exponential(size=(*shape, 3))
    return np.stack([E[..., 0] + E[..., 2], E[..., 1] + E[..., 2]], axis=-1)


def draw():
    limits = central_limit_experiment(skewed, [2, 2], [[2, 1], [1, 2]], sizes=(1, 4, 64))
    return central_limit(limits)[0].figure


if __name__ == "__main__":
    draw()
    plt.show()
