"""scikit-learn's base classes, as a type checker should see them.

scikit-learn ships no types; a base class of unknown type would make every constructor accept any
argument in the eyes of a checker. At run time these names are scikit-learn's own.
"""

from typing import TYPE_CHECKING, Any

from fivefold.core.types import UserTable, UserTarget, UserWeights

if TYPE_CHECKING:
    from typing import Self

    class BaseEstimator:
        def get_params(self, deep: bool = True) -> dict[str, Any]: ...
        def set_params(self, **params: Any) -> Self: ...
        def __sklearn_tags__(self) -> Any: ...

    class CallbackSupportMixin:
        def set_callbacks(self, *callbacks: Any) -> Self: ...
        def _init_callback_context(self, **options: Any) -> Any: ...

    class ClassifierMixin:
        def score(self, X: UserTable, y: UserTarget, sample_weight: UserWeights = None) -> float: ...

    class RegressorMixin:
        def score(self, X: UserTable, y: UserTarget, sample_weight: UserWeights = None) -> float: ...

    class ClusterMixin: ...

    class TransformerMixin:
        def fit_transform(self, X: UserTable, y: UserTarget = None, sample_weight: UserWeights = None) -> Any: ...
        def set_output(self, *, transform: Any = None) -> Self: ...

    class ClassNamePrefixFeaturesOutMixin:
        def get_feature_names_out(self, input_features: Any = None) -> Any: ...

    class OutlierMixin:
        def fit_predict(self, X: UserTable, y: UserTarget = None, **params: Any) -> Any: ...

    class DensityMixin: ...

else:
    from sklearn.base import (
        BaseEstimator,
        ClassifierMixin,
        ClassNamePrefixFeaturesOutMixin,
        ClusterMixin,
        DensityMixin,
        OutlierMixin,
        RegressorMixin,
        TransformerMixin,
    )
    from sklearn.callback import CallbackSupportMixin

__all__ = [
    "BaseEstimator",
    "CallbackSupportMixin",
    "ClassNamePrefixFeaturesOutMixin",
    "ClassifierMixin",
    "ClusterMixin",
    "DensityMixin",
    "OutlierMixin",
    "RegressorMixin",
    "TransformerMixin",
]
