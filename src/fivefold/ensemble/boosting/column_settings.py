"""What boosting with histograms is told of the columns: categories, signs of monotony, sets that may interact."""

from __future__ import annotations

from dataclasses import dataclass
from itertools import combinations
from numbers import Integral
from typing import Any

import numpy as np

from fivefold.core._sklearn import _check_monotonic_cst
from fivefold.core.types import Codes, Mask


@dataclass(frozen=True)
class ColumnSettings:
    """What is known of the columns: which hold categories, monotonic signs, sets that may interact on one path."""

    categorical: Mask  # (d,)
    signs: Codes | None  # (d,) 1, -1 or 0
    interaction_sets: Mask | None  # (sets, d)

    @classmethod
    def of(cls, estimator: Any, d: int) -> ColumnSettings:  # HistGradientBoostingClassifier or ...Regressor
        """The parameters of boosting, for a table of d columns."""
        name, asked = type(estimator).__name__, estimator.monotonic_cst
        if asked is not None and not isinstance(asked, dict) and np.ndim(asked) != 1:
            raise ValueError(f"{name}: monotonic_cst must hold one sign per column; got {asked!r}")
        signs = None if asked is None else _check_monotonic_cst(estimator, asked)
        categorical = _categorical(estimator, d)
        if signs is not None and (bad := (signs != 0) & categorical).any():
            raise ValueError(
                f"{name}: column {int(bad.argmax())} holds categories, which have no order for monotonic_cst"
            )
        return cls(categorical, signs, _interaction_sets(name, estimator.interaction_cst, d))


def is_from_dtype(named: Any) -> bool:  # as the parameter categorical_features
    """Whether column types say which columns hold categories."""
    return named is None or (isinstance(named, str) and named == "from_dtype")


def _categorical(estimator: Any, d: int) -> Mask:  # as above
    """Which columns hold categories: text, category types, and those named by the user."""
    name, named = type(estimator).__name__, estimator.categorical_features
    out = np.zeros(d, dtype=bool)
    if "categories_in_" in vars(estimator):
        text = [j for j, values in vars(estimator)["categories_in_"].values.items() if values != (False, True)]
        out[text] = True
    if is_from_dtype(named):
        return out
    named = np.asarray(named)
    if named.size == 0:
        return out
    if named.dtype.kind not in "biuOU":
        raise ValueError(
            f"{name}: categorical_features must hold names, numbers or truth values, one for each column of "
            f"categories; got {named.dtype.name}"
        )
    if named.dtype == bool and named.shape != (d,):
        raise ValueError(f"{name}: categorical_features is a mask of shape {named.shape}; X has {d} columns")
    if named.dtype.kind in "OU":
        known = list(getattr(estimator, "feature_names_in_", ()))
        if unknown := [str(x) for x in named if x not in known]:
            raise ValueError(f"{name}: categorical_features names {unknown[0]!r}, no column of X")
        named = np.array([known.index(x) for x in named], dtype=int)
    if named.dtype != bool and not ((named >= 0) & (named < d)).all():
        raise ValueError(f"{name}: categorical_features holds {named.max()}; columns are 0 to {d - 1}")
    out[named] = True
    return out


def _interaction_sets(name: str, asked: Any, d: int) -> Mask | None:  # as the parameter interaction_cst
    """(sets, d): columns that may occur on one path; the columns not named form one more set."""
    if asked is None:
        return None
    if isinstance(asked, str):
        sets = list(combinations(range(d), 2 if asked == "pairwise" else 1))
    else:
        try:
            sets = [tuple(group) for group in asked]
        except TypeError:
            raise ValueError(
                f"{name}: interaction_cst must be a sequence of lists or tuples of columns; got {asked!r}"
            ) from None
    named = {f for group in sets for f in group}
    if wrong := [f for f in named if not isinstance(f, Integral) or not 0 <= f < d]:
        raise ValueError(f"{name}: interaction_cst holds {wrong[0]!r}; columns are 0 to {d - 1}")
    rest = set(range(d)) - named
    out = np.zeros((len(sets) + bool(rest), d), dtype=bool)
    for i, group in enumerate([*sets, tuple(rest)][: len(out)]):
        out[i, list(group)] = True
    return out
