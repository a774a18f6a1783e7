"""Online principal components: linear units that learn from one row at a time.

    y = V x,      v_i <- v_i + eta y_i (x - sum over k <= i of y_k v_k)

Each unit learns by Oja's rule from what the units before it leave of the row, so unit i tends to the i-th principal
axis: the generalised Hebbian algorithm. No covariance matrix is made. Sanger (1989); Oja (1982).
"""

from __future__ import annotations

from dataclasses import KW_ONLY, dataclass

import numpy as np
from numpy.typing import DTypeLike

from fivefold.competitive.units.hebbian_loops import sanger_pass
from fivefold.competitive.units.row_passes import distinct_rows, falling, run_passes
from fivefold.core._sklearn import ClassNamePrefixFeaturesOutMixin
from fivefold.core.estimators.base import Estimator, Transformer, learned, learned_in_dtype
from fivefold.core.estimators.params import Count, OpenFraction, Seed
from fivefold.core.estimators.transformer_mixins import FloatTransformerMixin
from fivefold.core.numerics.eigenpairs import fix_signs
from fivefold.core.numerics.products import product
from fivefold.core.random_state import check_random_state
from fivefold.core.registry import Card
from fivefold.core.types import Doubles, Matrix, Rng, Table, UserTable, Weights

LAST_RATE_SHARE = 0.01  # of the rate of the first pass, in the last one


@dataclass(frozen=True)
class LinearUnits:
    """Linear units about a mean."""

    mean: Doubles  # (d,)
    components: Doubles  # (m, d)
    n_iter: int
    dtype: DTypeLike


class LinearUnitTransformer(ClassNamePrefixFeaturesOutMixin, FloatTransformerMixin, Estimator):
    """Base of networks of linear units that learn directions from one row at a time.

    Parameters
    ----------
    n_components
        number of directions, at most as many as the rows have; by default all of them.
    learning_rate
        length of a step in the first pass, on rows of unit scale; it falls to a hundredth of that.
    max_iter
        number of passes over the rows.
    random_state
        seed of the start and of the order of the rows.

    Attributes
    ----------
    components_
        the directions (n_components, n_features).
    mean_
        the mean of the rows.
    n_iter_
        passes made.
    """

    n_components: Count | None = None
    _: KW_ONLY
    learning_rate: OpenFraction = 0.2
    max_iter: Count = 100
    random_state: Seed = None

    components_, mean_ = learned_in_dtype("components"), learned_in_dtype("mean")
    n_iter_ = learned("n_iter")

    def transform(self, X: UserTable) -> Matrix:
        """The coordinates of each row along the directions (n, n_components)."""
        X, model = self._admit(X), self.model_
        return product(X - model.mean, np.ascontiguousarray(model.components.T)).astype(X.dtype, copy=False)

    @property
    def _n_features_out(self) -> int:
        return len(self.model_.components)


class OnlinePCA(LinearUnitTransformer, Transformer):
    """Principal components learned one row at a time.

    Examples
    --------
    >>> from fivefold.competitive import OnlinePCA
    >>> X = [[2.0, 2.1], [-2.0, -1.9], [1.0, 0.9], [-1.0, -1.1]]
    >>> OnlinePCA(1, random_state=0).fit(X).components_.round(1)
    array([[0.7, 0.7]])
    """

    card = Card(
        applications=("dimension reduction", "denoising"),
        use="To see how a network finds principal axes, or for rows so long that no covariance matrix fits. For a "
        "table in memory PCA is exact and faster.",
        steps=(
            "Start from random axes at right angles.",
            "Take the rows in random order, less their mean.",
            "Move each axis towards what the axes before it leave of the row, by its own output.",
            "Lower the rate from pass to pass.",
        ),
        source="Sanger (1989); Oja (1982)",
        see_also=("PCA", "OnlineLDA"),
        variants=({"n_components": 2},),
    )

    def _fit(self, X: Table, w: Weights) -> None:
        m = width_of(self, self.n_components, X.shape[1])
        rng = check_random_state(self.random_state)
        Z, v = distinct_rows(X, w)
        share = v / v.sum()
        mean = share @ Z
        Z -= mean
        scale = np.sqrt(share @ np.square(Z).sum(axis=1)) or 1.0
        Z /= scale

        def step(t: int, V: Doubles) -> tuple[Doubles, float, bool]:
            V = V.copy()
            eta = falling(self.learning_rate, LAST_RATE_SHARE * self.learning_rate, t, self.max_iter)
            sanger_pass(Z, v, rng.permutation(len(Z)), V, eta)
            return V, float(share @ np.square(Z @ V.T).sum(axis=1)), False

        def model_of(V: Doubles, value: float, done: int) -> LinearUnits:
            return LinearUnits(mean, np.asarray(fix_signs(V)), done, X.dtype)

        self.model_ = model_of(*run_passes(self, X, self.max_iter, random_axes(m, X.shape[1], rng), step, model_of))


def width_of(estimator: object, asked: int | None, most: int) -> int:
    """The number of units; refused if the table has fewer directions."""
    if asked is not None and asked > most:
        raise ValueError(
            f"{type(estimator).__name__}: n_components={asked}, but these rows have {most} directions; ask for at most "
            f"{most}"
        )
    return asked or most


def random_axes(m: int, d: int, rng: Rng) -> Doubles:
    """m random axes at right angles (m, d)."""
    return np.ascontiguousarray(np.linalg.qr(rng.standard_normal((d, m)))[0].T)
