"""Compiled loops of belief propagation on factor graphs: messages, passes, beliefs and the Bethe partition function.

    v_s(x) = evidence_i(x) prod over the other slots t of variable i of m_t(x)        from a variable, along slot s
    m_s(x) = sum over the cells of the factor with state x of table prod_{t != s} v_t    from a factor, along slot s

m is normalised. Products without one of their terms are made of products from both ends, so they cost as much as all
terms together and divide by nothing; `DIVIDE` divides the belief by the message, and multiplies the others where the
message is zero. Where all factors have two variables, a variable sends what its factors make of v at once, and v is
never stored.
"""

from __future__ import annotations

from typing import Any, NamedTuple

from fivefold.core.compilation.jit import generic, jit
from fivefold.core.team_loops import run_task, share_tasks
from fivefold.core.types import Doubles, Indices
from fivefold.inference.approximate.factor_arrays import POTTS, TABLE, FactorArrays
from fivefold.inference.approximate.message_semiring_loops import (
    Semiring,
    change,
    damped,
    divided,
    log_value,
    normalise,
    plus,
    potts_message,
    times,
    unit,
    zero,
)

PRODUCT, DIVIDE = range(2)  # how messages of variables leave out what comes back


class MessageState(NamedTuple):
    """Messages of a factor graph, and what a pass writes; tables and evidence are in the numbers of the semiring."""

    ring: Semiring
    graph: FactorArrays
    evidence: Doubles  # (states,)
    tables: Doubles
    m: Doubles  # (messages,): to variables, normalised
    m_next: Doubles  # (messages,): what a pass along edges makes of m
    v: Doubles  # (messages,): to factors
    beliefs: Doubles  # (states,): evidence times all messages, normalised
    fresh: Doubles  # (threads, largest number of states): scratch, the message that is being made
    products: Doubles  # (threads, degree times states, or more): scratch, what a variable sends along its edges
    moves: Doubles  # (parts,): largest change of a message of each part
    variable_cuts: Indices  # (parts + 1,)
    factor_cuts: Indices  # (parts + 1,)
    way: int  # PRODUCT or DIVIDE


class EdgeFlood(NamedTuple):
    """A pass in which variables send along edges, into m_next; all factors have two variables."""

    messages: MessageState


class FactorFlood(NamedTuple):
    """A pass in which variables send to factors, and then factors to variables."""

    messages: MessageState


@jit(reference_counting=False, error_model="numpy")
def flood(team, state):
    """All messages at once: the largest change of one."""
    moves, moved = state.messages.moves, 0.0
    for phase in range(phases(state)):
        share_tasks(team, state, phase, len(moves))
    for part in range(len(moves)):
        moved = max(moved, moves[part])
    return moved


@generic
def phases(state: EdgeFlood | FactorFlood) -> Any:
    """Phases of a pass."""


@phases.rule(EdgeFlood)
def _one_phase(state):
    return 1


@phases.rule(FactorFlood)
def _two_phases(state):
    return 2


@run_task.rule(EdgeFlood)
def _along_edges(state, kind, i, rank):
    messages, moved = state.messages, 0.0
    for variable in range(messages.variable_cuts[i], messages.variable_cuts[i + 1]):
        moved = max(moved, send_along_edges(messages, variable, messages.products[rank]))
    messages.moves[i] = moved


@run_task.rule(FactorFlood)
def _to_factors_and_back(state, kind, i, rank):
    messages, moved = state.messages, 0.0
    if kind == 0:
        for variable in range(messages.variable_cuts[i], messages.variable_cuts[i + 1]):
            send_from_variable(messages, variable)
    else:
        for factor in range(messages.factor_cuts[i], messages.factor_cuts[i + 1]):
            moved = max(moved, send_from_factor(messages, factor, messages.fresh[rank]))
        messages.moves[i] = moved


@jit(reference_counting=False, error_model="numpy")
def send_in_order(state, order):
    """Factors send one after the other, each after its variables: the largest change of a message."""
    graph, moved = state.graph, 0.0
    for k in range(len(order)):
        for slot in range(graph.slot_starts[order[k]], graph.slot_starts[order[k] + 1]):
            multiply_others(state, slot)
        moved = max(moved, send_from_factor(state, order[k], state.fresh[0]))
    return moved


@jit(reference_counting=False, error_model="numpy")
def collect_beliefs(state):
    """All variables send, and their beliefs are up to date."""
    for variable in range(len(state.graph.cards)):
        send_from_variable(state, variable)


@jit(reference_counting=False, error_model="numpy")
def send_from_variable(state, i):
    """The belief of variable i, and its messages to all factors around it."""
    ring, graph, m, v, beliefs = state.ring, state.graph, state.m, state.v, state.beliefs
    K, own = graph.cards[i], graph.state_starts[i]
    first, last = graph.variable_starts[i], graph.variable_starts[i + 1]
    for x in range(K):
        beliefs[own + x] = state.evidence[own + x]
    for k in range(first, last):
        at = graph.message_starts[graph.variable_slots[k]]
        for x in range(K):
            v[at + x] = beliefs[own + x]
            beliefs[own + x] = times(ring, beliefs[own + x], m[at + x])
    if state.way == DIVIDE:
        for k in range(first, last):
            at, whole = graph.message_starts[graph.variable_slots[k]], True
            for x in range(K):
                whole = whole and m[at + x] != zero(ring)
                v[at + x] = divided(ring, beliefs[own + x], m[at + x]) if whole else v[at + x]
            if not whole:
                multiply_others(state, graph.variable_slots[k])
    else:
        for x in range(K):
            behind = unit(ring)
            for k in range(last - 1, first - 1, -1):
                at = graph.message_starts[graph.variable_slots[k]] + x
                v[at] = times(ring, v[at], behind)
                behind = times(ring, behind, m[at])
    normalise(ring, beliefs, own, own + K)


@jit(reference_counting=False, error_model="numpy")
def send_along_edges(state, i, h):
    """What the factors around variable i, all of two variables, send to its neighbours: the largest change."""
    ring, graph, m, m_next, moved = state.ring, state.graph, state.m, state.m_next, 0.0
    K, own = graph.cards[i], graph.state_starts[i]
    first, last = graph.variable_starts[i], graph.variable_starts[i + 1]
    for x in range(K):
        h[x] = state.evidence[own + x]
    for k in range(first, last - 1):
        at, to = graph.message_starts[graph.variable_slots[k]], (k - first) * K
        for x in range(K):
            h[to + K + x] = times(ring, h[to + x], m[at + x])
    behind = (last - first) * K
    for x in range(K):
        h[behind + x] = unit(ring)
    for k in range(last - 1, first - 1, -1):
        slot, to = graph.variable_slots[k], (k - first) * K
        at, partner = graph.message_starts[slot], slot ^ 1  # a factor's two slots are neighbours
        for x in range(K):
            h[to + x] = times(ring, h[to + x], h[behind + x])
            h[behind + x] = times(ring, h[behind + x], m[at + x])
        sent, end = graph.message_starts[partner], graph.message_starts[partner + 1]
        pair_message(state, partner >> 1, partner, h, to, m_next, sent, end - sent)
        normalise(ring, m_next, sent, end)
        for x in range(sent, end):
            moved = max(moved, change(ring, m_next[x], m[x]))
            m_next[x] = damped(ring, m_next[x], m[x])
    return moved


@jit(reference_counting=False, error_model="numpy")
def pair_message(state, factor, slot, h, at, out, to, K):
    """The message along a slot of a factor of two variables, from h[at:] of the other; not normalised."""
    ring, graph, tables = state.ring, state.graph, state.tables
    table = graph.table_starts[factor]
    if graph.kinds[factor] == POTTS:
        potts_message(ring, h, at, K, tables[table], tables[table + 1], out, to)
    else:
        partner = 2 * graph.slot_starts[factor] + 1 - slot
        stride, step = graph.strides[slot], graph.strides[partner]
        for x in range(K):
            total = zero(ring)
            for y in range(graph.message_starts[partner + 1] - graph.message_starts[partner]):
                total = plus(ring, total, times(ring, tables[table + x * stride + y * step], h[at + y]))
            out[to + x] = total


@jit(reference_counting=False, error_model="numpy")
def multiply_others(state, slot):
    """The message of a variable along one slot, from those along its other slots."""
    ring, graph = state.ring, state.graph
    i, at = graph.slot_variables[slot], graph.message_starts[slot]
    K, own = graph.cards[i], graph.state_starts[i]
    m, v, evidence = state.m, state.v, state.evidence
    for x in range(K):
        v[at + x] = evidence[own + x]
    for k in range(graph.variable_starts[i], graph.variable_starts[i + 1]):
        if graph.variable_slots[k] != slot:
            other = graph.message_starts[graph.variable_slots[k]]
            for x in range(K):
                v[at + x] = times(ring, v[at + x], m[other + x])


@jit(reference_counting=False, error_model="numpy")
def send_from_factor(state, factor, fresh):
    """The messages of a factor to all its variables: the largest change."""
    ring, graph, m, moved = state.ring, state.graph, state.m, 0.0
    for slot in range(graph.slot_starts[factor], graph.slot_starts[factor + 1]):
        at = graph.message_starts[slot]
        K = graph.message_starts[slot + 1] - at
        sum_over_cells(state, slot, fresh)
        normalise(ring, fresh, 0, K)
        for x in range(K):
            moved = max(moved, change(ring, fresh[x], m[at + x]))
            m[at + x] = damped(ring, fresh[x], m[at + x])
    return moved


@jit(reference_counting=False, error_model="numpy")
def make_message(state, slot, fresh):
    """Put what a factor would send along a slot into fresh[:K]: how far that is from what it sent last."""
    ring, at = state.ring, state.graph.message_starts[slot]
    K = state.graph.message_starts[slot + 1] - at
    sum_over_cells(state, slot, fresh)
    normalise(ring, fresh, 0, K)
    moved = 0.0
    for x in range(K):
        moved = max(moved, change(ring, fresh[x], state.m[at + x]))
    return moved


@jit(reference_counting=False, error_model="numpy")
def sum_over_cells(state, slot, fresh):
    """The message of a factor along a slot before it is normalised, in fresh[:K]."""
    ring, graph, v, tables = state.ring, state.graph, state.v, state.tables
    factor = graph.slot_factors[slot]
    table, kind = graph.table_starts[factor], graph.kinds[factor]
    first, last = graph.slot_starts[factor], graph.slot_starts[factor + 1]
    K, stride = graph.message_starts[slot + 1] - graph.message_starts[slot], graph.strides[slot]
    if kind != TABLE:
        pair_message(state, factor, slot, v, graph.message_starts[first + last - 1 - slot], fresh, 0, K)
    else:
        for x in range(K):
            fresh[x] = zero(ring)
        for cell in range(graph.table_sizes[factor]):
            value = tables[table + cell]
            for t in range(first, last):
                if t != slot and value != zero(ring):
                    states = graph.message_starts[t + 1] - graph.message_starts[t]
                    value = times(ring, value, v[graph.message_starts[t] + (cell // graph.strides[t]) % states])
            x = (cell // stride) % K
            fresh[x] = plus(ring, fresh[x], value)


@jit(reference_counting=False, error_model="numpy")
def log_partition_of_messages(state):
    """log Z of Bethe: log sums of all factors and variables, less those of the slots between them; messages cancel.

    Variables have just sent (`send_from_variable`).
    """
    ring, graph, total = state.ring, state.graph, 0.0
    for i in range(len(graph.cards)):
        own, mass = graph.state_starts[i], zero(ring)
        for x in range(graph.cards[i]):
            value = state.evidence[own + x]
            for k in range(graph.variable_starts[i], graph.variable_starts[i + 1]):
                value = times(ring, value, state.m[graph.message_starts[graph.variable_slots[k]] + x])
            mass = plus(ring, mass, value)
        total += log_value(ring, mass)
    fresh = state.fresh[0]
    for factor in range(len(graph.kinds)):
        first, whole = graph.slot_starts[factor], zero(ring)
        sum_over_cells(state, first, fresh)
        for x in range(graph.message_starts[first + 1] - graph.message_starts[first]):
            whole = plus(ring, whole, times(ring, fresh[x], state.v[graph.message_starts[first] + x]))
        total += log_value(ring, whole)
        for slot in range(first, graph.slot_starts[factor + 1]):
            mass = zero(ring)
            for at in range(graph.message_starts[slot], graph.message_starts[slot + 1]):
                mass = plus(ring, mass, times(ring, state.m[at], state.v[at]))
            total -= log_value(ring, mass)
    return total


@jit(reference_counting=False, error_model="numpy")
def factor_belief(state, factor, belief):
    """Fill (cells,) with the belief of a factor: its table times the messages to it; variables have just sent."""
    ring, graph = state.ring, state.graph
    first, last, table = graph.slot_starts[factor], graph.slot_starts[factor + 1], graph.table_starts[factor]
    K = graph.message_starts[first + 1] - graph.message_starts[first]
    for cell in range(len(belief)):
        place = min(cell % (K + 1), 1) if graph.kinds[factor] == POTTS else cell
        belief[cell] = state.tables[table + place]
        for t in range(first, last):
            states = graph.message_starts[t + 1] - graph.message_starts[t]
            at = graph.message_starts[t] + (cell // graph.strides[t]) % states
            belief[cell] = times(ring, belief[cell], state.v[at])
    normalise(ring, belief, 0, len(belief))


@jit(reference_counting=False, error_model="numpy")
def decode_states(state, order, states, decided):
    """The best state of each variable in turn, given those before it: consistent on trees where several are best.

    Messages to factors of a decided variable allow its state alone; factors around it send anew.
    """
    ring, graph = state.ring, state.graph
    fresh = state.fresh[0]
    for i in order:
        own = graph.state_starts[i]
        for x in range(graph.cards[i]):
            state.beliefs[own + x] = state.evidence[own + x]
        for k in range(graph.variable_starts[i], graph.variable_starts[i + 1]):
            slot = graph.variable_slots[k]
            factor, at = graph.slot_factors[slot], graph.message_starts[slot]
            known = False
            for t in range(graph.slot_starts[factor], graph.slot_starts[factor + 1]):
                known = known or decided[graph.slot_variables[t]]
            if known:
                make_message(state, slot, fresh)
            for x in range(graph.cards[i]):
                sent = fresh[x] if known else state.m[at + x]
                state.beliefs[own + x] = times(ring, state.beliefs[own + x], sent)
        best = 0
        for x in range(graph.cards[i]):
            best = x if state.beliefs[own + x] > state.beliefs[own + best] else best
        states[i], decided[i] = best, True
        for k in range(graph.variable_starts[i], graph.variable_starts[i + 1]):
            at = graph.message_starts[graph.variable_slots[k]]
            for x in range(graph.cards[i]):
                state.v[at + x] = unit(ring) if x == best else zero(ring)
