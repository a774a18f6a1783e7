"""Too stiff, right, too loose: kernel ridge classifiers whose bells are 1, 0.05 and 0.001 wide.

Training error falls with the width; the error on new points is least in the middle.
"""

import matplotlib.pyplot as plt
import numpy as np

from fivefold.plot import width_panel


def waves(n, seed):
    """Points of the unit square on either side of a wave; one label in ten is wrong."""
    rng = np.random.default_rng(seed)
    X = rng.random((n, 2))
    y = X[:, 1] > 0.5 + 0.25 * np.sin(3 * np.pi * X[:, 0])
    return X, (y ^ (rng.random(n) < 0.1)).astype(int)


def draw():
    return width_panel(*waves(300, 0), *waves(2000, 1)).axes[0].figure


if __name__ == "__main__":
    draw()
    plt.show()
