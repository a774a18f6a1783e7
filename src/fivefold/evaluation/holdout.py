"""The hold-out procedure: rows to train on, rows to choose by, rows to judge the chosen one.

For every candidate setting m: fit on the training rows, loss v_m on the validation rows; the best, by `rule`, is fitted
again on training and validation rows together, and its loss on the test rows is the final estimate. All three losses
are reported, but only the last is unbiased: a model was fitted to its training rows and chosen by its validation rows.

The result depends on the particular split. `repeats` draws further splits, and the spread of the estimates shows how
much; because the splits share rows, the spread is not the error of their mean.
"""

from __future__ import annotations

from collections import Counter
from collections.abc import Sequence
from dataclasses import dataclass
from typing import NamedTuple

import numpy as np
from sklearn.base import clone, is_classifier

from fivefold.core._sklearn import _safe_indexing as rows_of
from fivefold.core.estimators.params import Seed
from fivefold.core.random_state import check_random_state
from fivefold.core.types import Indices, Matrix, Table, Target, Vector
from fivefold.evaluation.protocols import FittedModel, Model
from fivefold.evaluation.row_losses import Loss, default_loss, model_losses
from fivefold.evaluation.selection import SelectionRule, first_candidate, least_loss
from fivefold.evaluation.validation import INDEPENDENT_ROWS, ThreeWaySplit, Validation, three_way_split


@dataclass(frozen=True)
class HoldOutResult:
    """What was chosen on every split, and its losses on training, validation and test rows.

    Attributes
    ----------
    candidates
        the settings that were compared.
    parts
        rows of the three sets, for every split.
    training, validation
        losses of every candidate on every split, (R, M).
    chosen
        index of the candidate chosen on every split, (R,).
    test
        loss of the chosen one on the test rows of every split, (R,).
    model
        the model chosen on the first split, fitted on its training and validation rows.
    """

    candidates: tuple[Model, ...]
    parts: tuple[ThreeWaySplit, ...]
    training: Matrix
    validation: Matrix
    chosen: Indices
    test: Vector
    model: FittedModel
    assumptions: tuple[str, ...] = (INDEPENDENT_ROWS,)

    @property
    def estimate(self) -> float:
        """Mean loss on test rows: the one to report."""
        return float(self.test.mean())

    @property
    def spread(self) -> float:
        """Standard deviation of the estimate over splits; NaN for one split."""
        return float(self.test.std(ddof=1)) if len(self.test) > 1 else float("nan")

    @property
    def optimism(self) -> float:
        """How much smaller the loss of the chosen one is on its training rows than on test rows."""
        return float(self.test.mean() - self.training[np.arange(len(self.chosen)), self.chosen].mean())

    def __str__(self) -> str:
        rows = np.arange(len(self.chosen))
        own, new = (table[rows, self.chosen].mean() for table in (self.training, self.validation))
        counts = Counter(self.chosen.tolist()).most_common()
        often = ", ".join(f"{self.candidates[i]} ({n} of {len(rows)})" for i, n in counts)
        part = self.parts[0]
        spread = "one split: another may say otherwise" if len(rows) == 1 else f"sd over splits {self.spread:.2g}"
        return "\n".join(
            [
                f"{len(part.train)} rows to train, {len(part.validation)} to choose, {len(part.test)} to judge; "
                f"{len(rows)} split{'s' if len(rows) > 1 else ''}; chosen: {often}",
                f"training loss    {own:.4g}, optimistic: the model was made for it",
                f"validation loss  {new:.4g}, optimistic: the model was chosen by it",
                f"test loss        {self.estimate:.4g}, the estimate ({spread})",
            ]
        )


def hold_out(
    candidates: Sequence[Model],
    X: Table,
    y: Target,
    *,
    validation: float = 0.2,
    test: float = 0.2,
    stratify: bool | None = None,
    repeats: int = 1,
    loss: Loss | None = None,
    rule: SelectionRule = least_loss,
    random_state: Seed = None,
) -> HoldOutResult:
    """Choose among candidates on validation rows, and judge the chosen one on test rows.

    Parameters
    ----------
    candidates
        Models with their settings, the simplest first.
    X, y
        Rows and targets.
    validation, test
        Shares of the rows.
    stratify
        Keep the shares of the classes in all three sets; by default for classifiers.
    repeats
        Splits to draw.
    loss, rule
        As for `select`.
    random_state
        Decides the splits.

    Examples
    --------
    >>> from sklearn.datasets import load_diabetes
    >>> from fivefold.linear_model import Ridge
    >>> found = hold_out([Ridge(a) for a in (100.0, 1.0, 0.01)], *load_diabetes(return_X_y=True), random_state=0)
    >>> print(found)
    264 rows to train, 89 to choose, 89 to judge; 1 split; chosen: Ridge(alpha=0.01) (1 of 1)
    training loss    ..., optimistic: the model was made for it
    validation loss  ..., optimistic: the model was chosen by it
    test loss        ..., the estimate (one split: another may say otherwise)
    """
    simplest = first_candidate(candidates)
    if repeats < 1:
        raise ValueError(f"repeats must be 1 or more; got {repeats}")
    if not (validation > 0 and test > 0 and validation + test < 1):
        raise ValueError(
            f"validation and test are shares above 0 that leave rows to train on; got {validation:g} and {test:g}"
        )
    labels = y if (is_classifier(simplest) if stratify is None else stratify) else None
    rng, measure, n = check_random_state(random_state), loss or default_loss(simplest), len(y)
    runs = [
        _run_split(
            candidates,
            X,
            y,
            three_way_split(n, validation=validation, test=test, stratify=labels, random_state=rng),
            measure,
            rule,
        )
        for _ in range(repeats)
    ]
    return HoldOutResult(
        candidates=tuple(candidates),
        parts=tuple(run.parts for run in runs),
        training=np.array([[found.training for found in run.table] for run in runs]),
        validation=np.array([[found.mean for found in run.table] for run in runs]),
        chosen=np.array([run.chosen for run in runs]),
        test=np.array([run.test for run in runs]),
        model=runs[0].model,
    )


class _SplitRun(NamedTuple):
    """One split: its rows, the table of candidates, the chosen one, its loss on test rows, and itself fitted."""

    parts: ThreeWaySplit
    table: list[Validation]
    chosen: int
    test: float
    model: FittedModel


def _run_split(
    candidates: Sequence[Model], X: Table, y: Target, parts: ThreeWaySplit, loss: Loss, rule: SelectionRule
) -> _SplitRun:
    split = (parts.train, parts.validation)
    table = []
    for candidate in candidates:
        model = _fit_rows(candidate, X, y, parts.train)
        own, new = (model_losses(model, rows_of(X, rows), rows_of(y, rows), loss) for rows in split)
        table.append(Validation(np.array([own.mean()]), np.array([new.mean()]), (new,), (split,)))
    chosen = rule(table)
    model = _fit_rows(candidates[chosen], X, y, np.concatenate(split))
    on_test = model_losses(model, rows_of(X, parts.test), rows_of(y, parts.test), loss)
    return _SplitRun(parts, table, chosen, float(on_test.mean()), model)


def _fit_rows(model: Model, X: Table, y: Target, rows: Indices) -> FittedModel:
    return clone(model).fit(rows_of(X, rows), rows_of(y, rows))
