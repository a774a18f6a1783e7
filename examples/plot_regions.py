"""Regions of classes: planes of one class against the others, and of each pair.

Every machine is a thin line, the boundary that they induce together a thick one. One against the rest leaves regions
that no class or several claim, shown grey; pairs leave fewer.
"""

import matplotlib.pyplot as plt
from sklearn.datasets import load_iris

from fivefold.linear_model import LogisticRegression
from fivefold.multiclass import OneVsOneClassifier, OneVsRestClassifier
from fivefold.plot import regions


def draw():
    flowers = load_iris()
    X, y = flowers.data[:, [2, 1]], flowers.target_names[flowers.target]
    figure, axs = plt.subplots(1, 2, figsize=(9, 3.8), layout="constrained")
    for ax, kind in zip(axs, (OneVsRestClassifier, OneVsOneClassifier), strict=True):
        regions(kind(LogisticRegression(C=100)).fit(X, y), X, y, ax=ax)
        ax.set(xlabel="length of the petals", ylabel="width of the sepals", aspect="auto")
    return figure


if __name__ == "__main__":
    draw()
    plt.show()
