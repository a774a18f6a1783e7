"""The feature step: columns are added, dropped and counted, with warnings about too few, too many and noisy ones.

    too few     rows that agree in every column have different labels, or dropping columns made a quick trial worse:
                information is lost
    too many    fewer than `MIN_ROWS_PER_COLUMN` rows per column: too few examples to learn from this many columns
    noise       columns that, one by one, are related to the target no more than by chance (Holm's correction)

With few columns information is missing, with many the noise in them is fitted: the error on new rows falls, then rises.
Added columns are computed from other columns of the same row, so nothing leaks between rows.
"""

from __future__ import annotations

import ast
import operator
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass, replace

import numpy as np
import polars as pl
from numpy.typing import ArrayLike
from scipy.stats import chi2_contingency

from fivefold.core.types import Indices
from fivefold.evaluation.comparison.holm import holm
from fivefold.study.formatting import first_names
from fivefold.study.preparation.column_transformer import USABLE_KINDS
from fivefold.study.running.trial import significantly_less, trial_losses, trial_plan
from fivefold.study.tables.dataset import BadInput, Column, Data, data_digest
from fivefold.study.tables.task import Task

MIN_ROWS_PER_COLUMN = 10
MAX_CONTRADICTIONS = 0.05  # share of the rows with an equal row of another label
NOISE_ALPHA = 0.05  # level of the test of no relation
MAX_NAMES_SHOWN = 8  # columns named in a warning; the others are counted
TRIAL_METHODS = {Task.CLASSIFICATION: "DecisionTreeClassifier", Task.REGRESSION: "DecisionTreeRegressor"}

Values = np.float64 | np.ndarray  # a number, or one per row
ColumnRecipe = str | Callable[[pl.DataFrame], ArrayLike]

OPERATORS: dict[type, Callable[..., Values]] = {
    ast.Add: operator.add,
    ast.Sub: operator.sub,
    ast.Mult: operator.mul,
    ast.Div: operator.truediv,
    ast.Pow: operator.pow,
    ast.USub: operator.neg,
}
FUNCTIONS: dict[str, Callable[[Values], Values]] = {"log": np.log, "sqrt": np.sqrt, "exp": np.exp, "abs": np.abs}


@dataclass(frozen=True)
class SelectedFeatures:
    """A table after the feature step."""

    data: Data
    added: tuple[str, ...]
    dropped: tuple[str, ...]
    warnings: tuple[str, ...]

    @property
    def names(self) -> tuple[str, ...]:
        """The usable columns."""
        return tuple(column.name for column in self.data.columns if column.kind in USABLE_KINDS)

    @property
    def count(self) -> int:
        """How many usable columns there are."""
        return len(self.names)

    def __str__(self) -> str:
        both = {"added": self.added, "dropped": self.dropped}
        changes = [f"{word} {', '.join(names)}" for word, names in both.items() if names]
        head = f"{self.count} features" + (f" ({'; '.join(changes)})" if changes else "")
        return "\n".join([head, *(f"warning: {text}" for text in self.warnings)])


def select_features(
    data: Data,
    *,
    add: Mapping[str, ColumnRecipe] | None = None,
    drop: Sequence[str] = (),
    keep: Sequence[str] | None = None,
    rows: Indices | None = None,
    compare: bool = True,
    seed: int = 0,
) -> SelectedFeatures:
    """Add and drop columns, count the rest, and warn.

    Parameters
    ----------
    data
        A table as `load` gives it.
    add
        New columns by name: an expression of columns, such as "width / height" or "log(size)", or a function of the
        frame.
    drop, keep
        Columns to leave out, or all those to keep.
    rows
        Rows that warnings are based on, so that a hold-out stays unseen; by default all.
    compare
        Test whether dropping columns lost information, by cross-validation of a decision tree.
    seed
        Seed of that test.

    Examples
    --------
    >>> from fivefold.study import load
    >>> area = "'petal length (cm)' * 'petal width (cm)'"
    >>> print(select_features(load("iris"), add={"petal area": area}, drop=["sepal width (cm)"]))
    4 features (added petal area; dropped sepal width (cm))
    """
    new, made, gone = apply_features(data, add=add, drop=drop, keep=keep)
    looked = np.arange(len(data.y)) if rows is None else np.asarray(rows)
    warnings = [*feature_warnings(new, rows=looked)]
    if compare and gone and (lost := _lost_information(data, new, looked, seed)):
        warnings.insert(0, lost)
    return SelectedFeatures(new, made, gone, tuple(warnings))


def apply_features(
    data: Data,
    *,
    add: Mapping[str, ColumnRecipe] | None = None,
    drop: Sequence[str] = (),
    keep: Sequence[str] | None = None,
) -> tuple[Data, tuple[str, ...], tuple[str, ...]]:
    """The table with columns added and dropped, and the names of both, without warnings."""
    known = [column.name for column in data.columns]
    gone = list(drop) + ([name for name in known if name not in keep] if keep is not None else [])
    if wrong := [name for name in [*drop, *(keep or ())] if name not in known]:
        raise BadInput(f"{data.name} has no column {', '.join(map(repr, wrong))}; it has {', '.join(known)}")
    made = {name: _make_column(data, name, how) for name, how in (add or {}).items()}
    columns = [c for c in data.columns if c.name not in gone]
    columns += [Column(name, "number", s.n_unique(), int(np.isnan(s.to_numpy()).sum())) for name, s in made.items()]
    if not any(column.kind in USABLE_KINDS for column in columns):
        raise BadInput(f"{data.name}: no column is left to learn from; drop fewer")
    frame = data.X.drop(gone).with_columns(list(made.values())) if made else data.X.drop(gone)
    new = replace(data, X=frame, columns=tuple(columns))
    new = replace(new, digest=data_digest(new))
    return new, tuple(made), tuple(dict.fromkeys(gone))


def feature_warnings(data: Data, *, rows: Indices | None = None) -> tuple[str, ...]:
    """Warnings about too few, too many or noisy columns.

    Examples
    --------
    >>> from fivefold.study import load
    >>> feature_warnings(load("iris"))
    ()
    """
    part = _independent_rows(data, np.arange(len(data.y)) if rows is None else np.asarray(rows))
    usable, n = [c for c in part.columns if c.kind in USABLE_KINDS], len(part.y)
    found = []
    if (
        data.task.is_classification
        and (share := _contradiction_share(part, [c.name for c in usable])) > MAX_CONTRADICTIONS
    ):
        found.append(
            f"too few features: {share:.0%} of the rows have a twin, alike in every column, with another label. "
            "Add a column that distinguishes them"
        )
    if n < MIN_ROWS_PER_COLUMN * len(usable):
        found.append(
            f"too many features: {len(usable)} for {n} rows, fewer than {MIN_ROWS_PER_COLUMN} rows each. Drop some, or "
            f"collect about {MIN_ROWS_PER_COLUMN * len(usable)} rows"
        )
    if noise := _noisy_columns(part, usable):
        found.append(
            f"noisy features: {len(noise)} of {len(usable)} are, taken alone, related to the target no more than by "
            f"chance: {first_names(noise, MAX_NAMES_SHOWN)}. Drop them unless they matter together"
        )
    return tuple(found)


def evaluate_expression(text: str, frame: pl.DataFrame) -> Values:
    """The values of an expression of columns: + - * / **, log, sqrt, exp, abs, numbers; names with spaces in quotes.

    Examples
    --------
    >>> evaluate_expression("a / 'b c' + 1", pl.DataFrame({"a": [2.0, 6.0], "b c": [2.0, 3.0]}))
    array([2., 3.])
    """
    try:
        tree = ast.parse(text, mode="eval")
    except SyntaxError:
        raise BadInput(f"{text!r} is not an expression; write one such as 'width / height' or 'log(size)'") from None
    with np.errstate(all="ignore"):  # what is not finite becomes a missing value
        return _evaluate_node(tree.body, frame, text)


def _evaluate_node(node: ast.expr, frame: pl.DataFrame, text: str) -> Values:
    if isinstance(node, ast.Constant) and isinstance(node.value, int | float) and not isinstance(node.value, bool):
        return np.float64(node.value)
    if isinstance(node, ast.Name) or (isinstance(node, ast.Constant) and isinstance(node.value, str)):
        name = node.id if isinstance(node, ast.Name) else str(node.value)
        if name not in frame.columns:
            raise BadInput(f"{text!r}: there is no column {name!r}; there are {', '.join(frame.columns)}")
        if not (frame[name].dtype.is_numeric() or frame[name].dtype == pl.Boolean):
            raise BadInput(f"{text!r}: column {name!r} holds no numbers, so nothing can be calculated from it")
        return frame[name].cast(pl.Float64).to_numpy()
    if isinstance(node, ast.BinOp) and type(node.op) in OPERATORS:
        return OPERATORS[type(node.op)](_evaluate_node(node.left, frame, text), _evaluate_node(node.right, frame, text))
    if isinstance(node, ast.UnaryOp) and type(node.op) in OPERATORS:
        return OPERATORS[type(node.op)](_evaluate_node(node.operand, frame, text))
    if isinstance(node, ast.Call) and isinstance(node.func, ast.Name) and len(node.args) == 1 and not node.keywords:
        function = FUNCTIONS.get(node.func.id)
        if function is not None:
            return function(_evaluate_node(node.args[0], frame, text))
    raise BadInput(f"{text!r}: only columns, numbers, + - * / **, {', '.join(FUNCTIONS)} are understood")


def _make_column(data: Data, name: str, how: ColumnRecipe) -> pl.Series:
    if name in data.X.columns or name == data.target:
        raise BadInput(f"{data.name} has a column {name!r} already; give the new one another name")
    values = evaluate_expression(how, data.X) if isinstance(how, str) else how(data.X)
    values = np.asarray(values, dtype=np.float64)
    values = np.broadcast_to(values, (len(data.y),)) if values.ndim == 0 else values
    if values.shape != (len(data.y),):
        raise BadInput(f"column {name!r}: {len(data.y)} values are needed, one per row; got shape {values.shape}")
    return pl.Series(name, np.where(np.isfinite(values), values, np.nan))


def _independent_rows(data: Data, rows: Indices) -> Data:
    """These rows, without their groups and times."""
    return replace(data.take(rows), groups=None, time=None)


def _lost_information(before: Data, after: Data, rows: Indices, seed: int) -> str:
    """A warning if dropping columns made a quick tree worse; empty if not."""
    name, score_name = TRIAL_METHODS[before.task], before.task.quick_score
    plans = [trial_plan(_independent_rows(data, rows), [name], score=score_name, seed=seed) for data in (before, after)]
    old, new = (trial_losses(plan)[name] for plan in plans)
    if not significantly_less(old, new, plans[0]):
        return ""
    score = plans[0].scores[0]
    was, now = (score.loss(float(part.mean())) for part in (old, new))  # a score turned into a loss is turned back
    return f"too few features: information is lost, a quick tree's {score.title} goes from {was:.4g} to {now:.4g}"


def _contradiction_share(data: Data, names: list[str]) -> float:
    """Share of the rows with an equal row of another label."""
    labelled = data.X.select(names).with_columns(pl.Series("__label__", data.y.astype(str)))
    kinds = labelled.group_by(names).agg(pl.col("__label__").n_unique().alias("kinds"), pl.len().alias("rows"))
    return float(kinds.filter(pl.col("kinds") > 1)["rows"].sum()) / len(data.y)


def _noisy_columns(data: Data, columns: Sequence[Column]) -> list[str]:
    """Columns whose relation to the target, one by one, is not significant."""
    pairs = {column.name: p for column in columns if (p := _no_relation_p_value(data, column)) is not None}
    if not pairs:
        return []
    adjusted = holm(list(pairs.values()))
    return [name for name, p in zip(pairs, adjusted, strict=True) if p > NOISE_ALPHA]


def _no_relation_p_value(data: Data, column: Column) -> float | None:
    """p-value of no relation between a column and the target; None if there is no test for its kind."""
    values, classes = data.X[column.name], data.task.is_classification
    if column.kind in ("number", "boolean"):
        x = values.cast(pl.Float64).to_numpy()
        seen = np.isfinite(x)
        if seen.sum() < MIN_ROWS_PER_COLUMN or np.ptp(x[seen]) == 0 or (classes and len(np.unique(data.y[seen])) < 2):
            return 1.0
        ranks = pl.Series(x[seen]).rank().to_numpy()  # so that any monotone relation counts
        from sklearn.feature_selection import f_classif, f_regression  # slow to import

        test = f_classif if classes else f_regression
        with np.errstate(divide="ignore", invalid="ignore"):  # the ratio is infinite for a perfect predictor
            p = float(test(ranks[:, None], data.y[seen])[1][0])
        return p if np.isfinite(p) else 1.0
    if column.kind in ("category", "ordinal"):
        labels = data.y if classes else pl.Series(data.y).qcut(4, allow_duplicates=True).to_physical().to_numpy()
        table = pl.DataFrame({"x": values.cast(pl.String).fill_null(""), "y": labels.astype(str)})
        counts = table.group_by("x", "y").len().pivot("y", index="x", values="len").fill_null(0).drop("x").to_numpy()
        return float(chi2_contingency(counts).pvalue) if min(counts.shape) > 1 else 1.0
    return None
