"""A self-organising map: units on a lattice that bends with the rows, and the walls between groups.

The map of two columns lies over its rows. Of the flowers' four columns a hexagonal map shows where units are far from
their neighbours (dark), and how many flowers each of them won.
"""

import matplotlib.pyplot as plt
import numpy as np
from sklearn.datasets import load_iris

from fivefold.competitive import SelfOrganizingMap
from fivefold.plot import u_matrix, unit_map


def draw():
    rng = np.random.default_rng(0)
    angle = rng.uniform(0, np.pi, size=300)
    X = (1 + 0.3 * rng.uniform(-1, 1, size=(300, 1))) * np.column_stack([np.cos(angle), np.sin(angle)])
    figure, (left, middle, right) = plt.subplots(1, 3, figsize=(11, 3.6), layout="constrained")
    unit_map(SelfOrganizingMap(4, 12).fit(X), X, ax=left)
    flowers = load_iris().data
    flowers = (flowers - flowers.mean(axis=0)) / flowers.std(axis=0)
    model = SelfOrganizingMap(9, 6, "hexagonal").fit(flowers)
    u_matrix(model, ax=middle)
    u_matrix(model, model.hits(flowers), ax=right)
    for ax, title in ((left, "a map of two columns"), (middle, "distances to neighbours"), (right, "rows won")):
        ax.set_title(title, loc="left", fontsize=10)
    return figure


if __name__ == "__main__":
    draw()
    plt.show()
