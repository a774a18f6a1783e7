"""Ranking with kernels: a curved score that puts better rows before worse ones.

    min over f of   1/2 |f|^2 + C sum over pairs (u, v) of  loss(f(x_u) - f(x_v))         u has a higher grade than v

    squared_hinge   max(0, 1 - m)^2
    hinge           max(0, 1 - m): support vector ranking
    log             ln(1 + e^-m)

f is a sum of kernels at the rows. In features whose inner products are the kernels it is linear, and |f| is the length
of its coefficients: the problem is that of LinearRanker on these features, and no kernel between pairs is ever made.
The Gram matrix of pairs (u, v) and (k, l) would be K(u, k) - K(u, l) - K(v, k) + K(v, l).

With differences="columns" the pairs are vectors x_u - x_v of their own instead, and the score is a sum of kernels
K(x_u - x_v, x) over pairs: another model unless the kernel is linear, with one multiplier per pair.

Herbrich, Graepel & Obermayer (2000); Joachims (2002); Chapelle & Keerthi (2010).
"""

from __future__ import annotations

from dataclasses import KW_ONLY
from typing import Any, Literal, Self

import numpy as np
from sklearn.callback import with_callbacks

from fivefold.core.admission.takes import Takes
from fivefold.core.registry import Card
from fivefold.core.types import Array, Table, UserTable, UserTarget, UserWeights
from fivefold.optim.dual.kernel_dual import KernelDual
from fivefold.optim.dual.smo import minimise_dual
from fivefold.rank.pairwise.pair_loss_ranker import PairLossRanker
from fivefold.rank.pairwise.ranking_pairs import Queries, UserGroups
from fivefold.svm.support.expansion import KernelSum
from fivefold.svm.support.gram_features import gram_features
from fivefold.svm.support.kernel_estimator import KernelEstimator, whole_gram
from fivefold.svm.support.training import TrainingRows

MAX_PAIRS = 50_000  # that differences="columns" takes: each has a multiplier and a row of kernels with all others
CURE = "Fit to a sample of the queries, or take LinearRanker on features from Nystroem or RBFSampler"


class KernelRanker(
    KernelEstimator, PairLossRanker, keywords="kernel degree gamma coef0 loss differences tol max_iter random_state"
):
    """Score by a sum of kernels that puts rows in the order of their grades: support vector ranking with kernels.

    Parameters
    ----------
    differences
        "features": pairs are compared in the features of the kernel; "columns": differences of the rows are given to
        the kernel, for loss="hinge" alone.

    Attributes
    ----------
    n_iter_
        steps taken.

    Examples
    --------
    >>> import numpy as np
    >>> from fivefold.rank import KernelRanker
    >>> X = np.array([[-2.0], [-1.0], [0.0], [1.0], [2.0]])
    >>> model = KernelRanker(C=10.0, gamma=0.5).fit(X, [0, 1, 2, 1, 0])  # the best is in the middle
    >>> model.top(X)
    array([2])
    """

    _: KW_ONLY
    differences: Literal["features", "columns"] = "features"

    takes = Takes(sparse=True)
    card = Card(
        applications=("ranking",),
        use="Lists whose order is a curved function of the columns, or objects with a kernel, up to some thousand rows "
        "in all. Scale the columns first. With more rows take LinearRanker.",
        steps=(
            "Compute the kernels of all rows, and features with these inner products.",
            "Minimise the penalty plus C times the losses of the pairs of each query, as LinearRanker does.",
            "Turn the coefficients of the features into those of kernels; sort new rows by their score.",
        ),
        source="Herbrich, Graepel & Obermayer (2000); Joachims (2002); Chapelle & Keerthi (2010)",
        see_also=("LinearRanker", "RankingPerceptron"),
        variants=({"kernel": "linear", "C": 0.1}, {"loss": "log", "C": 0.1}),
        search={"C": (1e-2, 0.1, 1.0, 10.0)},
        growth=3.0,
    )

    @with_callbacks
    def fit(self, X: UserTable, y: UserTarget, sample_weight: UserWeights = None, groups: UserGroups = None) -> Self:
        """Learn from rows, grades (the higher the better) and queries; a weight of two counts a row twice."""
        fitted: Self = self._fit_objects(X, y, sample_weight, groups=groups)
        return fitted

    def _rank(self, X: Table, queries: Queries, given: UserWeights = None, objects: Any = None) -> None:
        training, positions = self._training(X, given, objects)
        if self.differences == "columns":
            self.model_ = self._fit_differences(training, queries)
            return
        features = gram_features(whole_gram(training, type(self).__name__, 3.0, CURE))
        order = np.argsort(features.pivots)

        def model(x: Array, steps: int = 1) -> KernelSum:
            beta = features.coefficients(np.asarray(x, dtype=np.float64))[order]
            return self._kernel_sum(
                KernelSum, training, positions, features.pivots[order], beta[None, :], intercept=np.zeros(1),
                n_iter=max(1, steps),
            )  # fmt: skip

        found = self._minimise_pairs(features.Z, queries, model)
        self.model_ = model(found.x, found.steps)

    def _fit_differences(self, training: TrainingRows, queries: Queries) -> KernelSum:
        """One multiplier per pair, on kernels between differences of rows."""
        name, P = type(self).__name__, int(queries.counts[-1])
        if self.loss != "hinge" or training.kernel.name in ("precomputed", "function"):
            raise ValueError(
                f"{name}: differences='columns' goes with loss='hinge' and a kernel by name; got loss={self.loss!r} "
                f"and kernel={self.kernel!r}"
            )
        if P > MAX_PAIRS:
            raise ValueError(
                f"{name}: differences='columns' takes at most {MAX_PAIRS} pairs; the queries hold {P}. Take "
                "differences='features', which makes no kernels between pairs"
            )
        pairs = queries.pairs()
        D = pairs.differences(training.X.astype(np.float64)).astype(training.X.dtype)
        rows = TrainingRows.of(name, training.kernel, D, np.arange(P), None, 0.0)
        bound = np.asarray(self.C * pairs.weight, dtype=np.float64)
        dual = KernelDual(np.ones(P), np.zeros(P), bound, equality=False)
        found = minimise_dual(dual, rows.source(), tol=float(self.tol))
        support = np.flatnonzero(found.b)
        return self._kernel_sum(
            KernelSum, rows, np.arange(P), support, found.b[None, support], intercept=np.zeros(1),
            n_iter=max(1, found.steps),
        )  # fmt: skip

    def _scores(self, X: Table) -> Array:
        return self._outputs(X)[:, 0].astype(self.model_.dtype, copy=False)

    def _without_order(self, X: Table, given: UserWeights = None, objects: Any = None) -> KernelSum:
        training, positions = self._training(X, given, objects)
        nothing = np.empty(0, dtype=np.int64)
        return self._kernel_sum(
            KernelSum, training, positions, nothing, np.empty((1, 0)), intercept=np.zeros(1), n_iter=1
        )
