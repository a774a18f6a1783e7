"""The dual system of ridge regression with weights w, and two ways to solve it.

    min over a of  sum_i w_i (y_i - [K a]_i)^2 + alpha a'K a        (S K S + alpha I) c = S y,  a = S c,  S = W^1/2

"cholesky" factors the matrix. "cg" needs only products with K, which is computed by blocks of rows: conjugate
gradients, preconditioned by K ~ Z Z' of low rank, Z from an incomplete Cholesky factor,

    (S Z Z' S + alpha I)^-1 = (I - S Z (alpha I + Z'W Z)^-1 Z'S) / alpha
"""

from __future__ import annotations

from collections.abc import Callable
from typing import NamedTuple

import numpy as np
from scipy.linalg import cho_factor, cho_solve

from fivefold.core.console.user_warnings import warn
from fivefold.core.numerics.cholesky import cholesky
from fivefold.core.numerics.products import cross_product, product
from fivefold.core.types import Array, Doubles, Matrix, Vector, Weights

PRECONDITIONER_RANK = 6.0  # columns of Z, as a multiple of the root of the number of rows

Product = Callable[[Doubles], Doubles]


class DualSolution(NamedTuple):
    """Dual coefficients (n, t), the way they were found, and how many steps it took."""

    dual: Doubles
    solver: str
    steps: int = 1


def by_factor(K: Matrix, Y: Doubles, w: Weights, alpha: Vector) -> Doubles | None:
    """Dual coefficients (n, t) for one strength per target; None where a matrix is singular to rounding."""
    root = np.sqrt(w)
    out = np.empty_like(Y)
    for strength in np.unique(alpha):
        these = alpha == strength
        A = np.array(K, dtype=np.float64, order="C")
        if not (w == 1).all():
            A *= root[:, None]
            A *= root
        A.flat[:: len(A) + 1] += strength
        if cholesky(A) != 0 or _is_singular(A):
            return None
        found = cho_solve((A.T, False), root[:, None] * Y[:, these], check_finite=False)
        out[:, these] = root[:, None] * found
    return out


def _is_singular(L: Doubles) -> bool:
    """Are the pivots of a factor so unequal that its inverse is rounding?"""
    pivots = np.abs(np.diag(L))
    return bool(pivots.min() <= np.sqrt(len(L)) * 1e-8 * pivots.max())


def by_conjugate_gradients(
    times: Product, Y: Doubles, w: Weights, alpha: Vector, Z: Matrix, tol: float, max_iter: int
) -> DualSolution:
    """Dual coefficients from products with K; stops where every residual is below tol times its target's length."""
    root = np.sqrt(w)[:, None]
    F = root * Z  # (n, r)
    gram = cross_product(F, F) if F.size else np.zeros((0, 0))
    inner = {s: cho_factor(gram + s * np.eye(len(gram)), check_finite=False) for s in np.unique(alpha) if F.size}

    def precondition(R: Doubles) -> Doubles:
        if not F.size:
            return R / alpha
        U = cross_product(F, R)
        for s, found in inner.items():
            U[:, alpha == s] = cho_solve(found, U[:, alpha == s], check_finite=False)
        solved: Doubles = (R - product(F, U)) / alpha
        return solved

    def system(C: Doubles) -> Doubles:
        image: Doubles = root * times(root * C) + alpha * C
        return image

    C, steps = conjugate_gradients(system, root * Y, precondition, tol, max_iter)
    return DualSolution(root * C, "cg", steps)


def conjugate_gradients(
    system: Product, B: Doubles, precondition: Product, tol: float, max_iter: int
) -> tuple[Doubles, int]:
    """X with system(X) = B, all columns at once, each with steps of its own; and the number of steps."""
    X, R = np.zeros_like(B), B.copy()
    enough = tol * np.linalg.norm(B, axis=0)
    P = Z = precondition(R)
    slope: Array = np.einsum("ij,ij->j", R, Z)
    for step in range(max_iter):
        active = np.linalg.norm(R, axis=0) > enough
        if not active.any():
            return X, step
        image = system(P)
        curvature = np.einsum("ij,ij->j", P, image)
        length = np.divide(slope, curvature, out=np.zeros_like(slope), where=active & (curvature > 0))
        X = X + length * P
        R = R - length * image
        Z = precondition(R)
        new = np.einsum("ij,ij->j", R, Z)
        P = Z + np.divide(new, slope, out=np.zeros_like(slope), where=active & (slope > 0)) * P
        slope = new
    left = float(np.max(np.linalg.norm(R, axis=0) / np.maximum(np.linalg.norm(B, axis=0), np.finfo(float).tiny)))
    warn(
        f"conjugate gradients ended after {max_iter} steps with a residual of {left:.1e} of the targets, not {tol:g}: "
        "raise max_iter or alpha"
    )
    return X, max_iter
