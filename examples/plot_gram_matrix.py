"""The Gram matrix of a Gaussian kernel on the three species of iris, and its eigenvalues.

Blocks along the diagonal are species: the first is far from the others, which overlap. A valid kernel has no negative
eigenvalue.
"""

import matplotlib.pyplot as plt
from sklearn.datasets import load_iris

from fivefold.kernels import RBF
from fivefold.plot import gram_matrix


def draw():
    iris = load_iris()
    figure, axs = plt.subplots(1, 2, figsize=(8.4, 3.8), layout="constrained")
    gram_matrix(RBF(1.0)(iris.data), iris.target, axs=axs)
    return figure


if __name__ == "__main__":
    draw()
    plt.show()
