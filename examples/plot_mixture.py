"""Hard and soft clusters: k-means, a Gaussian mixture, and the climb of its likelihood.

K-means gives every row to one centre; the mixture shares it out, and its components have shapes.
"""

import matplotlib.pyplot as plt
import numpy as np

from fivefold.cluster import KMeans
from fivefold.mixture import GaussianMixture
from fivefold.plot import clusters, history, responsibilities


def draw():
    rng = np.random.default_rng(2)
    shapes = (([0, 0], [[3, 2], [2, 1.6]]), ([3, -1], [[0.3, 0], [0, 1.5]]), ([-1, 4], [[1.2, -0.7], [-0.7, 0.8]]))
    X = np.vstack([rng.multivariate_normal(mean, covariance, size=150) for mean, covariance in shapes])
    figure, (left, middle, right) = plt.subplots(1, 3, figsize=(11, 3.6), layout="constrained")
    clusters(KMeans(3, random_state=0).fit(X), X, ax=left)
    mixture = GaussianMixture(3, tol=1e-6, random_state=0).fit(X)
    responsibilities(mixture, X, ax=middle)
    history(mixture.lower_bounds_, ax=right)
    for ax, title in ((left, "k-means"), (middle, "Gaussian mixture"), (right, "expectation-maximisation")):
        ax.set_title(title, loc="left", fontsize=10)
    return figure


if __name__ == "__main__":
    draw()
    plt.show()
