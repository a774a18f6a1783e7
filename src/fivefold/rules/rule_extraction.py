"""Rules of a tree as a classifier: grow a tree, read a rule from every leaf, prune the rules term by term, order them.

Pruned rules may overlap, so they are no longer a tree: they are a list in which the rule of least estimated error
answers first, and the most common class of the rows that no rule covers is the default. A rule can lose conditions near
the root, which a pruned tree cannot. In a column without missing values in fit, a missing value satisfies no condition
of a pruned rule.

Quinlan (1993), C4.5: Programs for Machine Learning, chapter 5; Alpaydin (2020), section 9.4.
"""

from __future__ import annotations

from dataclasses import KW_ONLY, replace
from typing import Any, Literal

import numpy as np
from sklearn.base import clone

from fivefold.core.admission.refusals import refuse_nonfinite
from fivefold.core.admission.takes import Takes
from fivefold.core.estimators import params
from fivefold.core.estimators.params import OpenFraction, Seed
from fivefold.core.estimators.supervised_learning import Classifier
from fivefold.core.random_state import check_random_state
from fivefold.core.registry import Card
from fivefold.core.types import Mask, Matrix, Rng, Table, Target, UserTable, Weights
from fivefold.rules.covering.sequential_covering import GrowPruneSplit
from fivefold.rules.rule_lists.rule_export import RuleExports
from fivefold.rules.rule_lists.rule_lists import RuleList, Schema
from fivefold.rules.rule_lists.rule_pruning import PruningRows, count_rules
from fivefold.rules.rule_lists.tree_rules import PRUNINGS, leaf_rules
from fivefold.tree.c45 import C45Classifier
from fivefold.tree.occam_tree import OccamTreeClassifier
from fivefold.tree.shared.multiway_trees import BaseMultiwayTree
from fivefold.tree.shared.single_column_trees import BaseTreeClassifier

TreeLearner = BaseTreeClassifier | BaseMultiwayTree | OccamTreeClassifier


class RuleExtractionClassifier(RuleExports, Classifier):
    """The leaves of a tree as rules, pruned term by term and put in order.

    Parameters
    ----------
    estimator
        the tree: any of fivefold.tree whose questions are about single columns; None for C45Classifier().
    pruning
        "pessimistic" drops conditions by the upper confidence limit of a rule's error, "pruning_set" by the error of
        the list on held-out rows; None keeps the rules of the tree unchanged.
    confidence
        for pessimistic pruning: the probability that the true error exceeds the limit used; smaller prunes more.
    prune_share
        share of the rows of each class that is held out as pruning set.
    random_state
        seed of the pruning set and of the tree.
    class_weight
        class weights, or "balanced".

    Attributes
    ----------
    rules_
        the rules, a RuleList.
    tree_
        the fitted tree that they come from.

    Examples
    --------
    >>> from sklearn.datasets import load_iris
    >>> from fivefold.rules import RuleExtractionClassifier
    >>> X, y = load_iris(return_X_y=True, as_frame=True)
    >>> X.columns = ["sepal_length", "sepal_width", "petal_length", "petal_width"]
    >>> model = RuleExtractionClassifier().fit(X, load_iris().target_names[y])
    >>> print(model.to_text(evidence=False))
    if 0.8 < petal_width <= 1.75 and petal_length <= 4.95 then versicolor
    if petal_width > 1.75 then virginica
    if petal_length > 4.95 then virginica
    else setosa
    """

    estimator: Any = None  # checked in fit: a TreeLearner
    _: KW_ONLY
    pruning: Literal["pessimistic", "pruning_set"] | None = "pessimistic"
    confidence: OpenFraction = 0.25
    prune_share: OpenFraction = 1 / 3
    random_state: Seed = None
    class_weight: Any = None

    takes = Takes(missing=True, huge=True, categories=True)
    card = Card(
        applications=("classification", "data mining"),
        use="Rules to be read, changed and put into a database: fewer and shorter than the paths of a tree, about "
        "as accurate as a pruned tree. RIPPERClassifier learns rules without a tree.",
        steps=(
            "Grow a tree and read a rule from each of its leaves.",
            "Drop the conditions without which a rule's estimated error, or that on a pruning set, does not rise.",
            "Put the rules of least estimated error first and drop those without which the list errs no more.",
            "If no rule holds, predict the most common class of the rows that none covers.",
        ),
        source="Quinlan (1987, 1993)",
        see_also=("C45Classifier", "DecisionTreeClassifier", "RIPPERClassifier"),
        variants=(
            {"pruning": "pruning_set", "random_state": 0},
            {"pruning": None},
            {"confidence": 0.05},
        ),
        search={"confidence": (0.01, 0.05, 0.25, 0.5)},
    )

    def _fit(self, X: Table, y: Target, w: Weights) -> None:
        rng = check_random_state(self.random_state)
        held_out = self._held_out(X, y, w, rng)
        self.tree_ = self._grow(X, y, w - held_out, rng)
        rules = leaf_rules(self.tree_.model_, self.tree_, Schema.of(self))
        rows = PruningRows(X, y, w, rules.schema.classes)
        if self.pruning is not None:
            rules = _strict(rules, np.isnan(X).any(axis=0))
            some = np.flatnonzero(held_out > 0) if held_out.any() else slice(None)
            weights = (held_out if held_out.any() else w)[some]
            judges = PruningRows(X[some], y[some], weights, rules.schema.classes)
            rules = count_rules(PRUNINGS[self.pruning](rules, judges, self.confidence), rows)
        self.model_ = rules

    def predict_proba(self, X: UserTable) -> Matrix:
        """Class shares among the training rows of the rule that fires."""
        return self._scores(self._admit(X))

    def _scores(self, X: Table) -> Matrix:
        return self.model_.proba(X).astype(X.dtype, copy=False)

    def _held_out(self, X: Table, y: Target, w: Weights, rng: Rng) -> Weights:
        """The weight of each row in the pruning set."""
        if self.pruning != "pruning_set":
            return np.zeros(len(w))
        deal = GrowPruneSplit(X, y, w, self.prune_share, rng)
        everyone = np.ones(len(y), dtype=bool)
        return np.sum([deal(y == k, everyone) for k in range(len(self.classes_))], axis=0)

    def _grow(self, X: Table, y: Target, w: Weights, rng: Rng) -> TreeLearner:
        """The tree of the rows that are not held out."""
        tree = C45Classifier() if self.estimator is None else clone(self.estimator, safe=False)
        if not isinstance(tree, TreeLearner):
            raise ValueError(
                f"{type(self).__name__}: estimator must be a tree of fivefold.tree that predicts classes by "
                f"questions about single columns, such as C45Classifier(); got {params.short_repr(self.estimator)}"
            )
        params.check_params(tree)
        if tree.get_params().get("random_state", 0) is None:
            tree.set_params(random_state=rng.randint(2**31))
        for name in ("classes_", "n_features_in_", "feature_names_in_", "categories_in_"):
            if name in vars(self):
                setattr(tree, name, vars(self)[name])
        self._check_tree(tree, X)
        kept = np.flatnonzero(w > 0)
        codes = y[kept]
        tree._fit(X[kept], codes, tree._fold(self.classes_[codes], codes, w[kept]))
        return tree

    def _check_tree(self, tree: Classifier, X: Table) -> None:
        if not tree.takes.missing:
            refuse_nonfinite(tree, X)
        if "categories_in_" in vars(self) and not tree.takes.categories:
            raise ValueError(
                f"{type(self).__name__}: X holds categories, which {type(tree).__name__} does not take; encode them or "
                "pass another tree, such as C45Classifier()"
            )


def _strict(rules: RuleList, gaps: Mask) -> RuleList:
    """The rules with conditions that a missing value fails, in columns without missing values in fit."""
    found = (
        replace(rule, conditions=tuple(replace(c, missing=c.missing and bool(gaps[c.column])) for c in rule.conditions))
        for rule in rules
    )
    return replace(rules, rules=tuple(found))
