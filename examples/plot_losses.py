"""Margin losses: how each judges the margin y f(x) of a prediction.

The 0/1 loss counts errors and cannot be minimised by its slope. The margin and hinge losses lie above it, so does
twice the square, and the log loss does once divided by ln 2; dashed losses are not convex.
"""

import matplotlib.pyplot as plt

from fivefold.plot import margin_losses


def draw():
    return margin_losses().figure


if __name__ == "__main__":
    draw()
    plt.show()
