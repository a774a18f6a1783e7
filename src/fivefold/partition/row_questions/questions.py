"""Questions about a whole row, as values.

A question with two branches is a polynomial in the columns and a limit; rows up to the limit take branch 0:

    AxisQuestion           x_j <= limit                                   one column
    LinearQuestion         w'x <= limit                                   a hyperplane
    QuadraticQuestion      (x - m)'W(x - m) + w'(x - m) <= limit          any conic
    SphereQuestion         sum_j ((x_j - m_j) / s_j)^2 <= limit           a ball, s the units of the columns
    EllipsoidQuestion      (x - m)'P(x - m) <= limit                      a ball in Mahalanobis distance

and one with K branches takes the largest discriminant:

    DiscriminantQuestion   argmax_k  w_k'x + b_k

Terms are added one by one in the order in which they are written, so that a row gets the same number in any table, and
in SQL.
"""

from __future__ import annotations

from abc import ABC, abstractmethod
from collections.abc import Callable, Sequence
from dataclasses import dataclass, field
from typing import Any, Protocol

import numpy as np

from fivefold.core.types import Array, Codes, Matrix, Table, Vector

PolynomialTerm = tuple[float, tuple[int, ...]]  # a coefficient and the columns it is multiplied by


class Origin(Protocol):
    """A number per column."""

    def __getitem__(self, j: int, /) -> Any:
        """That of column j."""
        ...


class Question(ABC):
    """What a node asks; subclasses are frozen dataclasses."""

    @property
    @abstractmethod
    def branches(self) -> int:
        """How many answers there are."""

    @property
    @abstractmethod
    def columns(self) -> tuple[int, ...]:
        """The columns it looks at."""

    @abstractmethod
    def row_branches(self, X: Table) -> Codes:
        """The branch of each row of X (n, d): int64, 0 .. branches - 1."""

    @abstractmethod
    def keep_branches(self, kept: Sequence[int]) -> Question | None:
        """The question with these branches alone; None where fewer than two are left."""

    @abstractmethod
    def conditions(self, style: QuestionFormat) -> list[str]:
        """The condition of each branch except the last, to be tested in order."""


@dataclass(frozen=True)
class QuestionFormat:
    """How numbers, columns and products are written: for a reader, or for a database."""

    columns: Sequence[str]
    number: Callable[[float], str] = "{:.6g}".format
    product: str = " "
    conjunction: str = " and "

    def factor(self, j: int, centre: float) -> str:
        """x_j, less its centre."""
        if centre == 0:
            return self.columns[j]
        return f"({self.columns[j]} {'-' if centre > 0 else '+'} {self.number(abs(centre))})"

    def polynomial(self, terms: Sequence[PolynomialTerm], centre: Origin) -> str:
        """A polynomial in words."""
        out = ""
        for c, js in terms:
            sign, size = ("-" if c < 0 else "+"), abs(c)
            one = self.product.join(
                ([] if size == 1 and js else [self.number(size)]) + [self.factor(j, centre[j]) for j in js]
            )
            out = f"{out} {sign} {one}" if out else ("-" if c < 0 else "") + one
        return out or self.number(0.0)


@dataclass(frozen=True)
class PolynomialQuestion(Question):
    """Two branches: a polynomial up to a limit, or above it."""

    limit: float = field(kw_only=True)

    @property
    @abstractmethod
    def terms(self) -> list[PolynomialTerm]:
        """The polynomial, one product of columns per term."""

    @property
    def origin(self) -> Origin:
        """What is subtracted from each column first (d,)."""
        return ZERO_ORIGIN

    @property
    def branches(self) -> int:
        return 2

    @property
    def columns(self) -> tuple[int, ...]:
        return tuple(sorted({j for _, js in self.terms for j in js}))

    def score(self, X: Table) -> Vector:
        """The polynomial at each row."""
        origin = self.origin
        Z = {j: X[:, j].astype(np.float64) - origin[j] for j in self.columns}
        out = np.zeros(len(X))
        for c, js in self.terms:
            one = c
            for j in js:
                one = one * Z[j]
            out += one
        return out

    def row_branches(self, X: Table) -> Codes:
        return (self.score(X) > self.limit).astype(np.int64)

    def keep_branches(self, kept: Sequence[int]) -> Question | None:
        return self if len(kept) == 2 else None

    def conditions(self, style: QuestionFormat) -> list[str]:
        return [f"{style.polynomial(self.terms, self.origin)} <= {style.number(self.limit)}"]


class _ZeroOrigin:
    """Nothing is subtracted from any column."""

    def __getitem__(self, j: int) -> float:
        return 0.0


ZERO_ORIGIN = _ZeroOrigin()


@dataclass(frozen=True)
class AxisQuestion(PolynomialQuestion):
    """One column and a threshold."""

    column: int

    @property
    def terms(self) -> list[PolynomialTerm]:
        return [(1.0, (self.column,))]


@dataclass(frozen=True)
class LinearQuestion(PolynomialQuestion):
    """A hyperplane."""

    weights: Array  # (d,)

    @property
    def terms(self) -> list[PolynomialTerm]:
        return [(float(self.weights[j]), (int(j),)) for j in np.flatnonzero(self.weights)]


@dataclass(frozen=True)
class QuadraticQuestion(PolynomialQuestion):
    """A conic: second and first powers about a centre."""

    centre: Array  # (d,)
    matrix: Array  # (d, d), symmetric
    weights: Array  # (d,)

    @property
    def origin(self) -> Origin:
        return self.centre

    @property
    def terms(self) -> list[PolynomialTerm]:
        return _squares(self.matrix) + LinearQuestion(self.weights, limit=0.0).terms


@dataclass(frozen=True)
class SphereQuestion(PolynomialQuestion):
    """Within a distance of a centre, each column in its own unit; `limit` is the squared radius."""

    centre: Array  # (d,)
    scale: Array  # (d,); infinite for a column that does not count

    @property
    def origin(self) -> Origin:
        return self.centre

    @property
    def terms(self) -> list[PolynomialTerm]:
        return [(float(a), (j, j)) for j, a in enumerate(self.scale**-2.0) if a > 0]


@dataclass(frozen=True)
class EllipsoidQuestion(PolynomialQuestion):
    """Within a Mahalanobis distance of a centre; `limit` is its square."""

    centre: Array  # (d,)
    precision: Array  # (d, d), symmetric

    @property
    def origin(self) -> Origin:
        return self.centre

    @property
    def terms(self) -> list[PolynomialTerm]:
        return _squares(self.precision)


@dataclass(frozen=True)
class DiscriminantQuestion(Question):
    """K branches: the largest of K linear functions; the first of equal ones."""

    weights: Array  # (K, d)
    bias: Array  # (K,)

    @property
    def branches(self) -> int:
        return len(self.bias)

    @property
    def columns(self) -> tuple[int, ...]:
        return tuple(np.flatnonzero((self.weights != 0).any(axis=0)).tolist())

    def scores(self, X: Table) -> Matrix:
        """The discriminants of each row (n, K)."""
        out = np.zeros((len(X), self.branches))
        for j in self.columns:
            out += X[:, j].astype(np.float64)[:, None] * self.weights[:, j]
        return out + self.bias

    def row_branches(self, X: Table) -> Codes:
        return self.scores(X).argmax(axis=1)

    def keep_branches(self, kept: Sequence[int]) -> Question | None:
        kept = list(kept)
        return DiscriminantQuestion(self.weights[kept], self.bias[kept]) if len(kept) > 1 else None

    def conditions(self, style: QuestionFormat) -> list[str]:
        used = self.columns
        each = [
            style.polynomial([*((float(w[j]), (j,)) for j in used if w[j] != 0), (float(b), ())], ZERO_ORIGIN)
            for w, b in zip(self.weights, self.bias, strict=True)
        ]
        pairs = [[f"{mine} >= {other}" for other in each[k + 1 :]] for k, mine in enumerate(each[:-1])]
        return [style.conjunction.join(pair) for pair in pairs]


def _squares(matrix: Matrix) -> list[PolynomialTerm]:
    """x'Ax, one product of two columns per term."""
    i, j = np.triu_indices(len(matrix))
    a = np.where(i == j, 1.0, 2.0) * matrix[i, j]
    return [(float(a[k]), (int(i[k]), int(j[k]))) for k in np.flatnonzero(a)]
