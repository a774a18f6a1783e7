"""Rules as values: conjunctions with an answer, in an ordered list or an unordered set.

    list    if R_1 then c_1, else if R_2 then c_2, ..., else the default           the first rule that holds answers
    set     every rule that holds votes with the classes it covered, or the best of them answers; the default if none

How a learner uses them: conditions are `Condition(column, low, high, levels, missing)`; a learner whose conditions a
missing value fails writes `missing=False`. Labels are those of y, `classes_[code].item()`, or numbers; `value` holds
the weight of each class among the rows that a rule answers, from which probabilities follow.

    schema = Schema.of(self)                                        names, categories and classes; works within `_fit`
    rule = Rule((Condition(2, high=2.45, missing=False),), label="setosa", value=(50.0, 0.0), weight=50.0, rows=50)
    self.model_ = RuleList((rule, ...), default=Rule((), "virginica", value=(3.0, 40.0)), schema=schema)
    self.model_.fired(X), .predict(X), .codes(X), .proba(X), .covers(X)
    class MyRules(RuleExports, Classifier): ...        `rule_export.RuleExports` adds to_text, to_rules, to_sql, to_dot,
                                                       to_frame, explain; `rules_` is `model_` unless it is overridden

X is admitted: floats, NaN where a value is missing, codes in columns of categories. `str(rules)` is exact text, which
`rule_parser.parse` reads back; `simplified()` gives the same answers with fewer conditions. If `_scores` is
`model_.proba(X)`, the largest entry of every rule's `value` must be that of its label.
"""

from __future__ import annotations

from collections.abc import Collection
from dataclasses import dataclass, field, replace
from functools import cached_property
from typing import Any, Literal, Self

import numpy as np

from fivefold.core.parallel import map_parts
from fivefold.core.types import Codes, Indices, Labels, Matrix, Table, UserTable, Vector
from fivefold.partition.export.conditions import ColumnNames
from fivefold.partition.export.conditions import Condition as Condition
from fivefold.partition.export.conjunctions import Rule as Rule
from fivefold.partition.export.conjunctions import RuleCollection
from fivefold.partition.export.text_formats import exact_digits, quote_name, text_literal
from fivefold.rules.rule_lists.simplification import simplified_list, simplified_set


@dataclass(frozen=True)
class Schema:
    """The names of columns, the categories of each in the order of their codes, and the classes."""

    columns: tuple[str, ...]
    categories: dict[int, tuple[Any, ...]] = field(default_factory=dict)
    classes: tuple[Any, ...] | None = None  # None for numbers

    missing = True  # texts of conditions say whether a missing value passes

    @classmethod
    def of(cls, estimator: Any, feature_names: Collection[str] | None = None) -> Schema:
        """The names an estimator saw in fit; x0, x1, ... if it saw none."""
        seen, d = vars(estimator), estimator.n_features_in_
        names = feature_names if feature_names is not None else seen.get("feature_names_in_")
        names = [f"x{j}" for j in range(d)] if names is None else names
        if len(names) != d:
            raise ValueError(f"{type(estimator).__name__} has {d} columns; {len(names)} feature_names were given")
        categories = seen["categories_in_"].values if "categories_in_" in seen else {}
        classes = tuple(np.asarray(seen["classes_"]).tolist()) if "classes_" in seen else None
        return cls(tuple(map(str, names)), dict(categories), classes)

    @cached_property
    def names(self) -> tuple[str, ...]:
        """The names of the columns, in quotes unless they are one word."""
        return tuple(map(quote_name, self.columns))

    def values(self, column: int, levels: frozenset[int]) -> list[Any]:
        """The categories of these codes; the codes themselves if the column has no named categories."""
        known = self.categories.get(column)
        return [known[code] if known is not None else code for code in sorted(levels)]

    def label(self, code: int) -> Any:
        """The class of this code."""
        if self.classes is None:
            raise ValueError("these rules predict numbers and have no classes")
        return self.classes[code]

    def level_names(self, column: int, levels: frozenset[int]) -> list[str]:
        """The categories of these codes as they are written."""
        return [text_literal(value) for value in self.values(column, levels)]

    def number(self, value: float) -> str:
        """A bound in digits that read back as the same double."""
        return exact_digits(value)


@dataclass(frozen=True)
class BaseRules(RuleCollection):
    """Rules, the default where none holds, and the names of columns and classes."""

    rules: tuple[Rule, ...]
    default: Rule
    schema: Schema
    smoothing: float = field(default=0.0, kw_only=True)  # added to the weight of every class of every rule

    @property
    def column_names(self) -> ColumnNames:
        """How columns, categories and numbers are written: numbers in exact digits."""
        return self.schema

    @property
    def conditions(self) -> int:
        """Number of conditions of all rules."""
        return sum(map(len, self.rules))

    @property
    def supports(self) -> Vector:
        """Share of the weight, in percent, that each rule covers; the default last."""
        weight = np.array([rule.weight for rule in (*self.rules, self.default)])
        return 100 * weight / weight.sum() if weight.sum() > 0 else weight

    def codes(self, X: Table) -> Codes:
        """The code of the class of each row."""
        raise TypeError(f"{type(self).__name__} does not say which rule answers")

    def proba(self, X: Table) -> Matrix:
        """(n, K): the probabilities of the classes."""
        raise TypeError(f"{type(self).__name__} does not say how likely classes are")

    def predict(self, X: UserTable) -> Labels:
        """The label of each row, or its number."""
        return np.array(self._classes())[self.codes(X)]

    def renamed(self, schema: Schema) -> Self:
        """The same rules with other names of columns."""
        return replace(self, schema=schema)

    def evidence(self, rule: Rule) -> str:
        """The rows a rule was learned from and the weights of their classes, in exact digits."""
        parts = [f"{rule.rows} row{'s' * (rule.rows != 1)}"] * bool(rule.rows)
        held = self.schema.classes is not None and any(rule.value)
        parts += [f"weight {exact_digits(rule.weight)}"] * (rule.weight != rule.rows or (held and not parts))
        text = ", ".join(parts)
        if held:
            pairs = zip(self._classes(), rule.value, strict=True)
            text += ": " + ", ".join(f"{text_literal(label)} {exact_digits(v)}" for label, v in pairs if v)
        return f"  ({text})" if text else ""

    def text(self, *, evidence: bool = True) -> str:
        """The rules, one per line, in exact digits; without `evidence` only conditions and labels."""
        opening = self._opening()
        lines = [f"{opening}if {self.conjunction(rule)} then {text_literal(rule.label)}" for rule in self.rules]
        lines.append(f"{opening}else {text_literal(self.default.label)}")
        if evidence:
            lines = [line + self.evidence(rule) for line, rule in zip(lines, (*self.rules, self.default), strict=True)]
            lines = [f"smoothing {exact_digits(self.smoothing)}"] * (self.smoothing > 0) + lines
        return "\n".join(lines)

    def __str__(self) -> str:
        return self.text()

    def _opening(self) -> str:
        return ""

    def _classes(self) -> tuple[Any, ...]:
        if self.schema.classes is None:
            raise ValueError("these rules predict numbers and have no classes; use predict")
        return self.schema.classes

    def _code(self) -> dict[Any, int]:
        return {label: code for code, label in enumerate(self._classes())}

    @cached_property
    def class_weights(self) -> Matrix:
        """(rules + 1, K): class weights of each rule, the default last; a rule without any has all on its label."""
        code, K = self._code(), len(self._classes())
        out = np.zeros((len(self.rules) + 1, K))
        for r, rule in enumerate((*self.rules, self.default)):
            if sum(rule.value) > 0:
                out[r] = np.add(rule.value, self.smoothing)
            else:
                out[r, code[rule.label]] = 1.0
        return out

    def class_shares(self) -> Matrix:
        """(rules + 1, K): class shares among the rows that each rule covered, the default last."""
        return self.class_weights / self.class_weights.sum(axis=1, keepdims=True)


@dataclass(frozen=True)
class RuleList(BaseRules):
    """An ordered list: the first rule that holds answers, or the default if none does."""

    def fired(self, X: Table) -> Indices:
        """The index of the rule that answers each row; the number of rules if the default answers."""
        X = np.asarray(X)
        out = np.full(len(X), len(self.rules))

        def block(lo: int, hi: int) -> None:
            unanswered = np.arange(lo, hi)
            for r, rule in enumerate(self.rules):
                if not len(unanswered):
                    break
                out[rule.covered_among(X, unanswered)] = r
                unanswered = unanswered[out[unanswered] != r]

        map_parts(block, len(X))
        return out

    def predict(self, X: UserTable) -> Labels:
        """The label of each row, or its number."""
        labels = [rule.label for rule in (*self.rules, self.default)]
        return np.array(labels)[self.fired(X)]

    def codes(self, X: Table) -> Codes:
        """The code of the class of each row."""
        code = self._code()
        return np.array([code[rule.label] for rule in (*self.rules, self.default)])[self.fired(X)]

    def proba(self, X: Table) -> Matrix:
        """(n, K): class shares among the rows that the answering rule covered."""
        return self.class_shares()[self.fired(X)]

    def simplified(self, *, labels_only: bool = False) -> RuleList:
        """A list that answers alike with fewer conditions; with `labels_only` probabilities may change."""
        return simplified_list(self, labels_only=labels_only)


@dataclass(frozen=True)
class RuleSet(BaseRules):
    """An unordered set: every rule that holds votes with the classes it covered, or the best of them answers."""

    vote: Literal["distribution", "best"] = "distribution"

    @cached_property
    def best_first(self) -> RuleList:
        """The rules in decreasing order of the estimated share of their label, (w_label + 1) / (w + K)."""
        code, K = self._code(), len(self._classes())
        own = np.array([code[rule.label] for rule in self.rules], dtype=np.int64)
        W = self.class_weights[:-1]
        quality = (W[np.arange(len(W)), own] + 1) / (W.sum(axis=1) + K)
        order = np.argsort(-quality, kind="stable")
        return RuleList(tuple(self.rules[r] for r in order), self.default, self.schema, smoothing=self.smoothing)

    def votes(self, X: Table) -> Matrix:
        """(n, K): class weights summed over the rules that hold; those of the default if none does."""
        X = np.asarray(X)
        out, uncovered = np.zeros((len(X), len(self._classes()))), np.ones(len(X), dtype=bool)
        for rule, weights in zip(self.rules, self.class_weights, strict=False):
            held = rule.covers(X)
            out[held] += weights
            uncovered &= ~held
        out[uncovered] = self.class_weights[-1]
        return out

    def codes(self, X: Table) -> Codes:
        """The code of the class of each row."""
        if self.vote == "best":
            return self.best_first.codes(X)
        return self.votes(X).argmax(axis=1)

    def proba(self, X: Table) -> Matrix:
        """(n, K): the votes as shares, or the class shares of the best rule."""
        if self.vote == "best":
            return self.best_first.proba(X)
        votes = self.votes(X)
        return votes / votes.sum(axis=1, keepdims=True)

    def simplified(self) -> RuleSet:
        """A set that answers alike with fewer conditions."""
        return simplified_set(self)

    def _opening(self) -> str:
        return {"distribution": "vote: ", "best": "best: "}[self.vote]
