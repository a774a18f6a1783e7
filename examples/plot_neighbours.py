"""Nearest neighbours: the cells of the rows, and circles and ellipses around a query.

Left: a row gets the class of the cell it falls into; the boundary is made of the sides of cells, and starred rows could
be left out. Middle and right: the three nearest rows of a query by the Euclidean distance, two of them of the wrong
class, and by Mahalanobis' distance with the spread within classes, which looks along them.
"""

import matplotlib.pyplot as plt
import numpy as np
from sklearn.datasets import make_moons

from fivefold.plot import neighbourhood, voronoi


def draw():
    X, y = make_moons(60, noise=0.15, random_state=1)
    along, kind = np.r_[np.arange(-3.0, 4), np.arange(-3.5, 4)], np.repeat([0, 1], [7, 8])
    Z = np.column_stack([along, along + np.where(kind == 1, 0.4, -0.4) + 0.1 * np.sin(9 * along)])
    M = np.linalg.inv(sum(np.cov(Z[kind == c].T) for c in (0, 1)) / 2)
    figure, (left, middle, right) = plt.subplots(1, 3, figsize=(11, 3.8), layout="constrained")
    voronoi(X, y, ax=left)
    query = [0.3, 0.45]
    neighbourhood(Z, kind, query, ax=middle).set_title("Euclidean", fontsize=10)
    neighbourhood(Z, kind, query, matrix=M, ax=right).set_title("Mahalanobis", fontsize=10)
    return figure


if __name__ == "__main__":
    draw()
    plt.show()
