"""Hyperparameters of kernels, seen as one vector of logarithms: the form in which they are searched.

A field `length_scale` is a hyperparameter where a field `length_scale_bounds` stands beside it. Bounds are a pair of
numbers, a pair per element, or "fixed": a fixed parameter is no part of the vector.
"""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any, NamedTuple, TypeAlias

import numpy as np

from fivefold.core.types import Array, Matrix, Vector

DEFAULT_BOUNDS = (1e-5, 1e5)  # ten orders of magnitude, as in scikit-learn

Bounds: TypeAlias = Sequence[float] | Sequence[Sequence[float]] | Array | str
Scale: TypeAlias = float | Sequence[float] | Array  # one number, or one per column


class Hyperparameter(NamedTuple):
    """A parameter of a kernel that may be searched; names of parts are joined by two underscores."""

    name: str
    value_type: str
    bounds: Any  # "fixed", or an array (n_elements, 2)
    n_elements: int
    fixed: bool

    def __eq__(self, other: object) -> bool:
        return isinstance(other, tuple) and all(
            np.array_equal(mine, theirs) for mine, theirs in zip(self, other, strict=True)
        )

    def __hash__(self) -> int:
        return hash((self.name, self.n_elements, self.fixed))

    def within(self, part: str) -> Hyperparameter:
        """The same, seen from the kernel that has this one as its part."""
        return self._replace(name=f"{part}__{self.name}")


def hyperparameter(name: str, value: Scale, bounds: Bounds) -> Hyperparameter:
    """What a field and its bounds say, the bounds once per element."""
    count = int(np.size(value)) if np.ndim(value) else 1
    if is_fixed(bounds):
        return Hyperparameter(name, "numeric", "fixed", count, True)
    pairs = np.atleast_2d(np.asarray(bounds, dtype=np.float64))
    if pairs.shape[0] == 1 and count > 1:
        pairs = np.repeat(pairs, count, axis=0)
    if pairs.shape != (count, 2):
        raise ValueError(
            f"{name}_bounds has shape {np.shape(bounds)} for {count} elements of {name}: give one pair (low, high), "
            f"a pair per element, or 'fixed'"
        )
    return Hyperparameter(name, "numeric", pairs, count, False)


def is_fixed(bounds: object) -> bool:
    """Is the parameter left out of the vector?"""
    if isinstance(bounds, str) and bounds != "fixed":
        raise ValueError(f"bounds are pairs of numbers or 'fixed', got {bounds!r}")
    return isinstance(bounds, str)


def log_values(value: Scale) -> Vector:
    """The logarithms of a parameter's elements; minus infinity for a zero."""
    with np.errstate(divide="ignore"):
        return np.log(np.atleast_1d(np.asarray(value, dtype=np.float64)))


def log_bounds(found: Hyperparameter) -> Matrix:
    """The bounds of a free parameter in the vector."""
    return np.log(found.bounds)


def sum_of_products(W: Array, D: Array) -> float:
    """sum_ij W_ij D_ij, of weights and derivatives of entries; not by BLAS, whose threads would change the bytes."""
    axes = "ij"[: W.ndim]
    return float(np.einsum(f"{axes},{axes}->", W, D, dtype=np.float64))
