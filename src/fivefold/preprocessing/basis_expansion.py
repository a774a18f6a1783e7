"""General basis expansion: f(x) = sum_j w_j phi_j(x), linear in functions chosen beforehand.

The functions come from `basis_functions`: polynomials, Gaussians, sigmoids, sines, logarithms, thresholds, kernels at
the data, or functions of your own. A linear method on the new columns fits a curve; with one kernel per row and the
penalty a'Ka it is kernel ridge regression.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import KW_ONLY, dataclass
from typing import Any, Literal

import numpy as np

from fivefold.core.estimators.base import Unsupervised, learned
from fivefold.core.estimators.transformer_mixins import FloatTransformerMixin
from fivefold.core.registry import Card
from fivefold.core.types import Labels, Matrix, Table, UserTable
from fivefold.preprocessing.basis_functions import (
    Basis,
    Bumps,
    Fourier,
    Gaussians,
    LegendrePolynomials,
    Logs,
    Powers,
    Sigmoids,
    Thresholds,
)
from fivefold.preprocessing.feature_names import input_names

NAMED_BASES: dict[str, Basis] = {
    "polynomial": Powers(),
    "orthogonal": LegendrePolynomials(),
    "gaussian": Gaussians(),
    "bump": Bumps(),
    "sigmoid": Sigmoids(),
    "fourier": Fourier(),
    "log": Logs(),
    "threshold": Thresholds(),
}


@dataclass(frozen=True)
class LearnedBases:
    """The bases fitted to the rows, and their number of functions."""

    bases: tuple[Basis, ...]
    count: int


class BasisExpansion(FloatTransformerMixin, Unsupervised):
    """Chosen functions of a row as new columns.

    Parameters
    ----------
    basis
        "polynomial", "orthogonal", "gaussian", "bump", "sigmoid", "fourier", "log", "threshold"; or an object of
        fivefold.preprocessing.basis_functions, or a sequence of names and objects, side by side. "log" needs numbers
        above zero.
    include_bias
        whether a column of ones comes first.

    Attributes
    ----------
    bases_
        the bases fitted to the rows.
    n_features_out_
        number of columns returned.

    Examples
    --------
    >>> from fivefold.preprocessing import BasisExpansion
    >>> from fivefold.preprocessing.basis_functions import Fourier, Powers
    >>> BasisExpansion([Powers(2), Fourier(1, period=4.0)]).fit_transform([[1.0], [2.0]]).round(3)
    array([[ 1.,  1.,  1.,  1.,  0.],
           [ 1.,  2.,  4.,  0., -1.]])
    """

    basis: (
        Literal["polynomial", "orthogonal", "gaussian", "bump", "sigmoid", "fourier", "log", "threshold"]
        | Basis
        | list[Any]
        | tuple[Any, ...]
    ) = "polynomial"
    _: KW_ONLY
    include_bias: bool = True

    card = Card(
        applications=("data mining",),
        use="A linear method that must fit curves, with functions chosen by what is known about the problem. Take "
        "'orthogonal' rather than 'polynomial' for degrees above five; SplineTransformer for smooth curves without "
        "choices.",
        steps=(
            "Fill in what the bases leave to the data: ranges, centres, cuts.",
            "Evaluate every function at every row, side by side.",
        ),
        source="Bishop (2006), section 3.1; Alpaydin (2014), section 10.2",
        see_also=("PolynomialFeatures", "SplineTransformer"),
        variants=({"basis": ("orthogonal", "fourier"), "include_bias": False}, {"basis": "threshold"}),
    )

    bases_ = learned("bases")
    n_features_out_ = learned("count")

    def _fit(self, X: Table) -> None:
        given = self.basis if isinstance(self.basis, list | tuple) else [self.basis]
        unknown = [b for b in given if not isinstance(b, Basis) and b not in NAMED_BASES]
        if unknown:
            raise ValueError(
                f"BasisExpansion: {unknown[0]!r} is not a basis; give an object of "
                f"fivefold.preprocessing.basis_functions, or one of {', '.join(NAMED_BASES)}"
            )
        Z = X.astype(np.float64)
        bases = tuple((b if isinstance(b, Basis) else NAMED_BASES[b]).learn(Z) for b in given)
        self.model_ = LearnedBases(bases, self.include_bias + sum(b(Z[:1]).shape[1] for b in bases))

    def transform(self, X: UserTable) -> Matrix:
        """The functions at each row."""
        X = self._admit(X)
        Z = X.astype(np.float64)
        ones = [np.ones((len(X), 1))] if self.include_bias else []
        return np.hstack(ones + [b(Z) for b in self.model_.bases]).astype(X.dtype)

    def get_feature_names_out(self, input_features: Sequence[str] | None = None) -> Labels:
        """Names of the functions."""
        columns = input_names(self, input_features)
        own = [name for b in self.model_.bases for name in b.names(columns)]
        return np.array((["1"] if self.include_bias else []) + own, dtype=object)
