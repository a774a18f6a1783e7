"""UAI, the format of the inference competitions: numbers only, for directed and undirected models.

    MARKOV               or BAYES
    3                    variables
    2 2 3                numbers of states
    2                    factors
    2 0 1                scopes: how many variables, and which
    2 1 2                (of a Bayesian network the last one is the child)
    4                    tables: how many numbers, and the numbers, the last variable changing fastest
    0.4 0.6 0.3 0.7  ...

Names and states are not kept: variables are x0, x1, ..., states 0, 1, ...
"""

from __future__ import annotations

from collections.abc import Iterator

import numpy as np

from fivefold.core.types import Doubles
from fivefold.graphical.bayesian_network import BayesianNetwork
from fivefold.graphical.discrete_model import DiscreteModel
from fivefold.graphical.files.network_draft import NetworkDraft
from fivefold.graphical.markov_network import MarkovNetwork
from fivefold.graphical.variables import Variables
from fivefold.inference.factors.factor import Factor

MAX_STATES = 100_000  # of a variable: a larger number is surely a slip, and asks for much memory


class NumberStream:
    """The words of a file with their lines."""

    def __init__(self, text: str, draft: NetworkDraft) -> None:
        self.draft, self.line = draft, 1
        self.words = self._words(text)

    def _words(self, text: str) -> Iterator[str]:
        for self.line, content in enumerate(text.splitlines(), start=1):
            yield from content.partition("#")[0].split()  # some writers add comments

    def word(self, what: str) -> str:
        found = next(self.words, None)
        if found is None:
            self.draft.refuse(self.line, f"the file ends where {what} was expected")
        return found

    def count(self, what: str, least: int = 0, most: int | None = None) -> int:
        text = self.word(what)
        if not (text.isascii() and text.isdigit()) or int(text) < least or (most is not None and int(text) > most):
            limits = f"from {least}" + (f" to {most}" if most is not None else " up")
            self.draft.refuse(self.line, f"{what} must be a whole number {limits}, not {text!r}")
        return int(text)

    def number(self, what: str) -> float:
        text = self.word(what)
        return self.draft.number(self.line, text)


def parse_uai(text: str, source: str = "UAI text") -> BayesianNetwork | MarkovNetwork:
    """The model of a text in UAI's format.

    Examples
    --------
    >>> parse_uai("MARKOV 2 2 2 1 2 0 1 4 2 1 1 2").query("x0", {"x1": 1}).table.round(4)
    array([0.3333, 0.6667])
    """
    draft = NetworkDraft(source)
    stream = NumberStream(text, draft)
    kind = stream.word("BAYES or MARKOV").upper()
    if kind not in ("BAYES", "MARKOV"):
        draft.refuse(stream.line, f"BAYES or MARKOV was expected, not {kind!r}")
    n = stream.count("the number of variables", least=1)
    for i in range(n):
        card = stream.count(f"the number of states of variable {i}", least=1, most=MAX_STATES)
        draft.add_variable(stream.line, f"x{i}", [str(state) for state in range(card)])
    cards = [len(states) for states in draft.states.values()]
    scopes = []
    for k in range(stream.count("the number of factors", least=0 if kind == "MARKOV" else n)):
        size = stream.count(f"the size of factor {k}", most=n)
        scope = tuple(stream.count(f"a variable of factor {k}", most=n - 1) for _ in range(size))
        if len(set(scope)) < size:
            draft.refuse(stream.line, f"factor {k} names a variable twice")
        if kind == "BAYES":
            if not scope:
                draft.refuse(stream.line, f"factor {k} has no variable")
            draft.start_table(stream.line, f"x{scope[-1]}", [f"x{i}" for i in scope[:-1]])
        scopes.append(scope)
    tables = [_table(stream, k, [cards[i] for i in scope]) for k, scope in enumerate(scopes)]
    if (extra := next(stream.words, None)) is not None:
        draft.refuse(stream.line, f"the tables end before {extra!r}")
    if kind == "BAYES":
        for scope, (table, line) in zip(scopes, tables, strict=True):
            draft.add_table(line, f"x{scope[-1]}", table)
        found = draft.network()
        states = tuple(tuple(range(card)) for card in cards)
        return BayesianNetwork(Variables(found.variables.nodes, states), found.parents, found.tables)
    variables = Variables(tuple(draft.states), tuple(tuple(range(card)) for card in cards))
    factors = tuple(Factor(scope, table) for scope, (table, _) in zip(scopes, tables, strict=True))
    return MarkovNetwork(variables, factors)


def uai_text(model: DiscreteModel) -> str:
    """A model as text in UAI's format; names and states become numbers."""
    factors = model.factors()
    lines = ["BAYES" if isinstance(model, BayesianNetwork) else "MARKOV", str(len(model.variables.nodes))]
    lines += [" ".join(map(str, model.variables.cards)), str(len(factors))]
    lines += [" ".join(map(str, (len(factor.variables), *factor.variables))) for factor in factors]
    for factor in factors:
        lines += ["", str(factor.table.size), " ".join(repr(float(value)) for value in factor.table.ravel())]
    return "\n".join(lines) + "\n"


def _table(stream: NumberStream, k: int, shape: list[int]) -> tuple[Doubles, int]:
    size = int(np.prod(shape, dtype=np.int64))
    stream.count(f"the number of entries of factor {k}, {size},", least=size, most=size)
    line = stream.line
    return np.array([stream.number(f"an entry of factor {k}") for _ in range(size)]).reshape(shape), line
