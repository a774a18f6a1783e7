"""Groups that have lost all their rows: a component of a mixture, a state of a hidden Markov model."""

from __future__ import annotations

from dataclasses import fields

import numpy as np

from fivefold.core.types import Indices
from fivefold.distributions.family import FamilyStats, sum_stats

MIN_GROUP_SHARE = 1e-12  # a group with less than this share of all weight counts as one without rows


def refill_empty(stats: FamilyStats) -> FamilyStats:
    """The statistics, with a tiny share of all rows for a group without rows: its parameters must be defined."""
    K, lost = len(stats.weight), ~(stats.weight > MIN_GROUP_SHARE * stats.weight.sum())
    if not lost.any():
        return stats
    pooled = sum_stats(_members_of(np.array([k]), stats) for k in np.flatnonzero(~lost)) * MIN_GROUP_SHARE
    return _members_of(np.where(lost, K, np.arange(K)), stats, pooled)


def _members_of(index: Indices, *stats: FamilyStats) -> FamilyStats:
    """Members `index` of statistics laid end to end."""
    values = [[getattr(s, f.name) for s in stats] for f in fields(stats[0])]
    return type(stats[0])(*(
        tuple(_members_of(index, *parts) for parts in zip(*v, strict=True))
        if isinstance(v[0], tuple)
        else np.concatenate(v)[index]
        for v in values
    ))  # fmt: skip
