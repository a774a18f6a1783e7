"""Products of factors summed configuration by configuration, with dictionaries and loops only."""

from itertools import product
from math import log, prod

import numpy as np


def configurations(variables, cards):
    for states in product(*(range(cards[v]) for v in variables)):
        yield dict(zip(variables, states, strict=True))


def weights(factors, cards):
    """Every configuration of the variables of the factors, with the product of their entries."""
    variables = sorted({v for f in factors for v in f.variables})
    for states in configurations(variables, cards):
        yield states, prod(float(f.table[tuple(states[v] for v in f.variables)]) for f in factors)


def partition(factors, cards, evidence=()):
    return sum(w for states, w in weights(factors, cards) if dict(evidence).items() <= states.items())


def log_partition(factors, cards, evidence=()):
    return log(partition(factors, cards, evidence))


def marginal(factors, cards, keep, evidence=()):
    """Probabilities of the configurations of `keep` given the evidence."""
    table = np.zeros([cards[v] for v in keep])
    for states, w in weights(factors, cards):
        if dict(evidence).items() <= states.items():
            table[tuple(states[v] for v in keep)] += w
    return table / table.sum()


def ranking(factors, cards):
    """Products of all configurations, falling."""
    return sorted((w for _, w in weights(factors, cards)), reverse=True)


def marginal_map(factors, cards, maximised):
    """The largest sum of products over the configurations of the other variables."""
    table = marginal(factors, cards, maximised)
    return log(table.max() * partition(factors, cards))


def count(factors, cards):
    return sum(w != 0 for _, w in weights(factors, cards))
