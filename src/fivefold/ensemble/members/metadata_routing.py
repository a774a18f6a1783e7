"""What a bag hands on to its copies: arguments of `fit`, and of the methods that the copies answer by.

A copy that asks for metadata of its own, by scikit-learn's metadata routing, gets it: cut to the rows of its sample
where there is one value a row. The weights of the rows are the bag's own affair: they decide what is drawn.
"""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any

from sklearn.utils.metadata_routing import MetadataRouter, MethodMapping, process_routing
from sklearn.utils.metadata_routing import _routing_enabled as routing_enabled
from sklearn.utils.validation import _num_samples

from fivefold.core.admission.tables import given_weights
from fivefold.core.types import Table, UserWeights
from fivefold.ensemble.members.bootstrap_bag import kept_rows
from fivefold.ensemble.members.named_estimators import take_rows


@dataclass(frozen=True)
class CopyMetadata:
    """Arguments for the copies, and the rows they are about."""

    extra: dict[str, Any]
    rows: Any  # positions, in the table given, of the rows of positive weight; None for all

    def of(self, rows: Any, n: int) -> dict[str, Any]:
        """What a copy with these of the n rows of positive weight gets."""
        return {name: take_rows(value, rows, n) for name, value in self.extra.items()}


class MetadataPassing:
    """A bag whose copies may ask for metadata."""

    _inside: Any
    _asked: Any

    def get_metadata_routing(self) -> MetadataRouter:
        """Metadata goes to the copies, by the method that is asked of them."""
        asked = self._asked(self._inside())
        mapping = MethodMapping().add(caller="fit", callee="fit")
        mapping.add(caller="decision_function", callee="decision_function")
        for caller in ("predict", "predict_proba", "predict_log_proba"):
            mapping.add(caller=caller, callee=asked)
        return MetadataRouter(owner=self).add(estimator=self._inside(), method_mapping=mapping)

    def _routed(self, method: str, given: dict[str, Any]) -> dict[str, Any]:
        """The part of these arguments that the copies ask for."""
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
        return method if method in ("fit", "decision_function") else self._asked(self._inside())

    def _passed(self, X: Table, sample_weight: UserWeights, fit_params: dict[str, Any]) -> CopyMetadata:
        extra = self._routed("fit", fit_params)
        if sample_weight is None or (rows := kept_rows(given_weights(self, sample_weight, _num_samples(X)))) is None:
            return CopyMetadata(extra, None)
        return CopyMetadata(CopyMetadata(extra, None).of(rows, _num_samples(X)), rows)
