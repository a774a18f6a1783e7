"""Training as it goes: a line fitted row by row, and losses on training and unseen rows pass by pass.

The delta rule turns its line a little at every row. A linear classifier with more columns than it needs goes on
lowering the loss of its training rows after that of unseen rows has begun to rise: there training should stop.
"""

import matplotlib.pyplot as plt
import numpy as np
from sklearn.metrics import log_loss

from fivefold.linear_model import DeltaRule, SGDClassifier
from fivefold.plot import evolution, fits_after


def mean_log_loss(model, X, y):
    return log_loss(y, model.predict_proba(X))


def draw():
    rng = np.random.default_rng(0)
    x = rng.uniform(-2, 2, size=40)
    y = 1.5 * x - 1 + 0.5 * rng.normal(size=40)
    X = rng.normal(size=(300, 60))
    labels = (X[:, :3].sum(axis=1) + 1.5 * rng.normal(size=300) > 0).astype(int)
    figure, (left, right) = plt.subplots(1, 2, figsize=(9, 3.6), layout="constrained")
    fits_after(DeltaRule(eta0=0.002, t0=1e9, random_state=0), x, y, (1, 5, 20, 200), ax=left)
    model = SGDClassifier("log_loss", penalty=None, learning_rate="constant", eta0=0.001, random_state=0)
    evolution(model, (X[:100], labels[:100]), (X[100:], labels[100:]), 80, loss=mean_log_loss, ax=right)
    for ax, title in ((left, "delta rule"), (right, "logistic regression by SGD")):
        ax.set_title(title, loc="left", fontsize=10)
    return figure


if __name__ == "__main__":
    draw()
    plt.show()
