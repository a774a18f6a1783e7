"""Sequences as users pass them: lists of positions, and lists of labels.

A table, or a list of rows of numbers, is n sequences of one position each. Anything else is a list of sequences:
dictionaries, collections of strings, or rows of numbers at each position.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from itertools import chain, pairwise
from typing import Any

import numpy as np

from fivefold.core.admission.sequences import Sequences
from fivefold.core.types import Codes, Indices, Labels, UserTable, UserTarget
from fivefold.sequence.features.attribute_encoder import (
    AttributeNames,
    PositionFeatures,
    encode_positions,
    numeric_positions,
    starts,
)

COLLECTIONS = (list, tuple, np.ndarray)


def holds_sequences(X: UserTable) -> bool:
    """Is X a list of sequences, not a table?"""
    if isinstance(X, Sequences):
        return True
    if isinstance(X, np.ndarray):
        listed = X.dtype == object and X.ndim == 1
    else:
        listed = isinstance(X, Sequence) and not isinstance(X, str)
    return listed and any(_is_sequence(one) for one in X if not _is_empty(one))


def _is_empty(one: Any) -> bool:
    return isinstance(one, COLLECTIONS) and len(one) == 0


def _is_sequence(one: Any) -> bool:
    """Positions, not numbers: dictionaries, collections of strings, or rows."""
    if isinstance(one, np.ndarray):
        return one.ndim == 2 or (one.dtype == object and len(one) > 0 and _is_position(one[0]))
    return isinstance(one, list | tuple) and len(one) > 0 and _is_position(one[0])


def _is_position(one: Any) -> bool:
    return isinstance(one, Mapping | set | frozenset) or (isinstance(one, COLLECTIONS) and np.ndim(one) > 0)


def positions_of(X: Sequence[Any], names: AttributeNames | None, where: str) -> tuple[PositionFeatures, AttributeNames]:
    """The attributes of sequences; `names` are those of fit, None while fitting."""
    lengths = [len(sequence) for sequence in X]
    rows: Any = next((sequence for sequence in X if len(sequence)), [{}])
    if _is_numeric(rows[0]):
        table, offsets = _stacked(X, where), starts(lengths)
        d = table.shape[1]
        if names is not None and len(names) != d + 1:
            raise ValueError(f"{where}: positions have {d} numbers, but those of fit had {len(names) - 1}")
        found = numeric_positions(table, offsets, intercept=True)
        return found, names if names is not None else column_names(d)
    numbers = {} if names is None else names.numbers()
    positions = encode_positions(X, numbers, growing=names is None)
    return positions, AttributeNames.of(numbers) if names is None else names


def column_names(d: int) -> AttributeNames:
    """Names of the columns of rows of numbers, and of the intercept."""
    return AttributeNames.of([*map(str, range(d)), "intercept"])


def _is_numeric(position: Any) -> bool:
    if isinstance(position, np.ndarray):
        return position.dtype != object and position.dtype.kind not in "US"
    return isinstance(position, list | tuple) and len(position) > 0 and not isinstance(position[0], str)


def _stacked(X: Sequence[Any], where: str) -> Any:
    try:
        table = np.concatenate([np.asarray(sequence, dtype=np.float64) for sequence in X if len(sequence)])
    except (TypeError, ValueError) as error:
        raise ValueError(
            f"{where}: every position of every sequence needs the same number of numbers; {error}"
        ) from error
    if table.ndim != 2 or not np.isfinite(table).all():
        raise ValueError(f"{where}: positions must be rows of finite numbers; impute missing ones first")
    return table


def labels_of(X: Sequence[Any], y: UserTarget, where: str) -> tuple[Labels, Codes]:
    """The labels, sorted, and that of each position as a code; every sequence needs as many labels as positions."""
    if y is None:
        raise ValueError(
            f"{where} requires y to be passed, but the target y is None: pass a list of labels per sequence"
        )
    if len(X) != len(y):
        raise ValueError(f"{where}: there are {len(X)} sequences in X and {len(y)} in y")
    for i, (positions, labels) in enumerate(zip(X, y, strict=True)):
        if isinstance(labels, str) or len(positions) != len(labels):
            raise ValueError(f"{where}: sequence {i} has {len(positions)} positions and {len(labels)} labels")
    flat = list(chain.from_iterable(y))
    if not flat:
        raise ValueError(f"{where}: X holds no position (0 samples): give at least one sequence that is not empty")
    numbers: dict[Any, int] = {label: i for i, label in enumerate(sorted(set(flat)))}
    codes = np.fromiter(map(numbers.__getitem__, flat), dtype=np.int64, count=len(flat))
    return np.array(list(numbers)), codes


def without_empty(positions: PositionFeatures) -> PositionFeatures:
    """The same positions; sequences without one are left out."""
    full = np.diff(positions.offsets) > 0
    return positions._replace(offsets=np.append(positions.offsets[:-1][full], positions.offsets[-1]))


def split_by(values: Any, offsets: Indices) -> list[Any]:
    """What was found per position, as a list per sequence."""
    return [values[lo:hi] for lo, hi in pairwise(offsets.tolist())]
