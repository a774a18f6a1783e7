"""Random Fourier features of the Gaussian kernel exp(-g |x - y|^2).

    z(x) = sqrt(2 / r) cos(W'x + b),    W normal of variance 2 g, b uniform on [0, 2 pi]

By Bochner's theorem a stationary kernel is the Fourier transform of a measure; the mean of <z(x), z(y)> over draws from
it is k(x, y), with an error of about 1 / sqrt(r).
"""

from __future__ import annotations

from dataclasses import KW_ONLY, dataclass
from typing import Literal

import numpy as np
from scipy.sparse import issparse

from fivefold.core.admission.takes import Takes
from fivefold.core.estimators.base import Transformer, learned
from fivefold.core.estimators.params import Count, NonNegative, Seed
from fivefold.core.numerics.arrays import like
from fivefold.core.random_state import check_random_state
from fivefold.core.registry import Card
from fivefold.core.types import Matrix, Table, UserTable
from fivefold.kernels.low_rank import FourierMap


class FourierSampler(Transformer):
    """Features that are cosines along random directions.

    Parameters
    ----------
    n_components
        number of features.
    random_state
        seed of the directions.

    Attributes
    ----------
    random_weights_, random_offset_
        directions (d, r) and phases (r,).
    """

    _: KW_ONLY
    n_components: Count = 100
    random_state: Seed = None

    random_weights_ = learned("weights")
    random_offset_ = learned("offset")

    def transform(self, X: UserTable) -> Matrix:
        """The features of each row."""
        X = self._admit(X)
        return self.model_.features(X)

    @property
    def _n_features_out(self) -> int:
        return len(self.model_.offset)


@dataclass(frozen=True)
class GaussianFourierMap(FourierMap):
    """Of the Gaussian kernel with this exponent."""

    gamma: float


class RBFSampler(FourierSampler, keywords="gamma n_components random_state"):
    """Random Fourier features of the Gaussian kernel.

    Parameters
    ----------
    gamma
        exponent of the kernel exp(-gamma |x - y|^2); "scale": one over columns times variance.

    Examples
    --------
    >>> import numpy as np
    >>> from fivefold.kernel_approximation import RBFSampler
    >>> Z = RBFSampler(gamma=0.5, n_components=5000, random_state=0).fit_transform([[0.0], [1.0]])
    >>> (Z @ Z.T).round(1)  # exp(-0.5) = 0.61
    array([[1. , 0.6],
           [0.6, 1. ]])
    """

    _: KW_ONLY
    gamma: Literal["scale"] | NonNegative = 1.0

    takes = Takes(sparse=True)
    card = Card(
        applications=("dimension reduction",),
        use="A Gaussian kernel for more rows than a Gram matrix allows: a linear model of some hundred features. "
        "Nystroem needs fewer features where the kernel's eigenvalues fall quickly.",
        steps=(
            "Draw directions from the spectrum of the kernel, and phases.",
            "Features are cosines of the rows along them.",
        ),
        source="Rahimi & Recht (2007)",
        see_also=("Nystroem", "SkewedChi2Sampler"),
        variants=({"gamma": "scale", "n_components": 5},),
    )

    _gamma = learned("gamma")

    def _fit(self, X: Table) -> None:
        rng, d = check_random_state(self.random_state), X.shape[1]
        gamma = _scale(X) if isinstance(self.gamma, str) else float(self.gamma)
        weights = np.sqrt(2.0 * gamma) * rng.normal(size=(d, self.n_components))
        offset = rng.uniform(0, 2 * np.pi, size=self.n_components)
        self.model_ = GaussianFourierMap(like(weights, X), like(offset, X), gamma)


def _scale(X: Table) -> float:
    """One over the number of columns times the variance of all entries."""
    variance = X.multiply(X).mean() - X.mean() ** 2 if issparse(X) else X.var(dtype=np.float64)
    return 1.0 / (X.shape[1] * float(variance)) if variance > 0 else 1.0
