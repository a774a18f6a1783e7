"""Gauss-Jordan elimination, with every step kept.

A matrix is brought to reduced row echelon form: in each column the largest entry that is left is swapped up (partial
pivoting), its row is divided by it, and the column is cleared above and below. [A, I] becomes [I, A^-1]; the product of
the pivots, with the sign of the swaps, is the determinant. An entry counts as zero if it is within the rounding of the
numbers that its row and column started with.

This is for learning. To solve A x = b use numpy.linalg.solve, which takes a third of the work and loses fewer
digits than multiplying with an inverse does.

Golub & Van Loan (2013), Matrix Computations, section 3.4.
"""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np
from numpy.typing import ArrayLike

from fivefold.core.types import Matrix
from fivefold.linear_algebra.matrix_input import format_matrix, matrix

ROUNDING = 16 * np.finfo(float).eps  # rounding error per row, as a share of the initial size of a row and a column


@dataclass(frozen=True)
class EliminationStep:
    """One row operation and the matrix after it."""

    operation: str
    matrix: Matrix


@dataclass(frozen=True)
class Elimination:
    """The reduced matrix and how it came about. Columns from `width` on belong to the right-hand side."""

    steps: tuple[EliminationStep, ...]  # the first is the matrix as it was given
    width: int
    pivots: tuple[int, ...]  # columns of the left block that have a pivot
    determinant: float | None  # of the left block, where it is square

    @property
    def reduced(self) -> Matrix:
        """The left block at the end."""
        return self.steps[-1].matrix[:, : self.width]

    @property
    def right(self) -> Matrix:
        """The right block at the end."""
        return self.steps[-1].matrix[:, self.width :]

    @property
    def rank(self) -> int:
        """Rank of the left block."""
        return len(self.pivots)

    def __str__(self) -> str:
        bar = self.width if self.right.size else None
        return "\n".join(f"{step.operation}\n{format_matrix(step.matrix, bar)}" for step in self.steps)


@dataclass(frozen=True)
class Inverse:
    """A^-1, the determinant, and the elimination that found them; prints the trace."""

    inverse: Matrix
    determinant: float
    elimination: Elimination

    def __str__(self) -> str:
        return f"{self.elimination}\nThe right block is the inverse; the determinant is {self.determinant:.6g}."


def eliminate(A: ArrayLike, right: ArrayLike | None = None, *, tol: float | None = None) -> Elimination:
    """Reduce A, and apply the same operations to `right`.

    Parameters
    ----------
    A
        A matrix of any shape.
    right
        Columns that go through the same steps: a right-hand side b, or the identity.
    tol
        Entries up to tol times the size of their row and column count as zero; by default 16 roundings per row.

    Examples
    --------
    >>> print(eliminate([[1, 2], [2, 4]]))
    start
    [ 1  2 ]
    [ 2  4 ]
    swap rows 1 and 2
    [ 2  4 ]
    [ 1  2 ]
    divide row 1 by 2
    [ 1  2 ]
    [ 1  2 ]
    subtract 1 x row 1 from row 2
    [ 1  2 ]
    [ 0  0 ]
    no pivot in column 2: it is a combination of the columns before it
    [ 1  2 ]
    [ 0  0 ]
    """
    left = matrix(A)
    M = left if right is None else np.hstack([left, _beside(right, len(left))])
    rows, width = left.shape
    tol = ROUNDING * max(left.shape) if tol is None else tol
    row_size = np.abs(left).max(axis=1)
    # of rows that are divided by their size
    column_size = (np.abs(left) / np.where(row_size > 0, row_size, 1.0)[:, None]).max(axis=0)
    steps, pivots, determinant = [EliminationStep("start", M.copy())], list[int](), 1.0
    for j in range(width):
        i = len(pivots)
        if i == rows:
            break
        size = np.abs(M[i:, j])
        size[size <= tol * row_size[i:] * column_size[j]] = 0.0
        p = i + int(size.argmax())
        if size[p - i] == 0:
            M[i:, j] = 0.0
            steps.append(
                EliminationStep(f"no pivot in column {j + 1}: it is a combination of the columns before it", M.copy())
            )
            continue
        if p != i:
            M[[i, p]], row_size[[i, p]], determinant = M[[p, i]], row_size[[p, i]], -determinant
            steps.append(EliminationStep(f"swap rows {i + 1} and {p + 1}", M.copy()))
        pivot = float(M[i, j])
        determinant *= pivot
        if pivot != 1:
            M[i] /= pivot
            steps.append(EliminationStep(f"divide row {i + 1} by {pivot:.6g}", M.copy()))
        for k in range(rows):
            if k != i and (factor := float(M[k, j])) != 0:
                M[k] -= factor * M[i]
                M[k, j] = 0.0
                steps.append(EliminationStep(f"subtract {factor:.6g} x row {i + 1} from row {k + 1}", M.copy()))
        pivots.append(j)
    square = rows == width
    return Elimination(
        tuple(steps), width, tuple(pivots), (determinant if len(pivots) == rows else 0.0) if square else None
    )


def gauss_jordan_inverse(A: ArrayLike, *, tol: float | None = None) -> Inverse:
    """The inverse of a square matrix, with the steps from [A, I] to [I, A^-1]; a singular matrix is refused.

    Parameters
    ----------
    A
        A square matrix.
    tol
        As for `eliminate`.

    Examples
    --------
    >>> found = gauss_jordan_inverse([[2, 1], [1, 1]])
    >>> found.inverse
    array([[ 1., -1.],
           [-1.,  2.]])
    >>> print(found)
    start
    [ 2  1  |  1  0 ]
    [ 1  1  |  0  1 ]
    divide row 1 by 2
    ...
    The right block is the inverse; the determinant is 1.
    """
    M = matrix(A, square=True)
    with np.errstate(over="ignore", invalid="ignore"):
        found = eliminate(M, np.eye(len(M)), tol=tol)
    if found.rank < len(M):
        free = next(j for j in range(len(M)) if j not in found.pivots)
        raise np.linalg.LinAlgError(
            f"A is singular: its determinant is 0 and its rank {found.rank} of {len(M)}; column {free + 1} has no "
            "pivot, so it is a combination of the columns before it. Leave it out, or use numpy.linalg.pinv"
        )
    if not np.isfinite(found.right).all():
        raise np.linalg.LinAlgError("the inverse of A has entries too large for floating point; scale its rows first")
    assert found.determinant is not None
    return Inverse(found.right, found.determinant, found)


def _beside(right: ArrayLike, rows: int) -> Matrix:
    given = np.array(right, dtype=np.float64)
    columns = matrix(given[:, None] if given.ndim == 1 else given, "right")
    if len(columns) != rows:
        raise ValueError(f"right must have a row for each of the {rows} rows of A; it has {len(columns)}")
    return columns
