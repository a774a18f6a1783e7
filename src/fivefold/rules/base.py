"""From conditions that were found to a list of rules: what a rule classifier stores and predicts.

    P(class k) = (w_k + 1) / (sum w + K)        w: class weights of the rows that reach a rule and satisfy it

The label of a rule is the most common class of those rows; that of the default, the most common class of the rows that
no rule covers, or of all rows if none is left.
"""

from __future__ import annotations

from collections.abc import Iterable, Iterator
from dataclasses import dataclass
from typing import Any

import numpy as np

from fivefold.core.admission.takes import Takes
from fivefold.core.console.fit_progress import fit_steps, warn_kept_best
from fivefold.core.estimators.supervised_learning import Classifier
from fivefold.core.types import Indices, Mask, Matrix, Table, Target, UserTable, Weights
from fivefold.partition.export.conditions import Condition
from fivefold.rules.rule_lists.rule_export import RuleExports
from fivefold.rules.rule_lists.rule_lists import BaseRules, Rule, RuleList, Schema
from fivefold.rules.rule_lists.simplification import merge_conditions

LAPLACE_COUNT = 1.0  # Laplace's correction: one row is added to each class


@dataclass(frozen=True)
class CandidateRule:
    """Conditions in the order they were found, and the rows of the table that satisfy them all."""

    conditions: tuple[Condition, ...]
    covers: Mask  # (n,) bool
    code: int = -1  # of the class it was found for; -1 for the most common class it covers

    def __len__(self) -> int:
        return len(self.conditions)


class OrderedRules(RuleExports, Classifier):
    """A rule classifier; `_candidate_lists(X, y, w)` yields better and better lists of rules."""

    takes = Takes(missing=True, huge=True, categories=True)

    def _candidate_lists(self, X: Table, y: Target, w: Weights) -> Iterator[list[CandidateRule]]:
        raise TypeError(f"{type(self).__name__} does not implement _candidate_lists")

    def _max_stages(self, y: Target) -> int:
        """Maximum number of lists that `_candidate_lists` yields."""
        raise TypeError(f"{type(self).__name__} does not implement _max_stages")

    def _model(self, clauses: list[CandidateRule], y: Target, w: Weights, schema: Schema) -> BaseRules:
        return build_rule_list(clauses, y, w, schema)

    def _fit(self, X: Table, y: Target, w: Weights) -> None:
        schema, done = Schema.of(self), 0
        self.model_ = self._model([], y, w, schema)
        with fit_steps(self, "stage", self._max_stages(y), X) as monitor:
            try:
                for clauses in self._candidate_lists(X, y, w):
                    self.model_ = self._model(clauses, y, w, schema)
                    done += 1
                    if monitor(self.model_, self.model_.conditions):
                        break
            except KeyboardInterrupt:
                warn_kept_best(self, done, "stage")

    def predict_proba(self, X: UserTable) -> Matrix:
        """Class shares among the training rows of the rule that fires, one row of each class added."""
        return self._scores(self._admit(X))

    def _scores(self, X: Table) -> Matrix:
        return self.model_.proba(X).astype(X.dtype, copy=False)


def build_rule_list(clauses: list[CandidateRule], y: Target, w: Weights, schema: Schema) -> RuleList:
    """The list of rules, each with the class weights of the rows that reach it; rules that no row reaches are out."""
    K, left, rules = len(schema.classes or ()), np.ones(len(y), dtype=bool), list[Rule]()
    for clause in clauses:
        rows = np.flatnonzero(left & clause.covers)
        if len(rows):
            rules.append(count_rule(clause.conditions, rows, y, w, schema))
        left[rows] = False
    rest = np.flatnonzero(left)
    if len(rest):
        return RuleList(tuple(rules), count_rule((), rest, y, w, schema), schema, smoothing=LAPLACE_COUNT)
    common = int(np.bincount(y, w, K).argmax())
    default = Rule((), schema.label(common), tuple(np.eye(K)[common].tolist()))
    return RuleList(tuple(rules), default, schema, smoothing=LAPLACE_COUNT)


def category_columns(estimator: Any) -> Iterable[int]:
    """The columns that hold categories."""
    return vars(estimator)["categories_in_"].values if "categories_in_" in vars(estimator) else ()


def count_rule(
    conditions: Iterable[Condition], rows: Indices, y: Target, w: Weights, schema: Schema, code: int = -1
) -> Rule:
    """A rule with the class weights of the rows it covers; its label is the most common class, or the one given."""
    counts = np.bincount(y[rows], w[rows], len(schema.classes or ()))
    label = schema.label(int(counts.argmax()) if code < 0 else code)
    merged = tuple(merge_conditions(conditions).values())
    return Rule(merged, label, tuple(counts.tolist()), float(counts.sum()), len(rows))
