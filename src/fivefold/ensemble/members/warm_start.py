"""Warm starts: a fit that continues from the one before, on columns and classes of the same kind.

Trees that ask about a column that is not there would read past the end of a row: the earlier model leaves the estimator
while the new table is admitted, reaches `_fit` as an argument, and is taken up again only if the table fits it.
"""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass
from typing import Any, Protocol, Self, TypeAlias
from weakref import WeakKeyDictionary

import numpy as np

from fivefold.core.admission.categories import Categories
from fivefold.core.console.user_warnings import warn
from fivefold.core.estimators.params import Seed
from fivefold.core.random_state import check_random_state
from fivefold.core.types import Indices, Labels, Table, Target, UserTable, UserTarget, UserWeights
from fivefold.tree.shared.single_column_trees import BaseTreeClassifier, BaseTreeRegressor

ForestTree: TypeAlias = BaseTreeClassifier | BaseTreeRegressor

# the model and its trees as estimators, by forest; kept outside the forests, so that neither a copy nor a file of one
# holds its trees twice
_made: WeakKeyDictionary[object, tuple[object, list[ForestTree]]] = WeakKeyDictionary()


class TreeForest(Protocol):
    """A forest whose trees become estimators on first access."""

    model_: Any  # each kind has its own; its `trees` are arrays

    def _member(self, i: int) -> ForestTree:
        """Tree i as an estimator."""


def trees_of(forest: TreeForest) -> list[ForestTree]:
    """The trees of a forest as estimators, made once per model; a warm start keeps those already made."""
    model, known = forest.model_, _made.get(forest)
    if known is None or known[0] is not model:
        kept = known[1] if known is not None and known[0] is None else []
        known = _made[forest] = model, [*kept, *(forest._member(i) for i in range(len(kept), len(model.trees)))]
    return known[1]


def _keep_trees(forest: WarmStart) -> None:
    """Before a fit that continues: the estimators of the trees so far stay the first ones."""
    known = _made.pop(forest, None)
    if known is not None and known[0] is forest.model_:
        _made[forest] = None, known[1]


@dataclass(frozen=True)
class EarlierFit:
    """What was learned, and from what kind of table."""

    model: Any  # each method has its own
    columns: int
    categories: Categories | None  # of the columns that hold any
    classes: Labels | list[Labels] | None  # as `classes_`; None for numbers
    outputs: int | None


class WarmStart:
    """A method that, with `warm_start`, keeps what it has learned and adds to it.

    Parameters
    ----------
    max_samples
        rows per sample: a number, or a share of all; None for as many as there are, integer weights counted.
    n_estimators
        trees.
    max_depth
        maximum depth of a tree; None for no limit.
    min_samples_split, min_samples_leaf
        minimum number of rows of a node that is split, and of a leaf; a fraction is a share of all rows.
    min_weight_fraction_leaf
        minimum share of the total weight in a leaf.
    max_features
        columns tried at a node, drawn at random: a number, a share, "sqrt", "log2", or None for all.
    n_jobs
        accepted for compatibility and ignored: trees grow on all available cores, and the result is the same for any
        number.
    warm_start
        whether another fit keeps the trees and adds the missing ones.
    learning_rate
        the share of each tree that is added.
    """

    model_: Any  # each method has its own
    classes_: Any  # labels, for several outputs a list of them; of a classifier
    n_features_in_: int
    n_estimators: int  # of methods that call `_new_seeds`
    warm_start: bool
    random_state: Seed
    _admit: Callable[[UserTable], Table]

    def _fit_admitted(self, X: UserTable, y: UserTarget, sample_weight: UserWeights, **extra: object) -> Self:
        """The work of fit; `_fit` gets what the last fit learned, if this one continues it."""
        mixed_into: Any = super()  # of the class it is mixed into
        fitted: Self = mixed_into._fit_admitted(X, y, sample_weight, earlier=self._earlier_fit(), **extra)
        return fitted

    def _earlier_fit(self) -> EarlierFit | None:
        """What a warm start continues; None for a fit that starts over."""
        if not self.warm_start or "model_" not in vars(self):
            return None
        known = (getattr(self, name, None) for name in ("categories_in_", "classes_", "n_outputs_"))
        return EarlierFit(self.model_, self.n_features_in_, *known)

    def _forget(self) -> None:
        if not self.warm_start or "model_" not in vars(self):
            _made.pop(self, None)
        else:
            _keep_trees(self)
        vars(self).pop("model_", None)

    def _resume(self, earlier: EarlierFit | None, X: Table, y: Target | None = None) -> Any:  # as `model_`
        """Take up the earlier model and return it; None if there is none. Refuses data of another kind."""
        if earlier is None:
            return None
        outputs = 1 if y is None or y.ndim == 1 else y.shape[1]
        for what, before, now in (
            ("columns", earlier.columns, X.shape[1]),
            ("categories", earlier.categories, getattr(self, "categories_in_", None)),
            ("outputs", earlier.outputs or outputs, outputs),
            ("classes", _listed(earlier.classes), _listed(getattr(self, "classes_", None))),
        ):
            if now != before:
                raise ValueError(
                    f"{type(self).__name__}: warm_start=True goes on from a fit with {what} {before}; this table has "
                    f"{what} {now}. Give data of the same kind, or set warm_start=False to start over"
                )
        self.model_ = earlier.model
        return earlier.model

    def _resume_rounds(self, earlier: EarlierFit | None, X: Table, parameter: str) -> Any:  # as `model_`
        """The same for rounds of boosting, whose number is a parameter; refuses fewer than there are already."""
        before, asked = self._resume(earlier, X), getattr(self, parameter)
        if before is not None and asked < before.rounds:
            raise ValueError(
                f"{type(self).__name__}: {parameter}={asked} is less than the {before.rounds} rounds learned before; "
                "with warm_start=True it counts all rounds"
            )
        return before

    def _new_seeds(self, kept: int, owner: str = "forest", members: str = "trees") -> Indices:
        """Seeds of the members still to fit, where `kept` are there: the same as without a warm start."""
        if self.n_estimators < kept:
            raise ValueError(
                f"{type(self).__name__}: n_estimators={self.n_estimators} but the {owner} has {kept} {members} "
                "already; with warm_start=True ask for at least as many"
            )
        if self.n_estimators == kept:
            warn(f"Warm-start fitting without increasing n_estimators does not fit new {members}.")
        return check_random_state(self.random_state).randint(2**31, size=self.n_estimators)[kept:]


def _listed(classes: Labels | list[Labels] | None) -> list[object] | None:
    return [np.asarray(c).tolist() for c in classes] if classes is not None else None
