"""Support vector machines for classification, with kernels.

    SVC     min over f, b of  1/2 |f|^2 + C sum of w_i max(0, 1 - y_i (f(x_i) + b))
    NuSVC   the same with a share nu in place of C: at most nu of the weight is on the wrong side of the margin, and at
            least nu of it are support vectors

f is a sum of kernels at the rows, so the problem is solved in its coefficients (optim/dual/kernel_dual,
optim/dual/smo). With K > 2 classes there is one machine per pair; the class with most votes wins.

Cortes & Vapnik (1995); Schoelkopf, Smola, Williamson & Bartlett (2000); Chang & Lin (2011).
"""

from __future__ import annotations

from dataclasses import KW_ONLY, replace
from functools import lru_cache
from itertools import combinations
from typing import Any, Literal, Self

import numpy as np
from sklearn.callback import with_callbacks
from sklearn.exceptions import NotFittedError
from sklearn.utils.metaestimators import available_if

from fivefold.core.admission.takes import Takes
from fivefold.core.console.fit_progress import warn_kept_best
from fivefold.core.console.user_warnings import warn
from fivefold.core.estimators.params import Seed
from fivefold.core.estimators.supervised_learning import Classifier, class_weights
from fivefold.core.random_state import check_random_state
from fivefold.core.registry import Card, SearchRange
from fivefold.core.types import (
    Array,
    Codes,
    Doubles,
    Indices,
    Labels,
    Matrix,
    Table,
    Target,
    UserTable,
    UserTarget,
    UserWeights,
    Weights,
)
from fivefold.optim.dual.kernel_dual import DualSolution, KernelDual
from fivefold.svm.support.base import Cost, KernelMachine, Share, step_reports
from fivefold.svm.support.dual_problems import nu_margin, soft_margin, squared_margin
from fivefold.svm.support.expansion import SupportExpansion
from fivefold.svm.support.pairwise_training import PairMachine, PairTraining, class_layout
from fivefold.svm.support.platt_scaling import couple_pairs, sigmoid
from fivefold.svm.support.training import TrainingRows

KEYWORDS = (  # of both classifiers, in scikit-learn's order
    "kernel degree gamma coef0 shrinking probability tol cache_size class_weight verbose max_iter "
    "decision_function_shape break_ties random_state"
)


def _has_probabilities(machine: Any) -> bool:
    if machine.probability in (False, "deprecated"):
        raise AttributeError("predict_proba is not available when probability=False")
    return True


class KernelClassifier(KernelMachine, Classifier):
    """What both classifiers share.

    Parameters
    ----------
    probability
        whether to fit probabilities, on answers to rows that were left out, in five folds that `random_state` draws.
    class_weight
        one weight per class, or "balanced": inversely proportional to the class shares.
    decision_function_shape
        "ovr": one score per class, its votes and its answers; "ovo": the answer of every pair of classes.
    break_ties
        whether the answers decide among classes with the same number of votes; otherwise the first class wins.
    random_state
        seed of the folds of `probability`.
    """

    _: KW_ONLY
    probability: bool | Literal["deprecated"] = "deprecated"
    class_weight: dict[Any, Any] | Literal["balanced"] | None = None
    decision_function_shape: Literal["ovr", "ovo"] = "ovr"
    break_ties: bool = False
    random_state: Seed = None

    takes = Takes(sparse=True, one_class=False)

    @with_callbacks
    def fit(self, X: UserTable, y: UserTarget, sample_weight: UserWeights = None) -> Self:
        """Learn from rows and their classes; a weight of two counts a row twice."""
        fitted: Self = self._fit_objects(X, y, sample_weight)
        return fitted

    def _fit(self, X: Table, y: Target, w: Weights, given: UserWeights = None, objects: Any = None) -> None:
        training, positions = self._training(X, given, objects)
        K = len(self.classes_)
        self.class_weight_ = np.ones(K)
        if self.class_weight is not None:
            self.class_weight_ = class_weights(self.class_weight, self.classes_, y, np.ones(len(y)))
        rng = check_random_state(self.random_state) if self.probability is True else None
        pairs = PairTraining(training, y, w.astype(np.float64), K, self._dual, self._read_off, self._options(), rng)

        def model(machines: list[PairMachine]) -> SupportExpansion:
            return self._model(machines, training, positions, y)

        with step_reports(self, "pair", K * (K - 1) // 2, X) as monitor:
            machines, reason = pairs.fit(lambda so_far, value: monitor(lambda: model(so_far()), value))
        if reason == "interrupted":
            warn_kept_best(self, sum(machine.solution.reason == "converged" for machine in machines), "pair")
        self._warn_unconverged([machine.solution for machine in machines])
        self.model_ = model(machines)

    def _model(
        self, machines: list[PairMachine], training: TrainingRows, positions: Indices, y: Codes
    ) -> SupportExpansion:
        K = len(self.classes_)
        support, n_support, coef = class_layout(machines, y, K)
        intercept = np.array([machine.intercept for machine in machines])
        if K == 2:  # as in scikit-learn: positive for the second class
            coef, intercept = -coef, -intercept
        solutions = [machine.solution for machine in machines]
        platt = np.array([machine.platt or (-1.0, 0.0) for machine in machines]) if self.probability is True else None
        return self._expansion(
            training, positions, support, coef,
            intercept=intercept, n_support=n_support, platt=platt,
            n_iter=np.array([found.steps for found in solutions], dtype=np.int32),
            fit_status=int(any(found.reason == "max_iter" for found in solutions)),
            duality_gap=np.array([found.gap for found in solutions]),
            objective=np.array([found.value for found in solutions]),
            squared_norm=np.array([_squared_norm(machine) for machine in machines]),
        )  # fmt: skip

    def _dual(self, sign: Doubles, w: Doubles) -> KernelDual:
        raise TypeError(f"{type(self).__name__} does not state its dual problem")

    def _read_off(self, found: DualSolution, pair: tuple[int, int]) -> tuple[Doubles, float]:
        return found.b, float(found.offsets[0])

    @property
    def coef_(self) -> Any:
        """The weights of the columns, for kernel="linear": one row per pair of classes."""
        return self._linear_coef(self._pair_weights())

    def _pair_weights(self) -> Doubles:
        model = self.model_
        W: Doubles = model.pair_weights
        return W if len(self.classes_) > 2 else W[:, :1]

    def _answers(self, X: UserTable) -> Matrix:
        """The answer of every pair (n, pairs); for two classes positive for the second."""
        X = self._admit(X)
        return self.model_.outputs(X, self._pair_weights())

    def decision_function(self, X: UserTable) -> Array:
        """Scores of the classes (n, K) or answers of the pairs; for two classes (n,), positive for the second."""
        G = self._answers(X)
        if len(self.classes_) == 2:
            out = G[:, 0]
        else:
            out = self._votes(G, ties=True) if self.decision_function_shape == "ovr" else G
        return out.astype(self.model_.dtype, copy=False)

    def predict(self, X: UserTable) -> Labels:
        """The class of each row: the one with most votes of the pairs."""
        if self.break_ties and self.decision_function_shape == "ovo":
            raise ValueError(f"{type(self).__name__}: break_ties needs decision_function_shape='ovr'; got 'ovo'")
        G = self._answers(X)
        if len(self.classes_) == 2:
            return self.classes_[(G[:, 0] >= 0).astype(np.int64)]
        return self.classes_[self._votes(G, ties=bool(self.break_ties)).argmax(axis=1)]

    def _votes(self, G: Matrix, ties: bool) -> Matrix:
        """Votes of the pairs, and if `ties` sums of their answers squeezed into (-1/3, 1/3)."""
        M = _pair_signs(len(self.classes_))
        first = G > 0
        votes = first @ M.clip(min=0.0) + ~first @ (-M).clip(min=0.0)
        if not ties:
            return votes
        sums = G @ M
        return votes + sums / (3 * (np.abs(sums) + 1))

    @available_if(_has_probabilities)
    def predict_proba(self, X: UserTable) -> Matrix:
        """Probabilities of the classes (n, K)."""
        G, platt = self._answers(X), self.model_.platt
        if platt is None:
            raise NotFittedError("predict_proba is not available when fitted with probability=False")
        K = len(self.classes_)
        first = -G if K == 2 else G
        r = sigmoid(-(first * platt[:, 0] + platt[:, 1]))
        return couple_pairs(r, K).astype(self.model_.dtype, copy=False)

    @available_if(_has_probabilities)
    def predict_log_proba(self, X: UserTable) -> Matrix:
        """Logarithms of the probabilities."""
        with np.errstate(divide="ignore"):
            return np.log(self.predict_proba(X))

    @property
    def probA_(self) -> Array:
        """Slopes of the sigmoids, one per pair; empty without probabilities."""
        return self._sigmoids()[:, 0]

    @property
    def probB_(self) -> Array:
        """Constants of the sigmoids."""
        return self._sigmoids()[:, 1]

    def _sigmoids(self) -> Matrix:
        platt: Matrix | None = self.model_.platt
        return np.empty((0, 2)) if platt is None else platt


@lru_cache
def _pair_signs(K: int) -> Matrix:
    """+1 for the first and -1 for the second class of each pair (pairs, K)."""
    M = np.zeros((K * (K - 1) // 2, K))
    for p, (i, j) in enumerate(combinations(range(K), 2)):
        M[p, i], M[p, j] = 1.0, -1.0
    return M


def _squared_norm(machine: PairMachine) -> float:
    """|f|^2 of a machine, whose coefficients may be a multiple of the multipliers."""
    b, found = machine.b, machine.solution
    at = int(np.abs(found.b).argmax())
    return found.squared_norm * float((b[at] / found.b[at]) ** 2) if found.b[at] else 0.0


class SVC(KernelClassifier, keywords=f"C {KEYWORDS}"):
    """Support vector machine with kernels.

    Parameters
    ----------
    C
        weight of the errors relative to the smoothness of the boundary; infinite for none at all (a hard margin).
    loss
        of a row at distance x beyond its margin: "hinge", x; "squared_hinge", x^2 / 2, the two-norm soft margin.

    Attributes
    ----------
    support_, support_vectors_
        numbers of the support vectors among the rows of fit, class by class, and these rows.
    n_support_
        their number in each class.
    dual_coef_
        coefficients of the support vectors (K - 1, support vectors), in the order of scikit-learn's.
    intercept_
        one per pair of classes.
    n_iter_
        steps of the solver, one number per pair.
    duality_gap_, objective_
        per pair, how far the objective may be from its minimum, and the objective.
    classes_
        the labels.

    Examples
    --------
    >>> from fivefold.svm import SVC
    >>> model = SVC(kernel="linear", C=10.0).fit([[0.0], [2.0], [3.0]], [-1, 1, 1])
    >>> model.dual_coef_.round(6), model.intercept_.round(6)
    (array([[-0.5,  0.5]]), array([-1.]))
    """

    _: KW_ONLY
    C: Cost = 1.0
    loss: Literal["hinge", "squared_hinge"] = "hinge"

    card = Card(
        applications=("classification",),
        use="A curved boundary on up to some ten thousand rows, few or many columns. Scale the columns first; search C "
        "and gamma. With more rows take LinearSVC or trees.",
        steps=(
            "For each pair of classes code one +1 and the other -1.",
            "Minimise the dual problem, two multipliers at a time.",
            "Answer with the sum of kernels at the rows whose multiplier is not zero.",
            "Give a row the class with most votes of the pairs.",
        ),
        source="Cortes & Vapnik (1995); Platt (1998); Fan, Chen & Lin (2005)",
        see_also=("LinearSVC",),
        variants=(
            {"kernel": "linear"},
            {"kernel": "poly", "degree": 2, "coef0": 1.0, "class_weight": "balanced"},
            {"loss": "squared_hinge"},
        ),
        search={"C": SearchRange(0.1, 100.0), "gamma": SearchRange(0.05, 5.0, per_column=True)},
        portfolio=True,
        growth=2.0,
    )

    def _dual(self, sign: Doubles, w: Doubles) -> KernelDual:
        if self.loss == "squared_hinge" and np.isfinite(self.C):
            held = np.where(w > 0, w, np.inf)  # rows of a fold left out have weight zero, and a box of width zero
            dual = squared_margin(sign, float(self.C), held)
            return dual if (w > 0).all() else replace(dual, low=dual.low * (w > 0), high=dual.high * (w > 0))
        return soft_margin(sign, float(self.C), w)


class NuSVC(KernelClassifier, keywords=f"nu {KEYWORDS}"):
    """Support vector machine with kernels, by a share of errors in place of their price.

    Parameters
    ----------
    nu
        upper bound of the share of rows on the wrong side of the margin, lower bound of the share of support vectors. A
        class that is too small for it gets the largest possible share, with a warning.

    Attributes
    ----------
    support_, support_vectors_
        numbers of the support vectors among the rows of fit, class by class, and these rows.
    n_support_
        their number in each class.
    dual_coef_
        coefficients of the support vectors (K - 1, support vectors), in the order of scikit-learn's.
    intercept_
        one per pair of classes.
    n_iter_
        steps of the solver, one number per pair.
    classes_
        the labels.

    Examples
    --------
    >>> from fivefold.svm import NuSVC
    >>> model = NuSVC(kernel="linear", nu=0.5).fit([[0.0], [1.0], [3.0], [4.0]], [0, 0, 1, 1])
    >>> model.predict([[1.9], [2.1]])
    array([0, 1])
    """

    _: KW_ONLY
    nu: Share = 0.5

    card = Card(
        applications=("classification",),
        use="As SVC, where the share of rows inside the margin is easier to choose than their price.",
        steps=(
            "For each pair of classes spread the multipliers so that each class has half of nu.",
            "Minimise the dual problem, two multipliers of one class at a time.",
            "Divide by the width of the margin.",
        ),
        source="Schoelkopf, Smola, Williamson & Bartlett (2000)",
        see_also=("SVC",),
        variants=({"kernel": "linear", "nu": 0.3},),
        search={"nu": (0.1, 0.3)},
        growth=2.0,
    )

    def _dual(self, sign: Doubles, w: Doubles) -> KernelDual:
        most = 2.0 * min(w[sign > 0].sum(), w[sign < 0].sum()) / w.sum()
        if self.nu > most * (1 + 1e-12):
            warn(
                f"NuSVC: the specified nu is infeasible for a pair of classes: nu={self.nu:g}, but the smaller class "
                f"allows at most {most:.4g}, which is used there; choose a smaller nu"
            )
        return nu_margin(sign, float(min(self.nu, most)), w)

    def _read_off(self, found: DualSolution, pair: tuple[int, int]) -> tuple[Doubles, float]:
        above, below = found.offsets
        width = 0.5 * (below - above)
        if not width > 0 and found.indefinite:
            raise ValueError(
                "NuSVC: the kernel is not positive semidefinite (a squared distance between two rows is negative), and "
                "its local solution has no margin; take another kernel, or SVC, which answers with a local solution"
            )
        if not width > 0:
            raise ValueError(
                f"NuSVC: with nu={self.nu:g} the margin has no width, so no boundary is determined; choose another nu "
                "or scale the columns"
            )
        own, other = self.class_weight_[list(pair)]  # the boundary leaves more room to the dearer class
        return found.b / width, (own * below + other * above) / (own + other) / width
