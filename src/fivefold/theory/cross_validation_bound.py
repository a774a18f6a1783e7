"""A certificate from cross-validation: no row is given up, and every error was made on rows that a model did not see.

Fold k has m_k rows, on which the model of the other rows makes x_k errors; e_k is its true error. What is bounded is
the mean of the e_k: the error of the rule that draws one of the K models at random for every new row. Their vote errs
at most twice as often, because where it errs at least half of the models do.

For each fold P(Bin(m_k, e_k) <= x_k) is a p-value. The folds share rows, so these depend on one another; whatever their
dependence, e times their geometric mean is a p-value too (Vovk & Wang 2020). With probability 1 - delta therefore

    mean_k ln(1 / P(Bin(m_k, e_k) <= x_k))  <=  1 + ln(1 / delta)

and the bound is the largest mean of the e_k that allows this. The price of the folds is the 1, however many they are;
a union bound would pay ln K. Each term is convex in e_k, because the distribution function of a binomial is
log-concave in its probability: at the maximum all slopes are equal. For losses between 0 and 1 that are not counts,
Chernoff's bound m_k KL(x_k / m_k, e_k) takes the place of the logarithm.

Vovk & Wang (2020), Combining p-values via averaging; Blum, Kalai & Langford (1999), Beating the hold-out.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass

import numpy as np
from numpy.typing import ArrayLike
from scipy.optimize import brentq
from scipy.special import betaincc, betaln, xlog1py, xlogy

from fivefold.core.types import Doubles
from fivefold.theory.bounds import BoundCard, BoundValue, Case, NotApplicable, register
from fivefold.theory.concentration import binary_kl_below

FOLD_RULE = "the rule that draws one of the fold models at random"
FOLD_ASSUMPTIONS = (
    "the rows are independent and come from where new data will come from",
    "the folds were drawn without looking at the errors; shares of classes that are equal in all folds only make the "
    "errors vary less than is counted here",
)
BISECTIONS = 40  # halvings of [0, 1]: an error to twelve digits
MIN_LOG_SLOPE, MAX_LOG_SLOPE = -60.0, 40.0  # between which every error rises from 0 to 1, to twelve digits


def cross_validation_upper(errors: ArrayLike, rows: ArrayLike, delta: float = 0.05, *, zero_one: bool = True) -> float:
    """Upper limit of the mean true error of models of K folds, from their errors on the rows of their fold.

    With `zero_one` false errors are sums of losses between 0 and 1, such as the shares of errors in groups of rows.

    Examples
    --------
    >>> round(cross_validation_upper([1, 0, 2, 1, 1], [30] * 5), 4)
    0.1815
    """
    x, m = np.broadcast_arrays(np.asarray(errors, dtype=float), np.asarray(rows, dtype=float))
    whole = not zero_one or bool((x == np.round(x)).all())
    if x.ndim != 1 or not x.size or (m < 1).any() or (x < 0).any() or (x > m).any() or not whole:
        raise ValueError(
            f"a count of errors and of rows per fold, errors between 0 and the rows; got {errors!r} on {rows!r}"
        )
    if not 0 < delta < 1:
        raise ValueError(f"delta is between 0 and 1, such as 0.05; got {delta}")
    budget = 1.0 + np.log(1 / delta)
    tail = BinomialTail(x, m) if zero_one else ChernoffTail(x, m)

    def overspent(log_slope: float) -> float:
        return float(np.mean(tail.exponent(_at_slope(tail, np.exp(log_slope))))) - budget

    if (x >= m).all() or overspent(MAX_LOG_SLOPE) <= 0:
        return 1.0
    slope = brentq(overspent, MIN_LOG_SLOPE, MAX_LOG_SLOPE, xtol=1e-12)
    return min(1.0, float(np.mean(_at_slope(tail, np.exp(slope)))))


@dataclass(frozen=True)
class BinomialTail:
    """ln(1 / P(Bin(m, e) <= x)): exact for errors that are counted."""

    x: Doubles
    m: Doubles

    def exponent(self, e: Doubles) -> Doubles:
        """Zero where all rows are wrong."""
        with np.errstate(divide="ignore"):
            return np.where(self.x >= self.m, 0.0, -np.log(betaincc(self.x + 1, self._right, e)))

    def slope(self, e: Doubles) -> Doubles:
        """The derivative; NaN where the probability is zero to the last bit."""
        log_density = xlogy(self.x, e) + xlog1py(self._right - 1, -e) - betaln(self.x + 1, self._right)
        with np.errstate(invalid="ignore", over="ignore"):
            return np.exp(log_density + self.exponent(e))

    @property
    def _right(self) -> Doubles:
        return np.maximum(self.m - self.x, 1.0)


@dataclass(frozen=True)
class ChernoffTail:
    """m KL(x / m, e), which is below ln(1 / P(sum <= x)) for losses between 0 and 1; zero for e below their mean."""

    x: Doubles
    m: Doubles

    def exponent(self, e: Doubles) -> Doubles:
        """Zero where all losses are 1."""
        return np.where(self.x >= self.m, 0.0, self.m * binary_kl_below(self.x / self.m, e))

    def slope(self, e: Doubles) -> Doubles:
        """The derivative."""
        return np.maximum(self.m * e - self.x, 0.0) / (e * (1 - e))


def _at_slope(tail: BinomialTail | ChernoffTail, slope: float) -> Doubles:
    """The errors e at which the exponents rise this steeply; 1 if all rows of a fold are wrong."""
    low, high = np.zeros(len(tail.x)), np.ones(len(tail.x))
    for _ in range(BISECTIONS):
        e = (low + high) / 2
        steep = ~(tail.slope(e) <= slope)  # NaN is steep
        low, high = np.where(steep, low, e), np.where(steep, e, high)
    return np.where(tail.x >= tail.m, 1.0, high)


@register(
    BoundCard(
        name="cross-validation folds",
        formula="largest mean of e_k with  mean_k ln(1 / P(Bin(m_k, e_k) <= x_k)) <= 1 + ln(1/delta)",
        rows="training",
        assumptions=FOLD_ASSUMPTIONS,
        use="For any learner at all, from folds that were run anyway; as wide as one fold is small.",
        source="Vovk & Wang (2020); Blum, Kalai & Langford (1999)",
    )
)
def _folds_bound(case: Case, delta: float) -> BoundValue:
    folds: Sequence[tuple[int, int]] | None = case.extra.get("folds")
    if folds is None:
        raise NotApplicable(
            "the errors of cross-validation were not given; pass folds=[(errors, rows), ...], one pair per fold"
        )
    errors, rows = np.asarray(folds, dtype=float).T
    return BoundValue(cross_validation_upper(errors, rows, delta), FOLD_RULE, {"folds": len(errors)})
