"""A list of factors as flat arrays: what the compiled loops of approximate inference read.

A slot is a place of a variable in the scope of a factor; a message goes along a slot, either way. Factors of one
variable are multiplied into the evidence of that variable and have no slots. Factors may share a table, as all edges of
a grid do, and a table with one value on its diagonal and another beside it (Potts) is kept as these two numbers. All
values are logs, -inf for zero, so that energies of any size can be given.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from typing import NamedTuple

import numpy as np

from fivefold.core.types import Codes, Doubles, Indices
from fivefold.inference.factors.factor import Factor

TABLE, PAIR, POTTS = range(3)  # kinds of factors; PAIR and POTTS have two slots


class FactorArrays(NamedTuple):
    """n variables, m factors of two variables or more, S slots in the order of the factors."""

    cards: Indices  # (n,) int64: states of each variable
    state_starts: Indices  # (n + 1,): where the states of a variable begin in arrays over all states
    evidence: Doubles  # (states,): log of the product of the factors of one variable
    variable_starts: Indices  # (n + 1,): the slots of variable i are variable_slots[variable_starts[i] : ...[i + 1]]
    variable_slots: Indices  # (S,)
    kinds: Codes  # (m,) int64
    slot_starts: Indices  # (m + 1,): the slots of factor f
    slot_variables: Indices  # (S,)
    slot_factors: Indices  # (S,)
    strides: Indices  # (S,): cells between neighbouring states along this axis of the factor's table
    message_starts: Indices  # (S + 1,): where the message of a slot begins
    table_starts: Indices  # (m,)
    table_sizes: Indices  # (m,): cells of the whole table
    tables: Doubles  # logs of all tables; of a Potts table the one on its diagonal and the one beside it


@dataclass(frozen=True)
class FlatFactors:
    """Arrays of a list of factors, and where each of them went."""

    arrays: FactorArrays
    places: Indices  # (factors,): which of the m factors it is, or -1 - variable where it is evidence of one variable
    log_scale: float = 0.0  # log of the product of the factors without a variable

    @property
    def n_messages(self) -> int:
        """Messages of one pass: from every factor to every variable of it."""
        return len(self.arrays.slot_variables)

    def with_evidence(self, observed: Mapping[int, int]) -> FlatFactors:
        """The graph in which these variables have these states."""
        if not observed:
            return self
        arrays = self.arrays
        evidence = arrays.evidence.copy()
        for variable, state in observed.items():
            if not 0 <= variable < len(arrays.cards) or not 0 <= state < arrays.cards[variable]:
                raise ValueError(f"evidence: variable {variable} has no state {state}")
            own = evidence[arrays.state_starts[variable] : arrays.state_starts[variable + 1]]
            kept = own[state]
            own[:] = -np.inf
            own[state] = kept
        return FlatFactors(arrays._replace(evidence=evidence), self.places, self.log_scale)

    def per_variable(self, values: Doubles) -> tuple[Doubles, ...]:
        """An array over all states, cut into variables."""
        cards = self.arrays.cards
        if len(cards) and (cards == cards[0]).all():
            return tuple(values.reshape(-1, cards[0]))
        return tuple(np.split(values, self.arrays.state_starts[1:-1]))

    def log_score(self, states: Codes) -> float | Doubles:
        """Log of the product of all factors at (..., n) states."""
        return log_score(self.arrays, np.asarray(states)) + self.log_scale


def log_score(arrays: FactorArrays, states: Codes) -> Doubles:
    """Log of the product of the factors that have variables, at (..., n) states."""
    total: Doubles = arrays.evidence[arrays.state_starts[:-1] + states].sum(axis=-1)
    if not len(arrays.kinds):
        return total
    at_slots = states[..., arrays.slot_variables]
    cells = np.add.reduceat(at_slots * arrays.strides, arrays.slot_starts[:-1], axis=-1)
    potts = arrays.kinds == POTTS
    first = arrays.slot_starts[:-1][potts]
    cells[..., potts] = at_slots[..., first] != at_slots[..., first + 1]
    total = total + arrays.tables[arrays.table_starts + cells].sum(axis=-1)
    return total


def scaled_evidence(flat: FlatFactors) -> Doubles:
    """(states,) logs of the evidence, the largest of each variable 0; refused where nothing is possible."""
    arrays = flat.arrays
    tops = evidence_tops(flat)
    if (tops == -np.inf).any():
        raise ValueError(f"variable {int(np.argmin(tops))}: its evidence allows none of its states")
    return arrays.evidence - np.repeat(tops, arrays.cards)


def evidence_tops(flat: FlatFactors) -> Doubles:
    """(n,) the largest log of the evidence of each variable."""
    starts = flat.arrays.state_starts[:-1]
    return np.maximum.reduceat(flat.arrays.evidence, starts) if len(starts) else np.empty(0)


def flat_factors(
    factors: Sequence[Factor], cards: Sequence[int], evidence: Mapping[int, int] | None = None
) -> FlatFactors:
    """The arrays of factors with plain values, zero or positive."""
    counts = np.asarray(cards, dtype=np.int64)
    starts = np.concatenate([[0], np.cumsum(counts)]).astype(np.int64)
    values, log_scale = np.zeros(starts[-1]), 0.0
    places, scopes, kinds = np.empty(len(factors), dtype=np.int64), list[tuple[int, ...]](), list[int]()
    pieces, table_starts, known, size = list[Doubles](), list[int](), dict[int, tuple[int, int]](), 0
    for number, factor in enumerate(factors):
        table = _log_table(number, factor, counts)
        if len(factor.variables) < 2:
            if factor.variables:
                variable = factor.variables[0]
                values[starts[variable] : starts[variable + 1]] += table
                places[number] = -1 - variable
            else:
                log_scale += float(table)
                places[number] = -1
            continue
        places[number] = len(scopes)
        scopes.append(factor.variables)
        if id(factor.table) not in known:
            kind, cells = compact_table(table)
            known[id(factor.table)] = size, kind
            pieces.append(cells)
            size += len(cells)
        at, kind = known[id(factor.table)]
        table_starts.append(at)
        kinds.append(kind)
    tables = np.concatenate(pieces) if pieces else np.empty(0)
    arrays = arrays_of_scopes(counts, values, scopes, np.array(kinds, dtype=np.int64), np.array(table_starts), tables)
    return FlatFactors(arrays, places, log_scale).with_evidence(evidence or {})


def compact_table(table: Doubles) -> tuple[int, Doubles]:
    """The kind of a table, and its values in a row: all of them, or two of a Potts table."""
    if table.ndim != 2:
        return TABLE, np.ascontiguousarray(table, dtype=np.float64).ravel()
    z = len(table)
    if table.shape == (z, z) and z > 1:
        same, other = table[0, 0], table[0, 1]
        if (table == np.where(np.eye(z, dtype=bool), same, other)).all():
            return POTTS, np.array([same, other], dtype=np.float64)
    return PAIR, np.ascontiguousarray(table, dtype=np.float64).ravel()


def arrays_of_scopes(
    cards: Indices,
    evidence: Doubles,
    scopes: Sequence[Sequence[int]] | Indices,
    kinds: Codes,
    table_starts: Indices,
    tables: Doubles,
) -> FactorArrays:
    """Slots, strides and lists of neighbours from scopes of two variables or more; an (m, 2) array is quickest."""
    if isinstance(scopes, np.ndarray):
        lengths, slot_variables = np.full(len(scopes), scopes.shape[1]), scopes.astype(np.int64).ravel()
    else:
        lengths = np.array([len(scope) for scope in scopes], dtype=np.int64)
        slot_variables = np.array([v for scope in scopes for v in scope], dtype=np.int64)
    slot_starts = np.concatenate([[0], np.cumsum(lengths)]).astype(np.int64)
    slot_factors = np.repeat(np.arange(len(lengths)), lengths)
    slot_cards = cards[slot_variables]
    strides, sizes = np.ones(len(slot_variables), dtype=np.int64), np.ones(len(lengths), dtype=np.int64)
    for back in range(1, int(lengths.max(initial=0)) + 1):  # axes from the last to the first, of all factors at once
        has = lengths >= back
        slots = slot_starts[1:][has] - back
        strides[slots] = sizes[has]
        sizes[has] *= slot_cards[slots]
    order = np.argsort(slot_variables, kind="stable")
    degrees = np.bincount(slot_variables, minlength=len(cards))
    return FactorArrays(
        cards=cards,
        state_starts=np.concatenate([[0], np.cumsum(cards)]).astype(np.int64),
        evidence=evidence,
        variable_starts=np.concatenate([[0], np.cumsum(degrees)]).astype(np.int64),
        variable_slots=order.astype(np.int64),
        kinds=kinds.astype(np.int64),
        slot_starts=slot_starts,
        slot_variables=slot_variables,
        slot_factors=slot_factors.astype(np.int64),
        strides=strides,
        message_starts=np.concatenate([[0], np.cumsum(slot_cards)]).astype(np.int64),
        table_starts=table_starts.astype(np.int64),
        table_sizes=sizes,
        tables=tables,
    )


def _log_table(number: int, factor: Factor, cards: Indices) -> Doubles:
    table = np.asarray(factor.table, dtype=np.float64)
    name = f"factor {number} over variables {factor.variables}"
    if any(not 0 <= v < len(cards) for v in factor.variables):
        raise ValueError(f"{name}: variables are numbered from 0 to {len(cards) - 1}")
    if table.shape != tuple(cards[list(factor.variables)]):
        expected = tuple(int(cards[v]) for v in factor.variables)
        raise ValueError(f"{name}: its table has shape {table.shape}, and its variables have {expected} states")
    if not np.isfinite(table).all() or (table < 0).any():
        raise ValueError(f"{name}: values have to be finite, zero or positive")
    if not table.any():
        raise ValueError(f"{name}: all values are zero, so nothing is possible")
    with np.errstate(divide="ignore"):
        return np.log(table)
