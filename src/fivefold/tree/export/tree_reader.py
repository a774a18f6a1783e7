"""What exports read of a fitted tree: its nodes, what they answer, and the names that users know."""

from __future__ import annotations

from dataclasses import dataclass, field
from typing import Any, Generic, TypeAlias, TypeVar

import numpy as np
from sklearn.utils.validation import check_is_fitted

from fivefold.core.types import Array, Labels, Matrix, Weights
from fivefold.partition.export.conditions import Condition
from fivefold.partition.row_questions.nodes import RowQuestionTree
from fivefold.partition.tree_arrays.binary_tree import Tree

FeatureNames: TypeAlias = Any  # names as users pass them: a list, an array, an Index; None for those of fit
TreeEstimator: TypeAlias = Any  # a fitted tree of this chapter: each kind has a model of its own
AnyTree = TypeVar("AnyTree", Tree, RowQuestionTree)


@dataclass(frozen=True)
class AnswerReader(Generic[AnyTree]):
    """A tree of any kind, the answer of every node, and the names that users know."""

    tree: AnyTree
    value: Array  # (m, K) shares of the classes, those of one output after those of another, or (m, outputs) numbers
    weight: Weights  # (m,)
    names: tuple[str, ...]  # of the columns
    classes: tuple[Labels, ...] | None = None  # the labels of each output; None for numbers
    categories: dict[int, tuple[object, ...]] = field(default_factory=dict)
    missing: bool = False  # are missing values mentioned?
    scores: Matrix | None = None  # (m, K) by which nodes answer, where that is not by the shares

    @property
    def outputs(self) -> int:
        """Number of outputs."""
        return len(self.classes) if self.classes is not None else self.value.shape[1]

    def winner(self, t: int, k: int) -> int:
        """The class of output k that node t answers with."""
        ends = np.cumsum([0, *(len(labels) for labels in self.classes or ())])
        scores = self.value if self.scores is None else self.scores
        return int(scores[t, ends[k] : ends[k + 1]].argmax())

    def answers(self, t: int) -> tuple[object, ...]:
        """What node t answers for each output: its commonest class, or its number."""
        if self.classes is None:
            return tuple(self.value[t].tolist())
        return tuple(labels[self.winner(t, k)].item() for k, labels in enumerate(self.classes))

    def label(self, t: int) -> object:
        """The answer of node t; a tuple for several outputs."""
        answers = self.answers(t)
        return answers[0] if len(answers) == 1 else answers

    def answer_text(self, t: int) -> str:
        """The answer of node t in words."""
        return ", ".join(f"{v:.6g}" if self.classes is None else str(v) for v in self.answers(t))

    def count_text(self, t: int) -> str:
        """The number of rows of node t, and the shares of their classes."""
        rows = int(self.tree.rows[t])
        text = f"{rows} row{'s' * (rows != 1)}"
        if self.classes is None:
            return text
        labels = np.concatenate([np.asarray(c, dtype=object) for c in self.classes])
        held = [(label, share) for label, share in zip(labels, self.value[t], strict=True) if share > 0]
        named = (
            (f"{100 * share:.3g}%", label if isinstance(label, str) else f"class {label}") for label, share in held
        )
        return text + "".join(f", {percent} {name}" for percent, name in named)


@dataclass(frozen=True)
class TreeReader(AnswerReader[Tree]):
    """A binary tree of questions about single columns; it names columns and categories for texts and for SQL."""

    def left_condition(self, t: int) -> Condition:
        """What a row satisfies that goes left at node t."""
        f, with_missing = int(self.tree.feature[t]), bool(self.tree.missing_left[t])
        if (levels := self._left_levels(t)) is not None:
            return Condition(f, levels=levels, missing=with_missing)
        return Condition(f, high=float(self.tree.threshold[t]), missing=with_missing)

    def right_condition(self, t: int) -> Condition:
        """What a row satisfies that goes right at node t."""
        f, with_missing = int(self.tree.feature[t]), not self.tree.missing_left[t]
        if (levels := self._left_levels(t)) is not None:
            return Condition(f, levels=frozenset(range(self._n_levels(t))) - levels, missing=with_missing)
        return Condition(f, low=float(self.tree.threshold[t]), missing=with_missing)

    def level_names(self, column: int, levels: frozenset[int]) -> list[object]:
        """The categories of these codes; the codes themselves where they have no names."""
        known = self.categories.get(column)
        return [known[code] if known is not None else code for code in sorted(levels)]

    @property
    def columns(self) -> tuple[str, ...]:
        """Names of the columns, unquoted."""
        return self.names

    def values(self, column: int, levels: frozenset[int]) -> list[object]:
        """The categories of these codes, unquoted."""
        return self.level_names(column, levels)

    def number(self, value: float) -> str:
        """A bound in six digits."""
        return f"{value:.6g}"

    def _n_levels(self, t: int) -> int:
        f = int(self.tree.feature[t])
        return len(self.categories[f]) if f in self.categories else 8 * self._set_bytes(t)

    def _set_bytes(self, t: int) -> int:
        later = self.tree.set_start[self.tree.set_start > self.tree.set_start[t]]
        return int(later.min(initial=len(self.tree.set_bits)) - self.tree.set_start[t])

    def _left_levels(self, t: int) -> frozenset[int] | None:
        if self.tree.set_start is None or self.tree.set_start[t] < 0:
            return None
        return frozenset(np.flatnonzero(self.tree.chosen(t, self._n_levels(t))).tolist())


def tree_reader(model: TreeEstimator, feature_names: FeatureNames = None, *, missing: bool = False) -> TreeReader:
    """What an export reads of a fitted binary tree; a TreeReader is returned unchanged."""
    if isinstance(model, TreeReader):
        return model
    return TreeReader(**_read(model, feature_names), missing=missing)


def row_tree_reader(model: TreeEstimator, feature_names: FeatureNames = None) -> AnswerReader[RowQuestionTree]:
    """What an export reads of a fitted tree of questions about whole rows."""
    return AnswerReader(**_read(model, feature_names))


def _read(model: TreeEstimator, feature_names: FeatureNames) -> dict[str, Any]:  # of several types
    """The fields of a reader of any fitted tree."""
    check_is_fitted(model)
    m = model.model_
    names = feature_names if feature_names is not None else getattr(model, "feature_names_in_", None)
    names = [f"x{j}" for j in range(m.columns)] if names is None else names
    if len(names) != m.columns:
        raise ValueError(f"the tree has {m.columns} columns; {len(names)} feature_names were given")
    categories = getattr(model, "categories_in_", None)
    labels = getattr(model, "classes_", None)
    classes = tuple(labels) if isinstance(labels, list) else None if labels is None else (labels,)
    return {
        "tree": m.tree,
        "value": m.value,
        "weight": m.weight,
        "names": tuple(map(str, names)),
        "classes": classes,
        "categories": {} if categories is None else dict(categories.values),
        "scores": None if classes is None else model._node_scores(),
    }
