"""The plane cut by boxes, by slanted lines and by quadrics: three trees of the same rows.

Where the boundary is a tilted ellipse, boxes make a staircase, lines a polygon, and one quadratic question is enough.
"""

import matplotlib.pyplot as plt
import numpy as np

from fivefold.plot import oblique_partition, partition
from fivefold.plot.style import axes_row
from fivefold.tree import CurvedTreeClassifier, DecisionTreeClassifier, ObliqueTreeClassifier


def draw():
    X = np.random.RandomState(3).uniform(-2, 2, size=(240, 2))
    y = np.where(((X @ [[0.6, -0.5], [0.6, 1.1]]) ** 2).sum(axis=1) < 1.1, "in", "out")
    axs = axes_row(3, width=3.6, height=3.4)
    boxes = DecisionTreeClassifier(random_state=0).fit(X, y)
    partition(boxes, X, y, ax=axs[0])
    lines = ObliqueTreeClassifier(random_state=0).fit(X, y)
    curves = CurvedTreeClassifier(random_state=0).fit(X, y)
    for ax, model in zip(axs[1:], (lines, curves), strict=True):
        oblique_partition(model, X, y, ax=ax)
    for ax, kind, model in zip(axs, ("boxes", "lines", "quadrics"), (boxes, lines, curves), strict=True):
        ax.set_title(f"{kind}: {model.get_n_leaves()} leaves", fontsize=9)
    return axs[0].figure


if __name__ == "__main__":
    draw()
    plt.show()
