"""An objective whose Hessian is made positive definite, so that a quadratic model of it always has a minimum.

Values and gradients are unchanged: only the steps that a solver derives from the Hessian differ, and its line search
shortens those that are too long.
"""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np

from fivefold.core.blas_threads import one_blas_thread
from fivefold.core.types import Array
from fivefold.optim.objective import TwiceSmoothObjective

DIAGONAL_JITTER = 1e-9  # share of the diagonal that is added to it
MIN_EIGENVALUE_SHARE = 1e-12  # added to the diagonal as a share of its largest entry, and the least such entry assumed


@dataclass(frozen=True)
class ConvexifiedObjective(TwiceSmoothObjective):
    """Adds a little to the diagonal; unless `convex`, eigenvalues are replaced by their sizes first."""

    objective: TwiceSmoothObjective
    convex: bool = True

    def value_and_gradient(self, x: Array) -> tuple[float, Array]:
        return self.objective.value_and_gradient(x)

    def hessian(self, x: Array) -> Array:
        H = self.objective.hessian(x)
        if not self.convex:
            with one_blas_thread():
                e, V = np.linalg.eigh(H)
            H = (V * np.abs(e)) @ V.T
        size = np.abs(H.diagonal())
        H[np.diag_indices_from(H)] += DIAGONAL_JITTER * size + MIN_EIGENVALUE_SHARE * max(
            float(size.max(initial=0.0)), MIN_EIGENVALUE_SHARE
        )
        return H
