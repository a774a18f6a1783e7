"""The curse of dimensionality: with every column bins multiply, and neighbours move away.

A thousand rows drawn evenly from a cube. Ten bins to a column are all occupied in one or two columns and almost all
empty in eight; the nearest row is then nearly as far as the farthest one.
"""

import matplotlib.pyplot as plt

from fivefold import plot
from fivefold.density import curse_of_dimensionality


def draw():
    panels = plot.dimension_effects(curse_of_dimensionality())
    return panels[0].figure


if __name__ == "__main__":
    draw()
    plt.show()
