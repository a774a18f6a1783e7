"""What the decompositions of a table share: their model holds a projection onto orthonormal axes."""

from __future__ import annotations

from sklearn.utils.validation import check_is_fitted

from fivefold.core.estimators.base import Transformer, learned
from fivefold.core.types import UserTable
from fivefold.decomposition.components.projection import ArrayOrTensor


class AxisReduction(Transformer):
    """Coordinates of rows along the leading singular axes of a table, and the way back.

    Parameters
    ----------
    n_oversamples
        number of random vectors of "randomized" in addition to n_components.
    power_iteration_normalizer
        factorization that keeps the random vectors of "randomized" linearly independent.

    Attributes
    ----------
    components_
        axes in rows (k, d), orthonormal; the entry of largest absolute value in each is positive.
    """

    components_ = learned("projection.axes")
    singular_values_ = learned("singular")
    explained_variance_ = learned("variance")
    explained_variance_ratio_ = learned("share")

    def inverse_transform(self, X: UserTable) -> ArrayOrTensor:
        """The points that have these coordinates; for transformed rows, the nearest points in the space of the axes."""
        check_is_fitted(self)
        return self.model_.projection.restore(X)

    @property
    def _n_features_out(self) -> int:
        return len(self.model_.projection.axes)
