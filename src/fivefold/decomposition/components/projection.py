"""An affine map onto k orthonormal axes and back: what every linear reduction learns.

    z = V ((x - mean) / scale) / stretch          x' = mean + scale * V^T (stretch * z)

V (k, d) has orthonormal rows; mean, scale and stretch may be left out. For data far from zero the mean is subtracted
from the rows before the product, so that they keep their digits.
"""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any, TypeAlias

import numpy as np
from scipy.sparse import issparse
from sklearn.utils import check_array

from fivefold.core.numerics.arrays import device, is_tensor
from fivefold.core.numerics.products import centred_blocks, product, row_blocks
from fivefold.core.parallel import map_parts
from fivefold.core.types import Table, UserTable

ArrayOrTensor: TypeAlias = Any  # of NumPy or of torch, which has no types here because it is not imported


@dataclass(frozen=True)
class AxisProjection:
    """Coordinates along `axes`, and the point that has given coordinates."""

    axes: ArrayOrTensor  # (k, d)
    mean: ArrayOrTensor | None = None  # (d,)
    scale: ArrayOrTensor | None = None  # (d,)
    stretch: ArrayOrTensor | None = None  # (k,)
    near: bool = False  # whether the mean is so near zero that its coordinates can be subtracted after the product

    def project(self, X: Table) -> ArrayOrTensor:
        """Coordinates (n, k) of the rows of X."""
        self._refuse_other_device(X)
        W = self.axes.T  # (d, k)
        W = W if self.scale is None else W / self.scale[:, None]
        W = W if self.stretch is None else W / self.stretch
        if (mean := self.mean) is None:
            return product(X, W)
        shift = mean @ W
        if is_tensor(X) or issparse(X):
            return X @ W - shift if self.near or issparse(X) else (X - mean) @ W
        out = np.empty((len(X), W.shape[1]), dtype=np.result_type(X, W))

        @np.errstate(invalid="ignore", over="ignore")  # the caller searches for values that are not finite
        def part(lo: int, hi: int) -> None:
            for a, b, Z in row_blocks(X, lo, hi) if self.near else centred_blocks(X, mean, lo, hi):
                np.matmul(Z, W, out=out[a:b])
                if self.near:
                    out[a:b] -= shift

        map_parts(part, len(X))
        return out

    def restore(self, Z: UserTable) -> ArrayOrTensor:
        """Points (n, d) with coordinates Z (n, k)."""
        Z = self._coordinates(Z)
        X = (Z if self.stretch is None else Z * self.stretch) @ self.axes
        X = X if self.scale is None else X * self.scale
        return X if self.mean is None else X + self.mean

    def _coordinates(self, Z: UserTable) -> ArrayOrTensor:
        Z = Z if is_tensor(Z) else check_array(Z, dtype=[np.float64, np.float32], input_name="X")
        self._refuse_other_device(Z)
        if Z.shape[1] != len(self.axes):
            raise ValueError(
                f"X has {Z.shape[1]} columns for {len(self.axes)} components: give rows as transform gives them"
            )
        return Z

    def _refuse_other_device(self, X: Table) -> None:
        if is_tensor(X) != is_tensor(self.axes) or device(X) != device(self.axes):
            raise ValueError(
                f"X must use the same namespace and device as the data of fit: it is {_described(X)}, and fit had "
                f"{_described(self.axes)}. Convert X, or fit again on data of its kind"
            )


def _described(a: Table) -> str:
    return f"a tensor on {device(a)}" if is_tensor(a) else "a NumPy array or a sparse matrix"
