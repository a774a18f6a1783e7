"""Ridge regression for a whole path of strengths from one eigendecomposition, with leave-one-out in closed form.

    S K S = V L V',   c(alpha) = V (L + alpha)^-1 V'S y,   a = S c
    y_i - f_without_i(x_i) = c_i / (s_i [V (L + alpha)^-1 V']_ii)

f_without_i is the fit to all other rows; a row of weight w leaves with all its weight. Each further strength costs
n^2 per target.
"""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np

from fivefold.core.numerics.eigenpairs import eigen
from fivefold.core.types import Array, Doubles, Matrix, Vector, Weights


@dataclass(frozen=True)
class StrengthPath:
    """What ridge regression finds for each strength, and how well it predicts rows that it has not seen."""

    alphas: Vector  # (m,)
    dual_coefs: Array  # (m, n) or (m, n, t)
    loo_predictions: Array  # (m, n) or (m, n, t): each row predicted from all others
    loo_errors: Vector  # (m,) weighted mean of the squared errors of these predictions

    @property
    def best_alpha(self) -> float:
        """The strength with the least leave-one-out error."""
        return float(self.alphas[np.argmin(self.loo_errors)])


@dataclass(frozen=True)
class WeightedSpectrum:
    """S K S = V diag(values) V'."""

    values: Doubles  # (n,) largest first; negative ones count as zero
    vectors: Doubles  # (n, n) in columns
    root: Doubles  # (n,) S

    @classmethod
    def of(cls, K: Matrix, w: Weights) -> WeightedSpectrum:
        """Of a Gram matrix and weights from 0 up."""
        root = np.sqrt(w)
        values, vectors = eigen(np.asarray(K, dtype=np.float64) * root[:, None] * root)
        return cls(np.maximum(values, 0.0), vectors, root)

    def dual(self, Y: Doubles, alpha: float) -> Doubles:
        """Dual coefficients (n, t); directions in which all features are zero get none if alpha is zero."""
        inverse = self._inverse(alpha)
        found: Doubles = self.vectors @ (inverse[:, None] * (self.vectors.T @ (self.root[:, None] * Y)))
        return self.root[:, None] * found

    def left_out(self, Y: Doubles, alpha: float) -> Doubles:
        """Predictions (n, t) of each row from all others; of rows of weight zero, from all rows."""
        V, inverse = self.vectors, self._inverse(alpha)
        c = V @ (inverse[:, None] * (V.T @ (self.root[:, None] * Y)))
        diagonal = np.maximum((V * V) @ inverse, np.finfo(float).tiny)[:, None]
        weighted = self.root[:, None] > 0
        residual = np.divide(c, diagonal * self.root[:, None], out=np.zeros_like(c), where=weighted)
        return Y - residual

    def _inverse(self, alpha: float) -> Doubles:
        shifted = self.values + alpha
        floor = len(shifted) * np.finfo(float).eps * max(float(self.values[0]), np.finfo(float).tiny)
        return np.divide(1.0, shifted, out=np.zeros_like(shifted), where=shifted > floor)


def strength_path(K: Matrix, Y: Doubles, w: Weights, alphas: Vector, shape: tuple[int, ...]) -> StrengthPath:
    """The path of targets Y (n, t), given back in the shape of y."""
    spectrum = WeightedSpectrum.of(K, w)
    duals = np.stack([spectrum.dual(Y, alpha) for alpha in alphas])
    left = np.stack([spectrum.left_out(Y, alpha) for alpha in alphas])
    errors = np.einsum("n,mnt->m", w, (Y - left) ** 2) / (w.sum() * Y.shape[1])
    size = (len(alphas), *shape)
    return StrengthPath(np.asarray(alphas), duals.reshape(size), left.reshape(size), errors)
