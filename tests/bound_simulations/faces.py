"""Samples with a known true error for the bound from cross-validation folds."""

from functools import cache

import numpy as np

from fivefold.theory import cross_validation_upper

DELTA = 0.05
FOLDS, FOLD_ROWS, SHARE = 3, 12, 0.25  # SHARE of class 1; a fold of 12 rows often holds few of them

ONE_FOLD_ROWS = 60


@cache
def _upper(errors):
    return cross_validation_upper(errors, FOLD_ROWS, DELTA)


def majority_folds(rng):
    """The majority class of the other folds errs with probability SHARE, or 1 - SHARE where it was misled."""
    labels = rng.random((FOLDS, FOLD_ROWS)) < SHARE
    ones = labels.sum(axis=1)
    majority = 2 * (ones.sum() - ones) > (FOLDS - 1) * FOLD_ROWS
    errors = np.where(majority, FOLD_ROWS - ones, ones)
    return _upper(tuple(sorted(errors.tolist()))), float(np.where(majority, 1 - SHARE, SHARE).mean())


@cache
def _one_fold_limits():
    return np.array([cross_validation_upper([k], ONE_FOLD_ROWS, DELTA) for k in range(ONE_FOLD_ROWS + 1)])


def one_fold(rng):
    """A true error just above the bound for k errors, where a single fold is wrong with probability delta / e."""
    limits = _one_fold_limits()
    risk = rng.choice(limits[:-1]) + 1e-9
    return limits[rng.binomial(ONE_FOLD_ROWS, risk)], risk


SIMULATIONS = {"cross-validation folds": majority_folds, "cross-validation folds, one at an edge": one_fold}
