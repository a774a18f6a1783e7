"""A Markov chain over labelled states, as the models with structured states are flattened to.

p(z_1 .. z_T) = start[z_1] prod_t transition[z_{t-1}, z_t]
"""

from __future__ import annotations

from collections.abc import Callable, Hashable, Sequence
from dataclasses import dataclass

import numpy as np

from fivefold.core.admission.sequences import sequence_offsets
from fivefold.core.types import Codes, Doubles, Indices, Rng
from fivefold.inference.chains.chain import Chain

MAX_CELLS = 1 << 27  # entries of a table of transitions: a gibibyte
SUM_TOLERANCE = 1e-8  # how far probabilities may be from summing to one


@dataclass(frozen=True, eq=False)
class StateChain:
    """Probabilities of the first state and of the steps, and a label per state: often a tuple of parts.

    Examples
    --------
    >>> import numpy as np
    >>> weather = StateChain(np.array([0.5, 0.5]), np.array([[0.9, 0.1], [0.2, 0.8]]), ("dry", "wet"))
    >>> emission = np.array([[0.7, 0.3], [0.1, 0.9]])  # of two symbols
    >>> from fivefold.inference.chains.forward_backward import log_likelihood
    >>> np.exp(log_likelihood(weather.chain_of_symbols([0, 0, 1], np.log(emission)))).round(6)
    array([0.08775])
    """

    start: Doubles  # (K,)
    transition: Doubles  # (K, K) from a row to a column
    states: tuple[Hashable, ...]

    def __post_init__(self) -> None:
        check_probabilities(self.start, "start")
        check_probabilities(self.transition, "transition")

    def chain(self, log_emission: Doubles, lengths: Sequence[int] | None = None) -> Chain:
        """The chain of observations whose log-density in each state is given (n, K)."""
        offsets = sequence_offsets([len(log_emission)] if lengths is None else lengths, len(log_emission))
        return Chain(*self._logs(), log_emission, offsets)

    def chain_of_symbols(
        self, symbols: Sequence[int] | Codes, log_emission: Doubles, lengths: Sequence[int] | None = None
    ) -> Chain:
        """The chain of observed symbols, with the log-probability of each symbol in each state (K, symbols)."""
        codes = np.asarray(symbols)
        offsets = sequence_offsets([len(codes)] if lengths is None else lengths, len(codes))
        return Chain(*self._logs(), log_emission.T, offsets, codes)

    def groups(self, part: Callable[[Hashable], Hashable]) -> tuple[tuple[Hashable, ...], Indices]:
        """The values of a part of the labels, and the number of its value for every state."""
        values = tuple(dict.fromkeys(map(part, self.states)))
        number = {value: i for i, value in enumerate(values)}
        return values, np.array([number[part(state)] for state in self.states])

    def sample(self, T: int, rng: Rng) -> Indices:
        """Numbers of T states, drawn one after the other."""
        path = np.empty(T, dtype=np.int64)
        u = rng.random_sample(T)
        steps, row = np.cumsum(self.transition, axis=1), np.cumsum(self.start)
        for t in range(T):
            path[t] = min(int(np.searchsorted(row, u[t] * row[-1], side="right")), len(row) - 1)
            row = steps[path[t]]
        return path

    def _logs(self) -> tuple[Doubles, Doubles]:
        with np.errstate(divide="ignore"):
            return np.log(self.start), np.log(self.transition)


def check_cells(states: int, what: str) -> None:
    """Refuse a table of transitions that is too large, before it is made."""
    if states**2 > MAX_CELLS:
        raise ValueError(
            f"{what} has {states:,} states, and a table of {states**2:.3g} transitions ({states**2 * 8 / 2**30:.1f} "
            "GiB). Give it fewer states, or use an approximation"
        )


def check_probabilities(table: Doubles, name: str) -> None:
    """Refuse tables with entries below zero, or whose last axis does not sum to one, with the row."""
    bad = ~((np.abs(table.sum(axis=-1) - 1) <= SUM_TOLERANCE) & (table >= 0).all(axis=-1))
    if bad.any():
        row = tuple(int(i) for i in np.argwhere(bad)[0])
        where = f", row {row if len(row) != 1 else row[0]}" if row else ""
        values = table[row]
        said = f"sums to {values.sum():.6g}" if (values >= 0).all() else f"holds {values[~(values >= 0)][0]:.6g}"
        raise ValueError(f"{name}{where} {said}; probabilities are at least 0 and sum to 1")


def shares(counts: Doubles, old: Doubles) -> Doubles:
    """Rows of counts as probabilities; a row without any keeps what it was."""
    total = counts.sum(axis=-1, keepdims=True)
    return np.where(total > 0, counts / np.where(total > 0, total, 1.0), old)
