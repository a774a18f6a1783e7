"""Ranking is projecting: the direction that puts five points in order, and how two swapped ranks turn it.

A linear ranker looks for a direction along which the points follow each other as their ranks say. Exchanging two
neighbours in rank turns it a long way: few points leave the direction free, and a pair can hang on one of them.
"""

import matplotlib.pyplot as plt
import numpy as np

from fivefold.plot import ranking_projection
from fivefold.rank import LinearRanker

POINTS = np.array([[1.0, 4.0], [2.2, 2.6], [3.4, 2.9], [4.1, 1.2], [5.3, 2.2]])
RANKS = (np.array([1, 2, 3, 4, 5]), np.array([2, 1, 3, 4, 5]), np.array([1, 2, 4, 3, 5]))  # 1 is best


def draw():
    figure, panels = plt.subplots(1, 3, figsize=(10, 3.6), layout="constrained")
    titles = ("as ranked", "1 and 2 exchanged", "3 and 4 exchanged")
    for ax, ranks, title in zip(panels, RANKS, titles, strict=True):
        model = LinearRanker(C=100.0).fit(POINTS, -ranks)
        ranking_projection(model, POINTS, -ranks, names=ranks, ax=ax)
        wrong = 1 - model.score(POINTS, -ranks)
        ax.set_title(f"{title}: {wrong:.0%} of pairs wrong", loc="left", fontsize=10)
    return figure


if __name__ == "__main__":
    draw()
    plt.show()
