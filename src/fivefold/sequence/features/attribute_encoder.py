"""Attributes of positions as numbers: what stands at a position becomes a row of a sparse matrix.

A position is a dictionary, a collection of strings, or a row of numbers:

    {"word": "the", "title": True, "length": 3.0}      attributes "word:the" = 1, "title" = 1, "length" = 3
    {"shape": {"upper": True, "digit": False}}         attributes "shape:upper" = 1, "shape:digit" = 0
    ["word=the", "title"]                              each attribute 1
    [0.5, 1.5]                                         attributes "0" = 0.5, "1" = 1.5

These are the rules of python-crfsuite. Attributes are numbered as they are first seen; one that fit did not see has no
weight and is left out later. The pairs of a dictionary are looked up as they are, so that a position costs one call.
"""

from __future__ import annotations

from array import array
from collections.abc import Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass
from functools import lru_cache
from typing import Any, NamedTuple

import numpy as np

from fivefold.core.types import Doubles, Indices

MAX_REMEMBERED = 2**20  # items that are looked up at once; numbers as values may give as many as there are positions
UNKNOWN = -1  # number of an attribute that fit did not see


class PositionFeatures(NamedTuple):
    """Attributes of all positions of all sequences, as the rows of a sparse matrix.

    Position t holds the entries start[t]..start[t + 1]; sequence i the positions offsets[i]..offsets[i + 1].
    """

    offsets: Indices  # (sequences + 1,)
    start: Indices  # (positions + 1,)
    attribute: Indices  # (entries,)
    value: Doubles  # (entries,)

    @property
    def n_positions(self) -> int:
        """The number of positions of all sequences."""
        return len(self.start) - 1


@dataclass(frozen=True, eq=False)
class AttributeNames:
    """The attributes that fit saw, by number, as text in one array: files with many of them stay small and fast."""

    text: Indices  # bytes of all names in UTF-8
    ends: Indices  # (attributes,) where each ends

    @classmethod
    def of(cls, names: Iterable[str]) -> AttributeNames:
        """Names in the order of their numbers."""
        encoded = [name.encode("utf-8", "surrogatepass") for name in names]
        ends = np.cumsum([len(name) for name in encoded], dtype=np.int64)
        return cls(np.frombuffer(b"".join(encoded), dtype=np.uint8), ends)

    def __len__(self) -> int:
        return len(self.ends)

    def __iter__(self) -> Iterator[str]:
        text, start = self.text.tobytes(), 0
        for end in self.ends.tolist():
            yield text[start:end].decode("utf-8", "surrogatepass")
            start = end

    def numbers(self) -> dict[str, int]:
        """The number of each name; do not change it."""
        return _numbers(self)

    def check_arrays(self, columns: int) -> None:
        """Refuse ends that do not fit to the text."""
        cuts = np.concatenate([[0], self.ends])
        if (np.diff(cuts) < 0).any() or cuts[-1] != len(self.text):
            raise ValueError("the names of attributes do not fit to their text")


@lru_cache(maxsize=4)  # models whose names were asked for last
def _numbers(names: AttributeNames) -> dict[str, int]:
    return {name: a for a, name in enumerate(names)}


class _Items(dict[Any, int]):
    """Numbers of items, which are strings or pairs of a dictionary; each has an attribute and a value."""

    def __init__(self, attributes: dict[str, int], growing: bool) -> None:
        super().__init__()
        self.attributes, self.growing = attributes, growing
        self.attribute, self.value = array("q"), array("d")

    def __missing__(self, item: Any) -> int:
        name, value = (item, 1.0) if type(item) is str else _name_and_value(*item)
        number = self.attributes.get(name, UNKNOWN)
        if number == UNKNOWN and self.growing:
            number = self.attributes[name] = len(self.attributes)
        i = len(self.attribute)
        self.attribute.append(number)
        self.value.append(value)
        if i < MAX_REMEMBERED:
            self[item] = i
        return i


def encode_positions(
    X: Iterable[Iterable[Any]], attributes: dict[str, int], *, growing: bool = False
) -> PositionFeatures:
    """The attributes of sequences of positions; `growing` gives new ones the next numbers, in `attributes` itself."""
    items = _Items(attributes, growing)
    found, counts, lengths, look_up = array("q"), array("q"), array("q"), items.__getitem__
    for i, sequence in enumerate(X):
        before = len(counts)
        for t, position in enumerate(sequence):
            mark = len(found)
            try:
                found.extend(map(look_up, position.items() if type(position) is dict else _in_order(position)))
            except (TypeError, ValueError):
                del found[mark:]
                found.extend(map(look_up, _flattened(position, i, t)))
            counts.append(len(found) - mark)
        lengths.append(len(counts) - before)
    which = np.frombuffer(found, dtype=np.int64) if found else np.empty(0, dtype=np.int64)
    attribute = np.array(items.attribute, dtype=np.int32)[which]
    value = np.array(items.value, dtype=np.float64)[which]
    refuse_infinite_values(value)
    return PositionFeatures(starts(lengths), starts(counts), attribute, value)


def numeric_positions(rows: Any, offsets: Indices, *, intercept: bool) -> PositionFeatures:
    """Rows (positions, d) of numbers, dense or CSR; attribute d is an intercept, if any."""
    n, d = rows.shape
    if isinstance(rows, np.ndarray):
        value = np.ones((n, d + intercept))
        value[:, :d] = rows
        attribute = np.tile(np.arange(d + intercept, dtype=np.int32), n)
        return PositionFeatures(offsets, np.arange(n + 1) * (d + intercept), attribute, value.ravel())
    counts, attribute, value = np.diff(rows.indptr), rows.indices, rows.data.astype(np.float64)
    if intercept:
        attribute, value = np.insert(attribute, rows.indptr[1:], d), np.insert(value, rows.indptr[1:], 1.0)
    return PositionFeatures(offsets, starts(counts + intercept), attribute.astype(np.int32), value)


def starts(counts: Sequence[int] | Indices | array[int]) -> Indices:
    """0 and the running sums of counts."""
    return np.concatenate([[0], np.cumsum(np.asarray(counts, dtype=np.int64), dtype=np.int64)])


def refuse_infinite_values(value: Doubles) -> None:
    """Refuse values of attributes that are no finite numbers."""
    if not np.isfinite(value).all():
        raise ValueError("a value of an attribute is NaN or infinite; leave the attribute out where it is not known")


def _in_order(position: Any) -> Any:
    """Sets are sorted: their own order is another one in every process."""
    return sorted(position) if isinstance(position, set | frozenset) else position


def _name_and_value(key: Any, value: Any) -> tuple[str, float]:
    """The attribute of a pair of a dictionary, and its value."""
    if not isinstance(key, str):
        raise TypeError(f"an attribute's name must be text; got {key!r}")
    if type(value) is str:
        return f"{key}:{value}", 1.0
    return key, float(value)  # a TypeError where it is nested: `_flattened` takes it apart


def _flattened(position: Any, i: int, t: int) -> Iterator[Any]:
    """The items of a position that holds nested values, or something else than text."""
    if isinstance(position, Mapping):
        yield from _flat_pairs("", position, i, t)
    elif isinstance(position, str) or not isinstance(position, Iterable):
        raise ValueError(
            f"sequence {i}, position {t}: give a dictionary of attributes, a collection of strings or a row of "
            f"numbers; got {position!r}"
        )
    else:
        for item in position:
            if not isinstance(item, str):
                raise ValueError(f"sequence {i}, position {t}: a collection of attributes holds text; got {item!r}")
            yield item


def _flat_pairs(prefix: str, pairs: Mapping[Any, Any], i: int, t: int) -> Iterator[tuple[str, Any]]:
    for key, value in pairs.items():
        if not isinstance(key, str):
            raise ValueError(f"sequence {i}, position {t}: an attribute's name must be text; got {key!r}")
        name = prefix + key
        if isinstance(value, Mapping):
            yield from _flat_pairs(f"{name}:", value, i, t)
        elif isinstance(value, set | frozenset | list | tuple):
            yield from ((f"{name}:{one}", True) for one in _in_order(value))
        else:
            try:
                yield name, value if isinstance(value, str | bool) else float(value)
            except (TypeError, ValueError):
                raise ValueError(
                    f"sequence {i}, position {t}: the value of attribute {name!r} must be a number, text or a truth "
                    f"value; got {value!r}"
                ) from None
