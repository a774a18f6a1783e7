"""Rules as values: conjunctions with an answer, in an ordered list or an unordered set.

    list    if R_1 then c_1, else if R_2 then c_2, ..., else the default           the first rule that holds answers
    set     every rule that holds votes with the classes it covered, or the best rule answers; none: the default

How a learner uses them: conditions are `Condition(column, low, high, levels, missing)`, and
a learner that does not let gaps pass writes `missing=False`. Rules hold labels as y has them, `classes_[code].item()`,
or numbers; `value` is the weight of each class among the rows a rule answers, from which come probabilities.

    schema = Schema.of(self)                                        names, categories and classes, in `_fit` too
    rule = Rule((Condition(2, high=2.45, missing=False),), label="setosa", value=(50.0, 0.0), weight=50.0, rows=50)
    self.model_ = RuleList((rule, ...), default=Rule((), "virginica", value=(3.0, 40.0)), schema=schema)
    self.model_.fired(X), .predict(X), .codes(X), .proba(X), .covers(X)
    class MyRules(RuleExports, Classifier): ...        from rule_export: to_text, to_rules, to_sql, to_dot, to_frame,
                                                       explain; `rules_` is `model_`, or a property of the learner

X is admitted: floats with NaN where missing, codes in columns of categories. `str(rules)` is exact text, which
`rule_parser.parse` reads back; `simplified()` says the same in fewer words. Where `_scores` is `model_.proba(X)`, give
every rule a `value` whose largest entry is its label's.
"""

from __future__ import annotations

from dataclasses import dataclass, field, replace
from functools import cached_property
from typing import Any, Literal, Self

import numpy as np

from fivefold.core.parallel import map_parts
from fivefold.core.types import Table, UserTable
from fivefold.partition.export.conditions import ColumnNames
from fivefold.partition.export.conditions import Condition as Condition
from fivefold.partition.export.conjunctions import Rule as Rule
from fivefold.partition.export.conjunctions import RuleCollection
from fivefold.partition.export.text_formats import exact_digits, quote_name, text_literal
from fivefold.rules.rule_lists.simplification import simplified_list, simplified_set


@dataclass(frozen=True)
class Schema:
    """Names of the columns, of their categories in the order of their codes, and of the classes."""

    columns: tuple[str, ...]
    categories: dict[int, tuple[Any, ...]] = field(default_factory=dict)
    classes: tuple[Any, ...] | None = None  # None for numbers

    missing = True  # conditions say whether a missing value passes

    @classmethod
    def of(cls, estimator: Any, feature_names: Any = None) -> Schema:
        """The names an estimator saw in fit; x0, x1, ... where there were none."""
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
        """Of the columns, in quotes where they are not one word."""
        return tuple(map(quote_name, self.columns))

    def values(self, column: int, levels: frozenset[int]) -> list[Any]:
        """The categories of these codes; the codes themselves where they have no names."""
        known = self.categories.get(column)
        return [known[code] if known is not None else code for code in sorted(levels)]

    def label(self, code: int) -> Any:
        """The class of this code."""
        if self.classes is None:
            raise ValueError("these rules answer with numbers and have no classes")
        return self.classes[code]

    def level_names(self, column: int, levels: frozenset[int]) -> list[str]:
        """The categories of these codes as they are written."""
        return [text_literal(value) for value in self.values(column, levels)]

    def number(self, value: float) -> str:
        """A bound in digits that read back as the same double."""
        return exact_digits(value)


@dataclass(frozen=True)
class BaseRules(RuleCollection):
    """Rules, the default if none holds, and the names of columns and classes."""

    rules: tuple[Rule, ...]
    default: Rule
    schema: Schema
    smoothing: float = field(default=0.0, kw_only=True)  # added to the weight of every class of every rule

    @property
    def words(self) -> ColumnNames:
        """Names and numbers as they are written: exactly."""
        return self.schema

    @property
    def conditions(self) -> int:
        """Number of conditions of all rules."""
        return sum(map(len, self.rules))

    @property
    def supports(self) -> Any:
        """Percent of the weight that each rule covers, the default last."""
        weight = np.array([rule.weight for rule in (*self.rules, self.default)])
        return 100 * weight / weight.sum() if weight.sum() > 0 else weight

    def codes(self, X: Table) -> Any:
        """The code of the class of each row."""
        raise TypeError(f"{type(self).__name__} does not say which rule answers")

    def predict(self, X: UserTable) -> Any:
        """The label of each row, or its number."""
        return np.array(self._classes())[self.codes(X)]

    def renamed(self, schema: Schema) -> Self:
        """The same rules with other names of columns."""
        return replace(self, schema=schema)

    def evidence(self, rule: Rule) -> str:
        """The rows a rule was learned from and the weights of their classes, exactly."""
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
            raise ValueError("these rules answer with numbers and have no classes; use predict")
        return self.schema.classes

    def _code(self) -> dict[Any, int]:
        return {label: code for code, label in enumerate(self._classes())}

    @cached_property
    def _weights(self) -> Any:
        """(rules + 1, K): the weights of the classes, the default last; all on its label where a rule has none."""
        code, K = self._code(), len(self._classes())
        out = np.zeros((len(self.rules) + 1, K))
        for r, rule in enumerate((*self.rules, self.default)):
            if sum(rule.value) > 0:
                out[r] = np.add(rule.value, self.smoothing)
            else:
                out[r, code[rule.label]] = 1.0
        return out


@dataclass(frozen=True)
class RuleList(BaseRules):
    """An ordered list: the first rule that holds answers, the default where none does."""

    def fired(self, X: Table) -> Any:
        """The index of the rule that answers each row; the number of rules where the default does."""
        X = np.asarray(X)
        out = np.full(len(X), len(self.rules))

        def block(lo: int, hi: int) -> None:
            open_ = np.arange(lo, hi)
            for r, rule in enumerate(self.rules):
                if not len(open_):
                    break
                out[rule.among(X, open_)] = r
                open_ = open_[out[open_] != r]

        map_parts(block, len(X))
        return out

    def predict(self, X: UserTable) -> Any:
        """The label of each row, or its number."""
        labels = [rule.label for rule in (*self.rules, self.default)]
        return np.array(labels)[self.fired(X)]

    def codes(self, X: Table) -> Any:
        """The code of the class of each row."""
        code = self._code()
        return np.array([code[rule.label] for rule in (*self.rules, self.default)])[self.fired(X)]

    def proba(self, X: Table) -> Any:
        """(n, K): shares of the classes among the rows that the answering rule covered."""
        shares = self._weights / self._weights.sum(axis=1, keepdims=True)
        return shares[self.fired(X)]

    def simplified(self, *, labels_only: bool = False) -> RuleList:
        """The same answers in fewer words; with `labels_only` probabilities may change."""
        return simplified_list(self, labels_only=labels_only)


@dataclass(frozen=True)
class RuleSet(BaseRules):
    """An unordered set: every rule that holds votes with the classes it covered, or the best of them answers."""

    vote: Literal["distribution", "best"] = "distribution"

    @cached_property
    def best_first(self) -> RuleList:
        """The rules by the likely share of their label, (w_label + 1) / (w + K), the largest first."""
        code, K = self._code(), len(self._classes())
        of = np.array([code[rule.label] for rule in self.rules], dtype=np.int64)
        W = self._weights[:-1]
        quality = (W[np.arange(len(W)), of] + 1) / (W.sum(axis=1) + K)
        order = np.argsort(-quality, kind="stable")
        return RuleList(tuple(self.rules[r] for r in order), self.default, self.schema, smoothing=self.smoothing)

    def votes(self, X: Table) -> Any:
        """(n, K): the summed weights of the classes under the rules that hold; those of the default where none does."""
        X = np.asarray(X)
        out, lost = np.zeros((len(X), len(self._classes()))), np.ones(len(X), dtype=bool)
        for rule, weights in zip(self.rules, self._weights, strict=False):
            held = rule.covers(X)
            out[held] += weights
            lost &= ~held
        out[lost] = self._weights[-1]
        return out

    def codes(self, X: Table) -> Any:
        """The code of the class of each row."""
        if self.vote == "best":
            return self.best_first.codes(X)
        return self.votes(X).argmax(axis=1)

    def proba(self, X: Table) -> Any:
        """(n, K): the votes as shares, or those of the best rule."""
        if self.vote == "best":
            return self.best_first.proba(X)
        votes = self.votes(X)
        return votes / votes.sum(axis=1, keepdims=True)

    def simplified(self) -> RuleSet:
        """The same answers in fewer words."""
        return simplified_set(self)

    def _opening(self) -> str:
        return {"distribution": "vote: ", "best": "best: "}[self.vote]
