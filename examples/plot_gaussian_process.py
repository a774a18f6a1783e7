"""A Gaussian process: its mean, its band and three curves drawn from it, and the evidence of its parameters.

Where there are no points the band widens. The cross marks the length scale and the noise of the highest evidence.
"""

import matplotlib.pyplot as plt
import numpy as np

from fivefold.gaussian_process import GaussianProcessRegressor
from fivefold.kernels import RBF, WhiteKernel
from fivefold.plot import evidence, process


def draw():
    rng = np.random.RandomState(0)
    x = np.sort(np.concatenate([rng.uniform(0, 2, 15), rng.uniform(4, 6, 15)]))[:, None]
    y = np.sin(x[:, 0]) + 0.1 * rng.normal(size=30)
    model = GaussianProcessRegressor(RBF() + WhiteKernel(), random_state=0).fit(x, y)
    figure, (left, right) = plt.subplots(1, 2, figsize=(9, 3.6), layout="constrained")
    process(model, x, y, ax=left)
    evidence(model, ax=right)
    return figure


if __name__ == "__main__":
    draw()
    plt.show()
