"""Discriminants of Gaussian classes with known parameters, by the structure of their covariances.

    isotropic   Sigma_k = sigma^2 I   g_k = mu_k.x / sigma^2 - mu_k.mu_k / (2 sigma^2) + log P(k)
    shared      Sigma_k = Sigma       g_k = (Sigma^-1 mu_k).x - mu_k' Sigma^-1 mu_k / 2 + log P(k)
    arbitrary   Sigma_k               g_k = x' W_k x + w_k.x + w_k0,   W_k = -Sigma_k^-1 / 2

The boundary of two classes is a hyperplane in the first two cases, a hyperquadric in the third; terms that all classes
share are left out. Fitted ones are LinearDiscriminantAnalysis and QuadraticDiscriminantAnalysis.

Duda, Hart & Stork (2001), section 2.6.
"""

from __future__ import annotations

from dataclasses import dataclass
from functools import cached_property
from typing import Literal

import numpy as np
from numpy.typing import ArrayLike

from fivefold.core.types import Array, Matrix, Vector
from fivefold.discriminant_analysis.boundaries import ClassHyperplane, Quadric
from fivefold.distributions.gaussian import Full, GaussianMembers

CovarianceCase = Literal["isotropic", "shared", "arbitrary"]
EQUAL_SHARE = 1e-12  # entries of covariances that differ by less than this share of the largest are equal


@dataclass(frozen=True)
class GaussianDiscriminants:
    """The discriminants of K Gaussian classes.

    Parameters
    ----------
    means
        (K, d).
    covariances
        one matrix (d, d) for all classes or one per class (K, d, d); a number is the variance of every column.
    priors
        prior probabilities (K,); None: equal.

    Examples
    --------
    >>> found = GaussianDiscriminants([[0, 0], [4, 0]], 1.0, [0.8, 0.2])
    >>> found.case, found.hyperplane(0, 1).x0.round(6)
    ('isotropic', array([2.346574, 0.      ]))
    >>> GaussianDiscriminants([[0, 0], [0, 0]], [np.eye(2), 4 * np.eye(2)]).quadric(0, 1).kind
    'hypersphere'
    """

    means: ArrayLike
    covariances: ArrayLike
    priors: ArrayLike | None = None

    @cached_property
    def mean(self) -> Matrix:
        return np.atleast_2d(np.asarray(self.means, dtype=float))

    @cached_property
    def sigma(self) -> Array:
        """Covariances (K, d, d)."""
        (K, d), given = self.mean.shape, np.asarray(self.covariances, dtype=float)
        full = given * np.eye(d) if given.ndim == 0 else given
        if full.ndim == 1:  # a variance per class
            full = full[:, None, None] * np.eye(d)
        if full.shape not in ((d, d), (K, d, d)):
            raise ValueError(
                f"covariances are a number, a matrix ({d}, {d}) or one per class ({K}, {d}, {d}); got {given.shape}"
            )
        return np.array(np.broadcast_to(full, (K, d, d)))

    @cached_property
    def log_prior(self) -> Vector:
        K = len(self.mean)
        shares = np.full(K, 1 / K) if self.priors is None else np.asarray(self.priors, dtype=float)
        if shares.shape != (K,) or not (shares > 0).all() or not np.isclose(shares.sum(), 1):
            raise ValueError(f"priors must be {K} positive probabilities with sum 1; got {self.priors!r}")
        return np.log(shares)

    @cached_property
    def case(self) -> CovarianceCase:
        """Which structure the covariances have."""
        sigma, tolerance = self.sigma, EQUAL_SHARE * float(np.abs(self.sigma).max())
        if not (np.abs(sigma - sigma[0]) <= tolerance).all():
            return "arbitrary"
        even = sigma[0, 0, 0] * np.eye(sigma.shape[1])
        return "isotropic" if (np.abs(sigma[0] - even) <= tolerance).all() else "shared"

    @cached_property
    def precisions(self) -> Array:
        return np.linalg.inv(self.sigma)

    @cached_property
    def quadratic(self) -> Array:
        """W_k (K, d, d); zero unless the covariances differ."""
        return -0.5 * self.precisions if self.case == "arbitrary" else np.zeros_like(self.sigma)

    @cached_property
    def linear(self) -> Matrix:
        """w_k = Sigma_k^-1 mu_k, (K, d)."""
        return np.einsum("kab,kb->ka", self.precisions, self.mean)

    @cached_property
    def constant(self) -> Vector:
        """w_k0, (K,)."""
        found = -0.5 * np.einsum("ka,ka->k", self.linear, self.mean) + self.log_prior
        return found - 0.5 * np.linalg.slogdet(self.sigma)[1] if self.case == "arbitrary" else found

    def __call__(self, X: ArrayLike) -> Matrix:
        """The discriminants of each row (n, K): the largest decides."""
        rows = np.atleast_2d(np.asarray(X, dtype=float))
        curved = np.einsum("na,kab,nb->nk", rows, self.quadratic, rows) if self.case == "arbitrary" else 0.0
        return curved + rows @ self.linear.T + self.constant

    def hyperplane(self, i: int, j: int) -> ClassHyperplane:
        """The boundary of two classes with equal covariances."""
        if self.case == "arbitrary":
            raise ValueError("the covariances differ, so that the boundary is a quadric; see quadric(i, j)")
        odds = float(self.log_prior[i] - self.log_prior[j])
        return ClassHyperplane.between(self.mean[i], self.mean[j], self.linear[i] - self.linear[j], odds)

    def quadric(self, i: int, j: int) -> Quadric:
        """The boundary of two classes, and its type by the signs of its curvatures."""
        pair = [i, j]
        levels = self.log_prior[pair] - 0.5 * np.linalg.slogdet(self.sigma[pair])[1]
        return Quadric.between(self.mean[pair], self.precisions[pair], levels)

    @property
    def members(self) -> GaussianMembers:
        """The densities, as members of the Gaussian family."""
        return GaussianMembers(self.mean, Full().from_matrix(self.sigma, self.mean.shape[1]))
