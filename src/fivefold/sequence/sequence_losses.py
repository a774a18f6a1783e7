"""Losses of guessed sequences: whole sequences that are wrong, and positions that are.

    0-1       1 if any position of a sequence is wrong
    Hamming   the number of positions that are wrong

Viterbi's path minimises the expectation of the first, the likeliest state of each position that of the second.
"""

from __future__ import annotations

import numpy as np
from numpy.typing import ArrayLike

from fivefold.core.admission.sequences import sequence_offsets
from fivefold.core.types import Doubles


def sequence_zero_one_loss(y_true: ArrayLike, y_pred: ArrayLike, lengths: ArrayLike | None = None) -> float:
    """The share of sequences with a wrong position.

    >>> sequence_zero_one_loss([0, 1, 1, 0], [0, 1, 0, 0], lengths=[2, 2])
    0.5
    """
    return float((_wrong(y_true, y_pred, lengths) > 0).mean())


def sequence_hamming_loss(y_true: ArrayLike, y_pred: ArrayLike, lengths: ArrayLike | None = None) -> float:
    """The mean number of wrong positions of a sequence.

    >>> sequence_hamming_loss([0, 1, 1, 0], [0, 1, 0, 1], lengths=[2, 2])
    1.0
    """
    return float(_wrong(y_true, y_pred, lengths).mean())


def _wrong(y_true: ArrayLike, y_pred: ArrayLike, lengths: ArrayLike | None) -> Doubles:
    """Wrong positions of each sequence (S,)."""
    truth, guess = np.asarray(y_true), np.asarray(y_pred)
    if truth.ndim != 1 or truth.shape != guess.shape:
        raise ValueError(
            f"y_true and y_pred must be one value per position; got the shapes {truth.shape}, {guess.shape}"
        )
    offsets = sequence_offsets([len(truth)] if lengths is None else lengths, len(truth))
    return np.add.reduceat((truth != guess).astype(np.float64), offsets[:-1])
