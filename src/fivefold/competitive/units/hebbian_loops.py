"""Compiled loops of linear units that learn from one row at a time."""

from __future__ import annotations

import numpy as np

from fivefold.core.compilation.jit import FAST, jit

MAX_STEP = 0.5  # of eta |z|^2: a longer step on a far row would throw the weights off


@jit(fastmath=FAST, error_model="numpy")
def sanger_step(z, V, eta):
    """One step of the generalised Hebbian rule: unit i learns from what the units before it leave of z. V (m, d)."""
    m, d = V.shape
    size = 0.0
    for j in range(d):
        size += z[j] * z[j]
    rate = min(eta, MAX_STEP / max(size, 1e-300))
    for i in range(m):
        y = 0.0
        for j in range(d):
            y += V[i, j] * z[j]
        for j in range(d):
            before = V[i, j]
            V[i, j] += rate * y * (z[j] - y * before)
            z[j] -= y * before


@jit(fastmath=FAST, error_model="numpy")
def sanger_pass(Z, w, order, V, eta):
    """Show each row to linear units V (m, d) that learn principal axes."""
    z = np.empty(Z.shape[1])
    for t in range(len(order)):
        z[:] = Z[order[t]]
        sanger_step(z, V, eta * w[order[t]])


@jit(fastmath=FAST, error_model="numpy")
def discriminant_pass(Z, within, w, order, Q, V, eta):
    """Show each row to a layer Q (d, d) that learns to whiten rows within classes, and to units V (m, d) behind it."""
    d = Z.shape[1]
    z, u = np.empty(d), np.empty(d)
    for t in range(len(order)):
        i = order[t]
        size = 0.0
        for a in range(d):
            s, r = 0.0, 0.0
            for b in range(d):
                s += Q[a, b] * within[i, b]
                r += Q[a, b] * Z[i, b]
            u[a], z[a] = s, r
            size += s * s
        rate = min(eta * w[i], MAX_STEP / (1.0 + size))
        for a in range(d):
            Q[a, a] += rate
            for b in range(d):
                Q[a, b] -= rate * u[a] * u[b]
        sanger_step(z, V, eta * w[i])


@jit(fastmath=FAST, error_model="numpy")
def hebbian_pass(Z, order, v, eta, rule):
    """Show each row to one linear unit v (d,): rule 0 is Hebb's, 1 divides by the norm after each step, 2 is Oja's."""
    d = len(v)
    for t in range(len(order)):
        i, y, size = order[t], 0.0, 0.0
        for j in range(d):
            y += v[j] * Z[i, j]
        for j in range(d):
            v[j] += eta * y * (Z[i, j] - (y * v[j] if rule == 2 else 0.0))
            size += v[j] * v[j]
        if rule == 1 and size > 0.0:
            for j in range(d):
                v[j] /= np.sqrt(size)
