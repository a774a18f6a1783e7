"""The largest studentized difference of bootstrap draws, one draw and one pair at a time."""

import numpy as np


def bootstrap_maxima(sums, sizes, pairs, rng, draws):
    """The maximum over the pairs of |t| in each draw of units with replacement, sorted."""
    U = len(sums)
    before = sums.sum(axis=0) / sizes.sum()
    found = []
    for drawn in rng.integers(U, size=(draws, U)):
        S, n = sums[drawn], sizes[drawn]
        mean = S.sum(axis=0) / n.sum()
        found.append(0.0)
        for i, j in pairs:
            d = S[:, i] - S[:, j] - n * (mean[i] - mean[j])  # of each unit, from what its rows should give
            error = np.sqrt((d**2).sum() * U / (U - 1)) / n.sum()
            t = abs((mean[i] - mean[j]) - (before[i] - before[j])) / error
            found[-1] = max(found[-1], t)
    return np.sort(found)
