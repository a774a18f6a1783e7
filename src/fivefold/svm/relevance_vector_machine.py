"""Relevance vector machines: sums of kernels at few rows, chosen by the evidence.

    f(x) = sum of w_i k(x_i, x) + w_0,     w_i ~ N(0, 1 / alpha_i)

    regression       t = f(x) + noise,  noise ~ N(0, 1 / beta);     predictions have a variance of their own
    classification   p(class | x) = 1 / (1 + exp(-f(x)))

The precisions alpha_i and beta maximise the evidence (`inference.sparse_bayes`): most alpha_i are infinite, and the
rows that are left, the relevance vectors, are fewer than the support vectors of a support vector machine and need not
lie near a boundary. The kernel need not be positive definite, and there is no C to choose. Rows that are there twice
have one kernel between them. With K > 2 classes there is one machine per class against all others; their probabilities
are divided by their sum.

Tipping (2001); Tipping & Faul (2003).
"""

from __future__ import annotations

from dataclasses import KW_ONLY, dataclass
from typing import Any

import numpy as np
from scipy.special import expit
from sklearn.exceptions import ConvergenceWarning

from fivefold.core.admission.takes import Takes
from fivefold.core.console.fit_progress import value_steps
from fivefold.core.console.user_warnings import warn
from fivefold.core.estimators.base import learned
from fivefold.core.estimators.params import Count, NonNegative
from fivefold.core.estimators.supervised_learning import Regressor
from fivefold.core.registry import Card
from fivefold.core.types import Doubles, Table, Target, UserTable, UserWeights, Vector, Weights
from fivefold.inference.sparse_bayes import (
    BernoulliTargets,
    NormalTargets,
    SparseFit,
    SparseLikelihood,
    maximise_sparse_evidence,
)
from fivefold.linear_model.solvers.class_outputs import one_vs_rest_targets
from fivefold.svm.support.expansion import KernelSum
from fivefold.svm.support.kernel_estimator import (
    KernelEstimator,
    SupervisedKernelEstimator,
    distinct_rows,
    whole_gram,
)
from fivefold.svm.support.kernel_sum_classifier import ProbabilisticKernelClassifier

GRAM_ARRAYS = 4.0  # of n x n numbers that a fit holds
CURE = "Fit to a sample of the rows, or take a support vector machine"


@dataclass(frozen=True)
class RelevanceSum(KernelSum):
    """A sum of kernels at the relevance vectors, with what is uncertain about it."""

    scores: Any  # log evidence after each step: an array, or one per class
    covariance: Doubles  # (M, M) of the weights of a regression; empty for classes
    column_means: Doubles  # (M,) that are taken from the kernels of a regression
    noise_precision: float  # beta of a regression


class RelevanceMachine(KernelEstimator):
    """What both machines share.

    Parameters
    ----------
    tol
        the ascent ends when no change of a precision raises the log evidence by more than this.
    max_iter
        maximum number of changes.

    Attributes
    ----------
    relevance_, relevance_vectors_
        numbers of the relevance vectors among the rows of fit, and these rows.
    dual_coef_
        their weights (outputs, relevance vectors).
    scores_
        the log evidence after each change; it never falls. With more than two classes, a list of them.
    n_iter_
        changes made; the largest number of any machine.
    """

    _: KW_ONLY
    tol: NonNegative = 1e-6
    max_iter: Count = 2000

    relevance_ = learned("support")
    relevance_vectors_ = learned("support_vectors")
    scores_ = learned("scores")

    def _ascend(self, likelihoods: list[SparseLikelihood], X: Table) -> list[SparseFit]:
        """The machine of each likelihood; the ascent reports its log evidence."""
        found = list[SparseFit]()
        with value_steps(self, "change", self.max_iter * len(likelihoods), X) as report:
            for likelihood in likelihoods:
                found.append(
                    maximise_sparse_evidence(
                        likelihood, float(self.tol), self.max_iter, lambda step, value: report(-value)
                    )
                )
        if any(one.reason == "max_iter" for one in found):
            warn(
                f"{type(self).__name__}: max_iter={self.max_iter} changes were not enough for tol={self.tol:g}; raise "
                "max_iter",
                ConvergenceWarning,
            )
        return found


class RVR(RelevanceMachine, SupervisedKernelEstimator, Regressor):
    """Relevance vector machine for regression: kernels at few rows, chosen by the evidence, with error bars.

    Attributes
    ----------
    noise_precision_
        beta: one over the variance of the noise.
    sigma_
        posterior covariance of the weights.

    Examples
    --------
    >>> import numpy as np
    >>> from fivefold.svm import RVR
    >>> X = np.linspace(-6, 6, 50)[:, None]
    >>> y = np.sinc(X[:, 0] / 2) + 0.05 * np.random.RandomState(0).normal(size=50)
    >>> model = RVR(gamma=0.5).fit(X, y)
    >>> bool(len(model.relevance_) < 15), bool(model.score(X, y) > 0.95)
    (True, True)
    """

    takes = Takes(sparse=True)
    card = Card(
        applications=("regression",),
        use="A smooth curve from few kernels, with error bars and no C or epsilon to search, on up to some thousand "
        "rows. Its error bars shrink far from all rows; where that matters take a Gaussian process.",
        steps=(
            "Start without kernels.",
            "Add, change or drop the kernel of the row that raises the evidence most.",
            "Learn the noise from what is left; repeat until nothing gains.",
        ),
        source="Tipping (2001); Tipping & Faul (2003)",
        see_also=("SVR", "RVC", "ARDRegression", "GaussianProcessRegressor"),
        variants=({"kernel": "linear"}, {"kernel": "poly", "degree": 2, "coef0": 1.0}),
        growth=3.0,
    )

    noise_precision_ = learned("noise_precision")
    sigma_ = learned("covariance")

    def _fit(self, X: Table, y: Target, w: Weights, given: UserWeights = None, objects: Any = None) -> None:
        training, positions = self._training(X, given, objects)
        G = whole_gram(training, type(self).__name__, GRAM_ARRAYS, CURE)
        rows, y = distinct_rows(training, G), y.astype(np.float64)
        s = np.asarray(w, dtype=np.float64)
        mean = float(s @ y) / float(s.sum())
        t = y - mean
        Phi = G[:, rows]
        column_means = s @ Phi / s.sum()
        Phi = Phi - column_means
        if float(s @ t**2) / float(s.sum()) <= (1e-12 * abs(mean)) ** 2 or not Phi.any():
            chosen, none = rows[:0], np.empty(0)
            found, weights, covariance, beta = [-np.inf], none, np.empty((0, 0)), np.inf
        else:
            fit = self._ascend([NormalTargets.of(Phi, t, s)], X)[0]
            posterior, likelihood = fit.posterior, fit.likelihood
            assert isinstance(likelihood, NormalTargets)
            chosen, weights, covariance = rows[posterior.columns], posterior.mean, posterior.covariance
            column_means, beta, found = column_means[posterior.columns], likelihood.beta, list(fit.history)
        order = np.argsort(chosen)
        column_means = column_means[: len(chosen)][order]
        self.model_ = self._kernel_sum(
            RelevanceSum, training, positions, chosen[order], weights[None, order],
            intercept=np.array([mean - float(column_means @ weights[order])]), n_iter=max(1, len(found) - 1),
            scores=np.array(found), covariance=covariance[np.ix_(order, order)], column_means=column_means,
            noise_precision=float(beta),
        )  # fmt: skip

    def predict(self, X: UserTable, return_std: bool = False) -> Vector | tuple[Vector, Vector]:
        """The mean of each row's target, and its standard deviation if asked for."""
        X = self._admit(X)
        model = self.model_
        mean = self._outputs(X)[:, 0].astype(model.dtype, copy=False)
        if not return_std:
            return mean
        kernels = model.sums(X, np.eye(len(model.support))) - model.column_means
        variance = 1.0 / model.noise_precision + ((kernels @ model.covariance) * kernels).sum(axis=1)
        return mean, np.sqrt(variance).astype(model.dtype, copy=False)


class RVC(RelevanceMachine, ProbabilisticKernelClassifier):
    """Relevance vector machine for classification: probabilities from kernels at few rows, chosen by the evidence.

    Attributes
    ----------
    classes_
        the labels.

    Examples
    --------
    >>> import numpy as np
    >>> from fivefold.svm import RVC
    >>> X = np.random.RandomState(0).normal(size=(200, 2))
    >>> y = (X**2).sum(axis=1) > 1
    >>> model = RVC().fit(X, y)
    >>> bool(len(model.relevance_) < 20), bool(model.score(X, y) > 0.95)
    (True, True)
    """

    card = Card(
        applications=("classification",),
        use="Probabilities from few kernels, without a C to search, on up to some thousand rows; predictions are "
        "quicker than those of SVC. The evidence is approximate, and the optimum may be a local one.",
        steps=(
            "Start without kernels.",
            "Add, change or drop the kernel of the row that raises the evidence most, at the mode of the weights.",
            "Turn the sum into a probability; divide those of several classes by their sum.",
        ),
        source="Tipping (2001); Tipping & Faul (2003)",
        see_also=("SVC", "RVR", "KernelLogisticRegression", "GaussianProcessClassifier"),
        variants=({"kernel": "linear"}, {"kernel": "poly", "degree": 2, "coef0": 1.0}),
        growth=3.0,
    )

    def _fit(self, X: Table, y: Target, w: Weights, given: UserWeights = None, objects: Any = None) -> None:
        training, positions = self._training(X, given, objects)
        G = whole_gram(training, type(self).__name__, GRAM_ARRAYS, CURE)
        rows = distinct_rows(training, G)
        Phi = np.column_stack([G[:, rows], np.ones(len(G))])  # the last column is that of w_0
        s = np.asarray(w, dtype=np.float64)
        found = self._ascend(
            [BernoulliTargets(Phi, 0.5 * (1.0 + sign), s) for sign in one_vs_rest_targets(y, len(self.classes_))], X
        )
        W = np.zeros((len(found), Phi.shape[1]))
        for weights, fit in zip(W, found, strict=True):
            weights[fit.posterior.columns] = fit.posterior.mean
        used = np.flatnonzero(W[:, :-1].any(axis=0))
        scores = [np.array(fit.history) for fit in found]
        self.model_ = self._kernel_sum(
            RelevanceSum, training, positions, rows[used], W[:, used],
            intercept=W[:, -1].copy(), n_iter=max(1, *(len(one) - 1 for one in scores)),
            scores=scores if len(scores) > 1 else scores[0], covariance=np.empty((0, 0)),
            column_means=np.empty(0), noise_precision=np.inf,
        )  # fmt: skip

    def _probabilities(self, X: Table) -> Doubles:
        return np.asarray(expit(self._outputs(X)))
