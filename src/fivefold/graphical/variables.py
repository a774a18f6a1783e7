"""Discrete variables of a model: names, states, and tables of data as codes of states.

Inside, a variable is its number and a state is its code; names and labels live here only.
"""

from __future__ import annotations

from collections.abc import Hashable, Iterable, Mapping, Sequence
from dataclasses import dataclass
from functools import cached_property
from typing import Any, TypeAlias

import narwhals.stable.v2 as nw
import numpy as np

from fivefold.core.admission.refusals import is_missing, listed
from fivefold.core.types import Codes, Doubles, Indices, UserTable
from fivefold.graphical.graphs.named_nodes import NamedNodes

State: TypeAlias = Hashable  # the label of a state: text, a number, a truth value
Evidence: TypeAlias = Mapping[str, State]  # variable -> its observed state
Likelihoods: TypeAlias = Mapping[str, Mapping[Any, float] | Sequence[float]]  # variable -> a likelihood per state
Column: TypeAlias = "list[Any] | nw.Series[Any]"
TEXT_TYPES = (nw.String, nw.Categorical, nw.Enum)
MISSING = -1  # the code of a value that is not known


@dataclass(frozen=True)
class Variables(NamedNodes):
    """Names and states of discrete variables.

    Examples
    --------
    >>> weather = Variables(("rain", "wind"), (("no", "yes"), ("calm", "breeze", "storm")))
    >>> weather.cards
    (2, 3)
    >>> weather.codes_of({"wind": "storm"})
    {1: 2}
    >>> weather.encode({"rain": ["yes", None], "wind": ["calm", "storm"]})
    array([[ 1,  0],
           [-1,  2]], dtype=int32)
    """

    nodes: tuple[str, ...]
    states: tuple[tuple[State, ...], ...]

    def __post_init__(self) -> None:
        if len(set(self.nodes)) < len(self.nodes):
            twice = next(name for name in self.nodes if self.nodes.count(name) > 1)
            raise ValueError(f"variable {twice!r} is listed twice")
        if len(self.states) != len(self.nodes):
            raise ValueError(f"{len(self.nodes)} variables, but states of {len(self.states)}")
        for name, states in zip(self.nodes, self.states, strict=True):
            if not states:
                raise ValueError(f"variable {name!r} has no states")
            if len(set(states)) < len(states):
                raise ValueError(f"variable {name!r} lists a state twice: {listed(states)}")

    @classmethod
    def from_table(cls, X: UserTable, states: Mapping[str, Sequence[State]] | None = None) -> Variables:
        """The columns of a table and the values in them, sorted; `states` gives them for some columns."""
        given = states or {}
        columns = columns_of(X)
        found = (tuple(given[name]) if name in given else _states(name, column) for name, column in columns.items())
        return cls(tuple(columns), tuple(found))

    @cached_property
    def cards(self) -> tuple[int, ...]:
        """Numbers of states."""
        return tuple(map(len, self.states))

    @cached_property
    def _codes(self) -> tuple[dict[State, int], ...]:
        return tuple({state: code for code, state in enumerate(states)} for states in self.states)

    def code(self, name: str, state: State) -> int:
        """The code of a state of a variable; its text will do, as command lines and files have nothing else."""
        i = self.index(name)
        try:
            if state in self._codes[i]:
                return self._codes[i][state]
        except TypeError:
            pass  # a label that cannot be hashed is no state
        if isinstance(state, str) and state in (texts := [str(label) for label in self.states[i]]):
            return texts.index(state)
        raise ValueError(f"variable {name!r} has no state {state!r}; it has {listed(self.states[i])}")

    def codes_of(self, evidence: Evidence | None) -> dict[int, int]:
        """Numbers of variables and codes of their states."""
        return {self.index(name): self.code(name, state) for name, state in (evidence or {}).items()}

    def labels_of(self, codes: Mapping[int, int]) -> dict[str, State]:
        """Names of variables and labels of their states, in the order of the variables."""
        return {self.nodes[i]: self.states[i][codes[i]] for i in sorted(codes)}

    def likelihoods_of(self, likelihoods: Likelihoods | None) -> dict[int, Doubles]:
        """Numbers of variables and a likelihood per state."""
        return {self.index(name): self._likelihood(name, given) for name, given in (likelihoods or {}).items()}

    def _likelihood(self, name: str, given: Mapping[Any, float] | Sequence[float]) -> Doubles:
        states = self.states[self.index(name)]
        values = np.zeros(len(states))
        if isinstance(given, Mapping):
            for state, value in given.items():
                values[self.code(name, state)] = value
        else:
            if len(given) != len(states):
                raise ValueError(f"variable {name!r} has {len(states)} states, but {len(given)} likelihoods were given")
            values[:] = given
        if not (np.isfinite(values).all() and (values >= 0).all() and values.any()):
            raise ValueError(f"likelihoods of {name!r} must be numbers of at least 0, one of them positive")
        return values

    def encode(self, X: UserTable) -> Codes:
        """A table as codes (n, variables), MISSING where a value is missing or the table has no such column.

        Frames and mappings are read by name, arrays by position. An array of integers has codes already.
        """
        if isinstance(X, np.ndarray) and X.dtype.kind in "iu":
            return self._checked(X)
        columns = columns_of(X, self.nodes)
        if unknown := [name for name in columns if name not in self._numbers]:
            raise ValueError(f"the table has a column {unknown[0]!r}, which is no variable of the model; drop it first")
        n = len(next(iter(columns.values()))) if columns else 0
        codes = np.full((n, len(self.nodes)), MISSING, dtype=np.int32)
        for name, values in columns.items():
            i = self.index(name)
            codes[:, i] = self._column_codes(name, values)
        return codes

    def decode(self, codes: Codes) -> dict[str, list[State | None]]:
        """Codes (n, variables) as columns of labels, None where a value is missing."""
        return {
            name: [states[c] if c >= 0 else None for c in codes[:, i].tolist()]
            for i, (name, states) in enumerate(zip(self.nodes, self.states, strict=True))
        }

    def _checked(self, codes: Codes) -> Codes:
        if codes.ndim != 2 or codes.shape[1] != len(self.nodes):
            raise ValueError(f"codes must have one column per variable, {len(self.nodes)}; got shape {codes.shape}")
        if codes.size:
            for i in np.flatnonzero((codes.max(axis=0) >= self.cards) | (codes.min(axis=0) < MISSING)):
                raise ValueError(f"codes of variable {self.nodes[i]!r} must be -1 (missing) to {self.cards[i] - 1}")
        return codes.astype(np.int32, copy=False)

    def _column_codes(self, name: str, values: Column) -> list[int] | Codes:
        known = self._codes[self.index(name)]
        if isinstance(values, nw.Series):
            different = [value for value in _different(values) if not is_missing(value)]
            if values.dtype in TEXT_TYPES and set(different) <= known.keys():
                if values.implementation.is_pandas_like():  # whose own map looks up categories, not rows
                    looked_up = np.asarray(values.to_native().map(known), dtype=np.float64)
                    return np.where(np.isnan(looked_up), MISSING, looked_up).astype(np.int32)
                table = [known[value] for value in different]
                coded = values.cast(nw.String).replace_strict(different, table, return_dtype=nw.Int32)
                return np.asarray(coded.fill_null(MISSING).to_numpy(), dtype=np.int32)
            values = _values(values)
        try:
            return list(map((known | {None: known.get(None, MISSING)}).__getitem__, values))
        except (KeyError, TypeError):
            pass  # NaN, or labels that have to be looked at one by one
        found: list[int] = []
        for row, value in enumerate(values):
            code = known.get(value)
            if code is None:
                try:
                    code = MISSING if is_missing(value) else self.code(name, value)
                except ValueError as error:
                    raise ValueError(f"row {row}: {error}") from None
            found.append(code)
        return found


def columns_of(X: UserTable, names: Iterable[str] = ()) -> dict[str, Column]:
    """The columns of a frame, a mapping or an array by name: series of the frame, or lists."""
    if isinstance(X, Mapping):
        columns: dict[str, Column] = {
            str(name): values if isinstance(values, list | nw.Series) else list(values) for name, values in X.items()
        }
    elif nw.dependencies.is_into_dataframe(X):
        columns = {str(series.name): series for series in nw.from_native(X, eager_only=True).iter_columns()}
    else:
        table = np.asarray(X)
        if table.ndim != 2:
            raise ValueError(f"a table must have rows and columns; got shape {table.shape}")
        names = tuple(names) or tuple(f"x{i}" for i in range(table.shape[1]))
        if len(names) != table.shape[1]:
            raise ValueError(f"the table has {table.shape[1]} columns, the model {len(names)} variables")
        columns = {name: table[:, i].tolist() for i, name in enumerate(names)}
    if len(lengths := {len(values) for values in columns.values()}) > 1:
        raise ValueError(f"columns have different lengths: {listed(sorted(lengths))}")
    return columns


def _values(series: nw.Series[Any]) -> list[Any]:
    values = series.to_list()
    if series.null_count():
        for i in np.flatnonzero(series.is_null().to_numpy()):
            values[i] = None
    return values


def places(codes: Codes, scope: Sequence[int], cards: Sequence[int]) -> Indices:
    """The cell of each row (n,) in a flat table over some variables; codes (n, variables) must not be missing."""
    place = np.zeros(len(codes), dtype=np.intp)
    for i in scope:
        place *= cards[i]
        place += codes[:, i]
    return place


def _different(values: Column) -> Iterable[Any]:
    return _values(values.unique()) if isinstance(values, nw.Series) else set(values)


def _states(name: str, values: Column) -> tuple[State, ...]:
    found = {value for value in _different(values) if not is_missing(value)}
    if not found:
        raise ValueError(f"column {name!r} has no value, so its states are not known; give them as states")
    return tuple(sorted(found, key=lambda v: (isinstance(v, str), v)))
