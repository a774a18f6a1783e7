"""Folds of the rows that are there: what methods that choose their own penalty share."""

from __future__ import annotations

from collections.abc import Iterable
from typing import Any

import numpy as np
from sklearn.model_selection import check_cv


def folds(cv: Any, X: Any, y: Any, given: Any = None, *, classes: bool = False, **params: Any) -> list[Any]:
    """Pairs of rows of X to train on and to judge by; `params` go to the splitter.

    Row numbers listed in `cv` count the rows that were `given` weights, of which those of weight zero are not in X.
    """
    splits = list(check_cv(cv, y, classifier=classes).split(X, y, **params))
    if given is None or not isinstance(cv, Iterable):
        return splits
    there = np.asarray(given) > 0
    place = np.where(there, np.cumsum(there) - 1, -1)
    return [tuple(place[rows][place[rows] >= 0] for rows in pair) for pair in splits]
