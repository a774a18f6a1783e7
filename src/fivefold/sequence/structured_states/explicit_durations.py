"""Explicit durations: a state lasts as long as a distribution of its own says (a hidden semi-Markov model).

A state k with d steps to go is the state (k, d) of a chain:

    (k, d) -> (k, d - 1)                                           d > 1
    (k, 1) -> (j, d)      transition[k, j] duration[j, d]          with transition[k, k] = 0

so that forward-backward, Viterbi and learning of a hidden Markov model apply. A sequence begins with a new state, and
may end within one. Geometric durations give the ordinary hidden Markov model back.

Ferguson (1980); Yu (2010).
"""

from __future__ import annotations

import numpy as np

from fivefold.core.types import Doubles
from fivefold.sequence.structured_states.state_chain import StateChain, check_cells, check_probabilities


def explicit_duration_chain(start: Doubles, transition: Doubles, duration: Doubles) -> StateChain:
    """The chain over (state, steps to go); `duration[k, d - 1]` is the probability that state k lasts d steps.

    Examples
    --------
    >>> chain = explicit_duration_chain([1.0, 0.0], [[0, 1], [1, 0]], [[0, 0, 1], [0.5, 0.5, 0]])  # 3 steps, 1 or 2
    >>> chain.states
    ((0, 1), (0, 2), (0, 3), (1, 1), (1, 2), (1, 3))
    >>> chain.start
    array([0., 0., 1., 0., 0., 0.])
    """
    start, transition, duration = (np.asarray(table, dtype=np.float64) for table in (start, transition, duration))
    K = len(start)
    if transition.shape != (K, K) or duration.ndim != 2 or len(duration) != K:
        raise ValueError(
            f"{K} states need transitions of the shape {(K, K)} and a row of durations each; got {transition.shape} "
            f"and {duration.shape}"
        )
    for name, table in (("start", start), ("transition", transition), ("duration", duration)):
        check_probabilities(table, name)
    if (own := np.flatnonzero(np.diag(transition))).size:
        raise ValueError(f"state {own[0]} follows itself: its duration says how long it lasts, so that must be 0")
    D = duration.shape[1]
    check_cells(K * D, "the chain of states with durations")
    step = np.zeros((K, D, K, D))
    step[:, 0] = transition[:, :, None] * duration
    for d in range(1, D):
        step[np.arange(K), d, np.arange(K), d - 1] = 1.0
    states = tuple((k, d) for k in range(K) for d in range(1, D + 1))
    return StateChain((start[:, None] * duration).ravel(), step.reshape(K * D, K * D), states)
