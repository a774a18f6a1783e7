"""OPTICS: rows in the order in which they are reached, and clusters as dents of the plot.

Left: three groups of different density and some rows between them. Right: the distance at which each row was reached,
in the order of visits. The deeper a dent, the denser its group; lines below are the clusters of the slopes, also those
that hold others.
"""

import matplotlib.pyplot as plt
import numpy as np
from sklearn.datasets import make_blobs

from fivefold.cluster import OPTICS
from fivefold.plot import reachability_plot
from fivefold.plot.style import COLOURS, GREY


def draw():
    X, _ = make_blobs([120, 120, 120], centers=[(0, 0), (4, 0), (2, 5)], cluster_std=[0.25, 0.6, 1.0], random_state=0)
    X = np.vstack([X, np.random.RandomState(1).uniform((-3, -3), (7, 9), size=(30, 2))])
    model = OPTICS(min_samples=10, xi=0.08, min_cluster_size=40).fit(X)
    figure, (left, right) = plt.subplots(1, 2, figsize=(9, 3.5), layout="constrained")
    for label in np.unique(model.labels_):
        own = model.labels_ == label
        left.scatter(*X[own].T, s=6, color=GREY if label < 0 else COLOURS[label % len(COLOURS)], lw=0)
    left.set_title(f"{model.labels_.max() + 1} clusters, noise in grey", loc="left", fontsize=10)
    reachability_plot(model, ax=right)
    return figure


if __name__ == "__main__":
    draw()
    plt.show()
