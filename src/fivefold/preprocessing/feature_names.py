"""Names of the columns that a transformer returns."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

from sklearn.utils.validation import check_is_fitted

from fivefold.core._sklearn import _check_feature_names_in

if TYPE_CHECKING:
    SameNamesBase = object
else:
    from sklearn.base import OneToOneFeatureMixin as SameNamesBase


class SameNames(SameNamesBase):
    """Columns keep their names."""


def input_names(estimator: Any, given: Any) -> Any:
    """Names of the columns seen in fit, or x0, x1, ..."""
    check_is_fitted(estimator)
    return _check_feature_names_in(estimator, given)
