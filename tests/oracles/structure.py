"""Structure learning by the definitions: counts row by row, scores cell by cell, every graph one by one."""

from itertools import combinations, permutations, product
from math import lgamma, log


def counts(rows, weights, levels, child, parents):
    """{configuration of the parents: weight of each state of the child}."""
    found = {at: [0.0] * levels[child] for at in product(*(range(levels[p]) for p in parents))}
    for row, w in zip(rows, weights, strict=True):
        found[tuple(int(row[p]) for p in parents)][int(row[child])] += w
    return found


def bd(table, alpha):
    """log marginal likelihood; `alpha` is the parameter of every cell."""
    total = 0.0
    for cells in table.values():
        total += lgamma(alpha * len(cells)) - lgamma(alpha * len(cells) + sum(cells))
        total += sum(lgamma(alpha + c) - lgamma(alpha) for c in cells)
    return total


def likelihood(table):
    return sum(c * log(c / sum(cells)) for cells in table.values() for c in cells if c)


def family_score(name, rows, weights, levels, child, parents, size=10.0):
    table = counts(rows, weights, levels, child, parents)
    q, r = len(table), levels[child]
    if name == "bdeu":
        return bd(table, size / (q * r))
    if name == "k2":
        return bd(table, 1.0)
    penalty = {"likelihood": 0.0, "aic": 1.0, "bic": log(sum(weights)) / 2}[name]
    return likelihood(table) - penalty * q * (r - 1)


def all_dags(d):
    """Every directed acyclic graph, as the sets of parents of each node."""
    found = set()
    for order in permutations(range(d)):
        choices = []
        for v in range(d):
            before = order[: order.index(v)]
            choices.append([frozenset(s) for k in range(len(before) + 1) for s in combinations(before, k)])
        found |= set(product(*choices))
    return found
