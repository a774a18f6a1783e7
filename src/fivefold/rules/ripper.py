"""RIPPER: repeated incremental pruning to produce error reduction.

    build      grow a rule on 2/3 of the rows left by Foil gain, prune it on 1/3 by (p - n) / (p + n), remove what it
               covers; stop when the description is 64 bits longer than the shortest so far, or a rule is wrong half of
               the time, or no positive is left; drop rules, from the last, where that makes the description shorter
    optimise   k times: for each rule also grow a replacement from nothing and a revision from the rule, prune both for
               the accuracy of the whole list, and keep the one of the three whose list has the shortest description;
               then add rules for the positives that are still uncovered, and drop rules as before

The description length of a list is that of its rules and of the rows they get wrong (`rules.coding`). Classes are
learned from the rarest to the second commonest, each against those that are still to come; what no rule covers is of
the commonest class.

Cohen (1995), Fast effective rule induction; Quinlan (1995) for the coding.
"""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import KW_ONLY
from typing import Any

import numpy as np

from fivefold.core.estimators.params import Count, Index, NonNegative, OpenFraction, Seed
from fivefold.core.registry import Card
from fivefold.core.types import Target
from fivefold.rules.base import CandidateRule
from fivefold.rules.covering.description_length import DescriptionLengths
from fivefold.rules.irep import OneClassLearner, RarestClassFirst, accuracy, net_precision


class RIPPERClassifier(RarestClassFirst):
    """RIPPER: a short ordered list of rules, grown, pruned, and optimised by the length of its description.

    Parameters
    ----------
    k
        how often the rules are optimised.
    prune_size
        share of the rows to prune on.
    dl_allowance
        bits by which the description may be longer than the shortest so far before no more rules are added.
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
    >>> from fivefold.rules import RIPPERClassifier
    >>> X, y = load_iris(return_X_y=True)
    >>> model = RIPPERClassifier(random_state=0).fit(X, y)
    >>> print(model.to_text(feature_names=["sl", "sw", "pl", "pw"]))
    smoothing 1
    if pl <= 2.6 then 0  (50 rows: 0 50)
    if pw <= 1.65 and pl <= 4.95 then 1  (47 rows: 1 47)
    else 2  (53 rows: 1 3, 2 50)
    """

    _: KW_ONLY
    k: Index = 2
    prune_size: OpenFraction = 1 / 3
    dl_allowance: NonNegative = 64.0
    min_weight: NonNegative = 2.0
    max_conditions: Count | None = None
    random_state: Seed = None

    card = Card(
        applications=("classification", "data mining"),
        use="A few rules a person can read, on large, noisy or unbalanced tables. Ensembles of trees err less.",
        steps=(
            "Take the rarest class that is left, against all commoner ones.",
            "Grow rules by Foil gain and prune each on rows kept apart, until the description grows by 64 bits.",
            "Offer every rule a replacement and a revision; keep what makes the description shortest. Do so twice.",
            "What no rule covers is of the commonest class.",
        ),
        source="Cohen (1995)",
        see_also=("IREPClassifier", "CN2Classifier", "C45Classifier"),
        variants=({"k": 0}, {"k": 1, "prune_size": 0.2}),
        search={"k": (0, 2), "min_weight": (1.0, 2.0, 5.0)},
    )

    def _most(self, y: Target) -> int:
        return (len(self.classes_) - 1) * (self.k + 1)

    def _learn(self, one: OneClassLearner, left: Any) -> Iterator[list[CandidateRule]]:
        P, N = one.S[left].sum(axis=0).tolist()
        book = DescriptionLengths(P, N, one.search.possible)
        clauses = _shortened(self._added([], one, left, book), one, left, book)
        yield clauses
        for _ in range(self.k):
            clauses = _optimised(clauses, one, left, book)
            clauses = _shortened(self._added(clauses, one, left, book), one, left, book)
            yield clauses

    def _added(
        self, clauses: list[CandidateRule], one: OneClassLearner, left: Any, book: DescriptionLengths
    ) -> list[CandidateRule]:
        """With rules for the positives that are still uncovered."""
        clauses, counts = list(clauses), _counts(clauses, one, left)
        left, sizes = _uncovered(clauses, left), [len(c) for c in clauses]
        p, n = counts.sum(axis=0).tolist()
        least = book.bits(sizes, p, n)
        while (one.positive & left).any():
            grow, prune = one.halves(left)
            clause = one.pruned(one.grown(grow), prune, net_precision)
            new_p, new_n = one.covered(clause, left).tolist()
            bits = book.bits([*sizes, len(clause)], p + new_p, n + new_n)
            least = min(least, bits)
            if bits > least + self.dl_allowance or new_p <= new_n or not len(clause):
                break
            clauses.append(clause)
            sizes.append(len(clause))
            p, n, left = p + new_p, n + new_n, left & ~clause.covers
        return clauses


def _optimised(
    clauses: list[CandidateRule], one: OneClassLearner, left: Any, book: DescriptionLengths
) -> list[CandidateRule]:
    """Each rule, its revision or its replacement, whichever makes the description shortest."""
    done: list[CandidateRule] = []
    ahead, before = list(clauses), np.zeros((0, 2))
    while ahead and (one.positive & left).any():
        old, ahead = ahead[0], ahead[1:]
        if not (old.covers & left).any():
            continue
        grow, prune = one.halves(left)
        prune = prune * _uncovered(ahead, left)[:, None]  # what later rules cover is their concern
        tried = [old, *(one.pruned(one.grown(grow, start), prune, accuracy) for start in (old.conditions, ()))]
        bits = []
        for clause in tried:
            counts = np.concatenate([before, _counts([clause, *ahead], one, left)])
            sizes = [len(c) for c in (*done, clause, *ahead)]
            bits.append(book.shortest(sizes, counts, first=len(done) + 1)[0])
        best = tried[int(np.argmin(bits))]
        before = np.concatenate([before, _counts([best], one, left)])
        done.append(best)
        left = left & ~best.covers
    return done


def _shortened(
    clauses: list[CandidateRule], one: OneClassLearner, left: Any, book: DescriptionLengths
) -> list[CandidateRule]:
    """Without the rules that make the description longer."""
    _, kept = book.shortest([len(c) for c in clauses], _counts(clauses, one, left))
    return [clauses[r] for r in kept]


def _counts(clauses: list[CandidateRule], one: OneClassLearner, left: Any) -> Any:
    """Positives and negatives that each rule is the first to cover (rules, 2)."""
    rows, out = np.flatnonzero(left), np.zeros((len(clauses), 2))
    for r, clause in enumerate(clauses):
        held = clause.covers[rows]
        out[r] = one.S[rows[held]].sum(axis=0)
        rows = rows[~held]
    return out


def _uncovered(clauses: list[CandidateRule], left: Any) -> Any:
    for clause in clauses:
        left = left & ~clause.covers
    return left
