"""What twenty points tell: Bayesian regression on bells from 2, 8 and 20 of them, with draws from the posterior.

The band is two standard deviations of the predictive distribution: narrow where there are points, wide where there are
none.
"""

import matplotlib.pyplot as plt
import numpy as np

from fivefold.datasets import course_datasets
from fivefold.linear_model import BayesianLinearRegression
from fivefold.plot.style import GREY, INK, axes, axes_row, colour
from fivefold.preprocessing import BasisExpansion
from fivefold.preprocessing.basis_functions import Bumps

COUNTS = 2, 8, 20


def draw():
    x, y = course_datasets().noisy_curve
    at = np.linspace(-4, 7, 300)[:, None]
    bells = BasisExpansion(Bumps(1.0, np.arange(-4.0, 8.0)[None])).fit(x)
    panels, model = axes_row(3), BayesianLinearRegression(alpha=1.0, beta=1.0, fit_intercept=False)
    for ax, before, n in zip(panels, (0, *COUNTS), COUNTS, strict=False):
        model.partial_fit(bells.transform(x[before:n]), y[before:n])
        mean, std = model.predict(bells.transform(at), return_std=True)
        axes(ax, title=f"{n} points")
        ax.fill_between(at[:, 0], mean - 2 * std, mean + 2 * std, color=colour(0), alpha=0.15, lw=0)
        ax.plot(at, model.sample_functions(bells.transform(at), 4, random_state=0), color=GREY, lw=0.7)
        ax.plot(at, mean, color=colour(0), lw=2)
        ax.plot(x[:n], y[:n], "o", ms=3.5, color=INK)
        ax.set_ylim(-5, 5)
    return panels[0].figure


if __name__ == "__main__":
    draw()
    plt.show()
