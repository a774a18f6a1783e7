"""Mutual information of every column with the target, in nats.

    numbers and numbers   Kraskov's estimate from distances to neighbours, in the larger of both columns
    numbers and labels    Ross's estimate from distances to neighbours with the same label
    labels and labels     the shares of the pairs of labels

Columns of numbers are scaled to variance one, and a noise of 1e-10 parts repeated values: the same noise as in
scikit-learn, so that the same seed gives the same estimates (information/neighbor_estimates.py).

Kraskov, Stögbauer & Grassberger (2004); Ross (2014).
"""

from __future__ import annotations

from collections.abc import Iterator
from typing import Any, Literal

import numpy as np
from numpy.typing import ArrayLike
from scipy.sparse import issparse
from sklearn.preprocessing import scale
from sklearn.utils.multiclass import check_classification_targets
from sklearn.utils.validation import check_array, check_X_y

from fivefold.core.estimators.params import Seed
from fivefold.core.parallel import map_items
from fivefold.core.random_state import check_random_state
from fivefold.core.types import Doubles, Mask, Table, UserTable, UserTarget, Vector
from fivefold.information.neighbor_estimates import column_information, label_information
from fivefold.information.samples import sample_information

NOISE_SCALE = 1e-10  # of the noise that parts repeated values, as a share of the mean magnitude of a column

DiscreteColumns = Literal["auto"] | bool | ArrayLike


def mutual_info_classif(
    X: UserTable,
    y: UserTarget,
    *,
    discrete_features: DiscreteColumns = "auto",
    n_neighbors: int = 3,
    copy: bool = True,
    random_state: Seed = None,
    n_jobs: int | None = None,
) -> Doubles:
    """The mutual information of each column with a discrete target (d,), in nats; at least 0.

    Parameters
    ----------
    X, y
        table and labels.
    discrete_features
        which columns hold labels: a truth value for all, a mask, or their numbers; auto: those of a sparse table.
    n_neighbors
        neighbours that distances are taken to: more of them lower the variance and raise the bias.
    copy
        whether X is kept as it is.
    random_state
        seed of the noise that parts repeated values.
    n_jobs
        without effect, kept for scikit-learn's sake: columns are divided among the threads that the environment allows.

    Examples
    --------
    >>> from sklearn.datasets import load_iris
    >>> mutual_info_classif(*load_iris(return_X_y=True), random_state=0).round(1)
    array([0.5, 0.3, 1. , 1. ])
    """
    check_classification_targets(y)
    return _informations(X, y, discrete_features, n_neighbors, copy, random_state, labels=True)


def mutual_info_regression(
    X: UserTable,
    y: UserTarget,
    *,
    discrete_features: DiscreteColumns = "auto",
    n_neighbors: int = 3,
    copy: bool = True,
    random_state: Seed = None,
    n_jobs: int | None = None,
) -> Doubles:
    """The mutual information of each column with a target of numbers (d,), in nats; at least 0.

    Parameters are those of `mutual_info_classif`.

    Examples
    --------
    >>> rng = np.random.default_rng(0)
    >>> X = rng.standard_normal((1000, 2))
    >>> mutual_info_regression(X, X[:, 0] + 0.1 * rng.standard_normal(1000), random_state=0).round(0)
    array([2., 0.])
    """
    return _informations(X, y, discrete_features, n_neighbors, copy, random_state, labels=False)


def _informations(
    X: UserTable,
    y: UserTarget,
    discrete: DiscreteColumns,
    k: int,
    copy: bool,
    random_state: Seed,
    *,
    labels: bool,
) -> Doubles:
    if isinstance(k, bool) or not isinstance(k, int | np.integer) or k < 1:
        raise ValueError(f"The 'n_neighbors' parameter must be a whole number of at least 1; got {k!r}")
    X, y = check_X_y(X, y, accept_sparse="csc", y_numeric=not labels)
    mask = _discrete_mask(discrete, X)
    if not mask.all() and issparse(X):
        raise ValueError("Sparse matrix `X` can't have continuous features: make it dense, or call them discrete")
    rng = check_random_state(random_state)
    n = len(y)
    if (not mask.all() or not labels) and n <= k and not (labels and n > 1):
        raise ValueError(f"n_neighbors={k} needs more rows; got n_samples={n}")
    if not mask.all():
        X = X.astype(np.float64, copy=copy)
        X[:, ~mask] = scale(X[:, ~mask], with_mean=False, copy=False)
        size = np.maximum(1, np.mean(np.abs(X[:, ~mask]), axis=0))
        X[:, ~mask] += NOISE_SCALE * size * rng.standard_normal(size=(n, int((~mask).sum())))
    if not labels:
        y = scale(y, with_mean=False)
        y += NOISE_SCALE * np.maximum(1, np.mean(np.abs(y))) * rng.standard_normal(size=n)
    target = np.unique(y, return_inverse=True)[1] if labels else np.asarray(y, dtype=np.float64)
    columns = list(_columns(X))
    return np.array(map_items(lambda j: _information(columns[j], target, bool(mask[j]), labels, k), len(columns)))


def _information(x: Vector, y: Any, discrete: bool, labels: bool, k: int) -> float:
    """Of a column and a target, which holds codes of labels or numbers."""
    if discrete and labels:
        return sample_information(x, y)
    if discrete:
        return label_information(y, np.unique(x, return_inverse=True)[1], k)
    if labels:
        return label_information(np.ascontiguousarray(x), y, k)
    return column_information(np.ascontiguousarray(x), y, k)


def _discrete_mask(discrete: DiscreteColumns, X: Table) -> Mask:
    """Which columns hold labels, (d,)."""
    if isinstance(discrete, str):
        if discrete != "auto":
            raise ValueError(f"Invalid string value for discrete_features: {discrete!r}; the only one is 'auto'")
        return np.full(X.shape[1], issparse(X))
    if isinstance(discrete, bool | np.bool_):
        return np.full(X.shape[1], bool(discrete))
    given = check_array(discrete, ensure_2d=False, dtype=None)
    if given.dtype == bool:
        if given.shape != (X.shape[1],):
            raise ValueError(f"discrete_features is a mask of {X.shape[1]} columns; got shape {given.shape}")
        return np.asarray(given)
    mask = np.zeros(X.shape[1], dtype=bool)
    mask[given] = True
    return mask


def _columns(X: Table) -> Iterator[Vector]:
    for j in range(X.shape[1]):
        yield X[:, [j]].toarray().ravel() if issparse(X) else X[:, j]
