"""The answer to a query: a distribution over some variables, with the evidence it was computed from."""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Mapping
from dataclasses import dataclass, field
from itertools import product
from typing import Any, cast

import numpy as np

from fivefold.core.types import Doubles
from fivefold.graphical.assignments import assignment_text
from fivefold.graphical.variables import Evidence, State, Variables


@dataclass(frozen=True, eq=False)
class Posterior:
    """P(variables | given): one axis of the table per variable.

    Examples
    --------
    >>> answer = Posterior(Variables(("wet",), (("no", "yes"),)), np.array([0.48, 0.52]), {"rain": "yes"})
    >>> answer["yes"]
    0.52
    >>> print(answer)
    P(wet | rain=yes)
      no   0.48
      yes  0.52
    """

    variables: Variables
    table: Doubles
    given: Evidence = field(default_factory=dict)
    log_evidence: float = 0.0  # log probability of the evidence; of a Markov network its log Z(evidence)

    def __getitem__(self, states: State | tuple[State, ...] | Mapping[str, State]) -> float:
        """The probability of a state, of a tuple of states in the order of the variables, or of named states."""
        names = self.variables.nodes
        if not isinstance(states, Mapping):
            several = (states,) if len(names) == 1 else tuple(cast("Iterable[State]", states))
            states = dict(zip(names, several, strict=True))
        codes = self.variables.codes_of(states)
        return float(self.table[tuple(codes.get(i, slice(None)) for i in range(len(names)))].sum())

    def marginal(self, *names: str) -> Posterior:
        """The distribution of some of the variables, in this order."""
        kept = self.variables.indices(names)
        dropped = tuple(i for i in range(len(self.variables.nodes)) if i not in kept)
        table = self.table.sum(axis=dropped)
        rest = [i for i in range(len(self.variables.nodes)) if i in kept]
        return Posterior(
            subset(self.variables, kept), table.transpose([rest.index(i) for i in kept]), self.given, self.log_evidence
        )

    def mode(self) -> dict[str, State]:
        """The most probable states."""
        codes = np.unravel_index(int(self.table.argmax()), self.table.shape)
        return self.variables.labels_of({i: int(code) for i, code in enumerate(codes)})

    def items(self) -> Iterator[tuple[tuple[State, ...], float]]:
        """All combinations of states with their probabilities."""
        return zip(product(*self.variables.states), map(float, self.table.ravel()), strict=True)

    def to_dict(self) -> dict[str, Any]:
        """Plain values, for JSON."""
        rows = [{"states": [str(s) for s in states], "probability": p} for states, p in self.items()]
        return {
            "ask": list(self.variables.nodes),
            "given": {name: str(state) for name, state in self.given.items()},
            "distribution": rows,
            "log_evidence": self.log_evidence,
        }

    def __str__(self) -> str:
        condition = f" | {assignment_text(self.given)}" if self.given else ""
        rows = [(", ".join(map(str, states)), p) for states, p in self.items()]
        width = max(len(text) for text, _ in rows)
        title = f"P({', '.join(self.variables.nodes)}{condition})"
        return "\n".join([title, *(f"  {text:<{width}}  {p:.6g}" for text, p in rows)])


@dataclass(frozen=True)
class Explanation:
    """States that together are most probable given the evidence."""

    states: dict[str, State]
    probability: float  # of these states given the evidence
    log_score: float  # log of the product of the factors at these states, or of its sum over the other variables

    def __getitem__(self, name: str) -> State:
        return self.states[name]


def subset(variables: Variables, indices: tuple[int, ...]) -> Variables:
    """Some of the variables, in this order."""
    return Variables(tuple(variables.nodes[i] for i in indices), tuple(variables.states[i] for i in indices))
