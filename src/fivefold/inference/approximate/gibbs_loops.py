"""Compiled loops of Gibbs sampling: a block of variables is drawn given all others, by the factors around it only."""

from __future__ import annotations

from typing import NamedTuple

import numpy as np

from fivefold.core.compilation.jit import jit
from fivefold.core.types import Indices
from fivefold.inference.approximate.factor_arrays import POTTS, FactorArrays
from fivefold.inference.approximate.random_loops import draw_index


class Blocks(NamedTuple):
    """Variables that are drawn together, block after block."""

    graph: FactorArrays
    starts: Indices  # (blocks + 1,)
    variables: Indices
    factor_starts: Indices  # (blocks + 1,): factors around each block
    factors: Indices
    cells: Indices  # (blocks,): joint states of a block


@jit(reference_counting=False, error_model="numpy")
def log_value_at(blocks, factor, states):
    """The log of a factor at these states."""
    graph = blocks.graph
    first, table = graph.slot_starts[factor], graph.table_starts[factor]
    if graph.kinds[factor] == POTTS:
        differ = states[graph.slot_variables[first]] != states[graph.slot_variables[first + 1]]
        return blocks.graph.tables[table + 1 if differ else table]
    for slot in range(first, graph.slot_starts[factor + 1]):
        table += states[graph.slot_variables[slot]] * graph.strides[slot]
    return blocks.graph.tables[table]


@jit(reference_counting=False, error_model="numpy")
def fill_log_weights(blocks, b, states, weights):
    """The log weight of every joint state of a block: the largest; states of its variables are overwritten."""
    graph, top = blocks.graph, -np.inf
    for cell in range(blocks.cells[b]):
        put_cell(blocks, b, cell, states)
        total = 0.0
        for k in range(blocks.starts[b], blocks.starts[b + 1]):
            variable = blocks.variables[k]
            total += blocks.graph.evidence[graph.state_starts[variable] + states[variable]]
        for k in range(blocks.factor_starts[b], blocks.factor_starts[b + 1]):
            total += log_value_at(blocks, blocks.factors[k], states)
        weights[cell] = total
        top = max(top, total)
    return top


@jit(reference_counting=False, error_model="numpy")
def put_cell(blocks, b, cell, states):
    """Give the variables of a block the states that the number of a joint state stands for."""
    for k in range(blocks.starts[b + 1] - 1, blocks.starts[b] - 1, -1):
        card = blocks.graph.cards[blocks.variables[k]]
        states[blocks.variables[k]] = cell % card
        cell //= card


@jit(reference_counting=False, error_model="numpy")
def run_gibbs(blocks, states, word, burn_in, thin, kept, draws, log_scores, counts, weights):
    """Rounds over all blocks; after burn_in of them, record every thin-th until `draws` (n, kept) is full."""
    graph = blocks.graph
    for round_ in range(burn_in + (len(draws) - 1) * thin + 1 if len(draws) > 0 else burn_in):
        for b in range(len(blocks.cells)):
            top = fill_log_weights(blocks, b, states, weights)
            for cell in range(blocks.cells[b]):
                weights[cell] = np.exp(weights[cell] - top)
            put_cell(blocks, b, draw_index(word, weights, blocks.cells[b]), states)
        since = round_ - burn_in
        if since >= 0 and since % thin == 0:
            row = since // thin
            for j in range(len(kept)):
                draws[row, j] = states[kept[j]]
            for i in range(len(graph.cards)):
                counts[graph.state_starts[i] + states[i]] += 1
            log_scores[row] = _log_score(blocks, states)


@jit(reference_counting=False, error_model="numpy")
def climb(blocks, states, weights, max_rounds):
    """Give each block its best joint state in turn, until none changes: rounds taken (iterated conditional modes)."""
    for round_ in range(max_rounds):
        moved = False
        for b in range(len(blocks.cells)):
            before, cell = 0, 0
            for k in range(blocks.starts[b], blocks.starts[b + 1]):
                before = before * blocks.graph.cards[blocks.variables[k]] + states[blocks.variables[k]]
            fill_log_weights(blocks, b, states, weights)
            best = before
            for cell in range(blocks.cells[b]):
                best = cell if weights[cell] > weights[best] else best
            put_cell(blocks, b, best, states)
            moved = moved or best != before
        if not moved:
            return round_ + 1
    return max_rounds


@jit(reference_counting=False, error_model="numpy")
def _log_score(blocks, states):
    total = 0.0
    for i in range(len(states)):
        total += blocks.graph.evidence[blocks.graph.state_starts[i] + states[i]]
    for factor in range(len(blocks.graph.kinds)):
        total += log_value_at(blocks, factor, states)
    return total
