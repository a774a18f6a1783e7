"""The certificate of a model from a hold-out: rows it was neither trained nor chosen on.

The errors on n such rows are n independent draws, so every bound of `concentration` holds. For errors 0 and 1 the exact
binomial limit is never above the one in KL form, and that is never above Hoeffding's or the relative one; the binomial
limit is therefore the bound, and no part of delta is spent on choosing. For losses between 0 and 1 it is the KL form.
"""

from __future__ import annotations

from fivefold.theory.bounds import BoundCard, Case, register
from fivefold.theory.certificate import Certificate
from fivefold.theory.concentration import (
    binomial_upper,
    chebyshev_upper,
    empirical_bernstein_upper,
    hoeffding_margin,
    kl_upper,
    relative_upper,
    relative_upper_simple,
)

HOLDOUT_ASSUMPTIONS = (
    "the hold-out rows are independent and come from where new data will come from",
    "the model was fixed before the hold-out was opened, which was opened once",
)

TEST_SOURCE = "Langford (2005), Tutorial on practical prediction theory for classification"


@register(
    BoundCard(
        name="binomial inversion",
        formula="largest p with P(Bin(n, p) <= errors) >= delta",
        rows="held out",
        assumptions=HOLDOUT_ASSUMPTIONS,
        use="Exact for errors counted on held-out rows: nothing on such rows is tighter.",
        source="Clopper & Pearson (1934); " + TEST_SOURCE,
        never_above=(
            "KL inversion",
            "relative Chernoff",
            "relative Chernoff, simple",
            "Hoeffding",
            "empirical Bernstein",
            "Chebyshev",
        ),
    )
)
def _binomial(case: Case, delta: float) -> float:
    return binomial_upper(case.errors, case.n, delta)


@register(
    BoundCard(
        name="KL inversion",
        formula="largest p with n KL(error, p) <= ln(1/delta)",
        rows="held out",
        assumptions=HOLDOUT_ASSUMPTIONS,
        use="Tight for every error; holds for losses between 0 and 1 too.",
        source="Chernoff (1952); " + TEST_SOURCE,
        never_above=("relative Chernoff", "relative Chernoff, simple", "Hoeffding"),
    )
)
def _kl(case: Case, delta: float) -> float:
    return kl_upper(case.risk, case.n, delta)


@register(
    BoundCard(
        name="relative Chernoff",
        formula="error + c/2 + sqrt(error c + c^2/4),  c = 2 ln(1/delta) / n",
        rows="held out",
        assumptions=HOLDOUT_ASSUMPTIONS,
        use="Good for small errors, loose near one half; by hand where KL inversion needs a computer.",
        source="Angluin & Valiant (1979)",
        never_above=("relative Chernoff, simple",),
    )
)
def _relative(case: Case, delta: float) -> float:
    return relative_upper(case.risk, case.n, delta)


@register(
    BoundCard(
        name="relative Chernoff, simple",
        formula="error + sqrt(error c) + c,  c = 2 ln(1/delta) / n",
        rows="held out",
        assumptions=HOLDOUT_ASSUMPTIONS,
        use="A little above the relative bound, and easier to remember.",
        source="Angluin & Valiant (1979)",
    )
)
def _relative_simple(case: Case, delta: float) -> float:
    return relative_upper_simple(case.risk, case.n, delta)


@register(
    BoundCard(
        name="Hoeffding",
        formula="error + sqrt(ln(1/delta) / (2 n))",
        rows="held out",
        assumptions=HOLDOUT_ASSUMPTIONS,
        use="The same width whatever the error: loose for small ones.",
        source="Hoeffding (1963)",
    )
)
def _hoeffding(case: Case, delta: float) -> float:
    return case.risk + hoeffding_margin(case.n, delta, sides=1)


@register(
    BoundCard(
        name="empirical Bernstein",
        formula="error + sqrt(2 V L / n) + 7 L / (3 (n - 1)),  L = ln(2/delta),  V the variance of the losses",
        rows="held out",
        assumptions=HOLDOUT_ASSUMPTIONS,
        use="For losses of small variance, whatever their mean; for counted errors the binomial limit is lower.",
        source="Maurer & Pontil (2009)",
    )
)
def _empirical_bernstein(case: Case, delta: float) -> float:
    variance = float(case.wrong.var(ddof=1)) if case.n > 1 else 0.0
    return empirical_bernstein_upper(case.risk, variance, case.n, delta)


@register(
    BoundCard(
        name="Chebyshev",
        formula="largest p with (p - error)^2 <= p (1 - p) (1 - delta) / (n delta)",
        rows="held out",
        assumptions=HOLDOUT_ASSUMPTIONS,
        use="Needs no more than a variance; its width grows like 1/sqrt(delta), so it is loose for small delta.",
        source="Cantelli (1928)",
    )
)
def _chebyshev(case: Case, delta: float) -> float:
    return chebyshev_upper(case.risk, case.n, delta)


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
