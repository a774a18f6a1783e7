"""Bayesian networks of discrete variables: a directed acyclic graph with a conditional table per node.

    P(x_1, ..., x_d) = prod_i P(x_i | parents of x_i)

A table has one axis per parent and the node itself as the last axis, along which it sums to one. A node with k parents
of m states has m^k (m - 1) free parameters, the full joint m^d - 1.

Pearl (1988); Koller & Friedman (2009).
"""

from __future__ import annotations

import math
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass
from functools import cached_property
from typing import Any

import numpy as np
from sklearn.utils import check_random_state

from fivefold.core.admission.refusals import listed
from fivefold.core.types import Codes, Doubles, Rng, UserTable
from fivefold.graphical.assignments import assignment_text
from fivefold.graphical.discrete_model import DiscreteModel
from fivefold.graphical.graphs.directed_graph import DirectedGraph
from fivefold.graphical.queries.query_engines import ImpossibleEvidence
from fivefold.graphical.variables import MISSING, Evidence, State, Variables, places
from fivefold.inference.approximate.weighted_sampling import draw_rows
from fivefold.inference.factors.factor import Factor

SUM_TOLERANCE = 1e-6  # how far the sum of a row of a table may be from one


@dataclass(frozen=True)
class ParameterCounts:
    """How many numbers a network holds, and how many the table of the joint distribution would."""

    table_entries: int
    free: int
    full_joint: int  # entries of the joint table less one
    per_variable: dict[str, int]  # free parameters of every node

    def __str__(self) -> str:
        return (
            f"{self.free:,} free parameters in {self.table_entries:,} entries; the full joint has {self.full_joint:,}"
        )


@dataclass(frozen=True, eq=False)
class BayesianNetwork(DiscreteModel):
    """Discrete variables, their parents, and their conditional tables.

    Examples
    --------
    >>> wet = [[[0.9, 0.1], [0.1, 0.9]], [[0.1, 0.9], [0.05, 0.95]]]
    >>> network = BayesianNetwork.from_tables(
    ...     {"rain": [0.6, 0.4], "sprinkler": [0.8, 0.2], "wet": wet},
    ...     parents={"wet": ("rain", "sprinkler")},
    ... )
    >>> round(network.query("wet")[1], 4), round(network.query("sprinkler", given={"wet": 1})[1], 4)
    (0.52, 0.3538)
    >>> print(network.parameter_counts())
    6 free parameters in 12 entries; the full joint has 7
    """

    variables: Variables
    parents: tuple[tuple[int, ...], ...]  # numbers of the parents of every variable, in the order of the axes
    tables: tuple[Doubles, ...]  # per variable, shape (states of every parent ..., states)

    def __post_init__(self) -> None:
        for i, (parents, table) in enumerate(zip(self.parents, self.tables, strict=True)):
            self._check_table(i, parents, table)
        self.graph  # noqa: B018  (a cycle is refused here)

    @classmethod
    def from_tables(
        cls,
        tables: Mapping[str, Any],
        parents: Mapping[str, Sequence[str]] | None = None,
        states: Mapping[str, Sequence[State]] | None = None,
    ) -> BayesianNetwork:
        """A network from nested lists or arrays by name.

        `parents` may leave out nodes that have none; `states` are 0, 1, ... where they are not given. A table may be
        flat, with a row per combination of states of the parents, the last parent changing fastest.
        """
        names = tuple(tables)
        numbers = {name: i for i, name in enumerate(names)}
        above = {name: tuple((parents or {}).get(name, ())) for name in names}
        for child, several in [*above.items(), *((name, ()) for name in (parents or {}))]:
            if unknown := [name for name in (child, *several) if name not in numbers]:
                raise ValueError(f"{unknown[0]!r} is named as a node or a parent, but has no table")
        arrays = {name: np.asarray(table, dtype=np.float64) for name, table in tables.items()}
        labels = {name: tuple((states or {}).get(name, range(array.shape[-1]))) for name, array in arrays.items()}
        variables = Variables(names, tuple(labels.values()))
        shaped = []
        for name, array in arrays.items():
            shape = tuple(len(labels[p]) for p in (*above[name], name))
            if array.size != math.prod(shape) or array.shape[-1] != shape[-1]:
                raise ValueError(
                    f"table of {name!r} has shape {array.shape}; its parents ({listed(above[name])}) and states ask "
                    f"for {shape}"
                )
            shaped.append(np.ascontiguousarray(array.reshape(shape)))
        return cls(variables, tuple(tuple(numbers[p] for p in above[name]) for name in names), tuple(shaped))

    @cached_property
    def graph(self) -> DirectedGraph:
        """The graph alone."""
        return DirectedGraph(self.variables.nodes, self.parents)

    def table(self, name: str) -> Doubles:
        """The conditional table of a node: an axis per parent, then the node itself."""
        return self.tables[self.variables.index(name)]

    def parents_of(self, name: str) -> tuple[str, ...]:
        """The parents of a node, in the order of the axes of its table."""
        return tuple(self.variables.nodes[p] for p in self.parents[self.variables.index(name)])

    def replaced(self, tables: Mapping[str, Doubles]) -> BayesianNetwork:
        """The network with other tables for some nodes."""
        new = {self.variables.index(name): np.asarray(table, dtype=np.float64) for name, table in tables.items()}
        return BayesianNetwork(
            self.variables, self.parents, tuple(new.get(i, old) for i, old in enumerate(self.tables))
        )

    @cached_property
    def _factors(self) -> tuple[Factor, ...]:
        return tuple(Factor((*p, i), t) for i, (p, t) in enumerate(zip(self.parents, self.tables, strict=True)))

    def factors(self) -> tuple[Factor, ...]:
        """One factor per node: its table over its parents and itself. Their product is the joint, Z is one."""
        return self._factors

    def relevant_factors(self, indices: Sequence[int]) -> tuple[Factor, ...]:
        """The factors of these variables and of their ancestors: the others sum to one."""
        kept: set[int] = set()
        waiting = list(indices)
        while waiting:
            node = waiting.pop()
            if node not in kept:
                kept.add(node)
                waiting.extend(self.parents[node])
        return tuple(self._factors[i] for i in sorted(kept))

    def parameter_counts(self) -> ParameterCounts:
        """Numbers of parameters, beside those of the full joint table."""
        free = {
            name: table.size // table.shape[-1] * (table.shape[-1] - 1)
            for name, table in zip(self.variables.nodes, self.tables, strict=True)
        }
        entries = sum(table.size for table in self.tables)
        return ParameterCounts(entries, sum(free.values()), math.prod(self.variables.cards) - 1, free)

    def log_joint(self, X: UserTable) -> Doubles:
        """log P(x) of complete rows: a frame by name, or codes (n, variables)."""
        return np.sum(self.log_family_terms(X), axis=0)

    def log_family_terms(self, X: UserTable) -> Doubles:
        """log P(x_i | parents) per variable and row, (variables, n): the log-likelihood is their sum."""
        codes = self.variables.encode(X)
        for row, i in np.argwhere(codes == MISSING)[:1]:
            raise ValueError(
                f"row {row}: variable {self.variables.nodes[i]!r} is missing; the joint probability needs all variables"
            )
        with np.errstate(divide="ignore"):
            logs = [np.log(table).ravel() for table in self.tables]
        columns, cards = np.asfortranarray(codes), self.variables.cards
        return np.stack([logs[i][places(columns, (*p, i), cards)] for i, p in enumerate(self.parents)])

    def joint_probability(self, assignment: Evidence) -> float:
        """P of a total assignment, the product of one entry per table."""
        codes = self.variables.codes_of(assignment)
        if len(codes) < len(self.variables.nodes):
            missing = next(name for i, name in enumerate(self.variables.nodes) if i not in codes)
            raise ValueError(f"{missing!r} has no state; the joint probability needs all variables")
        return math.prod(
            float(table[tuple(codes[j] for j in (*p, i))]) for i, (p, table) in enumerate(self._families())
        )

    def full_conditional(self, name: str, rest: Evidence) -> Doubles:
        """P(name | all others), from its Markov blanket: its table and those of its children, normalised."""
        i, codes = self.variables.index(name), self.variables.codes_of(rest)
        codes.pop(i, None)
        found = np.ones(self.variables.cards[i])
        for k in (i, *self.graph.children[i]):
            if missing := [j for j in self._factors[k].variables if j != i and j not in codes]:
                raise ValueError(f"{self.variables.nodes[missing[0]]!r} is in the blanket of {name!r}; give its state")
            found = found * self._factors[k].condition(codes).table
        if not found.sum() > 0:
            raise ImpossibleEvidence(f"no state of {name!r} is possible with these states of its blanket")
        return np.asarray(found / found.sum())

    def sample_codes(self, n: int, rng: Rng | int | None = None) -> Codes:
        """n draws of all variables as codes (n, variables), parents before children."""
        draws: Rng = check_random_state(rng)
        codes = np.empty((n, len(self.variables.nodes)), dtype=np.int32)
        for i in self.graph.order:
            codes[:, i] = draw_rows(self.tables[i], codes[:, self.parents[i]], draws)
        return codes

    def sample(self, n: int, random_state: Rng | int | None = None) -> dict[str, list[Any]]:
        """n draws of all variables as columns of labels, ready for a data frame."""
        return self.variables.decode(self.sample_codes(n, random_state))

    def to_text(self) -> str:
        """The network as lines for a terminal: nodes in topological order with parents and states."""
        lines = []
        for i in self.graph.order:
            name, above = self.variables.nodes[i], self.parents_of(self.variables.nodes[i])
            arrow = f" <- {', '.join(above)}" if above else ""
            lines.append(f"{name} ({', '.join(map(str, self.variables.states[i]))}){arrow}")
        return "\n".join(lines)

    def __str__(self) -> str:
        return self.to_text()

    def _families(self) -> Iterator[tuple[tuple[int, ...], Doubles]]:
        return zip(self.parents, self.tables, strict=True)

    def _check_table(self, i: int, parents: tuple[int, ...], table: Doubles) -> None:
        name, cards = self.variables.nodes[i], self.variables.cards
        shape = tuple(cards[p] for p in (*parents, i))
        if table.shape != shape:
            raise ValueError(f"table of {name!r} has shape {table.shape}; its parents and states ask for {shape}")
        bad = ~((np.abs(table.sum(axis=-1) - 1) <= SUM_TOLERANCE) & (table >= 0).all(axis=-1))
        if bad.any():
            row = np.argwhere(bad)[0]
            values = table[tuple(row)]
            place = assignment_text(
                {self.variables.nodes[p]: self.variables.states[p][c] for p, c in zip(parents, row, strict=True)}
            )
            where = f"row {place}" if place else "its only row"
            total = f"sums to {values.sum():.6g}" if (values >= 0).all() else f"holds {values[~(values >= 0)][0]:.6g}"
            raise ValueError(f"table of {name!r}, {where}: {total}; probabilities are at least 0 and sum to 1")
