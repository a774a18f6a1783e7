"""Trees grown in the obvious way: every column, every threshold, every side, one row at a time."""

from itertools import pairwise
from types import SimpleNamespace

import numpy as np


def gini(y, w):
    return 1 - sum((w[y == k].sum() / w.sum()) ** 2 for k in np.unique(y))


def entropy(y, w):
    shares = [w[y == k].sum() / w.sum() for k in np.unique(y)]
    return -sum(p * np.log2(p) for p in shares)


def error(y, w):
    return 1 - max(w[y == k].sum() for k in np.unique(y)) / w.sum()


def variance(y, w):
    return np.average((y - np.average(y, weights=w)) ** 2, weights=w)


def weighted_median(y, w):
    order = np.argsort(y, kind="stable")
    below = np.cumsum(w[order])
    at = int(np.searchsorted(below, below[-1] / 2))
    return (y[order][at] + y[order][at + 1]) / 2 if below[at] == below[-1] / 2 else y[order][at]


def deviation(y, w):
    return np.average(abs(y - weighted_median(y, w)), weights=w)


def half_range(y, w):
    return (y.max() - y.min()) / 2


def poisson(y, w):
    mean = np.average(y, weights=w)
    logs = np.log(np.where(y > 0, y, 1) / mean) if mean > 0 else np.zeros(len(y))
    return np.average(y * logs, weights=w)


IMPURITIES = {
    "gini": gini,
    "entropy": entropy,
    "error": error,
    "squared_error": variance,
    "absolute_error": deviation,
    "max_error": half_range,
    "poisson": poisson,
}


def cuts(x):
    """Every way to divide the values: a mask of the rows that go left."""
    known = np.unique(x[~np.isnan(x)])
    for low, high in pairwise(known):
        yield x <= low / 2 + high / 2
        if np.isnan(x).any():
            yield (x <= low / 2 + high / 2) | np.isnan(x)
    if np.isnan(x).any() and len(known):
        yield ~np.isnan(x)


def gain(impurity, y, w, left):
    """Total fall of the impurity; the worst error looks at the worse of the two sides."""
    whole, a, b = (impurity(y[rows], w[rows]) for rows in (np.full(len(y), True), left, ~left))
    if impurity is half_range:
        return w.sum() * (whole - max(a, b))
    if impurity is poisson and min(w[left] @ y[left], w[~left] @ y[~left]) <= 0:
        return -np.inf
    return w.sum() * whole - w[left].sum() * a - w[~left].sum() * b


def best_gain(criterion, X, y, w, least_leaf=1):
    """The largest fall of the impurity that one cut gives, or -inf."""
    impurity = IMPURITIES[criterion]
    return max(
        (gain(impurity, y, w, left) for x in X.T for left in cuts(x) if min(left.sum(), (~left).sum()) >= least_leaf),
        default=-np.inf,
    )


def best_set_gain(criterion, x, y, w):
    """The largest fall of the impurity over all divisions of the categories in x into two sets."""
    levels = np.unique(x)
    return max(
        gain(IMPURITIES[criterion], y, w, np.isin(x, levels[[k for k in range(len(levels)) if code >> k & 1]]))
        for code in range(1, 2 ** (len(levels) - 1))
    )


def weakest_links_by_search(parent, risk):
    """The path of cost-complexity pruning of any tree; all links are computed anew at every step."""
    m, alphas, risks = len(parent), [0.0], []
    inner = np.isin(np.arange(m), parent[1:])
    while True:
        gone = np.zeros(m, dtype=bool)
        for t in range(1, m):
            gone[t] = gone[parent[t]] or not inner[parent[t]]
        leaf = ~inner & ~gone
        below, leaves = np.where(leaf, risk, 0.0), np.where(leaf, 1.0, 0.0)
        for t in range(m - 1, 0, -1):
            below[parent[t]] += below[t]
            leaves[parent[t]] += leaves[t]
        risks.append(below[0])
        if not inner[0]:
            return SimpleNamespace(alpha=np.array(alphas), risk=np.array(risks))
        here = np.flatnonzero(inner & ~gone)
        link = (risk[here] - below[here]) / (leaves[here] - 1)
        inner[here[link.argmin()]] = False
        alphas.append(link.min())
