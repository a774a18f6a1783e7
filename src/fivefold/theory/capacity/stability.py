"""Leave-one-out errors and stability: a rule that one row hardly changes has an error close to what the rows show.

    nearest neighbours  E (R - R_loo)^2  <=  1/n + 6 P(answers differ without a row)  <=  (6 k + 1) / n, so that
                        R <= R_loo + sqrt((6 k + 1) / (n delta))                     Chebyshev: k neighbours, n rows

    uniform stability   |f - f without row i|  <=  b everywhere, hence
                        R <= mean ramp(y f / g) + 2 b / g + (4 n b / g + 1) sqrt(ln(1 / delta) / (2 n))
    regularised loss    min (1/n) sum loss + lambda |f|^2, loss Lipschitz with constant s, k(x, x) <= kappa^2:
                        b  =  s kappa^2 / (2 lambda n)

    kernel ridge on labels -1, 1: lambda = alpha / n; |f| <= 1 / sqrt(lambda), since f = 0 has loss 1; the slope of the
    squared loss is therefore at most s = 2 (1 + kappa / sqrt(lambda))

    infinitely many rows: Bayes error e, nearest neighbour r, K classes:  e <= r <= e (2 - K e / (K - 1)) <= 2 e

Cover & Hart (1967); Devroye & Wagner (1979); Devroye, Gyorfi & Lugosi (1996); Bousquet & Elisseeff (2002).
"""

from __future__ import annotations

import math
from functools import singledispatch
from typing import Any

import numpy as np

from fivefold.theory.bounds import BoundCard, BoundValue, Case, NotApplicable, register
from fivefold.theory.capacity.margin_bound import mean_ramps
from fivefold.theory.capacity.margins import UNIT_KERNELS, scaled_margins
from fivefold.theory.capacity.vc_bounds import INDEPENDENT

MARGIN_STEPS = 20  # margins 2^0, 2^-1/2, ... for the uniform stability: beyond, b / g is above 1 on any table


def cover_hart_limits(bayes_error: float, classes: int = 2) -> tuple[float, float]:
    """Between which the error of the nearest neighbour lies, on infinitely many rows.

    Examples
    --------
    >>> cover_hart_limits(0.25)
    (0.25, 0.375)
    """
    highest = (classes - 1) / classes
    if classes < 2 or not 0 <= bayes_error <= highest:
        raise ValueError(f"with {classes} classes the Bayes error lies between 0 and {highest:.4g}; got {bayes_error}")
    return bayes_error, bayes_error * (2 - bayes_error / highest)


def bayes_error_limits(neighbor_error: float, classes: int = 2) -> tuple[float, float]:
    """Between which the Bayes error lies, from the error of the nearest neighbour on infinitely many rows.

    Examples
    --------
    >>> [round(limit, 6) for limit in bayes_error_limits(0.18)]
    [0.1, 0.18]
    """
    highest = (classes - 1) / classes
    if classes < 2 or not 0 <= neighbor_error <= highest:
        raise ValueError(
            f"with {classes} classes the neighbour's error lies between 0 and {highest:.4g}; got {neighbor_error}"
        )
    return highest * (1 - math.sqrt(1 - neighbor_error / highest)), neighbor_error


def neighbor_deviation(k: int, n: int, delta: float = 0.05) -> float:
    """How far the leave-one-out error of k neighbours strays from the error.

    Examples
    --------
    >>> round(neighbor_deviation(1, 10_000), 4)
    0.1183
    """
    if n < 1 or k < 1 or not 0 < delta < 1:
        raise ValueError(f"a bound needs rows, neighbours and delta between 0 and 1; got n={n}, k={k}, delta={delta}")
    return math.sqrt((6 * k + 1) / (n * delta))


def uniform_stability(slope: float, kappa: float, penalty: float, n: int) -> float:
    """How far any answer moves when a row is left out: loss of that slope, plus penalty times |f|^2, k(x,x) <= kappa^2.

    Examples
    --------
    >>> uniform_stability(1.0, 1.0, 0.5, 1000)  # a support vector machine without a threshold, C = 1 / n
    0.001
    """
    if min(slope, kappa, penalty, n) <= 0:
        raise ValueError(f"all are positive; got slope={slope}, kappa={kappa}, penalty={penalty}, n={n}")
    return slope * kappa**2 / (2 * penalty * n)


@singledispatch
def leave_one_out_error(model: Any) -> tuple[int, float]:
    """How many neighbours answer, and the share of the rows of fit that the others answer wrongly."""
    if type(model).__name__ != "KNeighborsClassifier":
        raise NotApplicable(f"{type(model).__name__} is no rule of k nearest neighbours")
    if model.metric == "precomputed":
        raise NotApplicable("distances were computed beforehand, and the rows themselves are not known")
    k, own = int(model.n_neighbors), model.model_.target if hasattr(model, "model_") else model._y
    if len(own) <= k:
        return k, 1.0  # without a row there are too few others
    return k, float(np.mean(np.asarray(model.predict_proba(None)).argmax(axis=1) != np.ravel(own)))


@singledispatch
def answer_stability(model: Any, n: int) -> float:
    """How far any answer f(x) of a classifier of two classes moves when one of its n rows is left out."""
    if type(model).__name__ != "KernelRidgeClassifier":
        raise NotApplicable(f"{type(model).__name__} is not known to be uniformly stable; kernel ridge is")
    unit = isinstance(model.kernel, str) and model.kernel in UNIT_KERNELS
    if model.fit_intercept or not unit or model.class_weight is not None or not model.alpha:
        raise NotApplicable(
            "the stability of kernel ridge is known without a threshold and class weights, alpha above 0, and for a "
            f"kernel with k(x, x) = 1: {', '.join(sorted(UNIT_KERNELS))}"
        )
    penalty = float(model.alpha) / n
    return uniform_stability(2 * (1 + 1 / math.sqrt(penalty)), 1.0, penalty, n)


def stability_confidence(stability: float, n: int, delta: float = 0.05) -> float:
    """What is added to the mean loss in [0, 1] of a rule whose losses move by at most `stability` without a row.

    Examples
    --------
    >>> round(stability_confidence(0.001, 1000), 4)
    0.1955
    """
    return 2 * stability + (4 * n * stability + 1) * math.sqrt(math.log(1 / delta) / (2 * n))


@register(
    BoundCard(
        name="leave-one-out, neighbours",
        formula="R <= R_loo + sqrt((6 k + 1) / (n delta))",
        rows="training",
        assumptions=(
            INDEPENDENT,
            "the number of neighbours and the metric were fixed before the rows were seen",
            "no two rows are equally far from a third",
        ),
        use="Nearest neighbours, which no capacity bounds. Needs many rows, since delta is under the root.",
        source="Rogers & Wagner (1978); Devroye & Wagner (1979); Devroye, Gyorfi & Lugosi (1996)",
    )
)
def neighbor_bound(case: Case, delta: float) -> BoundValue:
    """The leave-one-out error of k neighbours and its deviation."""
    k, loo = leave_one_out_error(case.model)
    return BoundValue(loo + neighbor_deviation(k, case.n, delta), details={"leave-one-out error": loo})


@register(
    BoundCard(
        name="uniform stability",
        formula="R <= mean ramp(y f / g) + 2 b / g + (4 n b / g + 1) sqrt(ln(1 / delta_g) / 2n), b = s / (2 alpha)",
        rows="training",
        assumptions=(INDEPENDENT, "the kernel, its settings and alpha were fixed before the rows were seen"),
        use="Kernel ridge whose alpha grows with the number of rows; with a small alpha one row may change much.",
        source="Bousquet & Elisseeff (2002)",
    )
)
def stability_bound(case: Case, delta: float) -> BoundValue:
    """Kernel ridge classification of two classes with a bounded kernel."""
    moved = answer_stability(case.model, case.n)
    margins = scaled_margins(case.model, case.X, case.y).margins
    g = 2.0 ** (-np.arange(MARGIN_STEPS) / 2)
    added = [stability_confidence(moved / margin, case.n, delta / MARGIN_STEPS) for margin in g]
    values = mean_ramps(margins, 1 / g) + np.array(added)
    return BoundValue(float(values.min()), details={"stability": moved})
