"""Counts of a variable's states with those of its parents, and tables from counts.

    maximum likelihood   theta_{x|u} = N_{u,x} / sum_x N_{u,x}
    posterior mean       theta_{x|u} = (N_{u,x} + alpha) / sum_x (N_{u,x} + alpha)        alpha: imaginary samples
    posterior mode       the same with alpha - 1

The likelihood of a network is a product over families, so each row of each table is estimated on its own.
"""

from __future__ import annotations

import math
from collections.abc import Mapping, Sequence
from typing import Any, Literal

import numpy as np

from fivefold.core.types import Codes, Doubles, Weights
from fivefold.graphical.assignments import assignment_text
from fivefold.graphical.graphs.directed_graph import DirectedGraph
from fivefold.graphical.variables import Variables, places

MAX_CELLS = 2**27  # entries of the largest table that is fitted: a gigabyte of doubles
Unseen = Literal["uniform", "error"]
Estimate = Literal["mean", "mode"]


def family_counts(variables: Variables, graph: DirectedGraph, codes: Codes, w: Weights) -> tuple[Doubles, ...]:
    """Per variable the weight of rows (n, variables) by the states of its parents and its own."""
    columns = np.asfortranarray(codes)
    return tuple(scope_counts(variables, (*parents, i), columns, w) for i, parents in enumerate(graph.parents))


def scope_counts(variables: Variables, scope: Sequence[int], codes: Codes, w: Weights) -> Doubles:
    """The weight of rows by the states of some variables."""
    shape = tuple(variables.cards[i] for i in scope)
    size = int(np.prod(shape, dtype=np.int64))
    return (
        np.bincount(places(codes, scope, variables.cards), w, minlength=size)
        .reshape(shape)
        .astype(np.float64, copy=False)
    )  # of no rows: integers


def pseudo_counts(
    variables: Variables,
    graph: DirectedGraph,
    prior: float | Mapping[str, Any],
    equivalent_sample_size: float | None,
    estimate: Estimate,
) -> tuple[Doubles, ...]:
    """What is added to the counts of every family: a number, tables by name, or a sample spread evenly over a table."""
    added = []
    for i, parents in enumerate(graph.parents):
        name, shape = variables.nodes[i], tuple(variables.cards[j] for j in (*parents, i))
        if (cells := math.prod(shape)) > MAX_CELLS:
            raise ValueError(
                f"the table of {name!r} would have {cells:,} entries; cut numbers into intervals, "
                "merge states, or give it fewer parents"
            )
        given = prior.get(name, 0.0) if isinstance(prior, Mapping) else prior
        alpha = np.broadcast_to(np.asarray(given, dtype=np.float64), shape).copy()
        if equivalent_sample_size is not None:
            alpha += equivalent_sample_size / alpha.size
        if estimate == "mode":
            alpha -= 1
        if not (np.isfinite(alpha).all() and (alpha >= 0).all()):
            least = "1 for the mode of the posterior" if estimate == "mode" else "0"
            raise ValueError(
                f"the prior of {name!r} must be at least {least}; its smallest entry gives {alpha.min():g}"
            )
        added.append(alpha)
    return tuple(added)


def tables_from_counts(
    variables: Variables, graph: DirectedGraph, counts: Sequence[Doubles], unseen: Unseen = "uniform"
) -> tuple[Doubles, ...]:
    """Each row of each table in proportion to its counts; a row without counts is uniform, or an error."""
    return tuple(_table(variables, graph, i, table, unseen) for i, table in enumerate(counts))


def _table(variables: Variables, graph: DirectedGraph, i: int, counts: Doubles, unseen: Unseen) -> Doubles:
    total = counts.sum(axis=-1, keepdims=True)
    empty = total[..., 0] <= 0
    if unseen == "error" and empty.any():
        row = np.argwhere(empty)[0]
        place = {variables.nodes[p]: variables.states[p][c] for p, c in zip(graph.parents[i], row, strict=True)}
        where = f"row {assignment_text(place)}" if place else "its only row"
        raise ValueError(f"table of {variables.nodes[i]!r}, {where}: no data; give a prior, or unseen='uniform'")
    return np.where(total > 0, counts / np.where(total > 0, total, 1), 1 / counts.shape[-1])
