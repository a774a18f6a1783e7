"""How smooth: a kernel smoother that is too rough, right and too smooth, and the errors by which a width is chosen.

Leave-one-out finds the error of every width without fitting again; the least is at the width in the middle.
"""

import matplotlib.pyplot as plt
import numpy as np

from fivefold.plot import curve_panels
from fivefold.plot.style import axes, colour
from fivefold.smoothing import NadarayaWatson


def draw():
    rng = np.random.default_rng(1)
    X = rng.uniform(0, 8, size=(120, 1))
    y = 2 * np.sin(1.5 * X[:, 0]) + rng.normal(size=120) * 0.6
    chosen = NadarayaWatson("loo").fit(X, y)
    widths = (0.04, chosen.width_, 1.5)
    figure, panels = plt.subplots(1, 4, figsize=(11, 2.8), layout="constrained")
    curve_panels({f"h = {h:.2g}": NadarayaWatson(h).fit(X, y) for h in widths}, X, y, panels=list(panels[:3]))
    search = chosen.search_
    ax = axes(panels[3], x="width h", y="leave-one-out error")
    ax.plot(search.settings[:, 0], search.scores, color=colour(0), marker="o", ms=3)
    ax.axvline(chosen.width_, color=colour(1), lw=1)
    ax.set_xscale("log")
    return figure


if __name__ == "__main__":
    draw()
    plt.show()
