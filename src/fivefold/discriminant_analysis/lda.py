"""Linear discriminant analysis: Gaussian classes that share one covariance.

    g_k(x) = x' Sigma^-1 mu_k - mu_k' Sigma^-1 mu_k / 2 + log P(y = k)

The term x' Sigma^-1 x is the same in all classes and drops out, so boundaries are hyperplanes. Columns v
with v' Sigma v = 1 that spread the class means most are the discriminant axes of Fisher (1936) and Rao
(1948): `transform`. The solvers differ in how they treat Sigma (`lda_solvers`).

Everything is computed relative to the mean c of the class means. With z = x - c and m_k = mu_k - c

    g_k(x) = z' Sigma^-1 m_k - m_k' Sigma^-1 m_k / 2 + log P(y = k)  +  z' Sigma^-1 c + c' Sigma^-1 c / 2

and the last two terms are common to the classes, so data far from zero cost no digits of a posterior.
"""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any, Literal

import numpy as np

from fivefold.core.estimators.base import learned_in_dtype
from fivefold.core.estimators.params import Count, Fraction, NonNegative
from fivefold.core.estimators.transformer_mixins import ClassAxesMixin
from fivefold.core.numerics.arrays import numpy_dtype
from fivefold.core.numerics.products import affine
from fivefold.core.registry import Card
from fivefold.core.types import Array, Matrix, Table, Target, UserTable, Weights
from fivefold.discriminant_analysis.base import (
    ClassLabel,
    GaussianDiscriminant,
    UserPriors,
    learned_matrices,
    log_priors,
)
from fivefold.discriminant_analysis.boundaries import ClassHyperplane
from fivefold.discriminant_analysis.lda_solvers import SOLVERS, DiscriminantMetric
from fivefold.discriminant_analysis.shrinkage import Shrinkage
from fivefold.distributions.gaussian import GroupWeights


@dataclass(frozen=True)
class LinearDiscriminants:
    """Class priors and means under one metric; `n_axes` of its axes are for `transform`."""

    priors: Array  # (K,)
    metric: DiscriminantMetric
    n_axes: int
    dtype: np.dtype[Any]  # of the training rows

    @property
    def means(self) -> Array:
        return self.metric.means

    @property
    def offset(self) -> Array:
        """g_k at the centre (K,), without the terms common to all classes."""
        return log_priors(self.priors) - 0.5 * ((self.means - self.metric.centre) * self.metric.slope).sum(1)

    @property
    def coef(self) -> Array:
        """(K, d), or for two classes their difference (1, d)."""
        slope = self.metric.slope
        return slope[1:] - slope[:1] if len(slope) == 2 else slope + self.metric.common

    @property
    def discriminant_at_centre(self) -> Array:
        """The discriminants at the centre (K,), or for two classes their difference (1,)."""
        offset = self.offset
        common = 0.5 * self.metric.centre @ self.metric.common
        return offset[1:] - offset[:1] if len(offset) == 2 else offset + common

    @property
    def intercept(self) -> Array:
        """The discriminants at zero."""
        return self.discriminant_at_centre - self.coef @ self.metric.centre

    @property
    def ratio(self) -> Array:
        """Share of the spread of the means along each axis."""
        return self.metric.spread[: self.n_axes] / (self.metric.spread.sum() or 1.0)


class LinearDiscriminantAnalysis(ClassAxesMixin, GaussianDiscriminant):
    """Gaussian classes with one covariance: linear boundaries, and the axes that separate the classes best.

    Parameters
    ----------
    solver
        "lsqr" and "eigen" take shrinkage or an estimator of covariance; "svd" and "eigen" drop directions in which no
        class varies.
    shrinkage
        share of a multiple of the identity in the covariance of each class: 0 leaves it unchanged, 1 makes it sigma^2
        I, so that with equal priors the nearest mean wins; "auto" is the amount of Ledoit and Wolf; None is 0.
    n_components
        number of axes of `transform`; at most, and by default, the smaller of columns and classes less one.
    store_covariance
        keep `covariance_` with the solver "svd"; the other solvers always do.
    tol
        for "svd": directions whose spread within classes, with columns scaled to unit spread, does not exceed it are
        dropped.

    Attributes
    ----------
    coef_, intercept_
        the discriminants; for two classes their difference.
    covariance_
        the covariance within classes, averaged by the priors.
    explained_variance_ratio_
        share of the spread of the class means along each axis.
    scalings_
        the axes, one per column.
    xbar_
        the mean of the class means, weighted by the priors.

    Examples
    --------
    >>> from sklearn.datasets import load_iris
    >>> from fivefold.discriminant_analysis import LinearDiscriminantAnalysis
    >>> X, y = load_iris(return_X_y=True)
    >>> model = LinearDiscriminantAnalysis().fit(X, y)
    >>> round(model.score(X, y), 2), model.transform(X).shape
    (0.98, (150, 2))
    """

    solver: Literal["svd", "lsqr", "eigen"] = "svd"
    shrinkage: Fraction | Literal["auto"] | None = None
    priors: UserPriors = None
    n_components: Count | None = None
    store_covariance: bool = False
    tol: NonNegative = 1e-4
    covariance_estimator: Any = None  # of any library

    card = Card(
        applications=("classification", "dimension reduction", "visualization"),
        use="Classes of similar shape, few rows per class, probabilities wanted; a picture of labelled data. With "
        "as many columns as rows take shrinkage='auto'. Classes that differ in shape need the quadratic form.",
        steps=(
            "Take the mean of each class and the scatter about it.",
            "Pool the scatters to one covariance, shrunk if asked.",
            "Whiten by it; the discriminant of a class is linear in x.",
            "Axes of the whitened class means, by their spread, are the new coordinates.",
        ),
        source="Fisher (1936); Rao (1948); Ledoit & Wolf (2004)",
        see_also=("QuadraticDiscriminantAnalysis", "GaussianNB", "PCA"),
        variants=(
            {"solver": "lsqr"},
            {"solver": "lsqr", "shrinkage": 1.0},
            {"solver": "eigen", "shrinkage": "auto"},
            {"store_covariance": True, "n_components": 1},
        ),
        search={"solver": ("lsqr",), "shrinkage": (None, "auto")},
        portfolio=True,
    )

    coef_ = learned_in_dtype("coef")
    intercept_ = learned_in_dtype("intercept")
    covariance_ = learned_matrices("metric.covariance")
    explained_variance_ratio_ = learned_in_dtype("ratio")
    scalings_ = learned_in_dtype("metric.axes")
    xbar_ = learned_in_dtype("metric.centre")

    def _fit(self, X: Table, y: Target, w: Weights) -> None:
        K, maximum = len(self.classes_), self._max_components(X.shape[1])
        priors = self._priors(y, w, self.priors)
        rule = Shrinkage(self.shrinkage, self.covariance_estimator)
        metric = SOLVERS[self.solver](X, GroupWeights(y, w, K), priors, rule, self.tol, self.store_covariance)
        n_axes = min(self.n_components or maximum, metric.axes.shape[1])
        self.model_ = LinearDiscriminants(priors, metric, n_axes, numpy_dtype(X.dtype))

    def transform(self, X: UserTable) -> Matrix:
        """Coordinates along the discriminant axes."""
        X, metric = self._admit(X), self.model_.metric
        axes = metric.axes[:, : self.model_.n_axes]
        return affine(X, metric.centre, axes, metric.origin @ axes)

    def decision_function(self, X: UserTable) -> Array:
        """The discriminants (n, K); for two classes the log odds (n,) of the second."""
        X, model = self._admit(X), self.model_
        scores = affine(X, model.metric.centre, model.coef.T, model.discriminant_at_centre)
        return scores[:, 0] if scores.shape[1] == 1 else scores

    def hyperplane(self, i: ClassLabel, j: ClassLabel) -> ClassHyperplane:
        """The boundary between two classes, by label: w.(x - x0) = 0, positive on the side of i."""
        priors, means, slope = self.model_.priors, self.model_.means, self.model_.metric.slope
        a, b = self._index(i), self._index(j)
        return ClassHyperplane.between(
            means[a], means[b], slope[a] - slope[b], log_priors(priors)[a] - log_priors(priors)[b]
        )

    def _scores(self, X: Table) -> Matrix:
        metric = self.model_.metric
        return affine(X, metric.centre, metric.slope.T, self.model_.offset)

    @property
    def _n_features_out(self) -> int:
        return self.model_.n_axes
