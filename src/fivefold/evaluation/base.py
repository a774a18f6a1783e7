"""The base of classifiers that wrap another classifier."""

from __future__ import annotations

from typing import Any

from sklearn.base import MetaEstimatorMixin, clone
from sklearn.utils import Tags, get_tags
from sklearn.utils.metadata_routing import MetadataRouter, MethodMapping, process_routing
from sklearn.utils.validation import check_is_fitted

from fivefold.core._sklearn import BaseEstimator, ClassifierMixin
from fivefold.core._sklearn import _routing_enabled as routing_enabled
from fivefold.core.types import Labels, Matrix, Table, Target, UserTable
from fivefold.evaluation.protocols import Model


class MetaClassifier(ClassifierMixin, MetaEstimatorMixin, BaseEstimator):
    """Holds a fitted copy of `estimator` in `estimator_`; a FrozenEstimator is kept as it was fitted."""

    estimator: Model
    estimator_: Any  # a fitted classifier, whose further methods depend on what was wrapped

    def _fit_estimator(self, X: Table, y: Target, **params: Any) -> None:
        routed = process_routing(self, "fit", **params).estimator.fit if routing_enabled() else params
        self.estimator_ = clone(self.estimator).fit(X, y, **routed)
        self.classes_ = self.estimator_.classes_

    def predict_proba(self, X: UserTable) -> Matrix:
        """Class probabilities of the wrapped classifier."""
        check_is_fitted(self)
        return self.estimator_.predict_proba(X)

    @property
    def n_features_in_(self) -> int:
        """The number of columns seen in fit."""
        return self.estimator_.n_features_in_

    @property
    def feature_names_in_(self) -> Labels:
        """The names of the columns seen in fit."""
        return self.estimator_.feature_names_in_

    def get_metadata_routing(self) -> MetadataRouter:
        """Metadata of `fit` goes to the wrapped classifier."""
        mapping = MethodMapping().add(caller="fit", callee="fit")
        return MetadataRouter(owner=self).add(estimator=self.estimator, method_mapping=mapping)

    def __sklearn_tags__(self) -> Tags:
        tags, inside = super().__sklearn_tags__(), get_tags(self.estimator)
        tags.input_tags, tags.classifier_tags = inside.input_tags, inside.classifier_tags
        return tags
