"""IREP: incremental reduced-error pruning, one rule grown and pruned at a time.

    while positives are left:
        split the remaining rows: 2/3 to grow on, 1/3 to prune on
        grow     add the condition of largest Foil gain until no negative is covered
        prune    drop final conditions while that raises the accuracy (p + N - n) / (P + N) on the other rows
        stop     if the rule is wrong for half of the rows or more
        remove   the rows that the rule covers

Classes are learned from the rarest to the second most common, each against those still to come; rows that no rule
covers get the most common class.

Fuernkranz & Widmer (1994); Cohen (1995) for several classes and the test of a rule.
"""

from __future__ import annotations

from collections.abc import Callable, Iterator
from dataclasses import KW_ONLY
from typing import Literal

import numpy as np

from fivefold.core.estimators.params import Count, NonNegative, OpenFraction, Seed
from fivefold.core.random_state import check_random_state
from fivefold.core.registry import Card
from fivefold.core.types import Array, Mask, Matrix, Table, Target, Weights
from fivefold.partition.export.conditions import Condition
from fivefold.rules.base import CandidateRule, OrderedRules, category_columns
from fivefold.rules.covering.sequential_covering import ConditionSearch, FoilGain, GrowPruneSplit, conditions_satisfied

Value = Callable[[Array, Array, float, float], Array]


def accuracy(p: Array, n: Array, P: float, N: float) -> Array:
    """Share of the rows that a rule gets right if all rows it does not cover are negative."""
    return (p + N - n) / (P + N) if P + N else np.zeros_like(p)


def net_precision(p: Array, n: Array, P: float, N: float) -> Array:
    """The value of a rule, (p - n) / (p + n); -1 where it covers nothing. As `rule_value`, for arrays."""
    return np.where(p + n > 0, (p - n) / np.maximum(p + n, 1e-300), -1.0)


PRUNING_METRICS: dict[str, Value] = {"accuracy": accuracy, "value": net_precision}


class OneClassLearner:
    """Learns rules for one class against the other classes, on the remaining rows."""

    def __init__(
        self,
        search: ConditionSearch,
        deal: GrowPruneSplit,
        positive: Mask,
        w: Weights,
        min_weight: float,
        max_conditions: int,
    ) -> None:
        self.search, self.deal, self.positive, self.w = search, deal, positive, w
        self.measure, self.max_conditions = FoilGain(float(min_weight)), max_conditions
        self.sides = np.stack([positive, ~positive], axis=1).astype(np.float64)  # (n, 2)
        self.S = self.sides * w[:, None]

    def split(self, left: Mask) -> tuple[Matrix, Matrix]:
        """Statistics (n, 2) of the rows to grow on and of those to prune on."""
        prune = self.deal(left, self.positive)
        return self.sides * (self.w * left - prune)[:, None], self.sides * prune[:, None]

    def grow(self, S: Matrix, start: tuple[Condition, ...] = ()) -> tuple[Condition, ...]:
        """The conditions of `start` and more, until no negative is covered."""
        inside = (S[:, 0] > 0) | (S[:, 1] > 0)
        if start:
            inside &= conditions_satisfied(self.search.X, start) == len(start)
        self.search.start_from(inside)
        return (*start, *self.search.grow(self.measure, S, self.max_conditions - len(start)))

    def prune(self, conditions: tuple[Condition, ...], S: Matrix, value: Value) -> CandidateRule:
        """The first conditions, as many as give the largest value on these rows; ties go to the fewest."""
        depth = conditions_satisfied(self.search.X, conditions)
        at = [np.bincount(depth, S[:, side], len(conditions) + 1) for side in range(2)]
        p, n = (counts[::-1].cumsum()[::-1] for counts in at)  # covered by the first 0, 1, 2, ... conditions
        keep = int(value(p, n, p[0], n[0]).argmax())
        return CandidateRule(conditions[:keep], depth >= keep)

    def covered(self, clause: CandidateRule, left: Mask) -> Array:
        """Weights of the remaining positives and negatives that the rule covers (2,)."""
        return self.S[clause.covers & left].sum(axis=0)


class RarestClassFirst(OrderedRules):
    """Learns classes in increasing order of weight, each against those after it.

    Parameters
    ----------
    prune_size
        share of the rows to prune on.
    min_weight
        minimum weight of the positives that a growing rule covers.
    max_conditions
        maximum number of conditions of a growing rule; None for no limit.
    random_state
        seed of the split into rows to grow on and to prune on.

    Attributes
    ----------
    rules_
        the rules, a RuleList.
    """

    _: KW_ONLY
    prune_size: OpenFraction = 1 / 3
    min_weight: NonNegative = 2.0
    max_conditions: Count | None = None
    random_state: Seed = None

    def _learn(self, one: OneClassLearner, left: Mask) -> Iterator[list[CandidateRule]]:
        raise TypeError(f"{type(self).__name__} does not implement _learn")

    def _candidate_lists(self, X: Table, y: Target, w: Weights) -> Iterator[list[CandidateRule]]:
        search = ConditionSearch(X, category_columns(self))
        deal = GrowPruneSplit(X, y, w, self.prune_size, check_random_state(self.random_state))
        most = 2**31 - 1 if self.max_conditions is None else self.max_conditions
        left, found = np.ones(len(y), dtype=bool), list[CandidateRule]()
        for code in np.argsort(np.bincount(y, w, len(self.classes_)), kind="stable")[:-1]:
            positive, clauses = y == code, list[CandidateRule]()
            if not (positive & left).any() or not (~positive & left).any():
                continue
            one = OneClassLearner(search, deal, positive, w, self.min_weight, most)
            for clauses in self._learn(one, left.copy()):
                yield found + clauses
            found = found + clauses
            for clause in clauses:
                left &= ~clause.covers


class IREPClassifier(RarestClassFirst, keywords="pruning_metric"):
    """IREP: an ordered list of rules, each grown on two thirds of the remaining rows and pruned on the others.

    Parameters
    ----------
    pruning_metric
        what pruning maximises: the "accuracy" of the rule on the rows to prune on, or its "value", the share of
        positives minus that of negatives among the rows it covers.

    Examples
    --------
    >>> from sklearn.datasets import load_iris
    >>> from fivefold.rules import IREPClassifier
    >>> X, y = load_iris(return_X_y=True)
    >>> model = IREPClassifier(random_state=0).fit(X, y)
    >>> print(model.to_text(feature_names=["sl", "sw", "pl", "pw"]))
    smoothing 1
    if pl <= 2.6 then 0  (50 rows: 0 50)
    if pl <= 4.85 and pw <= 1.65 then 1  (45 rows: 1 45)
    if pl <= 5.05 and sw > 2.9 and sl > 6.3 then 1  (2 rows: 1 2)
    else 2  (53 rows: 1 3, 2 50)
    """

    _: KW_ONLY
    pruning_metric: Literal["accuracy", "value"] = "accuracy"

    card = Card(
        applications=("classification", "data mining"),
        use="A short list of rules quickly, on many and noisy rows. RIPPER takes longer and is more accurate.",
        steps=(
            "Take the rarest remaining class, against all more common ones.",
            "Grow a rule on two thirds of the rows by Foil gain; prune its last conditions by accuracy on the others.",
            "Keep it and remove the rows it covers, until a rule is wrong half of the time or no positive is left.",
            "Rows that no rule covers get the most common class.",
        ),
        source="Fuernkranz & Widmer (1994); Cohen (1995)",
        see_also=("RIPPERClassifier", "CN2Classifier", "C45Classifier"),
        variants=({"pruning_metric": "value"},),
        search={"prune_size": (0.2, 1 / 3)},
    )

    def _max_stages(self, y: Target) -> int:
        return len(self.classes_) - 1

    def _learn(self, one: OneClassLearner, left: Mask) -> Iterator[list[CandidateRule]]:
        clauses: list[CandidateRule] = []
        while (one.positive & left).any():
            grow, prune = one.split(left)
            clause = one.prune(one.grow(grow), prune, PRUNING_METRICS[self.pruning_metric])
            p, n = prune[clause.covers].sum(axis=0)
            if p + n == 0:  # no rows to prune on: judge the rule on the rows it was grown on
                p, n = grow[clause.covers].sum(axis=0)
            if p <= n or not len(clause) or not (one.covered(clause, left)[0] > 0):
                break
            clauses.append(clause)
            left &= ~clause.covers
        yield clauses
