"""Features of kernels of histograms.

    AdditiveChi2Sampler    sum_j 2 x_j y_j / (x_j + y_j): for each column sqrt(x), and cosines and sines of log x
    SkewedChi2Sampler      prod_j 2 sqrt((x_j + c)(y_j + c)) / (x_j + y_j + 2 c): random Fourier features of log(x + c)

Both kernels are stationary in logarithms; the spectrum of 1 / cosh is again 1 / cosh, sampled on a grid by the first
and at random by the second.
"""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from dataclasses import KW_ONLY, dataclass

import numpy as np
from scipy.sparse import hstack, issparse
from sklearn.base import clone
from sklearn.utils.validation import check_is_fitted

from fivefold.core._sklearn import Tags, _check_feature_names_in
from fivefold.core.admission.takes import Takes
from fivefold.core.estimators.base import Unsupervised
from fivefold.core.estimators.params import Count, NonNegative
from fivefold.core.estimators.transformer_mixins import FloatTransformerMixin
from fivefold.core.numerics.arrays import like
from fivefold.core.parallel import map_items
from fivefold.core.random_state import check_random_state
from fivefold.core.registry import Card
from fivefold.core.types import Array, Labels, Matrix, Table, UserTable
from fivefold.kernel_approximation.rbf_sampler import FourierSampler
from fivefold.kernels.low_rank import FourierMap

BLOCK_NUMBERS = 2**15  # numbers whose features are computed together: they stay in the cache
INTERVALS = {1: 0.8, 2: 0.5, 3: 0.4}  # sampling interval that suits this many steps (Vedaldi & Zisserman, 2012)


@dataclass(frozen=True)
class SpectrumGrid:
    """Where the spectrum is sampled."""

    steps: int
    interval: float

    def features(self, x: Array) -> Iterator[Array]:
        """The 2 steps - 1 features of numbers from zero up; those of a zero are zeros."""
        yield np.sqrt(x * x.dtype.type(self.interval))
        if self.steps == 1:
            return
        angle = np.log(np.where(x > 0, x, 1)) * x.dtype.type(self.interval)
        root = np.sqrt(x)
        for j in range(1, self.steps):
            size = root * x.dtype.type(np.sqrt(2 * self.interval / np.cosh(np.pi * j * self.interval)))
            yield size * np.cos(j * angle)
            yield size * np.sin(j * angle)


class AdditiveChi2Sampler(FloatTransformerMixin, Unsupervised):
    """Features of the additive chi-squared kernel of histograms; nothing is learned, and no fit is needed.

    Parameters
    ----------
    sample_steps
        number of points of the spectrum: each column gives 2 sample_steps - 1 features.
    sample_interval
        distance of the points; known for up to three steps.

    Examples
    --------
    >>> import numpy as np
    >>> from fivefold.kernel_approximation import AdditiveChi2Sampler
    >>> Z = AdditiveChi2Sampler(sample_steps=3).fit_transform([[0.2, 0.8], [0.5, 0.5]])
    >>> (Z @ Z.T).round(1)  # 2 * 0.2 * 0.5 / 0.7 + 2 * 0.8 * 0.5 / 1.3 = 0.9
    array([[1. , 0.9],
           [0.9, 1. ]])
    """

    _: KW_ONLY
    sample_steps: Count = 2
    sample_interval: NonNegative | None = None

    takes = Takes(sparse=True, positive=True)
    card = Card(
        applications=("dimension reduction",),
        use="Histograms, counts and shares, before a linear model: it then behaves as one with a chi-squared kernel.",
        steps=(
            "Sample the spectrum of the kernel on a grid.",
            "Each number gives its root, and cosines and sines of its logarithm; a zero gives zeros.",
        ),
        source="Vedaldi & Zisserman (2012)",
        see_also=("SkewedChi2Sampler", "Nystroem"),
        variants=({"sample_steps": 1}, {"sample_steps": 4, "sample_interval": 0.3}),
    )

    def __sklearn_tags__(self) -> Tags:
        tags = super().__sklearn_tags__()
        tags.requires_fit = False
        return tags

    def _fit(self, X: Table) -> None:
        interval = self.sample_interval
        if interval is None:
            if self.sample_steps not in INTERVALS:
                raise ValueError(
                    "AdditiveChi2Sampler: If sample_steps is not in [1, 2, 3], you need to provide sample_interval; "
                    f"got sample_steps={self.sample_steps}"
                )
            interval = INTERVALS[self.sample_steps]
        self.model_ = SpectrumGrid(self.sample_steps, interval)

    def transform(self, X: UserTable) -> Table:
        """The features of each row: first the roots of all columns, then cosines and sines by step."""
        if not self.__sklearn_is_fitted__():
            return clone(self).fit(X).transform(X)
        X, grid = self._admit(X), self.model_
        if issparse(X):
            X = X.copy()
            X.eliminate_zeros()
            parts = [type(X)((data, X.indices, X.indptr), shape=X.shape) for data in grid.features(X.data)]
            return hstack(parts, format="csr")
        n, d = X.shape
        out = np.empty((n, d * (2 * grid.steps - 1)), dtype=X.dtype)
        rows = max(1, BLOCK_NUMBERS // d)

        def block(i: int) -> None:
            lo, hi = i * rows, min((i + 1) * rows, n)
            for j, values in enumerate(grid.features(X[lo:hi])):
                out[lo:hi, j * d : (j + 1) * d] = values

        map_items(block, -(-n // rows))
        return out

    def get_feature_names_out(self, input_features: Sequence[str] | None = None) -> Labels:
        """Names such as "additivechi2sampler_x0_cos1"."""
        check_is_fitted(self, "n_features_in_")
        names = _check_feature_names_in(self, input_features, generate_names=True)
        kinds = ["sqrt", *(f"{kind}{j}" for j in range(1, self.sample_steps) for kind in ("cos", "sin"))]
        prefix = type(self).__name__.lower()
        return np.array([f"{prefix}_{name}_{kind}" for kind in kinds for name in names], dtype=object)


class SkewedChi2Sampler(FourierSampler, keywords="skewedness n_components random_state"):
    """Random Fourier features of the skewed chi-squared kernel of histograms.

    Parameters
    ----------
    skewedness
        what is added to every number before logarithms are taken; X must be above its negative.

    Examples
    --------
    >>> import numpy as np
    >>> from fivefold.kernel_approximation import SkewedChi2Sampler
    >>> Z = SkewedChi2Sampler(n_components=5000, random_state=0).fit_transform([[0.0], [3.0]])
    >>> (Z @ Z.T).round(1)  # 2 * sqrt(1 * 4) / 5 = 0.8
    array([[1. , 0.8],
           [0.8, 1. ]])
    """

    _: KW_ONLY
    skewedness: float = 1.0

    card = Card(
        applications=("dimension reduction",),
        use="Histograms with zeros, before a linear model; a product over columns, where AdditiveChi2Sampler is a sum.",
        steps=("Add the skewedness and take logarithms.", "Draw directions from 1 / cosh; features are cosines."),
        source="Li, Ionescu & Sminchisescu (2010)",
        see_also=("AdditiveChi2Sampler", "RBFSampler"),
        given={"skewedness": 50.0},
    )

    def _fit(self, X: Table) -> None:
        rng = check_random_state(self.random_state)
        uniform = rng.uniform(size=(X.shape[1], self.n_components))
        weights = np.log(np.tan(np.pi / 2.0 * uniform)) / np.pi
        offset = rng.uniform(0, 2 * np.pi, size=self.n_components)
        self.model_ = FourierMap(like(weights, X), like(offset, X))

    def transform(self, X: UserTable) -> Matrix:
        """The features of each row."""
        X = self._admit(X)
        if X.size and X.min() <= -self.skewedness:
            raise ValueError(
                f"SkewedChi2Sampler: X may not contain entries smaller than -skewedness = {-self.skewedness:g}; the "
                f"smallest is {X.min():g}: raise skewedness"
            )
        return self.model_.features(np.log(X + X.dtype.type(self.skewedness)))
