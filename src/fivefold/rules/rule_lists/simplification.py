"""Rules that answer alike with fewer conditions.

    within a rule       the conditions on a column become one; conditions that always hold are dropped
    idle rules          a rule whose conditions contradict one another, or that covers only what an earlier rule covers,
                        is dropped; a rule without conditions becomes the default
    in a list           a condition of rule R on column j is dropped if every row that fails it is answered by earlier
                        rules: the other conditions of these rules follow from those of R, and one of their conditions
                        on column j holds wherever that of R fails
    in a voting set     rules with the same conditions become one, if their votes add up exactly

Every row is answered by the same rule as before, so probabilities do not change. With `labels_only` the rules at the
end of a list that predict what the default predicts are dropped too, and their rows count for the default.
"""

from __future__ import annotations

from collections.abc import Iterable
from dataclasses import replace
from math import inf
from typing import TYPE_CHECKING

from fivefold.partition.export.conditions import Condition
from fivefold.partition.export.conjunctions import Rule

if TYPE_CHECKING:  # they call these functions to simplify themselves
    from fivefold.rules.rule_lists.rule_lists import RuleList, RuleSet

Box = dict[int, Condition]  # one condition per column


def simplified_list(rules: RuleList, *, labels_only: bool = False) -> RuleList:
    """A list that answers alike."""
    kept: list[tuple[Rule, Box]] = []
    for rule in rules:
        box = merge_rule(rule)
        if box is None or any(box_implies(box, before) for _, before in kept):
            continue
        box = _needed(box, [before for _, before in kept])
        kept.append((replace(rule, conditions=tuple(box.values())), box))
        if not box:  # it covers every row: later rules never answer
            break
    found, default = [rule for rule, _ in kept], rules.default
    if found and not found[-1].conditions:
        default = found.pop()
    while labels_only and found and found[-1].label == default.label:
        default = _joined(default, found.pop())
    return replace(rules, rules=tuple(found), default=default)


def simplified_set(rules: RuleSet) -> RuleSet:
    """A set that answers alike."""
    boxes = [(rule, box) for rule in rules if (box := merge_rule(rule)) is not None]
    found = [replace(rule, conditions=tuple(box.values())) for rule, box in boxes]
    if rules.vote == "best":
        order = replace(rules, rules=tuple(found)).best_first
        alive = {id(rule) for rule in _reachable(order)}
        return replace(rules, rules=tuple(rule for rule in found if id(rule) in alive))
    merged: list[Rule] = []
    first: dict[frozenset[Condition], int] = {}  # conditions -> place of the first rule that has them
    for rule in found:
        at = first.setdefault(frozenset(rule.conditions), len(merged))
        if at < len(merged) and not rules.smoothing and _integer_votes(rule) and _integer_votes(merged[at]):
            merged[at] = _joined(merged[at], rule)
        else:
            merged.append(rule)
    return replace(rules, rules=tuple(merged))


def merge_conditions(conditions: Iterable[Condition]) -> Box:
    """One condition per column, columns in the order of their first condition."""
    box: Box = {}
    for c in conditions:
        box[c.column] = box[c.column] & c if c.column in box else c
    return box


def merge_rule(rule: Rule) -> Box | None:
    """One condition per column, without those that always hold; None if no row can satisfy all."""
    box = merge_conditions(rule.conditions)
    if any(c.empty for c in box.values()):
        return None
    return {j: c for j, c in box.items() if not c.trivial}


def box_implies(box: Box, other: Box) -> bool:
    """Does every row that satisfies this box also satisfy the other?"""
    return all(j in box and box[j].implies(c) for j, c in other.items())


def _needed(box: Box, before: list[Box]) -> Box:
    """The conditions that do not already follow from no earlier rule having answered."""
    for j in list(box):
        rest = {k: c for k, c in box.items() if k != j}
        passed = [b[j] for b in before if j in b and box_implies(rest, {k: c for k, c in b.items() if k != j})]
        if all(any(part.implies(c) for c in passed) for part in _outside(box[j])):
            box = rest
    return box


def _outside(c: Condition) -> list[Condition]:
    """What fails a condition, in parts; that of a set has no end, so the whole column stands for it."""
    if c.levels is not None:
        return [Condition(c.column)]
    parts = [Condition(c.column, high=c.low, missing=False)] * (c.low > -inf)
    parts += [Condition(c.column, low=c.high, missing=False)] * (c.high < inf)
    return parts + [Condition(c.column, low=inf)] * (not c.missing)


def _reachable(rules: RuleList) -> list[Rule]:
    """The rules that are not inside an earlier one."""
    kept: list[Rule] = []
    for rule in rules:
        box = merge_rule(rule)
        if box is not None and not any(box_implies(box, merge_rule(before) or {}) for before in kept):
            kept.append(rule)
    return kept


def _joined(rule: Rule, other: Rule) -> Rule:
    """The first rule with the rows, weights and class weights of both."""
    value = tuple(a + b for a, b in zip(rule.value, other.value, strict=True)) if rule.value and other.value else ()
    return replace(rule, value=value, weight=rule.weight + other.weight, rows=rule.rows + other.rows)


def _integer_votes(rule: Rule) -> bool:
    """Are its class weights integers, small enough to add exactly?"""
    return sum(rule.value) > 0 and all(float(v).is_integer() and abs(v) < 2**40 for v in rule.value)
