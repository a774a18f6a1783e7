"""Partial assignments of states to variables: restriction, extension, and the total assignments that extend one.

sigma total, rho partial; sigma extends rho if they agree on dom(rho); P(rho) = sum of P(sigma) over all extensions
"""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Mapping
from itertools import product

from fivefold.graphical.variables import State, Variables


class Assignment(Mapping[str, State]):
    """States of some variables of a model, or of all: immutable, equal to any mapping with the same entries.

    Examples
    --------
    >>> weather = Variables(("rain", "wet"), (("no", "yes"), ("no", "yes")))
    >>> rho = Assignment(weather, {"rain": "yes"})
    >>> rho.is_total, rho.extended(wet="no").is_total, rho.extended(wet="no").extends(rho)
    (False, True, True)
    >>> rho.extended(wet="no").restricted(["wet"])
    Assignment(wet='no')
    >>> [str(sigma) for sigma in rho.extensions()]
    ['rain=yes, wet=no', 'rain=yes, wet=yes']
    """

    def __init__(self, variables: Variables, states: Mapping[str, State] | None = None) -> None:
        self.variables = variables
        self.codes = dict(sorted(variables.codes_of(states).items()))

    @property
    def domain(self) -> frozenset[str]:
        """dom(rho): the variables that have a state."""
        return frozenset(self)

    @property
    def is_total(self) -> bool:
        """Does every variable of the model have a state?"""
        return len(self.codes) == len(self.variables.nodes)

    def restricted(self, names: Iterable[str]) -> Assignment:
        """The part for these variables."""
        kept = set(self.variables.indices(names))
        return self._from_codes({i: code for i, code in self.codes.items() if i in kept})

    def extended(self, states: Mapping[str, State] | None = None, /, **more: State) -> Assignment:
        """With further states, rho[X := x]; a variable that has another state is refused."""
        codes = self.variables.codes_of({**(states or {}), **more})
        for i in codes.keys() & self.codes.keys():
            if codes[i] != self.codes[i]:
                name, labels = self.variables.nodes[i], self.variables.states[i]
                raise ValueError(
                    f"{name!r} is {labels[self.codes[i]]!r} already, and cannot become {labels[codes[i]]!r}"
                )
        return self._from_codes(self.codes | codes)

    def extends(self, other: Mapping[str, State]) -> bool:
        """Do all states of `other` stand here?"""
        return self.variables.codes_of(other).items() <= self.codes.items()

    def extensions(self) -> Iterator[Assignment]:
        """All total assignments that extend this one."""
        free = [i for i in range(len(self.variables.nodes)) if i not in self.codes]
        for codes in product(*(range(self.variables.cards[i]) for i in free)):
            yield self._from_codes(self.codes | dict(zip(free, codes, strict=True)))

    def _from_codes(self, codes: Mapping[int, int]) -> Assignment:
        return Assignment(self.variables, self.variables.labels_of(codes))

    def __getitem__(self, name: str) -> State:
        i = self.variables.index(name)
        if i not in self.codes:
            raise KeyError(name)
        return self.variables.states[i][self.codes[i]]

    def __iter__(self) -> Iterator[str]:
        return (self.variables.nodes[i] for i in self.codes)

    def __len__(self) -> int:
        return len(self.codes)

    def __hash__(self) -> int:
        return hash(frozenset(self.codes.items()))

    def __repr__(self) -> str:
        return f"Assignment({', '.join(f'{name}={state!r}' for name, state in self.items())})"

    def __str__(self) -> str:
        return assignment_text(self)


def assignment_text(states: Mapping[str, State]) -> str:
    """An assignment as a person writes it: rain=yes, wet=no."""
    return ", ".join(f"{name}={state}" for name, state in states.items())
