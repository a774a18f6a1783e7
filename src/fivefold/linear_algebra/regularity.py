"""Regularity of a matrix: equivalent conditions, each tested in its own way.

    determinant not zero     LU factors
    rows independent         QR factors of A' with pivoting
    columns independent      singular values
    an inverse exists        Gauss-Jordan elimination reaches the identity

For a square matrix one holds exactly if all do. Rows and columns are scaled to one size first, so units do
not matter; a remainder below the rounding of n numbers counts as zero. The condition number s_1 / s_n tells how many
digits an answer loses: 1e8 loses eight of sixteen. A matrix that is singular up to rounding may pass one test and fail
another; then the report says so.
"""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np
from numpy.typing import ArrayLike
from scipy.linalg import lu, qr

from fivefold.core.types import Array
from fivefold.linear_algebra.elimination import eliminate
from fivefold.linear_algebra.matrix_input import matrix


@dataclass(frozen=True)
class Regularity:
    """The result of every condition for one matrix."""

    shape: tuple[int, int]
    determinant: float | None  # None if not square; infinite or zero where it exceeds the range of a double
    determinant_not_zero: bool
    full_row_rank: bool
    full_column_rank: bool
    inverse_exists: bool
    row_rank: int
    column_rank: int
    condition: float  # infinite where singular

    @property
    def conditions(self) -> dict[str, bool]:
        """The four conditions, by name."""
        return {
            "determinant not zero": self.determinant_not_zero,
            "full row rank": self.full_row_rank,
            "full column rank": self.full_column_rank,
            "inverse exists": self.inverse_exists,
        }

    @property
    def is_regular(self) -> bool:
        """Do all conditions hold?"""
        return all(self.conditions.values())

    @property
    def agree(self) -> bool:
        """Do the conditions agree, as they should for a square matrix?"""
        return len(set(self.conditions.values())) == 1

    def __str__(self) -> str:
        rows, columns = self.shape
        if rows != columns:
            verdict = f"{rows} x {columns}: not square, so neither regular nor singular"
        elif self.agree:
            verdict = f"{rows} x {columns}: {'regular' if self.is_regular else 'singular'}; all conditions agree"
        else:
            verdict = f"{rows} x {columns}: singular up to rounding; the conditions disagree"
        value = "none" if self.determinant is None else f"{self.determinant:.6g}"
        notes = {
            "determinant not zero": f"determinant {value}",
            "full row rank": f"rank {self.row_rank} of {rows}",
            "full column rank": f"rank {self.column_rank} of {columns}",
        }
        lines = [
            f"  {'yes' if holds else 'no ':3} {name}" + (f" ({notes[name]})" if name in notes else "")
            for name, holds in self.conditions.items()
        ]
        digits = "" if self.condition < 1e3 else f"; answers lose about {min(np.log10(self.condition), 16):.0f} digits"
        return "\n".join([verdict, *lines, f"  condition number {self.condition:.3g}{digits}"])


def regularity(A: ArrayLike, *, tol: float | None = None) -> Regularity:
    """Report whether A is regular, by every equivalent condition.

    Parameters
    ----------
    A
        A matrix; one that is not square has ranks and a condition number, but no determinant and no inverse.
    tol
        Sizes up to tol times the largest count as zero; by default 16 roundings per row.

    Examples
    --------
    >>> print(regularity([[2, 1], [1, 2]]))
    2 x 2: regular; all conditions agree
      yes determinant not zero (determinant 3)
      yes full row rank (rank 2 of 2)
      yes full column rank (rank 2 of 2)
      yes inverse exists
      condition number 3
    >>> regularity([[1, 2], [2, 4]]).is_regular
    False
    """
    M = matrix(A)
    square = len(M) == M.shape[1]
    scaled = _of_one_size(M)
    tol = 16 * np.finfo(float).eps * max(M.shape) if tol is None else tol
    row_rank = _count(np.abs(np.diag(qr(scaled.T, mode="r", pivoting=True)[0])), tol)
    column_rank = _count(np.linalg.svd(scaled, compute_uv=False), tol)
    pivots = np.abs(np.diag(lu(scaled, permute_l=True)[1])) if square else np.zeros(1)
    singular_values = np.linalg.svd(M, compute_uv=False)
    least = float(singular_values[-1])
    regular = column_rank == min(M.shape)
    with np.errstate(over="ignore", under="ignore"):
        sign, logarithm = np.linalg.slogdet(M) if square else (0.0, -np.inf)
        not_zero = bool(square and _count(pivots, tol) == len(M))
        return Regularity(
            shape=(len(M), M.shape[1]),
            determinant=(float(sign * np.exp(logarithm)) if not_zero else 0.0) if square else None,
            determinant_not_zero=not_zero,
            full_row_rank=row_rank == len(M),
            full_column_rank=column_rank == M.shape[1],
            inverse_exists=bool(square and eliminate(scaled, tol=tol).rank == len(M)),
            row_rank=row_rank,
            column_rank=column_rank,
            condition=float(singular_values[0]) / least if regular and least > 0 else np.inf,
        )


def _of_one_size(M: Array) -> Array:
    """Rows, then columns, scaled to a largest entry of one; regular exactly if M is."""
    size = np.abs(M).max(axis=1, keepdims=True)
    M = M / np.where(size > 0, size, 1.0)
    size = np.abs(M).max(axis=0, keepdims=True)
    return M / np.where(size > 0, size, 1.0)


def _count(sizes: Array, tol: float) -> int:
    """The number of sizes that are not zero relative to the largest."""
    return int(np.sum(sizes > tol * sizes.max(initial=0.0)))
