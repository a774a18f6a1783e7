"""The number of groups by three classical criteria, each from one group up.

    gap         log W_K of uniform rows, less that of the table; W_K: sum of squares within the groups of k-means.
                The first K whose gap is at least the next less its standard error. Tibshirani, Walther & Hastie (2001)
    bic         -2 log-likelihood + parameters log n of a Gaussian mixture; the least. Schwarz (1978)
    silhouette  mean over rows of (b - a) / max(a, b), a and b the mean distances to the own and the next group of
                k-means; the largest, or one group if it is no more than 0.25. Rousseeuw (1987)

None of them is a test: gap and silhouette often see groups in long or skewed clouds, and BIC counts the Gaussians that
a density needs, which is not the number of groups. `group_search` tests.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from typing import Literal

import numpy as np
from sklearn.metrics import silhouette_samples

from fivefold.cluster.kmeans import KMeans
from fivefold.core.types import Matrix, Vector
from fivefold.evaluation.grouping.group_methods import COVARIANCE_FLOOR, covariance_type
from fivefold.evaluation.grouping.reference_data import UniformReference
from fivefold.mixture.gaussian_mixture import GaussianMixture

GAP_TABLES = 20  # uniform tables
STARTS = 5  # of k-means and of the mixture
NO_STRUCTURE = 0.25  # mean silhouette up to which there is no substantial structure (Kaufman & Rousseeuw 1990)


@dataclass(frozen=True)
class CountChoice:
    """A criterion for each number of groups, and the number that it chooses; 1 for one group."""

    criterion: str
    counts: tuple[int, ...]
    values: Vector
    standard_errors: Vector
    chosen: int

    def __str__(self) -> str:
        return f"{self.criterion}: " + ("one group" if self.chosen == 1 else f"{self.chosen} groups")


def gap_statistic(
    X: Matrix,
    max_groups: int = 8,
    *,
    axes: Literal["principal", "columns"] = "principal",
    tables: int = GAP_TABLES,
    seed: int = 0,
) -> CountChoice:
    """The gap statistic, against uniform rows in the box along the principal axes, or along the columns.

    Examples
    --------
    >>> rows = np.concatenate([np.linspace(0, 1, 30), np.linspace(9, 10, 30)])[:, None]
    >>> str(gap_statistic(rows, 4))
    'gap: 2 groups'
    """
    counts, rng = range(1, max_groups + 1), np.random.default_rng(seed)
    reference = UniformReference.of(X, axes)
    null = np.array([_log_within(reference.draw(len(X), rng), counts, seed) for _ in range(tables)])  # (tables, K)
    gap = null.mean(axis=0) - _log_within(X, counts, seed)
    error = null.std(axis=0) * np.sqrt(1 + 1 / tables)
    large = np.flatnonzero(gap[:-1] >= gap[1:] - error[1:])
    chosen = int(large[0]) + 1 if len(large) else max_groups
    return CountChoice("gap", tuple(counts), gap, error, chosen)


def _log_within(X: Matrix, counts: Sequence[int], seed: int) -> Vector:
    return np.log([max(float(_kmeans(X, K, seed).inertia_), np.finfo(float).tiny) for K in counts])


def _kmeans(X: Matrix, K: int, seed: int) -> KMeans:
    return KMeans(K, n_init=STARTS if K > 1 else 1, random_state=seed).fit(X)


def mixture_bic(X: Matrix, max_groups: int = 8, *, seed: int = 0) -> CountChoice:
    """BIC of Gaussian mixtures; the standard errors are those of the differences to the least one.

    Examples
    --------
    >>> rows = np.concatenate([np.linspace(0, 1, 30), np.linspace(9, 10, 30)])[:, None]
    >>> str(mixture_bic(rows, 3))
    'bic: 2 groups'
    """
    counts = range(1, max_groups + 1)
    bic, logs = list[float](), list[Vector]()
    for K in counts:
        shape = covariance_type(len(X), X.shape[1], max_groups)
        model = GaussianMixture(
            K, covariance_type=shape, reg_covar=COVARIANCE_FLOOR, n_init=STARTS, max_iter=500, random_state=seed
        ).fit(X)
        bic.append(model.bic(X))
        logs.append(np.asarray(model.score_samples(X)))
    best = int(np.argmin(bic))
    error = np.array([2 * np.sqrt(len(X)) * float(np.std(log - logs[best])) for log in logs])
    return CountChoice("bic", tuple(counts), np.array(bic), error, best + 1)


def mean_silhouettes(X: Matrix, max_groups: int = 8, *, seed: int = 0) -> CountChoice:
    """Mean silhouettes of the groups of k-means; that of one group is taken as zero.

    Examples
    --------
    >>> rows = np.concatenate([np.linspace(0, 1, 30), np.linspace(9, 10, 30)])[:, None]
    >>> str(mean_silhouettes(rows, 4))
    'silhouette: 2 groups'
    """
    values, errors = [0.0], [0.0]
    for K in range(2, max_groups + 1):
        widths = silhouette_samples(X, _kmeans(X, K, seed).labels_)
        values.append(float(widths.mean()))
        errors.append(float(widths.std() / np.sqrt(len(X))))
    best = int(np.argmax(values))
    chosen = best + 1 if values[best] > NO_STRUCTURE else 1
    return CountChoice("silhouette", tuple(range(1, max_groups + 1)), np.array(values), np.array(errors), chosen)
