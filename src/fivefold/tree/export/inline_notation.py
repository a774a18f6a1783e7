"""Trees written in one line: tests x_f >= a, and "test ? tree : tree", whose first tree answers if the test is true.

    [f >= 2] ? ([g >= 0.5] ? -1 : 1) : ([h >= -1] ? 1 : -1)

A tree with labels 1 and -1 is itself a test, so trees nest.
"""

from __future__ import annotations

import re
from collections.abc import Sequence
from dataclasses import dataclass
from typing import Any, TypeAlias

import numpy as np

from fivefold.core.types import Labels, Mask, Table


@dataclass(frozen=True)
class ThresholdTest:
    """x_f >= a."""

    feature: int | str  # number or name of a column
    threshold: float

    def __str__(self) -> str:
        return f"[{self.feature} >= {self.threshold!r}]"

    def holds(self, X: Table, names: Sequence[str] = ()) -> Mask:
        """Where the test is true."""
        j = names.index(self.feature) if names else self.feature
        return X[:, j] >= self.threshold


@dataclass(frozen=True)
class Branch:
    """test ? yes : no, where yes and no are trees. The test may itself be a Branch, with labels 1 and -1."""

    test: ThresholdTest | Branch
    yes: InlineTree
    no: InlineTree

    def __str__(self) -> str:
        return f"{_nested(self.test)} ? {_nested(self.yes)} : {_nested(self.no)}"

    def holds(self, X: Table, names: Sequence[str] = ()) -> Mask:
        """As a test of another tree: where its answer is positive."""
        return evaluate_tree(self, X, names) > 0


InlineTree: TypeAlias = Any  # a Branch, or a label of any type


def evaluate_tree(tree: InlineTree, X: Table, names: Sequence[str] = ()) -> Labels:
    """The label of each row.

    Examples
    --------
    >>> tree = parse_tree("[f >= 2] ? ([g >= 0.5] ? -1 : 1) : ([h >= -1] ? 1 : -1)")
    >>> evaluate_tree(tree, np.array([[3.0, 0, 0], [3, 1, 0], [0, 0, 0], [0, 0, -2]]), ("f", "g", "h"))
    array([ 1, -1,  1, -1])
    """
    if not isinstance(tree, Branch):
        return np.full(len(X), tree)
    return np.where(tree.test.holds(X, names), evaluate_tree(tree.yes, X, names), evaluate_tree(tree.no, X, names))


def parse_tree(text: str) -> InlineTree:
    """The tree that `str(tree)` writes: "[f >= 2] ? 1 : ([g >= 0.5] ? -1 : 1)", labels whole numbers."""
    tokens = re.findall(r"\[[^\]]*\]|[?:()]|[^\s?:()\[\]]+", text)
    tree, rest = _tree(tokens)
    if rest:
        raise ValueError(f"a tree ends before {' '.join(rest)!r} in {text!r}; put parts in parentheses")
    return tree


def _tree(tokens: list[str]) -> tuple[InlineTree, list[str]]:
    head, tokens = _part(tokens)
    if not tokens or tokens[0] != "?":
        return head, tokens
    yes, tokens = _tree(tokens[1:])
    if not tokens or tokens[0] != ":":
        raise ValueError(f"after 'test ? tree' comes ':'; found {tokens[0] if tokens else 'the end'!r}")
    no, tokens = _tree(tokens[1:])
    return Branch(head, yes, no), tokens


def _part(tokens: list[str]) -> tuple[InlineTree | ThresholdTest, list[str]]:
    if not tokens:
        raise ValueError("a tree is missing: give a label, a test in brackets, or a tree in parentheses")
    head, *tokens = tokens
    if head == "(":
        tree, tokens = _tree(tokens)
        if not tokens or tokens[0] != ")":
            raise ValueError("a parenthesis is not closed")
        return tree, tokens[1:]
    if head[0] == "[":
        name, sign, value = head[1:-1].partition(">=")
        if not sign:
            raise ValueError(f"a test reads [column >= number]; got {head!r}")
        name = name.strip()
        return ThresholdTest(int(name) if name.isdigit() else name, float(value)), tokens
    return int(head), tokens


def _nested(part: InlineTree | ThresholdTest) -> str:
    return f"({part})" if isinstance(part, Branch) else str(part)
