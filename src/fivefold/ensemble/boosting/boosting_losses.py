"""Losses for boosting: those of the optimisation engine with a start, and derivatives by blocks of rows.

    F_0 = argmin_c sum_i w_i loss(y_i, c),   g = loss'(y, F),   h = loss''(y, F)

F is (K, n): K trees per round, one per class if there are more than two. Losses with kinks have h = 1, and the value of
a leaf is the best constant for its residuals: their median or another quantile.
"""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass

import numpy as np
from scipy.special import logit

from fivefold.core.compilation.jit import jit
from fivefold.core.parallel import map_parts
from fivefold.core.types import Array, Matrix, Target, Weights
from fivefold.ensemble.boosting.log_loss_loops import pass_over_log_losses
from fivefold.optim.losses.base import Loss
from fivefold.optim.losses.elementwise import library
from fivefold.optim.losses.likelihood_losses import GammaLoss, PoissonLoss, SoftmaxLoss
from fivefold.optim.losses.margin_losses import LogLoss
from fivefold.optim.losses.regression_losses import AbsoluteLoss, QuantileLoss, SquaredLoss

PROBABILITY_MARGIN = 10 * np.finfo(float).eps  # class shares are kept at least this far from 0 and 1


@dataclass(frozen=True)
class BoostingLoss:
    """A loss, its initial score, and for losses with kinks the best constant for residuals."""

    loss: Loss
    start: Callable[[Target, Weights], Array]  # (y, w) -> (K,)
    leaf_constant: Callable[[Array, Weights], float] | None = None  # (residuals, weights) -> value of a leaf
    classes: int = 0  # 0 for numbers

    @property
    def trees_per_round(self) -> int:
        """Trees per round."""
        return self.classes if self.classes > 2 else 1

    def gradients(self, y: Target, F: Matrix, w: Weights, g: Matrix, h: Matrix) -> float | None:
        """Fill g and h (K, n) with the first and second derivatives; the mean loss where it costs nothing."""
        if isinstance(self.loss, LogLoss) and self.classes <= 2:
            return pass_over_log_losses(y, F[0], w, g[0], h[0])

        def part(lo: int, hi: int) -> None:
            if self.classes > 2:
                _softmax_slopes(y[lo:hi], F[:, lo:hi], g[:, lo:hi], h[:, lo:hi])
            else:
                t, eta = self._margins(y[lo:hi]), F[0, lo:hi]
                g[0, lo:hi] = self.loss.slope(t, eta)
                h[0, lo:hi] = 1.0 if self.leaf_constant is not None else self.loss.curvature(t, eta)
                if not self.loss.smooth:  # at the kink, the slope as if the target were larger
                    g[0, lo:hi][t == eta] = self.loss.slope(np.ones(1), np.zeros(1))

        map_parts(part, F.shape[1])
        return None

    def value(self, y: Target, F: Matrix, w: Weights, scratch: Matrix | None = None) -> float:
        """The mean loss; scratch (2, n) is memory to use for it."""
        if isinstance(self.loss, LogLoss) and self.classes <= 2:
            return pass_over_log_losses(y, F[0], w, *(np.empty((2, len(w))) if scratch is None else scratch))
        sums = map_parts(lambda lo, hi: float(w[lo:hi] @ self.row_losses(y[lo:hi], F[:, lo:hi])), len(w))
        return sum(sums) / float(w.sum())

    def row_losses(self, y: Target, F: Matrix) -> Array:
        """The loss of each row."""
        if self.classes > 2:
            return self.loss.value(y, F)
        return self.loss.value(self._margins(y), F[0])

    def _margins(self, y: Target) -> Target:
        """Two classes as -1 and 1, as losses of margins take them."""
        return 2 * y - 1 if self.classes else y

    def predict(self, F: Matrix) -> Array:
        """What the sum of trees predicts: means, or (n, K) probabilities."""
        if not self.classes:
            return self.loss.inverse_link(F[0])
        if self.classes > 2:
            return self.loss.inverse_link(F).T
        p = self.loss.inverse_link(F[0])
        return library(p).stack([1 - p, p], axis=1)[:, : self.classes]


def weighted_quantile(x: Array, w: Weights, q: float, *, between: bool = True) -> float:
    """The least value with a share q of the weight at or below it, or halfway to the next if the share is exact."""
    order = np.argsort(x, kind="stable")
    total = np.cumsum(w[order])
    wanted = q * total[-1]
    at = int(min(np.searchsorted(total, wanted * (1 - PROBABILITY_MARGIN)), len(x) - 1))
    exact = between and at + 1 < len(x) and total[at] <= wanted * (1 + PROBABILITY_MARGIN)
    return float(x[order[at]] / 2 + x[order[at + 1]] / 2) if exact else float(x[order[at]])


def _mean(y: Target, w: Weights) -> Array:
    return np.atleast_1d(float(w @ y) / float(w.sum()))  # without an array as long as the table


def _log_mean(y: Target, w: Weights) -> Array:
    return np.log(np.maximum(_mean(y, w), PROBABILITY_MARGIN))


def _log_odds(y: Target, w: Weights) -> Array:
    return logit(np.clip(_mean(y, w), PROBABILITY_MARGIN, 1 - PROBABILITY_MARGIN))


def class_loss(K: int) -> BoostingLoss:
    """Log loss of two classes, or of K."""
    if K <= 2:
        return BoostingLoss(LogLoss(), _log_odds, classes=K)

    def start(y: Target, w: Weights) -> Array:
        logs = np.log(np.clip(np.bincount(y, w, K) / w.sum(), PROBABILITY_MARGIN, 1 - PROBABILITY_MARGIN))
        return logs - logs.mean()

    return BoostingLoss(SoftmaxLoss(), start, classes=K)


def _quantile_loss(loss: Loss, q: float) -> BoostingLoss:
    def constant(r: Array, w: Weights) -> float:
        return weighted_quantile(r, w, q)

    return BoostingLoss(loss, lambda y, w: np.atleast_1d(constant(y, w)), constant)


REGRESSION_LOSSES: dict[str, Callable[[float | None], BoostingLoss]] = {
    "squared_error": lambda q: BoostingLoss(SquaredLoss(), _mean),
    "absolute_error": lambda q: _quantile_loss(AbsoluteLoss(), 0.5),
    "gamma": lambda q: BoostingLoss(GammaLoss(), _log_mean),
    "poisson": lambda q: BoostingLoss(PoissonLoss(), _log_mean),
    "quantile": lambda q: _quantile_loss(QuantileLoss(q or 0.5), q or 0.5),
}


@jit(error_model="numpy")
def _softmax_slopes(y, eta, g, h):
    K = len(eta)
    for i in range(eta.shape[1]):
        top, total = eta[0, i], 0.0
        for k in range(1, K):
            top = max(top, eta[k, i])
        for k in range(K):
            g[k, i] = np.exp(eta[k, i] - top)
            total += g[k, i]
        for k in range(K):
            p = g[k, i] / total
            h[k, i] = p * (1.0 - p)
            g[k, i] = p - 1.0 if y[i] == k else p
