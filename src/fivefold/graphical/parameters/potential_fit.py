"""Potentials of a Markov network of known cliques, from complete data.

    log P(x) = sum_k theta_k(x_k) - log Z(theta)

    likelihood               gradient: empirical less model marginals of each clique, exact by the junction tree
    iterative_scaling        psi_k *= empirical_k / model_k, clique by clique (iterative proportional fitting)
    pseudo_likelihood        sum_i log P(x_i | all others): needs no Z
    contrastive_divergence   the gradient with model marginals from a few Gibbs steps that start at the data

The first two have the same optimum. Besag (1975); Darroch & Ratcliff (1972); Hinton (2002).
"""

from __future__ import annotations

from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass
from typing import Literal, TypeAlias, get_args

import numpy as np
from scipy.special import logsumexp, softmax
from sklearn.utils import check_random_state

from fivefold.core.types import Array, Codes, Doubles, Rng, UserTable, Weights
from fivefold.graphical.markov_network import MarkovNetwork
from fivefold.graphical.parameters.network_em import distinct_rows
from fivefold.graphical.parameters.table_counts import scope_counts
from fivefold.graphical.variables import MISSING, State, Variables
from fivefold.inference.factors.factor import Factor
from fivefold.inference.factors.junction_tree import JunctionTree
from fivefold.optim.minimise import minimise
from fivefold.optim.objective import SmoothObjective
from fivefold.optim.smooth.lbfgs import LBFGS

Method = Literal["likelihood", "iterative_scaling", "pseudo_likelihood", "contrastive_divergence"]
Tables: TypeAlias = list[Array]  # theta of every clique


@dataclass(frozen=True)
class PotentialFit:
    """A fitted Markov network, and how the fit ended."""

    network: MarkovNetwork
    value: float  # mean log-likelihood per row; mean log pseudo-likelihood where that was maximised
    steps: int
    reason: str


@dataclass(frozen=True)
class CliqueTables:
    """Cliques of a network and the tables on them as one vector."""

    variables: Variables
    scopes: tuple[tuple[int, ...], ...]

    @property
    def shapes(self) -> list[tuple[int, ...]]:
        return [tuple(self.variables.cards[i] for i in scope) for scope in self.scopes]

    def split(self, theta: Array) -> Tables:
        """The vector as a table per clique."""
        ends = np.cumsum([int(np.prod(shape)) for shape in self.shapes])
        return [part.reshape(shape) for part, shape in zip(np.split(theta, ends[:-1]), self.shapes, strict=True)]

    def counts(self, codes: Codes, w: Weights) -> Doubles:
        """The weight of rows in every cell of every table, as one vector."""
        return np.concatenate([scope_counts(self.variables, scope, codes, w).ravel() for scope in self.scopes])

    def network(self, theta: Array) -> MarkovNetwork:
        """The network of these logarithms of potentials."""
        factors = zip(self.scopes, self.split(theta), strict=True)
        return MarkovNetwork(self.variables, tuple(Factor(scope, np.exp(t - t.max())) for scope, t in factors))

    def conditional_scores(self, tables: Tables, codes: Codes, i: int) -> Doubles:
        """log P(x_i = each state | the others), (n, states), up to a constant per row."""
        total = np.zeros((len(codes), self.variables.cards[i]))
        for scope, table in zip(self.scopes, tables, strict=True):
            if i in scope:
                others = tuple(codes[:, j] for j in scope if j != i)
                total += np.moveaxis(table, scope.index(i), -1)[others]
        return total


def fit_potentials(
    cliques: Iterable[Sequence[str]],
    X: UserTable,
    *,
    states: Mapping[str, Sequence[State]] | None = None,
    method: Method = "likelihood",
    l2: float = 0.0,
    tol: float = 1e-8,
    max_iter: int = 1000,
    gibbs_steps: int = 1,
    random_state: Rng | int | None = 0,
) -> PotentialFit:
    """Fit a table on every clique.

    `l2` is the weight of half the squared length of all log potentials, per row. `gibbs_steps` and `random_state` are
    those of contrastive divergence, which takes `max_iter` steps of falling length.

    Examples
    --------
    >>> rows = {"a": [0, 0, 0, 1, 1], "b": [0, 0, 1, 1, 1]}
    >>> found = fit_potentials([("a", "b")], rows, method="iterative_scaling")
    >>> round(found.network.probability({"a": 0, "b": 0}), 6)
    0.4
    """
    variables = Variables.from_table(X, states)
    form = CliqueTables(variables, tuple(variables.indices(clique) for clique in cliques))
    codes = variables.encode(X)
    if len(codes) == 0 or (codes == MISSING).any():
        raise ValueError("potentials are fitted to complete rows; remove rows with missing values first")
    rows, w = distinct_rows(codes, np.full(len(codes), 1 / len(codes)))
    if method == "iterative_scaling":
        return _scaled(form, form.counts(rows, w), tol, max_iter)
    if method == "contrastive_divergence":
        return _diverged(form, codes, l2, max_iter, gibbs_steps, check_random_state(random_state))
    objectives = {"likelihood": NegativeLikelihood, "pseudo_likelihood": NegativePseudoLikelihood}
    if method not in objectives:
        raise ValueError(f"method must be one of {', '.join(get_args(Method))}; got {method!r}")
    objective = objectives[method](form, rows, w, l2)
    found = minimise(objective, np.zeros(len(form.counts(rows, w))), LBFGS(), tol=tol, max_iter=max_iter)
    penalty = l2 / 2 * float(found.x @ found.x)
    return PotentialFit(form.network(found.x), penalty - found.value, len(found.history) - 1, str(found.reason))


class NegativeLikelihood(SmoothObjective):
    """- mean log P(x) + l2 / 2 |theta|^2."""

    def __init__(self, form: CliqueTables, codes: Codes, w: Weights, l2: float) -> None:
        self.form, self.l2 = form, l2
        self.empirical = form.counts(codes, w)
        free = set(range(len(form.variables.nodes))) - {i for scope in form.scopes for i in scope}
        self.tree = JunctionTree(form.scopes, form.variables.cards)
        self.log_free = sum(float(np.log(form.variables.cards[i])) for i in free)  # variables that no clique has

    def value_and_gradient(self, x: Array) -> tuple[float, Array]:
        tables = self.form.split(x)
        top = sum(float(table.max()) for table in tables)
        factors = [Factor(s, np.exp(t - t.max())) for s, t in zip(self.form.scopes, tables, strict=True)]
        found = self.tree.calibrate(factors)
        model = [found.factor_marginal(k).transpose(s).table.ravel() for k, s in enumerate(self.form.scopes)]
        log_z = found.log_partition + top + self.log_free
        value = log_z - float(self.empirical @ x) + self.l2 / 2 * float(x @ x)
        return value, np.concatenate(model) - self.empirical + self.l2 * x


class NegativePseudoLikelihood(SmoothObjective):
    """- mean sum_i log P(x_i | all others) + l2 / 2 |theta|^2."""

    def __init__(self, form: CliqueTables, codes: Codes, w: Weights, l2: float) -> None:
        self.form, self.codes, self.w, self.l2 = form, codes, w, l2

    def value_and_gradient(self, x: Array) -> tuple[float, Array]:
        form, tables = self.form, self.form.split(x)
        value, gradient = self.l2 / 2 * float(x @ x), self.l2 * x
        slices = form.split(gradient)  # views
        for i, card in enumerate(form.variables.cards):
            scores = form.conditional_scores(tables, self.codes, i)
            own = self.codes[:, i]
            value -= float(self.w @ (scores[np.arange(len(own)), own] - logsumexp(scores, axis=1)))
            miss = softmax(scores, axis=1) - np.eye(card)[own]  # (n, states)
            for scope, part in zip(form.scopes, slices, strict=True):
                if i in scope:
                    others = tuple(self.codes[:, j] for j in scope if j != i)
                    along = np.moveaxis(part, scope.index(i), -1)
                    cells = np.ravel_multi_index(others, along.shape[:-1]) if others else np.zeros(len(own), np.intp)
                    added = np.zeros((along.size // card, card))
                    np.add.at(added, cells, self.w[:, None] * miss)
                    along += added.reshape(along.shape)
        return value, gradient


def _scaled(form: CliqueTables, empirical: Doubles, tol: float, max_iter: int) -> PotentialFit:
    """Give each clique in turn its empirical marginal, until none changes by more than `tol`."""
    tree = JunctionTree(form.scopes, form.variables.cards)
    goals = form.split(empirical)
    factors = [Factor(scope, np.ones(shape)) for scope, shape in zip(form.scopes, form.shapes, strict=True)]
    reason, step = "max_iter", 0
    for step in range(1, max_iter + 1):  # noqa: B007  (the number of steps is reported)
        change = 0.0
        for k, (scope, goal) in enumerate(zip(form.scopes, goals, strict=True)):
            model = tree.calibrate(factors).factor_marginal(k).transpose(scope).table
            change = max(change, float(np.abs(model - goal).max()))
            ratio = np.divide(goal, model, out=np.zeros_like(goal), where=model > 0)
            factors[k] = Factor(scope, factors[k].table * ratio)
        if change <= tol:
            reason = "converged"
            break
    network = MarkovNetwork(form.variables, tuple(factors))
    seen = empirical > 0
    logs = np.log(np.concatenate([factor.table.ravel() for factor in factors])[seen])
    return PotentialFit(network, float(empirical[seen] @ logs) - network.log_partition(), step, reason)


def _diverged(form: CliqueTables, codes: Codes, l2: float, max_iter: int, gibbs_steps: int, rng: Rng) -> PotentialFit:
    """Steps of length 1 / (1 + t / 10)^(2/3) along data less Gibbs samples; the mean of the last half is kept."""
    w = np.full(len(codes), 1 / len(codes))
    empirical = form.counts(codes, w)
    theta, mean = np.zeros_like(empirical), np.zeros_like(empirical)
    for t in range(max_iter):
        tables, sample = form.split(theta), codes.copy()
        for _ in range(gibbs_steps):
            for i, card in enumerate(form.variables.cards):
                limits = np.cumsum(softmax(form.conditional_scores(tables, sample, i), axis=1), axis=1)
                draws = (rng.random_sample(len(codes))[:, None] >= limits).sum(axis=1)
                sample[:, i] = np.minimum(draws, card - 1)
        gradient = empirical - form.counts(sample, w) - l2 * theta
        theta = theta + gradient / (1 + t / 10) ** (2 / 3)
        if 2 * t >= max_iter:
            mean += theta
    theta = mean / max(max_iter - (max_iter + 1) // 2, 1)
    value = -NegativeLikelihood(form, codes, w, 0.0).value_and_gradient(theta)[0]
    return PotentialFit(form.network(theta), value, max_iter, "max_iter")
