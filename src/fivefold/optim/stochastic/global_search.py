"""Random search, for functions with many minima: the start matters less, and no gradient is needed.

    SimulatedAnnealing  a sweep proposes Gaussian moves and takes one that raises f by D with probability exp(-D / T);
                        T falls by a factor from sweep to sweep (Kirkpatrick, Gelatt & Vecchi, 1983)
    GeneticAlgorithm    a generation keeps its best, and fills up with blends of two winners of small tournaments, a few
                        coordinates of which are perturbed (Holland, 1975)

The result is the best point met. Steps are functions of the seed and the iteration, so a run can be repeated.
"""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np

from fivefold.core.types import Array
from fivefold.optim.minimise import Solver, State
from fivefold.optim.objective import Objective


@dataclass(frozen=True)
class SimulatedAnnealing(Solver):
    """`spread` is the size of the first moves; it shrinks with the root of the temperature."""

    temperature: float = 1.0
    cooling: float = 0.95
    spread: float = 1.0
    moves: int = 50
    seed: int = 0

    accepts = (Objective,)
    convergent = False  # it converges in probability only, and slowly

    def start(self, objective: Objective, x0: Array) -> State:
        value = objective.value(x0)
        return State(x0, value, np.inf, (x0, value, 0))

    def step(self, objective: Objective, state: State) -> State:
        x, value, number = state.memory
        best, least = state.x, state.value
        heat = self.cooling**number
        rng = np.random.RandomState([self.seed, number])
        moves = self.spread * np.sqrt(heat) * rng.standard_normal((self.moves, len(x)))
        chances = rng.random_sample(self.moves)
        for move, chance in zip(moves, chances, strict=True):
            there = x + move
            new = objective.value(there)
            if new <= value or chance < np.exp((value - new) / (self.temperature * heat)):
                x, value = there, new
                if value < least:
                    best, least = x, value
        return State(best, least, np.inf, (x, value, number + 1))


@dataclass(frozen=True)
class GeneticAlgorithm(Solver):
    """`spread` is the size of the first population about the start, `mutation` the share of coordinates perturbed."""

    population: int = 60
    elite: int = 4
    tournament: int = 3
    mutation: float = 0.5
    spread: float = 2.0
    seed: int = 0

    accepts = (Objective,)
    convergent = False

    def start(self, objective: Objective, x0: Array) -> State:
        rng = np.random.RandomState([self.seed, 0])
        P = x0 + self.spread * rng.standard_normal((self.population, len(x0)))
        P[0] = x0
        return _generation(objective, P, 1)

    def step(self, objective: Objective, state: State) -> State:
        P, number = state.memory  # the best first
        rng = np.random.RandomState([self.seed, number])
        count = self.population - self.elite
        # the population is sorted: the smallest of a few random indices wins their tournament
        parents = rng.randint(self.population, size=(2, count, self.tournament)).min(axis=2)
        share = rng.uniform(-0.25, 1.25, (count, P.shape[1]))
        children = share * P[parents[0]] + (1 - share) * P[parents[1]]
        nudged = rng.random_sample(children.shape) < self.mutation
        children += nudged * P.std(axis=0) * rng.standard_normal(children.shape)
        return _generation(objective, np.vstack([P[: self.elite], children]), number + 1)


def _generation(objective: Objective, P: Array, number: int) -> State:
    """The population ordered by value."""
    values = np.array([objective.value(x) for x in P])
    order = np.argsort(values, kind="stable")
    P, values = P[order], values[order]
    return State(P[0], float(values[0]), np.inf, (P, number))
