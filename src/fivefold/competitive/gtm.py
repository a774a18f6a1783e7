"""Generative topographic mapping: a Gaussian mixture whose means lie on a surface that bends through the rows.

    p(x) = 1/K sum_k N(x | W'phi(u_k), I / beta)        u_k on a grid in the plane, phi: radial functions of the plane

E-step  r_ik = p(u_k | x_i)
M-step  (Phi'G Phi + alpha / beta I) W = Phi'R'X,  G = diag(sum_i r_ik),     then  1 / beta = mean squared distance

A self-organising map with a likelihood, which no step lowers. A row is placed at its posterior mean in the plane.
Bishop, Svensen & Williams (1998).
"""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import KW_ONLY, dataclass, replace
from typing import NamedTuple, TypeVar

import numpy as np
from numpy.typing import DTypeLike
from scipy.linalg import solve

from fivefold.competitive.units.lattice import Lattice
from fivefold.core.console.fit_progress import fit_steps, warn_kept_best
from fivefold.core.estimators.base import DensityEstimator, Transformer, learned
from fivefold.core.estimators.params import Count, NonNegative, Positive
from fivefold.core.numerics.eigenpairs import eigen
from fivefold.core.numerics.products import cross_product
from fivefold.core.parallel import map_items
from fivefold.core.registry import Card
from fivefold.core.types import Doubles, Matrix, Table, UserTable, UserTarget, Vector, Weights
from fivefold.inference.em import em
from fivefold.spatial.distances import squared_distances

VARIANCE_FLOOR = 1e-9  # of the variance of the rows: the noise is not smaller
SHARES_PER_PART = 1 << 17  # shares of rows in grid points that a thread holds at a time
T = TypeVar("T")


class GridSums(NamedTuple):
    """What the M-step needs of the rows."""

    weight: Doubles  # (K,)
    sums: Doubles  # (K, d)
    squares: float  # sum of w |x|^2


@dataclass(frozen=True)
class Surface:
    """A grid in the plane and its image among the rows, which are centred at the mean."""

    Phi: Doubles  # (K, B)
    W: Doubles  # (B, d)
    beta: float
    alpha: float
    places: Doubles  # (K, 2)
    floor: float  # least variance of the noise
    mean: Doubles
    dtype: DTypeLike
    value: float = 0.0
    n_iter: int = 0

    @property
    def centres(self) -> Doubles:
        """The means of the mixture (K, d), as rows were given."""
        return self.Phi @ self.W + self.mean

    def by_parts(self, work: Callable[[int, int], T], n: int) -> list[T]:
        """work(lo, hi) for parts of n rows, so few at a time that their posteriors fit into a cache."""
        rows = max(1, SHARES_PER_PART // len(self.Phi))
        return map_items(lambda i: work(i * rows, min((i + 1) * rows, n)), -(-n // rows))

    def posterior(self, Z: Matrix) -> tuple[Doubles, Doubles]:
        """The share of each grid point in each centred row (n, K), and the log density of the row."""
        M = self.Phi @ self.W
        K, d = M.shape
        joint = -0.5 * self.beta * squared_distances(Z, M)
        top = joint.max(axis=1)
        R = np.exp(joint - top[:, None])
        total = R.sum(axis=1)
        R /= total[:, None]
        return R, top + np.log(total) + 0.5 * d * np.log(self.beta / (2 * np.pi)) - np.log(K)

    def expect(self, X: Table, w: Weights) -> tuple[GridSums, float]:
        def part(lo: int, hi: int) -> tuple[Doubles, Doubles, float, float]:
            R, evidence = self.posterior(X[lo:hi])
            R *= w[lo:hi, None]
            squares = float(w[lo:hi] @ np.square(X[lo:hi]).sum(axis=1))
            return R.sum(axis=0), R.T @ X[lo:hi], squares, float(w[lo:hi] @ evidence)

        parts = list(zip(*self.by_parts(part, len(X)), strict=True))
        stats = GridSums(np.sum(parts[0], axis=0), np.sum(parts[1], axis=0), float(sum(parts[2])))
        return stats, float(sum(parts[3])) - 0.5 * self.alpha * float(np.square(self.W).sum())

    def maximise(self, stats: GridSums) -> Surface:
        weight, sums, squares = stats
        A = self.Phi.T @ (weight[:, None] * self.Phi)
        # the second term is the prior; where it is zero, as little as rounding needs
        A[np.diag_indices_from(A)] += self.alpha / self.beta + 1e-12 * np.trace(A)
        W = solve(A, self.Phi.T @ sums, assume_a="pos")
        M = self.Phi @ W
        rest = squares - 2 * float((sums * M).sum()) + float(weight @ np.square(M).sum(axis=1))
        return replace(self, W=W, beta=1 / max(rest / (float(weight.sum()) * M.shape[1]), self.floor))


class GTM(Transformer, DensityEstimator):
    """Generative topographic mapping: a map with a density.

    Parameters
    ----------
    n_rows, n_columns
        number of grid points in each direction of the plane.
    n_basis
        number of radial functions in each direction; more of them let the surface bend more.
    basis_width
        width of the radial functions, in steps between their centres.
    alpha
        how strongly the weights of the surface are drawn to zero, which keeps it smooth, in columns scaled to a mean
        variance of 1: the map does not depend on the unit of the columns.
    tol
        the fit ends when a step gains at most this in log likelihood per row.
    max_iter
        maximum number of steps.

    Attributes
    ----------
    cluster_centers_
        the images of the grid points (n_rows * n_columns, n_features).
    noise_variance_
        variance of the rows about the surface.
    lower_bound_
        log likelihood of the rows, less the penalty on the weights.
    n_iter_
        steps made.

    Examples
    --------
    >>> import numpy as np
    >>> from fivefold.competitive import GTM
    >>> angle = np.linspace(0, 3, 100)
    >>> X = np.column_stack([np.cos(angle), np.sin(angle), 0 * angle])
    >>> GTM(5, 5).fit(X).transform(X).shape
    (100, 2)
    """

    n_rows: Count = 8
    n_columns: Count = 8
    _: KW_ONLY
    n_basis: Count = 4
    basis_width: Positive = 1.0
    alpha: NonNegative = 0.1
    tol: NonNegative = 1e-3
    max_iter: Count = 100

    cluster_centers_, lower_bound_, n_iter_ = learned("centres"), learned("value"), learned("n_iter")

    card = Card(
        applications=("visualization", "dimension reduction", "density estimation"),
        use="A picture of rows near a bent surface, with a likelihood that tells how well it fits. For many thousand "
        "rows and a quick look SelfOrganizingMap is faster.",
        steps=(
            "Lay a grid over the plane of the first two principal axes.",
            "Share each row out among the grid points by their densities.",
            "Bend the surface so that grid points come near the rows they share in; set the noise to what is left.",
            "Repeat until the likelihood no longer rises.",
        ),
        source="Bishop, Svensen & Williams (1998)",
        see_also=("SelfOrganizingMap", "GaussianMixture", "PCA"),
        variants=({"n_rows": 3, "n_columns": 5, "n_basis": 2, "alpha": 1.0},),
    )

    @property
    def noise_variance_(self) -> float:
        """The variance of the rows about the surface."""
        return 1 / float(self.model_.beta)

    def _fit(self, X: Table, w: Weights) -> None:
        mean = w @ np.asarray(X, np.float64) / w.sum()
        Z = np.asarray(X, np.float64) - mean
        start = self._start(Z, w, mean, X.dtype)
        with fit_steps(self, "step", self.max_iter, X) as monitor:
            found = em(start, Z, w, tol=self.tol, max_iter=self.max_iter, monitor=monitor)
        if found.reason == "interrupted":
            warn_kept_best(self, len(found.history), "step")
        self.model_ = replace(found.model, value=found.history[-1], n_iter=len(found.history))

    def _start(self, Z: Doubles, w: Weights, mean: Doubles, dtype: DTypeLike) -> Surface:
        """The surface that lies in the plane of the first two principal axes."""
        values, axes = eigen(cross_product(Z, Z * w[:, None]) / w.sum())
        values = np.maximum(values, 0.0)
        places = _unit_square(self.n_rows, self.n_columns)
        knots = _unit_square(self.n_basis, self.n_basis)
        width = self.basis_width * 2 / max(self.n_basis - 1, 1)
        radial = np.exp(-squared_distances(places, knots) / (2 * width * width))
        Phi = np.column_stack([np.ones(len(places)), places, radial])
        k = min(2, len(values))
        W = np.zeros((Phi.shape[1], Z.shape[1]))
        sides = np.argsort([-self.n_rows, -self.n_columns], kind="stable")[:k]  # the longer one along the first axis
        W[1 + sides] = np.sqrt(2 * values[:k])[:, None] * axes[:, :k].T
        spread = float(values.mean())
        floor = VARIANCE_FLOOR * spread if spread > 0 else VARIANCE_FLOOR
        noise = max(float(values[2]) if len(values) > 2 else 0.0, spread / len(places), floor)
        alpha = self.alpha / spread if spread > 0 else self.alpha
        return Surface(Phi, W, 1 / noise, alpha, places, floor, mean, dtype)

    def transform(self, X: UserTable) -> Matrix:
        """The posterior mean of each row in the plane, whose sides run from -1 to 1 (n, 2)."""
        X, model = self._admit(X), self.model_
        parts = model.by_parts(lambda lo, hi: model.posterior(X[lo:hi] - model.mean)[0] @ model.places, len(X))
        return np.concatenate(parts).astype(X.dtype, copy=False)

    def score_samples(self, X: UserTable) -> Vector:
        """The log density of each row."""
        X, model = self._admit(X), self.model_
        parts = model.by_parts(lambda lo, hi: model.posterior(X[lo:hi] - model.mean)[1], len(X))
        return np.concatenate(parts)

    def score(self, X: UserTable, y: UserTarget = None) -> float:
        """The mean log density of the rows."""
        return float(self.score_samples(X).mean())

    @property
    def _n_features_out(self) -> int:
        return 2


def _unit_square(n_rows: int, n_columns: int) -> Doubles:
    """Points of a grid, with sides from -1 to 1."""
    places = np.asarray(Lattice(n_rows, n_columns).places, np.float64)
    last = np.maximum([n_rows - 1, n_columns - 1], 1)
    return (2 * places / last - 1) * (places.max(axis=0) > 0)
