"""Compiled loops of mean field: each variable's distribution in turn, given those of its neighbours."""

from __future__ import annotations

import numpy as np

from fivefold.core.compilation.jit import jit
from fivefold.inference.approximate.message_loops import sum_over_cells


@jit(reference_counting=False, error_model="numpy")
def ascend(state, free):
    """Update the distributions of the variables `free`, one after the other: the bound after that.

    state.v holds q of the variable at every slot, state.beliefs q of all variables; tables and evidence are logs.
    """
    graph, q, fresh = state.graph, state.beliefs, state.fresh[0]
    for i in free:
        own, K = graph.state_starts[i], graph.cards[i]
        for x in range(K):
            q[own + x] = state.evidence[own + x]
        for k in range(graph.variable_starts[i], graph.variable_starts[i + 1]):
            sum_over_cells(state, graph.variable_slots[k], fresh)
            for x in range(K):
                q[own + x] += fresh[x]
        top, total = q[own], 0.0
        for x in range(1, K):
            top = max(top, q[own + x])
        for x in range(K):
            q[own + x] = np.exp(q[own + x] - top)
            total += q[own + x]
        for x in range(K):
            q[own + x] /= total
        for k in range(graph.variable_starts[i], graph.variable_starts[i + 1]):
            at = graph.message_starts[graph.variable_slots[k]]
            for x in range(K):
                state.v[at + x] = q[own + x]
    bound = 0.0
    for i in range(len(graph.cards)):
        for at in range(graph.state_starts[i], graph.state_starts[i + 1]):
            if q[at] > 0.0:
                bound += q[at] * (state.evidence[at] - np.log(q[at]))
    for factor in range(len(graph.kinds)):
        slot = graph.slot_starts[factor]
        sum_over_cells(state, slot, fresh)
        for x in range(graph.message_starts[slot + 1] - graph.message_starts[slot]):
            bound += fresh[x] * state.v[graph.message_starts[slot] + x]
    return bound
