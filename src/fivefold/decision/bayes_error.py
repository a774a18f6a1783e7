"""The error of the best decision, of any decision, and bounds on it.

    P(error) = integral (sum_k p(x, k) - max_k p(x, k)) dx              the Bayes error
             = E[1 - P(chosen | x)]                                     for any rule

On the line the regions are intervals, whose probabilities are differences of distribution functions; without these, and
in the plane, densities are integrated by adaptive quadrature. Beyond, and whenever asked for, rows are drawn from the
model: the mean of 1 - max_k P(k | x) has a smaller variance than the share of wrong labels.

For two classes, with any 0 <= s <= 1,

    P(error) <= P(1)^s P(2)^(1-s) integral p(x | 1)^s p(x | 2)^(1-s) dx

is Chernoff's bound at its least over s, Bhattacharyya's at s = 1/2; for Gaussians the integral is exp(-k(s)) with

    k(s) = s(1-s)/2 D' (s S_2 + (1-s) S_1)^-1 D + 1/2 log |s S_2 + (1-s) S_1| / (|S_1|^(1-s) |S_2|^s)

For more classes the bounds of all pairs are added. Duda, Hart & Stork (2001), section 2.8.
"""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass
from typing import Literal

import numpy as np
from scipy.integrate import cubature, quad
from scipy.optimize import minimize_scalar
from scipy.special import logsumexp

from fivefold.core.types import Labels, Matrix, Vector
from fivefold.decision.class_conditional import ClassConditionalModel
from fivefold.decision.regions import GRID_POINTS, decision_regions, search_range
from fivefold.distributions.gaussian import GaussianMembers
from fivefold.evaluation.monte_carlo_risk import CHUNK_ROWS

ErrorMethod = Literal["exact", "quadrature", "monte carlo"]
DRAWS = 200_000  # rows of a Monte Carlo estimate: its standard error is below 0.001
PANEL_NODES = 5  # of Gauss-Legendre quadrature in each of the panels that the line is divided into
PLANE_DEVIATIONS = 9.0  # the plane is integrated as far as this many standard deviations from every class


@dataclass(frozen=True)
class ErrorProbability:
    """A probability of error, how it was computed, and the standard error of a Monte Carlo estimate, else 0."""

    value: float
    method: ErrorMethod
    standard_error: float = 0.0

    def __str__(self) -> str:
        spread = f" +/- {self.standard_error:.2g}" if self.standard_error else ""
        return f"P(error) = {self.value:.6g}{spread} ({self.method})"


def bayes_error(
    model: ClassConditionalModel,
    rule: Callable[[Matrix], Labels] | None = None,
    *,
    method: Literal["auto", "quadrature", "monte carlo"] = "auto",
    n: int = DRAWS,
    seed: int = 0,
) -> ErrorProbability:
    """The probability of error of the most probable class, which no decision beats; or that of another `rule`.

    Parameters
    ----------
    model
        densities and priors of the classes.
    rule
        a function from rows to labels, such as `predict` of a classifier; None: Bayes' decision.
    method
        exact or by quadrature for one and two columns and Bayes' decision, Monte Carlo otherwise (auto).
    n, seed
        rows drawn for Monte Carlo, and their seed.

    Examples
    --------
    >>> from scipy.stats import norm
    >>> print(bayes_error(ClassConditionalModel([norm(0, 1), norm(4, 1)])))
    P(error) = 0.0227501 (exact)
    """
    d = _columns(model)
    if rule is not None or method == "monte carlo" or (method == "auto" and d > 2):
        return _by_sampling(model, rule, n, seed)
    if d > 2:
        raise ValueError(f"quadrature takes one or two columns, and this model has {d}; ask for monte carlo")
    return _on_the_line(model, method) if d == 1 else _in_the_plane(model)


def bhattacharyya_bound(model: ClassConditionalModel, *, n: int = DRAWS, seed: int = 0) -> float:
    """The Bhattacharyya bound on the Bayes error.

    Examples
    --------
    >>> from scipy.stats import norm
    >>> round(bhattacharyya_bound(ClassConditionalModel([norm(0, 1), norm(4, 1)])), 6)  # exp(-2) / 2
    0.067668
    """
    return sum(_pair_bound(model, i, j, n, seed)(0.5) for i, j in _pairs(model))


def chernoff_bound(model: ClassConditionalModel, *, n: int = DRAWS, seed: int = 0) -> float:
    """The Chernoff bound on the Bayes error: the least over s, so no larger than Bhattacharyya's."""
    total = 0.0
    for i, j in _pairs(model):
        bound = _pair_bound(model, i, j, n, seed)
        found = minimize_scalar(bound, bounds=(0.0, 1.0), method="bounded")
        total += min(float(found.fun), bound(0.5))
    return total


def _columns(model: ClassConditionalModel) -> int:
    if isinstance(model.densities, GaussianMembers):
        return int(model.densities.mean.shape[1])
    if model.univariate:
        return 1
    return int(model.sample(model.n_classes, np.random.default_rng(0))[0].shape[1])


def _on_the_line(model: ClassConditionalModel, method: str) -> ErrorProbability:
    regions, prior = decision_regions(model), model.prior
    right, densities = 0.0, model.univariate
    known = bool(densities)
    low, high = search_range(model)
    for a, b, k in zip(regions.edges[:-1], regions.edges[1:], regions.codes, strict=True):
        if known and method == "auto":
            right += prior[k] * float(densities[k].cdf(b) - densities[k].cdf(a))
        else:
            ends = max(a, low), min(b, high)
            right += quad(lambda x, k=k: float(np.exp(model.log_joint([[x]])[0, k])), *ends, limit=500)[0]
    return ErrorProbability(1.0 - right, "exact" if known and method == "auto" else "quadrature")


def _in_the_plane(model: ClassConditionalModel) -> ErrorProbability:
    if isinstance(model.densities, GaussianMembers):
        spread = np.sqrt(
            np.einsum("kii->ki", np.broadcast_to(model.densities.covariance.dense(2), (model.n_classes, 2, 2)))
        )
        low = (model.densities.mean - PLANE_DEVIATIONS * spread).min(axis=0)
        high = (model.densities.mean + PLANE_DEVIATIONS * spread).max(axis=0)
    else:
        X, codes = model.sample(20_000, np.random.default_rng(0))
        each = [X[codes == k] for k in np.unique(codes)]
        low = np.min([x.mean(axis=0) - PLANE_DEVIATIONS * x.std(axis=0) for x in each], axis=0)
        high = np.max([x.mean(axis=0) + PLANE_DEVIATIONS * x.std(axis=0) for x in each], axis=0)

    def lost(X: Matrix) -> Vector:
        joint = np.exp(model.log_joint(X))
        return joint.sum(axis=1) - joint.max(axis=1)

    found = cubature(lost, low, high, rtol=1e-5, atol=1e-8, max_subdivisions=20_000)
    return ErrorProbability(float(found.estimate), "quadrature", 0.0)


def _by_sampling(
    model: ClassConditionalModel, rule: Callable[[Matrix], Labels] | None, n: int, seed: int
) -> ErrorProbability:
    rng, sums = np.random.default_rng(seed), np.zeros(2)
    for start in range(0, n, CHUNK_ROWS):
        X, _ = model.sample(min(CHUNK_ROWS, n - start), rng)
        errors = model.conditional_error(X, None if rule is None else rule(X))
        sums += errors.sum(), errors @ errors
    mean, square = sums / n
    return ErrorProbability(float(mean), "monte carlo", float(np.sqrt(max(square - mean**2, 0.0) / n)))


def _pairs(model: ClassConditionalModel) -> list[tuple[int, int]]:
    K = model.n_classes
    return [(i, j) for i in range(K) for j in range(i + 1, K)]


def _pair_bound(model: ClassConditionalModel, i: int, j: int, n: int, seed: int) -> Callable[[float], float]:
    """The bound on the error between two classes, as a function of s."""
    prior, members = model.prior, model.densities
    if isinstance(members, GaussianMembers):
        return lambda s: float(prior[i] ** s * prior[j] ** (1 - s) * gaussian_affinity(members, i, j, s))
    if _columns(model) == 1:
        nodes, log_weights = _line_nodes(*search_range(model))
        logs = model.log_likelihoods(nodes)[:, [i, j]]
    else:  # rows of both classes in equal parts, each counted by the inverse of its density
        even = np.zeros(model.n_classes)
        even[[i, j]] = 0.5
        X, _ = ClassConditionalModel(members, even).sample(n, np.random.default_rng(seed))
        logs = model.log_likelihoods(X)[:, [i, j]]
        log_weights = -logsumexp(logs, axis=1, b=0.5) - np.log(n)

    def bound(s: float) -> float:
        powers = np.where(logs == -np.inf, -np.inf, logs * [s, 1 - s])  # also where s is 0
        return float(prior[i] ** s * prior[j] ** (1 - s) * np.exp(powers.sum(axis=1) + log_weights).sum())

    return bound


def _line_nodes(low: float, high: float) -> tuple[Vector, Vector]:
    """Nodes and log weights of Gauss-Legendre quadrature on equal panels."""
    x, w = np.polynomial.legendre.leggauss(PANEL_NODES)
    edges = np.linspace(low, high, GRID_POINTS)
    half = np.diff(edges) / 2
    nodes = (edges[:-1] + half)[:, None] + half[:, None] * x
    return nodes.ravel(), np.log(half[:, None] * w).ravel()


def gaussian_affinity(members: GaussianMembers, i: int, j: int, s: float) -> float:
    """The integral of p_i^s p_j^(1-s) of two Gaussians, in closed form."""
    d = members.mean.shape[1]
    sigma = np.broadcast_to(members.covariance.dense(d), (len(members.mean), d, d))
    apart, mixed = members.mean[j] - members.mean[i], s * sigma[j] + (1 - s) * sigma[i]
    levels = [np.linalg.slogdet(matrix)[1] for matrix in (mixed, sigma[i], sigma[j])]
    k = s * (1 - s) / 2 * apart @ np.linalg.solve(mixed, apart)
    k += 0.5 * (levels[0] - (1 - s) * levels[1] - s * levels[2])
    return float(np.exp(-k))
