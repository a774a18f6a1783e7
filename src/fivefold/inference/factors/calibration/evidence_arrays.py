"""Evidence as arrays: the likelihood of each state of each variable, and which variables have any."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import TYPE_CHECKING, TypeAlias

import numpy as np

from fivefold.core.types import Codes, Doubles, Mask

if TYPE_CHECKING:
    from fivefold.inference.factors.junction_tree import JunctionTree

Evidence: TypeAlias = Mapping[int, int | Doubles]  # a state, or the likelihood of each state


def likelihoods(tree: JunctionTree, evidence: Sequence[Evidence]) -> tuple[Doubles, Mask]:
    """Likelihoods (sets, sum of cards), one where nothing is known, and which variables are observed (sets, V)."""
    starts = tree.layout.variable_starts
    given = np.ones((len(evidence), starts[-1]))
    observed = np.zeros((len(evidence), len(tree.variables)), dtype=np.bool_)
    for b, seen in enumerate(evidence):
        for v, value in seen.items():
            if v not in tree.position:
                raise ValueError(f"The evidence names variable {v}, which no factor has.")
            i = tree.position[v]
            given[b, starts[i] : starts[i + 1]] = state_likelihood(v, value, tree.cards[v])
            observed[b, i] = True
    return given, observed


def one_hot(tree: JunctionTree, codes: Codes) -> tuple[Doubles, Mask]:
    """The same from codes of states (sets, V), the columns in the order of the variables, -1 if not observed."""
    starts = tree.layout.variable_starts
    cards = np.diff(starts)
    if codes.ndim != 2 or codes.shape[1] != len(cards):
        raise ValueError(f"Codes of evidence have one column per variable, {len(cards)}; got shape {codes.shape}.")
    wrong = (codes >= cards) | (codes < -1)
    if wrong.any():
        row, i = (int(x) for x in np.argwhere(wrong)[0])
        raise ValueError(
            f"Variable {tree.variables[i]} has states 0 to {cards[i] - 1}; evidence set {row} says {codes[row, i]}."
        )
    observed = codes >= 0
    given = np.ones((len(codes), starts[-1]))
    given[np.repeat(observed, cards, axis=1)] = 0.0
    rows, columns = np.nonzero(observed)
    given[rows, starts[columns] + codes[rows, columns]] = 1.0
    return given, observed


def state_likelihood(variable: int, seen: int | Doubles, states: int) -> Doubles:
    """The likelihood of each state: one-hot for an observed state."""
    if np.ndim(seen) == 0:
        state = int(seen)
        if state != seen or not 0 <= state < states:
            raise ValueError(f"Variable {variable} has states 0 to {states - 1}; the evidence says {seen}.")
        return np.eye(states)[state]
    likelihood = np.asarray(seen, dtype=np.float64)
    if likelihood.shape != (states,) or not ((likelihood >= 0.0) & (likelihood < np.inf)).all():
        raise ValueError(
            f"Soft evidence on variable {variable} has one likelihood, at least 0, per state ({states}); got {seen}."
        )
    return likelihood
