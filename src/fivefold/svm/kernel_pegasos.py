"""Pegasos with kernels: the support vector machine by stochastic subgradients, on a sum of kernels.

    min over f of  lambda/2 |f|^2 + (1/m) sum of max(0, 1 - y_i f(x_i))

    a = 0; draw i:   a_i grows by one where   y_i sum_j a_j y_j k(x_j, x_i) / (lambda (t - 1)) < 1
    f(x) = sum_j a_j y_j k(x_j, x) / (lambda T)

the dual form of Pegasos (`linear_model.online.pegasos`) with kernels in place of inner products. An intercept is a
kernel with 1 added: it is penalised. Rows are drawn by weight, along an order that depends on their values only.

Shalev-Shwartz, Singer & Srebro (2007).
"""

from __future__ import annotations

from dataclasses import KW_ONLY
from typing import Any, Literal

import numpy as np

from fivefold.core.console.fit_progress import value_steps
from fivefold.core.estimators.params import Count, Positive, Seed
from fivefold.core.random_state import check_random_state
from fivefold.core.registry import Card
from fivefold.core.types import Table, Target, UserWeights, Weights
from fivefold.linear_model.solvers.class_outputs import one_vs_rest_targets
from fivefold.optim.stochastic.sgd_loops import dual_pegasos_steps
from fivefold.spatial.points import Points
from fivefold.spatial.row_sampling import RowSampler
from fivefold.svm.support.expansion import KernelSum
from fivefold.svm.support.kernel_estimator import whole_gram
from fivefold.svm.support.kernel_sum_classifier import KernelSumClassifier

BATCH_DRAWS = 10_000  # rows drawn between two reports
CURE = "Fit to a sample of the rows, or take SVC, which keeps only some rows of that array"


class KernelPegasos(KernelSumClassifier):
    """Support vector machine with kernels by stochastic subgradients.

    Parameters
    ----------
    alpha
        lambda, the strength of the penalty: 1 / (C m) of a support vector machine.
    n_draws
        rows drawn in all; the error falls like log(T) / (alpha T).
    fit_intercept
        add 1 to the kernel: an intercept, penalised.
    class_weight
        how much likelier rows of a class are drawn: a dict, or "balanced" for the inverse of its frequency.
    random_state
        seed of the draws.

    Attributes
    ----------
    n_iter_
        rows drawn; the largest number of any machine.
    classes_
        the labels.

    Examples
    --------
    >>> from fivefold.svm import KernelPegasos
    >>> X, y = [[0.0], [1.0], [2.0], [3.0]], [0, 1, 1, 0]
    >>> KernelPegasos(gamma=1.0, random_state=0).fit(X, y).predict([[0.1], [1.5]])
    array([0, 1])
    """

    _: KW_ONLY
    alpha: Positive = 1e-3
    n_draws: Count = 50_000
    fit_intercept: bool = True
    class_weight: Literal["balanced"] | dict[Any, float] | None = None
    random_state: Seed = None

    card = Card(
        applications=("classification",),
        use="A first boundary with a margin, whose time is set beforehand. For the exact optimum take SVC.",
        steps=(
            "Draw a row at random.",
            "If its margin is below one, add its kernel to the sum.",
            "Divide the sum by the strength and the number of draws.",
        ),
        source="Shalev-Shwartz, Singer & Srebro (2007)",
        see_also=("Pegasos", "SVC", "KernelPerceptron"),
        variants=({"kernel": "linear", "class_weight": "balanced"},),
        search={"alpha": (1e-4, 1e-3, 1e-2)},
        growth=2.0,
    )

    def _fit(self, X: Table, y: Target, w: Weights, given: UserWeights = None, objects: Any = None) -> None:
        training, positions = self._training(X, given, objects)
        G = whole_gram(training, type(self).__name__, 2.0, CURE) + float(self.fit_intercept)
        rng = check_random_state(self.random_state)
        draws = rng.permutation(RowSampler(Points.of(X, w)).draw(self.n_draws, rng)).astype(np.int64)
        signs = one_vs_rest_targets(y, len(self.classes_))
        W, drawn = np.zeros((len(signs), len(G))), 0
        with value_steps(self, "round", len(signs) * -(-self.n_draws // BATCH_DRAWS), X) as report:
            for k, sign in enumerate(signs):
                a, f, z = np.zeros(len(G)), np.zeros(len(G)), np.ones(1)
                for first in range(0, len(draws), BATCH_DRAWS):
                    dual_pegasos_steps(G, sign, draws[first : first + BATCH_DRAWS], a, f, z, float(self.alpha))
                    scale = self.alpha * (z[0] - 1)
                    if report(float(np.average(np.maximum(1 - sign * f / scale, 0), weights=w))):
                        break
                W[k] = a * sign / scale
                drawn = max(drawn, round(z[0]) - 1)
        support = np.flatnonzero(W.any(axis=0))
        self.model_ = self._kernel_sum(
            KernelSum, training, positions, support, np.ascontiguousarray(W[:, support]),
            intercept=W.sum(axis=1) * float(self.fit_intercept), n_iter=drawn,
        )  # fmt: skip
