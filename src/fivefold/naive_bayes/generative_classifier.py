"""A generative classifier from any estimator of densities.

    p(y = k | x) = pi_k p_k(x) / sum_l pi_l p_l(x)

The density p_k is estimated from the rows of class k alone, and pi_k is their share of all rows. With one
Gaussian per class this is quadratic discriminant analysis; with mixtures, mixture discriminant analysis (Hastie &
Tibshirani 1996); with a kernel density estimate, the kernel density classifier.
"""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import KW_ONLY, dataclass
from typing import Any, Protocol, Self

import numpy as np
from numpy.typing import NDArray
from sklearn.base import clone
from sklearn.utils import get_tags
from sklearn.utils.validation import has_fit_parameter

from fivefold.core.admission.takes import Takes
from fivefold.core.estimators.base import learned
from fivefold.core.estimators.params import Learner
from fivefold.core.registry import Card
from fivefold.core.types import Matrix, Table, Target, UserWeights, Vector, Weights
from fivefold.mixture import GaussianMixture
from fivefold.naive_bayes.base import BayesClassifier, ClassPrior, Number, UserShares, class_shares


class DensityEstimator(Protocol):
    """What is asked of an estimator of densities; `fit` may take sample_weight."""

    def fit(self, X: Table, *, sample_weight: UserWeights = ...) -> Self: ...

    def score_samples(self, X: Table) -> Vector: ...


@dataclass(frozen=True)
class ClassDensities(ClassPrior):
    """Class shares and one fitted density per class."""

    prior: Vector  # (K,)
    densities: tuple[DensityEstimator, ...]


class GenerativeClassifier(BayesClassifier):
    """Generative classifier: a density estimator fitted to each class, and Bayes' rule.

    Parameters
    ----------
    estimator
        any estimator with `fit` and `score_samples`, such as GaussianMixture or sklearn.neighbors.KernelDensity; when
        None, one Gaussian. Weights of rows are passed on if its `fit` takes them.
    priors
        class shares, in the order of `classes_`; None: those among the rows, which are right only if the rows are a
        representative sample; "equal": the same for every class, so that the likelihoods alone decide.

    Attributes
    ----------
    class_prior_
        class shares.
    densities_
        the fitted estimator of each class.

    Examples
    --------
    >>> from sklearn.datasets import load_iris
    >>> from sklearn.neighbors import KernelDensity
    >>> from fivefold.naive_bayes import GenerativeClassifier
    >>> X, y = load_iris(return_X_y=True)
    >>> round(GenerativeClassifier(KernelDensity(bandwidth=0.3)).fit(X, y).score(X, y), 2)
    0.99
    """

    takes = Takes(missing=True, empty=False)
    card = Card(
        applications=("classification",),
        use="Classes whose shape a density estimator describes well: several clusters, curved clouds. Every class "
        "needs enough rows for a density of its own.",
        steps=(
            "Split the rows by class.",
            "Fit a copy of the density estimator to each part.",
            "Multiply the share of a class by the density of a row; normalise over classes.",
        ),
        source="Hastie & Tibshirani (1996)",
        see_also=("GaussianNB", "QuadraticDiscriminantAnalysis", "GaussianMixture"),
        search={},
    )

    estimator: Learner | None = None
    _: KW_ONLY
    priors: UserShares = None

    densities_ = learned("densities")

    def __sklearn_tags__(self) -> Any:
        tags = super().__sklearn_tags__()
        tags.input_tags.allow_nan = get_tags(self._density()).input_tags.allow_nan
        return tags

    def _density(self) -> DensityEstimator:
        return GaussianMixture() if self.estimator is None else self.estimator

    def _fit(self, X: Table, y: Target, w: Weights) -> None:
        density, weighted = self._density(), has_fit_parameter(self._density(), "sample_weight")
        if not weighted and (w != w[0]).any():
            raise ValueError(
                f"GenerativeClassifier: {type(density).__name__}.fit takes no sample_weight; leave the weights out, or "
                "choose a density estimator that takes them"
            )
        fitted = []
        for k in range(len(self.classes_)):
            rows = y == k
            options = {"sample_weight": w[rows]} if weighted else {}
            fitted.append(clone(density).fit(X[rows], **options))
        counted = np.bincount(y, w, minlength=len(self.classes_)).astype(np.float64)
        if isinstance(self.priors, str) and self.priors != "equal":
            raise ValueError(f"GenerativeClassifier: priors are shares, None or 'equal'; got {self.priors!r}")
        equal = isinstance(self.priors, str)
        prior = class_shares(self, None if equal else self.priors, counted, learn=not equal)
        self.model_ = ClassDensities(prior, tuple(fitted))

    def _joint_log_prob(self, X: Table) -> Matrix:
        model = self.model_
        return np.column_stack([density.score_samples(X) for density in model.densities]) + model.log_prior

    def _map_scores(self, X: Table, rule: Callable[[Matrix], NDArray[Number]]) -> NDArray[Number]:
        return rule(self._scores(X))  # on one thread: the estimator may not be safe on several
