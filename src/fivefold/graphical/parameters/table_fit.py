"""The tables of a Bayesian network of known structure, from a table of data: complete, or with missing values."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from typing import Any

import numpy as np
from sklearn.utils import check_random_state

from fivefold.core.types import Doubles, Rng, UserTable, UserWeights
from fivefold.graphical.bayesian_network import BayesianNetwork
from fivefold.graphical.graphs.directed_graph import DirectedGraph
from fivefold.graphical.parameters.network_em import NetworkEM, distinct_rows, random_tables
from fivefold.graphical.parameters.table_counts import (
    Estimate,
    Unseen,
    family_counts,
    pseudo_counts,
    tables_from_counts,
)
from fivefold.graphical.variables import MISSING, State, Variables, columns_of
from fivefold.inference.em import best_em


@dataclass(frozen=True)
class NetworkFit:
    """A fitted network, how well it fits, and why the fit ended."""

    network: BayesianNetwork
    log_likelihood: float  # of the data; of the observed part where values are missing
    counts: tuple[Doubles, ...]  # of every family, expected where values are missing, with the prior's
    history: tuple[float, ...] = ()  # log-likelihood plus log prior before each step of EM
    reason: str = "closed form"


def fit_tables(
    structure: DirectedGraph | BayesianNetwork,
    X: UserTable,
    *,
    states: Mapping[str, Sequence[State]] | None = None,
    prior: float | Mapping[str, Any] = 0.0,
    equivalent_sample_size: float | None = None,
    estimate: Estimate = "mean",
    unseen: Unseen = "uniform",
    sample_weight: UserWeights = None,
    hard: bool = False,
    n_init: int = 1,
    tol: float = 1e-6,
    max_iter: int = 200,
    random_state: Rng | int | None = 0,
) -> NetworkFit:
    """Fit the tables of a network to rows of states; EM if values are missing.

    Parameters
    ----------
    structure
        a graph; or a network, whose states are taken, and whose tables are where EM starts.
    X
        a frame, a mapping of columns, or an array with a column per node. Missing values, and columns that are not
        there, are filled in by inference.
    states
        states by name, for hidden variables and for states that the data happen not to show.
    prior
        pseudo-counts: one number for all entries, or tables by name. 0 is maximum likelihood.
    equivalent_sample_size
        pseudo-counts of this many rows in all, spread evenly over each table.
    estimate
        of the Dirichlet posterior its mean, or its mode, which takes one off every pseudo-count.
    unseen
        what to do about states of the parents that never occur: a uniform row, or an error.
    hard
        count the most probable completion of a row in place of all of them by their probability.
    n_init, tol, max_iter, random_state
        of EM: random starts, the gain per row below which it stops, the most steps, the seed of the starts.

    Examples
    --------
    >>> graph = DirectedGraph.from_edges([("rain", "wet")])
    >>> rows = {"rain": ["no", "no", "no", "yes"], "wet": ["no", "no", "yes", "yes"]}
    >>> fit_tables(graph, rows).network.table("wet").round(3).tolist()
    [[0.667, 0.333], [0.0, 1.0]]
    >>> fit_tables(graph, rows, prior=1.0).network.table("wet").round(3).tolist()
    [[0.6, 0.4], [0.333, 0.667]]
    """
    known = structure if isinstance(structure, BayesianNetwork) else None
    graph = structure.graph if isinstance(structure, BayesianNetwork) else structure
    if not isinstance(X, np.ndarray):
        X = columns_of(X, graph.nodes)
    variables = known.variables if known else _variables(graph, X, states or {})
    codes = variables.encode(X)
    if len(codes) == 0:
        raise ValueError("the table has no rows to learn from")
    w = _weights(sample_weight, len(codes))
    codes, w = codes[w > 0], w[w > 0]
    added = pseudo_counts(variables, graph, prior, equivalent_sample_size, estimate)
    if (codes != MISSING).all():
        seen = family_counts(variables, graph, codes, w)
        counts = [n + a for n, a in zip(seen, added, strict=True)]
        network = BayesianNetwork(variables, graph.parents, tables_from_counts(variables, graph, counts, unseen))
        log_likelihood = sum(_log_likelihood(n, table) for n, table in zip(seen, network.tables, strict=True))
        return NetworkFit(network, log_likelihood, tuple(counts))
    rng = check_random_state(random_state)
    starts = [known or random_tables(variables, graph, rng)]
    starts += [random_tables(variables, graph, rng) for _ in range(n_init - 1)]
    rows, weights = distinct_rows(codes, w)
    models = (NetworkEM.start(start, added, hard=hard) for start in starts)
    found = best_em(models, rows, weights, tol=tol, max_iter=max_iter)
    network = found.model.network
    log_likelihood = float(NetworkEM.start(network).expect(rows, weights)[1])
    return NetworkFit(network, log_likelihood, tuple(found.statistics or ()), found.history, found.reason)


def _log_likelihood(counts: Doubles, table: Doubles) -> float:
    used = counts > 0
    return float(counts[used] @ np.log(table[used]))


def _variables(graph: DirectedGraph, X: UserTable, states: Mapping[str, Sequence[State]]) -> Variables:
    """States of every node: as given, else as the table shows them."""
    if isinstance(X, np.ndarray):
        X = {name: X[:, i].tolist() for i, name in enumerate(graph.nodes)} if X.ndim == 2 else X
    seen = Variables.from_table(X, states)
    found = dict(zip(seen.nodes, seen.states, strict=True)) | {name: tuple(labels) for name, labels in states.items()}
    if hidden := [name for name in graph.nodes if name not in found]:
        raise ValueError(f"the table has no column {hidden[0]!r}; if it is hidden, give its states")
    return Variables(graph.nodes, tuple(found[name] for name in graph.nodes))


def _weights(sample_weight: UserWeights, n: int) -> Doubles:
    if sample_weight is None:
        return np.ones(n)
    w = np.asarray(sample_weight, dtype=np.float64)
    if w.shape != (n,) or not (np.isfinite(w).all() and (w >= 0).all() and w.any()):
        raise ValueError(f"sample_weight must be {n} finite numbers of at least 0, not all of them 0")
    return w
