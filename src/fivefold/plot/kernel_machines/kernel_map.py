"""What a kernel calls similar: objects in the plane of its first two principal components."""

from __future__ import annotations

from collections.abc import Sequence
from typing import TYPE_CHECKING, Any

from fivefold.core.types import UserTarget
from fivefold.plot.scatter import points
from fivefold.plot.style import INK

if TYPE_CHECKING:
    from matplotlib.axes import Axes


def kernel_map(
    kernel: Any,  # a name, a kernel, or "precomputed"
    X: Any,  # rows, objects of the kernel, or a Gram matrix
    y: UserTarget = None,
    *,
    names: Sequence[object] | None = None,
    ax: Axes | None = None,
    **params: Any,
) -> Axes:
    """Objects at their coordinates along two kernel principal components, coloured by class.

    Near points are similar by the kernel; each axis says its share of the variance of the features. Strings, graphs and
    other objects are compared once, to a Gram matrix. `params` are those of KernelPCA, such as gamma.
    """
    from fivefold.decomposition import KernelPCA
    from fivefold.kernels.base import Kernel

    if isinstance(kernel, Kernel) and not kernel.requires_vector_input:
        kernel, X = "precomputed", kernel(X)
    model = KernelPCA(kernel=kernel, **params).fit(X)
    shares = model.eigenvalues_ / model.eigenvalues_.sum()
    ax = points(model.transform(X)[:, :2], y, names=names, ax=ax)
    for axis, k in (("x", 0), ("y", 1)):
        getattr(ax, f"set_{axis}label")(f"kernel component {k + 1} ({shares[k]:.1%})", fontsize=9, color=INK)
    return ax
