"""Eigendigits: the mean digit, the leading components, and one digit rebuilt from more and more of them.

Images are rows of pixels; components are images too, and a digit is the mean plus a little of each.
"""

import matplotlib.pyplot as plt
import numpy as np
from sklearn.datasets import load_digits

from fivefold.decomposition import PCA
from fivefold.plot import images
from fivefold.plot.style import INK

KEPT = (1, 2, 4, 8, 16, 32)


def draw():
    X = load_digits().data
    figure, panels = plt.subplots(2, 8, figsize=(8, 2.6), layout="constrained")
    pca = PCA(7).fit(X)
    images(X.mean(axis=0, keepdims=True), (8, 8), titles=["mean"], top=16, panels=panels[0, :1])
    images(pca.components_, (8, 8), titles=[f"axis {j + 1}" for j in range(7)], signed=True, panels=panels[0, 1:])
    digit = X[5:6]
    rebuilt = np.vstack([PCA(k).fit(X).denoise(digit) for k in KEPT])
    images(digit, (8, 8), titles=["a digit"], top=16, panels=panels[1, :1])
    images(rebuilt, (8, 8), titles=[f"from {k}" for k in KEPT], top=16, panels=panels[1, 1:7])
    lost = 1 - PCA(KEPT[-1]).fit(X).explained_variance_ratio_.sum()
    panels[1, 7].text(0.5, 0.5, f"{KEPT[-1]} axes\nlose {lost:.0%}", ha="center", va="center", size=8, color=INK)
    panels[1, 7].set_axis_off()
    return figure


if __name__ == "__main__":
    draw()
    plt.show()
