"""Tables without groups that resemble a given one: what a choice of K has to beat.

    gaussian    one Gaussian with the mean and covariance of the rows
    uniform     uniform in the box around the rows, along their principal axes or along the columns
    heavy       one multivariate t, its degrees of freedom fitted; only where tails are heavier than a Gaussian's
    one-peak    columns with one peak each, as close to those of the table as one peak allows, joined by a Gaussian
                copula that gives the covariances of the table: skewed, flat and lumpy columns of a single population

One peak: to the left of the peak the distribution function is the greatest convex minorant of the empirical one, to
the right the least concave majorant; the peak is where the largest distance to the empirical one is least (Hartigan &
Hartigan 1985). Copula: with Hermite coefficients a_jk of the column j as a function of a standard normal number,

    cov(i, j) = sum_k a_ik a_jk r_ij^k,    solved for the latent correlation r_ij.

Columns of few values keep these values and how often each occurs: by rank in every reference. Columns of one category
(`blocks`) are shuffled together, so that levels stay levels: one class of rows whose categories tell nothing about
each other (latent class analysis with one class).
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass, field
from typing import Protocol

import numpy as np
from scipy.special import ndtr, ndtri
from sklearn.isotonic import isotonic_regression

from fivefold.core.types import Doubles, Indices, Matrix, Vector
from fivefold.distributions.multivariate_t import MultivariateT

MAX_LEVELS = 20  # distinct values of a column that keeps them
HEAVY_DOF = 25.0  # degrees of freedom from which a t is taken for a Gaussian
PEAKS_TRIED = 25  # places of the peak, at quantiles of the column
HERMITE_TERMS = 12  # of a column as a function of a normal number
QUANTILES = 1000  # grid of normal numbers that the coefficients are computed on
BISECTIONS = 30  # of latent correlations
T_ROWS = 2_000  # rows that degrees of freedom are fitted to


class Reference(Protocol):
    """A distribution without groups."""

    @property
    def name(self) -> str:
        """What it is called."""
        ...

    def draw(self, n: int, rng: np.random.Generator) -> Matrix:
        """n rows."""
        ...


@dataclass(frozen=True)
class GaussianReference:
    """One Gaussian; with degrees of freedom, one multivariate t."""

    name: str
    mean: Vector
    root: Matrix  # (d, d), root.T @ root is the covariance, or the scale of the t
    dof: float = np.inf

    @classmethod
    def of(cls, X: Matrix, name: str = "gaussian") -> GaussianReference:
        """With mean and covariance of the rows."""
        return cls(name, X.mean(axis=0), _root(np.atleast_2d(np.cov(X.T))))

    def draw(self, n: int, rng: np.random.Generator) -> Matrix:
        E = rng.standard_normal((n, len(self.mean))) @ self.root
        if np.isfinite(self.dof):
            E *= np.sqrt(self.dof / rng.chisquare(self.dof, (n, 1)))
        return self.mean + E


@dataclass(frozen=True)
class UniformReference:
    """Uniform in a box."""

    name: str
    centre: Vector
    axes: Matrix  # (d, d), rows are directions
    low: Vector
    high: Vector

    @classmethod
    def of(cls, X: Matrix, axes: str = "principal") -> UniformReference:
        """Around the rows, along their "principal" axes or those of the "columns"."""
        centre = X.mean(axis=0)
        Q = np.eye(X.shape[1])
        if axes == "principal":
            Q = np.linalg.eigh(np.atleast_2d(np.cov(X.T)))[1].T
        Z = (X - centre) @ Q.T
        return cls("uniform", centre, Q, Z.min(axis=0), Z.max(axis=0))

    def draw(self, n: int, rng: np.random.Generator) -> Matrix:
        return self.centre + rng.uniform(self.low, self.high, (n, len(self.centre))) @ self.axes


@dataclass(frozen=True)
class OnePeakReference:
    """Columns of one peak each, joined by a Gaussian copula."""

    name: str
    levels: tuple[Vector, ...]  # of each column: its values, and the share of rows below or at each
    shares: tuple[Vector, ...]
    root: Matrix  # (d, d), of the latent correlations

    @classmethod
    def of(cls, X: Matrix) -> OnePeakReference:
        """Closest to the columns of X, with their covariances."""
        parts = [_steps(x) if len(np.unique(x)) <= MAX_LEVELS else closest_one_peak(x) for x in X.T]
        levels, shares = tuple(part[0] for part in parts), tuple(part[1] for part in parts)
        return cls("one-peak", levels, shares, _root(latent_correlations(X, levels, shares)))

    def draw(self, n: int, rng: np.random.Generator) -> Matrix:
        U = ndtr(rng.standard_normal((n, len(self.root))) @ self.root)
        pairs = zip(U.T, self.levels, self.shares, strict=True)
        return np.column_stack([_quantiles(u, levels, shares) for u, levels, shares in pairs])


@dataclass(frozen=True)
class TableReference:
    """A reference whose columns of few values, and blocks of a category, look like those of the table."""

    inner: Reference
    rows: Matrix  # (n, d), of the table
    few: Indices  # columns that keep their values
    blocks: tuple[Indices, ...] = ()  # columns that are shuffled together
    spread: Vector = field(default_factory=lambda: np.ones(0))  # standard deviations of the columns

    @property
    def name(self) -> str:
        """Of the distribution inside."""
        return self.inner.name

    def draw(self, n: int, rng: np.random.Generator) -> Matrix:
        Z = self.inner.draw(n, rng)
        own = Z.std(axis=0)
        Z = Z * np.where(own > 0, self.spread / np.where(own > 0, own, 1.0), 1.0)  # the table was scaled, too
        m = len(self.rows)
        for j in self.few:
            at = (np.argsort(np.argsort(Z[:, j])) * m) // n
            Z[:, j] = np.sort(self.rows[:, j])[at]
        for block in self.blocks:
            Z[:, block] = self.rows[:, block][rng.permutation(n) % m]
        return Z


def references_of(X: Matrix, blocks: Sequence[Sequence[int]] = ()) -> tuple[TableReference, ...]:
    """The references of a table: Gaussian, uniform, one-peak, and heavy-tailed where tails are heavy.

    Parameters
    ----------
    X
        Rows of numbers.
    blocks
        Columns that hold the levels of one category, for every category.
    """
    inner: list[Reference] = [GaussianReference.of(X), UniformReference.of(X), OnePeakReference.of(X)]
    if (heavy := heavy_reference(X)) is not None:
        inner.append(heavy)
    within = {j for block in blocks for j in block}
    few = np.array([j for j, x in enumerate(X.T) if len(np.unique(x)) <= MAX_LEVELS and j not in within], dtype=int)
    kept = tuple(np.asarray(block, dtype=int) for block in blocks)
    return tuple(TableReference(reference, X, few, kept, X.std(axis=0)) for reference in inner)


def heavy_reference(X: Matrix) -> GaussianReference | None:
    """A multivariate t fitted to the rows; None if its tails are no heavier than a Gaussian's."""
    wide = [j for j, x in enumerate(X.T) if len(np.unique(x)) > MAX_LEVELS]
    if not wide or len(X) <= len(wide) + 1:
        return None
    family = MultivariateT()
    try:
        rows = np.ascontiguousarray(X[:T_ROWS, wide])
        found = family.fit(family.stats(rows, np.ones((len(rows), 1))))
    except (ValueError, np.linalg.LinAlgError):
        return None
    dof = float(found.dof[0])
    if dof >= HEAVY_DOF:
        return None
    plain = GaussianReference.of(X, "heavy")
    return GaussianReference("heavy", plain.mean, plain.root, max(dof, 1.0))


def closest_one_peak(x: Vector) -> tuple[Vector, Vector]:
    """Values and distribution function of the closest distribution with one peak: linear between the values.

    Examples
    --------
    >>> values, shares = closest_one_peak(np.array([0.0, 1.0, 2.0, 3.0, 4.0]))
    >>> np.diff(shares).round(3).tolist()
    [0.25, 0.25, 0.25, 0.25]
    """
    values, counts = np.unique(x, return_counts=True)
    inside = np.concatenate([[0.0], np.cumsum(counts[:-1] + counts[1:])])  # a row counts half on either side
    shares = inside / inside[-1]
    gaps, rises = np.diff(values), np.diff(shares)
    slopes = rises / gaps
    best, least = shares, np.inf
    for peak in np.unique(np.linspace(0, len(gaps), PEAKS_TRIED).astype(int)):
        left = isotonic_regression(slopes[:peak], sample_weight=gaps[:peak]) if peak else slopes[:0]
        tail = slopes[peak:]
        right = isotonic_regression(tail, sample_weight=gaps[peak:], increasing=False) if len(tail) else tail
        fitted = np.concatenate([[0.0], np.cumsum(np.concatenate([left, right]) * gaps)])
        if (away := float(np.abs(fitted - shares).max())) < least:
            best, least = fitted / fitted[-1], away
    return values, best


def latent_correlations(X: Matrix, levels: Sequence[Vector], shares: Sequence[Vector]) -> Matrix:
    """Correlations (d, d) of normal numbers whose quantiles have the correlations of the columns of X."""
    z = ndtri((np.arange(QUANTILES) + 0.5) / QUANTILES)
    H = [np.ones(QUANTILES), z]
    for k in range(1, HERMITE_TERMS):
        H.append((z * H[k] - np.sqrt(k) * H[k - 1]) / np.sqrt(k + 1))
    basis = np.array(H[1:])  # (terms, grid), orthonormal under the normal distribution
    pairs = zip(levels, shares, strict=True)
    A = np.array([basis @ _quantiles(ndtr(z), v, s) / QUANTILES for v, s in pairs])  # (d, terms)
    A /= np.maximum(np.sqrt((A**2).sum(axis=1, keepdims=True)), 1e-12)
    goal = np.atleast_2d(np.corrcoef(X.T))
    i, j = np.triu_indices(len(A), 1)
    products, wanted = A[i] * A[j], goal[i, j]
    low, high = np.full(len(i), -1.0), np.ones(len(i))
    for _ in range(BISECTIONS):
        r = (low + high) / 2
        value = np.zeros(len(i))
        for k in range(HERMITE_TERMS - 1, -1, -1):  # Horner: sum_k a_ik a_jk r^(k+1)
            value = (value + products[:, k]) * r
        low, high = np.where(value < wanted, r, low), np.where(value < wanted, high, r)
    R = np.eye(len(A))
    R[i, j] = R[j, i] = (low + high) / 2
    return R


def _steps(x: Vector) -> tuple[Vector, Vector]:
    """The values of a column of few values, each twice, so that its distribution function has steps."""
    values, counts = np.unique(x, return_counts=True)
    ends = np.concatenate([[0.0], np.cumsum(counts) / len(x)])
    return np.repeat(values, 2), np.repeat(ends, 2)[1:-1]


def _quantiles(u: Vector, levels: Vector, shares: Vector) -> Doubles:
    return np.interp(u, shares, levels)


def _root(S: Matrix) -> Matrix:
    """R with R.T @ R = S, the negative eigenvalues of S set to zero."""
    values, V = np.linalg.eigh(S)
    return (V * np.sqrt(np.maximum(values, 0.0))).T
