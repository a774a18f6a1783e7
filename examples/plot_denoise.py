"""Denoising: digits under noise, and their projection onto the components that rise above it."""

import matplotlib.pyplot as plt
import numpy as np
from sklearn.datasets import load_digits

from fivefold.decomposition import PCA
from fivefold.plot import images


def draw():
    X = load_digits().data
    noisy = X + 4 * np.random.default_rng(0).normal(size=X.shape)
    cleaned = PCA("mle").fit(noisy).denoise(noisy)
    figure, panels = plt.subplots(3, 10, figsize=(8, 2.8), layout="constrained")
    for line, rows, name in zip(panels, (X, noisy, cleaned), ("true", "noisy", "denoised"), strict=True):
        images(rows[:10], (8, 8), titles=[name] + [""] * 9, top=16, panels=line)
    return figure


if __name__ == "__main__":
    draw()
    plt.show()
