"""Ellipses of equal density: along the eigenvectors of a covariance, as long as the roots of its eigenvalues."""

from __future__ import annotations

from collections.abc import Sequence
from typing import TYPE_CHECKING

import numpy as np
from scipy.stats import chi2

from fivefold.core.numerics.arrays import to_numpy
from fivefold.core.numerics.eigenpairs import eigen
from fivefold.core.types import Array, Matrix, UserTable
from fivefold.plot.style import GREY, INK, arrow, axes, colour

if TYPE_CHECKING:
    from matplotlib.axes import Axes

    from fivefold.decomposition import PCA


def ellipse_points(mean: Array | Sequence[float], covariance: Matrix, radius: float, count: int = 121) -> Matrix:
    """Points (count, 2) at Mahalanobis distance `radius` from the mean."""
    values, U = eigen(np.asarray(covariance, dtype=float))
    turn = np.linspace(0, 2 * np.pi, count)
    circle = np.array([np.cos(turn), np.sin(turn)])  # (2, count)
    return np.asarray(mean) + radius * (U * np.sqrt(np.maximum(values, 0)) @ circle).T


def ellipses(
    means: Array | Sequence[Sequence[float]],
    covariances: Array | Sequence[Matrix],
    *,
    masses: tuple[float, ...] = (0.5, 0.95),
    ax: Axes | None = None,
) -> Axes:
    """For each Gaussian (K, 2), (K, 2, 2) its mean and the ellipses that hold the given masses."""
    ax = axes(ax, square=True)
    for k, (mean, covariance) in enumerate(zip(means, covariances, strict=True)):
        for mass in masses:
            ax.plot(*ellipse_points(mean, covariance, chi2.ppf(mass, 2) ** 0.5).T, color=colour(k), lw=1.5, zorder=4)
        ax.plot(*mean, marker="P", markersize=9, color=colour(k), mec="white", mew=1.2, zorder=5)
    return ax


def principal_axes(pca: PCA, X: UserTable, *, radius: float = 2.0, ax: Axes | None = None) -> Axes:
    """Two columns, their mean, the principal axes and the ellipse, each `radius` standard deviations long."""
    X, mean = np.asarray(to_numpy(X)), to_numpy(pca.mean_)
    if X.shape[1] != 2:
        raise ValueError(f"the ellipse is drawn for two columns; X has {X.shape[1]}. Fit a PCA on two of them")
    ax = axes(ax, square=True)
    ax.scatter(X[:, 0], X[:, 1], s=12, color=GREY, alpha=0.55, lw=0)
    ax.plot(*ellipse_points(mean, to_numpy(pca.get_covariance()), radius).T, color=INK, lw=1.2)
    for j, (axis, variance) in enumerate(
        zip(to_numpy(pca.components_), to_numpy(pca.explained_variance_), strict=True)
    ):
        tip = mean + radius * variance**0.5 * axis
        arrow(ax, mean, tip, colour(j))
        place = {"xytext": 11 * axis, "textcoords": "offset points", "ha": "center", "va": "center"}
        ax.annotate(f"$v_{j + 1}$", tip, color=colour(j), fontsize=11, **place)
    ax.plot(*mean, marker="o", color=INK, markersize=4)
    return ax
