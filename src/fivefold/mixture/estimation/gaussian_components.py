"""What only mixtures of Gaussians need: a start that is given, a prior, and a diagnosis of covariances.

A prior is the moments of rows that were not seen: with c rows at m_0 and s rows of covariance S_0 the mode is

    mu_k    = (c m_0 + sum_i r_ik x_i) / (c + N_k)
    Sigma_k = (s S_0 + c (mu_k - m_0)(mu_k - m_0)' + sum_i r_ik (x_i - mu_k)(x_i - mu_k)') / (s + N_k)

that of a normal-inverse-Wishart prior with s = nu_0 + d + 2; without such rows it is maximum likelihood.
"""

from __future__ import annotations

from dataclasses import dataclass, replace
from typing import Any

import numpy as np

from fivefold.core.types import Array, Table, Weights
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

# The structure of each covariance type, and the shape of its covariances in terms of K and d.
COVARIANCE_TYPES = {
    "full": (Full(), "Kdd"),
    "tied": (Tied(), "dd"),
    "diag": (Diagonal(), "Kd"),
    "spherical": (Spherical(), "K"),
    "identity": (Fixed(1.0), "dd"),
}
COLLAPSE_FLOOR_RATIO = 1.01  # a variance of no more than this many floors is the floor's


@dataclass(frozen=True)
class GivenStart:
    """The parts of a start that the user gave, None for the others."""

    weights: Array | None = None
    means: Array | None = None
    precisions: Array | None = None

    @classmethod
    def of(cls, K: int, d: int, kind: str, **parts: Any) -> GivenStart:
        """The parts as arrays of the shape they must have."""
        shapes = {"weights": "K", "means": "Kd", "precisions": COVARIANCE_TYPES[kind][1]}
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
    def whole(self) -> bool:
        return self.weights is not None and self.means is not None and self.precisions is not None

    def put(self, model: FiniteMixture) -> FiniteMixture:
        """The model with what was given in place of its own."""
        if self.weights is not None:
            model = replace(model, weights=self.weights)
        mean = model.components.mean if self.means is None else self.means
        if self.precisions is None:
            return replace(model, components=replace(model.components, mean=mean))
        family: Any = model.family
        return replace(
            model, components=GaussianMembers(mean, family.structure.from_precision(self.precisions, mean.shape[1]))
        )


def prior_moments(
    family: Gaussian, K: int, X: Table, w: Weights, mean: Array, count: float, spread: Any, degrees: float
) -> GroupMoments:
    """The moments of `count` rows at `mean` and `degrees` rows of covariance `spread`, by default those of the data."""
    seen, by_column, d = Gaussian(Diagonal()).stats(X, w[:, None]), family.structure.by_column, X.shape[1]
    mean = seen.mean[0] if mean is None else np.asarray(mean, dtype=np.float64)
    spread = seen.scatter[0] / seen.count[0] if spread is None else np.asarray(spread, dtype=np.float64)
    if by_column == (spread.ndim == 2):
        spread = np.diag(spread)
    if isinstance(family.structure, Tied):
        degrees = degrees / K  # the members share them
    ones, scatter = np.ones((K, d) if by_column else K), np.broadcast_to(degrees * spread, (K, *spread.shape))
    return GroupMoments(np.zeros(K), count * ones, np.broadcast_to(mean, (K, d)), scatter, degrees * ones)


def collapse_problems(model: FiniteMixture) -> list[str]:
    """Which covariances are singular but for their floor, why, and what to do."""
    family: Any = model.family
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
            "every covariance is singular but for reg_covar: a column is constant, or columns determine one another. "
            "Drop such columns"
        ]
    told = ", ".join(f"{k} (weight {model.weights[k]:.3g})" for k in np.flatnonzero(flat))
    return [
        f"the covariance of component {told} has collapsed to reg_covar: its rows are one row repeated, or too few, or "
        "lie in a plane. Ask for fewer components, raise reg_covar, or give a prior (covariance_strength)"
    ]
