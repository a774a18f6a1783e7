"""Estimators around other estimators of any library: how rows reach the members.

The members admit tables themselves, so an ensemble only checks what they cannot: that X and y belong together, that no
target is missing, and which rows have a positive weight. Rows of weight zero are left out before a member sees them.
"""

from __future__ import annotations

from collections.abc import Iterable
from typing import Any, NamedTuple

import numpy as np
from sklearn.utils import check_consistent_length, indexable
from sklearn.utils.validation import check_is_fitted

from fivefold.core._sklearn import _num_samples, _safe_indexing
from fivefold.core.admission.refusals import refuse_missing_target
from fivefold.core.admission.tables import admit_for_members
from fivefold.core.admission.targets import admit_weights
from fivefold.core.numerics.arrays import to_numpy
from fivefold.core.types import Indices, Labels, Mask, Table, UserTable, UserTarget, UserWeights, Weights


class MemberRows(NamedTuple):
    """The rows of positive weight, as members get them."""

    X: Table
    y: Labels
    w: Weights | None  # None where no weights were given
    kept: Mask | None  # which rows of the table given these are; None for all


def admit_member_rows(owner: object, X: UserTable, y: UserTarget, sample_weight: UserWeights) -> MemberRows:
    """Rows of positive weight and their targets; refuses a missing or empty target, and lengths that differ."""
    me = type(owner).__name__
    if X is None:
        raise ValueError(f"{me} needs a table X; got None")
    if y is None:
        raise ValueError(f"{me} requires y to be passed, but the target y is None")
    y = np.asarray(to_numpy(y))
    refuse_missing_target(owner, y)
    check_consistent_length(X, y)
    if not len(y):
        raise ValueError(f"{me}: the table is empty: 0 sample(s) and as many targets")
    X = indexable(admit_for_members(owner, X))[0]
    if sample_weight is None:
        return MemberRows(X, y, None, None)
    w = admit_weights(owner, sample_weight, np.empty((len(y), 0)))
    if w.all():
        return MemberRows(X, y, w, None)
    kept = w > 0
    return MemberRows(_safe_indexing(X, np.flatnonzero(kept)), y[kept], w[kept], kept)


def admit_new_rows(owner: object, X: UserTable) -> Table:
    """Rows to predict, in a form whose rows can be picked."""
    check_is_fitted(owner)
    return indexable(admit_for_members(owner, X))[0]


def note_columns(owner: object, members: Iterable[object]) -> None:
    """Copy what the members remember of the columns: their number and, if they were named, their names."""
    members = list(members)
    for name in ("n_features_in_", "feature_names_in_"):
        vars(owner).pop(name, None)
        found = [value for member in members if (value := getattr(member, name, None)) is not None]
        if found:
            setattr(owner, name, found[0])


def take_rows(value: Any, rows: Indices, n: int) -> Any:  # a user's argument of fit: anything
    """The entries of a fit argument for these rows; an argument without one value per row is returned unchanged."""
    try:
        return _safe_indexing(value, rows) if _num_samples(value) == n else value
    except TypeError:
        return value
