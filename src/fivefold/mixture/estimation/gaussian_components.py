"""What only mixtures of Gaussians need: given starts, a prior, and a diagnosis of collapsed covariances.

A prior is the moments of pseudo-rows: with c rows at m_0 and s rows of covariance S_0 the mode is

    mu_k    = (c m_0 + sum_i r_ik x_i) / (c + N_k)
    Sigma_k = (s S_0 + c (mu_k - m_0)(mu_k - m_0)' + sum_i r_ik (x_i - mu_k)(x_i - mu_k)') / (s + N_k)

as under a normal-inverse-Wishart prior with s = nu_0 + d + 2; without pseudo-rows it is maximum likelihood.
"""

from __future__ import annotations

from dataclasses import dataclass, replace
from typing import cast

import numpy as np
from numpy.typing import ArrayLike

from fivefold.core.chunks.chunked_array import sum_over_chunks
from fivefold.core.types import Array, Matrix, Vector, Weights
from fivefold.distributions.gaussian import (
    Diagonal,
    Fixed,
    Full,
    Gaussian,
    GaussianMembers,
    GroupMoments,
    Spherical,
    Tied,
)
from fivefold.mixture.estimation.finite_mixture import FiniteMixture

# The structure of each covariance type, and the shape of its covariances, a letter per axis.
COVARIANCE_TYPES = {
    "full": (Full(), "Kdd"),
    "tied": (Tied(), "dd"),
    "diag": (Diagonal(), "Kd"),
    "spherical": (Spherical(), "K"),
    "identity": (Fixed(1.0), "dd"),
}
COLLAPSE_FLOOR_RATIO = 1.01  # a variance of at most this many floors consists of the floor alone


@dataclass(frozen=True)
class GivenStart:
    """The parts of a start that the user gave, None for the others."""

    weights: Vector | None = None
    means: Matrix | None = None
    precisions: Array | None = None

    @classmethod
    def of(cls, K: int, d: int, covariance_type: str, **parts: Array | None) -> GivenStart:
        """The parts as arrays; refused unless their shapes are right."""
        shapes = {"weights": "K", "means": "Kd", "precisions": COVARIANCE_TYPES[covariance_type][1]}
        given = {name: np.asarray(value, dtype=np.float64) for name, value in parts.items() if value is not None}
        for name, value in given.items():
            shape = tuple({"K": K, "d": d}[letter] for letter in shapes[name])
            if value.shape != shape:
                raise ValueError(
                    f"GaussianMixture: {name}_init must have the shape {shape} for {K} components and {d} columns; "
                    f"got {value.shape}"
                )
        shares = given.get("weights")
        if shares is not None and not (shares.min() >= 0 and np.isclose(shares.sum(), 1)):
            raise ValueError(f"GaussianMixture: weights_init must be shares with sum 1; got {parts['weights']!r}")
        return cls(**given)

    @property
    def is_complete(self) -> bool:
        return self.weights is not None and self.means is not None and self.precisions is not None

    def applied_to(self, model: FiniteMixture) -> FiniteMixture:
        """The model with the given parts in place of its own."""
        if self.weights is not None:
            model = replace(model, weights=self.weights)
        mean = model.components.mean if self.means is None else self.means
        if self.precisions is None:
            return replace(model, components=replace(model.components, mean=mean))
        structure = cast("Gaussian", model.family).structure
        return replace(
            model, components=GaussianMembers(mean, structure.from_precision(self.precisions, mean.shape[1]))
        )


def prior_moments(
    family: Gaussian,
    K: int,
    X: Matrix,
    w: Weights,
    *,
    mean: ArrayLike | None,
    count: float,
    covariance: ArrayLike | None,
    degrees: float,
) -> GroupMoments:
    """The moments of `count` pseudo-rows at `mean` and `degrees` pseudo-rows with this covariance.

    None stands for the mean and the variances of the data.
    """
    seen = sum_over_chunks(Gaussian(Diagonal()).stats, X, w[:, None])
    by_column, d = family.structure.by_column, X.shape[1]
    centre = seen.mean[0] if mean is None else np.asarray(mean, dtype=np.float64)
    spread = seen.scatter[0] / seen.count[0] if covariance is None else np.asarray(covariance, dtype=np.float64)
    if by_column == (spread.ndim == 2):
        spread = np.diag(spread)
    if isinstance(family.structure, Tied):
        degrees = degrees / K  # the members share them
    ones, scatter = np.ones((K, d) if by_column else K), np.broadcast_to(degrees * spread, (K, *spread.shape))
    return GroupMoments(np.zeros(K), count * ones, np.broadcast_to(centre, (K, d)), scatter, degrees * ones)


def collapse_problems(model: FiniteMixture) -> list[str]:
    """Which covariances are singular except for the floor, why, and what to do about it."""
    family = cast("Gaussian", model.family)
    if isinstance(family.structure, Fixed):
        return []
    sigma = np.asarray(model.components.covariance.matrix)
    d = sigma.shape[-1]
    least = sigma if family.structure.by_column else np.linalg.eigvalsh(sigma.reshape(-1, d, d))
    flat = least.reshape(len(least), -1).min(axis=1) <= COLLAPSE_FLOOR_RATIO * family.floor
    if not flat.any():
        return []
    if flat.all():
        return [
            "every covariance is singular apart from reg_covar: a column is constant, or columns determine one "
            "another. Drop such columns"
        ]
    listed = ", ".join(f"{k} (weight {model.weights[k]:.3g})" for k in np.flatnonzero(flat))
    return [
        f"the covariance of component {listed} has collapsed to reg_covar: its rows are one row repeated, or too few, "
        "or lie in a subspace. Ask for fewer components, raise reg_covar, or give a prior (covariance_strength)"
    ]
