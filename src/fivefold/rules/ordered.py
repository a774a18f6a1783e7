"""From conditions that were found to a list of rules: what a classifier by rules holds and answers.

    P(class k) = (w_k + 1) / (sum w + K)        w: classes of the rows that reach a rule and satisfy it

The label of a rule is the commonest class of those rows, and so is that of the default among the rows that no rule
covers; where none is left over it is the commonest class of all.
"""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass
from typing import Any

import numpy as np

from fivefold.core.data import Takes
from fivefold.core.progress import kept_best, steps
from fivefold.core.supervised import Classifier
from fivefold.partition.conditions import Condition
from fivefold.rules.export import RuleExports
from fivefold.rules.values import Rule, RuleList, Rules, Schema

SMOOTHING = 1.0  # Laplace: a row of each class is thought to be there


@dataclass(frozen=True)
class Clause:
    """Conditions in the order they were found, and the rows of the table that satisfy them all."""

    conditions: tuple[Condition, ...]
    covers: Any  # (n,) bool
    code: int = -1  # of the class it was found for; -1 for the commonest it covers

    def __len__(self) -> int:
        return len(self.conditions)


class OrderedRules(RuleExports, Classifier):
    """A classifier by rules; `_stages(X, y, w)` yields better and better lists of clauses."""

    takes = Takes(missing=True, huge=True, categories=True)

    def _stages(self, X: Any, y: Any, w: Any) -> Iterator[list[Clause]]:
        raise TypeError(f"{type(self).__name__} does not say how to find rules")

    def _most(self, y: Any) -> int:
        """How many stages there are at most."""
        raise TypeError(f"{type(self).__name__} does not say how many stages it has")

    def _model(self, clauses: list[Clause], y: Any, w: Any, schema: Schema) -> Rules:
        return listed(clauses, y, w, schema)

    def _fit(self, X: Any, y: Any, w: Any) -> None:
        schema, done = Schema.of(self), 0
        self.model_ = self._model([], y, w, schema)
        with steps(self, "stage", self._most(y), X) as monitor:
            try:
                for clauses in self._stages(X, y, w):
                    self.model_ = self._model(clauses, y, w, schema)
                    done += 1
                    if monitor(self.model_, self.model_.conditions):
                        break
            except KeyboardInterrupt:
                kept_best(self, done, "stage")

    def predict_proba(self, X: Any) -> Any:
        """Shares of the classes among the rows that the answering rule covered, one row of each class added."""
        return self._scores(self._admit(X))

    def _scores(self, X: Any) -> Any:
        return self.model_.proba(X).astype(X.dtype, copy=False)

    def _categories(self) -> Any:
        return vars(self)["categories_in_"].values if "categories_in_" in vars(self) else ()


def listed(clauses: list[Clause], y: Any, w: Any, schema: Schema) -> RuleList:
    """The list of rules, each with the classes of the rows that reach it; rules that no row reaches are left out."""
    K, left, rules = len(schema.classes or ()), np.ones(len(y), dtype=bool), list[Rule]()
    for clause in clauses:
        rows = np.flatnonzero(left & clause.covers)
        if len(rows):
            rules.append(counted(clause.conditions, rows, y, w, schema))
        left[rows] = False
    rest = np.flatnonzero(left)
    if len(rest):
        return RuleList(tuple(rules), counted((), rest, y, w, schema), schema, smoothing=SMOOTHING)
    common = int(np.bincount(y, w, K).argmax())
    default = Rule((), schema.label(common), tuple(np.eye(K)[common].tolist()))
    return RuleList(tuple(rules), default, schema, smoothing=SMOOTHING)


def merged(conditions: Any) -> tuple[Condition, ...]:
    """One condition a column, in the order in which the columns were first asked for."""
    held: dict[int, Condition] = {}
    for c in conditions:
        held[c.column] = held[c.column] & c if c.column in held else c
    return tuple(held.values())


def counted(conditions: Any, rows: Any, y: Any, w: Any, schema: Schema, code: int = -1) -> Rule:
    """A rule with the classes of the rows it answers; its label is the commonest of them, or the one given."""
    counts = np.bincount(y[rows], w[rows], len(schema.classes or ()))
    label = schema.label(int(counts.argmax()) if code < 0 else code)
    return Rule(merged(conditions), label, tuple(counts.tolist()), float(counts.sum()), len(rows))
