"""All paths of a chain, one by one."""

from itertools import product
from typing import NamedTuple

import numpy as np


class Enumerated(NamedTuple):
    log_partition: np.ndarray
    marginals: np.ndarray
    pairs: np.ndarray
    ranked: list  # per sequence: log weights of all paths, largest first


def enumerated(chain):
    """Sums over all paths of every sequence."""
    n, K = chain.n_positions, chain.n_states
    marginals, pairs, sums, ranked = np.zeros((n, K)), np.zeros((n, K, K)), [], []
    for lo, hi in zip(chain.offsets[:-1], chain.offsets[1:], strict=True):
        logs = []
        for path in product(range(K), repeat=hi - lo):
            logs.append(_log_weight(chain, lo, path))
            weight = np.exp(logs[-1])
            for i, k in enumerate(path):
                marginals[lo + i, k] += weight
                if i:
                    pairs[lo + i, path[i - 1], k] += weight
        total = np.exp(logs).sum()
        marginals[lo:hi] /= total
        pairs[lo:hi] /= total
        sums.append(np.log(total))
        ranked.append(np.sort(logs)[::-1])
    return Enumerated(np.array(sums), marginals, pairs, ranked)


def _log_weight(chain, lo, path):
    weight = chain.log_start[path[0]]
    for i, k in enumerate(path):
        weight += chain.log_emission[chain.rows[lo + i], k]
        if i:
            weight += chain.steps[lo + i if len(chain.steps) > 1 else 0, path[i - 1], k]
    return weight
