"""A Gram matrix: its entries ordered by class, and its eigenvalues, of which a valid kernel has no negative ones."""

from __future__ import annotations

from collections.abc import Sequence
from typing import TYPE_CHECKING

import numpy as np

from fivefold.core.types import Matrix, UserTarget
from fivefold.kernels.validity import ROUNDING
from fivefold.plot.style import DIVERGING, GREY, INK, axes, axes_row, colour, legend

if TYPE_CHECKING:
    from matplotlib.axes import Axes


def gram_matrix(K: Matrix, y: UserTarget = None, *, axs: Sequence[Axes] | None = None) -> tuple[Axes, Axes]:
    """The matrix as a map, its objects ordered by class, next to its eigenvalues from the largest down.

    Blocks along the diagonal show classes that the kernel tells apart.
    """
    K = np.asarray(K, dtype=float)
    if K.ndim != 2 or len(K) != K.shape[1]:
        raise ValueError(f"a Gram matrix is square; got shape {K.shape}")
    left, right = axes_row(2, axs, width=4.2)
    labels, codes = np.unique(np.zeros(len(K)) if y is None else np.asarray(y), return_inverse=True)
    order = np.argsort(codes, kind="stable")
    reach = float(np.abs(K).max())
    axes(left, title="entries" if y is None else "entries, ordered by class")
    left.imshow(K[np.ix_(order, order)], cmap=DIVERGING, vmin=-reach, vmax=reach, interpolation="nearest")
    for end in np.cumsum(np.bincount(codes, minlength=len(labels)))[:-1]:
        left.axhline(end - 0.5, color=INK, lw=0.8)
        left.axvline(end - 0.5, color=INK, lw=0.8)
    values = np.linalg.eigvalsh((K + K.T) / 2)[::-1]
    limit = ROUNDING * max(float(np.abs(values).max()), np.finfo(float).tiny)
    negative = values < -limit
    axes(right, title="no negative eigenvalue" if not negative.any() else f"{negative.sum()} negative eigenvalues")
    right.set_xlabel("number", fontsize=9)
    right.axhline(-limit, color=GREY, lw=0.9, ls="--", label="rounding above this line")
    index = np.arange(1, len(values) + 1)
    for rows, k, name in ((~negative, 0, "eigenvalues"), (negative, 1, "negative")):
        if rows.any():
            right.scatter(index[rows], values[rows], s=10, color=colour(k), label=name)
    right.set_yscale("symlog", linthresh=max(limit, 1e-6 * float(np.abs(values).max())))
    legend(right, loc="best")
    return left, right
