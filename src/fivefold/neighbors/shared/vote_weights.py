"""What the vote of a neighbour counts, by its distance d.

    uniform        1
    distance       1 / d; rows at distance zero have all the votes where there are any
    a kernel       k(d / h), one of spatial/smoothing_kernels.py

h is the width: a number, or for each query the distance of the nearest row that does not vote. Where all votes of a
kernel are zero, or too small for a float, its limit for that width is taken: the nearest rows vote.

Dudani (1976), The distance-weighted k-nearest-neighbor rule; Hechenbichler & Schliep (2004), Weighted
k-nearest-neighbor techniques.
"""

from __future__ import annotations

from collections.abc import Callable
from typing import Any, Literal, TypeAlias

import numpy as np

from fivefold.core.types import Doubles, Indices, Vector
from fivefold.spatial.smoothing_kernels import KERNELS, KernelName

VoteRule: TypeAlias = Literal["uniform", "distance"] | KernelName | Callable[..., Any] | None


def is_kernel(rule: VoteRule) -> bool:
    """Does the rule have a width?"""
    return isinstance(rule, str) and rule in KERNELS


def vote_weights(rule: VoteRule, distances: Vector, indptr: Indices, width: float | Vector | None) -> Doubles | None:
    """One weight per neighbour; None if all are equal.

    Neighbours of query i are entries indptr[i] to indptr[i + 1], nearest first. `width`: one for all, or one per query.
    """
    if rule is None or rule == "uniform":
        return None
    counts = np.diff(indptr)
    if callable(rule):
        regular = len(counts) and counts[0] and (counts == counts[0]).all()
        given = np.asarray(rule(distances.reshape(len(counts), -1) if regular else distances), dtype=np.float64)
        return _certain_votes(given.reshape(distances.shape), indptr)
    some, first = counts[counts > 0], indptr[:-1][counts > 0]  # of queries that have neighbours
    d = np.where(np.isnan(distances), np.inf, distances).astype(np.float64)  # of rows that share no column: infinite
    nearest = np.repeat(d[first], some)
    with np.errstate(divide="ignore", invalid="ignore"):
        if rule == "distance":
            votes = np.where(nearest > 0, 1.0 / d, d == 0)
        else:
            h = np.repeat(np.broadcast_to(np.asarray(width, dtype=np.float64), counts.shape), counts)
            votes = np.nan_to_num(_kernel_votes(rule, d, nearest, h))
    empty = np.add.reduceat(votes, first) <= 0 if len(votes) else np.zeros(0, dtype=bool)
    return np.where(np.repeat(empty, some), d == nearest, votes)


def _kernel_votes(rule: str, d: Doubles, nearest: Doubles, h: Doubles) -> Doubles:
    """k(d / h); kernels that reach far are taken relative to the nearest, so that they never all vanish."""
    if rule == "gaussian":
        return np.exp(-0.5 * ((d - nearest) / h) * ((d + nearest) / h))
    if rule == "exponential":
        return np.exp(-(d - nearest) / h)
    return np.where(d < h, KERNELS[rule](np.minimum(d / h, 1.0)), 0.0)


def _certain_votes(votes: Doubles, indptr: Indices) -> Doubles:
    """Votes of a user's function, in which infinite ones leave nothing to the others."""
    if not (infinite := np.isposinf(votes)).any():
        return votes
    counts = np.diff(indptr)
    decided = np.bincount(np.repeat(np.arange(len(counts)), counts), infinite, minlength=len(counts)) > 0
    return np.where(np.repeat(decided, counts), infinite, votes)
