"""IREP: incremental reduced-error pruning, a rule grown and pruned at a time.

    while positives are left:
        deal the rows that are left: 2/3 to grow on, 1/3 to prune on
        grow     add the condition of largest Foil gain until no negative is covered
        prune    cut off final conditions where that is best for the accuracy (p + N - n) / (P + N) on the other rows
        stop     if the rule is wrong on half of the rows or more
        remove   the rows that the rule covers

Classes are learned from the rarest to the second commonest, each against those that are still to come; what no rule
covers is of the commonest class.

Fuernkranz & Widmer (1994); Cohen (1995) for several classes and the test of a rule.
"""

from __future__ import annotations

from collections.abc import Callable, Iterator
from dataclasses import KW_ONLY
from typing import Any, Literal

import numpy as np

from fivefold.core.estimators.params import Count, NonNegative, OpenFraction, Seed
from fivefold.core.random_state import check_random_state
from fivefold.core.registry import Card
from fivefold.core.types import Matrix, Table, Target, Weights
from fivefold.rules.base import CandidateRule, OrderedRules
from fivefold.rules.covering.sequential_covering import ConditionSearch, FoilGain, GrowPruneSplit, conditions_satisfied

Value = Callable[[Any, Any, float, float], Any]


def accuracy(p: Any, n: int, P: float, N: float) -> Any:
    """Share of the rows that a rule gets right if all it leaves is negative."""
    return (p + N - n) / (P + N) if P + N else np.zeros_like(p)


def net_precision(p: Any, n: int, P: float, N: float) -> Any:
    """The value of a rule, (p - n) / (p + n); -1 where it covers nothing."""
    return np.where(p + n > 0, (p - n) / np.maximum(p + n, 1e-300), -1.0)


PRUNING_METRICS: dict[str, Value] = {"accuracy": accuracy, "value": net_precision}


class OneClassLearner:
    """Rules for one class against the rest of the rows that are left."""

    def __init__(
        self, search: ConditionSearch, deal: GrowPruneSplit, positive: Any, w: Weights, least: float, most: int
    ) -> None:
        self.search, self.deal, self.positive, self.w = search, deal, positive, w
        self.measure, self.most = FoilGain(float(least)), most
        self.sides = np.stack([positive, ~positive], axis=1).astype(np.float64)  # (n, 2)
        self.S = self.sides * w[:, None]

    def halves(self, left: Any) -> tuple[Any, Any]:
        """Statistics (n, 2) of the rows to grow on and of those to prune on."""
        prune = self.deal(left, self.positive)
        return self.sides * (self.w * left - prune)[:, None], self.sides * prune[:, None]

    def grown(self, S: Matrix, start: tuple[Any, ...] = ()) -> tuple[Any, ...]:
        """Conditions after those at the start, until no negative is covered."""
        inside = (S[:, 0] > 0) | (S[:, 1] > 0)
        if start:
            inside &= conditions_satisfied(self.search.X, start) == len(start)
        self.search.enter(inside)
        return (*start, *self.search.grow(self.measure, S, self.most - len(start)))

    def pruned(self, conditions: tuple[Any, ...], S: Matrix, value: Value) -> CandidateRule:
        """The first conditions that are of most value on these rows; of equal ones the fewest."""
        depth = conditions_satisfied(self.search.X, conditions)
        at = [np.bincount(depth, S[:, side], len(conditions) + 1) for side in range(2)]
        p, n = (counts[::-1].cumsum()[::-1] for counts in at)  # covered by the first 0, 1, 2, ... conditions
        keep = int(value(p, n, p[0], n[0]).argmax())
        return CandidateRule(conditions[:keep], depth >= keep)

    def covered(self, clause: CandidateRule, left: Any) -> Any:
        """Weights of the positives and negatives left that it covers."""
        return self.S[clause.covers & left].sum(axis=0)


class RarestClassFirst(OrderedRules):
    """Classes in order of their weight, each against those after it."""

    def _learn(self, one: OneClassLearner, left: Any) -> Iterator[list[CandidateRule]]:
        raise TypeError(f"{type(self).__name__} does not say how to learn a class")

    def _stages(self: Any, X: Table, y: Target, w: Weights) -> Iterator[list[CandidateRule]]:
        search = ConditionSearch(X, self._categories())
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


class IREPClassifier(RarestClassFirst):
    """IREP: an ordered list of rules, each grown on two thirds of the rows left and pruned on the others.

    Parameters
    ----------
    pruning_metric
        what final conditions are cut off for: the "accuracy" of the rule on the rows to prune on, or its "value", the
        share of positives less that of negatives among the rows it covers.
    prune_size
        share of the rows to prune on.
    min_weight
        positives that a growing rule covers at least.
    max_conditions
        of a rule while it grows; None for no limit.
    random_state
        seed of the deal into rows to grow on and to prune on.

    Attributes
    ----------
    rules_
        the rules, a RuleList.

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
    prune_size: OpenFraction = 1 / 3
    min_weight: NonNegative = 2.0
    max_conditions: Count | None = None
    random_state: Seed = None

    card = Card(
        applications=("classification", "data mining"),
        use="A short list of rules at once, on many and noisy rows. RIPPER takes longer and is more often right.",
        steps=(
            "Take the rarest class that is left, against all commoner ones.",
            "Grow a rule on two thirds of the rows by Foil gain; cut its end off by accuracy on the others.",
            "Keep it and remove what it covers, until a rule is wrong half of the time or no positive is left.",
            "What no rule covers is of the commonest class.",
        ),
        source="Fuernkranz & Widmer (1994); Cohen (1995)",
        see_also=("RIPPERClassifier", "CN2Classifier", "C45Classifier"),
        variants=({"pruning_metric": "value"},),
        search={"prune_size": (0.2, 1 / 3)},
    )

    def _most(self, y: Target) -> int:
        return len(self.classes_) - 1

    def _learn(self, one: OneClassLearner, left: Any) -> Iterator[list[CandidateRule]]:
        clauses: list[CandidateRule] = []
        while (one.positive & left).any():
            grow, prune = one.halves(left)
            clause = one.pruned(one.grown(grow), prune, PRUNING_METRICS[self.pruning_metric])
            p, n = prune[clause.covers].sum(axis=0)
            if p + n == 0:  # too few rows to prune on: those it was grown on must do
                p, n = grow[clause.covers].sum(axis=0)
            if p <= n or not len(clause) or not (one.covered(clause, left)[0] > 0):
                break
            clauses.append(clause)
            left &= ~clause.covers
        yield clauses
