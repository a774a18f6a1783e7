"""The Occam bounds as certificates of any fitted model with a description.

The length is that of `describe(model)`, or of `describe(model, ranges)` where `certify(..., ranges=...)` names the
plausible ranges of the columns. The bound holds for every model of the language at once, so that it does not matter how
this one was found: by a greedy search, by pruning, or by trying all.
"""

from __future__ import annotations

from fivefold.information.occam_bounds import exact_bound, root_bound
from fivefold.theory.bounds import BoundCard, BoundValue, Case, register
from fivefold.theory.codes import describe
from fivefold.theory.occam.code_length_bounds import OCCAM_ASSUMPTIONS, binomial_bound, kl_bound, occam_interval

SOURCE = "Blumer, Ehrenfeucht, Haussler & Warmuth (1987); McAllester (2009), Case Studies in Machine Learning"


@register(
    BoundCard(
        name="Occam, square root",
        formula="e + sqrt((bits ln 2 + ln(2 / delta)) / (2 n))",
        rows="training",
        assumptions=OCCAM_ASSUMPTIONS,
        use="Tight only where the error is near one half and there are many more rows than bits; the lower limit comes "
        "with it.",
        source=SOURCE,
    )
)
def occam_square_root(case: Case, delta: float) -> BoundValue:
    """The square-root bound, with the lower limit among its details."""
    bits = described_bits(case)
    low, _ = occam_interval(case.errors, bits, case.n, delta)
    return _value(float(root_bound(case.errors, bits, case.n, delta)), bits, **{"lower limit": float(low)})


@register(
    BoundCard(
        name="Occam, relative",
        formula="e + c / 2 + sqrt(e c + c^2 / 4),  c = 2 (bits ln 2 + ln(1 / delta)) / n;  at most e + sqrt(e c) + c",
        rows="training",
        assumptions=OCCAM_ASSUMPTIONS,
        use="Models with few errors on the training rows; from an error of one quarter on the square root is better.",
        source=SOURCE,
    )
)
def occam_relative(case: Case, delta: float) -> BoundValue:
    """The relative bound, solved for the error."""
    bits = described_bits(case)
    return _value(float(exact_bound(case.errors, bits, case.n, delta)), bits)


@register(
    BoundCard(
        name="Occam, KL form",
        formula="the largest q with  n KL(e, q) <= bits ln 2 + ln(1 / delta)",
        rows="training",
        assumptions=OCCAM_ASSUMPTIONS,
        use="Never above the square root and the relative bound.",
        source=f"{SOURCE}; Langford (2005)",
        never_above=("Occam, square root", "Occam, relative"),
    )
)
def occam_kl(case: Case, delta: float) -> BoundValue:
    """The KL form."""
    bits = described_bits(case)
    return _value(float(kl_bound(case.errors, bits, case.n, delta)), bits)


@register(
    BoundCard(
        name="Occam, binomial form",
        formula="the q with  P(Bin(n, q) <= errors) = delta 2^-bits",
        rows="training",
        assumptions=OCCAM_ASSUMPTIONS,
        use="The smallest of the Occam bounds: the tail is inverted exactly. Small where rows are ten times the bits.",
        source="Langford (2005), Tutorial on practical prediction theory for classification",
        never_above=("Occam, square root", "Occam, relative", "Occam, KL form"),
    )
)
def occam_binomial(case: Case, delta: float) -> BoundValue:
    """The binomial form."""
    bits = described_bits(case)
    return _value(float(binomial_bound(case.errors, bits, case.n, delta)), bits)


def described_bits(case: Case) -> float:
    """Code length of the model; NotApplicable, in the words of `describe`, if it has none."""
    return describe(case.model, case.extra.get("ranges")).bits


def _value(bound: float, bits: float, **details: float) -> BoundValue:
    return BoundValue(min(1.0, bound), details={"bits": bits, **details})
