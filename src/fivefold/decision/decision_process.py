"""Sequential decisions: states, actions with rewards, policies, and the return of a policy.

    Q(s, a) = r(s, a) + gamma sum_s' P(s' | s, a) V(s'),      V(s) = Q(s, policy(s))

An environment says which actions a state has, what they earn at once, and where they lead; a policy gives an action
per state. The return is the sum of the rewards of an episode, those k steps ahead discounted by gamma^k, so that a
reward that comes late still counts. The value of a policy is its expected return, from a system of linear equations;
the best policy of a small environment is found by trying all of them.

Bellman (1957); Sutton & Barto (2018), chapter 3.
"""

from __future__ import annotations

from collections.abc import Hashable, Iterable, Mapping
from dataclasses import dataclass
from functools import cached_property
from itertools import product
from math import prod
from typing import Any, TypeAlias

import numpy as np

from fivefold.core.types import Doubles, Matrix, Vector

State: TypeAlias = Hashable
Action: TypeAlias = Hashable
Policy: TypeAlias = Mapping[Any, Any]  # the action of each state; Mapping's keys are invariant
Outcomes: TypeAlias = Mapping[Any, float]  # next state -> probability
MAX_POLICIES = 200_000  # that an exhaustive search tries
SUM_TOLERANCE = 1e-8  # by which the sum of probabilities may differ from one


@dataclass(frozen=True)
class DecisionProcess:
    """An environment with finitely many states and actions; a state without actions ends an episode.

    Parameters
    ----------
    actions
        for each state, its actions: each with the reward it earns and the state it leads to, or a mapping of states
        to probabilities.

    Examples
    --------
    >>> walk = DecisionProcess({
    ...     "left": {"stay": (0.1, "left"), "go": (0.0, "right")},
    ...     "right": {"stay": (1.0, "right"), "go": (0.0, "left")},
    ... })
    >>> walk.best_policy(0.9)
    {'left': 'go', 'right': 'stay'}
    >>> walk.values({"left": "go", "right": "stay"}, 0.9).round(6)
    array([ 9., 10.])
    """

    actions: Mapping[Any, Mapping[Any, tuple[float, Any]]]

    def __post_init__(self) -> None:
        for state, action, (_, outcomes) in self._moves():
            if unknown := [s for s in outcomes if s not in self.actions]:
                raise ValueError(f"action {action!r} of {state!r} leads to {unknown[0]!r}, which is no state")
            if min(outcomes.values()) < 0 or abs(sum(outcomes.values()) - 1) > SUM_TOLERANCE:
                raise ValueError(f"the probabilities of action {action!r} of {state!r} must sum to 1")

    @cached_property
    def states(self) -> tuple[State, ...]:
        return tuple(self.actions)

    def outcomes(self, state: State, action: Action) -> tuple[float, Outcomes]:
        """The reward of an action, and the probabilities of the next states."""
        if action not in self.actions[state]:
            raise ValueError(f"state {state!r} has no action {action!r}; it has {list(self.actions[state])}")
        reward, after = self.actions[state][action]
        return float(reward), after if isinstance(after, Mapping) else {after: 1.0}

    def step(self, state: State, action: Action, rng: np.random.Generator) -> tuple[float, State]:
        """Take an action: the reward, and the next state, drawn at random."""
        reward, after = self.outcomes(state, action)
        names = list(after)
        return reward, names[int(rng.choice(len(names), p=list(after.values())))]

    def episode(self, policy: Policy, start: State, steps: int, seed: int = 0) -> list[tuple[State, Action, float]]:
        """States, actions and rewards of an episode of at most this many steps."""
        rng, state, taken = np.random.default_rng(seed), start, list[tuple[State, Action, float]]()
        while len(taken) < steps and self.actions[state]:
            reward, after = self.step(state, policy[state], rng)
            taken.append((state, policy[state], reward))
            state = after
        return taken

    def values(self, policy: Policy, discount: float) -> Vector:
        """The expected return of a policy from each state, in the order of `states`."""
        P, r = self._under(policy)
        if not 0 <= discount <= 1:
            raise ValueError(f"discount is a number from 0 to 1; got {discount!r}")
        try:
            return np.asarray(np.linalg.solve(np.eye(len(r)) - discount * P, r))
        except np.linalg.LinAlgError:
            raise ValueError("without a discount the policy earns without end; take a discount below 1") from None

    def action_values(self, values: Vector, discount: float) -> dict[State, dict[Action, float]]:
        """Q(s, a): what every action is worth if the return from the next state is its entry of `values`."""
        at = {state: float(value) for state, value in zip(self.states, values, strict=True)}
        found: dict[State, dict[Action, float]] = {state: {} for state in self.states}
        for state, action, (reward, after) in self._moves():
            found[state][action] = reward + discount * sum(p * at[s] for s, p in after.items())
        return found

    def policies(self) -> Iterable[dict[State, Action]]:
        """Every policy, one action per state that has any."""
        choosing = [state for state in self.states if self.actions[state]]
        return (
            dict(zip(choosing, chosen, strict=True)) for chosen in product(*(self.actions[state] for state in choosing))
        )

    def best_policy(self, discount: float) -> dict[State, Action]:
        """The policy of largest value, of all that there are; the first of equals."""
        count = prod(len(moves) for moves in self.actions.values() if moves)
        if count > MAX_POLICIES:
            raise ValueError(f"there are {count:,} policies; an exhaustive search tries at most {MAX_POLICIES:,}")
        return max(self.policies(), key=lambda policy: float(self.values(policy, discount).sum()))

    def _moves(self) -> Iterable[tuple[State, Action, tuple[float, Outcomes]]]:
        return (
            (state, action, self.outcomes(state, action)) for state, moves in self.actions.items() for action in moves
        )

    def _under(self, policy: Policy) -> tuple[Matrix, Vector]:
        """Transition probabilities (S, S) and rewards (S,) under a policy; states without actions stay, for nothing."""
        place = {state: i for i, state in enumerate(self.states)}
        P: Doubles = np.zeros((len(place), len(place)))
        r = np.zeros(len(place))
        for state, i in place.items():
            if self.actions[state]:
                r[i], after = self.outcomes(state, policy[state])
                for other, p in after.items():
                    P[i, place[other]] += p
        return P, r


def discounted_return(rewards: Iterable[float], discount: float) -> float:
    """The sum of rewards, each discounted by how many steps ahead it comes.

    Examples
    --------
    >>> discounted_return([0.0, 0.0, 8.0], 0.5)
    2.0
    """
    return float(sum(discount**k * reward for k, reward in enumerate(rewards)))
