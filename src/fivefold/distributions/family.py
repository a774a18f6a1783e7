"""The contract of a family of distributions: K members along axis 0, fitted from statistics that add.

    family.stats(X, R)          Stats       sums over the rows of X under the weights R
    family.fit(stats, prior)    Members     maximum likelihood; with a prior, its mode: fit(stats + prior)
    members.log_prob(X)         (n, K)      log density of every row under every member
    members.sample(which, rng)  rows        row i drawn from member which[i]

R is a matrix (n, K), or `GroupWeights` (a code and a weight per row), so that no one-hot matrix is made. A
family is a value: its fields say what is fitted (the structure of a covariance, the number of levels).
A conjugate prior is pseudo-statistics. Missing entries are NaN: Gaussians integrate them out, families with
independent columns leave them out.

X may be a NumPy array or a tensor. Rows of a tensor are summed on its device, a run at a time, and only the small
sums come to the host: statistics and members hold NumPy arrays of float64. `log_prob` answers on the device of X.

Latent-variable models work block by block, with points in the columns of Z (d, m): densities come from
`members.log_prob_columns`, statistics go to `family.accumulator(members).add(Z, R)`. The defaults
go through `log_prob` and `stats`; a family with compiled loops has its own.
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
from typing import Any, ClassVar, Self, TypeAlias, TypeVar

import numpy as np
from numpy.typing import ArrayLike

from fivefold.core.numerics.arrays import like, namespace, to_numpy
from fivefold.core.types import Array, Codes, Matrix, Rng, Table, Vector, Weights


@dataclass(frozen=True)
class GroupWeights:
    """Weights of a partition: row i has weight `weights[i]` in group `codes[i]`, of `count` groups."""

    codes: Codes  # (n,)
    weights: Weights  # (n,)
    count: int

    @property
    def shape(self) -> tuple[int, int]:
        return len(self.codes), self.count

    def __getitem__(self, rows: slice) -> GroupWeights:
        return GroupWeights(self.codes[rows], self.weights[rows], self.count)

    def to_matrix(self) -> Matrix:
        """The same weights as a matrix (n, K)."""
        xp = namespace(self.weights)
        members = like(np.arange(self.count), self.codes)
        return xp.where(self.codes[:, None] == members, self.weights[:, None], 0.0)


# The weights R of rows in K groups; a tensor where X is one.
RowWeights: TypeAlias = Matrix | GroupWeights

# Every family has its own classes of statistics and members, and only it knows them.
FamilyStats: TypeAlias = Any
FamilyMembers: TypeAlias = Any


@dataclass(frozen=True)
class Stats:
    """Sums for K members. `weight` (K,) is the weight of the rows; every field has K along axis 0.

    Plain sums add field by field; centred moments have a rule of their own.
    """

    weight: Vector  # (K,)

    def __add__(self, other: Self) -> Self:
        return type(self)(*(getattr(self, f.name) + getattr(other, f.name) for f in fields(self)))

    def __sub__(self, other: Self) -> Self:
        """What is left when `other` is taken out."""
        return type(self)(*(getattr(self, f.name) - getattr(other, f.name) for f in fields(self)))

    def __mul__(self, scale: float) -> Self:
        """As if every row had been seen `scale` times."""
        return type(self)(*(getattr(self, f.name) * scale for f in fields(self)))

    __rmul__ = __mul__

    def to_host(self) -> Self:
        """The same sums as NumPy arrays of float64."""
        return type(self)(*(to_host(getattr(self, f.name)) for f in fields(self)))


S = TypeVar("S", bound=Stats)


def sum_stats(parts: Iterable[S]) -> S:
    """The sum of the parts in the given order, so that it is the same to the last bit for any number of threads."""
    return reduce(add, parts)


@dataclass(frozen=True)
class Distributions(ABC):
    """K distributions of rows."""

    period: ClassVar[float] = np.inf  # values of a column that differ by it are the same: 2 pi for angles

    @abstractmethod
    def log_prob(self, X: Table) -> Table:
        """Log density (n, K), an array of the library of X."""

    @abstractmethod
    def sample(self, which: Codes, rng: Rng) -> Matrix:
        """One row from each of the members `which` (n,)."""

    def pdf(self, X: Table) -> Table:
        """Density, or probability of a count or category (n, K)."""
        return namespace(X).exp(self.log_prob(X))


class Marginals(ABC):
    """K distributions of which each column alone is known, with `mean` and `variance` (K, d)."""

    @abstractmethod
    def marginal_cdf(self, X: ArrayLike) -> Array:
        """P(x_j <= X_ij) of each entry (n, K, d)."""

    @abstractmethod
    def marginal_quantile(self, q: ArrayLike) -> Array:
        """The smallest x with P(x_j <= x) >= q, for each of the m probabilities q (m, K, d)."""

    def central_interval(self, mass: float = 0.95) -> Array:
        """Ends (K, d, 2) of the intervals with this probability and the same probability beyond either end."""
        if not 0 < mass < 1:
            raise ValueError(f"an interval holds a probability between 0 and 1; got {mass}")
        return np.moveaxis(self.marginal_quantile([(1 - mass) / 2, (1 + mass) / 2]), 0, -1)

    def interval_probability(self, low: ArrayLike, high: ArrayLike) -> Array:
        """P(low < x_j <= high) of each column (K, d); low and high are numbers or rows of d of them."""
        ends = np.broadcast_arrays(*(np.atleast_1d(np.asarray(end, dtype=np.float64)) for end in (low, high)))
        below = self.marginal_cdf(np.stack(ends))
        return below[1] - below[0]


@dataclass(frozen=True)
class Members(Distributions):
    """K fitted members of a family."""

    @abstractmethod
    def expected_log_prob(self, stats: FamilyStats) -> Vector:
        """Log-likelihood (K,) of the data behind `stats`, without the terms that do not depend on the parameters.

        For the pseudo-statistics of a prior this is the log density of the prior, up to a constant: what MAP adds.
        """

    @property
    @abstractmethod
    def n_parameters(self) -> int:
        """Free parameters of all K members together."""

    def log_prob_columns(self, Z: Matrix, shift: Vector, out: Matrix) -> Matrix:
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
    def natural_parameters(self) -> Matrix:
        """eta (K, p)."""

    @property
    @abstractmethod
    def mean_statistics(self) -> Matrix:
        """E[u(x) | k] (K, p)."""

    @abstractmethod
    def sufficient_statistics(self, X: Table) -> Matrix:
        """u(x) of each row (n, p)."""

    @abstractmethod
    def log_normaliser(self, eta: Matrix) -> Vector:
        """A(eta) (K,)."""

    @abstractmethod
    def from_natural(self, eta: Matrix) -> ExponentialForm:
        """Members of the same kind with the natural parameters eta (K, p)."""

    def log_base_measure(self, X: Table) -> Vector:
        """log h(x) of each row (n,)."""
        return np.zeros(len(X))

    @property
    def mean_log_base_measure(self) -> Vector:
        """E[log h(x) | k] (K,)."""
        return np.zeros(len(self.natural_parameters))

    @property
    def entropy(self) -> Vector:
        """E[-log p(x | k) | k] (K,), in nats: A(eta) - eta . E u - E log h."""
        eta = self.natural_parameters
        return self.log_normaliser(eta) - _paired(eta, self.mean_statistics) - self.mean_log_base_measure

    def kl_divergence(self, other: Self) -> Vector:
        """KL(p_k || q_k) = E[log p_k(x) - log q_k(x)] (K,), in nats; `other` has the members q, or one for all.

        A(eta_q) - A(eta_p) - (eta_q - eta_p) . E_p u: the gap between A and its tangent at eta_p.
        """
        eta, to = self.natural_parameters, other.natural_parameters
        return other.log_normaliser(to) - self.log_normaliser(eta) + _paired(eta - to, self.mean_statistics)


def _paired(eta: Array, u: Array) -> Vector:
    """eta_k . u_k (K,); a statistic that is zero counts nothing, even where eta is infinite."""
    with np.errstate(invalid="ignore"):
        return np.where(u == 0, 0.0, eta * u).sum(axis=1)


class Accumulator(ABC):
    """Running statistics of blocks with points in columns."""

    @abstractmethod
    def add(self, Z: Matrix, R: Matrix) -> None:
        """Add the points Z (d, m) under the weights R (K, m)."""

    @abstractmethod
    def stats(self) -> FamilyStats:
        """The statistics of all blocks so far."""

    def total(self, others: Iterable[Any]) -> FamilyStats:  # of this class
        """The statistics of these blocks and of those of others, about the same members."""
        return sum_stats([self.stats(), *(other.stats() for other in others)])


@dataclass(frozen=True)
class Family(ABC):
    """What kind of distribution is fitted; the members are the result of a fit."""

    @abstractmethod
    def stats(self, X: Table, R: RowWeights) -> FamilyStats:
        """Statistics of the rows of X under the weights R."""

    @abstractmethod
    def fit(self, stats: FamilyStats, prior: FamilyStats | None = None) -> FamilyMembers:
        """The members of maximum likelihood; with the pseudo-statistics `prior`, of maximum posterior probability."""

    @classmethod
    @abstractmethod
    def examples(cls, rng: Rng) -> Iterator[tuple[Family, Matrix]]:
        """Families of this kind, each with a table that suits it: the laws are tested on them."""

    def accumulator(self, members: FamilyMembers) -> Accumulator:
        """Empty running statistics; `members` are those of the current step of EM."""
        return StatsAccumulator(self)


class StatsAccumulator(Accumulator):
    """Statistics block by block through `family.stats`."""

    def __init__(self, family: Family) -> None:
        self._family = family
        self._sum: FamilyStats | None = None

    def add(self, Z: Matrix, R: Matrix) -> None:
        stats = self._family.stats(np.ascontiguousarray(Z.T), R.T)
        self._sum = stats if self._sum is None else self._sum + stats

    def stats(self) -> FamilyStats:
        return self._sum


def to_host(a: Table) -> Array:
    """The array or tensor as a NumPy array of float64."""
    return np.asarray(to_numpy(a), dtype=np.float64)


def families() -> tuple[type[Family], ...]:
    """Every family of the package that is not abstract."""
    package = import_module(__package__)
    for module in iter_modules(package.__path__):
        import_module(f"{__package__}.{module.name}")

    def below(cls: Any) -> Iterator[Any]:  # to mypy, an abstract class is no type[Family]
        for sub in cls.__subclasses__():
            yield sub
            yield from below(sub)

    return tuple(sorted((f for f in below(Family) if not isabstract(f)), key=lambda f: f.__name__))
