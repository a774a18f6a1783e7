"""PAC-Bayes at a fixed rate, and its average over several divisions of the rows.

For a rate C > 0 that was fixed before the n rows were seen, with probability 1 - delta for all posteriors Q at once,

    err  <=  (1 - exp(-C e - (KL(Q, P) + ln(1/delta)) / n)) / (1 - exp(-C))

with e the Gibbs error on the rows. The smallest right side over all C is that of KL(e, err) <= (KL(Q, P) + ln(1/delta))
/ n: a rate chosen well saves the term ln xi(n), half the logarithm of n, of the improved kl form. It may be chosen on
rows that the bound is not evaluated on, such as those that the prior was learned from.

Average. Let P_j be a prior that was learned on a part of the rows, and Q_j a posterior with error e_j on the n others,
for j = 1, ..., k divisions into parts of the same sizes. For each, with D(e, p) = -ln(1 - p (1 - exp(-C))) - C e,

    E exp(n D(e_j, err_j) - KL(Q_j, P_j))  <=  1

The exponential of a mean is at most the mean of the exponentials, so that the mean over j of the exponents has this
property too, though the parts overlap; and D is convex. Hence the bound holds, at the same delta, for the mean of the
e_j, of the KL(Q_j, P_j) and of the err_j; the last is the error of the mixture of the k posteriors. C must not depend
on any row that some e_j is computed from. For the kl forms the same holds, since KL(e, err) is convex.

Catoni (2007), PAC-Bayesian supervised classification; Germain, Lacasse, Laviolette & Marchand (2009); Foong, Bruinsma,
Burt & Turner (2021), How tight can PAC-Bayes be in the small data regime?
"""

from __future__ import annotations

import numpy as np

from fivefold.core.types import Array
from fivefold.theory.concentration.bound_arguments import Numbers
from fivefold.theory.concentration.kl_chernoff import kl_largest


def fixed_rate_upper(error: Numbers, complexity: Numbers, n: int, delta: float, rate: float) -> Array:
    """Upper limit of the Gibbs error for a rate that was fixed before the rows were seen; not cut at 1.

    Examples
    --------
    >>> fixed_rate_upper(np.array([0.0, 0.05, 0.1]), 5.0, 1000, 0.05, rate=0.8).round(6)
    array([0.014462, 0.0851  , 0.152968])
    """
    if n < 1 or not 0 < delta < 1 or not rate > 0:
        raise ValueError(
            f"a bound needs rows, delta between 0 and 1 and a positive rate; got n={n}, delta={delta}, rate={rate}"
        )
    e, C = np.asarray(error, dtype=float), np.asarray(complexity, dtype=float)
    return np.expm1(-rate * e - (C - np.log(delta)) / n) / np.expm1(-rate)


def best_rate(error: float, complexity: float, n: int, delta: float) -> float:
    """The rate that makes the bound smallest at this error and complexity: guess both before the rows are seen.

    Examples
    --------
    >>> round(best_rate(0.05, 5.0, 1000, 0.05), 4)
    0.5345
    """
    if not 0 < error < 1:
        raise ValueError(f"the rate is finite for an error between 0 and 1; got {error}")
    p = float(kl_largest(error, (complexity - np.log(delta)) / n))
    p = min(p, np.nextafter(1.0, 0.0))
    return float(np.log(p) - np.log1p(-p) - np.log(error) + np.log1p(-error))
