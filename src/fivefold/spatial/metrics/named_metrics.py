"""Metrics by the names that scikit-learn and SciPy give them, with their parameters.

euclidean l2 minkowski p manhattan cityblock l1 chebyshev infinity    sum of |a - b|^p, with weights w
seuclidean mahalanobis                                                Euclidean in other coordinates
cosine correlation sqeuclidean                                        from the Euclidean distance of directions, squares
hamming jaccard dice rogerstanimoto sokalmichener russellrao sokalsneath yule      counts of columns
canberra braycurtis haversine                                         relative differences, angles on a sphere
gower                                                                 numbers, categories and gaps together
nan_euclidean nan_manhattan nan_minkowski nan_hamming                 over the columns that both rows have
"""

from __future__ import annotations

from collections.abc import Callable, Mapping
from typing import Any

import numpy as np

from fivefold.core.types import Array, Matrix, Vector
from fivefold.spatial.metrics import rule_loops as kinds
from fivefold.spatial.metrics.metric import VectorMetric
from fivefold.spatial.metrics.row_coordinates import (
    Directions,
    LinearCoordinates,
    column_means,
    mahalanobis_coordinates,
)
from fivefold.spatial.metrics.rule_loops import CATEGORY, ColumnRule, MinkowskiRule

POWERS = {  # names of Minkowski's distances with a fixed p
    "euclidean": 2.0,
    "l2": 2.0,
    "manhattan": 1.0,
    "cityblock": 1.0,
    "l1": 1.0,
    "chebyshev": np.inf,
    "infinity": np.inf,
}
COLUMN_KINDS = {  # name: its kind, and whether the triangle inequality holds
    "hamming": (kinds.HAMMING, True),
    "canberra": (kinds.CANBERRA, True),
    "braycurtis": (kinds.BRAY_CURTIS, False),
    "jaccard": (kinds.JACCARD, True),
    "dice": (kinds.DICE, False),
    "rogerstanimoto": (kinds.ROGERS_TANIMOTO, True),
    "sokalmichener": (kinds.ROGERS_TANIMOTO, True),
    "russellrao": (kinds.RUSSELL_RAO, True),
    "sokalsneath": (kinds.SOKAL_SNEATH, True),
    "yule": (kinds.YULE, False),
}
PARTIAL_POWERS = {"nan_euclidean": 2.0, "nan_manhattan": 1.0, "nan_minkowski": None}
Params = Mapping[str, Any]  # what users pass by name: numbers, arrays, functions


def vector_metric(name: str, X: Matrix, p: float = 2.0, params: Params | None = None) -> VectorMetric:
    """The metric of this name; what it needs to know of the data (variances, ranges) comes from X (n, d)."""
    given = dict(params or {})
    if name in POWERS or name in ("minkowski", "p"):
        power = POWERS.get(name) or float(given.pop("p", p))
        return _checked(name, given, _minkowski(name, X, power, given.pop("w", None)))
    if name in MAKERS:
        return _checked(name, given, MAKERS[name](X, given))
    if name in COLUMN_KINDS:
        kind, triangle = COLUMN_KINDS[name]
        rule = ColumnRule(kind, 0.0, _weights(name, X, given.pop("w", None)), np.empty(0))
        return _checked(name, given, VectorMetric(name, rule, triangle=triangle))
    if name in PARTIAL_POWERS or name == "nan_hamming":
        kind = kinds.PARTIAL_HAMMING if name == "nan_hamming" else kinds.PARTIAL
        power = PARTIAL_POWERS.get(name) or float(given.pop("p", p))
        given.pop("missing_values", None)  # scikit-learn's name of what stands for a gap: always NaN here
        rule = ColumnRule(kind, power, np.empty(0), np.empty(0))
        return _checked(name, given, VectorMetric(name, rule, triangle=False, takes_missing=True))
    raise ValueError(f"metric={name!r} is not known; there are {', '.join(metric_names())}, and functions of two rows")


def metric_names() -> list[str]:
    """Every name that `vector_metric` takes."""
    return sorted({*POWERS, *MAKERS, *COLUMN_KINDS, *PARTIAL_POWERS, "nan_hamming", "minkowski", "p"})


def _minkowski(name: str, X: Matrix, p: float, w: Array | None) -> VectorMetric:
    if not p > 0:
        raise ValueError(f"metric={name!r}: p is {p}; it must be positive")
    coordinates = None
    if w is not None:
        w = _weights(name, X, w)
        factor = (w > 0).astype(float) if p == np.inf else w ** (1 / p)
        coordinates = LinearCoordinates(column_means(X), factor)
    # below one the sum of powers is a metric itself, but not its root
    return VectorMetric(name, MinkowskiRule(p), coordinates, "root", triangle=p >= 1)


def _seuclidean(X: Matrix, given: dict[str, Any]) -> VectorMetric:
    V = given.pop("V", None)
    V = np.var(X, axis=0, ddof=1, dtype=np.float64) if V is None else np.asarray(V, dtype=np.float64)
    if V.shape != X.shape[1:]:
        raise ValueError(f"metric='seuclidean': V has shape {V.shape}; {X.shape[1]} columns need one variance each")
    with np.errstate(divide="ignore", invalid="ignore"):
        factor = np.where(V > 0, 1 / np.sqrt(V), 0.0)  # a column without variance cannot be scaled, and has no say
    return VectorMetric("seuclidean", MinkowskiRule(2.0), LinearCoordinates(column_means(X), factor), "root")


def _mahalanobis(X: Matrix, given: dict[str, Any]) -> VectorMetric:
    coordinates = mahalanobis_coordinates(X, given.pop("V", None), given.pop("VI", None))
    return VectorMetric("mahalanobis", MinkowskiRule(2.0), coordinates, "root")


def _haversine(X: Matrix, given: dict[str, Any]) -> VectorMetric:
    if X.shape[1] != 2:
        raise ValueError(f"metric='haversine': rows are latitude and longitude in radians; got {X.shape[1]} columns")
    return VectorMetric("haversine", ColumnRule(kinds.HAVERSINE, 0.0, np.empty(0), np.empty(0)))


def _gower(X: Matrix, given: dict[str, Any]) -> VectorMetric:
    """`categorical` is a mask or a list of columns; `ranges` (d,) are those of X unless given; `w` weighs columns."""
    d = X.shape[1]
    is_category = np.zeros(d, dtype=bool)
    is_category[np.asarray(given.pop("categorical", []))[:d] if d else []] = True
    ranges = given.pop("ranges", None)
    if ranges is None:
        low, high = np.fmin.reduce(X, axis=0), np.fmax.reduce(X, axis=0)
        ranges = np.asarray(high, np.float64) - low
    with np.errstate(divide="ignore", invalid="ignore"):
        scale = np.where(np.asarray(ranges) > 0, 1 / np.asarray(ranges, dtype=np.float64), 0.0)
    w = _weights("gower", X, given.pop("w", None))
    rule = ColumnRule(kinds.GOWER, 0.0, w, np.where(is_category, CATEGORY, scale))
    return VectorMetric("gower", rule, triangle=not np.isnan(np.asarray(X, np.float64)).any(), takes_missing=True)


def _direction(centred: bool) -> Callable[[Matrix, dict[str, Any]], VectorMetric]:
    name = "correlation" if centred else "cosine"
    return lambda X, given: VectorMetric(name, MinkowskiRule(2.0), Directions(centred), "half", triangle=False)


def _squared(X: Matrix, given: dict[str, Any]) -> VectorMetric:
    return VectorMetric("sqeuclidean", MinkowskiRule(2.0), triangle=False)


MAKERS: dict[str, Callable[[Matrix, dict[str, Any]], VectorMetric]] = {
    "seuclidean": _seuclidean,
    "mahalanobis": _mahalanobis,
    "haversine": _haversine,
    "gower": _gower,
    "cosine": _direction(centred=False),
    "correlation": _direction(centred=True),
    "sqeuclidean": _squared,
}


def _weights(name: str, X: Matrix, w: Array | None) -> Vector:
    if w is None:
        return np.ones(X.shape[1])
    w = np.ascontiguousarray(w, dtype=np.float64)
    if w.shape != X.shape[1:]:
        raise ValueError(f"metric={name!r}: w has shape {w.shape}; {X.shape[1]} columns need one weight each")
    if not (w >= 0).all():
        raise ValueError(f"metric={name!r}: weights w cannot be negative")
    return w


def _checked(name: str, left: dict[str, Any], metric: VectorMetric) -> VectorMetric:
    if left:
        raise ValueError(f"metric={name!r} has no parameter {', '.join(map(repr, left))}")
    return metric
