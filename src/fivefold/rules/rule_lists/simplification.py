"""The same answers in fewer words.

    within a rule       the conditions of a column become one; those that always hold are dropped
    never               a rule that asks the impossible, or only covers what a rule before it covers, is dropped; a
                        rule that asks nothing is the default
    in a list           a condition is dropped where every row that fails it is answered by a rule before: the rest of
                        that rule asks nothing that this one does not ask, and its own condition holds wherever this
                        one fails
    in a voting set     rules that ask the same are one, where their votes add up exactly

Every row is answered by the same rule as before, so probabilities stay too. With `labels_only` a list also loses the
rules at its end that say what the default says, and their rows count for the default.
"""

from __future__ import annotations

from dataclasses import replace
from functools import reduce
from math import inf
from operator import and_
from typing import TYPE_CHECKING, Any

from fivefold.partition.export.conditions import Condition
from fivefold.partition.export.conjunctions import Rule

if TYPE_CHECKING:  # they simplify themselves by these functions
    from fivefold.rules.rule_lists.rule_lists import RuleList, RuleSet

Box = dict[int, Condition]  # one condition per column


def simplified_list(rules: RuleList, *, labels_only: bool = False) -> RuleList:
    """A list that answers alike."""
    kept: list[tuple[Rule, Box]] = []
    for rule in rules:
        box = merge_rule(rule)
        if box is None or any(box_within(box, before) for _, before in kept):
            continue
        box = _needed(box, [before for _, before in kept])
        kept.append((replace(rule, conditions=tuple(box.values())), box))
        if not box:  # whatever comes after it never answers
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
    together: dict[Any, Rule] = {}
    for place, rule in enumerate(found):
        key: Any = frozenset(rule.conditions)
        if key in together and not rules.smoothing and _whole(rule) and _whole(together[key]):
            together[key] = _joined(together[key], rule)
        else:
            together[key if key not in together else (key, place)] = rule
    return replace(rules, rules=tuple(together.values()))


def merge_rule(rule: Rule) -> Box | None:
    """One condition per column, without those that always hold; None if nothing can satisfy all."""
    columns: dict[int, list[Condition]] = {}
    for c in rule.conditions:
        columns.setdefault(c.column, []).append(c)
    box = {j: reduce(and_, some) for j, some in columns.items()}
    if any(c.empty for c in box.values()):
        return None
    return {j: c for j, c in box.items() if not c.trivial}


def box_within(box: Box, other: Box) -> bool:
    """Does the other box hold for all of this one?"""
    return all(j in box and box[j].within(c) for j, c in other.items())


def _needed(box: Box, before: list[Box]) -> Box:
    """The conditions that are not settled by the rules before having failed."""
    for j in list(box):
        rest = {k: c for k, c in box.items() if k != j}
        passed = [b[j] for b in before if j in b and box_within(rest, {k: c for k, c in b.items() if k != j})]
        if all(any(part.within(c) for c in passed) for part in _outside(box[j])):
            box = rest
    return box


def _outside(c: Condition) -> list[Condition]:
    """What fails a condition, in parts; categories that nobody named make that of a set endless: nothing covers it."""
    if c.levels is not None:
        return [Condition(c.column)]
    parts = [Condition(c.column, high=c.low, missing=False)] * (c.low > -inf)
    parts += [Condition(c.column, low=c.high, missing=False)] * (c.high < inf)
    return parts + [Condition(c.column, low=inf)] * (not c.missing)


def _reachable(rules: RuleList) -> list[Rule]:
    """Those that are not inside one before."""
    kept: list[Rule] = []
    for rule in rules:
        box = merge_rule(rule)
        if box is not None and not any(box_within(box, merge_rule(before) or {}) for before in kept):
            kept.append(rule)
    return kept


def _joined(rule: Rule, other: Rule) -> Rule:
    """A rule with the rows of both; the label that most of their weight says."""
    value = tuple(a + b for a, b in zip(rule.value, other.value, strict=True)) if rule.value and other.value else ()
    return replace(rule, value=value, weight=rule.weight + other.weight, rows=rule.rows + other.rows)


def _whole(rule: Rule) -> bool:
    return sum(rule.value) > 0 and all(float(v).is_integer() and abs(v) < 2**40 for v in rule.value)
