"""Predicting with one parameter value, or with all of them.

    plug-in   p(x | theta_hat)
    full      p(x | X) = integral p(x | theta) p(theta | X) dtheta

The plug-in density forgets that theta is not known exactly; with more rows the posterior narrows, and the two meet.
Their distance is KL(full || plug-in): what is lost per row, in nats, by predicting with the plug-in where the posterior
is right.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass

import numpy as np

from fivefold.core.types import Rng, Table, Vector
from fivefold.distributions.conjugate.conjugate_pair import ConjugatePair, ConjugatePosterior, Parameters


@dataclass(frozen=True)
class PlugInComparison:
    """How far the plug-in is from the full predictive after n rows."""

    n: int
    divergence: Vector  # (K,) KL(full || plug-in), in nats
    error: Vector  # (K,) its standard error


def compare_plug_in(
    pair: ConjugatePair,
    prior: Parameters,
    X: Table,
    sizes: Sequence[int],
    *,
    draws: int = 20_000,
    rng: Rng | None = None,
) -> tuple[PlugInComparison, ...]:
    """Both densities after the first n rows of X, for each n of `sizes`; KL by Monte Carlo over the full predictive."""
    rng = np.random.RandomState(0) if rng is None else rng
    out = []
    for n in sizes:
        after = ConjugatePosterior.start(pair, prior).update(X[:n])
        full, plug_in = after.predictive, after.mean_members
        K = len(after.log_evidence)
        gaps = []
        for k in range(K):
            rows = full.sample(np.full(draws, k), rng)
            gaps.append(full.log_prob(rows)[:, k] - plug_in.log_prob(rows)[:, k])
        found = np.array(gaps)
        out.append(PlugInComparison(n, found.mean(axis=1), found.std(axis=1) / np.sqrt(draws)))
    return tuple(out)
