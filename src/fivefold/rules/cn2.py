"""CN2: rules found by beam search, in an ordered list or an unordered set, each significant on its own.

    laplace        (n_k + 1) / (sum n + K)             estimated share of the class of the rule
    entropy        -sum p_k log2 p_k                   of the rows it covers
    significance   2 sum f_k ln (f_k / e_k)            chi-square with K - 1 degrees of freedom; f: covered rows per
                                                       class, e: expected for as many rows drawn at random

Each round extends a beam of the best conjunctions by one condition (for numbers, the best threshold of either side of
each column); the best significant conjunction found becomes a rule. Conjunctions that could not beat it even if they
lost all rows of other classes are dropped, and the search ends after PATIENCE rounds without a better one.

    ordered     the rule predicts the most common class of the rows it covers; all these rows are removed
    unordered   one class at a time against the rest; only the covered rows of that class are removed; all rules that
                hold vote with the classes they cover

Clark & Niblett (1989); Clark & Boswell (1991).
"""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import KW_ONLY, dataclass
from typing import Literal

import numpy as np
from numpy.typing import ArrayLike
from scipy.special import xlogy
from scipy.stats import chi2

from fivefold.core.estimators.params import Count, Fraction, NonNegative
from fivefold.core.registry import Card
from fivefold.core.types import Array, Mask, Matrix, Table, Target, Weights
from fivefold.partition.export.conditions import Condition
from fivefold.rules.base import CandidateRule, OrderedRules, build_rule_list, category_columns, count_rule
from fivefold.rules.covering.sequential_covering import (
    ConditionSearch,
    EntropyMeasure,
    LaplaceEstimate,
    Measure,
    condition_worth,
    conditions_satisfied,
)
from fivefold.rules.rule_lists.rule_lists import BaseRules, RuleSet, Schema

PATIENCE = 3  # rounds without a better conjunction before the search ends
WORTH_TOLERANCE = 1e-10  # worths that differ by less are ties: the conjunction that covers more wins


def significance(counts: ArrayLike, expected: ArrayLike) -> Array:
    """Likelihood ratio of counts (..., K) against expected shares (K,): 2 sum f ln (f / e).

    Examples
    --------
    >>> round(float(significance([8.0, 0.0], [0.5, 0.5])), 3)
    11.09
    """
    counts, expected = np.asarray(counts, dtype=float), np.asarray(expected, dtype=float)
    total = counts.sum(axis=-1, keepdims=True)
    with np.errstate(divide="ignore", invalid="ignore"):
        parts = np.where(counts > 0, xlogy(counts, counts / (total * expected)), 0.0)
    return 2 * parts.sum(axis=-1)


@dataclass(frozen=True)
class BeamSearch:
    """How conjunctions are searched for."""

    search: ConditionSearch
    measure: LaplaceEstimate | EntropyMeasure
    width: int  # conjunctions kept from one round to the next
    level: float  # of significance
    most: int  # conditions per rule at most

    def best(self, S: Matrix, left: Mask) -> CandidateRule | None:
        """The best significant conjunction on the rows left; None if none beats having no condition.

        S (n, q): the weight of each row in the column of its class.
        """
        before = S[left].sum(axis=0)
        shares = before / before.sum()
        limit = chi2.isf(self.level, max(int((before > 0).sum()) - 1, 1)) if self.level < 1 else -np.inf
        measure = self.measure
        if isinstance(measure, EntropyMeasure):
            measure = measure._replace(shares=shares, limit=limit)
        top, found, waited = (float(condition_worth(measure, before, before, -np.inf)) + WORTH_TOLERANCE, 0.0), None, 0
        star = [(CandidateRule((), left), before)]
        for _ in range(self.most):
            longer, waited = self._longer(star, S, measure), waited + 1
            if not len(longer):
                break
            good = np.flatnonzero(significance(longer.sums, shares) > limit)[:1].tolist()  # sorted: the best one
            for i in good:
                if (longer.worth[i], longer.sums[i].sum()) > top:
                    top, found, waited = (longer.worth[i] + WORTH_TOLERANCE, longer.sums[i].sum()), longer.clause(i), 0
            if waited == PATIENCE:
                break
            star = longer.first(self.width, _bound(measure, longer.sums) > top[0])
        return found

    def _longer(self, star: list[tuple[CandidateRule, Array]], S: Matrix, measure: Measure) -> LongerRules:
        """All conjunctions that are longer by one condition, best first."""
        each = []
        for clause, sums in star:
            self.search.start_from(clause.covers)
            found = self.search.candidates(measure, S, sums)
            t = np.flatnonzero((found.worth > -np.inf) & (found.sums.sum(axis=1) < sums.sum()))
            asked = [self.search.condition(found, int(i)) for i in t]
            each += [(found.worth[i], found.sums[i], clause, c) for i, c in zip(t, asked, strict=True)]
        each.sort(key=lambda one: (-round(one[0], 10), -one[1].sum()))
        return LongerRules(each, self.search.X)


class LongerRules:
    """Conjunctions made from shorter ones by adding one condition, sorted by worth."""

    def __init__(self, each: list[tuple[float, Array, CandidateRule, Condition]], X: Table) -> None:
        self.each, self.X = each, X
        self.worth = np.array([one[0] for one in each])
        self.sums = np.array([one[1] for one in each])

    def __len__(self) -> int:
        return len(self.each)

    def clause(self, i: int) -> CandidateRule:
        """Conjunction i with the rows it covers."""
        _, _, parent, condition = self.each[i]
        return CandidateRule(
            (*parent.conditions, condition), parent.covers & (conditions_satisfied(self.X, [condition]) == 1)
        )

    def first(self, width: int, hopeful: Mask) -> list[tuple[CandidateRule, Array]]:
        """The best of the hopeful ones, at most `width`, no two covering the same rows."""
        out: list[tuple[CandidateRule, Array]] = []
        seen: set[bytes] = set()
        for i in np.flatnonzero(hopeful).tolist():
            clause = self.clause(i)
            if (key := np.packbits(clause.covers).tobytes()) not in seen:
                seen.add(key)
                out.append((clause, self.sums[i]))
            if len(out) == width:
                break
        return out


def _bound(measure: LaplaceEstimate | EntropyMeasure, sums: Array) -> Array:
    """An upper bound of the worth of longer conjunctions: as if only one class were left."""
    if isinstance(measure, EntropyMeasure):
        return np.where((sums > 0).sum(axis=1) > 1, 0.0, -np.inf)
    own = sums.max(axis=1) if measure.target < 0 else sums[:, measure.target]
    others = sums.sum(axis=1) - own
    return np.where(others > 0, (own + 1) / (own + measure.classes), -np.inf)


class CN2Classifier(OrderedRules):
    """CN2: rules found by beam search and tested for significance, in order or with votes.

    Parameters
    ----------
    mode
        "ordered": the first rule that holds answers; "unordered": all rules that hold vote.
    evaluation
        the worth of a rule: the "laplace" estimate of the share of its class, or low "entropy".
    beam_width
        conjunctions kept from one round to the next.
    significance
        level at which the classes of the rows that a rule covers must differ from those of all rows; 1 for no test.
    min_weight
        minimum weight of the rows that a rule covers.

    Attributes
    ----------
    rules_
        the rules, a RuleList or a RuleSet.

    Examples
    --------
    >>> from sklearn.datasets import load_iris
    >>> from fivefold.rules import CN2Classifier
    >>> X, y = load_iris(return_X_y=True)
    >>> model = CN2Classifier().fit(X, y)
    >>> print(model.to_text(feature_names=["sl", "sw", "pl", "pw"]))
    smoothing 1
    if pl <= 2.5 then 0  (50 rows: 0 50)
    if pl <= 4.75 and pw <= 1.65 then 1  (44 rows: 1 44)
    if sl > 6.05 and pw > 1.75 then 2  (38 rows: 2 38)
    else 2  (18 rows: 1 6, 2 12)
    """

    _: KW_ONLY
    mode: Literal["ordered", "unordered"] = "ordered"
    evaluation: Literal["laplace", "entropy"] = "laplace"
    beam_width: Count = 5
    significance: Fraction = 0.01
    min_weight: NonNegative = 2.0
    max_conditions: Count | None = None

    card = Card(
        applications=("classification", "data mining"),
        use="Rules that are each tested on their own, with little data and many categories. RIPPER is faster.",
        steps=(
            "In each round extend the best conjunctions by one condition, and keep a beam of them.",
            "The best that is significant becomes a rule; remove the rows it covers.",
            "Stop when none is better than no condition at all; the most common class of the rest is the default.",
        ),
        source="Clark & Niblett (1989); Clark & Boswell (1991)",
        see_also=("RIPPERClassifier", "IREPClassifier", "C45Classifier"),
        variants=({"mode": "unordered"}, {"evaluation": "entropy", "beam_width": 2}),
        search={"significance": (0.001, 0.01, 0.1), "min_weight": (2.0, 5.0)},
    )

    def _max_stages(self, y: Target) -> int:
        return len(self.classes_) if self.mode == "unordered" else len(y)

    def _candidate_lists(self, X: Table, y: Target, w: Weights) -> Iterator[list[CandidateRule]]:
        return MODES[self.mode](self, ConditionSearch(X, category_columns(self)), y, w)

    def _model(self, clauses: list[CandidateRule], y: Target, w: Weights, schema: Schema) -> BaseRules:
        if self.mode == "ordered":
            return build_rule_list(clauses, y, w, schema)
        rest = build_rule_list(clauses, y, w, schema)
        rules = tuple(count_rule(c.conditions, np.flatnonzero(c.covers), y, w, schema, c.code) for c in clauses)
        return RuleSet(rules, rest.default, schema, smoothing=rest.smoothing)

    def _beam(self, search: ConditionSearch, target: int) -> BeamSearch:
        laplace = LaplaceEstimate(target, len(self.classes_), float(self.min_weight))
        measure = (
            laplace
            if self.evaluation == "laplace"
            else EntropyMeasure(target, float(self.min_weight), np.zeros(1), 0.0)
        )
        most = 2**31 - 1 if self.max_conditions is None else self.max_conditions
        return BeamSearch(search, measure, self.beam_width, self.significance, most)


def _ordered(model: CN2Classifier, search: ConditionSearch, y: Target, w: Weights) -> Iterator[list[CandidateRule]]:
    S, left = np.eye(len(model.classes_))[y] * w[:, None], np.ones(len(y), dtype=bool)
    beam, clauses = model._beam(search, -1), list[CandidateRule]()
    while left.any() and (found := beam.best(S, left)) is not None:
        clauses = [*clauses, found]
        left = left & ~found.covers
        yield clauses


def _unordered(model: CN2Classifier, search: ConditionSearch, y: Target, w: Weights) -> Iterator[list[CandidateRule]]:
    beam, clauses = model._beam(search, 0), list[CandidateRule]()
    for code in range(len(model.classes_)):
        positive = y == code
        S, left = np.stack([positive, ~positive], axis=1) * w[:, None], np.ones(len(y), dtype=bool)
        while (left & positive).any() and (found := beam.best(S, left)) is not None:
            rows = conditions_satisfied(search.X, found.conditions) == len(found)
            clauses = [*clauses, CandidateRule(found.conditions, rows, code)]
            left = left & ~(rows & positive)
        yield clauses


MODES = {"ordered": _ordered, "unordered": _unordered}
