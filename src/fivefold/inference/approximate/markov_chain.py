"""A finite Markov chain: states, transition probabilities, and what it tends to.

    p_{t+1}(y) = sum_x p_t(x) T(x, y)          pi = pi T   stationary          pi(x) T(x, y) = pi(y) T(y, x)  reversible

A chain is regular if some power of T has no zero; then it has one stationary distribution and reaches it from every
start. It is regular exactly if every state reaches every other (irreducible) and the lengths of its ways back have no
common divisor (aperiodic).

Levin, Peres & Wilmer (2009), Markov Chains and Mixing Times.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from functools import cached_property
from math import gcd

import numpy as np
from numpy.typing import ArrayLike
from scipy.sparse import csr_array
from scipy.sparse.csgraph import connected_components, shortest_path

from fivefold.core.random_state import check_random_state
from fivefold.core.types import Codes, Doubles, Indices, Rng

ROW_SUM_TOLERANCE = 1e-9  # a row of probabilities sums to one up to this
BALANCE_TOLERANCE = 1e-10  # probability flows either way that differ by no more are equal
MAX_MIXING_DOUBLINGS = 60  # a chain that has not mixed after 2 ** 60 steps never will, as far as doubles can tell


@dataclass(frozen=True, eq=False)
class Convergence:
    """Distributions step by step, until they no longer change."""

    distributions: Doubles  # (steps + 1, n)
    changes: Doubles  # (steps,): total variation between one step and the next
    converged: bool


@dataclass(frozen=True, eq=False)
class MarkovChain:
    """Transition probabilities between n states, the same at every step.

    Examples
    --------
    >>> weather = MarkovChain([[0.7, 0.3], [0.2, 0.8]], ("wet", "dry"))
    >>> weather.stationary
    array([0.4, 0.6])
    >>> weather.is_regular, weather.mixing_time(0.01)
    (True, 6)
    """

    transitions: Doubles  # (n, n), rows sum to one
    names: tuple[str, ...] = ()

    def __init__(self, transitions: ArrayLike, names: Sequence[object] = ()) -> None:
        T = np.array(transitions, dtype=np.float64)
        if T.ndim != 2 or T.shape[0] != T.shape[1] or not len(T):
            raise ValueError(f"transition probabilities form a square table; this one has shape {T.shape}")
        sums = T.sum(axis=1)
        wrong = np.flatnonzero(~((T >= 0).all(axis=1) & (np.abs(sums - 1.0) <= ROW_SUM_TOLERANCE)))
        if len(wrong):
            row = int(wrong[0])
            raise ValueError(f"row {row} of the transition probabilities is {T[row]}: it has to be a distribution")
        if names and len(names) != len(T):
            raise ValueError(f"{len(T)} states, but {len(names)} names")
        T.flags.writeable = False
        object.__setattr__(self, "transitions", T)
        object.__setattr__(self, "names", tuple(str(name) for name in names) or tuple(map(str, range(len(T)))))

    def __len__(self) -> int:
        return len(self.transitions)

    def n_step(self, steps: int) -> Doubles:
        """Probabilities of going from each state to each other in this many steps."""
        return np.linalg.matrix_power(self.transitions, steps)

    def distribution(self, start: ArrayLike, steps: int) -> Doubles:
        """Probabilities of the states after this many steps, from a distribution at the start."""
        found: Doubles = self._start(start) @ self.n_step(steps)
        return found

    def converge(self, start: ArrayLike, tol: float = 1e-9, max_steps: int = 10_000) -> Convergence:
        """Step until a distribution changes by at most tol, in total variation."""
        path, changes = [self._start(start)], list[float]()
        while len(changes) < max_steps and (not changes or changes[-1] > tol):
            path.append(path[-1] @ self.transitions)
            changes.append(total_variation(path[-1], path[-2]))
        return Convergence(np.array(path), np.array(changes), changes[-1] <= tol)

    def simulate(self, steps: int, start: int | None = None, *, random_state: int | Rng | None = None) -> Codes:
        """States of one walk, the start first; it is drawn from the stationary distribution if none is given."""
        rng = check_random_state(random_state)
        draws = rng.random_sample(steps + 1)
        sums = np.cumsum(self.transitions, axis=1)
        states = np.empty(steps + 1, dtype=np.int64)
        states[0] = _drawn(np.cumsum(self.stationary), draws[0]) if start is None else range(len(self))[start]
        for t in range(steps):
            states[t + 1] = _drawn(sums[states[t]], draws[t + 1])
        return states

    @cached_property
    def classes(self) -> Codes:
        """(n,) which states reach each other: the number of each state's class."""
        return connected_components(csr_array(self.transitions > 0), directed=True, connection="strong")[1]

    @cached_property
    def closed_classes(self) -> tuple[Indices, ...]:
        """Classes that are never left, as numbers of states."""
        leaves = (self.transitions > 0) & (self.classes[:, None] != self.classes[None, :])
        left = set(self.classes[leaves.any(axis=1)].tolist())
        return tuple(np.flatnonzero(self.classes == c) for c in range(self.classes.max() + 1) if c not in left)

    @property
    def is_irreducible(self) -> bool:
        """Does every state reach every other?"""
        return bool(self.classes.max() == 0)

    def period(self, state: int = 0) -> int:
        """The greatest common divisor of the lengths of ways back to a state; 0 if there is no way back."""
        own = np.flatnonzero(self.classes == self.classes[state])
        links = self.transitions[np.ix_(own, own)] > 0
        depth = shortest_path(csr_array(links), unweighted=True, indices=int(np.searchsorted(own, state)))
        tails, heads = np.nonzero(links)
        return gcd(*(int(length) for length in depth[tails] + 1 - depth[heads]))

    @property
    def is_aperiodic(self) -> bool:
        """Do all states that are come back to have period one?"""
        return all(self.period(int(group[0])) == 1 for group in self.closed_classes)

    @property
    def is_regular(self) -> bool:
        """Has some power of the transition probabilities no zero?"""
        return self.is_irreducible and self.period() == 1

    @property
    def is_surely_regular(self) -> bool:
        """The sufficient check: every state reaches every other and may stay where it is."""
        return self.is_irreducible and bool((np.diag(self.transitions) > 0).all())

    @cached_property
    def stationary(self) -> Doubles:
        """The distribution that a step leaves as it is; refused where there are several."""
        if len(self.closed_classes) > 1:
            groups = "; ".join(", ".join(self.names[i] for i in group[:5]) for group in self.closed_classes[:5])
            raise ValueError(
                f"the chain has {len(self.closed_classes)} sets of states that it never leaves ({groups}), each with a "
                "stationary distribution of its own"
            )
        own = self.closed_classes[0]
        found = np.zeros(len(self))
        found[own] = _stationary(self.transitions[np.ix_(own, own)])
        return found

    def distance(self, steps: int) -> float:
        """Total variation from the stationary distribution after this many steps, from the worst start."""
        return float(0.5 * np.abs(self.n_step(steps) - self.stationary).sum(axis=1).max())

    def mixing_time(self, tol: float = 0.25) -> int:
        """The first step after which `distance` is at most tol; it never rises."""
        if len(self.closed_classes) > 1 or not self.is_aperiodic:
            raise ValueError("the chain does not mix: it is periodic, or never leaves some of its states")
        if self.distance(0) <= tol:
            return 0
        powers = [self.transitions]
        while 0.5 * np.abs(powers[-1] - self.stationary).sum(axis=1).max() > tol:
            if len(powers) > MAX_MIXING_DOUBLINGS:
                raise ValueError(f"the chain has not come within {tol} of its stationary distribution in 2**60 steps")
            powers.append(powers[-1] @ powers[-1])
        steps, now = 0, np.eye(len(self))
        for k in range(len(powers) - 1, -1, -1):  # the longest walk that is still too far away
            further = now @ powers[k]
            if 0.5 * np.abs(further - self.stationary).sum(axis=1).max() > tol:
                steps, now = steps + 2**k, further
        return steps + 1

    def detailed_balance(self, distribution: ArrayLike | None = None) -> bool:
        """Is as much probability moved from x to y as from y to x? Then the distribution is stationary."""
        pi = self.stationary if distribution is None else self._start(distribution)
        flow = pi[:, None] * self.transitions
        return bool(np.abs(flow - flow.T).max() <= BALANCE_TOLERANCE)

    def then(self, other: MarkovChain) -> MarkovChain:
        """A step of this chain followed by one of another: what both leave as it is, so does the composition."""
        return MarkovChain(self.transitions @ other.transitions, self.names)

    def to_dot(self) -> str:
        """The graph of states in Graphviz's language, with probabilities on the arrows."""
        lines = [f'  {x} [label="{name}"];' for x, name in enumerate(self.names)]
        arrows = zip(*np.nonzero(self.transitions), strict=True)
        lines += [f'  {x} -> {y} [label="{self.transitions[x, y]:.3g}"];' for x, y in arrows]
        return "\n".join(["digraph {", *lines, "}"])

    def _start(self, start: ArrayLike) -> Doubles:
        p = np.asarray(start, dtype=np.float64)
        if p.shape != (len(self),) or (p < 0).any() or abs(p.sum() - 1.0) > ROW_SUM_TOLERANCE:
            raise ValueError(
                f"a distribution over the states is {len(self)} numbers from 0 up that sum to one; got {p}"
            )
        return p


def total_variation(p: ArrayLike, q: ArrayLike) -> float:
    """The largest difference of the probability of an event under p and q.

    Examples
    --------
    >>> total_variation([0.5, 0.5], [1.0, 0.0])
    0.5
    """
    return float(0.5 * np.abs(np.asarray(p, dtype=np.float64) - np.asarray(q, dtype=np.float64)).sum())


def _stationary(T: Doubles) -> Doubles:
    """Of an irreducible chain, by elimination of states without subtractions (Grassmann, Taksar & Heyman 1985)."""
    A = T.copy()
    for k in range(len(A) - 1, 0, -1):
        A[:k, k] /= A[k, :k].sum()
        A[:k, :k] += np.multiply.outer(A[:k, k], A[k, :k])
    found = np.ones(len(A))
    for k in range(1, len(A)):
        found[k] = found[:k] @ A[:k, k]
    return found / found.sum()


def _drawn(sums: Doubles, u: float) -> int:
    return int(min(np.searchsorted(sums, u * sums[-1], side="right"), len(sums) - 1))
