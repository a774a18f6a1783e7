"""Digits on a map by t-SNE: images of the same digit gather, though no label is known to it.

Beside it the two leading principal components, in which most digits lie on top of each other.
"""

import matplotlib.pyplot as plt
from sklearn.datasets import load_digits

from fivefold.decomposition import PCA
from fivefold.manifold import TSNE
from fivefold.plot import points

ROWS = 700


def draw():
    X, y = load_digits(return_X_y=True)
    X, y = X[:ROWS], y[:ROWS]
    figure, panels = plt.subplots(1, 2, figsize=(8, 4), layout="constrained")
    for panel, method in zip(panels, (PCA(2), TSNE(random_state=0)), strict=True):
        points(method.fit_transform(X), y, ax=panel)
        panel.set(title=type(method).__name__, xticks=[], yticks=[])
    panels[0].get_legend().remove()
    return figure


if __name__ == "__main__":
    draw()
    plt.show()
