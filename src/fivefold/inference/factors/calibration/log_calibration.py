"""Calibration of a junction tree in logarithms: slower, and right where products of probabilities underflow."""

from __future__ import annotations

from itertools import pairwise

import numpy as np

from fivefold.core.types import Doubles, Indices, Mask
from fivefold.inference.factors.calibration.clique_layout import CliqueLayout, map_targets


def log_calibration(
    layout: CliqueLayout, tables: Doubles, observed: Mask, likelihood: Doubles
) -> tuple[Doubles, float]:
    """Beliefs of all cliques and separators, as probabilities, and the log of the sum of the product of all tables.

    The sum is -inf, and the beliefs mean nothing, if no configuration has a positive product.
    """
    with np.errstate(divide="ignore"):
        factors, evidence = np.log(tables), np.log(likelihood)
    n, starts = len(layout.parents), layout.starts
    logs = [np.zeros(b - a) for a, b in pairwise(starts)]
    for number, at in zip(layout.factor_maps, layout.factor_starts[:-1], strict=True):
        logs[layout.maps[number, 0]] += factors[at + map_targets(layout, number)]
    for v in np.flatnonzero(observed):
        number = layout.evidence_maps[v]
        logs[layout.maps[number, 0]] += evidence[layout.variable_starts[v] + map_targets(layout, number)]
    for k in reversed(range(1, n)):
        logs[n + k] = log_sums(logs[k], map_targets(layout, layout.child_maps[k]), len(logs[n + k]))
        logs[layout.parents[k]] += logs[n + k][map_targets(layout, layout.parent_maps[k])]
    total = float(log_sums(logs[0], np.zeros(len(logs[0]), dtype=np.int64), 1)[0])
    if np.isneginf(total):
        return np.zeros(starts[-1]), total
    logs[0] -= total
    for k in range(1, n):
        upward = logs[n + k]
        logs[n + k] = log_sums(logs[layout.parents[k]], map_targets(layout, layout.parent_maps[k]), len(upward))
        ratio = logs[n + k] - np.where(np.isneginf(upward), 0.0, upward)  # zero divided by zero is zero
        logs[k] += ratio[map_targets(layout, layout.child_maps[k])]
    return np.exp(np.concatenate(logs)), total


def log_sums(logs: Doubles, target: Indices, size: int) -> Doubles:
    """Log of the sum of the entries that share a target."""
    highest = np.full(size, -np.inf)
    np.maximum.at(highest, target, logs)
    shift = np.where(np.isneginf(highest), 0.0, highest)
    with np.errstate(divide="ignore"):
        return np.asarray(np.log(np.bincount(target, np.exp(logs - shift[target]), size)) + shift)
