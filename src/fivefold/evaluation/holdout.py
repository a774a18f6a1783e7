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
from typing import Any

import numpy as np
from sklearn.base import clone, is_classifier

from fivefold.core._sklearn import _safe_indexing as rows_of
from fivefold.core.random_state import check_random_state
from fivefold.core.types import Indices, Matrix, Table, Target, Vector
from fivefold.evaluation.row_losses import Loss, default_loss
from fivefold.evaluation.selection import SelectionRule, least_loss
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

    candidates: tuple[Any, ...]
    parts: tuple[ThreeWaySplit, ...]
    training: Matrix
    validation: Matrix
    chosen: Indices
    test: Vector
    model: Any
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
        often = ", ".join(f"{self.candidates[i]} {n} times" for i, n in Counter(self.chosen.tolist()).most_common())
        part = self.parts[0]
        spread = "one split: another may say otherwise" if len(rows) == 1 else f"sd over splits {self.spread:.2g}"
        return "\n".join(
            [
                f"{len(part.train)} rows to train, {len(part.validation)} to choose, {len(part.test)} to judge; "
                f"{len(rows)} splits; chosen: {often}",
                f"training loss    {own:.4g}, optimistic: the model was made for it",
                f"validation loss  {new:.4g}, optimistic: the model was chosen by it",
                f"test loss        {self.estimate:.4g}, the estimate ({spread})",
            ]
        )


def hold_out(
    candidates: Sequence[Any],
    X: Table,
    y: Target,
    *,
    validation: float = 0.2,
    test: float = 0.2,
    stratify: bool | None = None,
    repeats: int = 1,
    loss: Loss | None = None,
    rule: SelectionRule = least_loss,
    random_state: Any = None,
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
    264 rows to train, 89 to choose, 89 to judge; 1 splits; chosen: Ridge(alpha=0.01) 1 times
    training loss    ..., optimistic: the model was made for it
    validation loss  ..., optimistic: the model was chosen by it
    test loss        ..., the estimate (one split: another may say otherwise)
    """
    if not len(candidates):
        raise ValueError("there is no candidate to choose from; give one model or more")
    if repeats < 1:
        raise ValueError(f"repeats must be 1 or more; got {repeats}")
    if not (validation > 0 and test > 0 and validation + test < 1):
        raise ValueError(
            f"validation and test are shares above 0 that leave rows to train on; got {validation:g} and {test:g}"
        )
    labels = y if (is_classifier(candidates[0]) if stratify is None else stratify) else None
    rng, measure, n = check_random_state(random_state), loss or default_loss(candidates[0]), len(y)
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
    parts, table, chosen, judged, models = zip(*runs, strict=True)
    return HoldOutResult(
        candidates=tuple(candidates),
        parts=parts,
        training=np.array([[found.training for found in row] for row in table]),
        validation=np.array([[found.mean for found in row] for row in table]),
        chosen=np.array(chosen),
        test=np.array(judged),
        model=models[0],
    )


def _run_split(
    candidates: Sequence[Any], X: Table, y: Target, parts: ThreeWaySplit, loss: Loss, rule: SelectionRule
) -> Any:
    """One split: the table of candidates, the chosen one, its loss on test rows, and itself."""
    split = (parts.train, parts.validation)
    table = []
    for candidate in candidates:
        model = _fit_rows(candidate, X, y, parts.train)
        own, new = (_row_losses(model, X, y, rows, loss) for rows in split)
        table.append(Validation(np.array([own.mean()]), np.array([new.mean()]), (new,), (split,)))
    chosen = rule(table)
    model = _fit_rows(candidates[chosen], X, y, np.concatenate(split))
    return parts, table, chosen, float(_row_losses(model, X, y, parts.test, loss).mean()), model


def _fit_rows(model: Any, X: Table, y: Target, rows: Indices) -> Any:
    return clone(model).fit(rows_of(X, rows), rows_of(y, rows))


def _row_losses(model: Any, X: Table, y: Target, rows: Indices, loss: Loss) -> Vector:
    Z = rows_of(X, rows)
    return np.asarray(loss(Z, rows_of(y, rows), model.predict(Z)), dtype=float)
