"""PAC-Bayes: the error of a posterior Q over rules, chosen by the data, against a prior P that was fixed before.

The Gibbs classifier draws a rule from Q for each prediction. With e its error on n independent rows, err its error on
new rows and C = KL(Q, P), each of these holds with probability 1 - delta for all Q at once, so that Q may be chosen by
the bound itself:

    square root     |err - e|   <=  sqrt((C + ln(2 (n + 1) / delta)) / (2 n))
    relative        err         <=  e + sqrt(e c) + c,   c = 2 (C + ln(n / delta)) / (n - 1)
    kl              KL(e, err)  <=  (C + ln(n / delta)) / (n - 1)              where e < err
    improved kl     KL(e, err)  <=  (C + ln(2 sqrt(n) / delta)) / n            on both sides

KL of two numbers is p ln(p/q) + (1-p) ln((1-p)/(1-q)); it is inverted numerically. In the improved form 2 sqrt(n)
stands for the moment E exp(n KL(e, err)) of one rule, which is at most

    xi(n) = sum_k C(n, k) (k/n)^k (1 - k/n)^(n-k)  <=  2 sqrt(n)

and about sqrt(pi n / 2) + 2/3; with `exact_moment` the sum itself is used, which takes 0.47 off the logarithm. Errors
may be any losses between 0 and 1.

McAllester (1999, 2003); Langford & Seeger (2001); Maurer (2004), A note on the PAC-Bayesian theorem.
"""

from __future__ import annotations

from functools import lru_cache

import numpy as np
from scipy.special import gammaln, logsumexp, xlogy

from fivefold.core.types import Doubles
from fivefold.theory.concentration.bound_arguments import Numbers, as_given, check_confidence, doubles
from fivefold.theory.concentration.kl_chernoff import kl_largest, kl_smallest

LARGEST_SUM = 1_000_000  # terms of xi(n) that are summed; beyond, its difference from 2 sqrt(n) hardly matters


def square_root_margin(complexity: Numbers, n: int, delta: float) -> Numbers:
    """How far the error on new rows may be from the one seen, above or below.

    Examples
    --------
    >>> round(square_root_margin(5.0, 1000, 0.05), 6)
    0.088311
    """
    C = _checked(complexity, n, delta)
    return as_given(np.sqrt((C + np.log(2 * (n + 1) / delta)) / (2 * n)))


def relative_complexity(complexity: Numbers, n: int, delta: float) -> Numbers:
    """c = 2 (KL + ln(n / delta)) / (n - 1)."""
    return as_given(2 * _kl_budget(complexity, n, delta))


def relative_upper(error: Numbers, complexity: Numbers, n: int, delta: float) -> Numbers:
    """Upper limit of the error by the relative form; not cut at 1.

    Examples
    --------
    >>> relative_upper(np.array([0.0, 0.05, 0.1]), 5.0, 1000, 0.05).round(6)
    array([0.029837, 0.118461, 0.18446 ])
    """
    return from_relative_complexity(error, relative_complexity(complexity, n, delta))


def from_relative_complexity(error: Numbers, c: Numbers) -> Numbers:
    """e + sqrt(e c) + c."""
    e = doubles(error)
    return as_given(e + np.sqrt(e * c) + c)


def kl_form_upper(error: Numbers, complexity: Numbers, n: int, delta: float) -> Numbers:
    """Upper limit of the error by the kl form; never above the relative form.

    Examples
    --------
    >>> kl_form_upper(np.array([0.0, 0.05, 0.1]), 5.0, 1000, 0.05).round(6)
    array([0.014808, 0.096721, 0.159608])
    """
    return kl_largest(error, _kl_budget(complexity, n, delta))


def improved_kl_upper(
    error: Numbers, complexity: Numbers, n: int, delta: float, *, exact_moment: bool = False
) -> Numbers:
    """Upper limit of the error by the improved kl form.

    Examples
    --------
    >>> improved_kl_upper(np.array([0.0, 0.05, 0.1]), 5.0, 1000, 0.05).round(6)
    array([0.012069, 0.091349, 0.15311 ])
    """
    return kl_largest(error, improved_kl_budget(complexity, n, delta, exact_moment=exact_moment))


def improved_kl_lower(
    error: Numbers, complexity: Numbers, n: int, delta: float, *, exact_moment: bool = False
) -> Numbers:
    """Lower limit of the error by the improved kl form; both limits hold together, with probability 1 - delta."""
    return kl_smallest(error, improved_kl_budget(complexity, n, delta, exact_moment=exact_moment))


def improved_kl_budget(complexity: Numbers, n: int, delta: float, *, exact_moment: bool = False) -> Numbers:
    """(KL + ln(2 sqrt(n) / delta)) / n: what KL(e, err) may be."""
    C = _checked(complexity, n, delta)
    return as_given((C + (log_moment(n) if exact_moment else np.log(2 * np.sqrt(n))) - np.log(delta)) / n)


@lru_cache(maxsize=256)
def log_moment(n: int) -> float:
    """ln xi(n), the largest ln E exp(n KL(e, err)) that the errors of one rule on n rows can have.

    Examples
    --------
    >>> round(float(np.exp(log_moment(1))), 6), round(float(np.exp(log_moment(1000))), 3)
    (2.0, 40.303)
    """
    if n > LARGEST_SUM:
        return float(np.log(2 * np.sqrt(n)))
    k = np.arange(n + 1.0)
    choices = gammaln(n + 1) - gammaln(k + 1) - gammaln(n - k + 1)
    return float(logsumexp(choices + xlogy(k, k / n) + xlogy(n - k, (n - k) / n)))


def _kl_budget(complexity: Numbers, n: int, delta: float) -> Doubles:
    C = _checked(complexity, n, delta)
    if n < 2:
        raise ValueError(f"this form of the PAC-Bayes bound divides by n - 1 and needs two rows or more; got n={n}")
    return np.asarray((C + np.log(n / delta)) / (n - 1))


def _checked(complexity: Numbers, n: int, delta: float) -> Doubles:
    check_confidence(n, delta)
    C = doubles(complexity)
    if not (C >= 0).all():
        raise ValueError(f"a KL complexity is not negative; got {complexity}")
    return C
