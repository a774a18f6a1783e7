"""Hierarchical hidden Markov model: slow states that hold faster ones, written as one chain or as a grammar.

Levels a (slow), b, c, ... move together. When a level changes, those below it start anew given the states above; where
a level stays, the next one moves:

    P(a', b', c' | a, b, c) = P(a' | a) I(b' | a') I(c' | a', b')                      a' != a
                              P(a | a) P(b' | a, b) I(c' | a, b')                      a' = a, b' != b
                              P(a | a) P(b | a, b) P(c' | a, b, c)                     a' = a, b' = b

As a grammar, a segment of a level is a run of segments of the next, and the segments of the last level are symbols:
right-linear grammars, one in another, whose strings have the probabilities of the chain.

Fine, Singer & Tishby (1998).
"""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass
from functools import cached_property
from itertools import product
from math import prod
from typing import NamedTuple

import numpy as np

from fivefold.core.types import Codes, Doubles, Rng
from fivefold.sequence.structured_states.state_chain import StateChain, check_cells, check_probabilities


class Production(NamedTuple):
    """A rule of a probabilistic grammar: left -> right, a symbol (a whole number) or one or two names."""

    left: str
    right: tuple[str | int, ...]
    probability: float


@dataclass(frozen=True, eq=False)
class HierarchicalStates:
    """Levels of states; tables of a level have an axis for every level above it.

    Examples
    --------
    >>> import numpy as np
    >>> slow_and_fast = HierarchicalStates(
    ...     initial=(np.array([1.0, 0.0]), np.array([[0.5, 0.5], [1.0, 0.0]])),
    ...     transition=(
    ...         np.array([[0.9, 0.1], [0.2, 0.8]]),
    ...         np.array([[[0.5, 0.5], [0.5, 0.5]], [[0.0, 1.0], [1.0, 0.0]]]),
    ...     ),
    ... )
    >>> flat = slow_and_fast.flatten()
    >>> flat.states
    ((0, 0), (0, 1), (1, 0), (1, 1))
    >>> flat.transition[0]
    array([0.45, 0.45, 0.1 , 0.  ])
    """

    initial: tuple[Doubles, ...]  # of level l: (k_1, .., k_l), a distribution along the last axis
    transition: tuple[Doubles, ...]  # of level l: (k_1, .., k_{l-1}, k_l, k_l), from the last axis but one to the last

    def __post_init__(self) -> None:
        if not self.initial or len(self.initial) != len(self.transition):
            raise ValueError(
                f"levels differ: {len(self.initial)} initial tables, {len(self.transition)} of transitions"
            )
        shape = self.sizes
        for level, (first, step) in enumerate(zip(self.initial, self.transition, strict=True)):
            above = shape[: level + 1]
            if first.shape != above or step.shape != (*above, above[-1]):
                raise ValueError(
                    f"level {level} needs an initial table of the shape {above} and transitions of the shape "
                    f"{(*above, above[-1])}; got {first.shape} and {step.shape}"
                )
            check_probabilities(first, f"initial table of level {level}")
            check_probabilities(step, f"transitions of level {level}")

    @cached_property
    def sizes(self) -> tuple[int, ...]:
        """Number of states of each level."""
        return tuple(first.shape[-1] for first in self.initial)

    def flatten(self) -> StateChain:
        """The chain over tuples of states, one per level."""
        sizes, L = self.sizes, len(self.sizes)
        K = prod(sizes)
        check_cells(K, "the flat chain of a hierarchical model")
        starts = [np.ones(sizes)]  # starts[j]: product of the initial tables of the last j levels, given those above
        for first in reversed(self.initial):
            starts.append(starts[-1] * first.reshape(*first.shape, *(1,) * (L - first.ndim)))
        flat = self._below(0, starts)
        states = tuple(product(*map(range, sizes)))
        return StateChain(starts[-1].ravel(), flat.reshape(K, K), states)

    def _below(self, level: int, starts: list[Doubles]) -> Doubles:
        """Transitions of the levels from this one on, given all above: (above .., from .., to ..)."""
        sizes, L = self.sizes, len(self.sizes)
        step = self.transition[level]
        if level == L - 1:
            return step
        k, rest = sizes[level], sizes[level + 1 :]
        above, m = sizes[:level], prod(sizes[level + 1 :])
        stay = self._below(level + 1, starts).reshape(*above, k, m, m)
        fresh = starts[L - level - 1].reshape(*above, k, m)  # of the levels below, in a new state
        out = step[..., :, None, :, None] * fresh[..., None, None, :, :]
        out = np.broadcast_to(out, (*above, k, m, k, m)).copy()
        own = np.arange(k)
        diagonal = np.einsum("...kk->...k", step)
        np.moveaxis(out, (-4, -2), (0, 1))[own, own] = np.moveaxis(diagonal[..., None, None] * stay, -3, 0)
        return out.reshape(*above, k, *rest, k, *rest)

    def sample(self, T: int, rng: Rng) -> Codes:
        """States of every level (T, levels), drawn level by level: the slow way, which `flatten` is checked with."""
        path = np.empty((T, len(self.sizes)), dtype=np.int64)
        for t in range(T):
            renewed = t == 0
            for level, k in enumerate(self.sizes):
                above = tuple(path[t, :level])
                row = self.initial[level][above] if renewed else self.transition[level][(*above, path[t - 1, level])]
                path[t, level] = rng.choice(k, p=row)
                renewed = renewed or path[t, level] != path[t - 1, level]
        return path

    def grammar(self, emission: Doubles, stop: float) -> tuple[Production, ...]:
        """Productions from the start "S"; after every symbol the string ends with probability `stop`.

        `emission[a, b, .., symbol]` is the probability of a symbol. A string of T symbols has the probability that the
        chain gives it, times stop (1 - stop)^(T - 1).
        """
        if emission.shape[:-1] != self.sizes:
            raise ValueError(f"emission needs the shape {(*self.sizes, 'symbols')}; got {emission.shape}")
        check_probabilities(emission, "emission")
        if not 0 < stop < 1:
            raise ValueError(f"stop must lie between 0 and 1, both excluded; got {stop}")
        rules = self._segments((), stop, "S")
        symbols = (
            Production(_name("E", state), (symbol,), float(emission[(*state, symbol)]))
            for state in product(*map(range, self.sizes))
            for symbol in range(emission.shape[-1])
        )
        return tuple(rule for rule in (*rules, *symbols) if rule.probability > 0)

    def _segments(self, above: tuple[int, ...], leave: float, run: str) -> Iterator[Production]:
        """Rules of a run of segments below the states `above`, which ends with probability `leave` after a symbol."""
        level = len(above)
        step, last = self.transition[level][above], level == len(self.sizes) - 1
        for k, first in enumerate(self.initial[level][above]):
            state = (*above, k)
            yield Production(run, (_name("R", state),), float(first))
            # The last level moves from symbol to symbol; a segment of another one ends when its own state changes.
            inner = leave if last else leave + (1 - leave) * (1 - step[k, k])
            body = _name("E", state) if last else _name("S", state)
            for j, p in enumerate(step[k]):
                if last or j != k:
                    yield Production(
                        _name("R", state), (body, _name("R", (*above, j))), (1 - leave) * p / (1 if last else inner)
                    )
            yield Production(_name("R", state), (body,), leave / (1 if last else inner))
            if not last:
                yield from self._segments(state, inner, _name("S", state))


def _name(kind: str, state: tuple[int, ...]) -> str:
    return f"{kind}{','.join(map(str, state))}"
