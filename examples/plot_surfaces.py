"""Scores and posteriors over a plane: the logarithm of the odds, and the probability that a sigmoid makes of it.

The boundary is the same in both. Far from it scores go on falling and rising where probabilities have settled.
"""

import matplotlib.pyplot as plt
from sklearn.datasets import make_moons

from fivefold.linear_model import LogisticRegression, QuadraticLogisticRegression
from fivefold.plot import surfaces


def draw():
    X, y = make_moons(120, noise=0.25, random_state=0)
    figure, axs = plt.subplots(2, 2, figsize=(8.4, 6.4), layout="constrained")
    for pair, model in zip(axs, (LogisticRegression(), QuadraticLogisticRegression()), strict=True):
        surfaces(model.fit(X, y), X, y, axs=pair)
        pair[0].set_ylabel("linear" if isinstance(model, LogisticRegression) else "quadratic")
    return figure


if __name__ == "__main__":
    draw()
    plt.show()
