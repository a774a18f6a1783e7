"""How the saved model uses its columns: the effect of each, and their contributions to single predictions.

Both are computed with `evaluation.inspection` on a sample of the rows outside the hold-out.
"""

from __future__ import annotations

from collections.abc import Callable, Iterator, Sequence
from dataclasses import dataclass, replace
from typing import Any

import numpy as np
import polars as pl
from sklearn.compose import ColumnTransformer
from sklearn.pipeline import Pipeline

from fivefold.core.types import Table
from fivefold.evaluation.inspection.additive_trees import AdditiveTrees, TreeTerm, additive_trees
from fivefold.evaluation.inspection.partial_dependence import PartialDependence, partial_dependence
from fivefold.evaluation.inspection.response import outputs_of, response
from fivefold.evaluation.inspection.shapley import Contributions, shapley_values
from fivefold.evaluation.protocols import Label
from fivefold.study.models.m_estimate import MEstimateClassifier
from fivefold.study.planning.plan import Plan
from fivefold.study.planning.splits import at_most, derive_seed
from fivefold.study.preparation.column_transformer import USABLE_KINDS, prepared_columns
from fivefold.tree.shared.single_column_trees import BaseTreeClassifier

EFFECT_ROWS = 120  # rows of the sample whose curves are computed
BACKGROUND_ROWS = 100  # rows that predictions are compared with
MAX_EFFECTS = 6  # columns with a figure of their effect
MAX_EFFECT_VALUES = 15  # values per column
MAX_CLASSES_EXPLAINED = 3  # classes with an example
EFFECT_INDEX = 2**32 - 3  # in place of repeat and fold, for the seed of the sample


@dataclass(frozen=True)
class ExplainedRow:
    """A row of the table, what was predicted for it, and what each column contributed."""

    row: int  # index into the table
    why: str  # why it was chosen
    output: Label  # the class that is explained, or "prediction"
    predicted: float  # its probability, or the number
    base: float  # on the scale of the contributions
    values: dict[str, float]  # by column, in the order of the table
    cells: dict[str, Any]  # the values of the columns


@dataclass(frozen=True)
class RowExplanations:
    """Some rows explained."""

    rows: tuple[ExplainedRow, ...]
    scale: str
    exact: bool


def column_effects(plan: Plan, model: Any, names: Sequence[str]) -> tuple[PartialDependence, ...]:
    """The effect of each named column, as far as it has values that can be varied."""
    columns = {column.name: column for column in plan.data.columns}
    X, found = plan.data.X[_sample(plan, EFFECT_ROWS)], list[PartialDependence]()
    for name in names:
        held, kind = X[name].drop_nulls(), columns[name].kind
        held = held.drop_nans() if held.dtype.is_float() else held
        if kind in ("text", "identifier") or held.n_unique() < 2:
            continue
        values = None
        if kind == "ordinal":
            present = set(held.to_list())
            values = [level for level in columns[name].levels if level in present]
        found.append(partial_dependence(model, X, name, values=values, max_values=MAX_EFFECT_VALUES))
    return tuple(found)


def row_contributions(model: Any, X: pl.DataFrame, background: pl.DataFrame, seed: int = 0) -> Contributions:
    """Contributions of the columns of a table to the predictions of a study's model.

    Columns are prepared one by one, so the method is explained on prepared columns, those of one source together.
    """
    if isinstance(model, Pipeline) and len(model) == 2 and isinstance(model[0], ColumnTransformer):
        sources = [column.source for column in prepared_columns(model[0])]
        ready = [model[0].transform(table) for table in (X, background)]
        return shapley_values(model[-1], *ready, groups=sources, random_state=seed)
    return shapley_values(model, X, background, random_state=seed)


def explain_examples(plan: Plan, model: Any, label: Label | None) -> RowExplanations:
    """A few rows, chosen by what the model predicts for them; `label` is the class to explain of two."""
    usable = [column.name for column in plan.data.columns if column.kind in USABLE_KINDS]
    rows = _sample(plan, EFFECT_ROWS)
    table = plan.data.X.select(usable)
    P, outputs = response(model, plan.data.X[rows]), outputs_of(model)
    chosen = _examples(P, outputs, label)
    at = rows[[i for i, _, _ in chosen]]
    found = row_contributions(model, table[at], table[_sample(plan, BACKGROUND_ROWS)], plan.seed)
    explained = []
    for j, (i, why, k) in enumerate(chosen):
        base, values = found.toward(None if len(outputs) == 1 else outputs[k])
        parts = dict(zip(map(str, found.players), values[j].tolist(), strict=True))
        cells = table[[int(at[j])]].row(0, named=True)
        explained.append(ExplainedRow(int(at[j]), why, outputs[k], float(P[i, k]), base, parts, cells))
    return RowExplanations(tuple(explained), found.scale, found.standard_error is None)


@additive_trees.register
def _(model: MEstimateClassifier) -> tuple[AdditiveTrees, Callable[[Table], Table]] | None:
    """Trees with m-estimates are sums of trees, too: m-estimates of the leaves of one, a common factor for many."""
    inner, found = model.estimator_, additive_trees(model.estimator_)
    if found is None:
        return None
    trees, admit = found
    single = isinstance(inner, BaseTreeClassifier)
    n = inner.model_.weight[:, None] if single else float(inner.n_estimators)

    def terms() -> Iterator[TreeTerm]:
        for term in trees.terms():
            prior = model.m * model.prior_ if single else 0.0
            yield replace(term, value=(n * term.value + prior) / (n + model.m))

    return AdditiveTrees(trees.base if single else model.m * model.prior_ / (n + model.m), terms), admit


def _examples(P: np.ndarray, outputs: np.ndarray, label: Label | None) -> list[tuple[int, str, int]]:
    """Places in the sample, why they were chosen, and the output to explain."""
    if len(outputs) <= 2:
        k = len(outputs) - 1 if label is None else int(np.flatnonzero(outputs == label)[0])
        order = np.argsort(P[:, k], kind="stable")
        words = ("lowest", "middle", "highest")
        return [(int(order[i]), w, k) for i, w in zip((0, len(order) // 2, -1), words, strict=True)]
    likely = np.argsort(-np.bincount(P.argmax(axis=1), minlength=len(outputs)), kind="stable")[:MAX_CLASSES_EXPLAINED]
    return [(int(P[:, k].argmax()), f"most certain of {outputs[k]}", int(k)) for k in likely]


def _sample(plan: Plan, count: int) -> np.ndarray:
    """At most this many rows outside the hold-out; a smaller sample is part of a larger one. Sequences stay whole."""
    rng = np.random.default_rng(derive_seed(plan.seed, EFFECT_INDEX, EFFECT_INDEX))
    if plan.data.sequences is not None:
        return at_most(plan.data, plan.rows, count, rng)
    return np.sort(rng.permutation(plan.rows)[:count])
