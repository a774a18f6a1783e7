"""Kernels of strings, graphs and trees as their definitions read, by enumeration."""

from collections import Counter
from itertools import combinations, product

import numpy as np


def spectrum(x, y, k):
    a, b = (Counter(tuple(s[i : i + k]) for i in range(len(s) - k + 1)) for s in (x, y))
    return sum(a[g] * b[g] for g in a)


def mismatch(x, y, k, m, alphabet):
    def counts(s):
        grams = [tuple(s[i : i + k]) for i in range(len(s) - k + 1)]
        return {
            g: sum(sum(a != b for a, b in zip(g, h, strict=True)) <= m for h in grams)
            for g in product(alphabet, repeat=k)
        }

    a, b = counts(x), counts(y)
    return sum(a[g] * b[g] for g in a)


def subsequences(x, y, length, decay):
    def weights(s):
        found = Counter()
        for places in combinations(range(len(s)), length):
            found[tuple(s[i] for i in places)] += decay ** (places[-1] - places[0] + 1)
        return found

    a, b = weights(x), weights(y)
    return sum(a[g] * b[g] for g in a)


def edit_distance(x, y):
    row = list(range(len(y) + 1))
    for i, a in enumerate(x, 1):
        before, row = row, [i]
        for j, b in enumerate(y, 1):
            row.append(min(before[j] + 1, row[-1] + 1, before[j - 1] + (a != b)))
    return row[-1]


def alignment(x, y, match, mismatch_score, gap, local):
    D = np.zeros((len(x) + 1, len(y) + 1))
    if not local:
        D[:, 0], D[0] = gap * np.arange(len(x) + 1), gap * np.arange(len(y) + 1)
    for i, a in enumerate(x):
        for j, b in enumerate(y):
            options = [D[i, j] + (match if a == b else mismatch_score), D[i, j + 1] + gap, D[i + 1, j] + gap]
            D[i + 1, j + 1] = max([*options, 0.0] if local else options)
    return D.max() if local else D[-1, -1]


def relabelled(A, labels, rounds):
    """Labels of every round, as nested tuples: equal where neighbourhoods are."""
    found = [list(labels)]
    for _ in range(rounds):
        now = found[-1]
        found.append([(now[v], tuple(sorted((now[u] for u in np.flatnonzero(A[v])), key=repr))) for v in range(len(A))])
    return found


def distances(A):
    n = len(A)
    D = np.where(A > 0, 1.0, np.inf)
    np.fill_diagonal(D, 0)
    for k in range(n):
        D = np.minimum(D, D[:, [k]] + D[k])
    return D


def weisfeiler_lehman(first, second, h, base, start=0):
    def counts(graph, labels):
        A, _ = graph
        if base == "subtree":
            return Counter(labels)
        D = distances(np.asarray(A))
        pairs = [(u, v) for u, v in combinations(range(len(A)), 2) if np.isfinite(D[u, v])]
        pairs = [p for p in pairs if base == "shortest_path" or D[p] == 1]
        return Counter((*sorted((labels[u], labels[v]), key=repr), D[u, v]) for u, v in pairs)

    rounds = [relabelled(np.asarray(A), labels, h) for A, labels in (first, second)]
    total = 0
    for i in range(start, h + 1):
        a, b = (counts(g, r[i]) for g, r in zip((first, second), rounds, strict=True))
        total += sum(a[key] * b[key] for key in a)
    return total


def shared_paths(first, second, length):
    def counts(graph):
        A, labels = graph
        found = Counter()

        def extend(path):
            if path[0] <= path[-1]:
                word = tuple(labels[v] for v in path)
                found[min(word, word[::-1])] += 1
            if len(path) <= length:
                for u in np.flatnonzero(np.asarray(A)[path[-1]]):
                    if u not in path:
                        extend([*path, int(u)])

        for v in range(len(A)):
            extend([v])
        return found

    a, b = counts(first), counts(second)
    return sum(a[key] * b[key] for key in a)


def random_walks(first, second, decay, steps):
    """Powers of the adjacency matrix of the product graph."""
    (A, a), (B, b) = first, second
    same = np.array([x == y for x in a for y in b], dtype=float)
    W = np.kron(A, B) * np.outer(same, same)
    now, total = same, same.sum()
    for _ in range(steps):
        now = decay * W @ now
        total += now.sum()
    return total


def tree_fragments(first, second, decay, subset):
    def nodes(tree):
        if not isinstance(tree, tuple):
            return []
        return [tree, *(n for child in tree[1:] for n in nodes(child))]

    def production(tree):
        return tree[0], tuple(c[0] if isinstance(c, tuple) else c for c in tree[1:])

    def shared(a, b):
        if production(a) != production(b):
            return 0.0
        value = decay
        for c, d in zip(a[1:], b[1:], strict=True):
            if isinstance(c, tuple) and isinstance(d, tuple):
                value *= subset + shared(c, d)
            elif isinstance(c, tuple) or isinstance(d, tuple):
                value *= subset
        return value

    return sum(shared(a, b) for a in nodes(first) for b in nodes(second))
