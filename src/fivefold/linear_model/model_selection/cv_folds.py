"""Folds of the rows of positive weight: what methods that choose their own penalty share."""

from __future__ import annotations

from collections.abc import Iterable
from typing import TYPE_CHECKING, Any, Self

import numpy as np
from sklearn.callback import with_callbacks
from sklearn.model_selection import check_cv
from sklearn.utils.metadata_routing import MetadataRouter, MethodMapping, process_routing

from fivefold.core._sklearn import _check_method_params
from fivefold.core._sklearn import _routing_enabled as routing_enabled
from fivefold.core.types import Indices, Table, Target, UserTable, UserTarget, UserWeights
from fivefold.linear_model.base import SurfaceRegressor

Fold = tuple[Indices, Indices]  # rows to train on, rows to judge by


class CrossValidatedRegressor(SurfaceRegressor):
    """Chooses its penalty by folds of the rows; what fit is given beyond weights goes to the splitter `cv`."""

    if TYPE_CHECKING:
        cv: Any  # a number of folds, a splitter, or pairs of row numbers

    @with_callbacks
    def fit(self, X: UserTable, y: UserTarget, sample_weight: UserWeights = None, **params: Any) -> Self:
        """Choose the penalty and learn from rows and their targets; a weight of two counts a row twice."""
        split = self._for_splitter(sample_weight, params)
        return self._fit_admitted(X, y, sample_weight, given_weight=sample_weight, split=split)

    def get_metadata_routing(self) -> Any:
        """The metadata that the splitter requests."""
        router = MetadataRouter(owner=self).add_self_request(self)
        return router.add(splitter=check_cv(self.cv), method_mapping=MethodMapping().add(caller="fit", callee="split"))

    def _for_splitter(self, sample_weight: UserWeights, params: dict[str, Any]) -> dict[str, Any]:
        """Those of the further arguments of fit that the splitter takes, for the rows of positive weight."""
        if not params:
            return {}
        if not routing_enabled():
            raise ValueError(
                f"{type(self).__name__}: fit() got unexpected arguments {sorted(params)}; to pass them on to the "
                "splitter enable metadata routing: sklearn.set_config(enable_metadata_routing=True)"
            )
        weights = {} if sample_weight is None else {"sample_weight": sample_weight}
        split = process_routing(self, "fit", **weights, **params).splitter.split
        if sample_weight is None:
            return dict(split)
        given = np.asarray(sample_weight)
        return dict(_check_method_params(given, params=split, indices=np.flatnonzero(given > 0)))


def split_folds(
    cv: Any, X: Table, y: Target, given_weight: UserWeights = None, *, classes: bool = False, **params: Any
) -> list[Fold]:
    """The folds of the rows of X; `params` go to the splitter.

    Row numbers listed in `cv` count all rows that were passed to fit, with these weights; those of weight zero are not
    in X.
    """
    splits = list(check_cv(cv, y, classifier=classes).split(X, y, **params))
    if not splits:
        raise ValueError("cv gives no folds: give a number of folds, or pairs of rows to train on and to judge by")
    if given_weight is None or not isinstance(cv, Iterable):
        return splits
    kept = np.asarray(given_weight) > 0
    number = np.where(kept, np.cumsum(kept) - 1, -1)  # of each row in X
    train, test = ([number[rows][number[rows] >= 0] for rows in part] for part in zip(*splits, strict=True))
    return list(zip(train, test, strict=True))
