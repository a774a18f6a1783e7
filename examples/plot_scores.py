"""A table at a glance: iris and wine along their first two components.

Four and thirteen measurements become two coordinates. Wine is standardised: its columns have
different units, and the largest would decide alone.
"""

import matplotlib.pyplot as plt
from sklearn.datasets import load_iris, load_wine

from fivefold.decomposition import PCA
from fivefold.plot import scores


def draw():
    iris, wine = load_iris(), load_wine()
    figure, (left, right) = plt.subplots(1, 2, figsize=(9, 4), layout="constrained")
    scores(PCA(2).fit(iris.data), iris.data, iris.target, names=iris.target_names, ax=left)
    scores(
        PCA(2, standardise=True).fit(wine.data), wine.data, wine.target, names=["wine 1", "wine 2", "wine 3"], ax=right
    )
    left.set_title("iris", loc="left", fontsize=10)
    right.set_title("wine, standardised", loc="left", fontsize=10)
    return figure


if __name__ == "__main__":
    draw()
    plt.show()
