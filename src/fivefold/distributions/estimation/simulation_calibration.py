"""Simulation-based calibration: is a posterior right on average over the prior?

Draw theta from the prior and rows from p(x | theta): together a draw from the joint density p(x, theta). The rank of
theta among draws from the posterior given these rows is then uniform, whatever the model (Cook, Gelman & Rubin 2006;
Talts et al. 2018). A posterior that is too narrow gives too many extreme ranks, a shifted one lopsided ranks.
"""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass

import numpy as np
from scipy.special import chdtrc

from fivefold.core.types import Array, Codes, Rng, Vector

DrawParameter = Callable[[Rng], Array]  # theta, p numbers
DrawRows = Callable[[Array, Rng], Array]  # rows given theta
DrawPosterior = Callable[[Array, int, Rng], Array]  # draws (m, p) given rows


@dataclass(frozen=True)
class CalibrationRanks:
    """Ranks 0 .. draws of p parameters in repeated simulations."""

    ranks: Codes  # (repeats, p)
    draws: int
    bins: int
    p_values: Vector  # (p,) of the chi-square test that ranks are uniform

    def counts(self, parameter: int = 0) -> Codes:
        """How many ranks fall into each of the bins."""
        return _binned(self.ranks[:, parameter], self.draws, self.bins)


def draw_joint(draw_parameter: DrawParameter, draw_rows: DrawRows, rng: Rng) -> tuple[Array, Array]:
    """A draw (theta, rows) from p(x, theta) = p(x | theta) p(theta)."""
    theta = np.atleast_1d(draw_parameter(rng))
    return theta, draw_rows(theta, rng)


def calibration_ranks(
    draw_parameter: DrawParameter,
    draw_rows: DrawRows,
    draw_posterior: DrawPosterior,
    *,
    repeats: int = 1000,
    draws: int = 99,
    bins: int = 10,
    rng: Rng | None = None,
) -> CalibrationRanks:
    """Ranks of parameters among posterior draws; draws + 1 must be a multiple of bins, so that bins are equal."""
    if (draws + 1) % bins:
        raise ValueError(f"{draws} draws have {draws + 1} ranks, which {bins} bins do not divide evenly")
    rng = np.random.RandomState(0) if rng is None else rng
    found = []
    for _ in range(repeats):
        theta, rows = draw_joint(draw_parameter, draw_rows, rng)
        sample = np.asarray(draw_posterior(rows, draws, rng)).reshape(draws, -1)
        found.append((sample < theta).sum(axis=0))
    ranks = np.array(found)
    expected = repeats / bins
    squares = [((_binned(r, draws, bins) - expected) ** 2).sum() / expected for r in ranks.T]
    return CalibrationRanks(ranks, draws, bins, np.array([chdtrc(bins - 1, s) for s in squares]))


def _binned(ranks: Codes, draws: int, bins: int) -> Codes:
    return np.bincount(ranks * bins // (draws + 1), minlength=bins)
