"""Samples with a known true error, for the bounds on held-out rows and the one from cross-validation folds."""

from functools import cache, partial

import numpy as np

from fivefold.theory import BOUNDS, Case, cross_validation_upper

DELTA = 0.05
FOLDS, FOLD_ROWS, SHARE = 3, 12, 0.25  # SHARE of class 1; a fold of 12 rows often holds few of them
HELD_ROWS, ERROR = 100, 0.2  # where the binomial limit is wrong in 4.7 % of samples


@cache
def _folds_upper(errors):
    return cross_validation_upper(errors, FOLD_ROWS, DELTA)


def majority_folds(rng):
    """The majority class of the other folds errs with probability SHARE, or 1 - SHARE where it was misled."""
    labels = rng.random((FOLDS, FOLD_ROWS)) < SHARE
    ones = labels.sum(axis=1)
    majority = 2 * (ones.sum() - ones) > (FOLDS - 1) * FOLD_ROWS
    errors = np.where(majority, FOLD_ROWS - ones, ones)
    return _folds_upper(tuple(sorted(errors.tolist()))), float(np.where(majority, 1 - SHARE, SHARE).mean())


@cache
def _held_out_upper(name, errors):
    wrong = (np.arange(HELD_ROWS) < errors).astype(float)
    return BOUNDS[name](Case(None, wrong[:, None], wrong, wrong, "held out"), DELTA).value


def held_out(name, rng):
    """A fixed rule of a known error."""
    return _held_out_upper(name, int(rng.binomial(HELD_ROWS, ERROR))), ERROR


SIMULATIONS = {"cross-validation folds": majority_folds} | {
    name: partial(held_out, name)
    for name in ("Hoeffding", "KL inversion", "binomial inversion", "relative Chernoff", "relative Chernoff, simple")
}
