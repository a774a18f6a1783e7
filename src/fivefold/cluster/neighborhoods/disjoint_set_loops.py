"""Disjoint sets of numbers in compiled loops: the smallest number of a set is its root."""

from fivefold.core.compilation.jit import jit


@jit(error_model="numpy")
def find_root(parent, i):
    """The root of the set of i; the path to it is halved on the way."""
    while parent[i] != i:
        parent[i] = parent[parent[i]]
        i = parent[i]
    return i


@jit(error_model="numpy")
def join_sets(parent, i, j):
    """Make one set of those of i and j; the smaller root is that of both."""
    a, b = find_root(parent, i), find_root(parent, j)
    if a < b:
        parent[b] = a
    elif b < a:
        parent[a] = b
