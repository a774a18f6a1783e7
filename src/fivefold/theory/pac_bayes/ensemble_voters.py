"""The voters of a fitted ensemble, what each loses on the rows, and which rows it did not see.

Voters of bagging and of forests are trained on samples of the rows that are drawn without looking at them: the rows
left out test them. Boosting has no such rows: each member sees all of them.
"""

from __future__ import annotations

from dataclasses import dataclass
from functools import singledispatch
from typing import Any

import numpy as np

from fivefold.core.types import Codes, Indices, Mask, Matrix, Table, Weights
from fivefold.ensemble.adaboost import AdaBoostClassifier
from fivefold.ensemble.bagging import BaggingClassifier
from fivefold.ensemble.forests.supervised_forests import BaseForestClassifier
from fivefold.ensemble.members.bootstrap_bag import Bag
from fivefold.theory.bounds import NotApplicable


@dataclass(frozen=True)
class Voters:
    """Losses (n, T) of the members of a vote, the rows kept from each (n, T), and their weights (T,)."""

    losses: Matrix
    unseen: Mask
    weights: Weights


@singledispatch
def find_voters(model: Any, X: Table, codes: Codes) -> Voters:
    """The voters of a fitted model on the rows of its fit; `codes` number its classes.

    Forests and bagging are known; `find_voters.register` adds a class of models.
    """
    raise NotApplicable(
        f"{type(model).__name__} is no vote of models trained on samples of the rows, as forests and bagging are"
    )


@find_voters.register(AdaBoostClassifier)
def _boosting(model: Any, X: Table, codes: Codes) -> Voters:
    raise NotApplicable(
        "every member of AdaBoost was trained on all rows, so no row tests it. Certify it on rows held out, or take "
        "bagging"
    )


@find_voters.register(BaseForestClassifier)
def _forest(model: Any, X: Table, codes: Codes) -> Voters:
    forest, name = model.model_, type(model).__name__
    if forest.trees.outputs != 1:
        raise NotApplicable(f"{name} was fitted to several outputs; the bound is for one")
    if forest.draws.in_chunks:
        raise NotApplicable(f"{name} was fitted to a table in chunks, whose samples are not kept. Fit it in memory")
    if forest.draws.bag is None:
        raise NotApplicable(
            f"every tree of {name} was grown on all rows, so no row tests it. Fit it with bootstrap=True"
        )
    if model.class_weight not in (None, "balanced_subsample"):
        raise NotApplicable(
            "with class_weight the labels decide which rows are drawn, so the rows left out are no fair test. Take "
            'None or "balanced_subsample"'
        )
    check_rows(name, forest.draws.bag, X, codes)
    values, T = model._values(forest), len(forest.trees)
    unseen = np.column_stack([forest.draws.of(t) == 0 for t in range(T)])
    losses = np.column_stack([1 - values[forest.trees.leaves(X, t), codes] for t in range(T)])
    return Voters(losses, unseen, np.full(T, 1 / T))


@find_voters.register(BaggingClassifier)
def _bagging(model: Any, X: Table, codes: Codes) -> Voters:
    bagged = model.model_
    check_rows(type(model).__name__, bagged.bag, X, codes)
    T = len(bagged.estimators)
    unseen = np.column_stack([bagged.drawn(t) == 0 for t in range(T)])
    if not unseen.any(axis=0).all():
        raise NotApplicable("a copy was trained on all rows, so no row tests it. Fit with bootstrap=True")
    members = zip(bagged.estimators, bagged.features, strict=True)
    losses = [1 - _share_of_true_class(model, member, X[:, columns], codes) for member, columns in members]
    return Voters(np.column_stack(losses), unseen, np.full(T, 1 / T))


def _share_of_true_class(model: Any, member: Any, X: Table, codes: Codes) -> Matrix:
    return np.asarray(model._answer(member, X))[np.arange(len(codes)), codes]


def check_rows(name: str, bag: Bag, X: Table, codes: Codes) -> None:
    """Samples are known by position: the rows must be those of fit, in their order, and unweighted."""
    if bag.units is not None:
        raise NotApplicable(f"{name} was fitted with weights, which decide which rows are drawn. Fit it without")
    order: Indices = Bag.of(X, codes, np.ones(len(codes))).order
    if len(order) != len(bag.order) or (order != bag.order).any():
        raise NotApplicable(f"the samples of {name} are known by position: give the rows of its fit in their order")
