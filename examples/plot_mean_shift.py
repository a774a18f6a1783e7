"""Mean shift: rows climb a density, and where they end are the clusters.

Red dots are all positions of the rows on their way. Left: with a Gaussian kernel of width one the three groups are
three hills. Right: a width of one half leaves small hills at the edges, each a cluster of its own.
"""

import matplotlib.pyplot as plt

from fivefold.cluster import MeanShift
from fivefold.datasets import mixture_2d
from fivefold.plot import mean_shift_paths


def draw():
    X, _ = mixture_2d(400)
    figure, sides = plt.subplots(1, 2, figsize=(8, 4), layout="constrained")
    for ax, width in zip(sides, (1.0, 0.5), strict=True):
        model = MeanShift(bandwidth=width, profile="gaussian", assign="climb").fit(X)
        mean_shift_paths(model, X, ax=ax)
        ax.set_title(f"width {width:g}: {len(model.cluster_centers_)} clusters", fontsize=10)
    return figure


if __name__ == "__main__":
    draw()
    plt.show()
