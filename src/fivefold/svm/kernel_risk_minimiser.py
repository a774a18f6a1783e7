"""Any loss with any kernel: the function of least penalised loss is a sum of kernels at the rows.

    min over f, b of   sum of w_i loss(y_i, f(x_i) + b) + alpha/2 |f|^2        f = sum of a_i k(x_i, .),  |f|^2 = a'Ka

In features whose inner products are the kernels f is linear and |f| is the length of its coefficients, so the minimiser
is that of RiskMinimiserClassifier and RiskMinimiserRegressor on these features (`svm.support.gram_features`): every
loss they know, named or of your own, has a kernel here. With the linear kernel both give the same predictions. Hinge
and insensitive loss are minimised by their dual problems, as in SVC and SVR.

    loss     squared -> kernel ridge      hinge -> support vector machine      log, probit -> kernel logistic, probit
             absolute, quantile -> kernel median and quantile regression       insensitive -> support vector regression

Kimeldorf & Wahba (1971); Schoelkopf, Herbrich & Smola (2001) for the representer theorem.
"""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import KW_ONLY, dataclass, replace
from typing import Any, ClassVar, Literal

import numpy as np
from sklearn.utils.metaestimators import available_if

from fivefold.core.admission.takes import Takes
from fivefold.core.blas_threads import one_blas_thread
from fivefold.core.estimators.base import learned
from fivefold.core.estimators.params import Count, NonNegative, Positive
from fivefold.core.estimators.supervised_learning import Regressor
from fivefold.core.registry import Card, SearchRange
from fivefold.core.types import Array, Doubles, Indices, Matrix, Table, Target, UserTable, UserWeights, Weights
from fivefold.kernels.row_cache import MatrixRows
from fivefold.linear_model.risk_minimiser import (
    CLASSIFIER_LOSSES,
    PROBABILITY_LOSSES,
    REGRESSOR_LOSSES,
    ClassifierLoss,
    RegressorLoss,
    RiskMinimiser,
    RiskMinimiserClassifier,
    RiskMinimiserRegressor,
)
from fivefold.linear_model.solvers.class_outputs import (
    binary_probabilities,
    class_probabilities,
    normalise_rows,
    one_vs_rest_targets,
)
from fivefold.optim.dual.kernel_dual import DualSolution, KernelDual
from fivefold.optim.dual.smo import minimise_dual
from fivefold.optim.losses.base import Loss
from fivefold.optim.losses.margin_losses import HingeLoss
from fivefold.optim.losses.regression_losses import InsensitiveLoss
from fivefold.svm.support.dual_problems import soft_margin, tube
from fivefold.svm.support.expansion import KernelSum
from fivefold.svm.support.gram_features import gram_features
from fivefold.svm.support.kernel_estimator import KernelEstimator, SupervisedKernelEstimator, whole_gram
from fivefold.svm.support.kernel_sum_classifier import KernelSumClassifier
from fivefold.svm.support.training import TrainingRows

CURE = "Fit to a sample of the rows, or take a linear risk minimiser on features from Nystroem or RBFSampler"
MIN_DUAL_TOLERANCE = 1e-8  # of a dual problem; on few rows its last digits are found anyhow
# losses of support vector machines: their dual problem from the loss, targets, 1 / alpha and weights
DUALS: dict[type[Loss], Callable[[Any, Doubles, float, Doubles], KernelDual]] = {
    HingeLoss: lambda loss, t, C, w: soft_margin(t, C, w),
    InsensitiveLoss: lambda loss, t, C, w: tube(t, C, w, float(loss.epsilon)),
}


@dataclass(frozen=True)
class PenalisedSum(KernelSum):
    """The sums, and what the penalty measures of each."""

    squared_norm: Doubles  # |f|^2 of each output


class KernelRiskMinimiser(KernelEstimator):
    """What both share.

    Parameters
    ----------
    alpha
        strength of the penalty added to the sum of the losses: 1 / C of a support vector machine.
    fit_intercept
        fit an intercept, which is never penalised.
    tol
        stop when the gradient is this share of the gradient at zero.
    max_iter
        maximum number of steps of the solver.

    Attributes
    ----------
    squared_norm_
        |f|^2 of each output.
    n_iter_
        steps taken, the largest number over the outputs.
    """

    loss: str | Loss = "squared"
    _: KW_ONLY
    alpha: Positive = 1.0
    fit_intercept: bool = True
    tol: NonNegative = 1e-9
    max_iter: Count = 1000

    losses: ClassVar[dict[str, Loss]]  # by the names that `loss` takes
    squared_norm_ = learned("squared_norm")

    @property
    def _loss(self) -> Loss:
        return self.losses[self.loss] if isinstance(self.loss, str) else self.loss

    def _settings(self) -> dict[str, Any]:
        """Of the linear minimiser."""
        names = ("loss", "alpha", "fit_intercept", "tol", "max_iter")
        return {name: getattr(self, name) for name in names}

    def _minimise(
        self, linear: RiskMinimiser, training: TrainingRows, positions: Indices, y: Target, w: Weights
    ) -> PenalisedSum:
        G = whole_gram(training, type(self).__name__, 3.0, CURE)
        if type(linear._loss) in DUALS:
            return self._by_duals(linear._loss, G, training, positions, y, w)
        features = gram_features(G)
        Z = features.Z if features.Z.shape[1] else np.zeros((training.n, 1))
        fitted: Any = linear
        fitted.fit(Z, y, sample_weight=w)
        W = np.atleast_2d(np.asarray(fitted.coef_, dtype=np.float64))  # (outputs, r)
        order = np.argsort(features.pivots)
        coef = features.coefficients(W[:, : len(order)].T).T if len(order) else W[:, :0]
        return self._kernel_sum(
            PenalisedSum, training, positions, features.pivots[order], np.ascontiguousarray(coef[:, order]),
            intercept=np.atleast_1d(np.asarray(fitted.intercept_, dtype=np.float64)),
            n_iter=int(fitted.n_iter_), squared_norm=(W * W).sum(axis=1),
        )  # fmt: skip

    def _by_duals(
        self, loss: Loss, G: Doubles, training: TrainingRows, positions: Indices, y: Target, w: Weights
    ) -> PenalisedSum:
        """The losses of support vector machines have duals, which are solved in far less time."""
        K = len(getattr(self, "classes_", ()))
        targets = one_vs_rest_targets(y, K) if K else [np.asarray(y, dtype=np.float64)]
        s, found = np.asarray(w, dtype=np.float64), list[DualSolution]()
        with one_blas_thread():
            for t in targets:
                dual = replace(DUALS[type(loss)](loss, t, 1.0 / self.alpha, s), equality=self.fit_intercept)
                found.append(minimise_dual(dual, MatrixRows(G), tol=max(float(self.tol), MIN_DUAL_TOLERANCE)))
        W = np.stack([one.b for one in found])
        support = np.flatnonzero(W.any(axis=0))
        return self._kernel_sum(
            PenalisedSum, training, positions, support, np.ascontiguousarray(W[:, support]),
            intercept=np.array([float(one.offsets[0]) if self.fit_intercept else 0.0 for one in found]),
            n_iter=max(1, max(one.steps for one in found)),
            squared_norm=np.array([one.squared_norm for one in found]),
        )  # fmt: skip


class KernelRiskMinimiserRegressor(KernelRiskMinimiser, SupervisedKernelEstimator, Regressor):
    """A sum of kernels that minimises any loss.

    Parameters
    ----------
    loss
        "squared", "absolute", "huber", "quantile", "insensitive", "squared_insensitive", "poisson", "gamma", or an
        object of fivefold.optim.losses.catalogue, or an object of your own with value, slope and, if it has one,
        curvature.

    Examples
    --------
    >>> import numpy as np
    >>> from fivefold.svm import KernelRiskMinimiserRegressor
    >>> X = np.linspace(0.0, 6.0, 30)[:, None]
    >>> y = np.sin(X[:, 0])
    >>> y[7] = 50.0  # an outlier
    >>> model = KernelRiskMinimiserRegressor("absolute", alpha=0.1).fit(X, y)
    >>> bool(np.abs(model.predict(X) - np.sin(X[:, 0])).max() < 0.1)
    True
    """

    losses = REGRESSOR_LOSSES
    loss: RegressorLoss | Loss = "squared"

    takes = Takes(sparse=True)
    card = Card(
        applications=("regression",),
        use="A curve under a loss that no other kernel method has: absolute, quantile, Huber's, Poisson, your own. For "
        "the squared loss take KernelRidge, for the insensitive one SVR: they are quicker.",
        steps=(
            "Compute the kernels of all rows, and features with these inner products.",
            "Minimise the losses and the penalty over a linear function of the features.",
            "Turn its coefficients into those of kernels.",
        ),
        source="Kimeldorf & Wahba (1971); Schoelkopf, Herbrich & Smola (2001)",
        see_also=("KernelRidge", "SVR", "RiskMinimiserRegressor"),
        variants=({"loss": "huber", "kernel": "poly", "degree": 2, "coef0": 1.0}, {"loss": "insensitive"}),
        search={"alpha": SearchRange(1e-3, 10.0)},
        growth=3.0,
    )

    def _fit(self, X: Table, y: Target, w: Weights, given: UserWeights = None, objects: Any = None) -> None:
        training, positions = self._training(X, given, objects)
        self.model_ = self._minimise(RiskMinimiserRegressor(**self._settings()), training, positions, y, w)

    def predict(self, X: UserTable) -> Array:
        """The predicted target of each row: the sum, or the inverse link of the loss at it."""
        X = self._admit(X)
        return np.asarray(self._loss.inverse_link(self._outputs(X)[:, 0]).astype(self.model_.dtype, copy=False))


def _has_probabilities(estimator: KernelRiskMinimiserClassifier) -> bool:
    if not isinstance(estimator._loss, PROBABILITY_LOSSES):
        raise AttributeError(f"loss={estimator.loss!r} gives no probabilities")
    return True


class KernelRiskMinimiserClassifier(KernelRiskMinimiser, KernelSumClassifier):
    """A sum of kernels that minimises any loss of the margin.

    Parameters
    ----------
    loss
        "log", "softmax", "hinge", "squared_hinge", "squared", "probit", "probit_margin", "exponential", "perceptron",
        "absolute", "huber", or an object of fivefold.optim.losses.catalogue, or an object of your own with value and
        slope. Targets are -1 and +1; of more than two classes each is separated from the rest, except with "softmax".
    class_weight
        weights of the classes, "balanced", or None.

    Attributes
    ----------
    classes_
        the labels.

    Examples
    --------
    >>> from fivefold.svm import KernelRiskMinimiserClassifier
    >>> X, y = [[0.0], [1.0], [2.0], [3.0]], [0, 1, 1, 0]
    >>> model = KernelRiskMinimiserClassifier("squared_hinge", gamma=1.0).fit(X, y)
    >>> model.predict([[0.1], [1.5]])
    array([0, 1])
    """

    losses = CLASSIFIER_LOSSES
    loss: ClassifierLoss | Loss = "log"
    _: KW_ONLY
    class_weight: dict[Any, float] | Literal["balanced"] | None = None

    card = Card(
        applications=("classification",),
        use="A curved boundary under a loss that no other kernel method has: softmax over all classes, squared hinge, "
        "exponential, your own. For the hinge take SVC, which is quicker and sparse.",
        steps=(
            "Compute the kernels of all rows, and features with these inner products.",
            "Minimise the losses and the penalty over a linear function of the features.",
            "Turn its coefficients into those of kernels.",
        ),
        source="Kimeldorf & Wahba (1971); Schoelkopf, Herbrich & Smola (2001)",
        see_also=("SVC", "KernelLogisticRegression", "RiskMinimiserClassifier"),
        variants=(
            {"loss": "hinge", "fit_intercept": False},
            {"loss": "squared_hinge"},
            {"loss": "softmax", "kernel": "poly", "degree": 2, "coef0": 1.0},
        ),
        search={"alpha": SearchRange(1e-2, 10.0)},
        growth=3.0,
    )

    def _fit(self, X: Table, y: Target, w: Weights, given: UserWeights = None, objects: Any = None) -> None:
        training, positions = self._training(X, given, objects)
        self.model_ = self._minimise(RiskMinimiserClassifier(**self._settings()), training, positions, y, w)

    @available_if(_has_probabilities)
    def predict_proba(self, X: UserTable) -> Matrix:
        """Probabilities of the classes, if the loss is a likelihood; of many classes scaled to sum to one."""
        eta = self.decision_function(X)
        if self._loss.kind == "classes":
            return class_probabilities(eta)
        P = np.asarray(self._loss.inverse_link(eta))
        return binary_probabilities(P) if P.ndim == 1 else normalise_rows(P)
