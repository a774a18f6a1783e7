"""Pairwise Markov random field: hidden variables on a graph, each with its evidence, neighbours with compatibility.

    p(x | y) = (1 / Z) prod_{(i, j) in E} psi_ij(x_i, x_j) prod_i phi_i(x_i)

psi_ij has a row per state of i and a column per state of j; psi_ji is its transpose. Marginals by

    brute force    all z^n joint states                                  z^(n-1) terms per state of a variable
    tree           messages from the leaves and back, on a forest        2 E messages of z^2 terms
    exact          junction tree                                         cells of its cliques
    loopy          messages until they stop changing (approximate), mean field (a bound), Gibbs sampling

The cost is known before anything is computed; "auto" takes an exact way that is not too large, else loopy.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from functools import cached_property
from math import log10, prod
from typing import Any, Literal, get_args

import numpy as np
from numpy.typing import ArrayLike
from scipy.sparse import coo_array
from scipy.sparse.csgraph import breadth_first_order, connected_components

from fivefold.core.types import Codes, Doubles, Indices
from fivefold.inference.approximate.factor_arrays import FlatFactors, arrays_of_scopes, compact_table
from fivefold.inference.approximate.gibbs_sampling import iterated_modes, sample_graph
from fivefold.inference.approximate.loopy_propagation import propagate
from fivefold.inference.approximate.mean_field import fit_mean_field
from fivefold.inference.factors.elimination_order import Order, elimination_order
from fivefold.inference.factors.enumeration import MAX_CELLS, enumerate_joint
from fivefold.inference.factors.factor import Factor
from fivefold.inference.factors.junction_tree import JunctionTree

Method = Literal["auto", "brute_force", "tree", "exact", "loopy", "mean_field", "gibbs"]
Neighbours = Literal[4, 8, "diagonal"]
MAX_JUNCTION_CELLS = 2**21  # cells of all cliques up to which "auto" builds a junction tree: a tenth of a second
MAX_ORDERED_VARIABLES = 2000  # variables up to which "auto" looks for an elimination order


@dataclass(frozen=True)
class FieldCost:
    """What marginals will cost, in products of numbers."""

    brute_terms: int  # per state of a variable: joint states of all others
    messages: int  # of one pass over all edges, both ways; on a forest one pass is enough
    message_terms: int  # of one pass
    width: int | None  # of a junction tree: variables of its largest clique less one; None where it was not looked for
    junction_cells: int | None
    method: Method  # what "auto" takes

    def __str__(self) -> str:
        exact = "" if self.width is None else f", junction tree of width {self.width}: {self.junction_cells:,} cells"
        brute = f"{self.brute_terms:,}" if self.brute_terms < 10**15 else f"10^{log10(self.brute_terms):.0f}"
        return f"brute force {brute} terms, {self.messages:,} messages of {self.message_terms:,} terms{exact}"


@dataclass(frozen=True)
class FieldBeliefs:
    """Marginals of all variables, and how they were found."""

    marginals: tuple[Doubles, ...]
    method: Method
    exact: bool
    report: Any  # of messages, of the bound, of the chains or of the junction tree; of brute force, log Z

    @property
    def log_partition(self) -> float | None:
        """log Z: exact, Bethe's (loopy) or a lower bound (mean field); of Gibbs sampling unknown."""
        return self.report if isinstance(self.report, float) else getattr(self.report, "log_partition", None)

    @cached_property
    def labels(self) -> Codes:
        """(n,) the most probable state of each variable, the lowest where several are."""
        return np.array([int(p.argmax()) for p in self.marginals])

    @cached_property
    def entropy(self) -> Doubles:
        """(n,) how uncertain each variable is, in nats: 0 where one state is sure."""
        lengths = [len(p) for p in self.marginals]
        flat = np.concatenate(self.marginals)
        terms = -flat * np.log(np.where(flat > 0, flat, 1.0))
        found: Doubles = np.add.reduceat(terms, np.concatenate([[0], np.cumsum(lengths)[:-1]]))
        return np.maximum(found, 0.0)


@dataclass(frozen=True)
class FieldMode:
    """States of all variables together, and the log of the product of all potentials at them."""

    states: Codes
    log_score: float
    exact: bool


class PairwiseField:
    """Evidence per variable, edges, and compatibility tables.

    `evidence` is (n, K), or a vector per variable where numbers of states differ; `compatibility` is one table for all
    edges (i, j), or one per edge.

    Examples
    --------
    >>> agree = np.array([[2.0, 1.0], [1.0, 2.0]])
    >>> field = PairwiseField([[0.7, 0.3], [0.5, 0.5], [0.5, 0.5]], [(0, 1), (1, 2), (0, 2)], agree)
    >>> field.marginals().labels, np.round(field.marginals("loopy").marginals[0], 6)
    (array([0, 0, 0]), array([0.712683, 0.287317]))
    """

    def __init__(
        self,
        evidence: ArrayLike | Sequence[ArrayLike],
        edges: ArrayLike,
        compatibility: ArrayLike | Sequence[ArrayLike],
        *,
        logs: bool = False,
    ) -> None:
        """`logs`: evidence and compatibility are logs, for energies too large for plain numbers."""
        given: Any = evidence
        same_length = isinstance(given, np.ndarray) and given.ndim == 2
        rows: Any = given.astype(np.float64) if same_length else [np.asarray(row, dtype=np.float64) for row in given]
        self.edges: Indices = np.asarray(edges, dtype=np.int64).reshape(-1, 2)
        lengths = [rows.shape[1]] * len(rows) if same_length else [len(row) for row in rows]
        self.cards: Indices = np.array(lengths, dtype=np.int64)
        if not len(rows) or not self.cards.all():
            raise ValueError("a field has at least one variable, and each of them a state")
        _check_edges(self.edges, len(rows))
        given = compatibility
        one = np.ndim(given[0]) < 2 if len(given) else True
        tables = [np.asarray(table, dtype=np.float64) for table in ([given] if one else given)]
        if not one and len(tables) != len(self.edges):
            raise ValueError(f"{len(self.edges)} edges, but {len(tables)} tables of compatibility")
        self._table_of = np.zeros(len(self.edges), dtype=np.int64) if one else np.arange(len(self.edges))
        shapes = np.array([table.shape for table in tables])[self._table_of]
        for at in np.flatnonzero((shapes != self.cards[self.edges]).any(axis=1))[:1]:
            (i, j), shape = self.edges[at], tuple(shapes[at].tolist())
            asked = (int(self.cards[i]), int(self.cards[j]))
            raise ValueError(f"edge ({i}, {j}): its table has shape {shape}; its variables ask for {asked}")
        self._evidence = _logs(np.concatenate(rows), "evidence", logs)
        self._tables = [_logs(table, f"compatibility table {k}", logs) for k, table in enumerate(tables)]

    @classmethod
    def chain(cls, evidence: Doubles | Sequence[ArrayLike], compatibility: Any) -> PairwiseField:
        """Variables in a row."""
        n = len(evidence)
        return cls(evidence, np.stack([np.arange(n - 1), np.arange(1, n)], axis=1), compatibility)

    @classmethod
    def tree(cls, evidence: ArrayLike | Sequence[ArrayLike], edges: ArrayLike, compatibility: Any) -> PairwiseField:
        """Variables on a graph without cycles; cycles are refused."""
        field = cls(evidence, edges, compatibility)
        if not field.is_forest:
            raise ValueError("these edges form a cycle; a tree has none")
        return field

    @classmethod
    def grid(
        cls, evidence: ArrayLike, compatibility: Any, *, neighbours: Neighbours = 4, logs: bool = False
    ) -> PairwiseField:
        """Pixels of a picture, evidence (height, width, K), each beside its neighbours."""
        values = np.asarray(evidence, dtype=np.float64)
        if values.ndim != 3:
            raise ValueError(f"evidence of a picture is (height, width, states); got shape {values.shape}")
        edges = grid_edges(values.shape[0], values.shape[1], neighbours)
        return cls(values.reshape(-1, values.shape[2]), edges, compatibility, logs=logs)

    def __len__(self) -> int:
        return len(self.cards)

    @cached_property
    def is_forest(self) -> bool:
        """Has the graph no cycle?"""
        count, _ = connected_components(self._links, directed=False)
        return len(self.edges) == len(self) - count

    @cached_property
    def flat(self) -> FlatFactors:
        """The arrays that approximate inference works on; edges of a forest from the leaves to the roots."""
        order = self._leaves_first() if self.is_forest else np.arange(len(self.edges))
        compact = [compact_table(table) for table in self._tables]
        starts = np.concatenate([[0], np.cumsum([len(cells) for _, cells in compact])])
        kinds, which = np.array([kind for kind, _ in compact]), self._table_of[order]
        cells = np.concatenate([cells for _, cells in compact]) if len(self.edges) else np.empty(0)
        arrays = arrays_of_scopes(self.cards, self._evidence, self.edges[order], kinds[which], starts[which], cells)
        return FlatFactors(arrays, np.argsort(order))

    def factors(self) -> list[Factor]:
        """One factor per variable, then one per edge, with plain values."""
        tables = [np.exp(table) for table in self._tables]
        single = [Factor((i,), np.exp(row)) for i, row in enumerate(self.flat.per_variable(self._evidence))]
        pairs = zip(self.edges.tolist(), self._table_of.tolist(), strict=True)
        return single + [Factor((i, j), tables[k]) for (i, j), k in pairs]

    def log_score(self, states: ArrayLike) -> Doubles:
        """Log of the product of all potentials at (..., n) states."""
        return np.asarray(self.flat.log_score(np.asarray(states)))

    def score(self, states: ArrayLike) -> Doubles:
        """The product of all potentials at (..., n) states: their probability up to Z."""
        return np.exp(self.log_score(states))

    @cached_property
    def cost(self) -> FieldCost:
        """What marginals will cost each way, and what "auto" takes."""
        cells = prod(self.cards.tolist())
        brute = cells // int(self.cards.min())
        terms = 2 * int(prod_of_pairs.sum()) if len(prod_of_pairs := self.cards[self.edges].prod(axis=1)) else 0
        width, junction = (1, terms // 2) if self.is_forest else (None, None)
        if not self.is_forest and len(self) <= MAX_ORDERED_VARIABLES:
            order = self._order()
            width, junction = order.width, order.cost
        method: Method = "loopy"
        if brute <= terms and cells <= MAX_CELLS and len(self) < 32:
            method = "brute_force"
        elif self.is_forest:
            method = "tree"
        elif junction is not None and junction <= MAX_JUNCTION_CELLS:
            method = "exact"
        return FieldCost(brute, 2 * len(self.edges), terms, width, junction, method)

    def marginals(self, method: Method = "auto", **options: Any) -> FieldBeliefs:
        """Probabilities of the states of every variable; options are those of the method's engine."""
        if method not in get_args(Method):
            raise ValueError(f"method={method!r}: one of {', '.join(get_args(Method))}")
        method = self.cost.method if method == "auto" else method
        if method == "tree" and not self.is_forest:
            raise ValueError("the graph has a cycle: ask for exact, loopy or auto")
        if method == "brute_force":
            joint = enumerate_joint(self.factors(), self.cards.tolist()).table
            total, axes = joint.sum(), range(joint.ndim)
            if not 0.0 < total < np.inf:
                raise ValueError(
                    f"the products of the potentials sum to {total}: nothing is possible, or plain numbers overflow"
                )
            found = tuple(joint.sum(axis=tuple(a for a in axes if a != i)) / total for i in axes)
            return FieldBeliefs(found, method, True, float(np.log(total)))
        if method == "exact":
            factors = self.factors()
            calibration = JunctionTree([f.variables for f in factors], self.cards.tolist(), **options).calibrate(
                factors
            )
            found = tuple(calibration.marginal(i) for i in range(len(self)))
            return FieldBeliefs(found, method, True, calibration)
        if method in ("tree", "loopy"):
            beliefs = propagate(self.flat, **({"schedule": "sequential"} | options))
            return FieldBeliefs(beliefs.marginals, method, self.is_forest, beliefs)
        if method == "mean_field":
            fit = fit_mean_field(self.flat, **options)
            return FieldBeliefs(fit.marginals, method, False, fit)
        samples = sample_graph(self.flat, **({"kept": ()} | options))
        return FieldBeliefs(samples.marginals, method, False, samples)

    def mode(self, **options: Any) -> FieldMode:
        """The most probable states together: exact on forests, else by messages and a climb to a local maximum."""
        beliefs = propagate(self.flat, maximum=True, **({"schedule": "sequential"} | options))
        states = beliefs.assignment
        if not self.is_forest:
            local = np.array([int(row.argmax()) for row in self.flat.per_variable(self._evidence)])
            climbs = [iterated_modes(self.flat, start)[0] for start in (states, local)]
            states = max(climbs, key=lambda x: float(self.log_score(x)))
        return FieldMode(states, float(self.log_score(states)), self.is_forest)

    @cached_property
    def _links(self) -> Any:
        ones = np.ones(len(self.edges))
        return coo_array((ones, (self.edges[:, 0], self.edges[:, 1])), shape=(len(self), len(self))).tocsr()

    def _order(self) -> Order:
        scopes = [(i,) for i in range(len(self))] + [(i, j) for i, j in self.edges.tolist()]
        return elimination_order(scopes, self.cards.tolist())

    def _leaves_first(self) -> Indices:
        """Edges of a forest, those farther from the root first: two passes along them send every message once."""
        depth = np.full(len(self), -1, dtype=np.int64)
        for root in range(len(self)):
            if depth[root] < 0:
                order = breadth_first_order(self._links, root, directed=False, return_predecessors=False)
                for rank, node in enumerate(order):
                    depth[node] = rank
        return (
            np.argsort(-depth[self.edges].max(axis=1), kind="stable")
            if len(self.edges)
            else np.empty(0, dtype=np.int64)
        )


def grid_edges(height: int, width: int, neighbours: Neighbours = 4) -> Indices:
    """Pairs of neighbouring pixels, numbered row by row, each pair once.

    Examples
    --------
    >>> grid_edges(2, 2).tolist(), grid_edges(2, 2, "diagonal").tolist()
    ([[0, 1], [0, 2], [1, 3], [2, 3]], [[0, 3], [1, 2]])
    """
    if neighbours not in (4, 8, "diagonal"):
        raise ValueError(f"neighbours={neighbours!r}: 4, 8 or 'diagonal'")
    at = np.arange(height * width).reshape(height, width)
    straight = [(at[:, :-1], at[:, 1:]), (at[:-1], at[1:])]
    slanted = [(at[:-1, :-1], at[1:, 1:]), (at[:-1, 1:], at[1:, :-1])]
    chosen = {4: straight, 8: straight + slanted, "diagonal": slanted}[neighbours]
    pairs = np.concatenate([np.stack([a.ravel(), b.ravel()], axis=1) for a, b in chosen])
    return pairs[np.lexsort((pairs.max(axis=1), pairs.min(axis=1)))]


def _check_edges(edges: Indices, n: int) -> None:
    if len(edges) and (edges.min() < 0 or edges.max() >= n):
        raise ValueError(f"edges join variables numbered from 0 to {n - 1}")
    if (edges[:, 0] == edges[:, 1]).any():
        raise ValueError("an edge joins a variable with itself")
    if len(np.unique(edges.min(axis=1) * n + edges.max(axis=1))) < len(edges):
        raise ValueError("two edges join the same variables: multiply their tables")


def _logs(values: Doubles, name: str, logs: bool) -> Doubles:
    if logs:
        if np.isnan(values).any() or (values == np.inf).any():
            raise ValueError(f"{name}: logs have to be numbers, or -inf")
        return values
    if not np.isfinite(values).all() or (values < 0).any():
        raise ValueError(f"{name}: values have to be finite, zero or positive")
    with np.errstate(divide="ignore"):
        return np.log(values)
