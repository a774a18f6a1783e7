"""What can be asked of a model whose joint distribution is a product of discrete factors.

    P(x) = (1 / Z) prod_k psi_k(x_k)

Bayesian networks, Markov networks and factor graphs differ in their factors only; Z of a Bayesian network is one.
"""

from __future__ import annotations

import math
from abc import ABC, abstractmethod
from collections.abc import Sequence
from functools import cached_property
from typing import Any, TypeAlias, cast, get_args

import numpy as np

from fivefold.core.types import Doubles
from fivefold.graphical.assignments import Assignment, assignment_text
from fivefold.graphical.graphs.named_nodes import Nodes, StoredFields
from fivefold.graphical.queries.approximate_queries import Approximation, approximate_answer
from fivefold.graphical.queries.posterior import Explanation, Posterior, subset
from fivefold.graphical.queries.query_engines import (
    ENGINES,
    ExactEngine,
    ImpossibleEvidence,
    log_marginal_table,
    with_evidence,
)
from fivefold.graphical.variables import Evidence, Likelihoods, State, Variables
from fivefold.inference.factors.configurations import Configuration, marginal_map, top_configurations
from fivefold.inference.factors.factor import Factor
from fivefold.inference.factors.junction_tree import JunctionTree, LoadedTree

Via: TypeAlias = ExactEngine | Approximation


class DiscreteModel(StoredFields, ABC):
    """A product of factors over named variables.

    Queries take `given`, a mapping of observed variables to their states, and `soft`, a mapping of variables to a
    likelihood per state (virtual evidence: what a noisy sensor says, to be multiplied in).
    """

    variables: Variables

    @abstractmethod
    def factors(self) -> tuple[Factor, ...]:
        """The factors, over numbers of variables; together they hold every variable."""

    def relevant_factors(self, indices: Sequence[int]) -> tuple[Factor, ...]:
        """The factors that a query about these variables needs."""
        return self.factors()

    def assignment(self, states: Evidence | None = None, /, **more: State) -> Assignment:
        """A partial assignment of states to variables."""
        return Assignment(self.variables, {**(states or {}), **more})

    def query(
        self,
        ask: Nodes,
        given: Evidence | None = None,
        soft: Likelihoods | None = None,
        via: Via = "exact",
        **options: Any,
    ) -> Posterior:
        """P(ask | given), jointly if several variables are asked for.

        `via` names the engine: "exact" (variable elimination), "junction_tree", "case_factor" or "enumeration"; or an
        approximation, "loopy", "mean_field", "gibbs", "likelihood_weighting" or "rejection", whose `options` are those
        of the functions in `fivefold.inference.approximate`, such as draws=10_000.
        """
        asked = self.variables.indices(ask)
        codes = self.variables.codes_of(given)
        likelihoods = self.variables.likelihoods_of(soft)
        open_ones = tuple(i for i in asked if i not in codes)
        if via in get_args(Approximation) and open_ones:
            engine = cast("Approximation", via)
            cards = self.variables.cards
            table, log_evidence = approximate_answer(
                self.factors(), open_ones, cards, codes, likelihoods, engine, options
            )
        else:
            if options:
                raise TypeError(f"via={via!r} takes no options; got {', '.join(options)}")
            log_table = self._log_table(open_ones, codes, likelihoods, via)
            log_evidence = _log_sum(log_table)
            if log_evidence == -math.inf:
                raise self._impossible(given, soft)
            table = np.exp(log_table - log_evidence)
            table /= table.sum()
        for axis, i in enumerate(asked):  # what is known already has probability one
            if i in codes:
                table = np.expand_dims(table, axis) * _point(axis, len(asked), self.variables.cards[i], codes[i])
        return Posterior(subset(self.variables, asked), table, dict(given or {}), log_evidence)

    def marginals(self, given: Evidence | None = None, soft: Likelihoods | None = None) -> dict[str, Posterior]:
        """The distribution of every variable, from one calibration of the junction tree."""
        codes, likelihoods = self.variables.codes_of(given), self.variables.likelihoods_of(soft)
        for i in codes.keys() & likelihoods.keys():  # both about one variable
            likelihoods[i] = likelihoods[i] * np.eye(self.variables.cards[i])[codes.pop(i)]
        try:
            calibration = self.loaded_tree.calibrate({**codes, **likelihoods})
        except ValueError as error:
            if "probability zero" in str(error):
                raise self._impossible(given, soft) from None
            raise
        log_evidence = calibration.log_partition
        return {
            name: Posterior(subset(self.variables, (i,)), calibration.marginal(i), dict(given or {}), log_evidence)
            for i, name in enumerate(self.variables.nodes)
        }

    def log_partition(
        self, given: Evidence | None = None, soft: Likelihoods | None = None, via: Via = "exact"
    ) -> float:
        """log Z(given): the log of the product of the factors, summed over all assignments that extend `given`."""
        codes = self.variables.codes_of(given)
        return float(self._log_table((), codes, self.variables.likelihoods_of(soft), via))

    def probability(self, event: Evidence, given: Evidence | None = None, via: Via = "exact") -> float:
        """P(event | given) of a partial assignment, Z(event, given) / Z(given); 0 if the two contradict each other."""
        given = self.assignment(given)
        below = self.log_partition(given, via=via)
        if below == -math.inf:
            raise self._impossible(given, None)
        try:
            both = given.extended(event)
        except ValueError:
            self.variables.codes_of(event)  # an unknown name or state is refused
            return 0.0
        return math.exp(self.log_partition(both, via=via) - below)

    def most_probable_explanation(self, given: Evidence | None = None, soft: Likelihoods | None = None) -> Explanation:
        """The most probable states of all variables that are not observed."""
        return self.most_probable_explanations(1, given, soft)[0]

    def most_probable_explanations(
        self, k: int, given: Evidence | None = None, soft: Likelihoods | None = None
    ) -> list[Explanation]:
        """The k most probable joint states of all variables that are not observed; fewer if fewer are possible."""
        codes, likelihoods = self.variables.codes_of(given), self.variables.likelihoods_of(soft)
        found = top_configurations(with_evidence(self.factors(), codes, likelihoods), self.variables.cards, k)
        if not found:
            raise self._impossible(given, soft)
        below = self.log_partition(given, soft)
        return [self._explanation(each, below) for each in found]

    def marginal_map(self, ask: Nodes, given: Evidence | None = None, soft: Likelihoods | None = None) -> Explanation:
        """The most probable states of some variables together, with all others summed out."""
        codes, likelihoods = self.variables.codes_of(given), self.variables.likelihoods_of(soft)
        asked = [i for i in self.variables.indices(ask) if i not in codes]
        below = self.log_partition(given, soft)
        if below == -math.inf:
            raise self._impossible(given, soft)
        factors = self.relevant_factors((*asked, *codes, *likelihoods))
        found = marginal_map(with_evidence(factors, codes, likelihoods), asked, self.variables.cards)
        return self._explanation(found, below)

    def _explanation(self, found: Configuration, below: float) -> Explanation:
        return Explanation(self.variables.labels_of(found.states), math.exp(found.log_value - below), found.log_value)

    @cached_property
    def junction_tree(self) -> JunctionTree:
        """The junction tree of the factors, made once and shared by all queries."""
        return JunctionTree([factor.variables for factor in self.factors()], self.variables.cards)

    @cached_property
    def loaded_tree(self) -> LoadedTree:
        """The junction tree with the factors in it, ready for evidence."""
        return self.junction_tree.load(self.factors())

    def _log_table(
        self, ask: tuple[int, ...], codes: dict[int, int], likelihoods: dict[int, Doubles], via: Via
    ) -> Doubles:
        if via not in ENGINES:
            raise ValueError(f"via is one of {', '.join((*ENGINES, *get_args(Approximation)))}; got {via!r}")
        factors = with_evidence(self.relevant_factors((*ask, *codes, *likelihoods)), codes, likelihoods)
        return log_marginal_table(factors, ask, self.variables.cards, via)

    def _impossible(self, given: Evidence | None, soft: Likelihoods | None) -> ImpossibleEvidence:
        """The error that names the first observation which is impossible given those before it."""
        before: dict[str, State] = {}
        for name, state in (given or {}).items():
            now = {**before, name: state}
            if self.log_partition(now) == -math.inf:
                so_far = f" given {assignment_text(before)}" if before else ""
                return ImpossibleEvidence(
                    f"the evidence has probability zero: {name}={state} cannot be{so_far}; change it, or give no table "
                    "of the model a probability of 0"
                )
            before = now
        condition = f" given {assignment_text(before)}" if before else ""
        return ImpossibleEvidence(f"the soft evidence about {', '.join(soft or ())} has likelihood zero{condition}")


def _log_sum(logs: Doubles) -> float:
    highest = float(logs.max())
    return highest + math.log(float(np.exp(logs - highest).sum())) if highest > -math.inf else -math.inf


def _point(axis: int, axes: int, card: int, code: int) -> Doubles:
    """All probability on one state, along one of several axes."""
    return np.eye(card)[code].reshape([card if j == axis else 1 for j in range(axes)])
