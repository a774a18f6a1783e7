"""Restoration of a noisy picture: its true levels are hidden variables on the grid of pixels.

    p(levels | picture) ~ prod_pixels p(observed | level) prod_neighbours psi(level, level')

Each pixel gets its most probable level (which minimises the expected number of wrong pixels), or the mean of its levels
(which minimises the expected squared error); the entropy of its marginal says how sure that is.

Geman & Geman (1984); Besag (1986).
"""

from __future__ import annotations

from dataclasses import dataclass
from functools import cached_property
from typing import Any, Literal

import numpy as np
from numpy.typing import ArrayLike, NDArray

from fivefold.core.types import Codes, Doubles
from fivefold.graphical.fields.pairwise_field import FieldBeliefs, Method, Neighbours, PairwiseField
from fivefold.graphical.fields.potentials import flip_evidence, gaussian_evidence, potts, truncated_linear


@dataclass(frozen=True)
class RestoredImage:
    """A picture of levels, and how sure each pixel is."""

    levels: Doubles  # (K,) grey values that a pixel may have
    shape: tuple[int, int]
    beliefs: FieldBeliefs

    @cached_property
    def labels(self) -> Codes:
        """(height, width) numbers of the most probable levels, the lowest where several are."""
        return self.beliefs.labels.reshape(self.shape)

    @property
    def image(self) -> Doubles:
        """(height, width) the most probable levels."""
        return self.levels[self.labels]

    @cached_property
    def mean_image(self) -> Doubles:
        """(height, width) the expected levels."""
        return np.array([p @ self.levels for p in self.beliefs.marginals]).reshape(self.shape)

    @property
    def entropy(self) -> Doubles:
        """(height, width) how uncertain each pixel is, in nats."""
        return self.beliefs.entropy.reshape(self.shape)


def restore_image(
    picture: ArrayLike,
    levels: ArrayLike,
    noise: float,
    *,
    noise_model: Literal["gaussian", "flip"] = "gaussian",
    smoothness: float = 1.0,
    most: float | None = None,
    neighbours: Neighbours = 4,
    method: Method = "auto",
    **options: Any,
) -> RestoredImage:
    """The levels behind a picture (height, width).

    `noise` is the standard deviation around the level, or with `noise_model="flip"` the probability that a pixel shows
    another level. Neighbours that differ cost `smoothness`, whatever their levels (Potts); with `most` it is the cost
    per step between levels, up to `most` (truncated linear). Pixels that are NaN were not observed.

    Examples
    --------
    >>> picture = [[0.1, 0.0, 0.9], [0.2, 0.7, 1.1], [0.0, 0.1, 0.8]]
    >>> restore_image(picture, [0.0, 1.0], 0.4, smoothness=0.8).labels
    array([[0, 0, 1],
           [0, 0, 1],
           [0, 0, 1]])
    """
    values: NDArray[Any] = np.asarray(picture, dtype=np.float64)
    grey = np.asarray(levels, dtype=np.float64)
    if values.ndim != 2 or not values.size:
        raise ValueError(f"a picture is (height, width) numbers; got shape {values.shape}")
    if grey.ndim != 1 or len(grey) < 2 or (np.diff(grey) <= 0).any():
        raise ValueError("levels are at least two rising numbers")
    if smoothness < 0:
        raise ValueError(f"smoothness={smoothness}: neighbours that differ cost 0 or more")
    known = ~np.isnan(values)
    if noise_model == "gaussian":
        evidence = gaussian_evidence(np.where(known, values, 0.0), grey, noise)
    else:
        nearest = np.abs(np.where(known, values, 0.0)[..., None] - grey).argmin(axis=-1)
        if (grey[nearest][known] != values[known]).any():
            raise ValueError("with flips every pixel shows one of the levels; for other values use Gaussian noise")
        evidence = flip_evidence(nearest, noise, len(grey))
    evidence[~known] = 1.0
    K = len(grey)
    tables = potts(K, 1.0, float(np.exp(-smoothness))) if most is None else truncated_linear(K, smoothness, most)
    field = PairwiseField.grid(evidence, tables, neighbours=neighbours)
    height, width = values.shape
    return RestoredImage(grey, (height, width), field.marginals(method, **options))
