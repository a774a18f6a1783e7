"""Pruning of rules, term by term, and which rule answers where pruned rules overlap.

    pessimistic     from each rule drop the term without which the upper confidence limit of its error is least, while
                    the limit does not rise; the rule with the least limit answers first
    pruning set     rules in decreasing order of estimated precision; from each drop the term without which the whole
                    list errs least on the pruning set, while its error does not rise

A condition with two bounds is two terms. Then rules without which the list errs no more are dropped, from the last to
the first; the default is the most common class of the rows that no rule covers. Each rule keeps the class weights of
the rows that it answers, and predicts the most common of their classes.

Quinlan (1987), Generating production rules from decision trees; Quinlan (1993), chapter 5.
"""

from __future__ import annotations

from dataclasses import dataclass, replace
from math import inf
from typing import Any

import numpy as np

from fivefold.core.types import Indices, Mask, Table, Target, Vector, Weights
from fivefold.partition.export.conditions import Condition
from fivefold.partition.export.conjunctions import Rule
from fivefold.partition.pruning.pruning_methods import extra_mistakes
from fivefold.rules.rule_lists.rule_lists import RuleList
from fivefold.rules.rule_lists.simplification import merge_conditions

LOSS_TOLERANCE = 1e-9  # errors, which are sums of weights, that differ by at most this are equal up to rounding

Rows = Indices | Mask | slice


@dataclass(frozen=True)
class PruningRows:
    """Rows on which rules are judged."""

    X: Table
    y: Target  # (n,) codes of the classes, or numbers
    w: Weights
    classes: tuple[Any, ...] | None  # labels of any type; None for numbers

    def answers(self, rules: tuple[Rule, ...]) -> Target:
        """(rules,) the codes of their labels, or the numbers that they predict."""
        return np.array([rule.label if self.classes is None else self.classes.index(rule.label) for rule in rules])

    def loss(self, answers: Target, rows: Rows) -> Vector:
        """Weighted loss of answers to some rows: 0 or 1 for a class, the squared error for a number."""
        y, w = self.y[rows], self.w[rows]
        return w * (y != answers) if self.classes is not None else w * (y - answers) ** 2

    def counts(self, rows: Rows) -> Vector:
        """(K,) class weights among some rows."""
        return np.asarray(np.bincount(self.y[rows], self.w[rows], len(self.classes or ())), dtype=np.float64)


def pruning_rows(rules: RuleList, X: Table, y: Target, w: Weights) -> PruningRows:
    """Rows to judge these rules on, from labels as the user has them."""
    y, classes = np.asarray(y), rules.schema.classes
    if len(y) != len(X):
        raise ValueError(f"X has {len(X)} rows and y {len(y)}: give one label or number per row")
    if classes is None:
        return PruningRows(X, y.astype(np.float64), w, None)
    code = {label: k for k, label in enumerate(classes)}
    try:
        return PruningRows(X, np.array([code[label] for label in y.tolist()], dtype=np.int64), w, classes)
    except KeyError as new:
        known = ", ".join(map(repr, classes))
        raise ValueError(f"y holds {new.args[0]!r}, which is no class of the tree; those are {known}") from None


def prune_by_limits(rules: RuleList, rows: PruningRows, confidence: float = 0.25) -> RuleList:
    """Rules without the terms that do not lower the upper confidence limit of their error."""
    if rows.classes is None:
        raise ValueError(
            "pruning='pessimistic' bounds the errors of classes; rules of numbers are pruned by pruning='pruning_set'"
        )
    kept: dict[tuple[frozenset[Condition], Any], tuple[float, Rule]] = {}  # by conditions and label
    for rule in rules:
        limit, short = _shortest(rule, rows, confidence)
        key = frozenset(short.conditions), short.label
        if key not in kept:
            kept[key] = limit, short
    order = sorted(kept.values(), key=lambda pair: pair[0])
    return settle_overlaps(replace(rules, rules=tuple(rule for _, rule in order)), rows)


def prune_on_rows(rules: RuleList, rows: PruningRows) -> RuleList:
    """Rules without the terms that do not help on a pruning set; the list errs no more on it than before."""
    ordered = replace(rules, rules=_by_precision(rules, rows) if rows.classes is not None else rules.rules)
    state = _PruningState(ordered, rows)
    for r in range(len(ordered)):
        state.shorten(r)
    return settle_overlaps(replace(ordered, rules=tuple(state.rules)), rows)


def settle_overlaps(rules: RuleList, rows: PruningRows) -> RuleList:
    """The list without the rules that it does not need; its default and labels are those most common among the rows."""
    if rows.classes is not None:
        uncovered: Mask = ~np.any(rules.covers(rows.X), axis=1)
        if uncovered.any():
            label = rows.classes[int(rows.counts(uncovered).argmax())]
            rules = replace(rules, default=replace(rules.default, label=label))
    state = _PruningState(rules, rows)
    for r in reversed(range(len(rules))):
        state.drop(r)
    kept = tuple(rule for rule, alive in zip(rules, state.alive, strict=True) if alive)
    return count_rules(replace(rules, rules=kept).simplified(), rows)


def count_rules(rules: RuleList, rows: PruningRows) -> RuleList:
    """Every rule with the rows that it answers; if they have classes, its label is the most common of them."""
    fired = rules.fired(rows.X)
    found = []
    for r, rule in enumerate((*rules, rules.default)):
        own = fired == r
        rule = replace(rule, rows=int(own.sum()), weight=float(rows.w[own].sum()))
        if rows.classes is not None:
            held = rows.counts(own)
            label = rows.classes[int(held.argmax())] if own.any() else rule.label
            rule = replace(rule, value=tuple(held.tolist()), label=label)
        found.append(rule)
    return replace(rules, rules=tuple(found[:-1]), default=found[-1])


def _shortest(rule: Rule, rows: PruningRows, confidence: float) -> tuple[float, Rule]:
    """The upper confidence limit of a rule's error, and the rule with the conditions it needs."""
    conditions = rule_terms(rule)
    held = [c.holds(rows.X[:, c.column]) for c in conditions]
    wrong = rows.loss(rows.answers((rule,)), slice(None))

    def limit(masks: list[Mask]) -> float:
        covered = np.logical_and.reduce(masks) if masks else np.ones(len(wrong), dtype=bool)
        N, e = float(rows.w[covered].sum()), float(wrong[covered].sum())
        return float(e + extra_mistakes(N, e, confidence)) / N if N > 0 else 1.0

    now = limit(held)
    while conditions:
        tried = np.array([limit(held[:i] + held[i + 1 :]) for i in range(len(held))])
        ties = np.flatnonzero(tried <= tried.min() + LOSS_TOLERANCE)
        best = int(ties[-1])  # the term nearest the leaf
        if tried[best] > now + LOSS_TOLERANCE:
            break
        now = float(tried[best])
        del conditions[best], held[best]
    return now, join_conditions(rule, conditions)


def rule_terms(rule: Rule) -> list[Condition]:
    """The conditions of a rule, each with at most one bound."""
    out: list[Condition] = []
    for c in rule.conditions:
        two = c.levels is None and c.low > -inf and c.high < inf
        out += [replace(c, high=inf), replace(c, low=-inf)] if two else [c]
    return out


def join_conditions(rule: Rule, conditions: list[Condition]) -> Rule:
    """The rule with these conditions, merged to one per column."""
    return replace(rule, conditions=tuple(merge_conditions(conditions).values()), leaf=-1)


def _by_precision(rules: RuleList, rows: PruningRows) -> tuple[Rule, ...]:
    """The rules in decreasing order of the estimated share of their label, (n_label + 1) / (n + K), of covered rows."""
    K = len(rows.classes or ())
    precision = []
    for rule in rules:
        covered = rule.covers(rows.X)
        n = float(rows.w[covered].sum())
        precision.append((n - float(rows.loss(rows.answers((rule,)), covered).sum()) + 1) / (n + K))
    return tuple(rules[r] for r in sorted(range(len(rules)), key=lambda r: -precision[r]))


class _PruningState:
    """A list of rules while they are shortened and dropped: which rule answers each row, and the loss of its answer."""

    def __init__(self, rules: RuleList, rows: PruningRows) -> None:
        self.rules, self.rows, self.default = list(rules.rules), rows, len(rules)
        self.alive = np.ones(len(rules), dtype=bool)
        self.covers = rules.covers(rows.X).T.copy()  # (rules, n)
        self.fired = rules.fired(rows.X)
        self.answers = rows.answers((*rules, rules.default))
        self.losses = rows.loss(self.answers[self.fired], slice(None))  # (n,)

    def shorten(self, r: int) -> None:
        """Drop terms of rule r, each time the one without which the list errs least, while it errs no more."""
        conditions = rule_terms(self.rules[r])
        held = [c.holds(self.rows.X[:, c.column]) for c in conditions]
        own = self.rows.loss(self.answers[r], slice(None))
        while conditions:
            change, wider = [], []
            for i in range(len(held)):
                others = held[:i] + held[i + 1 :]
                covered = np.logical_and.reduce(others) if others else np.ones(len(self.fired), dtype=bool)
                new = covered & (self.fired > r)
                change.append(float((own[new] - self.losses[new]).sum()))
                wider.append(covered)
            least = min(change)
            best = max(i for i in range(len(change)) if change[i] <= least + LOSS_TOLERANCE)
            if change[best] > LOSS_TOLERANCE:
                break
            new = wider[best] & (self.fired > r)
            self.covers[r], self.fired[new], self.losses[new] = wider[best], r, own[new]
            del conditions[best], held[best]
        self.rules[r] = join_conditions(self.rules[r], conditions)

    def drop(self, r: int) -> None:
        """Drop rule r if the rules after it, or the default, answer its rows no worse."""
        own = np.flatnonzero(self.fired == r)
        later = np.flatnonzero(self.alive[r + 1 :]) + r + 1
        took = self.covers[later][:, own]
        to = np.where(took.any(axis=0), later[took.argmax(axis=0)] if len(later) else self.default, self.default)
        after = self.rows.loss(self.answers[to], own)
        if float(after.sum()) <= float(self.losses[own].sum()) + LOSS_TOLERANCE:
            self.alive[r], self.fired[own], self.losses[own] = False, to, after
