"""Coefficients of a linear winner with intervals, on the scale of its predictor.

    regression      change of the prediction
    two classes     odds ratio exp(w): what the odds of the second class are multiplied by
    more classes    odds ratio of each class against the geometric mean of all

per standard deviation of a number, per unit, or for a level of a category against the others. The whole pipeline with
its setting is fitted again on samples of the rows, or of the groups, with replacement; intervals are percentiles. A
penalty draws coefficients to zero, and with them the intervals.
"""

from __future__ import annotations

import warnings
from collections.abc import Iterator
from dataclasses import dataclass
from typing import Any

import numpy as np
from sklearn.base import clone
from sklearn.compose import ColumnTransformer
from sklearn.pipeline import Pipeline

from fivefold.evaluation.inspection.linear_form import linear_form
from fivefold.study.planning.plan import Plan
from fivefold.study.planning.splits import derive_seed
from fivefold.study.preparation.column_transformer import PreparedColumn, prepared_columns

BOOTSTRAP_DRAWS = 100
BOOTSTRAP_INDEX = 2**32 - 2  # in place of repeat and fold, for the seed of the samples
MIN_SHARE_FITTED = 0.9  # a level has an interval if at least this share of the samples has rows of it
CHECKED_ROWS = 200  # rows on which coefficients must give the predictions of the model
LEVEL = 0.95


@dataclass(frozen=True)
class Coefficients:
    """The coefficients of a linear model.

    Attributes
    ----------
    columns
        what they belong to, (d,).
    outputs
        the classes they speak for: one for two classes or a regression.
    values
        (outputs, d), per standard deviation, or for a level.
    low, high
        ends of the intervals; NaN where there is none.
    odds
        are they logarithms of odds ratios?
    """

    columns: tuple[PreparedColumn, ...]
    outputs: tuple[str, ...]
    values: np.ndarray
    low: np.ndarray
    high: np.ndarray
    odds: bool

    @property
    def order(self) -> np.ndarray:
        """Indices of the columns, the largest coefficient first."""
        return np.argsort(-np.abs(self.values).max(axis=0), kind="stable")


def linear_coefficients(plan: Plan, pipeline: Any, *, intervals: bool = True) -> Coefficients | None:
    """The coefficients of a fitted pipeline; None if its method is not linear."""
    found = _coefficient_matrix(pipeline, plan)
    if found is None:
        return None
    columns, W = tuple(prepared_columns(pipeline[0])), found
    scale = np.array([column.scale for column in columns])
    low = high = np.full_like(W, np.nan)
    if intervals:
        draws = [dict(zip(names, (U / s).T, strict=True)) for names, U, s in _bootstrap(plan, pipeline)]
        none = np.full(len(W), np.nan)
        units = np.array([[draw.get(column.name, none) for column in columns] for draw in draws])  # (draws, d, K)
        if len(units):
            enough = np.isfinite(units).mean(axis=0) >= MIN_SHARE_FITTED  # (d, K)
            with warnings.catch_warnings():
                warnings.simplefilter("ignore")  # columns that no sample has
                ends = np.nanquantile(units, [(1 - LEVEL) / 2, (1 + LEVEL) / 2], axis=0)  # (2, d, K)
            low, high = np.where(enough, ends, np.nan).transpose(0, 2, 1) * scale
    classes = plan.classes
    outputs = (plan.data.target,) if classes is None else tuple(map(str, classes[-1:] if len(W) == 1 else classes))
    return Coefficients(columns, outputs, W, low, high, odds=classes is not None)


def _coefficient_matrix(pipeline: Any, plan: Plan) -> np.ndarray | None:
    """(1, d) of a regression or two classes, (K, d) of more; None if predictions are not linear in them."""
    if not isinstance(pipeline, Pipeline) or not isinstance(pipeline[0], ColumnTransformer):
        return None
    return _method_matrix(pipeline[-1], pipeline[0].transform(plan.data.X[plan.rows[:CHECKED_ROWS]]), plan)


def _method_matrix(method: Any, Z: Any, plan: Plan) -> np.ndarray | None:
    """The same of a method that was fitted on prepared columns, checked on these rows of them."""
    if not isinstance(Z, np.ndarray):
        return None
    if (form := linear_form(method, Z)) is not None:
        return form.w[None]
    W, b = getattr(method, "coef_", None), getattr(method, "intercept_", None)
    if plan.classes is None or not isinstance(W, np.ndarray) or W.shape != (len(plan.classes), Z.shape[1]):
        return None
    eta = Z @ W.T + b
    with np.errstate(over="ignore", invalid="ignore"):
        P = np.exp(eta - eta.max(axis=1, keepdims=True))
    if not np.allclose(P / P.sum(axis=1, keepdims=True), method.predict_proba(Z), rtol=0, atol=1e-6):
        return None
    return W - W.mean(axis=0)


def _bootstrap(plan: Plan, pipeline: Any) -> Iterator[tuple[list[str], np.ndarray, np.ndarray]]:
    """Names, coefficients and scales of the pipeline fitted on each sample."""
    rng = np.random.default_rng(derive_seed(plan.seed, BOOTSTRAP_INDEX, BOOTSTRAP_INDEX))
    data, rows = plan.data, plan.rows
    members = [rows[data.groups[rows] == g] for g in np.unique(data.groups[rows])] if data.groups is not None else None
    for _ in range(BOOTSTRAP_DRAWS):
        if members is None:
            drawn = rng.choice(rows, len(rows))
        else:
            drawn = np.concatenate([members[i] for i in rng.integers(len(members), size=len(members))])
        if plan.classes is not None and len(np.unique(data.y[drawn])) < len(plan.classes):
            continue  # its coefficients would speak of other odds
        with warnings.catch_warnings():
            warnings.simplefilter("ignore")  # reported when the folds ran
            try:
                prepare, method = clone(pipeline[0]), clone(pipeline[-1])
                Z = prepare.fit_transform(data.X[drawn], data.y[drawn])
                method.fit(Z, data.y[drawn])
            except ValueError:  # a sample that cannot be fitted
                continue
            W = _method_matrix(method, Z[:CHECKED_ROWS], plan)
        if W is not None:
            made = prepared_columns(prepare)
            yield [column.name for column in made], W, np.array([column.scale for column in made])
