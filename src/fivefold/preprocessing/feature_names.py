"""Names of the columns that a transformer returns."""

from __future__ import annotations

from collections.abc import Sequence
from typing import TYPE_CHECKING

from sklearn.utils.validation import check_is_fitted

from fivefold.core._sklearn import _check_feature_names_in
from fivefold.core.estimators.base import Unsupervised
from fivefold.core.types import Labels

if TYPE_CHECKING:
    SameNamesBase = object
else:
    from sklearn.base import OneToOneFeatureMixin as SameNamesBase


class SameNames(SameNamesBase):
    """Columns keep their names."""


def input_names(estimator: Unsupervised, given: Sequence[str] | None) -> Labels:
    """The names given, which must be those seen in fit; by default those seen in fit, or x0, x1, ..."""
    check_is_fitted(estimator)
    return _check_feature_names_in(estimator, given)
