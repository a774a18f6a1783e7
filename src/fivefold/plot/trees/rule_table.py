"""A table of rules: the conditions of each rule, its answer, and its share of the training rows."""

from __future__ import annotations

from collections.abc import Sequence
from textwrap import wrap
from typing import TYPE_CHECKING, Any

import numpy as np

from fivefold.partition.export.text_formats import text_literal
from fivefold.plot.style import COLOURS, GREY, INK, LIGHT_GREY, colour
from fivefold.rules.rule_lists.rule_lists import BaseRules, Rule
from fivefold.rules.rule_lists.tree_rules import extract_rules

if TYPE_CHECKING:
    from matplotlib.axes import Axes

MAX_LINE_LETTERS = 78  # a line of conditions is wrapped after this many letters
COLUMN_EDGES = (0.0, 0.035, 0.60, 0.73, 1.0)  # left edges of number, conditions, answer and bar, and the right end


def rule_table(
    model: Any,  # rules, or a model of any class that has some
    *,
    feature_names: Sequence[str] | None = None,
    most: int | None = None,
    ax: Axes | None = None,
) -> Axes:
    """One rule per line with its answer; a bar shows the support in percent, in the colours of the classes.

    `model` is a learner of rules, a RuleList or RuleSet, or a tree, whose leaves are its rules; `most` limits lines.
    """
    rules = _rules(model, feature_names)
    every = [*rules.rules, rules.default]
    shown = every if most is None or len(every) <= most else [*every[: max(most - 1, 1)], every[-1]]
    asked = [
        wrap(rules.conjunction(rule), MAX_LINE_LETTERS) if rule is not rules.default else ["otherwise"]
        for rule in shown
    ]
    top = np.concatenate([[0.0], np.cumsum([len(lines) + 0.7 for lines in asked])])
    if ax is None:
        import matplotlib.pyplot as plt

        _, ax = plt.subplots(figsize=(9.0, 0.6 + 0.2 * top[-1]), layout="constrained")
    ax.set_axis_off()
    ax.set_xlim(0, COLUMN_EDGES[-1])
    ax.set_ylim(top[-1] + 0.2, -1.2)
    for x, word in zip(COLUMN_EDGES[1:], ("if", "then", "support"), strict=False):
        ax.text(x, -0.5, word, fontsize=8, color=GREY, va="center")
    for i, rule in enumerate(shown):
        place = every.index(rule)
        _line(ax, rules, rule, asked[i], place, (top[i], top[i + 1]))
    if left := len(every) - len(shown):
        ax.text(COLUMN_EDGES[1], top[-2] - 0.35, f"... {left} more rules", fontsize=7, color=GREY, va="center")
    return ax


def _rules(model: Any, feature_names: Sequence[str] | None) -> BaseRules:
    if isinstance(model, BaseRules):
        return model
    rules = model.to_rules(feature_names=feature_names) if "to_rules" in dir(model) else None
    return rules if isinstance(rules, BaseRules) else extract_rules(model, feature_names=feature_names)


def _line(ax: Axes, rules: BaseRules, rule: Rule, lines: list[str], place: int, ends: tuple[float, float]) -> None:
    middle = (ends[0] + ends[1] - 0.35) / 2
    ax.axhline(ends[1] - 0.35, color=LIGHT_GREY, lw=0.8, zorder=0)
    number = str(place + 1) if rule is not rules.default else ""
    ax.text(COLUMN_EDGES[0], middle, number, fontsize=8, color=GREY, va="center")
    ax.text(COLUMN_EDGES[1], middle, "\n".join(lines), fontsize=8, color=INK, va="center", linespacing=1.3)
    answer = f"{rule.label:.6g}" if isinstance(rule.label, float) else text_literal(rule.label)
    ax.text(COLUMN_EDGES[2], middle, answer, fontsize=8, color=INK, va="center", weight="bold")
    share, start, room = rules.supports[place], COLUMN_EDGES[3], COLUMN_EDGES[4] - COLUMN_EDGES[3] - 0.09
    parts = np.array(rule.value if any(rule.value) and rules.schema.classes is not None else (1.0,))
    widths = parts / parts.sum() * share / max(float(rules.supports.max()), 1e-300) * room
    for k, width in enumerate(widths):
        ink = colour(k) if len(widths) > 1 else COLOURS[0]
        ax.barh(middle, width, left=start, height=0.8, color=ink, alpha=0.75)
        start += width
    ax.text(start + 0.01, middle, f"{share:.3g}%", fontsize=7, color=INK, va="center")
