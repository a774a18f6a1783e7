"""Quadratic discriminant analysis: Gaussian classes, each with its own covariance.

    g_k(x) = -(x - mu_k)' Sigma_k^-1 (x - mu_k) / 2 - log |Sigma_k| / 2 + log P(y = k)
           = x' W_k x + w_k' x + w_k0,    W_k = -Sigma_k^-1 / 2,    w_k = Sigma_k^-1 mu_k

Boundaries are hyperquadrics. Sigma_k is the scatter of the class over its weight, shrunk towards the identity by
`reg_param` or towards a multiple of it by `shrinkage`, and no direction is left without variance.

Duda, Hart & Stork (2001), section 2.6; Ledoit & Wolf (2004) for shrinkage.
"""

from __future__ import annotations

from dataclasses import KW_ONLY, dataclass
from typing import Any, Literal

import numpy as np

from fivefold.core.chunks.chunked_array import class_totals, sum_over_chunks
from fivefold.core.console.user_warnings import warn
from fivefold.core.estimators.params import Fraction, NonNegative
from fivefold.core.numerics.arrays import numpy_dtype
from fivefold.core.registry import Card
from fivefold.core.types import Array, Table, Target, Weights
from fivefold.discriminant_analysis.base import (
    ClassLabel,
    GaussianDiscriminant,
    UserPriors,
    learned_matrices,
    log_priors,
)
from fivefold.discriminant_analysis.boundaries import Quadric
from fivefold.discriminant_analysis.shrinkage import Shrinkage
from fivefold.distributions.gaussian import Full, Gaussian, GaussianMembers, GroupMoments, GroupWeights

LOG_2PI = float(np.log(2 * np.pi))
MIN_VARIANCE_SHARE = 1e-12  # as a share of the mean variance: the least variance that a Cholesky factor resolves


@dataclass(frozen=True)
class QuadraticDiscriminants:
    """Class priors and a Gaussian for each class."""

    priors: Array  # (K,)
    members: GaussianMembers
    store_covariance: bool
    dtype: np.dtype[Any]  # of the training rows

    @property
    def means(self) -> Array:
        return self.members.mean

    @property
    def covariances(self) -> list[Array] | None:
        """(d, d) per class, if store_covariance."""
        return list(self.members.covariance.matrix) if self.store_covariance else None

    @property
    def scalings(self) -> list[Array]:
        """For each class the variances (d,) along the principal axes, largest first."""
        return list(np.linalg.eigvalsh(self.members.covariance.matrix)[:, ::-1])

    @property
    def rotations(self) -> list[Array]:
        """For each class the principal axes (d, d) in columns."""
        return list(np.linalg.eigh(self.members.covariance.matrix)[1][:, :, ::-1])

    @property
    def levels(self) -> Array:
        """g_k at the mean (K,)."""
        return log_priors(self.priors) - 0.5 * self.members.covariance.log_det


class QuadraticDiscriminantAnalysis(GaussianDiscriminant):
    """Gaussian classes, each with its own covariance: quadratic boundaries.

    Parameters
    ----------
    solver
        "svd" takes `reg_param`, "eigen" takes shrinkage or an estimator of covariance.
    shrinkage
        share of a multiple of the identity in the covariance of each class, or "auto" for the amount of Ledoit and
        Wolf.
    reg_param
        share of the identity in the covariance of each class, with the solver "svd".
    store_covariance
        keep `covariance_`.
    tol
        the least variance of a class in any direction, in units of the mean variance where that is below one;
        smaller variances are raised to it, with a warning.

    Attributes
    ----------
    covariance_
        one matrix per class.
    rotations_
        for each class the principal axes of its covariance, in columns.
    scalings_
        for each class the variances along them.

    Examples
    --------
    >>> from sklearn.datasets import load_iris
    >>> from fivefold.discriminant_analysis import QuadraticDiscriminantAnalysis
    >>> X, y = load_iris(return_X_y=True)
    >>> model = QuadraticDiscriminantAnalysis().fit(X, y)
    >>> round(model.score(X, y), 2), model.quadric(0, 1).kind
    (0.98, 'hyperhyperboloid')
    """

    _: KW_ONLY
    solver: Literal["svd", "eigen"] = "svd"
    shrinkage: Fraction | Literal["auto"] | None = None
    priors: UserPriors = None
    reg_param: Fraction = 0.0
    store_covariance: bool = False
    tol: NonNegative = 1e-4
    covariance_estimator: Any = None  # of any library

    card = Card(
        applications=("classification",),
        use="Classes that differ in shape, with many rows for each. With few rows shrink, or take the linear form.",
        steps=(
            "Take the mean of each class and the scatter about it.",
            "Regularise or shrink each covariance and factor it.",
            "Score a row by its distance in the metric of each class, the class's volume and its prior.",
        ),
        source="Duda, Hart & Stork (2001), section 2.6; Ledoit & Wolf (2004)",
        see_also=("LinearDiscriminantAnalysis", "GaussianNB", "GaussianMixture"),
        variants=({"reg_param": 0.1, "store_covariance": True}, {"solver": "eigen", "shrinkage": "auto"}),
        search={"reg_param": (0.0, 0.01, 0.1, 0.5)},
        portfolio=True,
    )

    covariance_ = learned_matrices("covariances")
    rotations_ = learned_matrices("rotations")
    scalings_ = learned_matrices("scalings")

    def _fit(self, X: Table, y: Target, w: Weights) -> None:
        K, d = len(self.classes_), X.shape[1]
        self._refuse_single_rows(y, w)
        R = GroupWeights(y, w, K)
        stats = sum_over_chunks(Gaussian(Full()).stats, X, R)
        rule = Shrinkage(self.shrinkage, self.covariance_estimator)
        sigma = COVARIANCE_RULES[self.solver](X, R, stats, rule, self.reg_param)
        dtype = numpy_dtype(X.dtype)
        members = GaussianMembers(stats.mean, Full().from_matrix(self._widened(sigma), d))
        self.model_ = QuadraticDiscriminants(self._priors(y, w, self.priors), members, self.store_covariance, dtype)

    def _refuse_single_rows(self, y: Target, w: Weights) -> None:
        """Refuse a class with a single row of weight at most one: it has no covariance."""
        K = len(self.classes_)
        alone = (class_totals(y, None, K) == 1) & (class_totals(y, w, K) <= 1)
        if alone.any():
            label = self.classes_.tolist()[alone.argmax()]
            raise ValueError(
                f"QuadraticDiscriminantAnalysis: y has only 1 sample in class {label!r}, so its covariance is not "
                "defined; give two rows or more of every class, or take the linear form"
            )

    def quadric(self, i: ClassLabel, j: ClassLabel) -> Quadric:
        """The boundary between two classes, by label: x' A x + b' x + c = 0, positive on the side of i."""
        pair, model = [self._index(i), self._index(j)], self.model_
        return Quadric.between(model.means[pair], model.members.covariance.precision[pair], model.levels[pair])

    def _scores(self, X: Table) -> Array:
        model = self.model_
        return model.members.log_prob(X, log_priors(model.priors) + 0.5 * X.shape[1] * LOG_2PI)

    def _widened(self, sigma: Array) -> Array:
        """The covariances, with no variance below the floor in any direction."""
        K, d, _ = sigma.shape
        spread = float(np.einsum("kii->", sigma)) / (K * d)
        if not spread > 0:
            raise ValueError(
                "QuadraticDiscriminantAnalysis: no column varies within the classes; each class needs distinct rows"
            )
        floor = max(self.tol * min(1.0, spread), MIN_VARIANCE_SHARE * spread)
        try:
            np.linalg.cholesky(sigma - floor * np.eye(d))  # exists if every variance is above the floor
            return sigma
        except np.linalg.LinAlgError:
            values, V = np.linalg.eigh(sigma)
        flattest = self.classes_.tolist()[values[:, 0].argmin()]
        warn(
            f"QuadraticDiscriminantAnalysis: the covariance of class {flattest!r} is not full rank (no more rows than "
            f"columns, or columns that determine one another); flat directions are given the variance "
            f"{floor:.3g}. {REMEDIES[self.solver]}, or drop columns"
        )
        return V * np.maximum(values, floor)[:, None, :] @ V.transpose(0, 2, 1)


def _towards_identity(X: Array, R: GroupWeights, stats: GroupMoments, rule: Shrinkage, reg_param: float) -> Array:
    rule.refuse_for("svd", "take solver='eigen'")
    return (1 - reg_param) * stats.scatter / stats.weight[:, None, None] + reg_param * np.eye(X.shape[1])


def _shrunk(X: Array, R: GroupWeights, stats: GroupMoments, rule: Shrinkage, reg_param: float) -> Array:
    return rule(X, R, stats)


COVARIANCE_RULES = {"svd": _towards_identity, "eigen": _shrunk}
REMEDIES = {"svd": "Raise reg_param, or take solver='eigen' with shrinkage", "eigen": "Give or raise shrinkage"}
