"""The largest studentized difference of bootstrap draws, one draw and one pair at a time."""

import numpy as np


def bootstrap_maxima(sums, sizes, pairs, rng, draws, share):
    """The maximum over ordered pairs of t over its upper quantile, in draws of units with replacement, sorted."""
    U = len(sums)
    before = sums.sum(axis=0) / sizes.sum()
    table = []
    for drawn in rng.integers(U, size=(draws, U)):
        S, n = sums[drawn], sizes[drawn]
        mean = S.sum(axis=0) / n.sum()
        row = []
        for i, j in pairs:
            d = S[:, i] - S[:, j] - n * (mean[i] - mean[j])  # of each unit, from what its rows should give
            error = np.sqrt((d**2).sum() * U / (U - 1)) / n.sum()
            row.append(((mean[i] - mean[j]) - (before[i] - before[j])) / error)
        table.append(row)
    units = [sorted(column)[int(np.ceil((1 - share) * (draws - 1)))] for column in zip(*table, strict=True)]
    return np.sort([max(t / unit for t, unit in zip(row, units, strict=True)) for row in table])
