"""The dual problem of each machine, as a row of the table in `optim.dual.kernel_dual`."""

from __future__ import annotations

import numpy as np

from fivefold.core.types import Doubles
from fivefold.optim.dual.kernel_dual import KernelDual
from fivefold.optim.dual.smo_loops import NO_BOUND


def soft_margin(sign: Doubles, C: float, w: Doubles) -> KernelDual:
    """SVC: errors cost C times their distance from the margin; with an infinite C there are none."""
    bound = sign * (C * w if np.isfinite(C) else NO_BOUND)
    return KernelDual(sign, np.minimum(bound, 0.0), np.maximum(bound, 0.0))


def squared_margin(sign: Doubles, C: float, w: Doubles) -> KernelDual:
    """Two-norm SVC: errors cost C/2 times their squared distance from the margin."""
    bound = sign * NO_BOUND
    return KernelDual(sign, np.minimum(bound, 0.0), np.maximum(bound, 0.0), ridge=1.0 / (C * w))


def tube(t: Doubles, C: float, w: Doubles, epsilon: float) -> KernelDual:
    """SVR: errors beyond epsilon cost C times what they exceed it by."""
    bound = C * w if np.isfinite(C) else np.full(len(t), NO_BOUND)
    return KernelDual(t, -bound, bound, tube_width=epsilon)


def quantile_support(nu: float, w: Doubles) -> KernelDual:
    """One-class SVM: the share nu of the weight lies beyond the boundary, at most."""
    return KernelDual(np.zeros(len(w)), np.zeros(len(w)), w, start=spread(nu * w.sum(), w))


def enclosing_sphere(nu: float, w: Doubles, squares: Doubles) -> KernelDual:
    """SVDD: the smallest sphere, of which the share nu of the weight may lie outside; `squares` are k(x, x)."""
    high = w / (nu * w.sum())
    return KernelDual(0.5 * squares, np.zeros(len(w)), high, start=spread(1.0, high))


def nu_margin(sign: Doubles, nu: float, w: Doubles) -> KernelDual:
    """nu-SVC: rows of the positive class stand first, then those of the negative one."""
    positive = int((sign > 0).sum())
    half = 0.5 * nu * w.sum()
    start = np.concatenate([spread(half, w[:positive]), -spread(half, w[positive:])])
    bound = sign * w
    sizes = (positive, len(w) - positive)
    return KernelDual(np.zeros(len(w)), np.minimum(bound, 0.0), np.maximum(bound, 0.0), group_sizes=sizes, start=start)


def nu_tube(t: Doubles, C: float, w: Doubles, nu: float) -> KernelDual:
    """nu-SVR: every row twice, for errors above and below; the width of the tube is found."""
    n, bound = len(t), C * w
    start = spread(0.5 * nu * bound.sum(), bound)
    zero = np.zeros(n)
    return KernelDual(
        np.concatenate([t, t]),
        np.concatenate([zero, -bound]),
        np.concatenate([bound, zero]),
        group_sizes=(n, n),
        start=np.concatenate([start, -start]),
    )


def spread(total: float, room: Doubles) -> Doubles:
    """`total` given to the first entries, each as much as it takes."""
    before = np.zeros(len(room))
    np.cumsum(room[:-1], out=before[1:])
    return np.minimum(np.maximum(total - before, 0.0), room)
