"""How many components? The scree plot of the digits, and of three directions under noise.

On the left no component stands out, and a threshold of distortion says how many to keep; on the right
noise lifts all principal values alike, and the knee between signal and noise is plain.
"""

import matplotlib.pyplot as plt
import numpy as np
from sklearn.datasets import load_digits

from fivefold.decomposition import PCA
from fivefold.decomposition.components.n_components import Distortion
from fivefold.plot import scree


def draw():
    rng = np.random.default_rng(0)
    signal = rng.normal(size=(400, 3)) * [4, 3, 2] @ np.linalg.qr(rng.normal(size=(12, 3)))[0].T
    figure, (left, right) = plt.subplots(1, 2, figsize=(9, 3.5), layout="constrained")
    scree(PCA().fit(load_digits().data), knee=None, threshold=Distortion(0.1, share=True), ax=left)
    scree(PCA().fit(signal + 0.6 * rng.normal(size=signal.shape)), ax=right)
    left.set_title("digits: 64 pixels", loc="left", fontsize=10)
    right.set_title("three directions and noise: 12 columns", loc="left", fontsize=10)
    return figure


if __name__ == "__main__":
    draw()
    plt.show()
