"""Which rows are trained on and which are tested on.

The hold-out is drawn first and locked: none of its rows is in any split. The outer splits test learners; the inner
splits, of the training rows of an outer one, choose settings. All respect how the rows depend on one another:

independent   folds drawn at random, with the same share of every class
copies        identical rows are never in both parts of a split; of those in the hold-out one row is kept, and none of
              the others is in any split
groups        the rows of a group are never in both parts of a split
sequences     a sequence is never split, and a sample of the rows is one of whole sequences
time          training rows precede test rows; the hold-out is the latest part
"""

from __future__ import annotations

import warnings
from collections.abc import Sequence
from dataclasses import dataclass, replace

import numpy as np
from sklearn.model_selection import GroupKFold, KFold, StratifiedGroupKFold, StratifiedKFold, TimeSeriesSplit

from fivefold.evaluation.protocols import Splitter
from fivefold.study.tables.dataset import Data

GROUP_HOLDOUT_SLICES = 20  # groups are dealt into this many slices; the hold-out takes whole slices

TrainTestRows = tuple[np.ndarray, np.ndarray]


@dataclass(frozen=True)
class Split:
    """One outer split: training rows and test rows."""

    repeat: int
    fold: int
    train: np.ndarray  # indices of rows
    test: np.ndarray


def mean_test_train_ratio(splits: Sequence[Split]) -> float:
    """Test rows per training row, averaged over the splits: what the corrected resampled t-test asks for."""
    return float(np.mean([len(split.test) / len(split.train) for split in splits]))


def derive_seed(*numbers: int) -> int:
    """A seed made of several numbers; similar numbers give unrelated seeds."""
    return int(np.random.SeedSequence(numbers).generate_state(1)[0] % 2**31)


def draw_holdout(data: Data, share: float, seed: int) -> np.ndarray:
    """Rows to lock away, sorted: at most this share of every class, of whole groups, or of the latest rows."""
    rows = np.arange(len(data.y))
    if share == 0:
        return rows[:0]
    if data.time is not None:
        held = rows[np.argsort(data.time, kind="stable")][len(rows) - int(share * len(rows)) :]
    elif data.groups is not None:
        slices = min(GROUP_HOLDOUT_SLICES, len(np.unique(data.groups)))
        parts = [test for _, test in _fold_pairs(data, rows, slices, seed)]
        held = np.concatenate(parts[: max(1, round(share * slices))])
    else:
        rows = distinct_rows(data, rows)
        held = np.setdiff1d(rows, subsample(data, rows, 1 - share, seed))
    return np.sort(held)


def rows_outside(data: Data, held: np.ndarray) -> np.ndarray:
    """All rows except those held out and their copies, sorted."""
    if data.records is None:
        return np.setdiff1d(np.arange(len(data.y)), held)
    return np.flatnonzero(~np.isin(data.records, data.records[held]))


def distinct_rows(data: Data, rows: np.ndarray) -> np.ndarray:
    """The first of every set of identical rows; all rows where copies are not kept together."""
    if data.records is None:
        return rows
    return rows[np.sort(np.unique(data.records[rows], return_index=True)[1])]


def class_sizes(data: Data, rows: np.ndarray) -> dict[str, int]:
    """The number of rows of every class, by its label; copies that are kept together count once."""
    classes, codes = np.unique(data.y[rows], return_inverse=True)
    if data.records is not None:
        span = data.records.max() + 1
        codes = np.unique(codes * span + data.records[rows]) // span
    return dict(zip(map(str, classes), np.bincount(codes).tolist(), strict=True))


def outer_splits(data: Data, rows: np.ndarray, folds: int, repeats: int, seed: int) -> tuple[Split, ...]:
    """The outer splits. Every row is tested once per repeat, except the earliest rows of a time series."""
    return tuple(
        Split(repeat, fold, train, test)
        for repeat in range(repeats)
        for fold, (train, test) in enumerate(_fold_pairs(data, rows, folds, derive_seed(seed, repeat)))
        if _has_two_classes(data, train)
    )


def inner_splits(data: Data, rows: np.ndarray, folds: int, seed: int) -> list[TrainTestRows]:
    """The inner splits of some training rows; none if rows, groups or classes are too few."""
    folds = min(folds, len(distinct_rows(data, rows)) - 1)
    if data.groups is not None:
        folds = min(folds, len(np.unique(data.groups[rows])))
    if data.task.is_classification:
        folds = min(folds, np.unique(data.y[distinct_rows(data, rows)], return_counts=True)[1].max())
    pairs = _fold_pairs(data, rows, folds, seed) if folds > 1 else []
    return [pair for pair in pairs if _has_two_classes(data, pair[0])]


def subsample(data: Data, rows: np.ndarray, share: float, seed: int) -> np.ndarray:
    """A share of the rows of each class, rounded up; a smaller share is a subset of a larger one.

    Of sequences, a share of them, rounded up, or as many as hold two classes.
    """
    if share >= 1:
        return rows
    if data.sequences is not None:
        return _sequence_sample(data, rows, share, seed)
    shuffled = np.random.default_rng(seed).permutation(rows)
    _, codes, counts = np.unique(_strata(data, shuffled), return_inverse=True, return_counts=True)
    order = np.argsort(codes, kind="stable")
    rank = np.empty(len(rows), dtype=np.int64)  # among the rows of its class
    rank[order] = np.arange(len(rows)) - np.repeat(np.cumsum(counts) - counts, counts)
    return np.sort(shuffled[rank < np.ceil(share * counts[codes] - 1e-9)])  # 0.8 * 15 is a little above 12


def at_most(data: Data, rows: np.ndarray, count: int, rng: np.random.Generator) -> np.ndarray:
    """About this many of the rows, sorted: drawn one by one, or whole sequences, the last of which ends the sample."""
    if data.sequences is None:
        return rows if len(rows) <= count else np.sort(rng.choice(rows, count, replace=False))
    own = data.sequences[rows]
    drawn = rng.permutation(np.unique(own))
    ends = np.cumsum([np.sum(own == one) for one in drawn])
    return rows[np.isin(own, drawn[: 1 + int(np.searchsorted(ends, count))])]


def _sequence_sample(data: Data, rows: np.ndarray, share: float, seed: int) -> np.ndarray:
    assert data.sequences is not None
    own = data.sequences[rows]
    shuffled = np.random.default_rng(seed).permutation(np.unique(own))
    count = int(np.ceil(share * len(shuffled) - 1e-9))
    while count < len(shuffled) and not _has_two_classes(data, rows[np.isin(own, shuffled[:count])]):
        count += 1
    return rows[np.isin(own, shuffled[:count])]


def _fold_pairs(data: Data, rows: np.ndarray, folds: int, seed: int) -> list[TrainTestRows]:
    """Folds of these rows, as indices into the whole table."""
    if data.records is not None:
        return _record_pairs(data, rows, folds, seed)
    stratified = data.task.is_classification
    splitter: Splitter
    if data.time is not None:
        rows, splitter = rows[np.argsort(data.time[rows], kind="stable")], TimeSeriesSplit(folds)
    elif data.groups is not None:
        splitter = (StratifiedGroupKFold if stratified else GroupKFold)(folds, shuffle=True, random_state=seed)
    else:
        splitter = (StratifiedKFold if stratified else KFold)(folds, shuffle=True, random_state=seed)
    groups = None if data.groups is None else data.groups[rows]
    with warnings.catch_warnings():
        warnings.simplefilter("ignore", UserWarning)  # about rare classes: the plan warns of them once
        pairs = splitter.split(np.zeros((len(rows), 1)), data.y[rows], groups)
        return [(rows[train], rows[test]) for train, test in pairs if len(train) and len(test)]


def _record_pairs(data: Data, rows: np.ndarray, folds: int, seed: int) -> list[TrainTestRows]:
    """Folds in which copies follow the first of them."""
    records = np.asarray(data.records)
    pairs = _fold_pairs(replace(data, records=None), distinct_rows(data, rows), folds, seed)

    def with_copies(part: np.ndarray) -> np.ndarray:
        return rows[np.isin(records[rows], records[part])]

    return [(with_copies(train), with_copies(test)) for train, test in pairs]


def _strata(data: Data, rows: np.ndarray) -> np.ndarray:
    return data.y[rows] if data.task.is_classification else np.zeros(len(rows))


def _has_two_classes(data: Data, train: np.ndarray) -> bool:
    """Do the training rows hold two classes? The early rows of a time series may not."""
    return not data.task.is_classification or len(np.unique(data.y[train])) > 1
