"""Quadratic discriminant analysis: Gaussian classes, each with its own covariance.

    g_k(x) = -(x - mu_k)' Sigma_k^-1 (x - mu_k) / 2 - log |Sigma_k| / 2 + log P(y = k)
           = x' W_k x + w_k' x + w_k0,    W_k = -Sigma_k^-1 / 2,    w_k = Sigma_k^-1 mu_k

Boundaries are hyperquadrics. Sigma_k is the scatter of the class over its weight, drawn towards the identity by
`reg_param` or towards a sphere by shrinkage, and no direction is left without variance.

Duda, Hart & Stork (2001), section 2.6; Ledoit & Wolf (2004) for shrinkage.
"""

from __future__ import annotations

import warnings
from dataclasses import KW_ONLY, dataclass
from typing import Any, Literal

import numpy as np

from fivefold.core.params import Fraction, NonNegative
from fivefold.core.registry import Card
from fivefold.discriminant_analysis.base import GaussianDiscriminant, log, shown
from fivefold.discriminant_analysis.geometry import Quadric
from fivefold.discriminant_analysis.shrinkage import Shrinkage
from fivefold.distributions.gaussian import Array, Full, Gaussian, Groups, Moments, Normals

LOG_2PI = float(np.log(2 * np.pi))


@dataclass(frozen=True)
class Discriminants:
    """Class priors, a Gaussian for each class, and the principal axes of its covariance."""

    priors: Array  # (K,)
    members: Normals
    scalings: Array  # (K, d) variances along the axes, largest first
    rotations: Array  # (K, d, d) axes in columns
    covariances: Array | None  # (K, d, d)
    dtype: Any  # of the training rows

    @property
    def means(self) -> Array:
        return self.members.mean

    @property
    def levels(self) -> Array:
        """g_k at the mean (K,)."""
        return log(self.priors) - 0.5 * self.members.covariance.log_det


class QuadraticDiscriminantAnalysis(GaussianDiscriminant):
    """Gaussian classes, each with its own covariance: quadratic boundaries.

    Parameters
    ----------
    solver
        "svd" takes `reg_param`, "eigen" takes shrinkage or an estimator of covariance.
    shrinkage
        share of a sphere in the covariance of each class, or "auto" for the amount of Ledoit and Wolf.
    priors
        class probabilities; the weighted shares of the classes when None.
    reg_param
        share of the identity in the covariance of each class, with the solver "svd".
    store_covariance
        keep `covariance_`.
    tol
        the least variance of a class in any direction, in units of the mean variance where that is below one;
        a class flatter than that is widened to it, with a warning.
    covariance_estimator
        an object whose `fit` learns `covariance_` from the rows of a class, as in sklearn.covariance.

    Attributes
    ----------
    covariance_
        one matrix a class.
    means_, priors_, classes_
        of the classes.
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
    priors: Any = None
    reg_param: Fraction = 0.0
    store_covariance: bool = False
    tol: NonNegative = 1e-4
    covariance_estimator: Any = None

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

    covariance_ = shown("covariances")
    rotations_ = shown("rotations")
    scalings_ = shown("scalings")

    def _fit(self, X: Any, y: Any, w: Any) -> None:
        K, d = len(self.classes_), X.shape[1]
        R = Groups(y, w, K)
        stats = Gaussian(Full()).stats(X, R)
        rule = Shrinkage(self.shrinkage, self.covariance_estimator)
        sigma = COVARIANCES[self.solver](X, R, stats, rule, self.reg_param)
        values, V = np.linalg.eigh(sigma)
        floor = self.tol * min(1.0, values.mean())
        if (values < floor).any():
            self._warn(values[:, 0] < floor, floor)
            values = np.maximum(values, floor)
            sigma = V * values[:, None, :] @ V.transpose(0, 2, 1)
        members = Normals(stats.mean, Full().of(sigma, d))
        priors, kept = self._shares(y, w, self.priors), sigma if self.store_covariance else None
        self.model_ = Discriminants(priors, members, values[:, ::-1], V[:, :, ::-1], kept, X.dtype)

    def quadric(self, i: Any, j: Any) -> Quadric:
        """The boundary between two classes, by label: x' A x + b' x + c = 0, positive on the side of i."""
        pair, model = [self._index(i), self._index(j)], self.model_
        return Quadric.between(model.means[pair], model.members.covariance.precision[pair], model.levels[pair])

    def _scores(self, X: Any) -> Any:
        model = self.model_
        return model.members.log_prob(X, log(model.priors) + 0.5 * X.shape[1] * LOG_2PI)

    def _warn(self, flat: Array, floor: float) -> None:
        warnings.warn(
            f"QuadraticDiscriminantAnalysis: the covariance of class {self.classes_[flat].tolist()[0]!r} is not full rank "
            "(no more rows than columns, or columns that determine one another); directions in which it is flat get "
            f"the variance {floor:.3g}. {CURES[self.solver]}, or drop columns",
            stacklevel=2,
        )


def _towards_identity(X: Array, R: Groups, stats: Moments, rule: Shrinkage, reg_param: float) -> Any:
    rule.refuse("svd", "take solver='eigen'")
    return (1 - reg_param) * stats.scatter / stats.weight[:, None, None] + reg_param * np.eye(X.shape[1])


def _shrunk(X: Array, R: Groups, stats: Moments, rule: Shrinkage, reg_param: float) -> Any:
    return rule(X, R, stats)


COVARIANCES = {"svd": _towards_identity, "eigen": _shrunk}
CURES = {"svd": "Raise reg_param, or take solver='eigen' with shrinkage", "eigen": "Give or raise shrinkage"}
