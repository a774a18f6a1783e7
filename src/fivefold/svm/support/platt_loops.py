"""Compiled maximum likelihood of a sigmoid; the problem is in `platt_scaling`."""

from __future__ import annotations

import numpy as np

from fivefold.core.compilation.jit import jit

MAX_NEWTON_STEPS = 100
HESSIAN_RIDGE = 1e-12  # added to the diagonal of the Hessian
MIN_STEP = 1e-10  # of the line search
GRADIENT_TOLERANCE = 1e-5


@jit(error_model="numpy")
def newton_sigmoid(f, target, w, A, B):
    """A and B by Newton's method with step halving, from a start."""
    value = sigmoid_loss(f, target, w, A, B)
    for _ in range(MAX_NEWTON_STEPS):
        haa = hbb = HESSIAN_RIDGE
        hab = ga = gb = 0.0
        for i in range(len(f)):
            z = A * f[i] + B
            e = np.exp(-abs(z))
            p = (e if z >= 0.0 else 1.0) / (1.0 + e)
            curvature, slope = w[i] * p * (1.0 - p), w[i] * (target[i] - p)
            haa += curvature * f[i] * f[i]
            hab += curvature * f[i]
            hbb += curvature
            ga += slope * f[i]
            gb += slope
        if abs(ga) < GRADIENT_TOLERANCE and abs(gb) < GRADIENT_TOLERANCE:
            break
        det = haa * hbb - hab * hab
        da, db = -(hbb * ga - hab * gb) / det, -(haa * gb - hab * ga) / det
        step, descent = 1.0, ga * da + gb * db
        while step >= MIN_STEP:
            new = sigmoid_loss(f, target, w, A + step * da, B + step * db)
            if new < value + 1e-4 * step * descent:
                break
            step /= 2.0
        if step < MIN_STEP:
            break
        A, B, value = A + step * da, B + step * db, new
    return A, B


@jit(error_model="numpy")
def sigmoid_loss(f, target, w, A, B):
    """Minus the log-likelihood."""
    total = 0.0
    for i in range(len(f)):
        z = A * f[i] + B
        total += w[i] * (target[i] * z + np.log1p(np.exp(-abs(z))) + max(-z, 0.0))
    return total
