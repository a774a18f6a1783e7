"""Codes of rules: conjunctions in a list or a set, and Boolean formulas over tests of columns.

    condition   log2 d, which form (at most, above, between, missing or known), whether a missing value passes, numbers
    rule        number of conditions c, its conditions less log2 c! since any order will do, and log2 K for the label
    list        number of rules, the rules in order, the label of the default
    set         the same, and the class weights with which each rule votes
    formulas    2 bits per symbol; a feature is a condition: names of variable length

A condition on categories says whether it is a single one (log2 of their number) or a set (a bit for each).
"""

from __future__ import annotations

from collections.abc import Iterable, Sequence
from math import inf, lgamma, log, log2

from numpy.typing import ArrayLike

from fivefold.information.number_lengths import integer_bits
from fivefold.partition.export.conditions import Condition
from fivefold.rules.base import OrderedRules
from fivefold.rules.formulas.boolean_formulas import ARITY
from fivefold.rules.occam_formulas import OccamFormulaClassifier
from fivefold.rules.rule_extraction import RuleExtractionClassifier
from fivefold.rules.rule_lists.rule_lists import BaseRules, RuleSet
from fivefold.theory.codes.descriptions import ColumnCodes, Description, describe, description
from fivefold.theory.codes.number_codes import double_bits

FORM_BITS = 2  # at most, above, between, or no number at all
MISSING_BITS = 1  # does a missing value pass?


@describe.register(OrderedRules)
@describe.register(RuleExtractionClassifier)
def _(model: OrderedRules | RuleExtractionClassifier, ranges: ArrayLike | None = None) -> Description:
    codes = ColumnCodes.of(model, ranges)
    rules: BaseRules = model.model_
    votes = isinstance(rules, RuleSet) and rules.vote == "distribution"
    if isinstance(rules, RuleSet) and not votes:
        rules = rules.best_first  # the best rule that holds answers
    weights = [v for rule in (*rules.rules, rules.default) for v in rule.value] if votes else []
    sizes = [len(rule) for rule in rules.rules]
    parts = {
        "number of rules": integer_bits(len(sizes) + 1),
        "numbers of conditions": sum(integer_bits(c + 1) for c in sizes),
        **condition_parts([c for rule in rules.rules for c in rule.conditions], codes),
        "labels": (len(sizes) + 1) * log2(len(model.classes_)),
        "votes": sum(map(double_bits, (*weights, rules.smoothing))) if votes else 0.0,
    }
    parts["columns"] -= sum(lgamma(c + 1) for c in sizes) / log(2)
    language = "set of rules that vote" if votes else "list of rules"
    return description(language, parts, codes.assumptions)


@describe.register
def _(model: OccamFormulaClassifier, ranges: ArrayLike | None = None) -> Description:
    codes = ColumnCodes.of(model, ranges)
    held = model.model_
    asked = [held.features[token] for f in held.formulas for token in f.tokens if token not in ARITY]
    parts = {
        "number of formulas": integer_bits(len(held.formulas) + 1),
        "symbols": 2 * sum(f.nodes for f in held.formulas),
        **condition_parts(asked, codes),
        "labels": (len(held.formulas) + 1) * log2(len(model.classes_)),
    }
    return description("list of Boolean formulas", parts, codes.assumptions)


def condition_parts(conditions: Sequence[Condition], codes: ColumnCodes) -> dict[str, float]:
    """Bits of conditions: their columns, their forms, thresholds and categories."""
    numbers = [c for c in conditions if c.levels is None]
    bounds = [(c.column, x) for c in numbers if c.low < inf for x in (c.low, c.high) if abs(x) < inf]
    return {
        "columns": len(conditions) * codes.bits,
        "forms": len(numbers) * FORM_BITS + len(conditions) * MISSING_BITS,
        "thresholds": codes.threshold_bits(bounds),
        "categories": sum(_level_bits(c.column, c.levels, codes) for c in conditions if c.levels is not None),
    }


def _level_bits(column: int, levels: Iterable[int], codes: ColumnCodes) -> float:
    """Bits of a set of categories, or of numbers where a column of numbers is asked for single values."""
    chosen = list(levels)
    if column in codes.levels:
        return codes.level_bits(column, len(chosen))
    return integer_bits(len(chosen) + 1) + sum(double_bits(float(value)) for value in chosen)
