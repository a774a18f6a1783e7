"""Edit distance and alignment scores of sequences, and the empirical kernel map that makes kernels of any similarity.

    phi(x) = (s(x, t_1), ..., s(x, t_m)),    k(x, y) = <phi(x), phi(y)>

which is a kernel whatever the similarity s is; the templates t are objects of the sample.
"""

from __future__ import annotations

from collections.abc import Callable, Sequence
from dataclasses import dataclass
from typing import Any, Literal

import numpy as np

from fivefold.core.blas_threads import on_one_blas_thread
from fivefold.core.types import Indices, Matrix, Rng, Vector
from fivefold.kernels.base import Objects, count
from fivefold.kernels.differences import each_pair
from fivefold.kernels.structured.base import StructuredKernel, each_row
from fivefold.kernels.structured.sequence_loops import WORD_BITS, alignment_row, edit_row
from fivefold.kernels.structured.strings import Encoded, encoded


@dataclass(frozen=True)
class EditDistance:
    """Fewest insertions, deletions and substitutions that turn one sequence into the other.

    Examples
    --------
    >>> EditDistance()(["kitten"], ["sitting"])
    array([[3.]])
    """

    def __call__(self, X: Objects, Y: Objects | None = None) -> Matrix:
        text, shift = _together(X, Y)
        words = int(np.diff(text.offsets).max(initial=0)) // WORD_BITS + 1

        def fill(i: int, start: int, out: Vector) -> None:
            places = np.zeros((text.letters, words), dtype=np.uint64)
            up, down = np.empty(words, dtype=np.uint64), np.empty(words, dtype=np.uint64)
            edit_row(text.codes, text.offsets, i, shift + start, places, up, down, out)

        return each_row(fill, count(X), len(text.offsets) - 1 - shift, Y is None)


@dataclass(frozen=True)
class AlignmentScore:
    """Best score of an alignment: of whole sequences (Needleman & Wunsch), or of their best parts (Smith & Waterman).

    Examples
    --------
    >>> AlignmentScore()(["GATTACA"], ["GCATGCA"]), AlignmentScore(local=True)(["xxACGTxx"], ["yACGTy"])
    (array([[2.]]), array([[4.]]))
    """

    match: float = 1.0
    mismatch: float = -1.0
    gap: float = -1.0
    local: bool = False

    def __call__(self, X: Objects, Y: Objects | None = None) -> Matrix:
        text, shift = _together(X, Y)
        longest = int(np.diff(text.offsets).max(initial=0)) + 1
        scores = float(self.match), float(self.mismatch), float(self.gap), self.local

        def fill(i: int, start: int, out: Vector) -> None:
            alignment_row(text.codes, text.offsets, i, shift + start, *scores, np.empty(longest), out)

        return each_row(fill, count(X), len(text.offsets) - 1 - shift, Y is None)


def _together(X: Objects, Y: Objects | None) -> tuple[Encoded, int]:
    """Both lists of sequences in one code, and the number of those of X before Y begins."""
    first = list(X)
    return encoded(first if Y is None else [*first, *Y]), 0 if Y is None else len(first)


class EmpiricalKernelMap(StructuredKernel):
    """The kernel of similarities with templates: valid for any similarity.

    `similarity` takes two lists of objects and gives a matrix, as `EditDistance()` and kernels do; of a function f of
    two objects, `pairs(f)` makes one.

    Examples
    --------
    >>> EmpiricalKernelMap(EditDistance(), ["ab", "ba"])(["ab", "bb"])
    array([[4., 2.],
           [2., 2.]])
    """

    similarity: Callable[[Any, Any], Matrix]
    templates: Sequence[Any]

    def features(self, X: Objects) -> Matrix:
        """Similarities with the templates, (n, m)."""
        return np.asarray(self.similarity(X, self.templates), dtype=np.float64)

    @on_one_blas_thread
    def _gram(self, X: Objects, Y: Objects | None) -> Matrix:
        F = self.features(X)
        return F @ (F if Y is None else self.features(Y)).T

    def diag(self, X: Objects) -> Vector:
        return np.square(self.features(X)).sum(axis=1)


def pairs(function: Callable[[Any, Any], float]) -> Callable[[Any, Any], Matrix]:
    """The matrix of a function of two objects."""
    return lambda X, Y: each_pair(function, X, Y)


def choose_templates(
    distance: Callable[[Any, Any], Matrix],
    X: Objects,
    m: int,
    rng: Rng,
    how: Literal["random", "covering"] = "covering",
) -> Indices:
    """Numbers of m objects: drawn at random, or each the furthest from those before it, so that they cover all."""
    n = count(X)
    if how == "random" or m >= n:
        return rng.permutation(n)[:m]
    chosen = [int(rng.randint(n))]
    nearest = np.asarray(distance(X, [X[chosen[0]]]))[:, 0]
    while len(chosen) < m:
        chosen.append(int(np.argmax(nearest)))
        nearest = np.minimum(nearest, np.asarray(distance(X, [X[chosen[-1]]]))[:, 0])
    return np.array(chosen)
