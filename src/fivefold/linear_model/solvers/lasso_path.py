"""Paths of the lasso and of the elastic net: the coefficients for many strengths of the penalty.

    min over B, b of   1/(2 W) sum_i s_i |y_i - B'x_i - b|^2 + alpha (r sum_j |b_j| + (1 - r)/2 sum_j |b_j|^2)

W is the sum of the weights s, r the l1_ratio, and b_j a coefficient, or the row of them that several targets share.
Each minimum starts the search for the next, and what is known of the columns serves all: their Gram matrix where there
are more rows than columns, the columns themselves otherwise (see optim.proximal.coordinate_descent).

At alpha_max = max_j |z_j'y| / (W r) every coefficient is zero; a path usually falls from there to eps alpha_max.

Tibshirani (1996); Zou & Hastie (2005); Friedman, Hastie & Tibshirani (2010).
"""

from __future__ import annotations

import warnings
from dataclasses import dataclass, replace
from typing import Any, Required, TypedDict, Unpack

import numpy as np
from numpy.typing import ArrayLike
from scipy.sparse import csc_array, issparse
from sklearn.exceptions import ConvergenceWarning
from sklearn.utils import check_array, check_consistent_length

from fivefold.core.admission.sparse import canonical_csr
from fivefold.core.blas_threads import one_blas_thread
from fivefold.core.console.user_warnings import warn
from fivefold.core.estimators.params import MAX_MAGNITUDE
from fivefold.core.numerics.table_moments import CrossMoments, cross_moments
from fivefold.core.random_state import check_random_state
from fivefold.core.types import Array, Matrix, Rng, Table, Target, Weights
from fivefold.linear_model.base import weights_or_none
from fivefold.optim.minimise import minimise
from fivefold.optim.objective import Minimum, Monitor
from fivefold.optim.proximal.column_products import DenseProducts, GramProducts, SparseProducts
from fivefold.optim.proximal.coordinate_descent import ColumnProducts, CoordinateDescent, ElasticNetObjective
from fivefold.optim.proximal.quadratic_net import GramQuadratic, solve_quadratic_net

MAX_COLUMNS_GRAM = 256  # the Gram matrix of at most this many columns always pays
MAX_COLUMNS_GRAM_TALL = 4096  # that of at most this many columns pays if there are more rows than columns
TIGHT_GAP_STEPS = 50  # steps that aim at TIGHT_GAP, at most; after them `tol` is enough
TIGHT_GAP = 1e-11  # the gap aimed at, as a share of y'y: exact steps end far below any tolerance at no cost
SOLVER_DEFAULTS = {"tol": 1e-4, "max_iter": 1000, "random_state": None, "selection": "cyclic", "sample_weight": None}
BLOCK_ROWS = 64  # rows of a block that is transposed within the cache


@dataclass(frozen=True)
class CoordinateProblems:
    """Rows as coordinate descent wants them, one problem for each target or one for all, and the means taken off."""

    problems: tuple[ColumnProducts, ...]
    centre: Array  # (d,)
    offset: Array  # (T,)
    weight: float


def prepare_columns(X: Table, Y: Matrix, w: Weights, *, centred: bool, joint: bool = False) -> CoordinateProblems:
    """Weighted columns and targets (n, T), about their means if `centred`; `joint` for one problem of T targets."""
    if gram_pays(*X.shape):
        return prepare_from_moments(cross_moments(X, Y, weights_or_none(w)), centred=centred, joint=joint)
    weight, root = float(w.sum()), np.sqrt(w)
    centre = np.asarray(w @ X, dtype=np.float64) / weight if centred else np.zeros(X.shape[1])
    offset = w @ Y.astype(np.float64) / weight if centred else np.zeros(Y.shape[1])
    T = root[:, None] * (Y - offset)
    targets = [T] if joint else list(np.ascontiguousarray(T.T))
    if issparse(X):
        S = csc_array(X.astype(np.float64).multiply(root[:, None]))
        return CoordinateProblems(tuple(SparseProducts(S, centre, root, t) for t in targets), centre, offset, weight)
    Z = np.empty(X.shape[::-1])
    for a in range(0, len(X), BLOCK_ROWS):
        Z[:, a : a + BLOCK_ROWS] = ((X[a : a + BLOCK_ROWS] - centre) * root[a : a + BLOCK_ROWS, None]).T
    return CoordinateProblems(tuple(DenseProducts(Z, t) for t in targets), centre, offset, weight)


def gram_pays(n: int, d: int) -> bool:
    """Whether the Gram matrix of n rows and d columns pays."""
    return d <= MAX_COLUMNS_GRAM or (n > d and d <= MAX_COLUMNS_GRAM_TALL)


def prepare_from_moments(moments: CrossMoments, *, centred: bool, joint: bool = False) -> CoordinateProblems:
    """The same from the moments of the rows."""
    m = moments if centred else moments.about_zero()
    G = np.ascontiguousarray(m.scatter)
    outputs = [m.cross] if joint else list(np.ascontiguousarray(m.cross.T))
    totals = [m.spread.sum()] if joint else m.spread
    problems = tuple(GramProducts(G, q, float(total)) for q, total in zip(outputs, totals, strict=True))
    return CoordinateProblems(problems, m.mean, m.offset, m.weight)


def alpha_grid(data: ColumnProducts, weight: float, l1_ratio: float, eps: float, count: int, positive: bool) -> Array:
    """`count` strengths from the smallest that leaves no coefficient down to eps times it."""
    if l1_ratio < 1 / MAX_MAGNITUDE:
        raise ValueError(
            "no alpha makes every coefficient zero with l1_ratio=0, so a grid cannot be made: give the alphas, or an "
            "l1_ratio above zero (Automatic alpha grid generation is not supported for l1_ratio=0)"
        )
    zero = data.at(np.zeros_like(data.q))
    top = float(ElasticNetObjective(data, 0.0, positive=positive).pulls(zero).max(initial=0.0)) / (weight * l1_ratio)
    if top <= np.finfo(np.float64).resolution:
        return np.full(count, np.finfo(np.float64).resolution)
    return np.geomspace(top, top * eps, num=count)


class NetOptions(TypedDict, total=False):
    """How the minimum for one strength is searched for."""

    tol: Required[float]
    max_iter: Required[int]
    positive: bool
    rng: Rng | None
    monitor: Monitor | None


def fit_path(
    data: ColumnProducts, weight: float, alphas: Array, l1_ratio: float, x0: Array, **options: Unpack[NetOptions]
) -> list[Minimum]:
    """The minima for each alpha in turn, each from the one before."""
    found: list[Minimum] = []
    with one_blas_thread():
        for alpha in alphas:
            found.append(_fit_net(data, alpha * l1_ratio * weight, alpha * (1 - l1_ratio) * weight, x0, **options))
            x0 = found[-1].x
            if found[-1].reason in ("interrupted", "stopped"):
                break
    return found


def _fit_net(
    data: ColumnProducts,
    l1: float,
    l2: float,
    x0: Array,
    *,
    tol: float,
    max_iter: int,
    positive: bool = False,
    rng: Rng | None = None,
    monitor: Monitor | None = None,
) -> Minimum:
    """The minimum for one strength; warns if the gap stays above tol |y|^2."""
    net = ElasticNetObjective(data, l1, l2, positive)
    if data.has_gram and data.q.ndim == 1 and rng is None and monitor is None and max_iter > 0:
        at_once = _in_one_step(net, x0)
        if at_once.violation <= min(tol, TIGHT_GAP) * data.target_square:
            return at_once
        x0 = at_once.x
    solver, first = CoordinateDescent(rng), min(max_iter, TIGHT_GAP_STEPS)
    found = minimise(net, x0, solver, tol=min(tol, TIGHT_GAP) * data.target_square, max_iter=first, monitor=monitor)
    if found.reason == "max_iter" and first < max_iter:  # rounding may keep the gap from closing further
        more = minimise(net, found.x, solver, tol=tol * data.target_square, max_iter=max_iter - first, monitor=monitor)
        found = replace(more, history=(*found.history, *more.history[1:]))
    if found.reason == "max_iter" and found.violation > tol * data.target_square:
        warn(
            f"the duality gap is {found.violation:.3g} after {max_iter} steps, above tol * |y|^2 = "
            f"{tol * data.target_square:.3g}; raise max_iter or tol, or scale the columns to the same size",
            ConvergenceWarning,
        )
    return found


def _in_one_step(net: ElasticNetObjective, x0: Array) -> Minimum:
    """With Z'Z the first step is the last: its result, without what the loop of `minimise` would compute."""
    data = net.data
    value = net.value_at(data.at(x0))
    quadratic = GramQuadratic(*data.gram_block(np.arange(len(x0))))
    point = data.at(solve_quadratic_net(quadratic, net.l1, net.l2, x0, positive=net.positive))
    end = net.value_at(point)
    return Minimum(point.x, end, net.gap_at(point), (value, end), "converged")


def enet_path(
    X: Table,
    y: Target,
    *,
    l1_ratio: float = 0.5,
    eps: float = 1e-3,
    n_alphas: int | str | None = "deprecated",
    alphas: ArrayLike | None = "warn",
    precompute: ArrayLike = "auto",
    Xy: ArrayLike | None = None,
    copy_X: bool = True,
    coef_init: ArrayLike | None = None,
    verbose: bool | int = False,
    return_n_iter: bool = False,
    positive: bool = False,
    check_input: bool = True,
    **params: Any,
) -> tuple[Any, ...]:
    """alphas, coefficients (d, alphas) or (T, d, alphas), and duality gaps of the elastic net, without an intercept.

    Several columns of y share their zeros, as in MultiTaskElasticNet. `alphas` is a number of strengths (100 by
    default) or the strengths. `params` may hold tol, max_iter, selection, random_state and sample_weight.
    precompute, Xy, copy_X, verbose and check_input are kept for scikit-learn's signature: the shape of X decides what
    is computed, and X is never overwritten.

    >>> alphas, coefs, gaps = enet_path([[1.0], [-1.0]], [2.0, -2.0], l1_ratio=1.0, alphas=[1.0, 0.5])
    >>> coefs
    array([[1. , 1.5]])
    """
    if unknown := set(params) - set(SOLVER_DEFAULTS):
        raise ValueError(f"Unexpected parameters in params: {sorted(unknown)}; known are {sorted(SOLVER_DEFAULTS)}")
    solver = SOLVER_DEFAULTS | params
    sample_weight = solver["sample_weight"]
    X = canonical_csr(X, "X") if issparse(X) else X
    X = check_array(X, dtype=[np.float64, np.float32], accept_sparse="csr")
    y = check_array(y, dtype=np.float64, ensure_2d=False)
    check_consistent_length(X, y)
    joint = y.ndim == 2
    if joint and positive:
        raise ValueError("positive=True is not allowed with several targets: their coefficients shrink by length")
    w = np.ones(len(y)) if sample_weight is None else np.asarray(sample_weight, dtype=np.float64)
    ready = prepare_columns(X, y.reshape(len(y), -1), w, centred=False, joint=joint)
    data = ready.problems[0]
    given = np.asarray(_strengths(n_alphas, alphas), dtype=np.float64)
    if given.ndim == 0:
        strengths = alpha_grid(data, ready.weight, l1_ratio, eps, int(given), positive)
    else:
        strengths = np.sort(given)[::-1]
    shape = (X.shape[1], y.shape[1]) if joint else (X.shape[1],)
    x0 = np.zeros(shape) if coef_init is None else np.array(coef_init, dtype=np.float64).T
    rng = check_random_state(solver["random_state"]) if solver["selection"] == "random" else None
    options: NetOptions = {"tol": solver["tol"], "max_iter": solver["max_iter"], "positive": positive, "rng": rng}
    found = fit_path(data, ready.weight, strengths, l1_ratio, x0, **options)
    coefs = np.stack([m.x.T for m in found], axis=-1).astype(X.dtype)
    gaps = np.array([m.violation for m in found]) / ready.weight
    answer = (strengths, coefs, gaps)
    return (*answer, [max(m.steps, 1) for m in found]) if return_n_iter else answer


def _strengths(n_alphas: int | str | None, alphas: ArrayLike | None) -> ArrayLike:
    """How many strengths, or the strengths, from scikit-learn's old and new parameters."""
    if not (isinstance(n_alphas, str) and n_alphas == "deprecated"):
        warnings.warn("n_alphas is deprecated: pass that number as alphas", FutureWarning, stacklevel=4)
    if alphas is None:
        warnings.warn("alphas=None is deprecated: leave it out, or pass alphas=100", FutureWarning, stacklevel=4)
    if alphas is None or isinstance(alphas, str):
        return 100 if isinstance(n_alphas, str) or n_alphas is None else n_alphas
    return alphas


def lasso_path(
    X: Table,
    y: Target,
    *,
    eps: float = 1e-3,
    n_alphas: int | str | None = "deprecated",
    alphas: ArrayLike | None = "warn",
    precompute: ArrayLike = "auto",
    Xy: ArrayLike | None = None,
    copy_X: bool = True,
    coef_init: ArrayLike | None = None,
    verbose: bool | int = False,
    return_n_iter: bool = False,
    positive: bool = False,
    **params: Any,
) -> tuple[Any, ...]:
    """alphas, coefficients and duality gaps of the lasso: enet_path with l1_ratio = 1, and its other parameters.

    >>> lasso_path([[1.0], [-1.0]], [2.0, -2.0], alphas=[1.0])[1]
    array([[1.]])
    """
    return enet_path(
        X,
        y,
        l1_ratio=1.0,
        eps=eps,
        n_alphas=n_alphas,
        alphas=alphas,
        coef_init=coef_init,
        return_n_iter=return_n_iter,
        positive=positive,
        **params,
    )
