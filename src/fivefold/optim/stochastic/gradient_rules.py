"""Stochastic gradient rules on a finite sum: one loop over shuffled batches, one small rule per method.

With g the mean gradient of the terms of a batch, at a rate eta:

    SGD        M <- gamma M + (1 - gamma) g,  x <- x - eta M     (classic: M <- gamma M + g)
    Nesterov   M <- gamma M + g(x - eta gamma M),  x <- x - eta M
    Adagrad    V <- V + g^2,                  x <- x - eta g / (sqrt(V) + eps)
    RMSProp    V <- gamma V + (1 - gamma) g^2, x <- x - eta g / sqrt(V + eps)
    Adadelta   V the same, step = -sqrt(U + eps) / sqrt(V + eps) g, U <- gamma U + (1 - gamma) step^2
    Adam       M, V running means, corrected for their start at zero, x <- x - eta M / sqrt(V + eps)

A batch of one row is stochastic gradient descent, a batch of all rows is gradient descent. `average` returns the
mean of all points visited (Polyak & Juditsky, 1992). A step of the loop is an epoch, or a batch where `epoch` is False.

Robbins & Monro (1951); Polyak (1964); Nesterov (1983); Duchi, Hazan & Singer (2011); Zeiler (2012); Kingma & Ba (2015);
Reddi, Kale & Kumar (2018).
"""

from __future__ import annotations

from abc import abstractmethod
from collections.abc import Callable
from dataclasses import dataclass, replace
from typing import Literal

import numpy as np
from numpy.typing import ArrayLike, NDArray

from fivefold.core.types import Array
from fivefold.optim.minimise import Solver, State
from fivefold.optim.objective import FiniteSum
from fivefold.optim.stochastic.learning_rates import ConstantRate, InverseTimeDecay, LearningRate

Gradient = Callable[[Array], Array]
Moments = tuple[Array, ...]
Rows = NDArray[np.int64]

DEFAULT_RATE, ADAGRAD_RATE, RMSPROP_RATE, ADAM_RATE, ADADELTA_RATE = (
    InverseTimeDecay(0.01, 1000.0),
    *(ConstantRate(eta0) for eta0 in (0.1, 0.01, 0.001, 1.0)),
)


@dataclass(frozen=True)
class StochasticMemory:
    """The point itself (the state may show an average), the rule's moments, and where the pass over the rows stands."""

    x: Array
    moments: Moments
    t: int  # steps taken
    passes: int
    pending: tuple[Rows, ...]  # batches of this pass not yet visited


@dataclass(frozen=True)
class StochasticSolver(Solver):
    """Steps along gradients of batches. `batch` is the number of rows per batch, None for all rows."""

    rate: LearningRate = DEFAULT_RATE
    batch: int | None = 1
    shuffle: bool = True
    epoch: bool = True
    average: bool = False
    seed: int = 0

    accepts = (FiniteSum,)
    convergent = False  # it converges in expectation only, at the speed of its rate

    @abstractmethod
    def advance(self, gradient: Gradient, x: Array, moments: Moments, eta: float, t: int) -> tuple[Array, Moments]:
        """The next point and moments; `gradient` is that of the batch, t counts from 1."""

    def moments(self, x: Array) -> Moments:
        """What the rule remembers before the first step."""
        return (np.zeros_like(x),)

    def start(self, objective: FiniteSum, x0: Array) -> State:
        return self._state(objective, x0, StochasticMemory(x0, self.moments(x0), 0, 0, ()))

    def step(self, objective: FiniteSum, state: State) -> State:
        memory, mean = state.memory, state.x
        if not memory.pending:
            pending = self._batches(objective.n_terms, memory.passes)
            memory = replace(memory, pending=pending, passes=memory.passes + 1)
        for rows in memory.pending if self.epoch else memory.pending[:1]:
            t = memory.t + 1
            gradient = _of_batch(objective, rows)
            x, moments = self.advance(gradient, memory.x, memory.moments, float(self.rate.at(t)), t)
            memory = replace(memory, x=x, moments=moments, t=t, pending=memory.pending[1:])
            mean = mean + (x - mean) / t if self.average else x
        return self._state(objective, mean, memory)

    def _state(self, objective: FiniteSum, x: Array, memory: StochasticMemory) -> State:
        with np.errstate(over="ignore", invalid="ignore"):  # too large a rate is reported as divergence
            value, g = objective.value_and_gradient(x)
        return State(x, value, float(np.abs(g).max(initial=0.0)), memory)

    def _batches(self, n: int, passes: int) -> tuple[Rows, ...]:
        order = np.random.default_rng([self.seed, passes]).permutation(n) if self.shuffle else np.arange(n)
        size = n if self.batch is None else min(self.batch, n)
        return tuple(order[lo : lo + size] for lo in range(0, n, size))


@dataclass(frozen=True)
class SGD(StochasticSolver):
    """Stochastic gradient descent, with momentum as a running mean of gradients ("averaged") or a sum ("classic")."""

    momentum: float = 0.0
    form: Literal["averaged", "classic"] = "averaged"

    def advance(self, gradient: Gradient, x: Array, moments: Moments, eta: float, t: int) -> tuple[Array, Moments]:
        fresh = 1 - self.momentum if self.form == "averaged" else 1.0
        M = self.momentum * moments[0] + fresh * gradient(x)
        return x - eta * M, (M,)


@dataclass(frozen=True)
class Nesterov(StochasticSolver):
    """Momentum whose gradient is taken where the momentum alone would lead."""

    momentum: float = 0.9

    def advance(self, gradient: Gradient, x: Array, moments: Moments, eta: float, t: int) -> tuple[Array, Moments]:
        M = self.momentum * moments[0]
        M = M + gradient(x - eta * M)
        return x - eta * M, (M,)


@dataclass(frozen=True)
class Adagrad(StochasticSolver):
    """Each coordinate's rate falls with the sum of its squared gradients."""

    rate: LearningRate = ADAGRAD_RATE
    eps: float = 1e-10

    def advance(self, gradient: Gradient, x: Array, moments: Moments, eta: float, t: int) -> tuple[Array, Moments]:
        g = gradient(x)
        V = moments[0] + g**2
        return x - eta * g / (np.sqrt(V) + self.eps), (V,)


@dataclass(frozen=True)
class RMSProp(StochasticSolver):
    """Each coordinate's step is divided by the running size of its gradient; `eps_inside_root` puts eps in the root."""

    rate: LearningRate = RMSPROP_RATE
    decay: float = 0.9
    eps: float = 1e-8
    eps_inside_root: bool = True

    def advance(self, gradient: Gradient, x: Array, moments: Moments, eta: float, t: int) -> tuple[Array, Moments]:
        g = gradient(x)
        V = self.decay * moments[0] + (1 - self.decay) * g**2
        return x - eta * g / _root(V, self.eps, self.eps_inside_root), (V,)


@dataclass(frozen=True)
class Adadelta(StochasticSolver):
    """Steps in the units of x: the root mean square of steps over that of gradients, times the rate (default 1)."""

    rate: LearningRate = ADADELTA_RATE
    decay: float = 0.95
    eps: float = 1e-6

    def moments(self, x: Array) -> Moments:
        return np.zeros_like(x), np.zeros_like(x)

    def advance(self, gradient: Gradient, x: Array, moments: Moments, eta: float, t: int) -> tuple[Array, Moments]:
        g = gradient(x)
        V = self.decay * moments[0] + (1 - self.decay) * g**2
        step = np.sqrt(moments[1] + self.eps) / np.sqrt(V + self.eps) * g
        U = self.decay * moments[1] + (1 - self.decay) * step**2
        return x - eta * step, (V, U)


@dataclass(frozen=True)
class Adam(StochasticSolver):
    """Momentum over the running size of gradients, both corrected for the bias of starting at zero.

    `amsgrad` never lets the size fall, which Adam's convergence needs (Reddi, Kale & Kumar, 2018).
    """

    rate: LearningRate = ADAM_RATE
    momentum: float = 0.9
    decay: float = 0.999
    eps: float = 1e-8
    eps_inside_root: bool = True
    amsgrad: bool = False

    def moments(self, x: Array) -> Moments:
        return np.zeros_like(x), np.zeros_like(x), np.zeros_like(x)

    def advance(self, gradient: Gradient, x: Array, moments: Moments, eta: float, t: int) -> tuple[Array, Moments]:
        g = gradient(x)
        M = self.momentum * moments[0] + (1 - self.momentum) * g
        V = self.decay * moments[1] + (1 - self.decay) * g**2
        top = np.maximum(moments[2], V) if self.amsgrad else V
        size = _root(top / (1 - self.decay**t), self.eps, self.eps_inside_root)
        return x - eta * (M / (1 - self.momentum**t)) / size, (M, V, top)


def running_average(values: ArrayLike, gamma: ArrayLike | None = None) -> Array:
    """mbar_{k+1} = gamma_k mbar_k + (1 - gamma_k) m_k from mbar_1 = 0, along the first axis: every mbar.

    One gamma gives the geometric average (1 - gamma) sum of gamma^(k-i) m_i; None takes gamma_k = (k - 1) / k, which
    gives the arithmetic mean of the values so far.

    >>> running_average([1.0, 2.0, 6.0]).tolist()
    [1.0, 1.5, 3.0]
    """
    values = np.asarray(values, dtype=np.float64)
    count = len(values)
    gammas = np.arange(count) / np.arange(1, count + 1) if gamma is None else np.broadcast_to(gamma, count)
    means, mean = np.empty_like(values), np.zeros(values.shape[1:])
    for k in range(count):
        mean = gammas[k] * mean + (1 - gammas[k]) * values[k]
        means[k] = mean
    return means


def _of_batch(objective: FiniteSum, rows: Rows) -> Gradient:
    return lambda x: objective.batch(x, rows) / objective.n_terms


def _root(V: Array, eps: float, inside_root: bool) -> Array:
    return np.sqrt(V + eps) if inside_root else np.sqrt(V) + eps
