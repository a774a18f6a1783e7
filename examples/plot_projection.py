"""The shadow of one vector on another: what the projection leaves stands at a right angle.

The scalar projection is the length of the shadow, negative where the vectors point apart.
"""

import matplotlib.pyplot as plt

from fivefold.plot import projection
from fivefold.plot.style import axes_row


def draw():
    panels = axes_row(2)
    projection([1.2, 2.2], [3.2, 0.8], ax=panels[0])
    projection([-1.4, 1.6], [2.6, 0.7], ax=panels[1])
    return panels[0].figure


if __name__ == "__main__":
    draw()
    plt.show()
