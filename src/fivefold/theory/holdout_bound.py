"""The certificate of a model from a hold-out: rows it was neither trained nor chosen on.

The errors on n such rows are n independent draws, so every bound of `concentration` holds. For errors 0 and 1 the exact
binomial limit is never above the one in KL form, and that is never above Hoeffding's or the relative one; the binomial
limit is therefore the bound, and no part of delta is spent on choosing. For losses between 0 and 1 it is the KL form.
"""

from __future__ import annotations

from fivefold.theory.certificate import Certificate
from fivefold.theory.concentration import (
    binomial_upper,
    hoeffding_margin,
    kl_upper,
    relative_upper,
    relative_upper_simple,
)

HOLDOUT_ASSUMPTIONS = (
    "the hold-out rows are independent and come from where new data will come from",
    "the model was fixed before the hold-out was opened, which was opened once",
)


def certify_holdout(errors: float, n: int, delta: float = 0.05, *, zero_one: bool = True) -> Certificate:
    """From the number of errors on n rows; with `zero_one` false, from the sum of n losses between 0 and 1.

    Examples
    --------
    >>> print(certify_holdout(10, 1000))
    error below 0.0169 with probability 0.95; 0.01 on 1000 rows
      binomial inversion         0.0169
      KL inversion               0.01976
      relative Chernoff          0.0213
      relative Chernoff, simple  0.02373
      Hoeffding                  0.0487
    assumes: the hold-out rows are independent and come from where new data will come from
    assumes: the model was fixed before the hold-out was opened, which was opened once
    """
    if n < 1 or not 0 <= errors <= n:
        raise ValueError(f"errors lie between 0 and the number of rows; got {errors} on {n} rows")
    if zero_one and errors != int(errors):
        raise ValueError(f"errors are counted; got {errors}. For losses between 0 and 1 give zero_one=False")
    mean = errors / n
    parts = {"binomial inversion": binomial_upper(int(errors), n, delta)} if zero_one else {}
    parts |= {
        "KL inversion": kl_upper(mean, n, delta),
        "relative Chernoff": min(1.0, relative_upper(mean, n, delta)),
        "relative Chernoff, simple": min(1.0, relative_upper_simple(mean, n, delta)),
        "Hoeffding": min(1.0, mean + hoeffding_margin(n, delta, sides=1)),
    }
    return Certificate(
        risk=mean,
        bound=next(iter(parts.values())),
        parts=parts,
        n=n,
        delta=delta,
        assumptions=HOLDOUT_ASSUMPTIONS,
    )
