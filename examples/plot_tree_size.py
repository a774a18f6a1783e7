"""Impurities that trees lower, and the error of trees as they grow.

On training rows the error falls with every leaf; on unseen rows it turns up once the leaves follow noise.
"""

import matplotlib.pyplot as plt
import numpy as np

from fivefold.evaluation import validation_curve
from fivefold.evaluation.row_losses import zero_one_row_loss
from fivefold.plot import curve, impurities
from fivefold.plot.style import axes_row
from fivefold.tree import DecisionTreeClassifier

LEAVES = 2, 3, 4, 6, 8, 12, 16, 24, 32, 48, 64, 96, 128


def draw():
    rng = np.random.RandomState(0)
    X = rng.normal(size=(800, 6))
    y = (X[:, 0] * X[:, 1] + 0.8 * rng.normal(size=800) > 0).astype(int)
    left, right = axes_row(2, width=4.6, height=3.4)
    impurities(ax=left)
    found = validation_curve(
        DecisionTreeClassifier(random_state=0), X, y, "max_leaf_nodes", LEAVES, loss=zero_one_row_loss
    )
    curve(found, log=True, loss="share of errors", ax=right)
    right.set_xlabel("leaves", fontsize=9)
    return left.figure


if __name__ == "__main__":
    draw()
    plt.show()
