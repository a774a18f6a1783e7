"""Tensor sketch: random features of the polynomial kernel (g <x, y> + c)^p.

A count sketch adds the columns, each with a random sign, into r random bins, and keeps inner products on average. The
sketch of a tensor product is the convolution of the sketches of its factors, a product of Fourier transforms: p
sketches of (sqrt(g) x, sqrt(c)) stand for all monomials of degree p, without any of them being formed.
"""

from __future__ import annotations

from dataclasses import KW_ONLY, dataclass

import numpy as np
from scipy.fft import irfft, rfft
from scipy.sparse import csr_array

from fivefold.core.admission.takes import Takes
from fivefold.core.estimators.base import Transformer, learned
from fivefold.core.estimators.params import Count, NonNegative, Seed
from fivefold.core.parallel import map_items
from fivefold.core.random_state import check_random_state
from fivefold.core.registry import Card
from fivefold.core.types import Array, Indices, Matrix, Table, UserTable
from fivefold.kernels.gram_blocks import densified

BLOCK_NUMBERS = 2**18  # numbers of a sketch that are transformed together: they stay in the cache
MAX_ADDED = 2**10  # numbers of a table that are added into bins as they are: a sparse matrix takes longer to make


@dataclass(frozen=True)
class TensorSketch:
    """For each of p sketches the bin and the sign of every column."""

    bins: Indices  # (p, d), one column more if the constant is not zero
    signs: Indices  # (p, d): -1 or 1
    size: int  # number of bins

    def features(self, X: Table, gamma: float, coef0: float) -> Matrix:
        """The sketch of each row."""
        n, d = X.shape
        out = np.empty((n, self.size), dtype=X.dtype)
        roots = np.sqrt(np.array([gamma, coef0])).astype(X.dtype)
        few = isinstance(X, np.ndarray) and X.size <= MAX_ADDED
        maps = [None if few else self._map(p, d, roots[0], X.dtype) for p in range(len(self.bins))]
        rows = max(1, BLOCK_NUMBERS // self.size)

        def block(i: int) -> None:
            lo, hi = i * rows, min((i + 1) * rows, n)
            transform: Array | None = None
            for p, A in enumerate(maps):
                sketch = self._added(p, X[lo:hi], roots[0]) if A is None else densified(X[lo:hi] @ A)
                if coef0:
                    sketch[:, self.bins[p, -1]] += self.signs[p, -1] * roots[1]
                found = rfft(sketch, axis=1, overwrite_x=True)
                transform = found if transform is None else transform * found
            out[lo:hi] = irfft(transform, n=self.size, axis=1, overwrite_x=True)

        map_items(block, -(-n // rows))
        return out

    def _added(self, p: int, X: Matrix, root: np.floating) -> Matrix:
        """The count sketch of few rows, the same as their product with `_map`."""
        sketch = np.zeros((len(X), self.size), dtype=X.dtype)
        values = X * (self.signs[p, : X.shape[1]] * root).astype(X.dtype)
        np.add.at(sketch, (np.arange(len(X))[:, None], self.bins[p, : X.shape[1]]), values)
        return sketch

    def _map(self, p: int, d: int, root: float, dtype: np.dtype[np.floating]) -> csr_array:
        """The count sketch as a sparse matrix (d, size): one entry per row."""
        data = (self.signs[p, :d] * root).astype(dtype)
        return csr_array((data, self.bins[p, :d], np.arange(d + 1)), shape=(d, self.size))


class PolynomialCountSketch(Transformer):
    """Random features of the polynomial kernel by tensor sketches.

    Parameters
    ----------
    gamma, degree, coef0
        of the kernel (gamma <x, y> + coef0)^degree.
    n_components
        number of features; about ten times the number of columns serves well.
    random_state
        seed of bins and signs.

    Attributes
    ----------
    indexHash_, bitHash_
        bin and sign of each column, for each of the `degree` sketches.

    Examples
    --------
    >>> import numpy as np
    >>> from fivefold.kernel_approximation import PolynomialCountSketch
    >>> X = np.array([[1.0, 2.0], [3.0, -1.0]])
    >>> Z = PolynomialCountSketch(degree=2, n_components=500, random_state=0).fit_transform(X)
    >>> (Z @ Z.T).round(0)
    array([[ 25.,   1.],
           [  1., 100.]])
    """

    _: KW_ONLY
    gamma: NonNegative = 1.0
    degree: Count = 2
    coef0: float = 0.0
    n_components: Count = 100
    random_state: Seed = None

    takes = Takes(sparse=True)
    card = Card(
        applications=("dimension reduction",),
        use="Products of columns for a linear model where PolynomialFeatures would make too many: many columns, low "
        "degree.",
        steps=(
            "Draw a bin and a sign for each column, once per factor.",
            "Add the columns into their bins, and transform.",
            "Multiply the transforms of all factors, and transform back.",
        ),
        source="Pham & Pagh (2013)",
        see_also=("PolynomialFeatures", "Nystroem"),
        variants=({"degree": 3, "coef0": 1.0, "n_components": 20},),
    )

    indexHash_ = learned("bins")
    bitHash_ = learned("signs")

    def _fit(self, X: Table) -> None:
        if self.coef0 < 0:
            raise ValueError(f"PolynomialCountSketch: coef0={self.coef0} is negative, and has no root: give 0 or more")
        rng, shape = check_random_state(self.random_state), (self.degree, X.shape[1] + (self.coef0 != 0))
        bins = rng.randint(0, high=self.n_components, size=shape)
        signs = rng.choice(a=[-1, 1], size=shape)
        self.model_ = TensorSketch(bins, signs, self.n_components)

    def transform(self, X: UserTable) -> Matrix:
        """The features of each row."""
        X = self._admit(X)
        return self.model_.features(X, float(self.gamma), float(self.coef0))

    @property
    def _n_features_out(self) -> int:
        return self.model_.size
