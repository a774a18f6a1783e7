"""Is one prior as general as another?

    P is as general as Q   iff   some epsilon > 0 has P(f) >= epsilon Q(f) for every f

The largest such epsilon is min over f with Q(f) > 0 of P(f) / Q(f), never above 1 for priors that sum to one;
log2(1 / epsilon) is the most bits that must be added to a rule of Q's language to say it in P's. A prior with a zero
where the other is positive cannot say that rule at all: infinitely many bits.

McAllester (2009), Case Studies in Machine Learning, section 1.4.
"""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass
from typing import Any, Literal

import numpy as np
from numpy.typing import ArrayLike

from fivefold.core.types import Vector

SUM_TOLERANCE = 1e-9  # by which a sum of probabilities may exceed one

Relation = Literal["equally general", "strictly more general", "strictly less general", "neither"]


@dataclass(frozen=True)
class PriorGenerality:
    """Two priors P and Q, compared both ways.

    Attributes
    ----------
    bits_added
        The most bits that must be added to a rule of Q to say it in P; infinite: P cannot say it.
    bits_added_back
        The same from P to Q.
    hardest, hardest_back
        The rules that need these bits.
    """

    bits_added: float
    bits_added_back: float
    hardest: Any
    hardest_back: Any

    @property
    def epsilon(self) -> float:
        """The largest epsilon with P >= epsilon Q."""
        return float(2.0**-self.bits_added)

    @property
    def epsilon_back(self) -> float:
        """The largest epsilon with Q >= epsilon P."""
        return float(2.0**-self.bits_added_back)

    @property
    def relation(self) -> Relation:
        """What P is, compared with Q."""
        there, back = np.isfinite(self.bits_added), np.isfinite(self.bits_added_back)
        if there and back:
            return "equally general"
        return "strictly more general" if there else "strictly less general" if back else "neither"


def compare_generality(
    P: Mapping[Any, float] | ArrayLike, Q: Mapping[Any, float] | ArrayLike, *, lengths: bool = False
) -> PriorGenerality:
    """Compare two priors over the same rules, both ways.

    Parameters
    ----------
    P, Q
        probabilities, by rule or in one order; a rule that a mapping leaves out has none.
    lengths
        code lengths in bits are given in place of probabilities; infinite for a rule that cannot be said.

    Examples
    --------
    >>> found = compare_generality([0.5, 0.25, 0.25], [0.5, 0.5, 0.0])
    >>> found.relation, found.bits_added, found.epsilon_back
    ('strictly more general', 1.0, 0.0)
    """
    names, p, q = _aligned(P, Q, absent=np.inf if lengths else 0.0)
    bits_p, bits_q = (_bits(v, name, lengths) for v, name in ((p, "P"), (q, "Q")))
    said = [_most_added(ours, theirs) for ours, theirs in ((bits_p, bits_q), (bits_q, bits_p))]
    (added, i), (back, j) = said
    return PriorGenerality(added, back, names[i], names[j])


def _aligned(P: Any, Q: Any, absent: float) -> tuple[list[Any], Vector, Vector]:
    """The rules, and the entries of both priors in their order."""
    if isinstance(P, Mapping) != isinstance(Q, Mapping):
        raise TypeError("give both priors as mappings from rule to number, or both as numbers in the same order")
    if isinstance(P, Mapping):
        names = list(dict.fromkeys([*P, *Q]))
        p, q = (np.array([prior.get(f, absent) for f in names], dtype=float) for prior in (P, Q))
    else:
        p, q = (np.asarray(prior, dtype=float) for prior in (P, Q))
        names = list(range(p.size))
    if p.ndim != 1 or p.shape != q.shape or not len(names):
        raise ValueError(f"two priors over the same rules have as many numbers; got shapes {p.shape} and {q.shape}")
    return names, p, q


def _bits(values: Vector, name: str, lengths: bool) -> Vector:
    """Code lengths of a prior that is checked to be one."""
    with np.errstate(divide="ignore", invalid="ignore"):
        bits = values if lengths else -np.log2(values)
    total = float(np.exp2(-bits).sum())
    if np.isnan(bits).any() or not 0 < total <= 1 + SUM_TOLERANCE:
        what = "2^-length of its code lengths" if lengths else "its probabilities, none of them negative,"
        raise ValueError(f"{name} is no prior: {what} must sum to at most 1 and to more than 0; the sum is {total:g}")
    return bits


def _most_added(bits: Vector, other: Vector) -> tuple[float, int]:
    """The largest excess of `bits` over those of rules that the other can say, and where."""
    can = np.isfinite(other)
    added = np.where(can, bits - np.where(can, other, 0.0), -np.inf)
    return float(added.max()), int(added.argmax())
