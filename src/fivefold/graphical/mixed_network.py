"""Networks of discrete and real variables: conditional linear Gaussians.

    x_i | discrete parents = u, real parents = z   ~   N(intercept_u + weights_u' z, variance_u)

Discrete variables have discrete parents only. Given the discrete variables the real ones are jointly Gaussian; those
that edges between real variables join form a part, and what is observed of a part is a likelihood of the discrete
parents in it:

    L(u) = integral over what is not observed of the Gaussian at u        a factor among the discrete tables

A real variable is asked for as the mixture of its Gaussians over u, with weights P(u | evidence). Lauritzen (1992).
"""

from __future__ import annotations

import math
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass, field
from functools import cached_property
from itertools import product
from typing import Any

import numpy as np
from sklearn.utils import check_random_state

from fivefold.core.types import Codes, Doubles, Rng, UserTable
from fivefold.graphical.assignments import assignment_text
from fivefold.graphical.bayesian_network import BayesianNetwork
from fivefold.graphical.graphs.directed_graph import DirectedGraph
from fivefold.graphical.graphs.named_nodes import StoredFields
from fivefold.graphical.graphs.undirected_graph import UndirectedGraph
from fivefold.graphical.linear_gaussian_network import real_columns
from fivefold.graphical.parameters.table_fit import fit_tables
from fivefold.graphical.queries.posterior import Posterior, subset
from fivefold.graphical.queries.query_engines import ImpossibleEvidence, log_marginal_table, with_evidence
from fivefold.graphical.variables import State
from fivefold.inference.factors.factor import Factor
from fivefold.inference.factors.gaussian_factor import GaussianFactor, eliminate_gaussians

MAX_CONFIGURATIONS = 100_000  # of the discrete parents of one part: each has a Gaussian of its own
MIN_VARIANCE = 1e-12  # of a fitted node, as a share of the variance of its column


@dataclass(frozen=True)
class ConditionalGaussian:
    """A real node: linear in its real parents, with numbers of their own for each state of its discrete parents."""

    discrete_parents: tuple[str, ...] = ()
    real_parents: tuple[str, ...] = ()
    intercepts: Any = 0.0  # (states of every discrete parent ...)
    weights: Any = ()  # (states ..., real parents)
    variances: Any = 1.0  # (states ...)


@dataclass(frozen=True, eq=False)
class MixturePosterior:
    """p(a real variable | given): a mixture of Gaussians, one per state of the discrete variables around it."""

    name: str
    weights: Doubles  # (K,)
    means: Doubles  # (K,)
    variances: Doubles  # (K,)
    given: Mapping[str, Any] = field(default_factory=dict)
    log_evidence: float = 0.0

    @property
    def mean(self) -> float:
        return float(self.weights @ self.means)

    @property
    def variance(self) -> float:
        return float(self.weights @ (self.variances + (self.means - self.mean) ** 2))

    def density(self, x: Doubles) -> Doubles:
        """p(x) at each of several places."""
        z = (np.asarray(x, dtype=np.float64)[..., None] - self.means) ** 2 / self.variances
        return np.asarray((self.weights * np.exp(-z / 2) / np.sqrt(2 * np.pi * self.variances)).sum(axis=-1))

    def __str__(self) -> str:
        condition = f" | {assignment_text(self.given)}" if self.given else ""
        return f"p({self.name}{condition}): mean {self.mean:.6g}, standard deviation {math.sqrt(self.variance):.6g}"


@dataclass(frozen=True, eq=False)
class MixedNetwork(StoredFields):
    """A network of discrete variables, and real variables below them.

    Examples
    --------
    >>> sex = BayesianNetwork.from_tables({"sex": [0.5, 0.5]}, states={"sex": ("f", "m")})
    >>> network = MixedNetwork(sex, {"height": ConditionalGaussian(("sex",), (), [165.0, 178.0], (), [40.0, 50.0])})
    >>> round(network.query("height").mean, 6), round(network.query("sex", {"height": 180.0})["m"], 4)
    (171.5, 0.9347)
    """

    discrete: BayesianNetwork
    real: Mapping[str, ConditionalGaussian]

    def __post_init__(self) -> None:
        shaped = {name: self._shaped(name, node) for name, node in self.real.items()}
        object.__setattr__(self, "real", shaped)
        self.graph  # noqa: B018  (a cycle is refused here)

    @classmethod
    def fit(cls, X: UserTable, graph: DirectedGraph, real: Sequence[str], *, prior: float = 0.0) -> MixedNetwork:
        """Tables by counting, Gaussians by least squares in each state of the discrete parents; complete rows.

        `real` names the real variables; `prior` is added to the counts of the discrete ones.
        """
        names = [name for name in graph.nodes if name not in real]
        above = {name: tuple(graph.nodes[p] for p in graph.parents[graph.index(name)]) for name in graph.nodes}
        if wrong := [(c, p) for c in names for p in above[c] if p in real]:
            raise ValueError(f"the discrete variable {wrong[0][0]!r} has the real parent {wrong[0][1]!r}; cut it first")
        columns = {name: list(X[name]) for name in names}
        discrete = fit_tables(DirectedGraph.from_parents({c: above[c] for c in names}), columns, prior=prior).network
        codes = discrete.variables.encode(columns)
        nodes = {}
        for name in real:
            kinds = (
                tuple(p for p in above[name] if p not in real),
                tuple(p for p in above[name] if p in real),
            )
            values = real_columns(X, (name, *kinds[1]))
            nodes[name] = _least_squares(name, *kinds, values, discrete, codes)
        return cls(discrete, nodes)

    @cached_property
    def graph(self) -> DirectedGraph:
        """All variables, the discrete ones first."""
        own = {name: self.discrete.parents_of(name) for name in self.discrete.variables.nodes}
        below = {name: (*node.discrete_parents, *node.real_parents) for name, node in self.real.items()}
        if twice := own.keys() & below.keys():
            raise ValueError(f"{min(twice)!r} is both a discrete and a real variable")
        return DirectedGraph.from_parents({**own, **below})

    def query(self, ask: str, given: Mapping[str, Any] | None = None) -> Posterior | MixturePosterior:
        """The distribution of one variable, given states of discrete variables and values of real ones."""
        given = dict(given or {})
        seen = {name: float(value) for name, value in given.items() if name in self.real}
        codes = self.discrete.variables.codes_of({n: s for n, s in given.items() if n not in self.real})
        if not all(map(math.isfinite, seen.values())):
            raise ValueError("values of real variables must be finite numbers")
        pool, log_scale = list(self.discrete.factors()), 0.0
        for part in self._parts:
            if set(part) & set(seen):
                factor, scale = self._likelihood(part, seen, codes)
                pool.append(factor)
                log_scale += scale
        factors = with_evidence(pool, codes, {})
        if ask in self.real:
            return self._mixture(ask, given, seen, codes, factors, log_scale)
        i = self.discrete.variables.index(ask)
        if i in codes:
            return self.discrete.query(ask, {ask: given[ask]})
        logs = log_marginal_table(factors, (i,), self.discrete.variables.cards, "exact")
        total = _log_total(logs, given)
        return Posterior(subset(self.discrete.variables, (i,)), np.exp(logs - total), given, total + log_scale)

    def log_joint(self, X: UserTable) -> Doubles:
        """Log density of complete rows."""
        columns = {name: list(X[name]) for name in self.discrete.variables.nodes}
        codes = self.discrete.variables.encode(columns)
        total = self.discrete.log_joint(codes)
        for name, node in self.real.items():
            values = real_columns(X, (name, *node.real_parents))
            at = tuple(codes[:, self.discrete.variables.index(p)] for p in node.discrete_parents)
            mean = node.intercepts[at] + (node.weights[at] * values[:, 1:]).sum(axis=-1)
            total = total - 0.5 * (
                (values[:, 0] - mean) ** 2 / node.variances[at] + np.log(2 * np.pi * node.variances[at])
            )
        return np.asarray(total)

    def sample(self, n: int, random_state: Rng | int | None = None) -> dict[str, Any]:
        """n draws of all variables as columns, parents before children."""
        rng = check_random_state(random_state)
        codes = self.discrete.sample_codes(n, rng)
        drawn: dict[str, Any] = dict(self.discrete.variables.decode(codes))
        for name in self.graph.topological_order():
            if name in self.real:
                node = self.real[name]
                at = tuple(codes[:, self.discrete.variables.index(p)] for p in node.discrete_parents)
                above = np.array([drawn[p] for p in node.real_parents]).reshape(len(node.real_parents), n).T
                mean = node.intercepts[at] + (node.weights[at] * above).sum(axis=-1)
                drawn[name] = mean + rng.normal(size=n) * np.sqrt(node.variances[at])
        return drawn

    def to_text(self) -> str:
        """The discrete nodes, then the real ones with their parents."""
        lines = [
            f"{name} (real)"
            + (f" <- {', '.join((*node.discrete_parents, *node.real_parents))}" if _above(node) else "")
            for name, node in self.real.items()
        ]
        return "\n".join([self.discrete.to_text(), *lines])

    @cached_property
    def _parts(self) -> tuple[tuple[str, ...], ...]:
        """Real variables that edges between real variables join."""
        edges = [(parent, name) for name, node in self.real.items() for parent in node.real_parents]
        return UndirectedGraph.from_edges(edges, self.real).connected_components()

    def _cases(self, part: Sequence[str], codes: Mapping[int, int]) -> tuple[tuple[int, ...], Iterator[dict[int, int]]]:
        """The discrete parents of a part, and their states that agree with what is observed."""
        variables = self.discrete.variables
        scope = tuple(dict.fromkeys(variables.index(p) for name in part for p in self.real[name].discrete_parents))
        free = [(codes[i],) if i in codes else tuple(range(variables.cards[i])) for i in scope]
        if (count := math.prod(map(len, free))) > MAX_CONFIGURATIONS:
            raise ValueError(
                f"the real variables around {part[0]!r} have {count:,} states of discrete parents, more than "
                f"{MAX_CONFIGURATIONS:,}; observe some of them"
            )
        return scope, (dict(zip(scope, states, strict=True)) for states in product(*free))

    def _gaussians(self, part: Sequence[str], case: Mapping[int, int]) -> list[GaussianFactor]:
        number = {name: k for k, name in enumerate(part)}
        found = []
        for name in part:
            node = self.real[name]
            at = tuple(case[self.discrete.variables.index(p)] for p in node.discrete_parents)
            above = [number[p] for p in node.real_parents]
            intercept, variance = float(node.intercepts[at]), float(node.variances[at])
            found.append(GaussianFactor.of_conditional(number[name], above, node.weights[at], intercept, variance))
        return found

    def _likelihood(
        self, part: Sequence[str], seen: Mapping[str, float], codes: Mapping[int, int]
    ) -> tuple[Factor, float]:
        """L over the discrete parents of a part, divided by its largest entry, and the log of that."""
        scope, cases = self._cases(part, codes)
        logs = np.full([self.discrete.variables.cards[i] for i in scope], -np.inf)
        evidence = {k: seen[name] for k, name in enumerate(part) if name in seen}
        for case in cases:
            conditioned = [factor.condition(evidence) for factor in self._gaussians(part, case)]
            logs[tuple(case[i] for i in scope)] = eliminate_gaussians(conditioned, ()).log_constant
        top = float(logs.max())
        return Factor(scope, np.exp(logs - top)), top

    def _mixture(
        self,
        ask: str,
        given: Mapping[str, Any],
        seen: Mapping[str, float],
        codes: Mapping[int, int],
        factors: Sequence[Factor],
        log_scale: float,
    ) -> MixturePosterior:
        if ask in seen:
            raise ValueError(f"{ask!r} is asked for and given")
        part = next(found for found in self._parts if ask in found)
        scope, cases = self._cases(part, codes)
        open_ones = tuple(i for i in scope if i not in codes)
        logs = log_marginal_table(factors, open_ones, self.discrete.variables.cards, "exact")
        total = _log_total(logs, given)
        evidence = {k: seen[name] for k, name in enumerate(part) if name in seen}
        rows = []
        for case in cases:
            weight = math.exp(float(logs[tuple(case[i] for i in open_ones)]) - total)
            if weight > 0:
                conditioned = [factor.condition(evidence) for factor in self._gaussians(part, case)]
                mean, covariance = eliminate_gaussians(conditioned, (part.index(ask),)).moments()
                rows.append((weight, mean[0], covariance[0, 0]))
        weights, means, variances = np.array(rows).T
        return MixturePosterior(ask, weights / weights.sum(), means, variances, given, total + log_scale)

    def _shaped(self, name: str, node: ConditionalGaussian) -> ConditionalGaussian:
        """The numbers of a node as arrays of the shapes that its parents ask for."""
        variables = self.discrete.variables
        shape = tuple(variables.cards[variables.index(p)] for p in node.discrete_parents)
        k = len(node.real_parents)
        try:
            intercepts = np.broadcast_to(np.asarray(node.intercepts, dtype=np.float64), shape)
            variances = np.broadcast_to(np.asarray(node.variances, dtype=np.float64), shape)
            weights = np.broadcast_to(np.asarray(node.weights, dtype=np.float64), (*shape, k))
        except ValueError:
            raise ValueError(f"the numbers of {name!r} must have the shape of its discrete parents, {shape}") from None
        if not (np.isfinite(intercepts).all() and np.isfinite(weights).all() and np.isfinite(variances).all()):
            raise ValueError(f"the numbers of {name!r} must be finite")
        if not (variances > 0).all():
            raise ValueError(f"the variances of {name!r} must be positive; the smallest is {variances.min():g}")
        return ConditionalGaussian(node.discrete_parents, node.real_parents, intercepts, weights, variances)


def _least_squares(
    name: str,
    discrete_parents: tuple[str, ...],
    real_parents: tuple[str, ...],
    values: Doubles,
    network: BayesianNetwork,
    codes: Codes,
) -> ConditionalGaussian:
    """Intercept, weights and variance in each state of the discrete parents; those of all rows where too few are."""
    variables = network.variables
    scope = [variables.index(p) for p in discrete_parents]
    shape, k = tuple(variables.cards[i] for i in scope), len(real_parents)
    intercepts, weights, variances = np.zeros(shape), np.zeros((*shape, k)), np.zeros(shape)
    least = MIN_VARIANCE * max(float(values[:, 0].var()), np.finfo(float).tiny / MIN_VARIANCE)
    for states in np.ndindex(*shape):
        rows = (codes[:, scope] == states).all(axis=1)
        own = values[rows] if rows.sum() > k + 1 else values
        centre = own.mean(axis=0)
        slope = np.linalg.lstsq(own[:, 1:] - centre[1:], own[:, 0] - centre[0], rcond=None)[0]
        left = own[:, 0] - centre[0] - (own[:, 1:] - centre[1:]) @ slope
        intercepts[states], weights[states] = centre[0] - centre[1:] @ slope, slope
        variances[states] = max(float((left**2).mean()), least)
    return ConditionalGaussian(discrete_parents, real_parents, intercepts, weights, variances)


def _above(node: ConditionalGaussian) -> bool:
    return bool(node.discrete_parents or node.real_parents)


def _log_total(logs: Doubles, given: Mapping[str, State]) -> float:
    total = float(np.logaddexp.reduce(logs, axis=None))
    if total == -math.inf:
        raise ImpossibleEvidence(f"the evidence {assignment_text(given)} has probability zero")
    return total
