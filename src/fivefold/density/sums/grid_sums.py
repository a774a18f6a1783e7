"""Sums of kernels on a grid by the Fourier transform, for one or two columns.

Each point is shared among the corners of its cell of the grid (linear binning); the counts are convolved with the
kernel; between grid points the sums are interpolated. The error falls with the square of the step, which is a fixed
part of the width.

Silverman (1982); Wand (1994).
"""

from __future__ import annotations

from dataclasses import dataclass
from itertools import product

import numpy as np
from scipy.fft import next_fast_len
from scipy.signal import fftconvolve

from fivefold.core.types import Array, Codes, Doubles, Matrix, Vector
from fivefold.density.sums.window_kernels import WindowKernel

STEPS_PER_WIDTH = {1: 64, 2: 32}  # grid steps in a width, by the number of columns
GRID_REACH = {"gaussian": 8.5, "exponential": 38.0}  # widths after which a kernel of infinite reach is cut off
MAX_GRID = 2**24  # cells of a grid: 128 MiB


@dataclass(frozen=True)
class GridSums:
    """Sums of a kernel at the points of a grid."""

    start: Doubles  # (d,) its first corner
    step: float
    values: Array  # (cells,) or (cells, cells)
    mass: float

    @classmethod
    def of(cls, X: Matrix, w: Vector, kernel: WindowKernel, h: float) -> GridSums:
        """Sums over the rows of X (n, d), of weights w, for one width."""
        d = X.shape[1]
        if d not in STEPS_PER_WIDTH:
            raise ValueError(f"a grid holds one or two columns, X has {d}: use algorithm='kd_tree'")
        step = h / STEPS_PER_WIDTH[d]
        reach = GRID_REACH.get(kernel.name, kernel.support) * h
        if not np.isfinite(reach):
            raise ValueError(f"a grid needs a kernel of known reach; {kernel.name!r} has none: use algorithm='direct'")
        margin = int(np.ceil(reach / step)) + 1
        low = X.min(axis=0).astype(np.float64) - margin * step
        cells = [int(np.ceil(side / step)) + 2 * margin + 2 for side in np.ptp(X, axis=0)]
        if np.prod(cells, dtype=np.float64) > MAX_GRID:
            raise ValueError(
                f"a grid of {' x '.join(map(str, cells))} cells, {STEPS_PER_WIDTH[d]} to a width of {h:g}, is larger "
                f"than {MAX_GRID} cells: use algorithm='kd_tree', or a larger bandwidth"
            )
        counts = _shared_counts(X, w, low, step, cells)
        offsets = np.arange(-margin, margin + 1) * (step / h)
        if kernel.box:
            one = kernel.values(np.abs(offsets))
            window = one if d == 1 else np.outer(one, one)
        else:
            length = np.abs(offsets) if d == 1 else np.hypot(offsets[:, None], offsets)
            window = kernel.values(length)
        padded = [next_fast_len(n, real=True) for n in cells]
        counts = np.pad(counts, [(0, p - n) for p, n in zip(padded, cells, strict=True)])
        values = np.maximum(fftconvolve(counts, window, mode="same"), 0.0)
        return cls(low, step, values, float(w.sum()))

    def log_sums(
        self, Q: Matrix, h: float | Vector, *, rtol: float = 0.0, atol: float = 0.0, direct: bool = False
    ) -> Doubles:
        """log of the sum at each row of Q (m,); the width and the tolerance are those of the grid."""
        place = (Q - self.start) / self.step
        found = np.zeros(len(Q))
        inside = ((place >= 0) & (place <= np.array(self.values.shape) - 1)).all(axis=1)
        for corner, share in _corners(place[inside], self.values.shape):
            found[inside] += share * self.values[corner]
        with np.errstate(divide="ignore"):
            return np.log(found)


def _corners(place: Matrix, shape: tuple[int, ...]) -> list[tuple[tuple[Codes, ...], Doubles]]:
    """The corners of the cells around positions, and the share of each position in them."""
    cell = np.minimum(np.floor(place), np.array(shape) - 2.0).astype(np.int64)
    part = place - cell
    found: list[tuple[tuple[Codes, ...], Doubles]] = []
    for up in product((0, 1), repeat=place.shape[1]):
        share = np.prod(np.where(up, part, 1.0 - part), axis=1)
        found.append((tuple(cell[:, j] + up[j] for j in range(place.shape[1])), share))
    return found


def _shared_counts(X: Matrix, w: Vector, low: Doubles, step: float, cells: list[int]) -> Doubles:
    """The weights of the rows, shared among the corners of their cells."""
    counts = np.zeros(int(np.prod(cells)))
    shape = tuple(cells)
    for corner, share in _corners((X - low) / step, shape):
        flat = np.ravel_multi_index(corner, shape)
        counts += np.bincount(flat, weights=share * w, minlength=len(counts))
    return counts.reshape(shape)
