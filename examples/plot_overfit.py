"""Too stiff, right, too loose: kernel ridge classifiers whose bells are 1, 0.05 and 0.001 wide.

Training error falls with the width; the error on new points is least in the middle.
"""

import matplotlib.pyplot as plt
import numpy as np
from sklearn.pipeline import make_pipeline

from fivefold.linear_model import LeastSquaresClassifier
from fivefold.plot.style import axes, colour, row
from fivefold.preprocessing import BasisExpansion
from fivefold.preprocessing.bases import Gaussians, Kernels

WIDTHS = 1.0, 0.05, 0.001


def waves(n, seed):
    """Points of the unit square on either side of a wave; one label in ten is wrong."""
    rng = np.random.default_rng(seed)
    X = rng.random((n, 2))
    y = X[:, 1] > 0.5 + 0.25 * np.sin(3 * np.pi * X[:, 0])
    return X, (y ^ (rng.random(n) < 0.1)).astype(int)


def classifier(width):
    """Ridge regression on labels with one bell a row and the penalty of the kernel, strength one."""
    bells = Kernels(lambda A, B: Gaussians(width, B)(A))
    return make_pipeline(BasisExpansion(bells, include_bias=False), LeastSquaresClassifier(alpha=1.0))


def errors():
    """Error on the rows learned from and on new ones, of each width."""
    X, y = waves(300, 0)
    new = waves(2000, 1)
    models = [classifier(width).fit(X, y) for width in WIDTHS]
    return models, [(1 - m.score(X, y), 1 - m.score(*new)) for m in models]


def draw():
    X, y = waves(300, 0)
    panels = row(3)
    side = np.linspace(0, 1, 120)
    grid = np.stack(np.meshgrid(side, side), axis=-1).reshape(-1, 2)
    models, found = errors()
    for ax, width, model, (own, new) in zip(panels, WIDTHS, models, found, strict=True):
        axes(ax, title=f"width {width:g}: error {own:.2f}, on new points {new:.2f}")
        ax.contourf(
            side,
            side,
            model.predict(grid).reshape(120, 120),
            levels=[-0.5, 0.5, 1.5],
            colors=[colour(0), colour(1)],
            alpha=0.15,
        )
        for k in (0, 1):
            ax.plot(*X[y == k].T, "os"[k], ms=2.5, color=colour(k), lw=0)
        ax.set_aspect("equal")
    return panels[0].figure


if __name__ == "__main__":
    draw()
    plt.show()
