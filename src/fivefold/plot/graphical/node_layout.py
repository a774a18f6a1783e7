"""Where the nodes of a graph stand: in layers where edges have directions, by forces between them where not.

In layers a node stands below all its parents, and each layer is ordered by the mean place of its neighbours above
(Sugiyama, Tagawa & Toda 1981). Otherwise edges pull and nodes push each other (Fruchterman & Reingold 1991), from a
circle, so that the same graph always has the same picture.
"""

from __future__ import annotations

from collections.abc import Iterable, Sequence
from itertools import pairwise

import numpy as np

from fivefold.core.types import Doubles

SWEEPS = 6  # over the layers, to untangle edges
CENTRE_PULL = 1.0  # towards the middle, so that parts without an edge between them stay near
FORCE_STEPS = 300  # of falling length; pictures of 50 nodes have settled by then


def layered(parents: Sequence[Sequence[int]], order: Sequence[int]) -> Doubles:
    """Places (n, 2) with parents above their children; `order` is a topological one."""
    n = len(parents)
    depth = np.zeros(n, dtype=int)
    for node in order:
        depth[node] = max((depth[parent] + 1 for parent in parents[node]), default=0)
    for node in reversed(order):  # a cause stands just above its first effect
        below = [depth[child] for child in range(n) if node in parents[child]]
        if below and not parents[node]:
            depth[node] = min(below) - 1
    layers = [[node for node in order if depth[node] == level] for level in range(depth.max(initial=0) + 1)]
    joined: dict[int, set[int]] = {node: set() for node in range(n)}
    for child, above in enumerate(parents):
        for parent in above:
            # An edge over several layers keeps a place free in each of them, so that it passes beside their nodes.
            chain = [parent, *(len(joined) + k for k in range(depth[child] - depth[parent] - 1)), child]
            for level, (a, b) in enumerate(pairwise(chain), start=depth[parent]):
                joined[a].add(b)
                joined.setdefault(b, set()).add(a)
                if b != child:
                    layers[level + 1].append(b)
    x = np.zeros(len(joined))
    for layer in layers:
        x[layer] = np.arange(len(layer)) - (len(layer) - 1) / 2
    for sweep in range(SWEEPS):
        for layer in layers if sweep % 2 == 0 else layers[::-1]:
            pull = {node: np.mean([x[other] for other in joined[node]] or [x[node]]) for node in layer}
            layer.sort(key=lambda node: pull[node])
            x[layer] = np.arange(len(layer)) - (len(layer) - 1) / 2
    return np.column_stack([x[:n], -depth.astype(float)])


def by_forces(n: int, edges: Iterable[tuple[int, int]]) -> Doubles:
    """Places (n, 2) where joined nodes are near and others apart."""
    angle = 2 * np.pi * np.arange(n) / max(n, 1)
    place = np.column_stack([np.cos(angle), np.sin(angle)])
    joined = np.zeros((n, n))
    for a, b in edges:
        joined[a, b] = joined[b, a] = 1.0
    ideal = 1.6 / np.sqrt(max(n, 1))
    for step in range(FORCE_STEPS):
        gap = place[:, None] - place[None]
        distance = np.maximum(np.sqrt((gap**2).sum(axis=2)), 1e-3)
        push = ideal**2 / distance**2 - joined * distance / ideal
        np.fill_diagonal(push, 0.0)
        force = (gap * push[..., None]).sum(axis=1) - CENTRE_PULL * place
        length = np.maximum(np.sqrt((force**2).sum(axis=1, keepdims=True)), 1e-9)
        place = place + force / length * np.minimum(length, 0.1 * (1 - step / FORCE_STEPS))
    spread = place.max(axis=0, initial=0.0) - place.min(axis=0, initial=0.0)
    scale = np.sqrt(max(n, 2)) / max(spread.max(initial=1.0), 1e-9)
    return (place - place.mean(axis=0)) * scale if n else place
