"""Which rows are learned from and which are judged on.

The hold-out is drawn first and locked: no split holds a row of it. The outer splits judge, the inner splits, drawn from
the training rows of an outer one, choose. All follow how the rows depend on one another:

independent   folds drawn at random, with the same share of every class
groups        the rows of a group are never in both parts of a split
time          training rows come before the rows they are judged on; the hold-out is the latest part
"""

from __future__ import annotations

import warnings
from dataclasses import dataclass
from typing import Any

import numpy as np
from sklearn.model_selection import GroupKFold, KFold, StratifiedGroupKFold, StratifiedKFold, TimeSeriesSplit

from fivefold.study.tables.dataset import Data

GROUP_HOLDOUT_SLICES = 20  # a hold-out of groups is made of so many parts

TrainTestRows = tuple[np.ndarray, np.ndarray]


@dataclass(frozen=True)
class Split:
    """One outer split: what is learned from and what is judged on."""

    repeat: int
    fold: int
    train: np.ndarray  # indices of rows
    test: np.ndarray


def derive_seed(*numbers: int) -> int:
    """A seed made of several numbers: neighbours give unrelated ones."""
    return int(np.random.SeedSequence(numbers).generate_state(1)[0] % 2**31)


def draw_holdout(data: Data, share: float, seed: int) -> np.ndarray:
    """Rows to lock away, sorted: at most this share of every class, whole groups, or the latest."""
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
        held = np.setdiff1d(rows, subsample(data, rows, 1 - share, seed))
    return np.sort(held)


def outer_splits(data: Data, rows: np.ndarray, folds: int, repeats: int, seed: int) -> tuple[Split, ...]:
    """The splits that judge; every row is judged once a repeat, but for the earliest where time counts."""
    return tuple(
        Split(repeat, fold, train, test)
        for repeat in range(repeats)
        for fold, (train, test) in enumerate(_fold_pairs(data, rows, folds, derive_seed(seed, repeat)))
        if _has_two_classes(data, train)
    )


def inner_splits(data: Data, rows: np.ndarray, folds: int, seed: int) -> list[TrainTestRows]:
    """The splits of training rows that choose a setting; none where rows, groups or classes are too few for it."""
    folds = min(folds, len(rows) - 1)
    if data.groups is not None:
        folds = min(folds, len(np.unique(data.groups[rows])))
    pairs = _fold_pairs(data, rows, folds, seed) if folds > 1 else []
    return [pair for pair in pairs if _has_two_classes(data, pair[0])]


def subsample(data: Data, rows: np.ndarray, share: float, seed: int) -> np.ndarray:
    """A share of the rows: of each class, rounded up; a smaller share is part of a larger one."""
    if share >= 1:
        return rows
    shuffled = np.random.default_rng(seed).permutation(rows)
    _, codes, counts = np.unique(_strata(data, shuffled), return_inverse=True, return_counts=True)
    order = np.argsort(codes, kind="stable")
    rank = np.empty(len(rows), dtype=np.int64)  # among the rows of its class
    rank[order] = np.arange(len(rows)) - np.repeat(np.cumsum(counts) - counts, counts)
    return np.sort(shuffled[rank < np.ceil(share * counts[codes] - 1e-9)])  # 0.8 * 15 is 12 and a rounding error


def _fold_pairs(data: Data, rows: np.ndarray, folds: int, seed: int) -> list[TrainTestRows]:
    """Folds of these rows, as indices into the whole table."""
    stratified = data.task == "classification"
    splitter: Any
    if data.time is not None:
        rows, splitter = rows[np.argsort(data.time[rows], kind="stable")], TimeSeriesSplit(folds)
    elif data.groups is not None:
        splitter = (StratifiedGroupKFold if stratified else GroupKFold)(folds, shuffle=True, random_state=seed)
    else:
        splitter = (StratifiedKFold if stratified else KFold)(folds, shuffle=True, random_state=seed)
    groups = None if data.groups is None else data.groups[rows]
    with warnings.catch_warnings():
        warnings.simplefilter("ignore", UserWarning)  # of rare classes: the plan says it once
        pairs = splitter.split(np.zeros((len(rows), 1)), data.y[rows], groups)
        return [(rows[train], rows[test]) for train, test in pairs if len(train) and len(test)]


def _strata(data: Data, rows: np.ndarray) -> np.ndarray:
    return data.y[rows] if data.task == "classification" else np.zeros(len(rows))


def _has_two_classes(data: Data, train: np.ndarray) -> bool:
    """Does the part hold two classes? Early rows may not."""
    return data.task != "classification" or len(np.unique(data.y[train])) > 1
