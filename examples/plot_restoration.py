"""Restoration: a noisy picture, the most probable levels of its pixels, and how sure each of them is.

Every pixel is a hidden variable of a random field; neighbours that differ cost 1.4, and messages between them are sent
until they no longer change.
"""

import matplotlib.pyplot as plt
import numpy as np

from fivefold.graphical import restore_image


def scene(side=90):
    """A disc, a ring and a bar in four levels."""
    y, x = np.mgrid[-1 : 1 : side * 1j, -1 : 1 : side * 1j]
    picture = np.zeros((side, side))
    picture[np.hypot(x + 0.4, y + 0.35) < 0.4] = 1
    picture[np.abs(np.hypot(x - 0.45, y - 0.3) - 0.32) < 0.1] = 2
    picture[(np.abs(y - 0.75) < 0.1) & (x < 0.1)] = 3
    return picture


def draw():
    truth = scene()
    noisy = truth + np.random.default_rng(0).normal(0.0, 0.7, truth.shape)
    found = restore_image(noisy, range(4), 0.7, smoothness=1.4)
    figure, panels = plt.subplots(1, 4, figsize=(9.2, 2.6), layout="constrained")
    wrong = (found.labels != truth).mean()
    shown = [
        (truth, "true levels", 3),
        (noisy, "with noise", 3),
        (found.image, f"restored, {wrong:.1%} wrong", 3),
        (found.entropy, "uncertainty", np.log(4)),
    ]
    for ax, (image, title, top) in zip(panels, shown, strict=True):
        ax.imshow(image, cmap="Greys", vmin=0, vmax=top, interpolation="nearest")
        ax.set_title(title, fontsize=9, loc="left")
        ax.set_axis_off()
    return figure


if __name__ == "__main__":
    draw()
    plt.show()
