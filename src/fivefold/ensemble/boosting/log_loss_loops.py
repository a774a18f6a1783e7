"""Passes over the rows of two classes for the log loss, on a team of threads: derivatives, and the sum of losses.

loss = log(1 + e^eta) - y eta,   g = p - y,   h = p (1 - p),   p = 1 / (1 + e^-eta)
"""

from __future__ import annotations

from typing import NamedTuple

import numpy as np

from fivefold.core.compilation.jit import jit
from fivefold.core.parallel import run_team, team_size
from fivefold.core.team_loops import help_team, run_task, share_tasks
from fivefold.core.types import Array, Doubles

BLOCK_ROWS = 8192  # rows per task, each with a sum of its own
SECONDS_PER_ROW = 1e-8  # time of a pass: what decides how many threads pay
SLOPES, LOSSES = range(2)  # kinds of passes


class LogLossPass(NamedTuple):
    """Rows of two classes, and what is computed of them."""

    y: Array  # (n,): 0 or 1
    eta: Array  # (n,)
    w: Array  # (n,)
    g: Array  # (n,)
    h: Array  # (n,)
    sums: Doubles  # (blocks,)


def pass_over_log_losses(kind: int, y: Array, eta: Array, w: Array, g: Array, h: Array) -> float:
    """Fill g and h with derivatives, or sum the losses weighted by w."""
    sums = np.zeros(-(-len(eta) // BLOCK_ROWS))
    size = min(len(sums), team_size(len(eta) * SECONDS_PER_ROW))
    run_team(_pass, LogLossPass(y, eta, w, g, h, sums), kind, size=size)
    return float(sums.sum())


@jit
def _pass(team, rank, state, kind):
    if rank > 0:
        help_team(team, rank, state)
    else:
        share_tasks(team, rank, state, kind, len(state.sums))


@run_task.rule(LogLossPass)
def _block(state, kind, i, rank):
    y, eta, w, g, h = state.y, state.eta, state.w, state.g, state.h
    lo, hi, total = i * BLOCK_ROWS, min((i + 1) * BLOCK_ROWS, len(state.eta)), 0.0
    if kind == SLOPES:
        for r in range(lo, hi):
            p = 1.0 / (1.0 + np.exp(-eta[r]))
            g[r] = p - y[r]
            h[r] = p * (1.0 - p)
    else:
        for r in range(lo, hi):
            total += w[r] * (max(eta[r], 0.0) + np.log1p(np.exp(-abs(eta[r]))) - y[r] * eta[r])
    state.sums[i] = total
