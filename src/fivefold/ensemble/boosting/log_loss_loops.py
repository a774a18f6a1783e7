"""A pass over the rows of two classes for the log loss, on a team of threads: derivatives and the sum of losses.

loss = log(1 + e^eta) - y eta,   g = p - y,   h = p (1 - p),   p = 1 / (1 + e^-eta)

With z = e^-|eta|, which never overflows, 1 - p or p is z / (1 + z), and the loss holds log(1 + z), which is
2 artanh(z / (2 + z)).
"""

from __future__ import annotations

from typing import NamedTuple

import numpy as np

from fivefold.core.compilation.jit import jit
from fivefold.core.numerics.softmax import FAST_IN_ORDER, exp_mantissa
from fivefold.core.parallel import run_team, team_size
from fivefold.core.team_loops import run_task, share_tasks
from fivefold.core.types import Array, Codes, Doubles

BLOCK_ROWS = 4096  # rows per task, each with sums of its own
SECONDS_PER_ROW = 5e-9  # time of a pass: what decides how many threads pay
ARTANH_TERMS = 17  # of artanh(x) / x as a series in x^2, for x up to 1/3: the next is below 1e-17


class LogLossPass(NamedTuple):
    """Rows of two classes, and what is computed of them."""

    y: Array  # (n,): 0 or 1
    eta: Array  # (n,)
    w: Array  # (n,)
    g: Array  # (n,)
    h: Array  # (n,)
    g_bits: Codes  # (n,) int64: the same memory
    h_bits: Codes  # (n,) int64
    sums: Doubles  # (blocks, 2): of weighted losses and of weights


def pass_over_log_losses(y: Array, eta: Array, w: Array, g: Array, h: Array) -> float:
    """Fill g and h with derivatives; the mean of the losses, weighted by w."""
    sums = np.zeros((-(-len(eta) // BLOCK_ROWS), 2))
    size = min(len(sums), team_size(len(eta) * SECONDS_PER_ROW))
    y, eta, w = (np.ascontiguousarray(a) for a in (y, eta, w))
    run_team(_pass, LogLossPass(y, eta, w, g, h, g.view(np.int64), h.view(np.int64), sums), size=size)
    total, weight = sums.sum(axis=0)
    return float(total / weight)


@jit(reference_counting=False)
def _pass(team, state):
    share_tasks(team, state, 0, len(state.sums))


@run_task.rule(LogLossPass)
def _block(state, kind, i, rank):
    lo, hi = i * BLOCK_ROWS, min((i + 1) * BLOCK_ROWS, len(state.eta))
    state.sums[i, 0], state.sums[i, 1] = _derivatives(
        state.y[lo:hi], state.eta[lo:hi], state.w[lo:hi], state.g[lo:hi], state.g_bits[lo:hi], state.h[lo:hi],
        state.h_bits[lo:hi],
    )  # fmt: skip


@jit(fastmath=FAST_IN_ORDER, error_model="numpy")
def _derivatives(y, eta, w, g, g_bits, h, h_bits):
    for r in range(len(eta)):
        g[r], h[r] = exp_mantissa(max(-abs(eta[r]), -700.0))
    for r in range(len(eta)):
        g_bits[r] += h_bits[r] << 52
    for r in range(len(eta)):  # g is z, h becomes log(1 + z)
        x = g[r] / (2.0 + g[r])
        x2 = x * x
        s = 1.0 / (2 * ARTANH_TERMS - 1)
        for k in range(ARTANH_TERMS - 1):
            s = s * x2 + 1.0 / (2 * (ARTANH_TERMS - k) - 3)
        h[r] = 2.0 * x * s
    total, weight = 0.0, 0.0
    for r in range(len(eta)):
        total += w[r] * (max(eta[r], 0.0) + h[r] - y[r] * eta[r])
        weight += w[r]
    for r in range(len(eta)):
        least = g[r] / (1.0 + g[r])
        p = 1.0 - least if eta[r] > 0.0 else least
        g[r] = p - y[r]
        h[r] = least * (1.0 - least)
    return total, weight
