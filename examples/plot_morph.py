"""From three to eight: moving along the difference of two class means, in the space of 20 components."""

import matplotlib.pyplot as plt
import numpy as np
from sklearn.datasets import load_digits

from fivefold.decomposition import PCA
from fivefold.plot import images


def draw():
    X, y = load_digits(return_X_y=True)
    X, y = X[(y == 3) | (y == 8)], y[(y == 3) | (y == 8)]
    pca = PCA(20).fit(X)
    Z = pca.transform(X)
    step = Z[y == 8].mean(axis=0) - Z[y == 3].mean(axis=0)
    shares = np.linspace(0, 1, 8)
    morphs = pca.inverse_transform(Z[y == 3].mean(axis=0) + shares[:, None] * step)
    return images(morphs, (8, 8), top=16, titles=[f"{share:.0%}" for share in shares])[0].figure


if __name__ == "__main__":
    draw()
    plt.show()
