"""Semismooth Newton steps for a quadratic with an L1 penalty, where coordinate descent would converge too slowly.

    F(x) = 1/2 x'Gx - q'x + p(x)        p(x) = sum_j l1_j |x_j| + l2_j/2 |x_j|^2,  x_j a number or a row of numbers

Weak penalties and dependent columns leave F nearly flat: passes over the coordinates make slow progress. With G = Z'Z,
Z of as many rows as G has rank, each proximal step x <- argmin F(u) + |u - x|^2 / (2 s) is the smooth problem

    min over theta of  1/2 |theta|^2 - min over u of [p(u) - (q - Gx)'u - theta'Z(u - x) + |u - x|^2 / (2 s)]

whose inner minimum is u = prox of s p at x + s (q - Gx + Z'theta), and whose gradient theta + Z(u - x) is made zero by
Newton's method: its Hessian I + s Z D Z', D the derivative of the prox, involves the columns that are not zero only,
and is solved in the smaller of the two dimensions. As s grows a few proximal steps find which coordinates are zero, and
the minimum for the present signs ends the search exactly.

Li, Sun & Toh (2018).
"""

from __future__ import annotations

from collections.abc import Callable

import numpy as np
from scipy.linalg.lapack import dpotrf, dpotrs, dpstrf
from scipy.optimize import brentq

from fivefold.core.types import Array
from fivefold.optim.proximal.coordinate_descent_loops import LEFT_SLOPE_SHARE, dual_line_minimum

MAX_PROXIMAL_STEPS = 60  # proximal steps in all
MAX_NEWTON_STEPS = 150  # Newton steps per proximal step
PROX_GROWTH = 5.0  # factor of s from one proximal step to the next
MIN_FIRST_PROX, MAX_FIRST_PROX = 10.0, 1e10  # bounds of the first s, for columns of unit length
MAX_PROX_GROWTH = 1e4  # largest s, as a multiple of the first
INNER_TOL_SHARE = 1e-2  # as a share of the length of a proximal step: how far from its minimum it may end
STEP_PRECISION = 0.01  # of a shorter one than Newton's, as a share of it
VALUE_ROUNDING = 1e-14  # as a share of the value: a smaller rise is rounding
LAST_STEP_SHARE = 1e-9  # as a share of the largest coordinate: a proximal step this short is the last
MIN_DIVISOR = 1e-300  # keeps a division by a strength of zero finite


def semismooth_newton(
    Z: Array,
    q: Array,
    l1: Array,
    l2: Array,
    x0: Array,
    *,
    positive: bool,
    finish: Callable[[Array], tuple[Array, bool]],
) -> Array:
    """The minimum for G = Z'Z, or the best point found; `finish(x)` tries to make x exact, and returns whether it is.

    q and x are (d,) or (d, T); strengths are (d,). Columns are scaled to unit length on the way.
    """
    unit, axis = _column_lengths(np.einsum("ij,ij->j", Z, Z)), (slice(None),) + (None,) * (q.ndim - 1)
    Z = Z / unit
    c, a, b = q / unit[axis], (l1 / unit)[axis], (l2 / unit**2)[axis]
    x: Array = x0 * unit[axis]
    # from this s on the penalty moves x noticeably
    s = max(MIN_FIRST_PROX, min(float(np.abs(x).max()) / max(float(a.max()), MIN_DIVISOR), MAX_FIRST_PROX))
    last = MAX_PROX_GROWTH * s

    def value(x: Array) -> float:
        size = _prox(x, 0.0, 0.0, positive)[1]
        return (
            0.5 * float(np.sum((Z @ x) ** 2)) - float(np.vdot(c, x)) + float((a * size).sum() + (b * x * x).sum() / 2)
        )

    here = value(x)
    exact = x0
    for _ in range(MAX_PROXIMAL_STEPS):
        new = _proximal_step(Z, c - Z.T @ (Z @ x), a, b, x, s, positive)
        there = value(new)
        if not there <= here + VALUE_ROUNDING * abs(here):
            if exact is not x0 or s <= MIN_FIRST_PROX:  # s is beyond what rounding allows
                break
            s /= PROX_GROWTH**2  # the first was too large for its Newton steps to end
            continue
        exact, done = finish(new / unit[axis])
        level = here - there <= VALUE_ROUNDING * abs(here)
        if done or (s == last and (level or np.abs(new - x).max() <= LAST_STEP_SHARE * np.abs(new).max())):
            break
        x, s, here = new, min(PROX_GROWTH * s, last), there
    return exact


def gram_root(G: Array) -> Array:
    """Z with Z'Z = G and as few rows as the rank of G."""
    unit = _column_lengths(G.diagonal())
    factor, pivots, rank, _ = dpstrf(G / np.outer(unit, unit))
    Z = np.empty((rank, len(G)))
    Z[:, pivots - 1] = np.triu(factor)[:rank]
    return Z * unit


def _column_lengths(squares: Array) -> Array:
    return np.sqrt(np.where(squares > 0, squares, 1.0))


def _proximal_step(Z: Array, pull: Array, l1: Array, l2: Array, x: Array, s: float, positive: bool) -> Array:
    """The minimum of F(u) + |u - x|^2 / (2 s), from the pull q - Gx."""

    def prox(z: Array) -> Array:
        return _prox(z, s * l1, s * l2, positive)[0]

    theta, z = np.zeros((len(Z), *x.shape[1:])), x + s * pull
    u = prox(z)
    slope = theta + Z @ (u - x)
    for _ in range(MAX_NEWTON_STEPS):
        steep, far = float(np.linalg.norm(slope)), float(np.linalg.norm(u - x))
        if steep <= max(INNER_TOL_SHARE * far / np.sqrt(s), VALUE_ROUNDING * float(np.linalg.norm(theta))):
            break
        d = -(_newton_row(Z, u, slope, s, l2) if x.ndim == 1 else _newton_rows(Z, z, u, slope, s, l1, l2))
        Zd = Z.T @ d
        if x.ndim == 1:
            line = float(d @ theta), float(d @ d)
            t = dual_line_minimum(z, Zd, x, s, s * l1, s * l2, positive, *line)
        else:
            t = _line_minimum(prox, x, z, theta, d, Zd, s)
        if not t > 0:
            break
        theta = theta + t * d
        z = x + s * (pull + Z.T @ theta)
        u = prox(z)
        slope = theta + Z @ (u - x)
    return u


def _line_minimum(
    prox: Callable[[Array], Array], x: Array, z: Array, theta: Array, d: Array, Zd: Array, s: float
) -> float:
    """A step along d for rows of numbers; for numbers it is `dual_line_minimum`.

    The slope along d, d'(theta + t d) + (Z'd)'(u - x), grows with t, and takes no product with Z.
    """
    first, bend = float(np.vdot(d, theta)), float(np.vdot(d, d))

    def slope(t: float) -> float:
        return first + t * bend + float(np.vdot(Zd, prox(z + (t * s) * Zd) - x))

    fall = slope(0.0)
    if not fall < 0:
        return 0.0
    if slope(1.0) <= LEFT_SLOPE_SHARE * abs(fall):
        return 1.0
    return float(brentq(slope, 0.0, 1.0, rtol=STEP_PRECISION, maxiter=50, disp=False))


def _prox(z: Array, l1: float | Array, l2: float | Array, positive: bool) -> tuple[Array, Array]:
    """argmin of l1 |u| + l2/2 |u|^2 + |u - z|^2 / 2, and the sizes |u|, shaped to multiply l1."""
    if z.ndim == 1:
        size = np.maximum((z if positive else np.abs(z)) - l1, 0.0) / (1 + l2)
        return np.copysign(size, z), size
    length = np.sqrt(np.einsum("jt,jt->j", z, z))[:, None]
    size = np.maximum(length - l1, 0.0) / (1 + l2)
    return z * np.divide(size, length, out=np.zeros_like(size), where=length > 0), size


def _newton_row(Z: Array, u: Array, slope: Array, s: float, l2: Array) -> Array:
    """(I + s Z D Z')^-1 slope, D diagonal."""
    on = np.flatnonzero(u)
    A = Z[:, on] * np.sqrt(s / (1 + s * l2[on]))
    if len(on) < len(A):
        return slope - A @ _solved(A.T @ A, A.T @ slope)
    return _solved(A @ A.T, slope)


def _newton_rows(Z: Array, z: Array, u: Array, slope: Array, s: float, l1: Array, l2: Array) -> Array:
    """The same for rows of numbers, whose D_j = (1 - k_j) I + k_j zz'/|z|^2, k_j = s l1 / |z|, both over 1 + s l2."""
    on = np.flatnonzero(u.any(axis=1))
    r, T = slope.shape
    length = np.linalg.norm(z[on], axis=1)
    k, curvature = s * l1[on, 0] / length, s / (1 + s * l2[on, 0])
    A, V = Z[:, on], z[on] / length[:, None]
    H = np.zeros((r, T, r, T))
    plain = (A * (curvature * (1 - k))) @ A.T
    for i in range(T):
        H[:, i, :, i] = plain
        for j in range(i + 1):
            extra = (A * (curvature * k * V[:, i] * V[:, j])) @ A.T
            H[:, i, :, j] += extra
            if j < i:
                H[:, j, :, i] += extra
    return _solved(H.reshape(r * T, r * T), slope.ravel()).reshape(r, T)


def _solved(H: Array, v: Array) -> Array:
    """(I + H)^-1 v."""
    H.reshape(-1)[:: len(H) + 1] += 1.0
    return dpotrs(dpotrf(H)[0], v)[0] if len(H) else v
