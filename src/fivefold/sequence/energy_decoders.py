"""Decoding as the minimisation of an energy: f(x) = argmin over y of E(x, y), for structured y.

    chains            E(x, z) = -ln P(z, x), or minus the score of a labelling      Viterbi
    factors           E(x, y) = -ln of the product of factors                       elimination with back-pointers
    anything small    E given as a function, candidates listed                      enumeration, the oracle

LeCun, Chopra, Hadsell, Ranzato & Huang (2006).
"""

from __future__ import annotations

from abc import ABC, abstractmethod
from collections.abc import Callable, Iterable, Mapping, Sequence
from dataclasses import dataclass
from typing import Any, Generic, TypeVar

import numpy as np

from fivefold.inference.chains.best_paths import best_path
from fivefold.inference.chains.chain import Chain
from fivefold.inference.factors.configurations import most_probable
from fivefold.inference.factors.factor import Factor

X = TypeVar("X")
Y = TypeVar("Y")


class EnergyDecoder(ABC, Generic[X, Y]):
    """Finds the answer of least energy."""

    @abstractmethod
    def energy(self, x: X, y: Y) -> float:
        """E(x, y); infinite where y is impossible."""

    @abstractmethod
    def decode(self, x: X) -> Y:
        """argmin over y of E(x, y)."""


@dataclass(frozen=True)
class ChainDecoder(EnergyDecoder[Any, list[int]]):
    """Paths of a chain; `chain_of(x)` gives the log tables of x, one sequence.

    Examples
    --------
    >>> tables = np.log([0.5, 0.5]), np.log([[0.9, 0.1], [0.1, 0.9]])
    >>> decoder = ChainDecoder(lambda x: Chain(*tables, np.log([[0.8, 0.2], [0.2, 0.8]])[x], np.array([0, len(x)])))
    >>> decoder.decode([0, 0, 1, 0])
    [0, 0, 0, 0]
    """

    chain_of: Callable[[Any], Chain]

    def energy(self, x: Any, y: Sequence[int]) -> float:
        return -float(self.chain_of(x).path_log_prob(np.asarray(y))[0])

    def decode(self, x: Any) -> list[int]:
        found: list[int] = best_path(self.chain_of(x)).path.tolist()
        return found


@dataclass(frozen=True)
class FactorDecoder(EnergyDecoder[Any, dict[int, int]]):
    """States of the variables of a factor graph; `factors_of(x)` gives its tables, plain values."""

    factors_of: Callable[[Any], Sequence[Factor]]
    cards: Sequence[int]

    def energy(self, x: Any, y: Mapping[int, int]) -> float:
        values = [factor.table[tuple(y[v] for v in factor.variables)] for factor in self.factors_of(x)]
        with np.errstate(divide="ignore"):
            return -float(np.log(values).sum())

    def decode(self, x: Any) -> dict[int, int]:
        return most_probable(self.factors_of(x), self.cards).states


@dataclass(frozen=True)
class EnumerationDecoder(EnergyDecoder[X, Y]):
    """Any energy, by trying every candidate; of equals the first."""

    energy_of: Callable[[X, Y], float]
    candidates: Callable[[X], Iterable[Y]]

    def energy(self, x: X, y: Y) -> float:
        return self.energy_of(x, y)

    def decode(self, x: X) -> Y:
        return min(self.candidates(x), key=lambda y: self.energy_of(x, y))
