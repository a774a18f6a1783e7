"""Pruning of rules, term by term, and what answers where pruned rules overlap.

    pessimistic     of each rule drop the condition without which the upper confidence limit of its error is least, as
                    long as the limit does not rise; the rule of least limit answers first
    pruning set     rules in the order of their likely precision; of each drop the condition without which the whole
                    list errs least on the pruning set, as long as its error does not rise

A condition with two bounds is two terms. Then, from the last rule up, a rule goes without which the list errs no more;
the default is the commonest class of the rows that no rule covers. A rule shows the classes of the rows that it
answers, and says the commonest of them.

Quinlan (1987), Generating production rules from decision trees; Quinlan (1993), chapter 5.
"""

from __future__ import annotations

from dataclasses import dataclass, replace
from math import inf
from typing import Any

import numpy as np

from fivefold.core.types import Indices, Mask, Table, Target, Weights
from fivefold.partition.export.conditions import Condition
from fivefold.partition.export.conjunctions import Rule
from fivefold.partition.pruning.pruning_methods import extra_mistakes
from fivefold.rules.rule_lists.rule_lists import RuleList

LOSS_TOLERANCE = 1e-9  # differences of errors, which are sums of weights, up to this are rounding


@dataclass(frozen=True)
class PruningRows:
    """Rows on which rules are judged."""

    X: Any
    y: Any  # (n,) codes of the classes, or numbers
    w: Any
    classes: tuple[Any, ...] | None

    def answers(self, rules: tuple[Rule, ...]) -> Any:
        """(rules,) codes of their classes, or their numbers."""
        return np.array([rule.label if self.classes is None else self.classes.index(rule.label) for rule in rules])

    def loss(self, answers: Any, rows: Any) -> Any:
        """Weight times the mistake of answers to some rows: 0 or 1 for a class, the squared error of a number."""
        y, w = self.y[rows], self.w[rows]
        return w * (y != answers) if self.classes is not None else w * (y - answers) ** 2

    def counts(self, rows: Indices | Mask) -> Any:
        """(K,) weights of the classes among some rows."""
        return np.bincount(self.y[rows], self.w[rows], len(self.classes or ()))


def pruning_rows(rules: RuleList, X: Table, y: Target, w: Weights) -> PruningRows:
    """Rows with labels as the user has them, for these rules."""
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
    """Rules without the terms that the upper confidence limit of their error does not need."""
    if rows.classes is None:
        raise ValueError(
            "pruning='pessimistic' limits mistakes of classes; rules of numbers are pruned by pruning='pruning_set'"
        )
    kept: dict[Any, tuple[float, Rule]] = {}
    for rule in rules:
        limit, short = _shortest(rule, rows, confidence)
        key = frozenset(short.conditions), short.label
        if key not in kept:
            kept[key] = limit, short
    order = sorted(kept.values(), key=lambda pair: pair[0])
    return settle_overlaps(replace(rules, rules=tuple(rule for _, rule in order)), rows)


def prune_on_rows(rules: RuleList, rows: PruningRows) -> RuleList:
    """Rules without the terms that a pruning set does not need; the list errs no more on it than before."""
    ordered = replace(rules, rules=_by_precision(rules, rows) if rows.classes is not None else rules.rules)
    state = _PruningState(ordered, rows)
    for r in range(len(ordered)):
        state.shorten(r)
    return settle_overlaps(replace(ordered, rules=tuple(state.rules)), rows)


def settle_overlaps(rules: RuleList, rows: PruningRows) -> RuleList:
    """A list without rules that it does not need, with the default and the labels that the rows ask for."""
    if rows.classes is not None:
        lost: Mask = ~np.any(rules.covers(rows.X), axis=1)
        if lost.any():
            label = rows.classes[int(rows.counts(lost).argmax())]
            rules = replace(rules, default=replace(rules.default, label=label))
    state = _PruningState(rules, rows)
    for r in reversed(range(len(rules))):
        state.drop(r)
    kept = tuple(rule for rule, alive in zip(rules, state.alive, strict=True) if alive)
    return count_rules(replace(rules, rules=kept).simplified(), rows)


def count_rules(rules: RuleList, rows: PruningRows) -> RuleList:
    """Every rule with the rows that it answers; of classes it says the commonest of them."""
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
    """A rule with the conditions it needs, and the limit of its error."""
    conditions = rule_terms(rule)
    held = [c.holds(rows.X[:, c.column]) for c in conditions]
    wrong = rows.loss(rows.answers((rule,)), slice(None))

    def limit(masks: list[Any]) -> float:
        covered = np.logical_and.reduce(masks) if masks else np.ones(len(wrong), dtype=bool)
        N, e = float(rows.w[covered].sum()), float(wrong[covered].sum())
        return float(e + extra_mistakes(N, e, confidence)) / N if N > 0 else 1.0

    now = limit(held)
    while conditions:
        tried = np.array([limit(held[:i] + held[i + 1 :]) for i in range(len(held))])
        best = int(
            (tried <= tried.min() + LOSS_TOLERANCE).nonzero()[0][-1]
        )  # of equals the last: the question nearest the leaf
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
    box: dict[int, Condition] = {}
    for c in conditions:
        box[c.column] = box[c.column] & c if c.column in box else c
    return replace(rule, conditions=tuple(box.values()), leaf=-1)


def _by_precision(rules: RuleList, rows: PruningRows) -> tuple[Rule, ...]:
    """By the likely share of the label among the rows covered, (n_label + 1) / (n + K), the largest first."""
    K = len(rows.classes or ())
    likely = []
    for rule in rules:
        covered = rule.covers(rows.X)
        n = float(rows.w[covered].sum())
        likely.append((n - float(rows.loss(rows.answers((rule,)), covered).sum()) + 1) / (n + K))
    return tuple(rules[r] for r in sorted(range(len(rules)), key=lambda r: -likely[r]))


class _PruningState:
    """A list of rules on some rows while rules are shortened and dropped: which rule answers, and what that costs."""

    def __init__(self, rules: RuleList, rows: PruningRows) -> None:
        self.rules, self.rows, self.default = list(rules.rules), rows, len(rules)
        self.alive = np.ones(len(rules), dtype=bool)
        self.covers = rules.covers(rows.X).T.copy()  # (rules, n)
        self.fired = rules.fired(rows.X)
        self.answers = rows.answers((*rules, rules.default))
        self.now = rows.loss(self.answers[self.fired], slice(None))  # (n,)

    def shorten(self, r: int) -> None:
        """Drop conditions of rule r, each time the one without which the list errs least, while it errs no more."""
        conditions = rule_terms(self.rules[r])
        held = [c.holds(self.rows.X[:, c.column]) for c in conditions]
        own = self.rows.loss(self.answers[r], slice(None))
        while conditions:
            change, wider = [], []
            for i in range(len(held)):
                others = held[:i] + held[i + 1 :]
                covered = np.logical_and.reduce(others) if others else np.ones(len(self.fired), dtype=bool)
                new = covered & (self.fired > r)
                change.append(float((own[new] - self.now[new]).sum()))
                wider.append(covered)
            least = min(change)
            best = max(i for i in range(len(change)) if change[i] <= least + LOSS_TOLERANCE)
            if change[best] > LOSS_TOLERANCE:
                break
            new = wider[best] & (self.fired > r)
            self.covers[r], self.fired[new], self.now[new] = wider[best], r, own[new]
            del conditions[best], held[best]
        self.rules[r] = join_conditions(self.rules[r], conditions)

    def drop(self, r: int) -> None:
        """Drop rule r where the rules after it, or the default, answer its rows as well."""
        own = np.flatnonzero(self.fired == r)
        later = np.flatnonzero(self.alive[r + 1 :]) + r + 1
        took = self.covers[later][:, own]
        to = np.where(took.any(axis=0), later[took.argmax(axis=0)] if len(later) else self.default, self.default)
        after = self.rows.loss(self.answers[to], own)
        if float(after.sum()) <= float(self.now[own].sum()) + LOSS_TOLERANCE:
            self.alive[r], self.fired[own], self.now[own] = False, to, after
