"""Sum-product on factor graphs that are trees, message by message, in any semiring.

    mu_{f -> x}(x) = sum over the other variables of f  f(...) prod of mu_{y -> f}(y)
    mu_{x -> f}(x) = prod over the other factors of x  mu_{g -> x}(x)
    p(x)           ~ prod over all factors of x  mu_{f -> x}(x)

Observed variables have one more factor that is one at the state seen. In a pairwise model, where factors join at most
two variables, a message from variable i to variable j is that of their common factor,
m_ij = Psi_ij' [Phi_i * prod of m_li, l not j]. In a directed tree the message from a variable's own conditional table
is Pearl's pi, and the product of the others his lambda. Messages are divided by their sum and the logarithms of the
sums kept, so that long chains do not underflow; with MAX_SUM or LOG_SUM_EXP the tables are logarithms.

Pearl (1988); Kschischang, Frey & Loeliger (2001), Factor graphs and the sum-product algorithm.
"""

from __future__ import annotations

from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass

import numpy as np

from fivefold.core.types import Doubles
from fivefold.inference.factors.calibration.evidence_arrays import Evidence, state_likelihood
from fivefold.inference.factors.factor import Cards, Factor, checked_cards, product
from fivefold.inference.factors.message_schedule import (
    downward_edges,
    message_events,
    messages_towards,
    neighbours_of,
    two_passes,
)
from fivefold.inference.factors.semirings import SUM_PRODUCT, Semiring

Node = int  # a variable, or the complement ~i of the number of a factor
Edge = tuple[Node, Node]


class FactorTree:
    """A factor graph without cycles: variables and factors are nodes, and a factor is joined to its variables.

    Examples
    --------
    >>> import numpy as np
    >>> pair = np.array([[2.0, 1.0], [1.0, 2.0]])
    >>> tree = FactorTree([Factor((0,), np.array([3.0, 1.0])), Factor((0, 1), pair), Factor((1, 2), pair)], [2, 2, 2])
    >>> tree.pass_messages().marginal(1).round(5)
    array([0.58333, 0.41667])
    """

    def __init__(self, factors: Iterable[Factor], cards: Cards) -> None:
        self.factors = list(factors)
        self.cards = checked_cards(self.factors, cards)
        edges = [(v, ~number) for number, factor in enumerate(self.factors) for v in factor.variables]
        self.neighbours = neighbours_of(edges, [*sorted(self.cards), *(~i for i in range(len(self.factors)))])

    def events(self, start: Sequence[Node] | None = None) -> list[Edge]:
        """All messages, in the order of their events."""
        return message_events(self.neighbours, start)

    def towards(self, variable: int) -> list[Edge]:
        """The messages that the marginal of one variable needs."""
        return messages_towards(self.neighbours, variable)

    def from_root(self, root: Node) -> list[Edge]:
        """All messages, collected to a root and distributed from it."""
        return two_passes(self.neighbours, root)

    def pairwise_events(self, start: Sequence[int] | None = None, target: int | None = None) -> list[tuple[int, int]]:
        """Messages between variables of a pairwise model in the order of their events: all, or those to a target."""
        neighbours = neighbours_of(
            [(a, b) for a, b in (f.variables for f in self._pairs().values())], sorted(self.cards)
        )
        return message_events(neighbours, start) if target is None else messages_towards(neighbours, target, start)

    def expand(self, pairs: Iterable[tuple[int, int]]) -> list[Edge]:
        """Messages between variables as messages from variable to factor to variable, after those of unary factors."""
        number = {frozenset(f.variables): i for i, f in self._pairs().items()}
        unary = [(~i, f.variables[0]) for i, f in enumerate(self.factors) if len(f.variables) == 1]
        hops = [((i, ~number[frozenset((i, j))]), (~number[frozenset((i, j))], j)) for i, j in pairs]
        return unary + [edge for hop in hops for edge in hop]

    def pass_messages(
        self, evidence: Evidence | None = None, semiring: Semiring = SUM_PRODUCT, schedule: Iterable[Edge] | None = None
    ) -> TreeMessages:
        """Send the messages of a schedule, by default all of them by events."""
        given = {
            v: Factor((v,), _in_semiring(state_likelihood(v, seen, self.cards[v]), semiring))
            for v, seen in (evidence or {}).items()
        }
        messages: dict[Edge, Message] = {}
        for a, b in self.events() if schedule is None else schedule:
            incoming = [messages[other, a] for other in self.neighbours[a] if other != b]
            own = [self.factors[~a]] if a < 0 else [given[a]] if a in given else []
            table = _product([*own, *(m.factor for m in incoming)], semiring, b if a < 0 else a, self.cards)
            messages[a, b] = _scaled(table, sum(m.log_scale for m in incoming), semiring)
        return TreeMessages(self, given, messages, semiring)

    def _pairs(self) -> dict[int, Factor]:
        """The factors of two variables, by number."""
        if wide := [f.variables for f in self.factors if len(f.variables) > 2]:
            raise ValueError(f"Messages between variables need factors of at most two of them; one is over {wide[0]}.")
        pairs = {i: f for i, f in enumerate(self.factors) if len(f.variables) == 2}
        if len({frozenset(f.variables) for f in pairs.values()}) < len(pairs):
            raise ValueError("Two factors join the same two variables: multiply them first.")
        return pairs


@dataclass(frozen=True)
class Message:
    """A table over one variable, and the log of what was divided out of it and of those before it."""

    factor: Factor
    log_scale: float


@dataclass(frozen=True)
class TreeMessages:
    """Messages that were sent, in order, and what follows from them."""

    tree: FactorTree
    given: Mapping[int, Factor]
    messages: dict[Edge, Message]
    semiring: Semiring

    @property
    def schedule(self) -> list[Edge]:
        """The messages in the order in which they were sent; the place in it is a message's number."""
        return list(self.messages)

    def message(self, a: Node, b: Node) -> Doubles:
        """The message from a to b, divided by its sum."""
        return self.messages[a, b].factor.table

    def pairwise_message(self, i: int, j: int) -> Doubles:
        """The message from variable i to variable j by the factor that they share."""
        shared = [n for n in self.tree.neighbours[i] if n in self.tree.neighbours[j]]
        return self.message(shared[0], j)

    def belief(self, variable: int) -> Message:
        """The product of all that a variable heard; in max-product, its max-marginals."""
        heard = [self.messages[f, variable] for f in self.tree.neighbours[variable]]
        own = [self.given[variable]] if variable in self.given else []
        table = _product([*own, *(m.factor for m in heard)], self.semiring, variable, self.tree.cards)
        return _scaled(table, sum(m.log_scale for m in heard), self.semiring)

    def marginal(self, variable: int) -> Doubles:
        """Probabilities of the states of a variable: its belief, with sum one; logarithms for log-sum-exp."""
        belief = self.belief(variable)
        _check_possible(belief, self.semiring)
        return belief.factor.table

    def factor_marginal(self, number: int) -> Factor:
        """Probabilities of the configurations of a factor's variables."""
        factor = self.tree.factors[number]
        incoming = [self.messages[v, ~number].factor for v in factor.variables]
        table = product([factor, *incoming], self.semiring).transpose(factor.variables)
        scaled = _scaled(table, 0.0, self.semiring)
        _check_possible(scaled, self.semiring)
        return scaled.factor

    def log_partition(self) -> float:
        """Log of the sum of the product of the factors at the evidence; log P(evidence) in a network."""
        total, reached = 0.0, set[Node]()
        for node in self.tree.neighbours:
            if node not in reached:
                reached |= {node, *(other for _, other in downward_edges(self.tree.neighbours, node))}
                alone = node < 0  # a factor without variables comes after all variables
                message = _scaled(self.tree.factors[~node], 0.0, self.semiring) if alone else self.belief(node)
                _check_possible(message, self.semiring)
                total += message.log_scale
        return total

    def pi(self, variable: int, own: int) -> Doubles:
        """What the ancestors say, through the variable's own conditional table: factor number `own`."""
        return self.message(~own, variable)

    def lambda_(self, variable: int, own: int) -> Doubles:
        """What the descendants and the variable's own evidence say, up to a factor."""
        heard = [self.messages[f, variable].factor for f in self.tree.neighbours[variable] if f != ~own]
        given = [self.given[variable]] if variable in self.given else []
        table = _product([*given, *heard], self.semiring, variable, self.tree.cards)
        return _scaled(table, 0.0, self.semiring).factor.table


def _product(parts: list[Factor], semiring: Semiring, variable: int, cards: Mapping[int, int]) -> Factor:
    """The product of the parts, summed onto one variable."""
    if not parts:
        return Factor((variable,), np.full(cards[variable], semiring.one))
    whole = product(parts, semiring)
    for v in whole.variables:
        if v != variable:
            whole = whole.eliminate(v, semiring)
    return whole


def _scaled(factor: Factor, log_scale: float, semiring: Semiring) -> Message:
    """The table with its total divided out; the total is the semiring's sum."""
    total = factor
    for v in factor.variables:
        total = total.eliminate(v, semiring)
    value = float(total.table)
    if semiring.one == 0.0:  # logarithms
        return Message(
            Factor(factor.variables, factor.table - (value if np.isfinite(value) else 0.0)), log_scale + value
        )
    if value <= 0.0:
        return Message(factor, -np.inf)
    return Message(Factor(factor.variables, factor.table / value), log_scale + float(np.log(value)))


def _check_possible(message: Message, semiring: Semiring) -> None:
    if message.log_scale == (np.inf if semiring.zero == np.inf else -np.inf):
        raise ValueError("The evidence has probability zero: no configuration of the other variables agrees with it.")


def _in_semiring(likelihood: Doubles, semiring: Semiring) -> Doubles:
    """A likelihood as the semiring has it: itself, its logarithm, or minus that."""
    if semiring.one == 1.0:
        return likelihood
    with np.errstate(divide="ignore"):
        return np.log(likelihood) if semiring.zero < 0.0 else -np.log(likelihood)
