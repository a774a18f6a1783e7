"""A symmetric matrix in two bases: what turns and stretches in one only stretches in the other."""

import matplotlib.pyplot as plt

from fivefold.plot import transformation


def draw():
    return transformation([[1.6, 0.7], [0.7, 0.9]])[0].figure


if __name__ == "__main__":
    draw()
    plt.show()
