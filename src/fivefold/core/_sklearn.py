"""scikit-learn's base classes, as a type checker should see them, and all of its private names that are used.

scikit-learn ships no types; a base class of unknown type would make every constructor accept any
argument in the eyes of a checker. At run time these names are scikit-learn's own. Its private names may change with any
version: they are imported here and nowhere else, so that one file has to be adapted.
"""

from typing import TYPE_CHECKING, Any

from sklearn._config import get_config
from sklearn.externals.array_api_compat import array_namespace
from sklearn.utils._available_if import _AvailableIfDescriptor
from sklearn.utils._indexing import _safe_indexing
from sklearn.utils._user_interface import _print_elapsed_time
from sklearn.utils.metadata_routing import _routing_enabled
from sklearn.utils.metaestimators import _BaseComposition
from sklearn.utils.validation import (
    _check_feature_names_in,
    _check_method_params,
    _check_monotonic_cst,
    _check_sample_weight,
    _check_y,
    _num_samples,
)

from fivefold.core.types import Codes, Labels, Table, UserTable, UserTarget, UserWeights

if TYPE_CHECKING:
    from collections.abc import Sequence
    from typing import Self

    class InputTags:
        sparse: bool
        categorical: bool
        positive_only: bool
        allow_nan: bool
        pairwise: bool

    class TargetTags:
        required: bool
        positive_only: bool
        multi_output: bool
        single_output: bool

    class ClassifierTags:
        poor_score: bool
        multi_class: bool
        multi_label: bool

    class RegressorTags:
        poor_score: bool

    class TransformerTags:
        preserves_dtype: list[str]

    class Tags:
        estimator_type: str | None
        requires_fit: bool
        input_tags: InputTags
        target_tags: TargetTags
        classifier_tags: ClassifierTags  # those of its kind are never None
        regressor_tags: RegressorTags
        transformer_tags: TransformerTags

    class BaseEstimator:
        def get_params(self, deep: bool = True) -> dict[str, Any]: ...  # a parameter may be anything
        def set_params(self, **params: object) -> Self: ...
        def __sklearn_tags__(self) -> Tags: ...
        @classmethod
        def _get_param_names(cls) -> list[str]: ...

    class CallbackSupportMixin:
        def set_callbacks(self, *callbacks: object) -> Self: ...
        def _init_callback_context(self, **options: object) -> Any: ...  # of a class that is private to scikit-learn

    class ClassifierMixin:
        def score(self, X: UserTable, y: UserTarget, sample_weight: UserWeights = None) -> float: ...

    class RegressorMixin:
        def score(self, X: UserTable, y: UserTarget, sample_weight: UserWeights = None) -> float: ...

    class ClusterMixin:
        def fit_predict(self, X: UserTable, y: UserTarget = None, *args: Any, **params: Any) -> Codes: ...

    class TransformerMixin:
        def fit_transform(self, X: UserTable, y: UserTarget = None, *args: Any, **params: Any) -> Table: ...
        def set_output(self, *, transform: str | None = None) -> Self: ...
        def __sklearn_tags__(self) -> Tags: ...

    class ClassNamePrefixFeaturesOutMixin:
        def get_feature_names_out(self, input_features: Sequence[str] | None = None) -> Labels: ...

    class OutlierMixin:
        def fit_predict(self, X: UserTable, y: UserTarget = None, **params: object) -> Codes: ...

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
    from sklearn.utils import Tags

__all__ = [
    "BaseEstimator",
    "CallbackSupportMixin",
    "ClassNamePrefixFeaturesOutMixin",
    "ClassifierMixin",
    "ClusterMixin",
    "DensityMixin",
    "OutlierMixin",
    "RegressorMixin",
    "Tags",
    "TransformerMixin",
    "_AvailableIfDescriptor",
    "_BaseComposition",
    "_check_feature_names_in",
    "_check_method_params",
    "_check_monotonic_cst",
    "_check_sample_weight",
    "_check_y",
    "_num_samples",
    "_print_elapsed_time",
    "_routing_enabled",
    "_safe_indexing",
    "array_namespace",
    "get_config",
]
