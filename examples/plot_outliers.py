"""One outlier: the weight of least squares follows it without end, that of a robust loss stops.

One of thirty targets is moved away from the line by a growing amount. The square of a residual lets a far point pull
ever harder; ridge only shrinks what it learns; the absolute and Huber's loss limit the pull.
"""

import matplotlib.pyplot as plt
import numpy as np

from fivefold import plot
from fivefold.linear_model import (
    HuberRegressor,
    LeastAbsoluteRegressor,
    LinearRegression,
    Ridge,
    outlier_sensitivity,
)


def draw():
    rng = np.random.default_rng(0)
    X = np.sort(rng.normal(size=(30, 1)), axis=0)
    y = 2 * X[:, 0] + 0.3 * rng.normal(size=30)
    fits = {
        "least squares": LinearRegression(),
        "ridge": Ridge(10.0),
        "Huber": HuberRegressor(),
        "least absolute": LeastAbsoluteRegressor(),
    }
    found = outlier_sensitivity(fits, X, y, 29, np.linspace(0, 60, 13))
    figure, (left, right) = plt.subplots(1, 2, figsize=(9, 3.5), layout="constrained")
    moved = y.copy()
    moved[29] += 30
    plot.noise_band(LinearRegression().fit(X, moved), X, moved, ax=left)
    plot.outlier_sensitivity(found, ax=right)
    left.set_title("least squares, one target moved by 30", loc="left", fontsize=10)
    right.set_title("weight as the target moves", loc="left", fontsize=10)
    return figure


if __name__ == "__main__":
    draw()
    plt.show()
