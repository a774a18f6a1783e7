"""Dutch books: bets that an agent takes at its own prices and that lose whatever happens.

The agent sells and buys, at the price q_j, a ticket that pays 1 if event A_j comes true; with a pair (bid, ask) it buys
at the bid and sells at the ask. With stakes s_j (positive: it buys that many tickets) its loss in outcome w is

    loss(w) = sum_j s_j (q_j - A_j(w)),            |s_j| <= 1

A linear program finds the stakes whose least loss over all outcomes is largest. Its dual finds the probability whose
expectations are closest to the quotes, and both have the same value:

    max_s min_w loss(w)  =  min_p sum_j |P(A_j) - q_j|

Zero: some probability agrees with every quote. Positive: there is none, and the stakes are the book.

de Finetti (1937); McAllester (2009), Case Studies in Machine Learning, section 1.2.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from typing import Any, TypeAlias

import numpy as np
from scipy.optimize import linprog

from fivefold.core.types import Mask, Matrix, Vector
from fivefold.rules.formulas.boolean_formulas import Formula, parse_formula

MAX_ATOMS = 16  # atoms whose truth values are all combined: 65,536 outcomes
SOLVER_TOLERANCE = 1e-10  # by which constraints of the linear program may be missed: the least that HiGHS takes
LEAST_LOSS = 1e-9  # a sure loss below this is rounding

Quote: TypeAlias = float | tuple[float, float]


@dataclass(frozen=True)
class BettingCoherence:
    """Whether quotes can be exploited, and by which bets.

    Attributes
    ----------
    quotes
        Event -> price, or (bid, ask).
    stakes
        Event -> tickets that the agent is made to buy (positive) or sell (negative), at most one of each event.
    sure_loss
        What the agent loses at least with these stakes, whatever happens; 0 if the quotes are coherent.
    outcomes
        Which events come true in each kind of outcome, (m, events); outcomes with the same events are one kind.
    losses
        What the agent loses in each, (m,).
    probability
        A probability of the kinds of outcome, (m,): it agrees with the quotes if they are coherent, and is as close to
        them as one can be if not.
    """

    quotes: dict[str, Quote]
    stakes: dict[str, float]
    sure_loss: float
    outcomes: Mask
    losses: Vector
    probability: Vector

    @property
    def coherent(self) -> bool:
        """Is there no book?"""
        return self.sure_loss == 0

    @property
    def event_probability(self) -> dict[str, float]:
        """P(A_j) of each event under `probability`."""
        return dict(zip(self.quotes, (self.probability @ self.outcomes).tolist(), strict=True))

    def __str__(self) -> str:
        if self.coherent:
            return "coherent: a probability agrees with every quote"
        deals = [
            f"  {'buy' if stake > 0 else 'sell'} {abs(stake):.4g} of {event!r} at {_price(quote, stake):.4g}"
            for (event, quote), stake in zip(self.quotes.items(), self.stakes.values(), strict=True)
            if stake
        ]
        return "\n".join([f"a Dutch book: the agent loses at least {self.sure_loss:.4g}", *deals])


def check_quotes(
    quotes: Mapping[str | Formula, Quote], *, outcomes: Sequence[Mapping[Any, Any]] | None = None
) -> BettingCoherence:
    """Find bets at these prices that lose for sure, or a probability that agrees with the prices.

    Parameters
    ----------
    quotes
        event -> price of a ticket that pays 1 if it comes true, or (bid, ask). Events are formulas such as
        "rain and not wind", as text or as `Formula`.
    outcomes
        what can happen: for each outcome the truth values of the atoms, those left out being false. Without them every
        combination of truth values of the atoms can.

    Examples
    --------
    >>> print(check_quotes({"rain": 0.6, "not rain": 0.5}))
    a Dutch book: the agent loses at least 0.1
      buy 1 of 'rain' at 0.6
      buy 1 of 'not rain' at 0.5
    >>> found = check_quotes({"rain": 0.6, "wind": 0.5, "rain and wind": 0.4})
    >>> found.coherent, {event: round(p, 9) for event, p in found.event_probability.items()}
    (True, {'rain': 0.6, 'wind': 0.5, 'rain and wind': 0.4})
    """
    if not quotes:
        raise ValueError("there are no quotes to check")
    events = {str(event): parse_formula(event) if isinstance(event, str) else event for event in quotes}
    if len(events) < len(quotes):
        raise ValueError("the same event is quoted twice, as text and as a formula")
    kinds = _event_patterns(list(events.values()), outcomes)  # (m, events)
    low, high = np.array([_bid_and_ask(event, quote) for event, quote in zip(events, quotes.values(), strict=True)]).T
    losses = np.hstack([low - kinds, kinds - high])  # (m, 2 events): per ticket bought, per ticket sold
    tickets, probability = _largest_sure_loss(losses)
    J = len(events)
    stakes = tickets[:J] - tickets[J:]
    worst = losses @ tickets
    book = worst.min() > LEAST_LOSS
    if not book:
        stakes, worst = np.zeros(J), np.zeros(len(kinds))
    return BettingCoherence(
        quotes=dict(zip(events, quotes.values(), strict=True)),
        stakes=dict(zip(events, stakes.tolist(), strict=True)),
        sure_loss=float(worst.min()) if book else 0.0,
        outcomes=kinds,
        losses=worst,
        probability=probability,
    )


def _largest_sure_loss(losses: Matrix) -> tuple[Vector, Vector]:
    """Tickets in [0, 1] whose least loss over the outcomes is largest, and the dual: a probability of the outcomes."""
    m, J = losses.shape
    found = linprog(
        np.append(np.zeros(J), -1.0),  # maximise t
        A_ub=np.column_stack([-losses, np.ones(m)]),  # t <= loss in each outcome
        b_ub=np.zeros(m),
        bounds=[(0.0, 1.0)] * J + [(None, None)],
        method="highs",
        options={"primal_feasibility_tolerance": SOLVER_TOLERANCE, "dual_feasibility_tolerance": SOLVER_TOLERANCE},
    )
    if found.x is None:
        raise RuntimeError(f"the linear program over {m} outcomes was not solved: {found.message}")
    weights = np.maximum(-found.ineqlin.marginals, 0.0)
    return found.x[:J], weights / weights.sum()


def _event_patterns(events: list[Formula], outcomes: Sequence[Mapping[Any, Any]] | None) -> Mask:
    """The different rows (m, events) of truth values that the events can have together."""
    atoms = list(dict.fromkeys(atom for event in events for atom in event.features))
    if outcomes is None:
        if len(atoms) > MAX_ATOMS:
            raise ValueError(
                f"{len(atoms)} atoms have 2^{len(atoms)} outcomes; at most {MAX_ATOMS} are combined. Give the outcomes "
                "that can happen"
            )
        table = ((np.arange(2 ** len(atoms))[:, None] >> np.arange(len(atoms))) & 1).astype(bool)
    else:
        if not len(outcomes):
            raise ValueError("no outcome can happen: give at least one")
        table = np.array([[_truth(outcome.get(atom, False), atom) for atom in atoms] for outcome in outcomes])
    values = {atom: table[:, j] for j, atom in enumerate(atoms)}
    patterns: Mask = np.unique(np.column_stack([event.holds(values) for event in events]), axis=0)
    return patterns


def _truth(value: Any, atom: Any) -> bool:
    if value not in (0, 1):
        raise ValueError(f"an outcome says whether {atom!r} is true or false; got {value!r}")
    return bool(value)


def _bid_and_ask(event: str, quote: Any) -> tuple[float, float]:
    low, high = quote if isinstance(quote, tuple) else (quote, quote)
    if not (np.isfinite(low) and np.isfinite(high)):
        raise ValueError(f"the price of {event!r} must be a finite number or a pair (bid, ask); got {quote!r}")
    if low > high:
        raise ValueError(f"the bid of {event!r} is above its ask: the agent buys at {low:g} what it sells at {high:g}")
    return float(low), float(high)


def _price(quote: Quote, stake: float) -> float:
    """What the agent pays or gets per ticket."""
    return quote[0 if stake > 0 else 1] if isinstance(quote, tuple) else quote
