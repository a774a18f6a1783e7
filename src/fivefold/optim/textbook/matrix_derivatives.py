"""A table of matrix derivatives, each checked against finite differences.

The derivative of a number in a vector or matrix has the shape of that vector or matrix; of a vector in a vector it is
(outputs, inputs).
"""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass
from typing import Any

import numpy as np

from fivefold.core.types import Array
from fivefold.optim.derivative_checks import GradientCheck, compare_derivatives, jacobian_by_differences


@dataclass(frozen=True)
class MatrixDerivative:
    """d f(x; constants) / dx: its text, f and the derivative, and random examples of its arguments."""

    text: str
    f: Callable[..., Any]
    derivative: Callable[..., Any]
    example: Callable[[np.random.RandomState], tuple[Array, ...]]  # x first

    def check(self, rng: np.random.RandomState) -> GradientCheck:
        """Compare the derivative at a random point with central differences."""
        x, *constants = self.example(rng)

        def values(flat: Array) -> Array:
            return np.ravel(self.f(flat.reshape(x.shape), *constants))

        analytic = np.asarray(self.derivative(x, *constants), dtype=np.float64)
        return compare_derivatives(analytic, jacobian_by_differences(values, x.ravel()).reshape(analytic.shape))


def _draw(*shapes: tuple[int, ...]) -> Callable[[np.random.RandomState], tuple[Array, ...]]:
    return lambda rng: tuple(rng.standard_normal(shape) for shape in shapes)


def _symmetric(rng: np.random.RandomState) -> tuple[Array, ...]:
    x, M = _draw((4,), (4, 4))(rng)
    return x, M + M.T


DERIVATIVES = (
    MatrixDerivative("d(Mx)/dx = M", lambda x, M: M @ x, lambda x, M: M, _draw((4,), (3, 4))),
    MatrixDerivative("d(y'Mx)/dx = M'y", lambda x, M, y: y @ M @ x, lambda x, M, y: M.T @ y, _draw((4,), (3, 4), (3,))),
    MatrixDerivative("d(x'Mx)/dx = (M + M')x", lambda x, M: x @ M @ x, lambda x, M: (M + M.T) @ x, _draw((4,), (4, 4))),
    MatrixDerivative("d(x'Mx)/dx = 2Mx, M symmetric", lambda x, M: x @ M @ x, lambda x, M: 2 * M @ x, _symmetric),
    MatrixDerivative("d(x'x)/dx = 2x", lambda x: x @ x, lambda x: 2 * x, _draw((4,))),
    MatrixDerivative(
        "d tr(ABC)/dB = A'C'",
        lambda B, A, C: np.trace(A @ B @ C),
        lambda B, A, C: A.T @ C.T,
        _draw((3, 4), (5, 3), (4, 5)),
    ),
    MatrixDerivative(
        "d|A|/dA = |A| (A^-1)'",
        np.linalg.det,
        lambda A: np.linalg.det(A) * np.linalg.solve(A, np.eye(len(A))).T,
        _draw((4, 4)),
    ),
)
