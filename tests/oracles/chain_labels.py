"""Conditional random fields by enumerating every sequence of labels, and Kneser-Ney by its definition."""

from collections import Counter, defaultdict
from itertools import pairwise, product

import numpy as np


def enumerated(scores, transition):
    """ln Z, marginals (T, K) and the best path of one sequence, by all K ** T of them."""
    T, K = scores.shape
    paths = list(product(range(K), repeat=T))
    logs = np.array(
        [
            sum(scores[t, k] for t, k in enumerate(path)) + sum(transition[i, k] for i, k in pairwise(path))
            for path in paths
        ]
    )
    log_Z = np.logaddexp.reduce(logs)
    P, marginals = np.exp(logs - log_Z), np.zeros((T, K))
    for path, p in zip(paths, P, strict=True):
        marginals[np.arange(T), list(path)] += p
    return log_Z, marginals, paths[int(logs.argmax())]


class SlowKneserNey:
    """Interpolated modified Kneser-Ney with dictionaries, one probability at a time."""

    def __init__(self, texts, order):
        self.order, self.raw = order, [Counter() for _ in range(order)]
        before = [defaultdict(set) for _ in range(order)]
        for text in texts:
            tokens = ["<s>", *text, "</s>"]
            for t in range(1, len(tokens)):
                for k in range(min(order, t + 1)):
                    gram = tuple(tokens[t - k : t + 1])
                    self.raw[k][gram] += 1
                    if t - k > 0:
                        before[k][gram].add(tokens[t - k - 1])
        self.words = sorted({gram[0] for gram in self.raw[0]} | {"<unk>"})
        self.adjusted = [
            {
                gram: count if k == order - 1 or (gram[0] == "<s>") else len(before[k][gram])
                for gram, count in self.raw[k].items()
            }
            for k in range(order)
        ]
        self.discounts = [self.discount(list(level.values())) for level in self.adjusted]

    @staticmethod
    def discount(counts):
        n = [sum(c == r for c in counts) for r in range(1, 5)]
        if n[0] == 0 or n[1] == 0:
            return [0.5, 1.0, 1.5]
        Y, found = n[0] / (n[0] + 2 * n[1]), []
        for r in (1, 2, 3):
            D = r - (r + 1) * Y * n[r] / n[r - 1] if n[r - 1] else -1.0
            found.append(D if 0 < D <= r else r / 2)
        return found

    def probability(self, word, context):
        context = tuple(context)[len(context) - self.order + 1 :] if self.order > 1 else ()
        return self._at(word, context)

    def _at(self, word, context):
        k = len(context)
        lower = 1 / len(self.words) if k == 0 else self._at(word, context[1:])
        level = {gram: c for gram, c in self.adjusted[k].items() if gram[:-1] == context}
        total = sum(level.values())
        if not total:
            return lower
        D = [0.0, *self.discounts[k]]
        taken = {gram: D[min(c, 3)] for gram, c in level.items()}
        own = level.get((*context, word), 0)
        return (own - taken.get((*context, word), 0)) / total + sum(taken.values()) / total * lower
