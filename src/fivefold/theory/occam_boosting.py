"""Boosting with a price per bit: a vote of stumps that stops where the bound on its error is least.

Adaptive boosting adds stumps; those that are equal are one stump with the sum of their weights. Thresholds are written
with few digits: fewer where that is worth more than the rows that change sides. After every round weights are rounded
to L = 1, 2, ... binary digits; with one digit they are equal, and the majority wins. Of all rounds and all L the vote
of least criterion is kept, such as the Occam bound in its KL form,

    error  <=  the largest q with  n KL(e, q) <= length ln 2 + ln(1 / delta)

which holds for all votes of the code at once, and so for the one that is kept: e is the share of errors of that very
vote, rounded as it is. The vote of no stump, a constant class, is among them. `occam.stump_votes` has the lengths.

Freund & Schapire (1997) for boosting; Blumer, Ehrenfeucht, Haussler & Warmuth (1987) for the bound.
"""

from __future__ import annotations

from dataclasses import KW_ONLY
from math import log2
from typing import Annotated, Any, Literal

import numpy as np
from numpy.typing import ArrayLike
from sklearn.utils.validation import check_is_fitted

from fivefold.core.estimators.base import learned
from fivefold.core.estimators.params import Count, NonNegative, OpenFraction, Positive, Range
from fivefold.core.estimators.supervised_learning import Classifier
from fivefold.core.registry import Card
from fivefold.core.types import Matrix, Table, Target, UserTable, Weights
from fivefold.ensemble.adaboost import AdaBoostClassifier
from fivefold.ensemble.boosting.stumps import Stumps, StumpSearch
from fivefold.information.number_lengths import integer_bits
from fivefold.information.occam_bounds import PRICE_PER_BIT
from fivefold.theory.codes.descriptions import (
    RANGES_KNOWN,
    SCHEMA_KNOWN,
    Description,
    describe,
    description,
    range_codes,
)
from fivefold.theory.occam.code_length_bounds import RULES, kl_bound
from fivefold.theory.occam.stump_votes import CodedStumps, StumpVote, VoteCandidates

EQUAL = 1e-12  # criteria that differ by less than this share of themselves are equal: the earlier round wins


class OccamBoostingClassifier(Classifier):
    """Boosted stumps, as many as are worth their bits, with a bound on the error that needs no other rows.

    Parameters
    ----------
    n_estimators
        rounds of boosting, of which those up to the least criterion are kept.
    learning_rate
        factor of the weights.
    criterion
        what is minimised: a bound on the error, "kl", "exact", "tight" or "root", its linear form, or "count": errors
        plus bits at a price.
    price
        price per bit, in errors, for "count"; None for 2 ln 2.
    delta
        the probability that a bound fails.
    max_digits
        the most binary digits of a weight.
    ranges
        (d, 2) the plausible range of each column, known before the data: thresholds within it take fewer bits.

    Attributes
    ----------
    bits_
        code length of the vote.
    errors_, risk_
        weight of the training rows that it gets wrong, and their share.
    bound_
        the error on new rows is below this with probability 1 - delta: the KL form.
    n_stumps_
        number of different stumps in the vote.
    path_
        (rounds + 1, 3): errors, bits and criterion after 0, 1, ... rounds, with as many digits as are best for each.

    Examples
    --------
    >>> from sklearn.datasets import load_breast_cancer
    >>> from fivefold.theory import OccamBoostingClassifier
    >>> X, y = load_breast_cancer(return_X_y=True)
    >>> model = OccamBoostingClassifier().fit(X, y)
    >>> model.n_stumps_, round(model.bits_, 1), model.errors_, round(model.bound_, 2)
    (1, 22.5, 48.0, 0.17)
    """

    _: KW_ONLY
    n_estimators: Count = 50
    learning_rate: Positive = 1.0
    criterion: Literal["kl", "exact", "tight", "root", "linear", "count"] = "kl"
    price: NonNegative | None = None
    delta: OpenFraction = 0.05
    max_digits: Annotated[int, Range(1, 32)] = 8
    ranges: np.ndarray | list[Any] | tuple[Any, ...] | None = None

    card = Card(
        applications=("classification",),
        use="A vote of a few stumps whose error on new rows is bounded without giving up any rows. The bound is small "
        "with thousands of rows; for accuracy alone use AdaBoostClassifier or gradient boosting.",
        steps=(
            "Boost stumps, and write each threshold with few digits, as long as few rows change sides.",
            "After every round round the weights to each number of digits; count errors and bits of the vote.",
            "Keep the round and the digits where the bound on the error is least.",
        ),
        source="Freund & Schapire (1997); Blumer, Ehrenfeucht, Haussler & Warmuth (1987)",
        see_also=("AdaBoostClassifier", "OccamTreeClassifier", "SparseLinearClassifier"),
        variants=({"criterion": "count", "price": 0.1, "n_estimators": 10}, {"criterion": "tight", "max_digits": 2}),
        search={"learning_rate": (0.5, 1.0)},
    )

    bits_ = learned("bits")
    errors_ = learned("errors")
    path_ = learned("path")

    @property
    def risk_(self) -> float:
        """Share of errors on the training rows."""
        return self.model_.errors / self.model_.rows

    @property
    def bound_(self) -> float:
        """The error on new rows is below this with probability 1 - delta, if the training rows were independent."""
        model = self.model_
        return float(kl_bound(model.errors, model.bits, model.rows, self.delta))

    @property
    def n_stumps_(self) -> int:
        """Number of different stumps in the vote."""
        return len(self.model_.weight)

    def _fit(self, X: Table, y: Target, w: Weights) -> None:
        K, totals = len(self.classes_), np.bincount(y, w, len(self.classes_))
        n, none = float(totals.sum()), float(totals.sum() - totals.max())
        price = PRICE_PER_BIT if self.price is None else self.price
        votes = self._candidates(X, y, w, K, price)
        errors = np.append(none, votes.errors(X, y, w, K))
        bits = np.append(integer_bits(1) + log2(K), votes.bits)
        scores = np.asarray(RULES[self.criterion](errors, bits, n, self.delta, price))
        at = int(np.flatnonzero(scores <= scores.min() * (1 + EQUAL))[0])
        each = np.column_stack([errors, bits, scores])  # (1 + rounds x digits, 3)
        rounds = each[1:].reshape(-1, self.max_digits, 3)
        best = rounds[np.arange(len(rounds)), rounds[:, :, 2].argmin(axis=1)]
        k = int(votes.counts[at - 1]) if at else 0
        self.model_ = StumpVote(
            stumps=votes.stumps.first(k),
            weight=votes.weights[at - 1, :k] if at else np.zeros(0),
            default=int(totals.argmax()),
            classes=K,
            bits=float(bits[at]),
            errors=float(errors[at]),
            rows=n,
            path=np.vstack([each[:1], best]),
        )

    def _candidates(self, X: Table, y: Target, w: Weights, K: int, price: float) -> VoteCandidates:
        """The votes of all rounds; of one round if the first stump is no better than chance, where boosting stops."""
        search = StumpSearch(X, y, K)
        first = search.best(w)
        if w[search.wrong(first)].sum() >= (1 - 1 / K) * w.sum() * (1 - EQUAL):
            found, weights = Stumps.of([first], len(X)), np.ones(1)
        else:
            boosted = AdaBoostClassifier(n_estimators=self.n_estimators, learning_rate=self.learning_rate)
            model = boosted.fit(X, y, sample_weight=w).model_
            assert model.stumps is not None
            found, weights = model.stumps, model.weights
        known = None if self.ranges is None else range_codes(self.ranges, X.shape[1])
        stumps, which = CodedStumps.of(found, X, w, price, known)
        return VoteCandidates.of(stumps, which, weights, X.shape[1], K, self.max_digits)

    def predict_proba(self, X: UserTable) -> Matrix:
        """The share of the weight that votes for each class."""
        return self._scores(self._admit(X))

    def _scores(self, X: Table) -> Matrix:
        return self.model_.shares(X).astype(X.dtype, copy=False)


@describe.register
def _(model: OccamBoostingClassifier, ranges: ArrayLike | None = None) -> Description:
    check_is_fitted(model)
    known = (SCHEMA_KNOWN,) if model.ranges is None else (SCHEMA_KNOWN, RANGES_KNOWN)
    return description("vote of stumps", {"stumps and weights": model.bits_}, known)
