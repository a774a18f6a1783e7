"""The contract of a family of distributions: K members along axis 0, fitted from statistics that add.

    family.stats(X, R)          Stats       sums over the rows of X under the weights R
    family.fit(stats, prior)    Members     maximum likelihood; with a prior, its mode: fit(stats + prior)
    members.log_prob(X)         (n, K)      log density of every row under every member
    members.sample(which, rng)  rows        row i drawn from member which[i]

R is a matrix (n, K), or `GroupWeights` (a code and a weight per row), so that no one-hot matrix is made. A
family is a value: its fields say what is fitted (the structure of a covariance, the number of levels).
A conjugate prior is pseudo-statistics. Missing entries are NaN: marginalised by Gaussians, left out by
families whose columns are independent.

X may be a NumPy array or a tensor; `stats` and `log_prob` stay on its device and in its precision, `fit`
brings the small sums home: members hold NumPy arrays of float64.

Latent-variable models work block by block: points in the columns of Z (d, m), `members.log_columns` in,
`family.accumulator(members).add(Z, R)` out. The defaults go through `log_prob` and `stats`; a family
with compiled loops has its own.
"""

from __future__ import annotations

from abc import ABC, abstractmethod
from collections.abc import Iterable, Iterator
from dataclasses import dataclass, fields
from functools import reduce
from importlib import import_module
from inspect import isabstract
from operator import add
from pkgutil import iter_modules
from typing import Any, Self, TypeVar

import numpy as np

from fivefold.core.numerics.arrays import like, namespace, to_numpy
from fivefold.core.types import Array, Codes, Table


@dataclass(frozen=True)
class GroupWeights:
    """Weights of a partition: row i has weight `weights[i]` in group `codes[i]`, of `count` groups."""

    codes: Codes  # (n,)
    weights: Array  # (n,)
    count: int

    @property
    def shape(self) -> tuple[int, int]:
        return len(self.codes), self.count

    def __getitem__(self, rows: slice) -> GroupWeights:
        return GroupWeights(self.codes[rows], self.weights[rows], self.count)

    def dense(self) -> Array:
        """The same weights as a matrix (n, K)."""
        xp = namespace(self.weights)
        members = like(np.arange(self.count), self.codes)
        return xp.where(self.codes[:, None] == members, self.weights[:, None], 0.0)


@dataclass(frozen=True)
class Stats:
    """Sums for K members. `weight` (K,) is the weight of the rows; every field has K along axis 0.

    Plain sums add field by field; centred moments have a rule of their own.
    """

    weight: Array  # (K,)

    def __add__(self, other: Self) -> Self:
        return type(self)(*(getattr(self, f.name) + getattr(other, f.name) for f in fields(self)))

    def __sub__(self, other: Self) -> Self:
        """The rest, when `other` is taken out."""
        return type(self)(*(getattr(self, f.name) - getattr(other, f.name) for f in fields(self)))

    def __mul__(self, scale: float) -> Self:
        """As if every row were there `scale` times."""
        return type(self)(*(getattr(self, f.name) * scale for f in fields(self)))

    __rmul__ = __mul__

    def at_home(self) -> Self:
        """The same as NumPy arrays of float64."""
        return type(self)(*(to_host(getattr(self, f.name)) for f in fields(self)))


S = TypeVar("S", bound=Stats)


def sum_stats(parts: Iterable[S]) -> S:
    """The sum in the order given: the same bytes for any number of threads."""
    return reduce(add, parts)


@dataclass(frozen=True)
class Members(ABC):
    """K fitted members of a family."""

    @abstractmethod
    def log_prob(self, X: Table) -> Any:
        """Log density (n, K)."""

    @abstractmethod
    def sample(self, which: Codes, rng: np.random.RandomState) -> Array:
        """One row from each of the members `which` (n,)."""

    @abstractmethod
    def expected(self, stats: Any) -> Array:
        """Log-likelihood (K,) of the data behind `stats`, less terms free of the parameters.

        Of a prior's pseudo-statistics this is its log density, up to a constant: the term MAP adds.
        """

    @property
    @abstractmethod
    def n_parameters(self) -> int:
        """Free parameters of all K members together."""

    def log_columns(self, Z: Array, shift: Array, out: Array) -> Array:
        """out (K, m) = shift (K,) + log density of the points in the columns of Z (d, m)."""
        out[:] = self.log_prob(np.ascontiguousarray(Z.T)).T
        out += shift[:, None]
        return out


class ExponentialForm(ABC):
    """Members of an exponential family, log p(x | k) = log h(x) + eta_k . u(x) - A(eta_k).

    The gradient of A at eta_k is the mean of u under member k.
    """

    @property
    @abstractmethod
    def natural(self) -> Array:
        """eta (K, p)."""

    @property
    @abstractmethod
    def mean_sufficient(self) -> Array:
        """E[u(x) | k] (K, p)."""

    @abstractmethod
    def sufficient(self, X: Table) -> Array:
        """u(x) of each row (n, p)."""

    @abstractmethod
    def log_normaliser(self, eta: Array) -> Array:
        """A(eta) (K,)."""

    @abstractmethod
    def from_natural(self, eta: Array) -> Any:
        """Members of the same kind with the natural parameters eta (K, p)."""

    def log_base(self, X: Table) -> Array:
        """log h(x) of each row (n,)."""
        return np.zeros(len(X))


class Accumulator(ABC):
    """Running statistics of blocks with points in columns."""

    @abstractmethod
    def add(self, Z: Array, R: Array) -> None:
        """Add the points Z (d, m) under the weights R (K, m)."""

    @abstractmethod
    def stats(self) -> Any:
        """The statistics of all blocks so far."""


@dataclass(frozen=True)
class Family(ABC):
    """What is fitted; the members are what was found."""

    @abstractmethod
    def stats(self, X: Any, R: Any) -> Any:
        """Statistics of the rows of X under the weights R."""

    @abstractmethod
    def fit(self, stats: Any, prior: Any = None) -> Any:
        """The likeliest members given the statistics; with pseudo-statistics `prior`, the most probable."""

    @classmethod
    @abstractmethod
    def examples(cls, rng: np.random.RandomState) -> Iterator[tuple[Family, Array]]:
        """Families of this kind, each with a table it fits: what the laws are tried on."""

    def accumulator(self, members: Any) -> Accumulator:
        """For blocks; `members` are those of the present step."""
        return StatsAccumulator(self)


class StatsAccumulator(Accumulator):
    """Statistics block by block through `family.stats`."""

    def __init__(self, family: Family) -> None:
        self._family, self._sum = family, None

    def add(self, Z: Array, R: Array) -> None:
        stats = self._family.stats(np.ascontiguousarray(Z.T), R.T)
        self._sum = stats if self._sum is None else self._sum + stats

    def stats(self) -> Any:
        return self._sum


def to_host(a: Any) -> Array:
    """The array or tensor as a NumPy array of float64."""
    return np.asarray(to_numpy(a), dtype=np.float64)


def families() -> tuple[type[Family], ...]:
    """Every family of the package that can be fitted."""
    package = import_module(__package__)
    for module in iter_modules(package.__path__):
        import_module(f"{__package__}.{module.name}")

    def below(cls: Any) -> Iterator[Any]:
        for sub in cls.__subclasses__():
            yield sub
            yield from below(sub)

    return tuple(sorted((f for f in below(Family) if not isabstract(f)), key=lambda f: f.__name__))
