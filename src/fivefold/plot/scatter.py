"""Points in the plane: scores of components, clusters with their centres, soft responsibilities."""

from __future__ import annotations

from collections.abc import Sequence
from typing import TYPE_CHECKING, Any

import numpy as np

from fivefold.core.numerics.arrays import to_numpy
from fivefold.core.types import Array, UserTable, UserTarget, Vector
from fivefold.plot.geometry.ellipses import ellipses
from fivefold.plot.style import COLOURS, INK, axes, colour, legend, marker

if TYPE_CHECKING:
    from matplotlib.axes import Axes

    from fivefold.cluster import KMeans, KMedians
    from fivefold.decomposition import PCA
    from fivefold.mixture import GaussianMixture


def points(
    P: UserTable, y: UserTarget = None, *, names: Sequence[object] | None = None, ax: Axes | None = None
) -> Axes:
    """Rows of P (n, 2) or (n, 3); one colour and mark per class of y."""
    P = np.asarray(P)
    ax = axes(ax, square=P.shape[1] == 2) if P.shape[1] == 2 else axes(ax, projection="3d")
    classes = [None] if y is None else np.unique(y)
    for i, label in enumerate(classes):
        rows = slice(None) if label is None else np.asarray(y) == label
        text = None if label is None else str(label if names is None else names[i])
        look: dict[str, Any] = {"s": 16, "color": colour(i), "marker": marker(i), "alpha": 0.75, "lw": 0}
        ax.scatter(*P[rows].T, label=text, **look)
    if y is not None:
        legend(ax, loc="best")
    return ax


def scores(
    pca: PCA,
    X: UserTable,
    y: UserTarget = None,
    *,
    dims: tuple[int, ...] = (0, 1),
    names: Sequence[object] | None = None,
    ax: Axes | None = None,
) -> Axes:
    """Coordinates along two or three components, coloured by class; each axis says its share of the variance."""
    Z = to_numpy(pca.transform(X))[:, list(dims)]
    ax = points(Z, y, names=names, ax=ax)
    texts = [f"component {j + 1} ({float(pca.explained_variance_ratio_[j]):.1%})" for j in dims]
    for axis, text in zip("xyz", texts, strict=False):
        getattr(ax, f"set_{axis}label")(text, fontsize=9, color=INK)
    return ax


def clusters(model: KMeans | KMedians, X: UserTable, *, dims: tuple[int, int] = (0, 1), ax: Axes | None = None) -> Axes:
    """Rows coloured by the cluster they belong to, and the centres."""
    X, dims_ = np.asarray(X), list(dims)
    ax = axes(ax, square=True)
    labels = model.predict(X)
    for k, centre in enumerate(model.cluster_centers_[:, dims_]):
        a, b = X[labels == k][:, dims_].T
        ax.scatter(a, b, s=12, color=colour(k), marker=marker(k), alpha=0.6, lw=0)
        ax.plot(*centre, marker="P", markersize=10, color=colour(k), mec="white", mew=1.4, zorder=5)
    return ax


def responsibilities(
    model: GaussianMixture, X: UserTable, *, dims: tuple[int, int] = (0, 1), ax: Axes | None = None
) -> Axes:
    """Rows coloured by their soft membership in the components of a mixture, and the ellipses of the components."""
    from matplotlib.colors import to_rgb

    X, dims_ = np.asarray(X), list(dims)
    R = model.predict_proba(X)  # (n, K)
    inks = np.array([to_rgb(colour(k)) for k in range(R.shape[1])])  # (K, 3)
    ax = axes(ax, square=True)
    ax.scatter(X[:, dims[0]], X[:, dims[1]], s=12, c=np.clip(R @ inks, 0, 1), alpha=0.7, lw=0)
    covariances = dense_covariances(model)[:, dims_][:, :, dims_]
    return ellipses(model.means_[:, dims_], covariances, ax=ax)


def dense_covariances(model: GaussianMixture) -> Array:
    """Covariances (K, d, d) of a Gaussian mixture, in whatever form it stores them."""
    C, (K, d) = np.asarray(model.covariances_), model.means_.shape
    form = {"full": (K, d, d), "tied": (1, d, d), "identity": (1, d, d), "diag": (K, d, 1), "spherical": (K, 1, 1)}[
        model.covariance_type
    ]
    C = C.reshape(form)
    return np.broadcast_to(C if form[1:] == (d, d) else C * np.eye(d), (K, d, d))


def history(values: Sequence[float] | Vector, *, ax: Axes | None = None) -> Axes:
    """The mean log-likelihood per row after each step of expectation-maximisation: `lower_bounds_` of a mixture."""
    ax = axes(ax, x="step", y="log-likelihood of a row")
    ax.plot(np.arange(1, len(values) + 1), values, color=COLOURS[0], marker="o", markersize=3.5, lw=1.4)
    ax.locator_params(axis="x", integer=True)
    return ax
