"""Markov chains while they are drawn: running means, where burn-in ends, and autocorrelation."""

from __future__ import annotations

from collections.abc import Sequence
from typing import TYPE_CHECKING

import numpy as np
from numpy.typing import ArrayLike

from fivefold.inference.approximate.chain_diagnostics import (
    autocorrelation,
    effective_size,
    running_mean,
    split_r_hat,
)
from fivefold.plot.style import GREY, INK, LIGHT_GREY, axes, axes_row, colour, legend

if TYPE_CHECKING:
    from matplotlib.axes import Axes


def chain_trace(
    draws: ArrayLike,
    *,
    burn_in: int = 0,
    exact: float | None = None,
    lags: int = 40,
    name: str = "estimate",
    panels: Sequence[Axes] | None = None,
) -> list[Axes]:
    """Running means of (chains, n) values, such as `ChainSamples.trace` gives, and their autocorrelation.

    Means begin after `burn_in` draws, where a line is drawn; `exact` is the true value, if it is known. Bars beyond the
    grey band differ from those of independent draws.
    """
    x = np.atleast_2d(np.asarray(draws, dtype=np.float64))
    if not 0 <= burn_in < x.shape[1]:
        raise ValueError(f"burn_in={burn_in}: it ends before the last of {x.shape[1]} draws")
    kept = x[:, burn_in:]
    means, bars = axes_row(2, panels, width=4.2, height=3.0)
    axes(means, title=f"R-hat {split_r_hat(kept):.3f}", x="draw", y=name)
    for k, chain in enumerate(running_mean(kept)):
        means.plot(np.arange(burn_in + 1, x.shape[1] + 1), chain, color=colour(k), lw=1.1, gid=f"chain:{k}")
    if burn_in:
        means.axvspan(0, burn_in, color=LIGHT_GREY, lw=0, label="burn-in", gid="burn-in")
    if exact is not None:
        means.axhline(exact, color=INK, lw=1, ls="--", label="exact", gid="exact")
    if burn_in or exact is not None:
        legend(means)
    rho = autocorrelation(kept, min(lags, kept.shape[1] - 1)).mean(axis=0)
    axes(bars, title=f"{effective_size(kept):,.0f} of {kept.size:,} draws", x="lag", y="autocorrelation")
    band = 2.0 / np.sqrt(kept.size)
    bars.axhspan(-band, band, color=LIGHT_GREY, lw=0)
    bars.vlines(np.arange(len(rho)), 0.0, rho, color=colour(0), lw=1.8)
    bars.axhline(0.0, color=GREY, lw=0.8)
    return [means, bars]
