"""Ridge regression that chooses its penalty, by leaving out each row in turn without fitting again.

With Z'Z = V diag(l) V', c = V'Z'T and a row u = V'(x - mean) along these axes, for every alpha at once

    fitted   f = mean(y) + sum_k u_k c_k / (l_k + alpha)
    leverage h = 1 / n + sum_k u_k^2 / (l_k + alpha)              (1 / n belongs to the intercept)
    y - (prediction without the row) = (y - f) / (1 - s h)        s the weight of the row

One eigendecomposition serves all penalties; with more columns than rows it is that of ZZ'. n is the total weight. A row
is left out with all its weight, as folds that keep copies together leave it out: no copy of a row helps to predict it.

Allen (1974); Golub, Heath & Wahba (1979).
"""

from __future__ import annotations

from collections.abc import Callable, Iterator, Mapping
from dataclasses import KW_ONLY, dataclass
from functools import reduce
from numbers import Real
from typing import Any, Literal, Self

import numpy as np
from scipy.sparse import issparse
from sklearn.metrics import get_scorer

from fivefold.core._sklearn import BaseEstimator, RegressorMixin
from fivefold.core.admission.places import WIDE, without_tensor_path
from fivefold.core.admission.takes import Takes
from fivefold.core.chunks.chunked_array import is_chunked, sum_over_chunks
from fivefold.core.console.user_warnings import warn
from fivefold.core.estimators.base import learned
from fivefold.core.estimators.params import Positive
from fivefold.core.numerics.arrays import AnyArray, is_tensor, like
from fivefold.core.numerics.eigenpairs import eigen
from fivefold.core.numerics.products import affine, row_blocks
from fivefold.core.numerics.table_moments import cross_moments
from fivefold.core.numerics.tensors import cross_sums, on_host, row_cuts
from fivefold.core.parallel import map_parts
from fivefold.core.registry import Card
from fivefold.core.types import Array, Matrix, Table, Target, UserTable, UserTarget, UserWeights, Vector, Weights
from fivefold.linear_model.base import LinearModel, centred_linear, finite_predictor, solve_unchecked, weights_or_none
from fivefold.linear_model.model_selection.cv_folds import CrossValidatedRegressor, Fold, split_folds
from fivefold.linear_model.solvers.least_squares_solver import EPS, MAX_MOMENT_COLUMNS, OVERFLOW_MESSAGE
from fivefold.linear_model.solvers.ridge_solver import row_gram, weighted_means

RowBlocks = Callable[[int, int], Iterator[tuple[int, int, Matrix]]]  # blocks of rows along the axes, between two rows


@dataclass(frozen=True)
class PrincipalAxes:
    """The table along the axes of Z'Z."""

    values: Array  # (k,) the eigenvalues l
    vectors: Array  # (d, k)
    cross: Array  # (k, t) c
    centre: Array  # (d,)
    offset: Array  # (t,)
    share: float  # the leverage of the intercept: one over the total weight, or zero without one

    def coefficients(self, alpha: Array) -> Array:
        """W (d, t) for one alpha per output."""
        s = self.values[:, None] + alpha
        used = (s > EPS * len(s) * self.values.max(initial=0.0)) | (np.asarray(alpha) > 0)  # alpha=0: the shortest W
        return self.vectors @ np.divide(self.cross, s, out=np.zeros_like(self.cross), where=used)


@dataclass(frozen=True)
class RidgeChoice:
    """The surface at the best penalty, its score, and the result of every penalty."""

    linear: LinearModel
    alpha: float | Vector  # one, or one per output
    score: float | Vector
    results: Array | None  # (n, alphas) or (n, outputs, alphas)


class RidgeCV(CrossValidatedRegressor):
    """Ridge regression whose penalty is chosen by leave-one-out, in closed form, or by cross-validation.

    Parameters
    ----------
    alphas
        penalties to try, all positive.
    scoring
        name of a score or a scorer, larger is better; None takes the negative mean squared error, or with `cv` R^2.
    cv
        None leaves out each row in turn, with all its weight; a number of folds, a splitter, or pairs of row numbers.
    gcv_mode
        kept for scikit-learn's signature; the smaller of the two eigendecompositions is taken.
    store_cv_results
        keep the squared error times the row's weight, or with `scoring` the prediction, of every row and penalty.
    alpha_per_target
        choose a penalty for each output.

    Attributes
    ----------
    alpha_
        the best penalty, or one for each output.
    best_score_
        its score.
    coef_
        shape (d,), or (n_outputs, d).
    cv_results_
        what `store_cv_results` kept: shape (n, n_alphas) or (n, n_outputs, n_alphas).

    Examples
    --------
    >>> from sklearn.datasets import load_diabetes
    >>> from fivefold.linear_model import RidgeCV
    >>> X, y = load_diabetes(return_X_y=True)
    >>> RidgeCV(alphas=[1e-3, 1e-2, 1e-1, 1]).fit(X, y).alpha_
    0.01
    """

    alphas: Positive | np.ndarray | list[Any] | tuple[Any, ...] = (0.1, 1.0, 10.0)
    _: KW_ONLY
    fit_intercept: bool = True
    scoring: str | Callable[..., Any] | None = None
    cv: Any = None  # a number of folds, a splitter, or pairs of row numbers
    gcv_mode: Literal["auto", "svd", "eigen"] | None = None
    store_cv_results: bool = False
    alpha_per_target: bool = False

    takes = Takes(outputs=True, sparse=True, tensors=True, chunks=True, finite_later=True)
    card = Card(
        applications=("regression",),
        use="Ridge regression when the penalty is not known: many penalties cost little more than one.",
        steps=(
            "Take the eigenvectors of the centred second moments.",
            "From the leverage of each row get its error when left out, for every penalty.",
            "Keep the penalty with the smallest mean squared error.",
        ),
        source="Allen (1974); Golub, Heath & Wahba (1979)",
        see_also=("Ridge", "LinearRegression"),
        variants=({"fit_intercept": False}, {"scoring": "neg_mean_absolute_error"}),
    )

    alpha_ = learned("alpha")
    best_score_ = learned("score")

    @property
    def cv_results_(self) -> Array:
        """Squared errors or predictions of the rows left out."""
        results = self.model_.results
        if results is None:
            raise AttributeError("RidgeCV has no 'cv_results_' unless store_cv_results=True")
        return results

    def _fit(
        self, X: Table, y: Target, w: Weights, given_weight: UserWeights = None, split: Mapping[str, Any] = {}
    ) -> None:
        alphas, Y = self._penalties(), y.reshape(len(y), -1)
        if is_chunked(X) and (self.cv is not None or self.scoring is not None or self.store_cv_results):
            raise ValueError(
                "RidgeCV: a table in chunks is judged by the squared errors of rows left out: leave cv, scoring and "
                "store_cv_results at their defaults"
            )
        if self.gcv_mode == "svd" and issparse(X):
            text = "RidgeCV: gcv_mode='svd' of a sparse X has no effect, and scikit-learn will refuse it; leave it out"
            warn(text, FutureWarning)
        if self.cv is None and len(Y) < 2:
            raise ValueError(f"RidgeCV: leaving one out needs two rows of positive weight; got n_samples={len(Y)}")
        axes, rows = solve_unchecked(self, X, lambda: _axes(X, Y, weights_or_none(w), self.fit_intercept))
        if is_chunked(X):
            squares = sum_over_chunks(lambda *rows: _chunk_squares(axes, alphas, *rows), X, Y, w)
            scores, kept = -squares.T / w.sum(), None
            scores = scores if self.alpha_per_target and Y.shape[1] > 1 else scores.mean(axis=1)
        elif self.cv is None:
            scores, kept = self._leaving_out(axes, rows, alphas, y, Y, w)  # (alphas,) or (alphas, t)
        else:
            splits = self._folds(X, y, given_weight, split)
            scores, kept = self._by_folds(X, y, Y, w, alphas, splits), None
        best = scores.argmax(axis=0)
        alpha = alphas[best]
        W = axes.coefficients(np.broadcast_to(alpha, Y.shape[1:]))
        coef = W.T if Y.shape[1] > 1 else W[:, 0]
        linear = centred_linear(
            coef, axes.centre, axes.offset.reshape(y.shape[1:]), X.dtype, intercept=self.fit_intercept
        )
        each = scores.ndim == 2
        score = np.take_along_axis(scores, best[None], axis=0)[0] if each else scores[best]
        self.model_ = RidgeChoice(linear, alpha if each else float(alpha), score, kept)

    def _host_reason(self, X: Table) -> str:
        return without_tensor_path(
            {
                WIDE: X.shape[0] <= X.shape[1],
                "cv": self.cv is not None,
                "scoring": self.scoring is not None,
                "store_cv_results=True": self.store_cv_results,
            }
        )

    def predict(self, X: UserTable) -> Any:
        """The predicted target of each row."""
        X = self._admit(X)
        return finite_predictor(self, self.model_.linear, X)

    def _penalties(self) -> Array:
        if any(not isinstance(alpha, Real) for alpha in np.ravel(np.asarray(self.alphas, dtype=object))):
            raise TypeError(f"RidgeCV: alphas must be numbers; got {self.alphas!r}")
        alphas = np.atleast_1d(np.asarray(self.alphas, dtype=np.float64))
        allowed = np.isfinite(alphas) & ((alphas > 0) if self.cv is None else (alphas >= 0))
        if alphas.ndim != 1 or not alphas.size or not allowed.all():
            raise ValueError(
                f"RidgeCV: alphas must be positive numbers, or zero where cv is given; got {self.alphas!r}"
            )
        return alphas

    def _leaving_out(
        self, axes: PrincipalAxes, rows: RowBlocks, alphas: Vector, y: Target, Y: Matrix, w: Weights
    ) -> tuple[Array, Array | None]:
        """The score of each penalty, per output with `alpha_per_target`; and what `store_cv_results` keeps per row."""
        each = self.alpha_per_target and Y.shape[1] > 1
        shape = (*y.shape, len(alphas))
        if is_tensor(Y):
            scores = -_squares_of_tensor(axes, rows, alphas, Y, w).T / float(w.sum())
            return (scores if each else scores.mean(axis=1)), None
        if self.scoring is None and not self.store_cv_results:
            squares = reduce(np.add, map_parts(lambda lo, hi: _squares(axes, rows, alphas, Y, w, lo, hi), len(Y)))
            scores = -squares.T / w.sum()  # (alphas, t)
            return (scores if each else scores.mean(axis=1)), None
        E = np.concatenate(map_parts(lambda lo, hi: _left_out(axes, rows, alphas, Y, w, lo, hi), len(Y)))  # (n, t, A)
        if self.scoring is None:
            squares = w[:, None, None] * E**2
            scores = -squares.sum(axis=0).T / w.sum()
            return (scores if each else scores.mean(axis=1)), squares.reshape(shape).astype(y.dtype)
        predictions = (Y[:, :, None] - E).reshape(shape)
        scores = np.stack([self._score(predictions[..., a], y, w, each) for a in range(len(alphas))])
        return scores, predictions.astype(y.dtype) if self.store_cv_results else None

    def _folds(self, X: Table, y: Target, given_weight: UserWeights, split: Mapping[str, Any]) -> list[Fold]:
        if self.store_cv_results or self.alpha_per_target:
            asked = "store_cv_results" if self.store_cv_results else "alpha_per_target"
            raise ValueError(f"RidgeCV: {asked}=True goes with cv=None only; got cv={self.cv!r}")
        return split_folds(self.cv, X, y, given_weight, **split)

    def _by_folds(self, X: Table, y: Target, Y: Matrix, w: Weights, alphas: Vector, splits: list[Fold]) -> Vector:
        """The mean score of each penalty over the folds: one eigendecomposition per fold."""
        scores = np.empty((len(splits), len(alphas)))
        for k, (train, test) in enumerate(splits):
            axes = _axes(X[train], Y[train], weights_or_none(w[train]), self.fit_intercept)[0]
            for a, alpha in enumerate(alphas):
                W = axes.coefficients(alpha)
                predictions = X[test] @ W + (axes.offset - axes.centre @ W)
                scores[k, a] = self._score(predictions.reshape(y[test].shape), y[test], w[test], False)
        return scores.mean(axis=0)

    def _score(self, predictions: Target, y: Target, w: Weights, each: bool) -> Array:
        """The score of predictions, one per output if `each`."""
        weights = {} if weights_or_none(w) is None else {"sample_weight": w}
        scorer = get_scorer("r2" if self.scoring is None else self.scoring)
        if not each:
            return np.asarray(scorer(_IdentityRegressor(), predictions, y, **weights))
        outputs = zip(predictions.T, y.T, strict=True)
        return np.array([scorer(_IdentityRegressor(), p, t, **weights) for p, t in outputs])


class _IdentityRegressor(RegressorMixin, BaseEstimator):
    """Predicts its input, so that a scorer can judge predictions made elsewhere."""

    def fit(self, X: UserTable, y: UserTarget = None) -> Self:
        """Learn nothing."""
        return self

    def predict(self, X: UserTable) -> Any:
        """The predictions."""
        return X


def _axes(X: Table, Y: Array, w: Array | None, centred: bool) -> tuple[PrincipalAxes, RowBlocks]:
    """The axes, and blocks of rows u along them."""
    n, d = X.shape
    if issparse(X) and min(n, d) > MAX_MOMENT_COLUMNS:
        raise ValueError(
            f"RidgeCV: a sparse table of {n} rows and {d} columns is too large for its eigenvectors (at most "
            f"{MAX_MOMENT_COLUMNS} of either); pass cv=5 to refit instead"
        )
    return (_from_columns if d < n or is_chunked(X) else _from_rows)(X, Y, w, centred)


def _from_columns(X: Table, Y: Array, w: Array | None, centred: bool) -> tuple[PrincipalAxes, RowBlocks]:
    m = cross_moments(X, Y, w)
    if not np.isfinite(m.mean).all():
        raise ValueError(OVERFLOW_MESSAGE)
    share = 1 / m.weight if centred else 0.0
    m = m if centred else m.about_zero()
    values, V = eigen(m.scatter)
    axes = PrincipalAxes(np.maximum(values, 0.0), V, V.T @ m.cross, m.mean, m.offset, share)
    return axes, _rows_along(axes, X)


def _rows_along(axes: PrincipalAxes, X: Table) -> RowBlocks:
    """Blocks of the rows of X along the axes of its columns."""
    V, centre = axes.vectors, axes.centre
    centre_along = centre @ V

    def rows(lo: int, hi: int) -> Iterator[tuple[int, int, Array]]:
        if is_tensor(X):
            yield lo, hi, affine(X[lo:hi], centre, V)
            return
        for a, b, block in row_blocks(X, lo, hi):
            yield a, b, (block @ V - centre_along) if issparse(X) else (block - centre) @ V

    return rows


def _chunk_squares(axes: PrincipalAxes, alphas: Array, X: Table, Y: Array, w: Array) -> Array:
    """(t, alphas): the weighted squares of the errors of the rows of a chunk, each left out."""
    rows = _rows_along(axes, X)
    parts: list[Array] = map_parts(lambda lo, hi: _squares(axes, rows, alphas, Y, w, lo, hi), len(Y))
    return reduce(np.add, parts)


def _from_rows(X: Table, Y: Array, w: Array | None, centred: bool) -> tuple[PrincipalAxes, RowBlocks]:
    centre, offset = weighted_means(X, Y, w, centred)
    s = np.ones(len(Y)) if w is None else w
    root = np.sqrt(s)[:, None]
    K, back = row_gram(X, w, centre)
    values, Q = eigen(K)
    used = values > EPS * len(values) * values[0]
    values, Q = values[used], Q[:, used]
    length = np.sqrt(values)
    axes = PrincipalAxes(
        values, back(Q) / length, length[:, None] * (Q.T @ (root * (Y - offset))), centre, offset, centred / s.sum()
    )
    U = Q * length / root

    def rows(lo: int, hi: int) -> Iterator[tuple[int, int, Array]]:
        return row_blocks(U, lo, hi)

    return axes, rows


def _left_out(axes: PrincipalAxes, rows: RowBlocks, alphas: Array, Y: Array, w: Array, lo: int, hi: int) -> Array:
    """(m, t, alphas): targets minus their predictions from the other rows."""
    return np.concatenate([E for _, _, E in _errors(axes, rows, alphas, Y, w, lo, hi)])


def _squares(axes: PrincipalAxes, rows: RowBlocks, alphas: Array, Y: Array, w: Array, lo: int, hi: int) -> Array:
    """(t, alphas): the weighted squares of these errors, summed."""
    total: Any = sum(np.tensordot(w[a:b], E**2, axes=1) for a, b, E in _errors(axes, rows, alphas, Y, w, lo, hi))
    return total


def _squares_of_tensor(axes: PrincipalAxes, rows: RowBlocks, alphas: Array, Y: AnyArray, w: AnyArray) -> Array:
    """(t, alphas): the same on the device of Y."""
    shrunk, total, t = 1 / (axes.values[:, None] + alphas), 0.0, Y.shape[1]
    gain = (axes.cross[:, :, None] * shrunk[:, None]).reshape(len(shrunk), t * len(alphas))
    bend, gains, offset = (like(part, Y) for part in (shrunk, gain, axes.offset))
    U: AnyArray
    for lo, hi in row_cuts(Y, 2 * len(shrunk) + 4 * t * len(alphas)):
        ((a, b, U),) = rows(lo, hi)
        v = w[a:b].to(Y.dtype)[:, None]
        E = (Y[a:b] - offset)[:, :, None] - (U @ gains).view(b - a, t, len(alphas))
        left = (1 - v * (axes.share + U.square() @ bend)).clamp_(min=EPS)  # (m, A)
        E /= left[:, None]
        total = total + cross_sums(v, E.square_().view(b - a, -1))[0]
    return on_host(total).reshape(t, len(alphas))


def _errors(
    axes: PrincipalAxes, rows: RowBlocks, alphas: Array, Y: Array, w: Array, lo: int, hi: int
) -> Iterator[tuple[int, int, Array]]:
    shrunk = 1 / (axes.values[:, None] + alphas)  # (k, A)
    gain = (axes.cross[:, :, None] * shrunk[:, None]).reshape(len(shrunk), Y.shape[1] * len(alphas))  # (k, t A)
    for a, b, U in rows(lo, hi):
        E = (Y[a:b] - axes.offset)[:, :, None] - (U @ gain).reshape(b - a, Y.shape[1], len(alphas))
        leverage = axes.share + U**2 @ shrunk  # (m, A)
        yield a, b, E / np.maximum(1 - w[a:b, None] * leverage, EPS)[:, None]
