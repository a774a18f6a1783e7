"""A map and a basis: what a shear does to a grid, and one vector in two bases.

Above, a map that is not symmetric, in the standard basis and in that of its eigenvectors, where it only stretches.
Below, the vector (5, 5) in the basis (3, 1), (-2, 1): its coordinates are (3, 2), and the same matrix moves it there.
"""

import matplotlib.pyplot as plt

from fivefold.plot import change_of_basis, transformation


def draw():
    figure, axs = plt.subplots(2, 2, figsize=(7, 7), layout="constrained")
    transformation([[1.2, 0.8], [0.1, 0.7]], panels=axs[0])
    change_of_basis([[3, -2], [1, 1]], [5, 5], panels=axs[1])
    return figure


if __name__ == "__main__":
    draw()
    plt.show()
