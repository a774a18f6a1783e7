"""The metric that a search uses, from the parameters `metric`, `p` and `metric_params`, and what tables it takes."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass, replace
from typing import Any, TypeAlias

import numpy as np
from sklearn.metrics import DistanceMetric

from fivefold.core.admission.takes import Takes
from fivefold.core.console.user_warnings import warn
from fivefold.core.types import Matrix, Table
from fivefold.kernels.base import Kernel
from fivefold.spatial.metrics.object_metrics import KernelMetric

Metric: TypeAlias = str | Callable[..., Any] | Kernel | DistanceMetric
POWER_NAMES = {1.0: "manhattan", 2.0: "euclidean", np.inf: "chebyshev"}  # Minkowski's distances with names of their own


class MetricTakes:
    """What an estimator takes: gaps with partial distances, categories with Gower's, no negative distances."""

    def __init__(self, takes: Takes) -> None:
        self.takes = takes

    def __get__(self, estimator: object, owner: type | None = None) -> Takes:
        metric = None if estimator is None else vars(estimator).get("metric")
        if not isinstance(metric, str):
            return self.takes
        if metric == "precomputed":
            return replace(self.takes, positive=True)
        gower = metric == "gower"
        return replace(self.takes, missing=gower or metric.startswith("nan_"), categories=gower)


def is_of_objects(metric: Metric) -> bool:
    """Are the things compared no rows of numbers, but texts, graphs or whatever a kernel takes?"""
    if isinstance(metric, str):
        return metric == "edit"
    return isinstance(metric, Kernel) and not metric.requires_vector_input


@dataclass(frozen=True)
class GivenDistances:
    """A metric of scikit-learn's `DistanceMetric`, for the index."""

    metric: DistanceMetric
    name: str = "DistanceMetric"
    triangle: bool = False

    def between(self, A: Table, B: Table) -> Matrix:
        """Distances (len(A), len(B))."""
        return np.asarray(self.metric.pairwise(np.asarray(A), np.asarray(B)))


def as_index_metric(metric: Metric) -> Any:
    """The metric as the index takes it."""
    if isinstance(metric, Kernel):
        return KernelMetric(metric)
    return GivenDistances(metric) if isinstance(metric, DistanceMetric) else metric


def refuse_tree(metric: Metric, params: dict[str, Any], algorithm: str) -> None:
    """Refuse, or warn of, a power below one: it makes no metric, and bounds of trees do not hold."""
    if metric != "minkowski" or not 0 < params["p"] < 1:
        return
    if algorithm in ("kd_tree", "ball_tree"):
        raise ValueError(
            f'algorithm="{algorithm}" does not support 0 < p < 1 for the Minkowski metric: the triangle inequality '
            'does not hold. Set p >= 1 or algorithm="brute"'
        )
    warn(
        "Mind that for 0 < p < 1, Minkowski metrics are not distance metrics. Continuing the execution with "
        "`algorithm='brute'`."
    )


def effective_metric(metric: Metric, p: float | None, params: dict[str, Any] | None) -> tuple[Metric, dict[str, Any]]:
    """The metric and its parameters; Minkowski's distance by the name that it has for its p.

    >>> effective_metric("minkowski", 1, None)
    ('manhattan', {})
    """
    given = dict(params or {})
    if "p" in given and p is not None:
        warn(
            "Parameter p is found in metric_params. The corresponding parameter from __init__ is ignored.",
            SyntaxWarning,
        )
    if not isinstance(metric, str) or metric != "minkowski":
        return metric, given
    power, w = given.pop("p", p), given.pop("w", None)
    power = 2.0 if power is None else power
    if w is None and power in POWER_NAMES:
        return POWER_NAMES[power], given
    return metric, {**given, "p": power, "w": w}
