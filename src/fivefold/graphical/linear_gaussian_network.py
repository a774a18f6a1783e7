"""Linear-Gaussian network: an acyclic graph of real variables, each a linear function of its parents plus noise.

    x_i = intercept_i + sum over parents j of weight_ij x_j + N(0, variance_i)

The joint distribution is Gaussian; with B the matrix of weights

    mean = (I - B)^-1 intercept,    covariance = (I - B)^-1 diag(variance) (I - B)^-T

Queries multiply one Gaussian factor per node and integrate out what is not asked for. Maximum likelihood is least
squares, node by node.

Shachter & Kenley (1989); Koller & Friedman (2009), chapter 7.
"""

from __future__ import annotations

from collections.abc import Iterable, Mapping
from dataclasses import dataclass, field
from functools import cached_property
from typing import Any

import numpy as np
from sklearn.utils import check_random_state

from fivefold.core.types import Doubles, Rng, UserTable, UserWeights
from fivefold.graphical.assignments import assignment_text
from fivefold.graphical.graphs.directed_graph import DirectedGraph
from fivefold.graphical.graphs.named_nodes import NamedNodes, Nodes
from fivefold.inference.factors.gaussian_factor import GaussianFactor, calibrate_gaussians, eliminate_gaussians

ROUNDING_SHARE = 1e-26  # a variance that is this share of the node's own is zero up to rounding


@dataclass(frozen=True)
class LinearGaussian:
    """The distribution of one node given its parents."""

    weights: Mapping[str, float] = field(default_factory=dict)  # by parent
    intercept: float = 0.0
    variance: float = 1.0


@dataclass(frozen=True, eq=False)
class GaussianPosterior:
    """p(variables | given), a Gaussian."""

    variables: tuple[str, ...]
    mean: Doubles  # (k,)
    covariance: Doubles  # (k, k)
    given: Mapping[str, float]
    log_evidence: float = 0.0  # log density of what is given

    def __str__(self) -> str:
        condition = f" | {assignment_text(self.given)}" if self.given else ""
        rows = zip(self.variables, self.mean, np.sqrt(np.diag(self.covariance)), strict=True)
        title = f"p({', '.join(self.variables)}{condition})"
        return "\n".join([title, *(f"  {name}  mean {m:.6g}, standard deviation {s:.6g}" for name, m, s in rows)])


@dataclass(frozen=True, eq=False)
class LinearGaussianNetwork(NamedNodes):
    """Real variables, their parents, and linear-Gaussian conditional densities.

    Examples
    --------
    >>> network = LinearGaussianNetwork.from_nodes({
    ...     "sun": LinearGaussian(intercept=5.0, variance=4.0),
    ...     "ice": LinearGaussian({"sun": 2.0}, intercept=1.0, variance=1.0),
    ... })
    >>> network.mean, network.covariance
    (array([ 5., 11.]), array([[ 4.,  8.],
           [ 8., 17.]]))
    >>> print(network.query("sun", given={"ice": 14.0}))
    p(sun | ice=14.0)
      sun  mean 6.41176, standard deviation 0.485071
    """

    nodes: tuple[str, ...]
    parents: tuple[tuple[int, ...], ...]  # numbers of the parents of every variable
    weights: tuple[Doubles, ...]  # one per parent
    intercepts: Doubles  # (d,)
    variances: Doubles  # (d,)

    def __post_init__(self) -> None:
        self.graph  # noqa: B018  (a cycle is refused here)
        for name, variance in zip(self.nodes, self.variances, strict=True):
            if not 0 < variance < np.inf:
                raise ValueError(f"the variance of {name!r} given its parents is {variance:g}; it must be positive")

    @classmethod
    def from_nodes(cls, nodes: Mapping[str, LinearGaussian]) -> LinearGaussianNetwork:
        """A network from the density of every node, by name."""
        graph = DirectedGraph.from_parents({name: tuple(node.weights) for name, node in nodes.items()})
        return cls(
            graph.nodes,
            graph.parents,
            tuple(np.array(list(node.weights.values()), dtype=np.float64) for node in nodes.values()),
            np.array([node.intercept for node in nodes.values()], dtype=np.float64),
            np.array([node.variance for node in nodes.values()], dtype=np.float64),
        )

    @classmethod
    def fit(
        cls, X: UserTable, parents: Mapping[str, Iterable[str]], sample_weight: UserWeights = None
    ) -> LinearGaussianNetwork:
        """Weights, intercepts and variances of greatest likelihood, by least squares of every node on its parents.

        X is a frame, a mapping of columns, or an array with columns in the order of `parents`, which names every node.
        """
        graph = DirectedGraph.from_parents({name: tuple(above) for name, above in parents.items()})
        table = real_columns(X, graph.nodes)
        w = np.ones(len(table)) if sample_weight is None else np.asarray(sample_weight, dtype=np.float64)
        if w.shape != (len(table),) or not (w >= 0).all() or not w.sum() > 0:
            raise ValueError(f"sample_weight must be {len(table)} numbers of at least 0, not all of them 0")
        mean = np.average(table, axis=0, weights=w)
        root = (table - mean) * np.sqrt(w / w.sum())[:, None]
        weights, variances = [], []
        for i, above in enumerate(graph.parents):
            slope = np.linalg.lstsq(root[:, above], root[:, i], rcond=None)[0] if above else np.zeros(0)
            weights.append(slope)
            variances.append(float(((root[:, i] - root[:, above] @ slope) ** 2).sum()))
            if variances[-1] <= ROUNDING_SHARE * (root[:, i] ** 2).sum():
                raise ValueError(
                    f"{graph.nodes[i]!r} is an exact linear function of its parents in these rows, so that its "
                    "variance is zero. Take it out, or give it fewer parents"
                )
        intercepts = np.array([mean[i] - mean[list(graph.parents[i])] @ s for i, s in enumerate(weights)])
        return cls(graph.nodes, graph.parents, tuple(weights), intercepts, np.array(variances))

    @cached_property
    def graph(self) -> DirectedGraph:
        """The graph alone."""
        return DirectedGraph(self.nodes, self.parents)

    @cached_property
    def _moments(self) -> tuple[Doubles, Doubles]:
        """Mean and covariance, one node after the other."""
        d = len(self.nodes)
        mean, P = np.zeros(d), np.zeros((d, d))
        for i in self.graph.order:
            above, a = list(self.parents[i]), self.weights[i]
            mean[i] = self.intercepts[i] + a @ mean[above]
            P[i] = P[:, i] = a @ P[above]
            P[i, i] = self.variances[i] + a @ P[np.ix_(above, above)] @ a
        return mean, P

    @property
    def mean(self) -> Doubles:
        """Mean of all variables (d,)."""
        return self._moments[0]

    @property
    def covariance(self) -> Doubles:
        """Covariance of all variables (d, d)."""
        return self._moments[1]

    def factors(self) -> tuple[GaussianFactor, ...]:
        """One factor per node: its density as a function of it and its parents."""
        return tuple(
            GaussianFactor.of_conditional(i, above, self.weights[i], self.intercepts[i], self.variances[i])
            for i, above in enumerate(self.parents)
        )

    def query(self, ask: Nodes, given: Mapping[str, float] | None = None) -> GaussianPosterior:
        """The density of one variable or several, given the values of others."""
        asked, evidence = self.indices(ask), self._evidence(given)
        if known := [self.nodes[i] for i in asked if i in evidence]:
            raise ValueError(f"{known[0]!r} is asked for and given")
        found = eliminate_gaussians([f.condition(evidence) for f in self.factors()], asked)
        mean, covariance = found.moments()
        names = tuple(self.nodes[i] for i in asked)
        return GaussianPosterior(names, mean, covariance, dict(given or {}), found.onto(()).log_constant)

    def query_all(self, given: Mapping[str, float] | None = None) -> dict[str, GaussianPosterior]:
        """The density of every variable that is not given, from one calibration of a junction tree."""
        evidence = self._evidence(given)
        found = calibrate_gaussians(self.factors(), evidence)
        return {
            name: GaussianPosterior((name,), *found.joint((i,)), dict(given or {}), found.log_partition)
            for i, name in enumerate(self.nodes)
            if i not in evidence
        }

    def log_joint(self, X: UserTable) -> Doubles:
        """Log density of complete rows (n,)."""
        table = real_columns(X, self.nodes)
        total = np.zeros(len(table))
        for i, above in enumerate(self.parents):
            off = table[:, i] - self.intercepts[i] - table[:, above] @ self.weights[i]
            total -= 0.5 * (off**2 / self.variances[i] + np.log(2 * np.pi * self.variances[i]))
        return total

    def sample(self, n: int, random_state: Rng | int | None = None) -> dict[str, Doubles]:
        """n draws of all variables as columns, parents before children."""
        rng = check_random_state(random_state)
        drawn = np.empty((n, len(self.nodes)))
        for i in self.graph.order:
            noise = rng.normal(size=n) * np.sqrt(self.variances[i])
            drawn[:, i] = self.intercepts[i] + drawn[:, self.parents[i]] @ self.weights[i] + noise
        return {name: drawn[:, i] for i, name in enumerate(self.nodes)}

    def to_text(self) -> str:
        """The equations, parents before children."""
        lines = []
        for i in self.graph.order:
            terms = "".join(
                f" {'+' if a >= 0 else '-'} {abs(a):.6g} {self.nodes[p]}"
                for p, a in zip(self.parents[i], self.weights[i], strict=True)
            )
            lines.append(f"{self.nodes[i]} = {self.intercepts[i]:.6g}{terms} + N(0, {self.variances[i]:.6g})")
        return "\n".join(lines)

    def __str__(self) -> str:
        return self.to_text()

    def _evidence(self, given: Mapping[str, float] | None) -> dict[int, float]:
        return {self.index(name): float(value) for name, value in (given or {}).items()}


def real_columns(X: UserTable, names: tuple[str, ...]) -> Doubles:
    """Columns by name of a frame or a mapping, or by position of an array, as numbers (n, d) without gaps."""
    if isinstance(X, np.ndarray | list):
        table = np.asarray(X, dtype=np.float64)
        if table.ndim != 2 or table.shape[1] != len(names):
            raise ValueError(f"an array must have one column per variable, {len(names)}; got the shape {table.shape}")
    else:
        columns: list[Any] = []
        for name in names:
            try:
                columns.append(np.asarray(X[name], dtype=np.float64))
            except (KeyError, IndexError):
                raise ValueError(f"the table has no column {name!r}") from None
        table = np.column_stack(columns)
    if len(table) == 0:
        raise ValueError("the table has no rows")
    for row, column in np.argwhere(~np.isfinite(table))[:1]:
        raise ValueError(f"row {row}: {names[column]!r} is {table[row, column]}; fill it or leave the row out")
    return table
