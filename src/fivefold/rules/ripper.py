"""RIPPER: repeated incremental pruning to produce error reduction.

    build      grow a rule on 2/3 of the remaining rows by Foil gain, prune it on 1/3 by (p - n) / (p + n), remove the
               rows it covers; stop when the description is 64 bits longer than the shortest so far, or a rule is wrong
               half of the time, or no positive is left; drop rules, from the last, where that shortens the description
    optimise   k times: for each rule also grow a replacement from nothing and a revision from the rule, prune both for
               the accuracy of the whole list, and keep the one of the three whose list has the shortest description;
               then add rules for the positives that are still uncovered, and drop rules as before

The description length of a list is that of its rules and of the rows they get wrong
(`rules.covering.description_length`). Classes are learned from the rarest to the second most common, each against those
still to come; rows that no rule covers get the most common class.

Cohen (1995), Fast effective rule induction; Quinlan (1995) for the coding.
"""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import KW_ONLY

import numpy as np

from fivefold.core.estimators.params import Index, NonNegative
from fivefold.core.registry import Card
from fivefold.core.types import Mask, Matrix, Target
from fivefold.rules.base import CandidateRule
from fivefold.rules.covering.description_length import DescriptionLengths
from fivefold.rules.irep import OneClassLearner, RarestClassFirst, accuracy, net_precision


class RIPPERClassifier(RarestClassFirst, keywords="k prune_size dl_allowance"):
    """RIPPER: a short ordered list of rules, grown, pruned, and optimised by the length of its description.

    Parameters
    ----------
    k
        number of passes that optimise the rules.
    dl_allowance
        bits by which the description may exceed the shortest so far before the search for rules stops.

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
    dl_allowance: NonNegative = 64.0

    card = Card(
        applications=("classification", "data mining"),
        use="A few rules a person can read, on large, noisy or unbalanced tables. Ensembles of trees err less.",
        steps=(
            "Take the rarest remaining class, against all more common ones.",
            "Grow rules by Foil gain and prune each on held-out rows, until the description grows by 64 bits.",
            "Try a replacement and a revision of every rule; keep what makes the description shortest. Do so twice.",
            "Rows that no rule covers get the most common class.",
        ),
        source="Cohen (1995)",
        see_also=("IREPClassifier", "CN2Classifier", "C45Classifier"),
        variants=({"k": 0}, {"k": 1, "prune_size": 0.2}),
        search={"k": (0, 2), "min_weight": (1.0, 2.0, 5.0)},
    )

    def _max_stages(self, y: Target) -> int:
        return (len(self.classes_) - 1) * (self.k + 1)

    def _learn(self, one: OneClassLearner, left: Mask) -> Iterator[list[CandidateRule]]:
        P, N = one.S[left].sum(axis=0).tolist()
        lengths = DescriptionLengths(P, N, one.search.possible)
        clauses = _shortened(self._added([], one, left, lengths), one, left, lengths)
        yield clauses
        for _ in range(self.k):
            clauses = _optimised(clauses, one, left, lengths)
            clauses = _shortened(self._added(clauses, one, left, lengths), one, left, lengths)
            yield clauses

    def _added(
        self, clauses: list[CandidateRule], one: OneClassLearner, left: Mask, lengths: DescriptionLengths
    ) -> list[CandidateRule]:
        """The rules, and new ones for the positives that they do not cover."""
        clauses, counts = list(clauses), _counts(clauses, one, left)
        left, sizes = _uncovered(clauses, left), [len(c) for c in clauses]
        p, n = counts.sum(axis=0).tolist()
        shortest = lengths.bits(sizes, p, n)
        while (one.positive & left).any():
            grow, prune = one.split(left)
            clause = one.prune(one.grow(grow), prune, net_precision)
            new_p, new_n = one.covered(clause, left).tolist()
            bits = lengths.bits([*sizes, len(clause)], p + new_p, n + new_n)
            shortest = min(shortest, bits)
            if bits > shortest + self.dl_allowance or new_p <= new_n or not len(clause):
                break
            clauses.append(clause)
            sizes.append(len(clause))
            p, n, left = p + new_p, n + new_n, left & ~clause.covers
        return clauses


def _optimised(
    clauses: list[CandidateRule], one: OneClassLearner, left: Mask, lengths: DescriptionLengths
) -> list[CandidateRule]:
    """For each rule: the rule, its revision or its replacement, whichever makes the description shortest."""
    done: list[CandidateRule] = []
    later, before = list(clauses), np.zeros((0, 2))
    while later and (one.positive & left).any():
        old, later = later[0], later[1:]
        if not (old.covers & left).any():
            continue
        grow, prune = one.split(left)
        prune = prune * _uncovered(later, left)[:, None]  # rows that later rules cover are left to them
        tried = [old, *(one.prune(one.grow(grow, start), prune, accuracy) for start in (old.conditions, ()))]
        bits = []
        for clause in tried:
            counts = np.concatenate([before, _counts([clause, *later], one, left)])
            sizes = [len(c) for c in (*done, clause, *later)]
            bits.append(lengths.shortest(sizes, counts, first=len(done) + 1)[0])
        best = tried[int(np.argmin(bits))]
        before = np.concatenate([before, _counts([best], one, left)])
        done.append(best)
        left = left & ~best.covers
    return done


def _shortened(
    clauses: list[CandidateRule], one: OneClassLearner, left: Mask, lengths: DescriptionLengths
) -> list[CandidateRule]:
    """The rules without those that make the description longer."""
    _, kept = lengths.shortest([len(c) for c in clauses], _counts(clauses, one, left))
    return [clauses[r] for r in kept]


def _counts(clauses: list[CandidateRule], one: OneClassLearner, left: Mask) -> Matrix:
    """Positives and negatives that each rule is the first to cover (rules, 2)."""
    rows, out = np.flatnonzero(left), np.zeros((len(clauses), 2))
    for r, clause in enumerate(clauses):
        held = clause.covers[rows]
        out[r] = one.S[rows[held]].sum(axis=0)
        rows = rows[~held]
    return out


def _uncovered(clauses: list[CandidateRule], left: Mask) -> Mask:
    for clause in clauses:
        left = left & ~clause.covers
    return left
