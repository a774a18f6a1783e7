"""Rademacher complexity: how well a family follows random signs.

    Rad(F)  =  E over signs s of  sup_{f in F} (1/n) sum_i s_i f(x_i)        on the rows at hand: the empirical one

    |w| <= B, linear            <=  B sqrt(sum_i |x_i|^2) / n
    |w| <= B, of a kernel       <=  B sqrt(sum_i k(x_i, x_i)) / n
    N vectors of answers -1, 1  <=  sqrt(2 ln N / n)                         Massart; N: the growth function of a family
    convex hull of F             =  Rad(F)                                    votes are no richer than their members
    g(f), g Lipschitz with L    <=  L Rad(F)

For losses in [0, 1], with probability 1 - delta, for all f at once,

    R(f)  <=  R_emp(f) + 2 E Rad + sqrt(ln(1 / delta) / (2 n))
    R(f)  <=  R_emp(f) + 2 Rad + 3 sqrt(ln(2 / delta) / (2 n))                from the rows alone

Errors are 0 or 1, and answers f are -1 or 1: the loss is (1 - y f) / 2, so its complexity is half that of the answers.

Koltchinskii & Panchenko (2002); Bartlett & Mendelson (2002); Massart (2000).
"""

from __future__ import annotations

import math
from collections.abc import Callable

import numpy as np
from numpy.typing import ArrayLike
from sklearn.utils import check_random_state

from fivefold.core.types import Array, Matrix, Rng

MAX_ENUMERATED_ROWS = 14  # up to here all 2^n signs are tried in place of a sample: 16,384 products at most
BLOCK_SIGNS = 1 << 22  # signs that are held at a time

Supremum = Callable[[Matrix], Array]  # (draws, n) signs -> (draws,) the largest sum of a member times the signs


def ball_complexity(X: ArrayLike, norm: float = 1.0) -> float:
    """An upper bound for linear functions w'x with |w| <= norm, on the rows of X.

    Examples
    --------
    >>> ball_complexity([[3.0, 4.0], [3.0, 4.0]])
    3.5355...
    """
    X = np.atleast_2d(np.asarray(X, dtype=float))
    return kernel_complexity(np.einsum("ij,ij->i", X, X), norm)


def kernel_complexity(diagonal: ArrayLike, norm: float = 1.0) -> float:
    """An upper bound for functions of norm at most `norm`, from k(x, x) of every row."""
    k = np.asarray(diagonal, dtype=float)
    return float(norm * math.sqrt(max(k.sum(), 0.0)) / len(k))


def massart_bound(log_members: float, n: int, length: float = 1.0) -> float:
    """An upper bound for finitely many vectors of answers, whose root mean square is at most `length`.

    Examples
    --------
    >>> round(massart_bound(math.log(100), 1000), 4)
    0.096
    """
    return float(length * math.sqrt(2 * log_members / n))


def empirical_rademacher(answers: ArrayLike, *, draws: int = 1000, random_state: int | Rng | None = None) -> float:
    """Of finitely many functions, given by their answers (functions, n): exact up to 14 rows, by simulation beyond.

    Examples
    --------
    >>> empirical_rademacher([[1, 1], [1, -1], [-1, 1], [-1, -1]], random_state=0)  # these follow all signs
    1.0
    >>> empirical_rademacher([[1, 1]], random_state=0)  # and this one none
    0.0
    """
    A = np.atleast_2d(np.asarray(answers, dtype=float))
    return mean_supremum(lambda signs: (signs @ A.T).max(axis=1), A.shape[1], draws=draws, random_state=random_state)


def ball_rademacher(
    X: ArrayLike, norm: float = 1.0, *, draws: int = 1000, random_state: int | Rng | None = None
) -> float:
    """Of linear functions with |w| <= norm: norm E |sum_i s_i x_i| / n, exact up to 14 rows, by simulation beyond."""
    X = np.atleast_2d(np.asarray(X, dtype=float))
    return norm * mean_supremum(
        lambda signs: np.linalg.norm(signs @ X, axis=1), len(X), draws=draws, random_state=random_state
    )


def mean_supremum(supremum: Supremum, n: int, *, draws: int, random_state: int | Rng | None = None) -> float:
    """The mean over signs of the largest sum, divided by n."""
    if n <= MAX_ENUMERATED_ROWS:
        codes = np.arange(2**n)[:, None]
        return float(supremum(1.0 - 2.0 * (codes >> np.arange(n) & 1)).mean() / n)
    rng: Rng = check_random_state(random_state)
    total, step = 0.0, max(1, BLOCK_SIGNS // n)
    for start in range(0, draws, step):
        signs: Array = 2.0 * rng.randint(2, size=(min(step, draws - start), n)) - 1.0
        total += float(supremum(signs).sum())
    return total / (draws * n)


def rademacher_confidence(complexity: float, n: int, delta: float = 0.05, *, empirical: bool = True) -> float:
    """What is added to the mean loss: `complexity` is that of the losses, on the rows at hand or in expectation.

    Examples
    --------
    >>> round(rademacher_confidence(0.05, 1000), 4)
    0.2288
    """
    if n < 1 or not 0 < delta < 1 or complexity < 0:
        raise ValueError(
            "a bound needs rows, a complexity from 0 up, and delta between 0 and 1; got "
            f"n={n}, complexity={complexity}, delta={delta}"
        )
    return 2 * complexity + float(deviation(n, np.array(math.log(1 / delta)), empirical=empirical))


def deviation(n: int, log_odds: Array, *, empirical: bool) -> Array:
    """How far means stray, for ln(1 / delta) = log_odds: a delta below the smallest float is possible."""
    found: Array = np.sqrt((log_odds + empirical * math.log(2)) / (2 * n)) * (3.0 if empirical else 1.0)
    return found
