"""A blood test with a guarantee: error of trees and of votes of stumps, and their Occam bounds, against their bits.

Training error falls with every bit; the bound turns up once bits cost more than they explain. The rule with the least
bound is chosen on the rows of its own training, and its true error, known in this population, is below the bound.
"""

import matplotlib.pyplot as plt
import numpy as np

from fivefold.datasets import blood_tests
from fivefold.datasets.blood_tests import ASSAY_LIMITS
from fivefold.plot import occam_curve
from fivefold.plot.style import axes_row
from fivefold.theory import OccamBoostingClassifier, occam_select
from fivefold.tree import OccamTreeClassifier

PROTEINS, ROWS = 16, 3000
PRICES = 0.1, 0.2, 0.35, 0.6, 1.0, 1.5, 2.5, 4.0, 8.0, 16.0, 50.0
ROUNDS = 1, 2, 4, 6, 8, 12, 20


def draw():
    population = blood_tests(proteins=PROTEINS)
    rows = np.random.RandomState(1).randint(len(population[1]), size=ROWS)  # independent draws
    X, y = population[0][rows], population[1][rows]
    ranges = [ASSAY_LIMITS] * PROTEINS
    trees = [OccamTreeClassifier(price=p, ranges=ranges).fit(X, y) for p in PRICES]
    settings = {"criterion": "count", "price": 0.0, "max_digits": 2, "ranges": ranges}  # the round of fewest errors
    votes = [OccamBoostingClassifier(n_estimators=t, **settings).fit(X, y) for t in ROUNDS]
    panels = axes_row(2, width=4.6, height=3.4)
    for ax, models, title in zip(panels, (trees, votes), ("trees", "votes of stumps"), strict=True):
        found = occam_select(models, X, y, ranges=ranges, rule="binomial")
        true = [1 - model.score(*population) for model in models]
        occam_curve(found, true_errors=true, title=f"{title}: error below {found.bound('binomial'):.3f}", ax=ax)
    return panels[0].figure


if __name__ == "__main__":
    draw()
    plt.show()
