"""Dynamic Bayesian network: a Bayesian network per slice of time, joined to the slice before.

    P(x_1 .. x_T) = P_first(x_1) prod_t prod_i P(x_t^i | parents of x^i in slices t and t - 1)

Two slices are the template: tables of the first one, and of the following ones, in which the parent "rain[t-1]" is the
variable "rain" of the slice before. Unrolled to T slices it is a Bayesian network; its joint states are those of a
hidden Markov model; and filtering needs two slices at a time: what was observed reaches the next slice through the
interface, the variables with children there.

Dean & Kanazawa (1989); Murphy (2002).
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from functools import cached_property
from itertools import product as combinations
from math import prod
from typing import Any

import numpy as np

from fivefold.core.types import Doubles
from fivefold.graphical.bayesian_network import BayesianNetwork
from fivefold.graphical.variables import Evidence, State
from fivefold.inference.factors.factor import Factor, constant, product
from fivefold.inference.factors.junction_tree import JunctionTree
from fivefold.sequence.structured_states.state_chain import StateChain, check_cells

BEFORE = "[t-1]"  # after the name of a parent in the slice before


@dataclass(frozen=True)
class SliceMarginals:
    """Probabilities of the states of every variable in every slice, and of the evidence."""

    marginals: dict[str, Doubles]  # (T, states) by name
    log_evidence: float


@dataclass(frozen=True, eq=False)
class DynamicBayesianNetwork:
    """Tables of the first slice, and of a slice given the one before.

    Examples
    --------
    >>> network = DynamicBayesianNetwork.from_tables(
    ...     first={"rain": [0.5, 0.5], "umbrella": [[0.8, 0.2], [0.1, 0.9]]},
    ...     following={"rain": [[0.7, 0.3], [0.3, 0.7]], "umbrella": [[0.8, 0.2], [0.1, 0.9]]},
    ...     first_parents={"umbrella": ["rain"]},
    ...     following_parents={"rain": ["rain[t-1]"], "umbrella": ["rain"]},
    ... )
    >>> found = network.filter([{"umbrella": 1}, {"umbrella": 1}])
    >>> found.marginals["rain"][:, 1].round(3)
    array([0.818, 0.883])
    """

    first: BayesianNetwork
    following: Mapping[str, Doubles]  # a table per variable: parents, then the variable itself
    parents: Mapping[str, tuple[str, ...]]  # of these tables

    def __post_init__(self) -> None:
        names = self.first.variables.nodes
        if set(self.following) != set(names):
            odd = sorted(set(self.following) ^ set(names))
            raise ValueError(f"{odd[0]!r} has a table in the first slice only, or in the following ones only")
        self.unroll(2)  # shapes, sums and cycles are checked here

    @classmethod
    def from_tables(
        cls,
        first: Mapping[str, Any],
        following: Mapping[str, Any],
        first_parents: Mapping[str, Sequence[str]] | None = None,
        following_parents: Mapping[str, Sequence[str]] | None = None,
        states: Mapping[str, Sequence[State]] | None = None,
    ) -> DynamicBayesianNetwork:
        """From nested lists or arrays by name, as BayesianNetwork.from_tables takes them."""
        above = {name: tuple((following_parents or {}).get(name, ())) for name in following}
        tables = {name: np.asarray(table, dtype=np.float64) for name, table in following.items()}
        return cls(BayesianNetwork.from_tables(first, first_parents, states), tables, above)

    @property
    def variables(self) -> tuple[str, ...]:
        """Names of the variables of a slice."""
        return self.first.variables.nodes

    @cached_property
    def interface(self) -> tuple[int, ...]:
        """Numbers of the variables with children in the next slice."""
        found = {p.removesuffix(BEFORE) for several in self.parents.values() for p in several if p.endswith(BEFORE)}
        return tuple(i for i, name in enumerate(self.variables) if name in found)

    def unroll(self, T: int) -> BayesianNetwork:
        """The Bayesian network of T slices, whose variables are "rain[0]", "rain[1]", ..."""
        if T < 1:
            raise ValueError(f"a network is unrolled to one slice or more; got {T}")
        tables, parents, states = dict[str, Doubles](), dict[str, tuple[str, ...]](), dict[str, tuple[State, ...]]()
        for t in range(T):
            for i, name in enumerate(self.variables):
                here = f"{name}[{t}]"
                states[here] = self.first.variables.states[i]
                above = self.parents[name] if t else self.first.parents_of(name)
                tables[here] = self.following[name] if t else self.first.tables[i]
                parents[here] = tuple(
                    f"{p.removesuffix(BEFORE)}[{t - 1}]" if p.endswith(BEFORE) else f"{p}[{t}]" for p in above
                )
        return BayesianNetwork.from_tables(tables, parents, states)

    def filter(self, evidence: Sequence[Evidence]) -> SliceMarginals:
        """Every slice given the observations up to it, two slices at a time; an entry of `evidence` per slice."""
        n = len(self.variables)
        cards = dict(enumerate((*self.first.variables.cards,) * 2))
        before, now = self.interface, tuple(i + n for i in self.interface)
        link = constant(now, cards)  # keeps the interface in one clique
        message = Factor((), np.array(1.0))
        found: list[list[Doubles]] = [[] for _ in range(n)]
        log_evidence, tree, scopes = 0.0, None, None
        for t, given in enumerate(evidence):
            slice_factors = self._following_factors if t else self._first_factors
            factors = [message, *slice_factors, link]
            if tree is None or scopes != [f.variables for f in factors]:
                scopes = [f.variables for f in factors]
                tree = JunctionTree(scopes, cards)
            try:
                codes = {i + n: code for i, code in self.first.variables.codes_of(given).items()}
                answer = tree.calibrate(factors, codes)
            except ValueError as error:
                raise ValueError(f"slice {t}: {error}") from error
            log_evidence += answer.log_partition
            for i in range(n):
                found[i].append(answer.marginal(i + n))
            message = Factor(before, answer.joint(now).table) if now else message
        marginals = {name: np.array(rows) for name, rows in zip(self.variables, found, strict=True)}
        return SliceMarginals(marginals, log_evidence)

    def smooth(self, evidence: Sequence[Evidence]) -> SliceMarginals:
        """Every slice given all observations, by a junction tree of the unrolled network."""
        T, n = len(evidence), len(self.variables)
        network = self.unroll(T)
        tree = JunctionTree([f.variables for f in network.factors()], network.variables.cards)
        codes = {
            t * n + i: code
            for t, given in enumerate(evidence)
            for i, code in self.first.variables.codes_of(given).items()
        }
        answer = tree.calibrate(network.factors(), codes)
        marginals = {
            name: np.array([answer.marginal(t * n + i) for t in range(T)]) for i, name in enumerate(self.variables)
        }
        return SliceMarginals(marginals, answer.log_partition)

    def flatten(self, observed: Sequence[str]) -> tuple[StateChain, Doubles]:
        """A chain over the joint states of the hidden variables, and the probabilities of the observed ones in each.

        Observed variables must have their parents in their own slice, and the same tables in all; joint states are
        tuples in the order of the variables, the last changing fastest.
        """
        n, cards = len(self.variables), self.first.variables.cards
        seen = [self.first.variables.index(name) for name in observed]
        hidden = [i for i in range(n) if i not in seen]
        if wrong := [self.variables[i] for i in self.interface if i in seen]:
            raise ValueError(f"{wrong[0]!r} is observed, but has a child in the next slice; filter or smooth instead")
        for i in seen:
            same = self._first_factors[i].variables == self._following_factors[i].variables
            if not same or not np.array_equal(self._first_factors[i].table, self._following_factors[i].table):
                raise ValueError(
                    f"{self.variables[i]!r} has other tables in the first slice than in the following ones"
                )
        K = prod(cards[i] for i in hidden)
        check_cells(K, "the flat chain of a dynamic network")
        every = dict(enumerate((*cards,) * 2))
        before, now = tuple(hidden), tuple(i + n for i in hidden)

        def joint(factors: list[Factor], axes: tuple[int, ...]) -> Doubles:
            return product([constant(axes, every), *factors]).transpose(axes).table

        start = joint([self._first_factors[i] for i in hidden], now).reshape(K)
        step = joint([self._following_factors[i] for i in hidden], (*before, *now)).reshape(K, K)
        emission = joint([self._first_factors[i] for i in seen], (*now, *(i + n for i in seen))).reshape(K, -1)
        states = tuple(combinations(*(self.first.variables.states[i] for i in hidden)))
        return StateChain(start, step, states), emission

    @cached_property
    def _first_factors(self) -> tuple[Factor, ...]:
        n = len(self.variables)
        return tuple(Factor(tuple(v + n for v in f.variables), f.table) for f in self.first.factors())

    @cached_property
    def _following_factors(self) -> tuple[Factor, ...]:
        """Variables 0 .. n - 1 are those of the slice before, n .. 2 n - 1 those of this one."""
        n, index = len(self.variables), self.first.variables.index
        two = self.unroll(2)
        return tuple(
            Factor(
                (*(index(p.removesuffix(BEFORE)) + n * (not p.endswith(BEFORE)) for p in self.parents[name]), i + n),
                two.tables[i + n],
            )
            for i, name in enumerate(self.variables)
        )
