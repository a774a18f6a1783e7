"""Classification with one one-class machine per class, which can say that a row belongs to none.

    p(x | class k)  close to  g_k(x) = sum over the class of a_i k(x_i, x)        a_i of its one-class machine, sum 1

    decide for  argmax over k of  prior_k g_k(x);      reject x where g_k(x) < rho_k for every k

Each class is described by its own rows alone, so classes can be added without changing the others, and rows that lie
outside all regions are recognised, which a boundary between classes cannot do.

Schoelkopf, Platt, Shawe-Taylor, Smola & Williamson (2001); Tax & Duin (2008).
"""

from __future__ import annotations

from dataclasses import KW_ONLY, dataclass
from typing import Any, Literal, Self

import numpy as np
from sklearn.callback import with_callbacks

from fivefold.core.admission.takes import Takes
from fivefold.core.console.fit_progress import warn_kept_best
from fivefold.core.estimators.base import learned
from fivefold.core.estimators.supervised_learning import Classifier
from fivefold.core.registry import Card, SearchRange
from fivefold.core.types import (
    Array,
    Doubles,
    Labels,
    Mask,
    Matrix,
    Table,
    Target,
    UserTable,
    UserTarget,
    UserWeights,
    Weights,
)
from fivefold.linear_model.solvers.class_outputs import normalise_rows
from fivefold.optim.dual.kernel_dual import DualSolution
from fivefold.svm.support.base import KernelMachine, Share, step_reports
from fivefold.svm.support.dual_problems import quantile_support
from fivefold.svm.support.expansion import SupportExpansion

BOUNDARY_ROUNDING = 1e-9  # of the height of a boundary: rows so close to it, such as support vectors, are inside


@dataclass(frozen=True)
class ClassRegions(SupportExpansion):
    """One sum of kernels per class, the height of its boundary, and the prior of the class."""

    boundary: Doubles = None  # type: ignore[assignment]  # always given; a field above has a default
    prior: Doubles = None  # type: ignore[assignment]  # the same


class OneClassSVMClassifier(
    KernelMachine,
    Classifier,
    keywords="nu kernel degree gamma coef0 prior shrinking tol cache_size verbose max_iter",
):
    """One region per class, by a one-class support vector machine each; rows outside all of them can be rejected.

    Parameters
    ----------
    nu
        upper bound of the share of a class outside its region, lower bound of the share of its support vectors.
    prior
        "equal", or "frequency" for the shares of the classes among the rows.

    Attributes
    ----------
    n_support_
        number of support vectors of each class.
    dual_coef_
        coefficients (K, support vectors); those of a class sum to 1.
    boundary_
        the sum of kernels at the boundary of each region.
    classes_
        the labels.

    Examples
    --------
    >>> import numpy as np
    >>> from fivefold.svm import OneClassSVMClassifier
    >>> X = np.array([[0.0], [0.2], [0.4], [5.0], [5.2], [5.4]])
    >>> model = OneClassSVMClassifier(nu=0.1, gamma=1.0).fit(X, ["low", "low", "low", "high", "high", "high"])
    >>> model.predict_or_reject([[0.3], [5.1], [2.5]], reject="neither")
    array(['low', 'high', 'neither'], dtype=object)
    """

    _: KW_ONLY
    nu: Share = 0.1
    prior: Literal["equal", "frequency"] = "equal"

    takes = Takes(sparse=True)
    card = Card(
        applications=("classification", "outlier detection"),
        use="Classes that are known by their own rows, where new rows may belong to none of them, and classes come and "
        "go. Where every row belongs to a class, a boundary between classes errs less: SVC. Scale the columns first.",
        steps=(
            "Fit a one-class machine to the rows of each class.",
            "Take the sums of kernels, with coefficients that sum to one, as densities of the classes.",
            "The class with the largest product of prior and density wins; outside all regions a row can be rejected.",
        ),
        source="Schoelkopf et al. (2001); Tax & Duin (2008)",
        see_also=("OneClassSVM", "SVDD", "SVC"),
        variants=({"nu": 0.5, "prior": "frequency"}, {"kernel": "linear"}),
        search={"nu": (0.1, 0.5), "gamma": SearchRange(0.05, 5.0, per_column=True)},
        growth=2.0,
    )

    boundary_ = learned("boundary")

    @with_callbacks
    def fit(self, X: UserTable, y: UserTarget, sample_weight: UserWeights = None) -> Self:
        """Learn from rows and their classes; a weight of two counts a row twice."""
        fitted: Self = self._fit_objects(X, y, sample_weight)
        return fitted

    def _fit(self, X: Table, y: Target, w: Weights, given: UserWeights = None, objects: Any = None) -> None:
        training, positions = self._training(X, given, objects)
        s, K, found = np.asarray(w, dtype=np.float64), len(self.classes_), list[DualSolution]()
        coef, boundary = np.zeros((K, training.n)), np.zeros(K)
        mass = np.bincount(y, weights=s, minlength=K)
        interrupted = False
        with step_reports(self, "class", K, X) as monitor:
            for k in range(K):
                rows = np.flatnonzero(y == k)
                one = self._options().solver(training.source(rows)).minimise(quantile_support(float(self.nu), s[rows]))
                found.append(one)
                total = float(one.b.sum())
                coef[k, rows], boundary[k] = one.b / total, -float(one.offsets.mean()) / total
                try:
                    monitor(None, one.value)
                except KeyboardInterrupt:  # every class needs its region: the fit goes on
                    interrupted = True
        if interrupted:
            warn_kept_best(self, K, "class")
        self._warn_unconverged(found)
        support = np.concatenate([np.flatnonzero(row) for row in coef])
        self.model_ = self._kernel_sum(
            ClassRegions, training, positions, support, np.ascontiguousarray(coef[:, support]),
            intercept=np.zeros(K), n_iter=np.array([one.steps for one in found], dtype=np.int32),
            n_support=np.bincount(y[support], minlength=K).astype(np.int32),
            fit_status=int(any(one.reason == "max_iter" for one in found)),
            duality_gap=np.array([one.gap for one in found]), objective=np.array([one.value for one in found]),
            squared_norm=np.array([one.squared_norm for one in found]), boundary=boundary,
            prior=mass / mass.sum() if self.prior == "frequency" else np.full(K, 1.0 / K),
        )  # fmt: skip

    def _scores(self, X: Table) -> Matrix:
        return self._outputs(X) * self.model_.prior

    def decision_function(self, X: UserTable) -> Array:
        """Prior times sum of kernels of each class (n, K); for two classes the difference of their shares (n,)."""
        X = self._admit(X)
        scores = self._scores(X)
        if scores.shape[1] == 2:
            shares = normalise_rows(scores.clip(min=0.0))
            return np.asarray((shares[:, 1] - shares[:, 0]).astype(self.model_.dtype, copy=False))
        return np.asarray(scores.astype(self.model_.dtype, copy=False))

    def predict_proba(self, X: UserTable) -> Matrix:
        """Probabilities of the classes by Bayes' rule (n, K); uniform where no class has a density."""
        X = self._admit(X)
        return normalise_rows(self._scores(X).clip(min=0.0)).astype(self.model_.dtype, copy=False)

    def claims(self, X: UserTable) -> Mask:
        """(n, K): the classes whose region a row lies in."""
        X = self._admit(X)
        edge = self.model_.boundary
        return np.asarray(self._outputs(X) >= edge - BOUNDARY_ROUNDING * np.abs(edge))

    def predict_or_reject(self, X: UserTable, reject: Any = None) -> Labels:
        """The class of each row; `reject` for rows outside all regions."""
        labels = np.asarray(self.predict(X)).astype(object)
        labels[~self.claims(X).any(axis=1)] = reject
        return labels
