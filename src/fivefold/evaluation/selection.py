"""Choosing among candidates by their losses on unseen rows, and why the others lost.

Candidates are given from the simplest to the most complex. All are scored on the same splits, and the whole table is
returned. Two rules choose:

    least_loss            argmin_m e_m, the simplest of equals
    within_one_error      the simplest m with e_m <= e_best + s_best, s_best the standard error of e_best

The loss of the chosen candidate is optimistic because the candidate was chosen by it. `nested_selection` repeats the
choice inside the training rows of every outer split: tuning is part of training. scikit-learn's GridSearchCV inside its
cross_validate does the same for grids of parameters; a study has its own loop, with halving and calibration.

Breiman, Friedman, Olshen & Stone (1984) for the rule of one standard error; Varma & Simon (2006) for nesting.
"""

from __future__ import annotations

from collections import Counter
from collections.abc import Callable, Sequence
from dataclasses import dataclass, replace
from typing import Any, Literal

import numpy as np
from numpy.typing import ArrayLike
from sklearn.base import clone

from fivefold.core._sklearn import _safe_indexing as rows_of
from fivefold.core.types import Array, Table, Target
from fivefold.evaluation.protocols import CrossValidation, FittedModel, Model, Split
from fivefold.evaluation.row_losses import Loss, default_loss, model_losses
from fivefold.evaluation.tolerances import ROUNDING
from fivefold.evaluation.validation import (
    INDEPENDENT_ROWS,
    SIMILAR_FIT,
    Validation,
    cross_validate,
    splits_of,
)

FitVerdict = Literal["underfit", "right", "overfit"]
MIN_GAIN_KEPT = 0.5  # less than this share of the gain over a baseline on training rows remains: overfit
MIN_GAIN = 0.1  # less than this share of the possible gain over a baseline, even on training rows: underfit
SelectionRule = Callable[[Sequence[Validation]], int]

ORDERED_CANDIDATES = "the candidates are ordered from the simplest to the most complex"
OPTIMISTIC_CHOICE = "the loss of the chosen candidate is optimistic: it was chosen by that loss"


def least_loss(table: Sequence[Validation]) -> int:
    """The candidate with the least mean loss, the first of equals."""
    return _first_below(table, min(found.mean for found in table))


def within_one_error(table: Sequence[Validation]) -> int:
    """The first candidate whose mean loss is within one standard error of the least: Occam's razor."""
    best = table[least_loss(table)]
    return _first_below(table, best.mean + best.error)


def _first_below(table: Sequence[Validation], limit: float) -> int:
    return next(i for i, found in enumerate(table) if found.mean <= limit + ROUNDING * abs(limit))


@dataclass(frozen=True)
class Selection:
    """The losses of all candidates, the one chosen, and that one fitted on all rows.

    Attributes
    ----------
    candidates
        what was given, unfitted.
    table
        their losses on the same splits.
    chosen
        index of the candidate that the rule chose.
    model
        the chosen candidate, fitted on all rows; None without refit.
    """

    candidates: tuple[Model, ...]
    table: tuple[Validation, ...]
    chosen: int
    model: FittedModel | None
    assumptions: tuple[str, ...] = (INDEPENDENT_ROWS, SIMILAR_FIT, ORDERED_CANDIDATES, OPTIMISTIC_CHOICE)

    @property
    def verdicts(self) -> tuple[FitVerdict, ...]:
        """Whether each candidate underfits, overfits or is right, compared with the one of least loss."""
        best = self.table[least_loss(self.table)]
        return tuple(diagnose(found, best) for found in self.table)

    def __str__(self) -> str:
        lines = (
            f"{'*' if i == self.chosen else ' '} {candidate}: {found}; {verdict}"
            for i, (candidate, found, verdict) in enumerate(
                zip(self.candidates, self.table, self.verdicts, strict=True)
            )
        )
        return "\n".join(lines)


def select(
    candidates: Sequence[Model],
    X: Table,
    y: Target,
    *,
    cv: CrossValidation = 5,
    loss: Loss | None = None,
    rule: SelectionRule = least_loss,
    groups: ArrayLike | None = None,
    refit: bool = True,
    n_jobs: int | None = None,
) -> Selection:
    """Score all candidates on the same splits and choose one; with cv=ShuffleSplit(1) by a single hold-out.

    Examples
    --------
    >>> from sklearn.datasets import load_diabetes
    >>> from fivefold.linear_model import Ridge
    >>> X, y = load_diabetes(return_X_y=True)
    >>> found = select([Ridge(alpha=a) for a in (100.0, 1.0, 0.01)], X, y)
    >>> found.model, found.verdicts
    (Ridge(alpha=0.01), ('underfit', 'underfit', 'right'))
    """
    loss = loss or default_loss(first_candidate(candidates))
    splits = splits_of(candidates[0], X, y, cv=cv, groups=groups)
    table = tuple(cross_validate(m, X, y, cv=splits, loss=loss, n_jobs=n_jobs) for m in candidates)
    chosen = rule(table)
    return Selection(tuple(candidates), table, chosen, clone(candidates[chosen]).fit(X, y) if refit else None)


@dataclass(frozen=True)
class NestedSelection:
    """The value of a selection: its losses on outer test rows it never saw, and what it chose there."""

    outer: Validation
    inner: tuple[Selection, ...]

    @property
    def chosen(self) -> dict[int, int]:
        """How often each candidate was chosen."""
        return dict(Counter(selection.chosen for selection in self.inner).most_common())

    def __str__(self) -> str:
        often = ", ".join(f"{self.inner[0].candidates[i]} ({n} of {len(self.inner)})" for i, n in self.chosen.items())
        return f"{self.outer}; chosen: {often}"


def nested_selection(
    candidates: Sequence[Model],
    X: Table,
    y: Target,
    *,
    cv: CrossValidation = 5,
    inner: CrossValidation = 5,
    loss: Loss | None = None,
    rule: SelectionRule = least_loss,
    groups: ArrayLike | None = None,
    n_jobs: int | None = None,
) -> NestedSelection:
    """Choose again on the training rows of every outer split, and score the chosen model on its test rows.

    Examples
    --------
    >>> from sklearn.datasets import load_diabetes
    >>> from fivefold.linear_model import Ridge
    >>> found = nested_selection([Ridge(alpha=a) for a in (10.0, 0.1)], *load_diabetes(return_X_y=True))
    >>> found.chosen, round(found.outer.mean)
    ({1: 5}, 3007)
    """
    loss = loss or default_loss(first_candidate(candidates))
    splits = splits_of(candidates[0], X, y, cv=cv, groups=groups)
    options = {"cv": inner, "loss": loss, "rule": rule, "n_jobs": n_jobs}
    judged = [_choose_and_judge(candidates, X, y, groups, split, options) for split in splits]
    train, losses, inside = zip(*judged, strict=True)
    outer = Validation(np.array(train), np.array([part.mean() for part in losses]), losses, splits)
    return NestedSelection(outer, inside)


def first_candidate(candidates: Sequence[Model]) -> Model:
    """The first of the candidates; refused if there is none."""
    if not len(candidates):
        raise ValueError("there is no candidate to choose from; give one model or more")
    return candidates[0]


def _choose_and_judge(
    candidates: Sequence[Model], X: Table, y: Target, groups: ArrayLike | None, split: Split, options: dict[str, Any]
) -> tuple[float, Array, Selection]:
    """Mean loss of the chosen candidate on training rows, its loss on each test row, and the choice."""
    (Z, t), (Z_test, t_test) = ((rows_of(X, rows), rows_of(y, rows)) for rows in split)
    found = select(candidates, Z, t, groups=None if groups is None else rows_of(groups, split[0]), **options)
    assert found.model is not None
    on_train, on_test = (model_losses(found.model, *part, options["loss"]) for part in ((Z, t), (Z_test, t_test)))
    return float(on_train.mean()), on_test, replace(found, model=None)


def diagnose(found: Validation, reference: Validation | float) -> FitVerdict:
    """Does a learner underfit, overfit, or fit well?

    It is "right" if its loss on unseen rows is within one standard error of the reference: another learner on the same
    splits, or a loss known to be attainable. Otherwise it is "overfit" if its loss on training rows is no larger than
    the reference's, and "underfit" if that is larger as well.

    Examples
    --------
    >>> from sklearn.datasets import load_iris
    >>> from fivefold.baselines import MajorityClassifier, MemorisingClassifier
    >>> X, y = load_iris(return_X_y=True)
    >>> [diagnose(cross_validate(m, X, y), 0.05) for m in (MajorityClassifier(), MemorisingClassifier())]
    ['underfit', 'overfit']
    """
    if isinstance(reference, Validation):
        folds, rows, level = reference.test, reference.losses[0], reference.training
    else:
        folds = rows = np.asarray(reference)
        level = reference
    gap = found.test - folds  # (J,)
    beyond = gap if len(gap) > 1 else found.losses[0] - rows
    if gap.mean() <= beyond.std(ddof=1) / np.sqrt(len(beyond)) + ROUNDING * abs(level):
        return "right"
    return "overfit" if found.training <= level * (1 + ROUNDING) else "underfit"


def diagnose_gain(train: float, test: float, baseline: float, perfect: float) -> FitVerdict:
    """The same where there is a baseline, and no reference known to be attainable; all arguments are losses.

    "underfit" if even on training rows it gains almost nothing over the baseline; "overfit" if less than half of its
    gain on training rows remains on unseen rows.

    Examples
    --------
    >>> [diagnose_gain(*losses, baseline=1.0, perfect=0.0) for losses in ((0.2, 0.3), (0.97, 0.98), (0.0, 0.8))]
    ['right', 'underfit', 'overfit']
    """
    if baseline - train < MIN_GAIN * (baseline - perfect):
        return "underfit"
    return "overfit" if baseline - test < MIN_GAIN_KEPT * (baseline - train) else "right"
