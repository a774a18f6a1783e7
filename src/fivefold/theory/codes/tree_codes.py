"""Codes of decision trees: a leaf or a branching, test by test.

    test    log2 d + len(a)                                       which of d columns, and the threshold
    leaf    1 + log2 K                                            the first bit: leaf or branching; one of K labels
    tree    sum over branchings (1 + len(test)) + sum over leaves (1 + log2 K)

With two labels a tree of 3 branchings and 4 leaves has 11 bits plus its tests, and a branching with two leaves that
becomes a leaf saves 3 + len(test) bits. `TreeCode` writes a tree in real bits and reads it back.

McAllester, Case Studies in Machine Learning; Quinlan & Rivest (1989).
"""

from __future__ import annotations

from collections.abc import Hashable, Sequence
from dataclasses import dataclass
from math import log2

import numpy as np
from numpy.typing import ArrayLike

from fivefold.information.number_lengths import fraction_bits, integer_bits
from fivefold.theory.bounds import NotApplicable
from fivefold.theory.codes.descriptions import ColumnCodes, Description, describe, description
from fivefold.theory.codes.number_codes import RangeCode, decode_fraction, encode_fraction
from fivefold.theory.codes.prefix_codes import decode_index, encode_index
from fivefold.tree.export.inline_notation import Branch, InlineTree, ThresholdTest
from fivefold.tree.occam_tree import OccamTreeClassifier
from fivefold.tree.shared.multiway_trees import BaseMultiwayTree
from fivefold.tree.shared.single_column_trees import BaseTreeClassifier


def threshold_test_bits(columns: int, fraction: float) -> float:
    """Length of a threshold test: its column, and the threshold as a binary fraction of the column's range.

    Examples
    --------
    >>> threshold_test_bits(16, 0.5)
    5.0
    """
    return log2(columns) + fraction_bits(fraction)


def tree_bits(tests: Sequence[float], leaves: int, labels: int = 2) -> float:
    """Length of a tree from those of its tests, the number of its leaves, and the number of labels.

    Examples
    --------
    >>> tree_bits([5.0, 5.0, 5.0], leaves=4)
    26.0
    """
    return float(sum(tests)) + len(tests) + leaves * (1 + log2(labels))


@dataclass(frozen=True)
class TreeCode:
    """Trees of threshold tests in real bits: a leaf is 0 and its label, a branching 1, its test, and both sides.

    Examples
    --------
    >>> code = TreeCode(columns=(0, 1), ranges=(RangeCode(0.0, 4.0), RangeCode(0.0, 1.0)), labels=(-1, 1))
    >>> tree = Branch(ThresholdTest(0, 2.0), 1, -1)
    >>> code.encode(tree), code.decode("1000100" + "11")
    ('1000100', (Branch(test=ThresholdTest(feature=0, threshold=2.0), yes=1, no=-1), 7))
    """

    columns: tuple[int | str, ...]
    ranges: tuple[RangeCode, ...]  # of each column
    labels: tuple[Hashable, ...]

    def encode(self, tree: InlineTree) -> str:
        """The bits of a tree; its thresholds have to be binary fractions of the ranges."""
        if not isinstance(tree, Branch):
            return "0" + encode_index(self.labels.index(tree), len(self.labels))
        if not isinstance(tree.test, ThresholdTest):
            raise ValueError(f"a test of a coded tree compares a column with a number; got {tree.test}")
        j = self.columns.index(tree.test.feature)
        x = self.ranges[j].shortest_fraction(tree.test.threshold)
        if x is None:
            raise ValueError(f"{tree.test} has no code in the range of its column; round it by RangeCode.nearest")
        test = encode_index(j, len(self.columns)) + encode_fraction(x)
        return "1" + test + self.encode(tree.yes) + self.encode(tree.no)

    def decode(self, bits: str) -> tuple[InlineTree, int]:
        """The tree at the beginning of the bits, and the number of bits it takes."""
        if not bits:
            raise ValueError("the bits end within a tree")
        if bits[0] == "0":
            label, width = decode_index(bits[1:], len(self.labels))
            return self.labels[label], 1 + width
        j, at = decode_index(bits[1:], len(self.columns))
        x, read = decode_fraction(bits[1 + at :])
        at += 1 + read
        yes, read = self.decode(bits[at:])
        at += read
        no, read = self.decode(bits[at:])
        return Branch(ThresholdTest(self.columns[j], self.ranges[j].value(x)), yes, no), at + read


@describe.register
def _(model: BaseTreeClassifier, ranges: ArrayLike | None = None) -> Description:
    codes = ColumnCodes.of(model, ranges)
    held, tree = model.model_, model.model_.tree
    if held.outputs > 1:
        raise NotApplicable(
            f"{type(model).__name__} predicts {held.outputs} outputs; fit one tree for each to bound it"
        )
    inner, column = np.flatnonzero(tree.feature >= 0), tree.feature.tolist()
    held_in_sets = np.zeros(len(tree), dtype=bool) if tree.set_start is None else tree.set_start >= 0
    sets, numbers = inner[held_in_sets[inner]], inner[~held_in_sets[inner]]
    cuts = [(column[t], float(tree.threshold[t])) for t in numbers]
    levels = sum(codes.level_bits(column[t], int(tree.chosen(t, codes.levels[column[t]]).sum())) for t in sets)
    parts = {
        "shape": len(tree),
        "columns": len(inner) * codes.bits,
        "thresholds": codes.threshold_bits(cuts),
        "categories": levels,
        "missing values": 1 + len(inner) * bool(tree.missing_left[inner].any()),
        "labels": len(tree.leaves) * log2(len(model.classes_)),
    }
    return description("binary decision tree", parts, codes.assumptions)


@describe.register
def _(model: OccamTreeClassifier, ranges: ArrayLike | None = None) -> Description:
    codes = ColumnCodes.of(model, ranges)
    tree = model.model_
    inner = tree.feature >= 0
    cuts = zip(tree.feature[inner].tolist(), tree.threshold[inner].tolist(), strict=True)
    parts = {
        "shape": len(inner),
        "columns": int(inner.sum()) * codes.bits,
        "thresholds": codes.threshold_bits(cuts),
        "labels": int((~inner).sum()) * log2(len(model.classes_)),
    }
    return description("decision tree of tests x >= a", parts, codes.assumptions)


@describe.register
def _(model: BaseMultiwayTree, ranges: ArrayLike | None = None) -> Description:
    codes = ColumnCodes.of(model, ranges)
    tree, cuts, branches, answering = model.model_.tree, list[tuple[int, float]](), 0.0, len(model.model_.tree.leaves)
    inner = np.flatnonzero(tree.feature >= 0)
    for t in inner:
        key, count = tree.key[tree.start[t] : tree.start[t + 1]], int(tree.branches[t])
        if not tree.discrete[t]:
            cuts += [(int(tree.feature[t]), float(value)) for value in key]
            branches += integer_bits(len(key))
            continue
        answering += 1  # a value that the node never saw is answered by the node itself
        each = np.array_equal(key, np.arange(count))  # a branch for each value
        branches += 1 + (0.0 if each else integer_bits(count) + len(key) * log2(count + 1))
    majority = model.missing in ("majority", "class")
    parts = {
        "shape": len(tree),
        "columns": len(inner) * codes.bits,
        "thresholds": codes.threshold_bits(cuts),
        "branches": branches,
        "missing values": np.log2(tree.branches[inner]).sum() if majority else 0.0,
        "labels": answering * log2(len(model.classes_)),
    }
    whole = () if majority else ("no value of a row that is judged is missing",)
    return description("decision tree with any number of branches", parts, (*codes.assumptions, *whole))
