"""Thresholds of trees, rules and formulas in the digits that pay: see `precision`."""

from __future__ import annotations

from collections import Counter
from collections.abc import Callable, Sequence
from copy import deepcopy
from dataclasses import dataclass, replace
from functools import singledispatch
from math import inf
from typing import Any

import numpy as np
from numpy.typing import ArrayLike

from fivefold.core.types import Codes, Table, Target, Vector
from fivefold.rules.base import OrderedRules
from fivefold.rules.formulas.boolean_formulas import ARITY
from fivefold.rules.occam_formulas import FormulaList, OccamFormulaClassifier
from fivefold.rules.rule_extraction import RuleExtractionClassifier
from fivefold.rules.rule_lists.rule_lists import BaseRules
from fivefold.theory.codes.descriptions import ColumnCodes, describe
from fivefold.theory.codes.precision import Objective, Shortened, Spellings, exchanged, shorten_parameters, shortened
from fivefold.tree.shared.base import TreeModel
from fivefold.tree.shared.multiway_trees import BaseMultiwayTree, MultiwayModel
from fivefold.tree.shared.single_column_trees import BaseTreeClassifier


@dataclass(frozen=True)
class Thresholds:
    """The thresholds of a learned value, and how to exchange them."""

    columns: list[int]
    values: Vector
    exchange: Callable[[Vector], Any]  # the learned value with these thresholds
    predict: Callable[[Any, Table], Codes]  # class codes of rows by a learned value
    times: Vector | float = 1.0  # how often each is written


@shortened.register(BaseTreeClassifier)
@shortened.register(BaseMultiwayTree)
@shortened.register(OrderedRules)
@shortened.register(RuleExtractionClassifier)
@shortened.register(OccamFormulaClassifier)
def _(model: Any, X: Table, y: Target, objectives: Sequence[Objective], ranges: ArrayLike | None) -> Shortened:
    found, codes, told = thresholds(model.model_), ColumnCodes.of(model, ranges), describe(model, ranges)
    spellings = [_spellings(codes, j, float(v)) for j, v in zip(found.columns, found.values, strict=True)]
    fixed = told.bits - told.parts.get("thresholds", 0.0) + (ranges is not None)

    def mistakes(values: Vector, i: int, tried: Vector) -> Vector:
        answers = (found.predict(found.exchange(exchanged(values, i, v)), X) for v in tried)
        return np.array([float((answer != y).sum()) for answer in answers])

    def length(values: Vector, bits: Vector) -> float:
        return fixed + float((bits * found.times).sum())

    short, best = deepcopy(model), shorten_parameters(spellings, mistakes, objectives, length)
    short.model_ = found.exchange(best.values)
    return short, best.history


@singledispatch
def thresholds(learned: Any) -> Thresholds:
    """The thresholds of what a model learned."""
    raise TypeError(f"the thresholds of a {type(learned).__name__} are not known")


@thresholds.register
def _(learned: TreeModel) -> Thresholds:
    tree, label = learned.tree, learned.value.argmax(axis=1)
    at = np.flatnonzero((tree.feature >= 0) & ~np.isnan(tree.threshold))

    def exchange(values: Vector) -> TreeModel:
        threshold = tree.threshold.copy()
        threshold[at] = values
        return replace(learned, tree=replace(tree, threshold=threshold))

    return Thresholds(tree.feature[at].tolist(), tree.threshold[at], exchange, lambda m, X: label[m.tree.apply(X)])


@thresholds.register
def _(learned: MultiwayModel) -> Thresholds:
    tree = learned.tree
    cut = np.repeat((tree.feature >= 0) & ~tree.discrete, np.diff(tree.start))
    column = np.repeat(tree.feature, np.diff(tree.start))

    def exchange(values: Vector) -> MultiwayModel:
        key = tree.key.copy()
        key[cut] = values
        return replace(learned, tree=replace(tree, key=key))

    return Thresholds(column[cut].tolist(), tree.key[cut], exchange, lambda m, X: m.answers(X).argmax(axis=1))


@thresholds.register
def _(learned: BaseRules) -> Thresholds:
    places = [
        (r, i, end, float(getattr(c, end)))
        for r, rule in enumerate(learned.rules)
        for i, c in enumerate(rule.conditions)
        for end in ("low", "high")
        if c.levels is None and c.low < inf and abs(getattr(c, end)) < inf
    ]

    def exchange(values: Vector) -> BaseRules:
        conditions = [list(rule.conditions) for rule in learned.rules]
        for (r, i, end, _), value in zip(places, values.tolist(), strict=True):
            conditions[r][i] = replace(conditions[r][i], **{end: value})
        pairs = zip(learned.rules, conditions, strict=True)
        return replace(learned, rules=tuple(replace(rule, conditions=tuple(c)) for rule, c in pairs))

    columns = [learned.rules[r].conditions[i].column for r, i, _, _ in places]
    return Thresholds(columns, np.array([v for *_, v in places]), exchange, lambda m, X: m.proba(X).argmax(axis=1))


@thresholds.register
def _(learned: FormulaList) -> Thresholds:
    asked = Counter(token for f in learned.formulas for token in f.tokens if token not in ARITY)
    cuts = [k for k in asked if learned.features[k].levels is None and learned.features[k].low < inf]
    label = learned.counts.argmax(axis=1)

    def exchange(values: Vector) -> FormulaList:
        features = list(learned.features)
        for k, value in zip(cuts, values.tolist(), strict=True):
            features[k] = replace(features[k], low=value)
        return replace(learned, features=tuple(features))

    columns, values = [learned.features[k].column for k in cuts], [learned.features[k].low for k in cuts]
    times = np.array([float(asked[k]) for k in cuts])
    return Thresholds(columns, np.array(values), exchange, lambda m, X: label[m.fired(X)], times)


def _spellings(codes: ColumnCodes, column: int, value: float) -> Spellings:
    code = codes.ranges[column] if codes.ranges is not None else None
    return Spellings.decimal(value) if code is None else Spellings.within(code, value)
