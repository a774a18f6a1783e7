"""What a bag passes to its copies: arguments of `fit`, and of the methods by which the copies predict.

A copy that requests metadata, by scikit-learn's metadata routing, gets it, cut to the rows of its sample where there is
one value per row. Sample weights are not passed on: they decide which rows the bag draws.
"""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass

from sklearn.utils.metadata_routing import MetadataRouter, MethodMapping, process_routing

from fivefold.core._sklearn import _num_samples
from fivefold.core._sklearn import _routing_enabled as routing_enabled
from fivefold.core.admission.targets import given_weights
from fivefold.core.estimators.meta_estimators import take_rows
from fivefold.core.types import Indices, UserTable, UserWeights
from fivefold.ensemble.members.bootstrap_bag import kept_rows
from fivefold.ensemble.members.inner_estimators import FitParams, InnerEstimator


@dataclass(frozen=True)
class CopyMetadata:
    """Arguments for the copies, and the rows they refer to."""

    extra: FitParams
    rows: Indices | None  # positions, in the table given, of the rows of positive weight; None for all

    def for_rows(self, rows: Indices, n: int) -> FitParams:
        """The arguments of a copy that is fitted to `rows`, out of n rows of positive weight."""
        return {name: take_rows(value, rows, n) for name, value in self.extra.items()}


NO_METADATA = CopyMetadata({}, None)


class MetadataPassing:
    """A bag whose copies may request metadata."""

    _inner: Callable[[], InnerEstimator]
    _prediction_method: Callable[[InnerEstimator], str]

    def get_metadata_routing(self) -> MetadataRouter:
        """Metadata goes to the method of the copies that is called."""
        asked = self._prediction_method(self._inner())
        mapping = MethodMapping().add(caller="fit", callee="fit")
        mapping.add(caller="decision_function", callee="decision_function")
        for caller in ("predict", "predict_proba", "predict_log_proba"):
            mapping.add(caller=caller, callee=asked)
        return MetadataRouter(owner=self).add(estimator=self._inner(), method_mapping=mapping)

    def _routed(self, method: str, given: FitParams) -> FitParams:
        """The arguments that the copies requested."""
        if not given:
            return {}
        if not routing_enabled():
            raise ValueError(
                f"{type(self).__name__}.{method} was given {sorted(given)}, which only copies could use: call "
                "sklearn.set_config(enable_metadata_routing=True), and on the estimator inside "
                f"set_{method}_request with these names"
            )
        return dict(process_routing(self, method, **given).estimator[self._callee(method)])

    def _callee(self, method: str) -> str:
        return method if method in ("fit", "decision_function") else self._prediction_method(self._inner())

    def _passed(self, X: UserTable, sample_weight: UserWeights, fit_params: FitParams) -> CopyMetadata:
        extra = self._routed("fit", fit_params)
        if sample_weight is None or (rows := kept_rows(given_weights(self, sample_weight, _num_samples(X)))) is None:
            return CopyMetadata(extra, None)
        return CopyMetadata(CopyMetadata(extra, None).for_rows(rows, _num_samples(X)), rows)
