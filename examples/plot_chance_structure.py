"""Two thousand columns of noise, twenty rows: a hundred columns look interesting, and none is.

Above, labels that have nothing to do with the columns: the number of columns with p of at most 0.05, and the best
score, are what permuted labels give. Below, one column does tell the classes apart; no permutation reaches its score.
"""

import matplotlib.pyplot as plt
import numpy as np

from fivefold.plot import chance_counts, permutation_null
from fivefold.theory import chance_structure

ROWS, COLUMNS = 20, 2000


def draw():
    rng = np.random.default_rng(0)
    X, y = rng.standard_normal((ROWS, COLUMNS)), np.repeat([0, 1], ROWS // 2)
    figure, panels = plt.subplots(2, 2, figsize=(9, 6), layout="constrained")
    for row, shift in zip(panels, (0.0, 5.0), strict=True):
        X[:, 7] += shift * y
        found = chance_structure(X, y, statistic="t", random_state=0)
        chance_counts(found, ax=row[0])
        permutation_null(found, ax=row[1])
    return figure


if __name__ == "__main__":
    draw()
    plt.show()
