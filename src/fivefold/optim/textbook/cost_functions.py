"""A catalogue of cost functions: each by name, minimised by the same solvers, with the method it corresponds to.

    name                      task                  cost                                           method
    logistic                  classification        sum ln(1 + e^(-y x'theta))                     LogisticRegression
    network_classification    classification        sum (y - g(theta_2' g(theta_1' x)))^2          a hidden layer
    support_vector_machine    classification        |theta|^2 + C sum xi, xi >= 1 - y x'theta, 0   LinearSVC
    linear_regression         regression            sum (y - x'theta)^2                            LinearRegression
    network_regression        regression            sum (y - theta_3' g(theta_2' g(theta_1' x)))^2 two hidden layers
    negative_log_likelihood   density estimation    -sum ln p(x | theta)                           maximum likelihood
    k_means                   clustering            sum_j sum_(i in C_j) |x_i - mu_j|^2            KMeans

Labels are -1 and +1. Other losses of a linear predictor, or of a network's output, are in `losses.catalogue.LOSSES`.

    >>> from fivefold.optim.textbook.cost_functions import minimise_cost
    >>> X, y = np.array([[0.0], [1.0], [2.0], [3.0]]), np.array([1.0, 3.0, 5.0, 7.0])
    >>> minimise_cost("linear_regression", X, y).x.round(6)
    array([2., 1.])
"""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass
from typing import Any

import numpy as np
from numpy.typing import ArrayLike

from fivefold.core.types import Array, Rng
from fivefold.optim.design import Design
from fivefold.optim.empirical_risk import EmpiricalRisk
from fivefold.optim.functions import Function
from fivefold.optim.losses.margin_losses import HingeLoss, LogLoss
from fivefold.optim.losses.regression_losses import SquaredLoss
from fivefold.optim.minimise import Solver, minimise
from fivefold.optim.objective import Minimum, Objective, SmoothObjective
from fivefold.optim.risk_minimisation.kink_smoothing import minimise_kinked
from fivefold.optim.smooth.lbfgs import LBFGS
from fivefold.optim.textbook.network_risk import NetworkRisk
from fivefold.spatial.distances import squared_distances


@dataclass(frozen=True)
class CostFunction:
    """An entry of the catalogue: its task, its formula, its method, and how it is built from rows."""

    name: str
    task: str
    formula: str
    method: str  # minimises the same cost in its own way
    build: Callable[..., Objective]
    start: Callable[[Any, Rng], Array]  # takes what `build` returns

    def __str__(self) -> str:
        return f"{self.name} ({self.task}): minimise {self.formula}; the method is {self.method}"


@dataclass(frozen=True)
class GaussianLikelihood(SmoothObjective):
    """-sum ln N(x | mu, (P'P)^-1) of (mu, P), P lower triangular with logarithms on its diagonal."""

    X: Array

    def unpack(self, theta: Array) -> tuple[Array, Array]:
        """mu and P."""
        d = self.X.shape[1]
        rows, columns = np.tril_indices(d)
        P = np.zeros((d, d))
        P[rows, columns] = theta[d:]
        np.fill_diagonal(P, np.exp(np.diagonal(P)))
        return theta[:d], P

    def covariance(self, theta: Array) -> Array:
        """Sigma."""
        P = self.unpack(theta)[1]
        return np.linalg.inv(P.T @ P)

    def value_and_gradient(self, theta: Array) -> tuple[float, Array]:
        (n, d), (mean, P) = self.X.shape, self.unpack(theta)
        D = self.X - mean
        Z = D @ P.T
        levels = np.log(np.diagonal(P))
        value = n * (0.5 * d * np.log(2 * np.pi) - levels.sum()) + 0.5 * float((Z**2).sum())
        rows, columns = np.tril_indices(d)
        slope = np.where(rows == columns, np.diagonal(P)[rows], 1.0) * (Z.T @ D)[rows, columns] - n * (rows == columns)
        return value, np.concatenate([-P.T @ Z.sum(axis=0), slope])


@dataclass(frozen=True)
class QuantizationError(SmoothObjective):
    """sum of squared distances to the nearest of K centres, of the centres."""

    X: Array
    K: int

    def value_and_gradient(self, x: Array) -> tuple[float, Array]:
        centres = x.reshape(self.K, -1)
        D = squared_distances(self.X, centres)
        nearest = D.argmin(axis=1)
        sums = np.zeros_like(centres)
        np.add.at(sums, nearest, self.X - centres[nearest])
        return float(D[np.arange(len(D)), nearest].sum()), -2 * sums.ravel()


def cost_function(name: str) -> CostFunction:
    """The entry of that name.

    >>> print(cost_function("k_means"))
    k_means (clustering): minimise sum_j sum_(i in C_j) |x_i - mu_j|^2; the method is fivefold.cluster.KMeans
    """
    if name not in COST_FUNCTIONS:
        raise ValueError(f"no cost function is called {name!r}; there are {', '.join(COST_FUNCTIONS)}")
    return COST_FUNCTIONS[name]


def cost(name: str, X: ArrayLike, y: ArrayLike | None = None, **options: Any) -> Objective:
    """The cost of that name as a function of its parameters, for any solver.

    Parameters
    ----------
    name
        One of the catalogue above.
    X, y
        Rows, and targets where there are any; labels -1 and +1.
    options
        `intercept` of the linear ones (True); `C` of the support vector machine (1); `hidden` sizes of a network's
        layers and a penalty `ridge`/2 |W|^2 on their weights; `n_clusters` of k-means; `log_density` (theta, X) -> (n,)
        with the size `parameters` of theta, for a density that is not Gaussian.

    >>> risk = cost("logistic", [[-1.0], [1.0]], [-1, 1], intercept=False)
    >>> round(risk.value(np.array([0.0])), 6)
    1.386294
    """
    X = np.ascontiguousarray(X, dtype=np.float64)
    entry = cost_function(name)
    if entry.task in ("classification", "regression"):
        if y is None:
            raise ValueError(f"{name}: {entry.task} needs targets y")
        y = np.asarray(y, dtype=np.float64)
        if entry.task == "classification" and not np.isin(y, (-1, 1)).all():
            raise ValueError(f"{name}: labels must be -1 and +1; got {np.unique(y)[:5].tolist()}")
        return entry.build(X, y, **options)
    return entry.build(X, **options)


def minimise_cost(
    name: str,
    X: ArrayLike,
    y: ArrayLike | None = None,
    *,
    x0: ArrayLike | None = None,
    solver: Solver | None = None,
    tol: float = 1e-8,
    max_iter: int = 5000,
    seed: int = 0,
    **options: Any,  # of the cost of that name
) -> Minimum:
    """Minimise the cost of that name by a generic solver: L-BFGS, or smoothing of kinks where the loss has any.

    Parameters
    ----------
    name, X, y, options
        As for `cost`.
    x0
        Where to start; by default zeros, random weights for networks, and random rows for centres.
    solver, tol, max_iter
        As in `optim.minimise.minimise`; `tol` is multiplied by the number of rows.
    seed
        Decides random starts.

    >>> X = np.array([[0.0], [1.0], [9.0], [10.0]])
    >>> np.sort(minimise_cost("k_means", X, n_clusters=2, x0=[0.0, 9.0]).x)
    array([0.5, 9.5])
    """
    objective = cost(name, X, y, **options)
    x0 = (
        COST_FUNCTIONS[name].start(objective, np.random.RandomState(seed))
        if x0 is None
        else np.asarray(x0, dtype=np.float64)
    )
    if isinstance(objective, EmpiricalRisk) and not objective.loss.smooth:
        return minimise_kinked(objective, x0, max_iter=max_iter)
    return minimise(objective, x0, solver or LBFGS(), tol=tol * np.shape(X)[0], max_iter=max_iter)


def _logistic(X: Array, y: Array, *, intercept: bool = True) -> EmpiricalRisk:
    return EmpiricalRisk(LogLoss(), Design(X, intercept=intercept), y, np.ones(len(y)))


def _support_vectors(X: Array, y: Array, *, C: float = 1.0, intercept: bool = True) -> EmpiricalRisk:
    ridge = np.append(np.full(X.shape[1], 2.0), [0.0] * intercept)  # |theta|^2 without the intercept
    return EmpiricalRisk(HingeLoss(), Design(X, intercept=intercept), y, np.full(len(y), C), ridge=ridge)


def _linear(X: Array, y: Array, *, intercept: bool = True) -> EmpiricalRisk:
    return EmpiricalRisk(SquaredLoss(), Design(X, intercept=intercept), y, np.full(len(y), 2.0))


def _network_of_classes(X: Array, y: Array, *, hidden: tuple[int, ...] = (3,), ridge: float = 0.0) -> NetworkRisk:
    return NetworkRisk(SquaredLoss(), X, y, np.full(len(y), 2.0), hidden=hidden, output="tanh", ridge=ridge)


def _network_of_numbers(X: Array, y: Array, *, hidden: tuple[int, ...] = (3, 3), ridge: float = 0.0) -> NetworkRisk:
    return NetworkRisk(SquaredLoss(), X, y, np.full(len(y), 2.0), hidden=hidden, ridge=ridge)


def _likelihood(
    X: Array, *, log_density: Callable[[Array, Array], ArrayLike] | None = None, parameters: int = 0
) -> GaussianLikelihood | Function:
    if log_density is None:
        return GaussianLikelihood(X)
    if parameters < 1:
        raise ValueError("negative_log_likelihood: give the number of parameters of log_density as parameters=")
    return SizedFunction(lambda theta: -float(np.sum(log_density(theta, X))), size=parameters)


def _quantization(X: Array, *, n_clusters: int = 2) -> QuantizationError:
    if not 1 <= n_clusters <= len(X):
        raise ValueError(f"k_means: n_clusters must be from 1 to the {len(X)} rows; got {n_clusters}")
    return QuantizationError(X, n_clusters)


@dataclass(frozen=True)
class SizedFunction(Function):
    """A function that knows how many parameters it has."""

    size: int = 0


def _zeros(objective: GaussianLikelihood | EmpiricalRisk | SizedFunction, rng: Rng) -> Array:
    if isinstance(objective, GaussianLikelihood):
        d = objective.X.shape[1]
        rows, columns = np.tril_indices(d)
        return np.append(objective.X.mean(axis=0), np.where(rows == columns, -np.log(_size(objective.X))[rows], 0.0))
    return np.zeros(objective.design.size if isinstance(objective, EmpiricalRisk) else objective.size)


def _size(X: Array) -> Array:
    size = X.std(axis=0)
    return np.where(size > 0, size, 1.0)


def _weights(objective: NetworkRisk, rng: np.random.RandomState) -> Array:
    return objective.start(rng)


def _rows(objective: QuantizationError, rng: np.random.RandomState) -> Array:
    return objective.X[rng.permutation(len(objective.X))[: objective.K]].ravel()


COST_FUNCTIONS: dict[str, CostFunction] = {
    entry.name: entry
    for entry in (
        CostFunction("logistic", "classification", "sum ln(1 + e^(-y x'theta))",
                     "fivefold.linear_model.LogisticRegression", _logistic, _zeros),
        CostFunction("network_classification", "classification", "sum (y - g(theta_2' g(theta_1' x)))^2",
                     "a network with one hidden layer", _network_of_classes, _weights),
        CostFunction("support_vector_machine", "classification",
                     "|theta|^2 + C sum xi with xi >= 1 - y x'theta and xi >= 0",
                     "fivefold.svm.LinearSVC", _support_vectors, _zeros),
        CostFunction("linear_regression", "regression", "sum (y - x'theta)^2",
                     "fivefold.linear_model.LinearRegression", _linear, _zeros),
        CostFunction("network_regression", "regression", "sum (y - theta_3' g(theta_2' g(theta_1' x)))^2",
                     "a network with two hidden layers", _network_of_numbers, _weights),
        CostFunction("negative_log_likelihood", "density estimation", "-sum ln p(x | theta)",
                     "fivefold.distributions.gaussian.Gaussian", _likelihood, _zeros),
        CostFunction("k_means", "clustering", "sum_j sum_(i in C_j) |x_i - mu_j|^2",
                     "fivefold.cluster.KMeans", _quantization, _rows),
    )
}  # fmt: skip
