"""Hidden states over time: the trellis of a sequence with its best path, and states beside what was observed."""

from __future__ import annotations

from typing import TYPE_CHECKING

import numpy as np

from fivefold.core.types import Indices, Mask, UserTable
from fivefold.inference.chains.best_paths import best_path
from fivefold.inference.chains.chain import Chain
from fivefold.plot.style import GREY, axes, colour, legend

if TYPE_CHECKING:
    from matplotlib.axes import Axes

    from fivefold.sequence.hidden_markov.base import BaseHMM

MAX_STEPS = 60  # of a trellis: more columns than these cannot be told apart


def trellis(chain: Chain, *, names: list[str] | None = None, ax: Axes | None = None) -> Axes:
    """States as rows and positions as columns, an edge from each state back to its best predecessor; best path bold.

    States and edges without a possible path are left out. `chain` holds one sequence.
    """
    n, K = chain.n_positions, chain.n_states
    if chain.n_sequences != 1 or n > MAX_STEPS:
        raise ValueError(
            f"a trellis shows one sequence of {MAX_STEPS} positions at most; got {chain.n_sequences} of {n} in all"
        )
    ax = axes(ax, x="step")
    sources, possible = _predecessors(chain)
    for t in range(1, n):
        for k in np.flatnonzero(possible[t]):
            ax.plot([t - 1, t], [sources[t, k], k], color=GREY, lw=0.8, zorder=1)
    path = best_path(chain).path
    ax.plot(np.arange(n), path, color=colour(0), lw=2.4, zorder=2)
    steps, states = np.nonzero(possible)
    best = states == path[steps]
    ax.scatter(steps[~best], states[~best], s=22, color="white", edgecolor=GREY, zorder=3)
    ax.scatter(steps[best], states[best], s=30, color=colour(0), zorder=3)
    ax.set_yticks(range(K), names or [str(k) for k in range(K)])
    ax.invert_yaxis()
    return ax


def _predecessors(chain: Chain) -> tuple[Indices, Mask]:
    """The best state before each state at each position (n, K), and whether a path leads there."""
    n, K = chain.n_positions, chain.n_states
    V, sources = np.full((n, K), -np.inf), np.zeros((n, K), dtype=np.int64)
    V[0] = chain.log_start + chain.log_emission[chain.rows[0]]
    for t in range(1, n):
        scores = V[t - 1][:, None] + chain.steps[t if len(chain.steps) > 1 else 0]
        sources[t] = scores.argmax(axis=0)
        V[t] = scores.max(axis=0) + chain.log_emission[chain.rows[t]]
    return sources, np.isfinite(V)


def state_sequence(model: BaseHMM, X: UserTable, *, column: int = 0, ax: Axes | None = None) -> Axes:
    """One column of X over time, coloured by the decoded state, and below it the probabilities of the states."""
    ax = axes(ax, x="step")
    rows = np.asarray(X, dtype=float)[:, column]
    states, shares = model.predict(X), np.asarray(model.predict_proba(X))
    steps = np.arange(len(rows))
    seen = rows[np.isfinite(rows)]
    low, high = float(seen.min()), float(seen.max())
    height = 0.35 * max(high - low, 1.0)  # of the strip of probabilities
    floor = low - 1.25 * height
    tops = floor + height * np.cumsum(shares, axis=1)
    for k in range(shares.shape[1]):
        below = tops[:, k] - height * shares[:, k]
        ax.fill_between(steps, below, tops[:, k], color=colour(k), alpha=0.6, lw=0)
    ax.plot(steps, rows, color=GREY, lw=0.6, zorder=1)
    for k in np.unique(states):
        ax.scatter(steps[states == k], rows[states == k], s=14, color=colour(int(k)), zorder=2, label=f"state {k}")
    ax.set_yticks([tick for tick in ax.get_yticks() if low <= tick <= high])
    ax.set_ylim(floor, high + 0.3 * (high - low or 1.0))  # room for the legend
    legend(ax, loc="upper center", ncols=min(shares.shape[1], 4))
    return ax
