"""Support vectors: a margin, a tube, and a surface around one class.

Circles are on the border, squares beyond it. Rows without a mark could be left out: the machine would be the same.
"""

import matplotlib.pyplot as plt
import numpy as np
from sklearn.datasets import make_moons

from fivefold.plot import enclosing_surface, epsilon_tube, support_vectors
from fivefold.svm import SVC, SVR, OneClassSVM


def draw():
    rng = np.random.RandomState(0)
    X, y = make_moons(80, noise=0.2, random_state=0)
    x = np.sort(rng.uniform(0, 6, 40))
    t = np.sin(x) + 0.15 * rng.normal(size=40)
    figure, (left, middle, right) = plt.subplots(1, 3, figsize=(11, 3.6), layout="constrained")
    support_vectors(SVC(C=2.0).fit(X, y), X, y, ax=left)
    epsilon_tube(SVR(epsilon=0.15).fit(x[:, None], t), x[:, None], t, ax=middle)
    enclosing_surface(OneClassSVM(nu=0.15, gamma=1.0).fit(X), X, ax=right)
    return figure


if __name__ == "__main__":
    draw()
    plt.show()
