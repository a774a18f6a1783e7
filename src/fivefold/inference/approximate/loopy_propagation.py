"""Loopy belief propagation: messages on a factor graph with cycles, until they stop changing.

On a tree the beliefs are the marginals, and the Bethe partition function is the partition function. With cycles both
are approximations: messages may go on changing (the report says so; damping helps), and where they stop the beliefs
are a stationary point of the Bethe free energy

    F = sum_f sum b_f log(b_f / factor_f) + sum_i (1 - degree_i) sum b_i log b_i,     log Z is about -F

Order of messages: "flooding" (all at once, on all cores), "sequential" (factors as they are given, then backwards, and
so on), "random" (an order per pass, drawn by the seed), "residual" (the message that would change most is next; a pass
is as many messages as the graph has). `damping` keeps this share of the old message in the new one.

Pearl (1988); Yedidia, Freeman & Weiss (2005); Elidan, McGraw & Koller (2006).
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field
from functools import cached_property
from typing import Literal, TypedDict, Unpack

import numpy as np
from scipy.sparse import coo_array
from scipy.sparse.csgraph import breadth_first_order

from fivefold.core.parallel import run_team, team_size
from fivefold.core.types import Codes, Doubles, Indices
from fivefold.inference.approximate.factor_arrays import (
    POTTS,
    TABLE,
    FlatFactors,
    evidence_tops,
    flat_factors,
    scaled_evidence,
)
from fivefold.inference.approximate.message_loops import (
    DIVIDE,
    PRODUCT,
    EdgeFlood,
    FactorFlood,
    MessageState,
    collect_beliefs,
    decode_states,
    factor_belief,
    flood,
    log_partition_of_messages,
    send_in_order,
)
from fivefold.inference.approximate.message_semiring_loops import LogSum, MaxSum, Semiring, SumProduct
from fivefold.inference.approximate.residual_loops import ResidualState, prepare_residuals, send_largest
from fivefold.inference.factors.factor import Factor

Schedule = Literal["flooding", "sequential", "random", "residual"]
PART_MESSAGES = 2048  # messages per task of a pass: about 0.1 ms
SECONDS_PER_MESSAGE, SECONDS_PER_CELL = 5e-8, 2e-9  # time of a pass: what decides how many threads pay
LARGEST_LOG = (
    600.0  # products of messages down to exp(-600) are plain numbers; where they may be smaller, logs are taken
)


@dataclass(frozen=True)
class LoopyBeliefs:
    """What messages said when they stopped, and why they stopped."""

    marginals: tuple[Doubles, ...]  # one per variable; of max-product the largest is 1
    passes: int
    converged: bool
    largest_change: float  # of a message, in the last pass
    reason: str
    changes: tuple[float, ...]  # the largest change of each pass
    _graph: FlatFactors = field(repr=False)
    _log_scale: float = field(repr=False)  # of what evidence and tables were divided by
    _state: MessageState = field(repr=False)

    @property
    def messages_sent(self) -> int:
        return self.passes * self._graph.n_messages

    def marginal(self, variable: int) -> Doubles:
        return self.marginals[variable]

    def factor_marginal(self, number: int) -> Factor:
        """The belief of a factor of the list."""
        place, arrays = int(self._graph.places[number]), self._graph.arrays
        if place < 0:
            return Factor((-1 - place,), self.marginals[-1 - place])
        belief = np.empty(arrays.table_sizes[place])
        factor_belief(self._state, place, belief)
        scope = arrays.slot_variables[arrays.slot_starts[place] : arrays.slot_starts[place + 1]]
        shaped = belief if isinstance(self._state.ring, SumProduct) else np.exp(belief)
        return Factor(tuple(map(int, scope)), shaped.reshape(arrays.cards[scope]))

    @cached_property
    def log_partition(self) -> float:
        """-F, the log partition function of Bethe; of max-product the log of the largest product, exact on trees."""
        return float(log_partition_of_messages(self._state)) + self._log_scale

    @property
    def bethe_free_energy(self) -> float:
        return -self.log_partition

    @cached_property
    def assignment(self) -> Codes:
        """The best state of each variable given those decided before it, the lowest state where several are best."""
        return decode(self._graph, self._state)

    def log_score(self, states: Codes) -> float:
        """Log of the product of all factors at these states."""
        return float(self._graph.log_score(states))


class PropagationOptions(TypedDict, total=False):
    """How messages are sent; the defaults are those of `propagate`."""

    maximum: bool  # look for the most probable states in place of marginals
    schedule: Schedule  # order of messages
    damping: float  # share of the old message that stays in the new one
    tol: float  # stop when no message changes by more
    max_passes: int
    division: bool  # divide beliefs by messages, which gives the same messages
    logs: bool | None  # marginals from logs; None: where plain numbers may underflow
    seed: int  # of the order "random"


def loopy_propagation(
    factors: Sequence[Factor],
    cards: Sequence[int],
    evidence: Mapping[int, int] | None = None,
    **options: Unpack[PropagationOptions],
) -> LoopyBeliefs:
    """Beliefs of all variables by messages, or their most probable states; options are those of `PropagationOptions`.

    Examples
    --------
    >>> agree = np.array([[2.0, 1.0], [1.0, 2.0]])
    >>> triangle = [Factor(pair, agree) for pair in ((0, 1), (1, 2), (0, 2))]
    >>> beliefs = loopy_propagation([*triangle, Factor((0,), np.array([3.0, 1.0]))], (2, 2, 2))
    >>> beliefs.converged, np.round(beliefs.marginal(1), 5)
    (True, array([0.61315, 0.38685]))
    """
    return propagate(flat_factors(factors, cards, evidence), **options)


def propagate(
    graph: FlatFactors,
    *,
    maximum: bool = False,
    schedule: Schedule = "flooding",
    damping: float = 0.0,
    tol: float = 1e-8,
    max_passes: int = 500,
    division: bool = False,
    logs: bool | None = None,
    seed: int = 0,
) -> LoopyBeliefs:
    """`loopy_propagation` on a graph that is made."""
    if schedule not in ("flooding", "sequential", "random", "residual"):
        raise ValueError(f"schedule={schedule!r}: flooding, sequential, random or residual")
    if not 0.0 <= damping < 1.0:
        raise ValueError(f"damping={damping}: a share of the old message from 0 to below 1")
    in_logs = needs_logs(graph) if logs is None else logs
    ring = MaxSum(damping) if maximum else LogSum(damping) if in_logs else SumProduct(damping)
    state, log_scale = _start(graph, ring, DIVIDE if division else PRODUCT)
    changes: list[float] = []
    if graph.n_messages and schedule == "residual":
        changes = _residual_passes(state, tol, max_passes)
    elif graph.n_messages:
        state, changes = _passes(state, schedule, tol, max_passes, seed)
    collect_beliefs(state)
    last = changes[-1] if changes else 0.0
    converged = last <= tol
    reason = "messages no longer change" if converged else f"messages still change after {max_passes} passes"
    beliefs = state.beliefs if isinstance(ring, SumProduct) else np.exp(state.beliefs)
    blocked = _impossible_variable(graph, beliefs)
    if blocked is not None and logs is None and isinstance(ring, SumProduct):  # or too small for plain numbers
        return propagate(
            graph,
            schedule=schedule,
            damping=damping,
            tol=tol,
            max_passes=max_passes,
            division=division,
            logs=True,
            seed=seed,
        )
    if blocked is not None:
        raise ValueError(
            f"the evidence has probability zero: factors around variable {blocked} allow none of its states"
        )
    marginals = graph.per_variable(beliefs)
    return LoopyBeliefs(marginals, len(changes), converged, last, reason, tuple(changes), graph, log_scale, state)


def needs_logs(graph: FlatFactors) -> bool:
    """May products of messages underflow?"""
    arrays = graph.arrays
    if not len(arrays.kinds):
        return False
    # A message from a positive table has no entry below the smallest of the table over its largest, shared by K states;
    # as many of them as a factor's variables have factors may meet in one product.
    finite = arrays.tables[np.isfinite(arrays.tables)]
    smallest = np.log(arrays.cards.max()) + finite.max() - finite.min()
    factors = np.diff(arrays.variable_starts).max() * np.diff(arrays.slot_starts).max()
    if len(finite) < len(arrays.tables):  # through zeros evidence is passed on as it is
        spread = scaled_evidence(graph)
        smallest = max(smallest, -spread[np.isfinite(spread)].min(initial=0.0))
    return bool(factors * smallest > LARGEST_LOG)


def decode(graph: FlatFactors, state: MessageState) -> Codes:
    """States of all variables, each the best given its neighbours that were decided before it."""
    arrays = graph.arrays
    states = np.zeros(len(arrays.cards), dtype=np.int64)
    copies = {name: getattr(state, name).copy() for name in ("m", "v", "beliefs")}
    decode_states(state._replace(**copies), _breadth_first(graph), states, np.zeros(len(states), dtype=bool))
    return states


def _passes(
    state: MessageState, schedule: Schedule, tol: float, max_passes: int, seed: int
) -> tuple[MessageState, list[float]]:
    """Where messages are after the passes, and the largest change of each."""
    changes, order, rng = list[float](), np.arange(len(state.graph.kinds)), np.random.default_rng(seed)
    while len(changes) < max_passes and (not changes or changes[-1] > tol):
        if schedule != "flooding":
            turn = rng.permutation(order) if schedule == "random" else order[:: 1 - 2 * (len(changes) % 2)].copy()
            changes.append(float(send_in_order(state, turn)))
        elif state.products.size:
            changes.append(float(run_team(flood, EdgeFlood(state), size=len(state.fresh))))
            state = state._replace(m=state.m_next, m_next=state.m)
        else:
            changes.append(float(run_team(flood, FactorFlood(state), size=len(state.fresh))))
    return state, changes


def _residual_passes(state: MessageState, tol: float, max_passes: int) -> list[float]:
    count = len(state.graph.slot_variables)
    queue = ResidualState(state, np.empty_like(state.m), np.zeros(count), *np.zeros((2, count), dtype=np.int64))
    prepare_residuals(queue)
    changes: list[float] = []
    while len(changes) < max_passes and (not changes or changes[-1] > tol):
        send_largest(queue, count, tol)
        changes.append(float(queue.distance.max()))
    return changes


def _start(graph: FlatFactors, ring: Semiring, way: int) -> tuple[MessageState, float]:
    """Messages that say nothing yet, and the log of what tables and evidence were divided by for them."""
    arrays = graph.arrays
    evidence, shift = scaled_evidence(graph), arrays.tables.max(initial=-np.inf)
    tables = arrays.tables - shift  # one shift for all tables: those that are shared stay shared
    slot_cards = np.diff(arrays.message_starts)
    m = np.repeat(1.0 / slot_cards, slot_cards)
    if isinstance(ring, SumProduct):
        evidence, tables = np.exp(evidence), np.exp(tables)
    else:
        m = np.zeros_like(m) if isinstance(ring, MaxSum) else np.log(m)
    parts = max(1, len(slot_cards) // PART_MESSAGES)
    cells = float((np.where(arrays.kinds == POTTS, 2.0, arrays.table_sizes)[arrays.slot_factors]).sum())
    size = min(parts, team_size(cells * SECONDS_PER_CELL + len(slot_cards) * SECONDS_PER_MESSAGE))
    degree = int(np.diff(arrays.variable_starts).max(initial=0))
    most = int(arrays.cards.max(initial=1))
    pairs = way == PRODUCT and not (arrays.kinds == TABLE).any()
    state = MessageState(
        ring,
        arrays,
        evidence,
        tables,
        m,
        m_next=m.copy(),
        v=m.copy(),
        beliefs=evidence.copy(),
        fresh=np.empty((size, most)),
        products=np.empty((size, (degree + 1) * most if pairs else 0)),
        moves=np.zeros(parts),
        variable_cuts=_cuts(arrays.variable_starts, parts),
        factor_cuts=_cuts(arrays.slot_starts, parts),
        way=way,
    )
    scale = graph.log_scale + float(evidence_tops(graph).sum())
    return state, scale + (len(arrays.kinds) * float(shift) if len(arrays.kinds) else 0.0)


def _cuts(starts: Indices, parts: int) -> Indices:
    """Where parts of nearly equal numbers of slots begin and end."""
    goals = np.linspace(0, starts[-1], parts + 1)
    cuts = np.searchsorted(starts, goals)
    cuts[0], cuts[-1] = 0, len(starts) - 1
    return cuts.astype(np.int64)


def _breadth_first(graph: FlatFactors) -> Indices:
    """Variables in an order in which neighbours of those before come first, one component after the other."""
    arrays = graph.arrays
    n, m = len(arrays.cards), len(arrays.kinds)
    pairs = (arrays.slot_variables, n + arrays.slot_factors)
    links = coo_array((np.ones(len(pairs[0])), pairs), shape=(n + m, n + m)).tocsr()
    seen, order = np.zeros(n, dtype=bool), list[Indices]()
    for root in range(n):
        if not seen[root]:
            found = breadth_first_order(links, root, directed=False, return_predecessors=False)
            order.append(found[found < n])
            seen[order[-1]] = True
    return np.concatenate(order).astype(np.int64) if order else np.empty(0, dtype=np.int64)


def _impossible_variable(graph: FlatFactors, beliefs: Doubles) -> int | None:
    """A variable whose beliefs are all zero, if there is one."""
    starts = graph.arrays.state_starts
    mass = np.add.reduceat(beliefs, starts[:-1]) if len(starts) > 1 else np.ones(1)
    return None if (mass > 0).all() else int(np.argmin(mass > 0))
