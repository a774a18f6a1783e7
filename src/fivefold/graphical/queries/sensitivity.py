"""How a query depends on evidence and on the numbers of the model: explaining away, sensitivity, kinds of queries.

A probability P(a | e) is a ratio of two linear functions of any one entry t of a table, if the other entries of its
row keep their proportions:

    P(a | e)(t) = (c0 + c1 t) / (d0 + d1 t)

Castillo, Gutierrez & Hadi (1997); Chan & Darwiche (2002).
"""

from __future__ import annotations

import math
from dataclasses import dataclass
from typing import Literal

import numpy as np

from fivefold.graphical.assignments import assignment_text
from fivefold.graphical.bayesian_network import BayesianNetwork
from fivefold.graphical.graphs.d_separation import ActivePath, active_path
from fivefold.graphical.graphs.named_nodes import Nodes
from fivefold.graphical.variables import Evidence, State

QueryKind = Literal["causal", "diagnostic", "intercausal", "mixed", "prior"]


def query_kind(network: BayesianNetwork, ask: Nodes, given: Evidence | Nodes) -> QueryKind:
    """Does the evidence lie above what is asked (causal), below it (diagnostic), beside it, or everywhere?"""
    graph = network.graph
    asked = graph.names(graph.indices(ask))
    observed = set(graph.names(graph.indices(given)))
    if not observed:
        return "prior"
    above, below = set(graph.ancestors(asked)), set(graph.descendants(asked))
    if observed <= above:
        return "causal"
    if observed <= below:
        return "diagnostic"
    causes = set(graph.ancestors(tuple(observed & below))) if observed & below else set()
    return "intercausal" if observed <= below | (causes - above) else "mixed"


@dataclass(frozen=True)
class ExplainingAway:
    """How one cause of an observed effect becomes less probable when another is known."""

    cause: str
    alternative: str
    prior: float
    given_effect: float
    given_both: dict[State, float]  # by the state of the alternative
    text: str
    path: ActivePath | None  # along which the two causes depend on each other, given the effect

    def __str__(self) -> str:
        return self.text


def explaining_away(network: BayesianNetwork, cause: Evidence, alternative: str, effect: Evidence) -> ExplainingAway:
    """P(cause), P(cause | effect) and P(cause | effect, alternative) for every possible state of the alternative."""
    ((name, state),) = cause.items()

    def p(given: Evidence) -> float:
        return network.query(name, given)[state]

    prior, alone = p({}), p(effect)
    states = network.variables.states[network.variables.index(alternative)]
    possible = [s for s, chance in zip(states, network.query(alternative, effect).table, strict=True) if chance > 0]
    both = {s: p({**effect, alternative: s}) for s in possible}
    seen = assignment_text(effect)
    what = assignment_text(cause)
    lines = [f"P({what}) = {prior:.4g}", f"P({what} | {seen}) = {alone:.4g}"]
    for s, value in both.items():
        verdict = "explained away" if value < alone else "more probable" if value > alone else "unchanged"
        lines.append(f"P({what} | {seen}, {alternative}={s}) = {value:.4g}: {verdict}")
    path = active_path(network.graph, name, alternative, tuple(effect))
    return ExplainingAway(name, alternative, prior, alone, both, "\n".join(lines), path)


@dataclass(frozen=True)
class Sensitivity:
    """A probability as a function of one entry of a table: (c0 + c1 t) / (d0 + d1 t)."""

    entry: float  # the value of the entry in the network
    value: float  # the probability at this value
    derivative: float  # by the entry, at this value
    numerator: tuple[float, float]
    denominator: tuple[float, float]

    def __call__(self, t: float) -> float:
        """The probability if the entry were t."""
        (c0, c1), (d0, d1) = self.numerator, self.denominator
        return (c0 + c1 * t) / (d0 + d1 * t)

    def entry_for(self, probability: float) -> float | None:
        """The value of the entry at which the query has this probability; None if there is none in [0, 1]."""
        (c0, c1), (d0, d1) = self.numerator, self.denominator
        slope = c1 - probability * d1
        t = (probability * d0 - c0) / slope if slope else math.nan
        return t if 0 <= t <= 1 else None


def sensitivity(
    network: BayesianNetwork,
    event: Evidence,
    given: Evidence | None,
    node: str,
    state: State,
    parents: Evidence | None = None,
) -> Sensitivity:
    """How P(event | given) depends on the entry P(node = state | parents), the rest of its row in proportion.

    Examples
    --------
    >>> network = BayesianNetwork.from_tables({"a": [0.5, 0.5], "b": [[0.9, 0.1], [0.2, 0.8]]}, {"b": ["a"]})
    >>> found = sensitivity(network, {"a": 1}, {"b": 1}, "b", 1, {"a": 0})
    >>> round(found.value, 4), round(found.derivative, 4), round(found.entry_for(0.5), 4)
    (0.8889, -0.9877, 0.8)
    """
    codes = network.variables.codes_of(parents)
    i = network.variables.index(node)
    if set(codes) != set(network.parents[i]):
        raise ValueError(f"a row of the table of {node!r} needs the states of {network.parents_of(node)}")
    row = tuple(codes[p] for p in network.parents[i])
    k = network.variables.code(node, state)
    table = network.tables[i]
    entry = float(table[*row, k])
    rest = np.delete(table[row], k)
    shares = rest / rest.sum() if rest.sum() > 0 else np.full(len(rest), 1 / max(len(rest), 1))

    def at(t: float) -> tuple[float, float]:
        changed = table.copy()
        changed[row] = np.insert((1 - t) * shares, k, t) if len(shares) else 1.0
        other = network.replaced({node: changed})
        seen = other.assignment(given)
        return math.exp(other.log_partition(seen.extended(event))), math.exp(other.log_partition(seen))

    (c0, d0), (c_end, d_end) = at(0.0), at(1.0)
    c1, d1 = c_end - c0, d_end - d0
    below = d0 + d1 * entry
    value = (c0 + c1 * entry) / below
    return Sensitivity(entry, value, (c1 * d0 - c0 * d1) / below**2, (c0, c1), (d0, d1))
