"""The lasso and the elastic net: least squares with a penalty that makes coefficients exactly zero.

    min over w, b of   1/(2 W) sum_i s_i (y_i - w'x_i - b)^2 + alpha (r |w|_1 + (1 - r)/2 |w|_2^2)

W is the sum of the weights s; r = 1 is the lasso, 0 < r < 1 the elastic net, which keeps correlated columns together.
Solved by coordinate descent on working sets, exact where it stops (optim.proximal.coordinate_descent): the duality gap
that `dual_gap_` reports is usually rounding, whatever `tol` says.

Tibshirani (1996); Zou & Hastie (2005).
"""

from __future__ import annotations

from dataclasses import KW_ONLY, dataclass
from typing import Any, ClassVar, Literal, Self

import numpy as np
from numpy.typing import DTypeLike

from fivefold.core.admission.sparse import configured_csr
from fivefold.core.admission.takes import Takes
from fivefold.core.console.fit_progress import fit_steps, warn_kept_best
from fivefold.core.estimators.base import learned
from fivefold.core.estimators.params import Count, Fraction, NonNegative, Seed
from fivefold.core.random_state import check_random_state
from fivefold.core.registry import Card, SearchRange
from fivefold.core.types import Array, Rng, Sparse, Table, Target, UserTable, UserTarget, UserWeights, Vector, Weights
from fivefold.linear_model.base import LinearModel, SurfaceRegressor, centred_linear
from fivefold.linear_model.solvers.lasso_path import CoordinateProblems, enet_path, fit_path, prepare_columns
from fivefold.optim.objective import Minimum, Monitor
from fivefold.optim.proximal.coordinate_descent import ColumnProducts

CARD_STEPS = (
    "Centre columns and target; make the Gram matrix if there are more rows than columns.",
    "Take the coefficients that are not zero and those nearest to leaving zero.",
    "Set each to its own minimum in turn, in a few passes; then solve for all of them at once with their signs fixed.",
    "Check every column, drop those that the duality gap proves to be zero, and repeat until the gap is closed.",
)


@dataclass(frozen=True)
class SparseFit:
    """A linear surface with coefficients of zero, and the duality gap where the search ended."""

    linear: LinearModel
    dual_gap: float | Vector  # one, or one per output
    n_iter: int | list[int]
    eps: float  # the largest duality gap allowed, on the scale of the sum of squares


class CoordinateDescentRegressor(SurfaceRegressor):
    """Coefficients found by coordinate descent, with the strength of the penalty given or chosen by folds.

    Parameters
    ----------
    positive
        no coefficient below zero.
    random_state
        seed of the order of the coordinates, for selection="random".
    selection
        "cyclic" takes the coordinates of a working set in order, "random" in a random order.

    Attributes
    ----------
    dual_gap_
        upper bound on the distance of the objective from its minimum.
    """

    _: KW_ONLY
    fit_intercept: bool = True
    copy_X: bool = True
    max_iter: Count = 1000
    tol: NonNegative = 1e-4
    random_state: Seed = None
    selection: Literal["cyclic", "random"] = "cyclic"

    dual_gap_ = learned("dual_gap")
    n_iter_ = learned("n_iter")

    def _selection_rng(self) -> Rng | None:
        """The source of random orders of the coordinates; None takes them in order."""
        return check_random_state(self.random_state) if self.selection == "random" else None


class LassoBase(CoordinateDescentRegressor, keywords="fit_intercept copy_X max_iter tol warm_start"):
    """What the lasso and its relatives share: several targets are fitted one by one, unless `joint`.

    Parameters
    ----------
    alpha
        strength of the penalty.
    precompute, copy_X
        kept for scikit-learn's signature: the Gram matrix is computed where it pays, and X is never overwritten.
    max_iter
        maximum number of steps; a step solves for one working set.
    tol
        duality gap, as a share of y'y, above which a warning is given; the gap reached is usually far smaller.
    warm_start
        start from what the last fit found.

    Attributes
    ----------
    n_iter_
        steps taken.
    coef_
        shape (d,), or (n_outputs, d).
    sparse_coef_
        the same as a sparse matrix.
    """

    alpha: NonNegative = 1.0
    _: KW_ONLY
    warm_start: bool = False

    l1_ratio = 1.0  # a constant of the lasso, a parameter of the elastic net
    positive = False  # a parameter where targets are fitted one by one
    takes: ClassVar[Takes] = Takes(sparse=True, outputs=True)
    joint: ClassVar[bool] = False  # targets share their zeros

    path = staticmethod(enet_path)

    @property
    def sparse_coef_(self) -> Sparse:
        """The coefficients as a sparse matrix."""
        return configured_csr(np.atleast_2d(self.coef_))

    def fit(self, X: UserTable, y: UserTarget, sample_weight: UserWeights = None, check_input: bool = True) -> Self:
        """Learn from rows and their targets; a weight of two counts a row twice.

        `check_input` is taken for scikit-learn's signature: rows are always checked, once.
        """
        super().fit(X, y, sample_weight)
        return self

    def _forget(self) -> None:
        if not self.warm_start:
            super()._forget()

    def _fit(self, X: Table, y: Target, w: Weights) -> None:
        ready = prepare_columns(X, y.reshape(len(y), -1), w, centred=self.fit_intercept, joint=self.joint)
        starts = self._starts(X.shape[1], ready.offset.size)
        found: list[Minimum] = []
        with fit_steps(self, "step", len(ready.problems) * self.max_iter, X) as monitor:
            for problem, start in zip(ready.problems, starts, strict=True):

                def report(x: Array, value: float) -> bool:
                    return monitor(self._model(ready, [*found, _at(x)], starts, X.dtype), value)

                found.append(self._minimum(ready, problem, start, report))
                if found[-1].reason in ("interrupted", "stopped"):
                    break
        self.model_ = self._model(ready, found, starts, X.dtype)
        if found[-1].reason == "interrupted":
            warn_kept_best(self, sum(m.steps for m in found), "step")

    def _minimum(self, ready: CoordinateProblems, problem: ColumnProducts, start: Array, report: Monitor) -> Minimum:
        return fit_path(
            problem,
            ready.weight,
            np.array([self.alpha], dtype=np.float64),
            self.l1_ratio,
            start,
            tol=self.tol,
            max_iter=self.max_iter,
            positive=self.positive,
            rng=self._selection_rng(),
            monitor=report,
        )[0]

    def _starts(self, d: int, outputs: int) -> list[Array]:
        """Where each problem starts: zero, or with `warm_start` what was learned before."""
        zero = np.zeros((d, outputs))
        old = self.coef_.reshape(-1, d).T if self.__sklearn_is_fitted__() else zero
        W = (old if old.shape == zero.shape else zero).astype(np.float64)
        return [W] if self.joint else list(np.ascontiguousarray(W.T))

    def _model(
        self, ready: CoordinateProblems, found: list[Minimum], starts: list[Array], dtype: DTypeLike
    ) -> SparseFit:
        """The model from the minima, one for each problem; problems not solved yet are where they started."""
        points = [m.x for m in found] + starts[len(found) :]
        coef = points[0].T if self.joint else np.array(points)  # (T, d)
        one = not self.joint and len(coef) == 1  # as scikit-learn: one output, one vector
        coef, offset = (coef[0], ready.offset[0]) if one else (coef, ready.offset)
        linear = centred_linear(coef, ready.centre, offset, dtype, intercept=self.fit_intercept)
        gaps, counts = np.array([m.violation for m in found]) / ready.weight, [max(m.steps, 1) for m in found]
        alone = len(found) == 1
        eps = self.tol * max(problem.target_square for problem in ready.problems)
        return SparseFit(linear, gaps[0] if alone else gaps, counts[0] if alone else counts, eps)


def _at(x: Array) -> Minimum:
    return Minimum(x, np.nan, np.nan, (np.nan,), "stopped")


class SingleTaskLasso(LassoBase):
    """Each target has coefficients, and zeros, of its own."""

    _: KW_ONLY
    precompute: bool | np.ndarray | list[Any] = False
    positive: bool = False


class Lasso(SingleTaskLasso, keywords="fit_intercept precompute copy_X max_iter tol warm_start positive"):
    """Least squares with a penalty on the size of the coefficients, which sets many to exactly zero.

    Examples
    --------
    >>> from fivefold.linear_model import Lasso
    >>> model = Lasso(alpha=0.1).fit([[0, 0], [1, 1], [2, 2]], [0, 1, 2])
    >>> model.coef_
    array([0.85, 0.  ])
    """

    card = Card(
        applications=("regression", "data mining"),
        use="Many columns of which few matter, and a model that names them. Scale the columns first; of correlated "
        "columns it keeps one: the elastic net keeps them together.",
        steps=CARD_STEPS,
        source="Tibshirani (1996); Friedman, Hastie & Tibshirani (2010)",
        see_also=("ElasticNet", "LassoCV", "Ridge"),
        variants=({"alpha": 0.1, "positive": True}, {"alpha": 0.1, "selection": "random", "fit_intercept": False}),
        search={"alpha": SearchRange(1e-4, 1.0)},
        portfolio=True,
    )


class ElasticNet(SingleTaskLasso, keywords="l1_ratio fit_intercept precompute max_iter copy_X tol warm_start positive"):
    """Least squares with a penalty on size and squared length: zeros, and correlated columns kept together.

    Parameters
    ----------
    l1_ratio
        share of the penalty on the size: 1 is the lasso, 0 is ridge regression.

    Examples
    --------
    >>> from fivefold.linear_model import ElasticNet
    >>> model = ElasticNet(alpha=0.1).fit([[0, 0], [1, 1], [2, 2]], [0, 1, 2])
    >>> model.coef_.round(4)
    array([0.4458, 0.4458])
    """

    _: KW_ONLY
    l1_ratio: Fraction = 0.5

    card = Card(
        applications=("regression", "data mining"),
        use="Many columns, some of them correlated, and a model that names those that matter. Scale the columns first.",
        steps=CARD_STEPS,
        source="Zou & Hastie (2005); Friedman, Hastie & Tibshirani (2010)",
        see_also=("ElasticNetCV", "Lasso", "Ridge"),
        variants=({"alpha": 0.1, "l1_ratio": 0.9}, {"alpha": 0.1, "l1_ratio": 0.0}),
        search={"alpha": SearchRange(1e-4, 1.0), "l1_ratio": SearchRange(0.1, 1.0)},
    )
