"""Rules as text, in SQL, for Graphviz and as a table.

A list is one CASE expression of SQL, with one WHEN per rule. A set whose rules vote is a nested query: the inner query
adds up the votes for each class in the order of the rules, the outer one takes the largest sum.
"""

from __future__ import annotations

from collections.abc import Callable, Collection
from dataclasses import dataclass
from typing import Any, Literal

import numpy as np
from sklearn.utils.validation import check_is_fitted

from fivefold.core.types import Array, Table, UserTable
from fivefold.partition.export.conditions import Condition
from fivefold.partition.export.conjunctions import Rule
from fivefold.partition.export.text_formats import (
    dot_graph,
    dot_label,
    exact_digits,
    sql_condition,
    sql_literal,
    sql_name,
    sql_select,
    text_literal,
)
from fivefold.rules.rule_lists.rule_lists import BaseRules, RuleList, RuleSet, Schema


@dataclass(frozen=True)
class Explanation:
    """Why a row got its answer: the rule that answered, the rules that failed before it and why, the row's values."""

    fired: tuple[int, ...]  # rules that answered; none for the default
    rule: Rule
    steps: tuple[str, ...]
    text: str

    def __str__(self) -> str:
        return self.text


def to_sql(
    rules: BaseRules, *, table: str | None = None, output: Literal["predict", "predict_proba", "apply"] = "predict"
) -> str:
    """Rules as an SQL expression, or with `table` as a query; NULL is a missing value.

    `output`: "predict" gives the label, "predict_proba" one column of probabilities per class, "apply" the index of the
    rule that fires. A category that fit did not see counts as missing.
    """
    if isinstance(rules, RuleSet):
        if rules.vote == "distribution":
            return _sql_votes(rules, table, output)
        rules = rules.best_first
    columns = SQL_OUTPUTS[output](rules)
    whens = [_sql_conjunction(rules, rule) for rule in rules]
    return sql_select([(_case(whens, cells), name) for name, cells in columns], table)


def to_dot(rules: BaseRules) -> str:
    """Rules in Graphviz's DOT language: conditions in ovals, labels in boxes; a list is a chain of conditions."""
    lines: list[str] = []
    chain, end = isinstance(rules, RuleList), len(rules)
    for r, rule in enumerate((*rules, rules.default)):
        label = dot_label(text_literal(rule.label), rules.evidence(rule).strip(" ()"))
        lines.append(f"  a{r} [shape=box, label={label}];")
        if r == end:
            break
        lines.append(f"  q{r} [shape=oval, label={dot_label(rules.conjunction(rule) + '?')}];")
        lines.append(f'  q{r} -> a{r} [label="yes"];')
        if chain:
            lines.append(f'  q{r} -> {f"q{r + 1}" if r + 1 < end else f"a{end}"} [label="no"];')
    return dot_graph("rules", lines)


def to_frame(rules: BaseRules) -> Any:
    """Rules as a pandas frame, one row per rule: conditions, label, rows, weight, support in percent, precision."""
    try:
        import pandas as pd
    except ImportError as error:
        raise ImportError("a frame of rules needs pandas: pip install pandas; or use to_text") from error
    all_rules = (*rules.rules, rules.default)
    columns = {
        "if": [*(rules.conjunction(rule) for rule in rules), "otherwise"],
        "then": [rule.label for rule in all_rules],
        "conditions": [len(rule) for rule in all_rules],
        "rows": [rule.rows for rule in all_rules],
        "weight": [rule.weight for rule in all_rules],
        "support": rules.supports,
    }
    if rules.schema.classes is not None:
        code = {label: k for k, label in enumerate(rules.schema.classes)}
        columns["precision"] = [
            rule.value[code[rule.label]] / sum(rule.value) if sum(rule.value) > 0 else np.nan for rule in all_rules
        ]
    return pd.DataFrame(columns)


def explain(rules: BaseRules, x: Array) -> Explanation:
    """Which rule answers a row (columns,), which rules failed before it, and the values they looked at."""
    X = np.asarray(x)[None]
    held = rules.covers(X)[0]
    if isinstance(rules, RuleSet):
        if rules.vote == "best":
            return explain(rules.best_first, x)
        fired = tuple(np.flatnonzero(held).tolist())
    else:
        fired = tuple(np.flatnonzero(held)[:1].tolist())
    steps = []
    for r, rule in enumerate(rules):
        if isinstance(rules, RuleList) and fired and r > fired[0]:
            break
        if r in fired:
            shown = _conditions_and_values(rules, rule, X[0])
            steps.append(f"rule {r + 1} holds: {shown}, so {text_literal(rule.label)}")
        else:
            failed = next(c for c in rule.conditions if not c.holds(X[:, c.column])[0])
            value = _value_text(rules.schema, failed, X[0])
            steps.append(f"rule {r + 1} fails: not {failed.text(rules.schema)}  ({value})")
    if not fired:
        steps.append(f"no rule holds, so {text_literal(rules.default.label)}")
    answer = rules.rules[fired[0]] if fired else rules.default
    if len(fired) > 1:
        steps.append(f"the votes say {text_literal(rules.predict(X)[0].item())}")
    return Explanation(fired, answer, tuple(steps), "\n".join(steps))


class RuleExports:
    """Fitted rules as text, in SQL, for Graphviz and as a table.

    Parameters
    ----------
    max_conditions
        maximum number of conditions per rule; None for no limit.
    """

    model_: Any  # the rules, unless a learner stores them within another model
    _admit: Callable[[UserTable], Table]

    @property
    def rules_(self) -> BaseRules:
        """The rules: a RuleList or a RuleSet."""
        return self.model_

    def to_rules(self, *, feature_names: Collection[str] | None = None) -> BaseRules:
        """The rules as values, which can be printed, parsed, simplified and asked to predict."""
        check_is_fitted(self)
        rules = self.rules_
        return rules if feature_names is None else rules.renamed(Schema.of(self, feature_names))

    def to_text(self, *, feature_names: Collection[str] | None = None, evidence: bool = True) -> str:
        """The rules, one per line, in exact digits; with `evidence`, the rows and classes they were learned from."""
        return self.to_rules(feature_names=feature_names).text(evidence=evidence)

    def to_sql(
        self,
        *,
        feature_names: Collection[str] | None = None,
        table: str | None = None,
        output: Literal["predict", "predict_proba", "apply"] = "predict",
    ) -> str:
        """The rules as an SQL expression, or with `table` as a query; NULL is a missing value."""
        return to_sql(self.to_rules(feature_names=feature_names), table=table, output=output)

    def to_dot(self, *, feature_names: Collection[str] | None = None) -> str:
        """The rules in Graphviz's DOT language."""
        return to_dot(self.to_rules(feature_names=feature_names))

    def to_frame(self, *, feature_names: Collection[str] | None = None) -> Any:
        """The rules as a pandas frame, one row per rule."""
        return to_frame(self.to_rules(feature_names=feature_names))

    def explain(self, X: UserTable, *, feature_names: Collection[str] | None = None) -> Explanation:
        """Why a row, a table of shape (1, columns), gets its answer: the rule that holds and those that fail."""
        admitted = self._admit(X)
        if len(admitted) != 1:
            raise ValueError(f"explain takes one row, a table of shape (1, columns); got {len(admitted)} rows")
        return explain(self.to_rules(feature_names=feature_names), admitted[0])


def _predictions(rules: BaseRules) -> list[tuple[str, list[str]]]:
    return [("prediction", [sql_literal(rule.label) for rule in (*rules, rules.default)])]


def _probabilities(rules: BaseRules) -> list[tuple[str, list[str]]]:
    if rules.schema.classes is None:
        raise ValueError("output='predict_proba' needs rules that predict classes; these predict numbers")
    shares = rules.class_shares()
    return [
        (f"p_{label}", [sql_literal(float(v)) for v in shares[:, k]]) for k, label in enumerate(rules.schema.classes)
    ]


# output -> columns of rules of which one answers: the name of each, and its value for every rule, the default last
SQL_OUTPUTS: dict[str, Callable[[BaseRules], list[tuple[str, list[str]]]]] = {
    "predict": _predictions,
    "predict_proba": _probabilities,
    "apply": lambda rules: [("rule", [str(r) for r in range(len(rules) + 1)])],
}


def _case(whens: list[str], cells: list[str]) -> str:
    if not whens:
        return cells[-1]
    branches = " ".join(f"WHEN {when} THEN {cell}" for when, cell in zip(whens, cells, strict=False))
    return f"CASE {branches} ELSE {cells[-1]} END"


def _sql_conjunction(rules: BaseRules, rule: Rule) -> str:
    return " AND ".join(f"({sql_condition(c, rules.schema)})" for c in rule.conditions) or "1"


def _sql_votes(rules: RuleSet, table: str | None, output: str) -> str:
    if table is None or output == "apply":
        raise ValueError(
            "voting rules are an SQL query, not an expression, and no single rule answers: pass table='name' and "
            "output='predict' or 'predict_proba', or use a RuleList"
        )
    classes, places = range(len(rules.schema.classes or ())), range(len(rules))
    held = ", ".join(
        f"CASE WHEN {_sql_conjunction(rules, rule)} THEN 1 ELSE 0 END AS r{i}" for i, rule in enumerate(rules)
    )
    none = " + ".join([f"r{i}" for i in places] or ["0"]) + " = 0"
    votes = []
    for k in classes:
        weights = [sql_literal(float(v)) for v in rules.class_weights[:, k]]
        added = " + ".join(["0.0", *(f"r{i} * {weights[i]}" for i in places)])
        votes.append(f"CASE WHEN {none} THEN {weights[-1]} ELSE {added} END AS v{k}")
    listed = ",\n".join(SQL_VOTE_OUTPUTS[output](rules))
    return f"SELECT {listed}\nFROM (SELECT {', '.join(votes)}\nFROM (SELECT {held or '0'}\nFROM {sql_name(table)}))"


def _most_votes(rules: RuleSet) -> list[str]:
    classes = rules.schema.classes or ()
    ends = [" AND ".join(f"v{k} >= v{j}" for j in range(k + 1, len(classes))) for k in range(len(classes) - 1)]
    return [_case(ends, [sql_literal(label) for label in classes]) + ' AS "prediction"']


def _vote_shares(rules: RuleSet) -> list[str]:
    classes = rules.schema.classes or ()
    total = " + ".join(f"v{k}" for k in range(len(classes)))
    return [f"v{k} / ({total}) AS {sql_name(f'p_{label}')}" for k, label in enumerate(classes)]


# output -> columns of a rule set, from the votes v0, v1, ... of the classes
SQL_VOTE_OUTPUTS: dict[str, Callable[[RuleSet], list[str]]] = {"predict": _most_votes, "predict_proba": _vote_shares}


def _conditions_and_values(rules: BaseRules, rule: Rule, x: Array) -> str:
    parts = (f"{c.text(rules.schema)}  ({_value_text(rules.schema, c, x)})" for c in rule.conditions)
    return " and ".join(parts) or "always"


def _value_text(schema: Schema, c: Condition, x: Array) -> str:
    value = x[c.column]
    if value != value:
        return "missing"
    known = schema.categories.get(c.column)
    return exact_digits(float(value)) if known is None else text_literal(known[int(value)])
