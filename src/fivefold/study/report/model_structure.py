"""What the saved model consists of, where it can be read: coefficients, a tree, rules, or the members of a blend."""

from __future__ import annotations

from copy import copy
from typing import Any

import numpy as np
from sklearn.compose import ColumnTransformer
from sklearn.pipeline import Pipeline

from fivefold.ensemble import VotingClassifier, VotingRegressor
from fivefold.plot.trees.tree_diagram import tree
from fivefold.rules.rule_lists.rule_export import RuleExports
from fivefold.study.formatting import decimals_for, format_count, format_number, format_range, name_class
from fivefold.study.judging.linear_coefficients import BOOTSTRAP_DRAWS, Coefficients, linear_coefficients
from fivefold.study.judging.results import Results
from fivefold.study.models.m_estimate import MEstimateClassifier
from fivefold.study.preparation.column_transformer import PreparedColumn
from fivefold.study.report.blocks import (
    Block,
    Cell,
    Code,
    CollapsedBlocks,
    Paragraph,
    SubHeading,
    TableBlock,
)
from fivefold.study.report.svg import draw_figure
from fivefold.tree.shared.base import TreeMethods

MAX_COEFFICIENTS = 20  # columns listed, by the size of their coefficients
MAX_COEFFICIENT_CLASSES = 5  # with more classes the table would be too wide
LEAST_RATIO = 1e-3  # an odds ratio per unit below this, or above its inverse, says only that a unit is a long way
MAX_TREE_DEPTH = 3  # of the part of a tree that is drawn
MAX_TEXT_LINES = 150  # lines of a tree or of rules


def structure_blocks(results: Results, *, intervals: bool) -> list[Block]:
    """Coefficients, perhaps with intervals, tree, rules or parts of the saved model; nothing if it cannot be read."""
    model = results.winner
    if not isinstance(model, Pipeline):
        return []
    method = model[-1]
    method = method.estimator_ if isinstance(method, MEstimateClassifier) else method
    if isinstance(method, TreeMethods):
        return _tree_blocks(results, method, _names(model))
    if isinstance(method, RuleExports):
        text = method.to_text(feature_names=_names(model))
        return [SubHeading("The rules"), _listing(text)]
    if isinstance(method, VotingClassifier | VotingRegressor):
        return _blend_blocks(method)
    return _coefficient_blocks(results, model, intervals=intervals)


def _names(model: Pipeline) -> list[str] | None:
    """Names of the columns that the method sees."""
    return list(map(str, model[0].get_feature_names_out())) if isinstance(model[0], ColumnTransformer) else None


def _coefficient_blocks(results: Results, model: Pipeline, *, intervals: bool) -> list[Block]:
    found = linear_coefficients(results.plan, model, intervals=intervals)
    if found is None:
        return []
    shown = found.order[:MAX_COEFFICIENTS]
    outputs = range(min(len(found.outputs), MAX_COEFFICIENT_CLASSES))
    noun = "odds ratio" if found.odds else "coefficient"
    header = ["column", "per", *(noun if len(outputs) == 1 else f"{noun}, {found.outputs[k]}" for k in outputs)]
    header += ["95 % interval", f"{noun} per unit"] if len(outputs) == 1 else []
    rows = tuple(_coefficient_row(found, int(j), outputs) for j in shown)
    rest = f"; {len(found.columns) - len(shown)} smaller ones are left out" if len(found.columns) > len(shown) else ""
    caption = f"{'Odds ratios' if found.odds else 'Coefficients'} of the saved model, largest effect first{rest}"
    table = TableBlock(caption, tuple(header), rows, name="coefficients")
    return [SubHeading("The coefficients"), Paragraph(_coefficient_text(results, found)), table]


def _coefficient_row(found: Coefficients, j: int, outputs: range) -> tuple[Cell, ...]:
    column, effect = found.columns[j], np.exp if found.odds else (lambda value: value)
    cells = [Cell(column.name), Cell(_step(column))]
    if len(outputs) > 1:
        for k in outputs:
            value, low, high = (float(effect(part[k, j])) for part in (found.values, found.low, found.high))
            interval = f" ({format_range(low, high, decimals_for(value))})" if np.isfinite(low) else ""
            cells.append(Cell(format_number(value, decimals_for(value)) + interval, value))
        return tuple(cells)
    value, low, high = (float(effect(part[0, j])) for part in (found.values, found.low, found.high))
    unit = float(effect(found.values[0, j] / column.scale))
    digits = decimals_for(value)
    return (
        *cells,
        Cell(format_number(value, digits), value),
        Cell(format_range(low, high, digits) if np.isfinite(low) else "–"),
        Cell(f"{unit:.4g}" if LEAST_RATIO < unit < 1 / LEAST_RATIO or not found.odds else "–", unit),
    )


def _step(column: PreparedColumn) -> str:
    """The change of the column that its coefficient is for."""
    return "level, or unit" if column.scale == 1.0 else f"standard deviation, {column.scale:.3g}"


def _coefficient_text(results: Results, found: Coefficients) -> str:
    target, several = results.plan.data.target, len(found.outputs) > 1
    if not found.odds:
        said = f"The prediction of {target} changes by this much if the column rises and the others stay as they are."
    elif several:
        said = (
            "If the column rises and the others stay as they are, the odds of a class against the geometric mean of "
            "all classes are multiplied by this."
        )
    else:
        said = (
            f"If the column rises and the others stay as they are, the odds of {name_class(found.outputs[0])} are "
            "multiplied by this: 1 is no effect."
        )
    if np.isfinite(found.low).any():
        said += (
            f" Intervals are percentiles of {BOOTSTRAP_DRAWS} fits on rows drawn with replacement. A penalty shrinks "
            "coefficients towards no effect, and their intervals with them."
        )
    else:
        said += " Intervals would take too long."
    if several and len(found.outputs) > MAX_COEFFICIENT_CLASSES:
        said += f" The first {MAX_COEFFICIENT_CLASSES} of {len(found.outputs)} classes are shown."
    return said


def _tree_blocks(results: Results, method: TreeMethods, names: list[str] | None) -> list[Block]:
    held: Any = method.model_
    depth, leaves = int(held.tree.depth.max()), len(held.tree.leaves)
    said = f"The tree has {format_count(leaves, 'leaf', 'leaves')} and a depth of {depth}."
    drawn, top = method, held
    if depth > MAX_TREE_DEPTH:
        said += f" The first {MAX_TREE_DEPTH} levels are drawn; below them a box stands for the rest of its branch."
        drawn, top = copy(method), held.prune(held.tree.depth == MAX_TREE_DEPTH)
        drawn.model_ = top
    text = method.to_text(feature_names=names)
    figure = draw_figure(
        "tree",
        lambda ax: tree(drawn, feature_names=names, ax=ax),
        f"The tree that was learned. {' '.join(drawn.to_text(feature_names=names).split())}",
        "A row goes from the top to a box, which answers with its most common class, or its mean.",
        width=max(4.6, 1.25 * len(top.tree.leaves)),
        height=max(2.4, 0.6 + 0.95 * (1 + int(top.tree.depth.max()))),
    )
    return [
        SubHeading("The tree"),
        Paragraph(said),
        figure,
        CollapsedBlocks("The whole tree as text", (_listing(text),)),
    ]


def _blend_blocks(method: VotingClassifier | VotingRegressor) -> list[Block]:
    weights = np.ones(len(method.estimators)) if method.weights is None else np.asarray(method.weights, dtype=float)
    total, order = float(weights.sum()), np.argsort(-weights, kind="stable")
    powers = isinstance(method, VotingClassifier) and method.voting == "product"
    if powers:
        shown = round(total, 2)
        certain = "more certain than" if shown > 1 else "less certain than" if shown < 1 else "as certain as"
        said = (
            "The probability of a class is the product of the probabilities that the members give to it, each raised "
            f"to a power, scaled to add up to one. The powers add up to {shown:.2f}: the blend is {certain} the "
            "weighted mean of its members' log-odds."
        )
    else:
        said = "The prediction is the weighted mean of the predictions of its members."
    cells = [f"{w:.2f}" if powers else f"{w / total:.0%}" for w in weights]
    rows = tuple((Cell(method.estimators[i][0]), Cell(cells[i], float(weights[i]))) for i in order)
    return [
        SubHeading("What it blends"),
        Paragraph(said),
        TableBlock("Members", ("learner", "power" if powers else "weight"), rows),
    ]


def _listing(text: str) -> Code:
    lines = text.splitlines()
    more = [f"... {len(lines) - MAX_TEXT_LINES} more lines"] if len(lines) > MAX_TEXT_LINES else []
    return Code("\n".join([*lines[:MAX_TEXT_LINES], *more]))
