"""The lasso and the elastic net with the strength of the penalty chosen by cross-validation.

For each fold a path is fitted on the other rows and judged on the fold by its mean squared error; the alpha (and
l1_ratio) of the least mean over folds is fitted to all rows. Second moments add, so where there are more rows than
columns the moments of each fold are taken once, and those of "all but one fold" are their sum: the data are read once
for any number of folds. If the folds are not a partition, or columns are many, each path is prepared from its own rows.

Hastie, Tibshirani & Friedman (2009), section 7.10.
"""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import KW_ONLY, dataclass
from functools import reduce
from numbers import Real
from typing import Any, ClassVar, Literal, cast

import numpy as np
from numpy.typing import DTypeLike

from fivefold.core.admission.takes import Takes
from fivefold.core.admission.targets import as_float64
from fivefold.core.console.fit_progress import fit_steps, warn_kept_best
from fivefold.core.estimators.base import learned
from fivefold.core.estimators.params import Count, Fraction, ParameterError, Positive, short_repr
from fivefold.core.numerics.table_moments import CrossMoments, cross_moments
from fivefold.core.parallel import map_items
from fivefold.core.registry import Card
from fivefold.core.types import Array, Indices, Table, Target, UserWeights, Vector, Weights
from fivefold.linear_model.base import LinearModel, centred_linear, predictor
from fivefold.linear_model.lasso import CoordinateDescentRegressor
from fivefold.linear_model.model_selection.cv_folds import CrossValidatedRegressor, Fold, split_folds
from fivefold.linear_model.solvers.lasso_path import (
    CoordinateProblems,
    NetOptions,
    alpha_grid,
    enet_path,
    fit_path,
    gram_pays,
    lasso_path,
    prepare_columns,
    prepare_from_moments,
)

MIN_THREAD_COLUMNS = 64  # folds run on threads from this many columns: with fewer, the interpreter is most of the work
CARD_STEPS = (
    "Cut the rows into folds; take the moments of each.",
    "For each fold fit a path of strengths to the rows outside it, each from the one before.",
    "Average the squared errors over the folds and take the strength of the least.",
    "Fit that strength to all rows.",
)


@dataclass(frozen=True)
class LassoChoice:
    """The surface of the best strength, and the errors it was chosen by."""

    linear: LinearModel
    alpha: float
    l1_ratio: float
    alphas: Array  # (alphas,) or (ratios, alphas)
    mse_path: Array  # (alphas, folds) or (ratios, alphas, folds)
    dual_gap: float
    n_iter: int


class LassoCVBase(
    CrossValidatedRegressor,
    CoordinateDescentRegressor,
    keywords="eps alphas fit_intercept precompute max_iter tol copy_X cv verbose n_jobs positive",
):
    """What LassoCV and ElasticNetCV share.

    Parameters
    ----------
    eps
        least strength of an automatic grid, as a share of the largest.
    alphas
        how many strengths to try, or the strengths.
    precompute, copy_X, verbose, n_jobs
        kept for scikit-learn's signature; they change nothing: X is never overwritten, and folds run on all cores.
    max_iter
        maximum number of steps for one strength.
    tol
        duality gap, as a share of y'y, above which a warning is given.
    cv
        number of folds, a splitter, or pairs of row numbers; five folds by default.

    Attributes
    ----------
    n_iter_
        steps taken for the strength chosen.
    """

    _: KW_ONLY
    eps: Positive = 1e-3
    alphas: Count | list[Any] | tuple[Any, ...] | np.ndarray = 100
    precompute: Literal["auto"] | bool | np.ndarray | list[Any] = "auto"
    cv: Any = None  # a number of folds, a splitter, or pairs of row numbers
    verbose: bool | int = False
    n_jobs: int | None = None
    positive: bool = False

    l1_ratio = cast(Any, 1.0)  # a constant of LassoCV; a parameter of ElasticNetCV, which may try several
    takes: ClassVar[Takes] = Takes(sparse=True)

    alpha_ = learned("alpha")
    alphas_ = learned("alphas")
    mse_path_ = learned("mse_path")

    def _fit(
        self, X: Table, y: Target, w: Weights, given_weight: UserWeights = None, split: Mapping[str, Any] = {}
    ) -> None:
        ratios = np.atleast_1d(as_float64(self, self.l1_ratio, "l1_ratio"))
        if not ratios.size or not ((ratios >= 0) & (ratios <= 1)).all():
            raise ParameterError(
                f"{type(self).__name__}: the 'l1_ratio' parameter must be a number in [0, 1] or several; got "
                f"{short_repr(self.l1_ratio)}"
            )
        splits = split_folds(self.cv, X, y, given_weight, **split)
        whole = prepare_columns(X, y[:, None], w, centred=self.fit_intercept)
        grids = np.array([self._grid(whole, ratio) for ratio in ratios])  # (ratios, alphas)
        ready = _training(X, y, w, splits, self.fit_intercept)
        mse = np.full((len(ratios), grids.shape[1], len(splits)), np.nan)
        interrupted = False
        with fit_steps(self, "fold", len(ratios) * len(splits), X) as monitor:
            try:
                for i, ratio in enumerate(ratios):

                    def judge(k: int, grid: Vector = grids[i], ratio: float = ratio) -> Vector:
                        return self._errors(X, y, w, splits[k][1], ready[k], grid, ratio)

                    judged = (
                        map_items(judge, len(splits))
                        if X.shape[1] >= MIN_THREAD_COLUMNS
                        else map(judge, range(len(splits)))
                    )
                    for k, errors in enumerate(judged):
                        mse[i, :, k] = errors
                        monitor(self._best(whole, ratios, grids, mse, X.dtype), float(errors.min()))
            except KeyboardInterrupt:
                interrupted = True
        self.model_ = self._best(whole, ratios, grids, mse, X.dtype)
        if interrupted:
            warn_kept_best(self, int(np.isfinite(mse[:, 0]).sum()), "fold")

    def _grid(self, whole: CoordinateProblems, ratio: float) -> Array:
        given: Any = self.alphas  # how many, or the strengths
        if np.ndim(given) == 0:
            return alpha_grid(whole.problems[0], whole.weight, ratio, self.eps, given, self.positive)
        if any(isinstance(a, bool) or not isinstance(a, Real) for a in given):
            raise TypeError(f"{type(self).__name__}: alphas must be numbers; got {given!r}")
        alphas: Array = np.sort(np.asarray(given, dtype=np.float64))[::-1]
        if not (np.isfinite(alphas) & (alphas >= 0)).all():
            raise ValueError(
                f"{type(self).__name__}: alphas must be zero or larger; the smallest given is {alphas[-1]}"
            )
        return alphas

    def _options(self) -> NetOptions:
        rng = self._selection_rng()
        return {"tol": self.tol, "max_iter": self.max_iter, "positive": self.positive, "rng": rng}

    def _errors(
        self, X: Table, y: Target, w: Weights, test: Indices, ready: CoordinateProblems, alphas: Array, ratio: float
    ) -> Array:
        """Mean squared error on the test rows for each alpha."""
        start = np.zeros(X.shape[1])
        found = fit_path(ready.problems[0], ready.weight, alphas, ratio, start, **self._options())
        W = np.column_stack([m.x for m in found])  # (d, alphas)
        surface = LinearModel(W.T, ready.offset - ready.centre @ W, ready.centre, ready.offset)
        residuals = y[test, None] - predictor(surface, X[test].astype(np.float64))
        return np.average(residuals**2, axis=0, weights=w[test])

    def _best(
        self, whole: CoordinateProblems, ratios: Array, grids: Array, mse: Array, dtype: DTypeLike
    ) -> LassoChoice:
        """The least mean error over the folds judged so far, fitted to all rows."""
        judged = np.isfinite(mse[:, 0]).any(axis=1)  # (ratios,)
        means = np.full(mse.shape[:2], np.inf)
        means[judged] = np.nanmean(mse[judged], axis=2)
        i, j = np.unravel_index(int(np.argmin(means)), mse.shape[:2])
        alpha, ratio = grids[i, j], ratios[i]
        start = np.zeros(len(whole.centre))
        end = fit_path(whole.problems[0], whole.weight, np.array([alpha]), ratio, start, **self._options())[0]
        linear = centred_linear(end.x, whole.centre, whole.offset[0], dtype, intercept=self.fit_intercept)
        alphas = grids[0] if len(ratios) == 1 or np.ndim(self.alphas) else grids
        errors = np.squeeze(mse, axis=0) if len(ratios) == 1 else mse
        return LassoChoice(
            linear, alpha, ratio, alphas, errors, np.float64(end.violation / whole.weight), max(end.steps, 1)
        )


def _training(X: Table, y: Target, w: Weights, splits: list[Fold], centre: bool) -> list[CoordinateProblems]:
    """The rows outside each fold, prepared."""
    n, d = X.shape
    tests = np.concatenate([test for _, test in splits])
    partition = len(tests) == n and np.array_equal(np.sort(tests), np.arange(n))
    if partition and gram_pays(n - len(tests) // len(splits), d) and all(len(a) + len(b) == n for a, b in splits):
        parts = [cross_moments(X[test], y[test, None], w[test]) for _, test in splits]
        rest = [reduce(CrossMoments.merged, parts[:k] + parts[k + 1 :]) for k in range(len(parts))]
        return [prepare_from_moments(moments, centred=centre) for moments in rest]
    return [prepare_columns(X[train], y[train, None], w[train], centred=centre) for train, _ in splits]


class LassoCV(LassoCVBase):
    """The lasso with its strength chosen by cross-validation along a path.

    Attributes
    ----------
    alpha_
        the strength chosen.
    mse_path_
        mean squared error of each strength on each fold.
    alphas_
        the strengths tried.

    Examples
    --------
    >>> from fivefold.linear_model import LassoCV
    >>> X = [[x, x % 3] for x in range(20)]
    >>> model = LassoCV(alphas=[0.01, 10.0]).fit(X, [2.0 * x for x, _ in X])
    >>> float(model.alpha_)
    0.01
    """

    path = staticmethod(lasso_path)
    card = Card(
        applications=("regression", "data mining"),
        use="The lasso when you do not know the strength of its penalty. Scale the columns first.",
        steps=CARD_STEPS,
        source="Tibshirani (1996); Friedman, Hastie & Tibshirani (2010)",
        see_also=("ElasticNetCV", "Lasso"),
        variants=({"alphas": 20, "cv": 3, "positive": True},),
    )


class ElasticNetCV(
    LassoCVBase, keywords="l1_ratio eps alphas fit_intercept precompute max_iter tol cv copy_X verbose n_jobs positive"
):
    """The elastic net with strength and mixture chosen by cross-validation along paths.

    Parameters
    ----------
    l1_ratio
        share of the penalty on the size of the coefficients, or a list of shares to try.

    Attributes
    ----------
    alpha_, l1_ratio_
        the strength and the share chosen.
    mse_path_
        mean squared error of each share and strength on each fold.
    alphas_
        the strengths tried, one row per share.

    Examples
    --------
    >>> from fivefold.linear_model import ElasticNetCV
    >>> X = [[x, x % 3] for x in range(20)]
    >>> model = ElasticNetCV(l1_ratio=[0.5, 1.0], alphas=[0.01, 10.0]).fit(X, [2.0 * x for x, _ in X])
    >>> float(model.alpha_), float(model.l1_ratio_)
    (0.01, 1.0)
    """

    _: KW_ONLY
    l1_ratio: Fraction | list[Any] | tuple[Any, ...] | np.ndarray = 0.5
    verbose: bool | int = 0

    l1_ratio_ = learned("l1_ratio")
    path = staticmethod(enet_path)
    card = Card(
        applications=("regression", "data mining"),
        use="The elastic net when you do not know the strength of its penalty. Scale the columns first.",
        steps=CARD_STEPS,
        source="Zou & Hastie (2005); Friedman, Hastie & Tibshirani (2010)",
        see_also=("ElasticNet", "LassoCV"),
        variants=({"alphas": 20, "cv": 3, "l1_ratio": [0.2, 0.8]},),
    )
