"""Compiled loop of residual propagation: the message that would change most is sent next.

What every factor would send is kept ready in `pending`, with its distance from what was sent last; a heap has the
largest distance on top. A message that is sent changes what other factors of its variable would send, and nothing else.

Elidan, McGraw & Koller (2006).
"""

from __future__ import annotations

from typing import NamedTuple

from fivefold.core.compilation.jit import jit
from fivefold.core.types import Doubles, Indices
from fivefold.inference.approximate.message_loops import MessageState, make_message, multiply_others, send_from_variable
from fivefold.inference.approximate.message_semiring_loops import change, damped


class ResidualState(NamedTuple):
    """Messages that wait, and a heap of their slots."""

    messages: MessageState
    pending: Doubles  # (messages,)
    distance: Doubles  # (S,): from what was sent last
    heap: Indices  # (S,) int64: slots, one with the largest distance first
    place: Indices  # (S,): where in the heap a slot is


@jit(reference_counting=False, error_model="numpy")
def prepare_residuals(state):
    """Fill the heap with what all factors would send."""
    graph = state.messages.graph
    for i in range(len(graph.cards)):
        send_from_variable(state.messages, i)
    for slot in range(len(state.heap)):
        state.heap[slot] = state.place[slot] = slot
        _put_message(state, slot)
        _rise(state, slot)


@jit(reference_counting=False, error_model="numpy")
def send_largest(state, count, tol):
    """Send at most this many messages, while one would change by more than tol: how many were sent."""
    messages = state.messages
    graph, ring = messages.graph, messages.ring
    for sent in range(count):
        slot = state.heap[0]
        if state.distance[slot] <= tol:
            return sent
        at, moved = graph.message_starts[slot], 0.0
        for x in range(at, graph.message_starts[slot + 1]):
            messages.m[x] = damped(ring, state.pending[x], messages.m[x])
            moved = max(moved, change(ring, state.pending[x], messages.m[x]))
        state.distance[slot] = moved
        _sink(state, 0)
        i = graph.slot_variables[slot]
        for k in range(graph.variable_starts[i], graph.variable_starts[i + 1]):
            other = graph.variable_slots[k]
            if other == slot:
                continue
            multiply_others(messages, other)
            factor = graph.slot_factors[other]
            for next_slot in range(graph.slot_starts[factor], graph.slot_starts[factor + 1]):
                if next_slot != other:
                    _put_message(state, next_slot)
                    _rise(state, state.place[next_slot])
                    _sink(state, state.place[next_slot])
    return count


@jit(reference_counting=False, error_model="numpy")
def _put_message(state, slot):
    """Make the message of a slot and keep it."""
    graph, fresh = state.messages.graph, state.messages.fresh[0]
    state.distance[slot] = make_message(state.messages, slot, fresh)
    at = graph.message_starts[slot]
    for x in range(graph.message_starts[slot + 1] - at):
        state.pending[at + x] = fresh[x]


@jit(reference_counting=False, error_model="numpy")
def _rise(state, k):
    while k > 0 and _before(state, k, (k - 1) // 2):
        _swap(state, k, (k - 1) // 2)
        k = (k - 1) // 2


@jit(reference_counting=False, error_model="numpy")
def _sink(state, k):
    n = len(state.heap)
    while 2 * k + 1 < n:
        child = 2 * k + 1
        if child + 1 < n and _before(state, child + 1, child):
            child += 1
        if not _before(state, child, k):
            return
        _swap(state, child, k)
        k = child


@jit(reference_counting=False, error_model="numpy")
def _before(state, a, b):
    """Does place a have the larger distance, or the same and the lower slot?"""
    s, t = state.heap[a], state.heap[b]
    return state.distance[s] > state.distance[t] or (state.distance[s] == state.distance[t] and s < t)


@jit(reference_counting=False, error_model="numpy")
def _swap(state, a, b):
    s, t = state.heap[a], state.heap[b]
    state.heap[a], state.heap[b] = t, s
    state.place[s], state.place[t] = b, a
