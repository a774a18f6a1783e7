"""Every bound of one model: of a linear classifier against the rows of its training, of a forest against delta.

No row was held out: the models were certified on the rows they learned from. Pixels are divided by 16, a scale that is
known before any row is seen.
"""

import matplotlib.pyplot as plt
from sklearn.datasets import load_digits

from fivefold.ensemble import RandomForestClassifier
from fivefold.linear_model import LogisticRegression
from fivefold.plot import bound_curves
from fivefold.plot.style import axes_row
from fivefold.theory import certificates_by_delta, certificates_by_rows

SIZES = 250, 400, 650, 1000, 1797
DELTAS = 1e-6, 1e-5, 1e-4, 1e-3, 0.01, 0.05, 0.2


def draw():
    X, y = load_digits(return_X_y=True)
    X, odd = X / 16, y % 2
    linear = certificates_by_rows(LogisticRegression(), X, odd, SIZES)
    forest = RandomForestClassifier(n_estimators=100, min_samples_leaf=2, random_state=0).fit(X, odd)
    panels = axes_row(2, width=4.6, height=4.2)
    bound_curves(linear, title="even or odd, linear", ax=panels[0])
    bound_curves(certificates_by_delta(forest, X, odd, DELTAS), title="even or odd, forest", ax=panels[1])
    return panels[0].figure


if __name__ == "__main__":
    draw()
    plt.show()
