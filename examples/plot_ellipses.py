"""What PCA fits: an ellipsoid. The principal axes of sepals, and one Gaussian a species.

The axes point along the eigenvectors of the covariance; their lengths are the roots of its eigenvalues.
"""

import matplotlib.pyplot as plt
import numpy as np
from sklearn.datasets import load_iris

from fivefold.decomposition import PCA
from fivefold.plot import ellipses, points, principal_axes


def draw():
    iris = load_iris()
    sepals, y = iris.data[:, :2], iris.target
    figure, (left, right) = plt.subplots(1, 2, figsize=(9, 4), layout="constrained")
    principal_axes(PCA().fit(sepals[y == 0]), sepals[y == 0], ax=left)
    points(sepals, y, names=iris.target_names, ax=right)
    groups = [sepals[y == k] for k in range(3)]
    ellipses([g.mean(axis=0) for g in groups], [np.cov(g.T) for g in groups], ax=right)
    for ax, title in ((left, "principal axes of setosa, two deviations"), (right, "half and 95 % of each species")):
        ax.set_title(title, loc="left", fontsize=10)
        ax.set_xlabel("sepal length (cm)", fontsize=9)
        ax.set_ylabel("sepal width (cm)", fontsize=9)
    return figure


if __name__ == "__main__":
    draw()
    plt.show()
