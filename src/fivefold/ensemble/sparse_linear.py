"""Sparse linear classifiers: terms chosen one at a time by the log loss, as long as they are worth their bits.

    L(x) = w_1 + w_2 phi_2(x) + ... + w_k phi_k(x),     P(y | x) = 1 / (1 + exp(-y L(x))),     y = -1, +1

A round takes the residuals alpha_i = y_i P(-y_i | x_i) and, of all features at hand, the one with the largest
|alpha' phi| / |phi|; a safeguarded Newton search along it finds the weight. Old weights stay, or are searched again.

    objective = sum_i ln(1 + exp(-y_i L(x_i))) + price x length(L)
    length(L) = bits of k + sum bits of w_i + sum bits of phi_i - log2 (k - 1)!

A term is taken only if the objective falls; weights are rounded to as few digits as pay. With a price of ln 2 a bit the
objective is -ln [P(L) prod P(y_i | x_i)] under the prior P(L) = 2^-length: the maximum a posteriori rule. With the
formulas of a language as features any rule of the language is one term away, at the price of its length.

Friedman, Hastie & Tibshirani (2000), Additive logistic regression; Barron & Cover (1991) for the price of bits.
"""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import KW_ONLY, dataclass
from math import log, log2
from typing import Any

import numpy as np
from sklearn.utils.validation import check_is_fitted

from fivefold.core._sklearn import _check_feature_names_in
from fivefold.core.admission.tables import Takes
from fivefold.core.compilation.jit import FAST, jit
from fivefold.core.console.fit_progress import fit_steps, warn_kept_best
from fivefold.core.estimators.base import learned
from fivefold.core.estimators.params import Count, NonNegative
from fivefold.core.estimators.supervised_learning import Classifier
from fivefold.core.registry import Card
from fivefold.core.types import Table, Target, UserTable, Weights
from fivefold.ensemble.sparse_terms.code_lengths import fraction_bits, list_bits, rounded_fraction
from fivefold.ensemble.sparse_terms.term_features import ConstantFeature, Raws, Squares, Tests, threshold_products

MAX_WEIGHT = 8.0  # weights of features of size one lie in (-8, 8): probabilities between 0.0003 and 0.9997
MAX_WEIGHT_DIGITS = 16  # digits of a weight at most
REFIT_SWEEPS = 2  # over all weights when they are searched again


@dataclass(frozen=True)
class WeightedTerm:
    """A feature and its weight."""

    feature: Any
    weight: float
    bits: float  # of the weight


@dataclass(frozen=True)
class SparseRule:
    """A sum of few terms, the first of them the constant."""

    terms: tuple[WeightedTerm, ...]

    def score(self, X: UserTable) -> Any:
        """L(x) of each row."""
        out = np.zeros(len(X))
        for term in self.terms:
            out += term.weight * term.feature.values(X)
        return out

    @property
    def length(self) -> float:
        """Bits it takes to write the rule down."""
        features = sum(term.feature.bits for term in self.terms[1:])
        return list_bits(sum(term.bits for term in self.terms), features, len(self.terms))

    def text(self, names: Any) -> str:
        """The sum as a person reads it."""
        parts = [f"{t.weight:+.4g}" + f" {t.feature.name(names)}" * (i > 0) for i, t in enumerate(self.terms)]
        return " ".join(parts)


@dataclass(frozen=True)
class SparseRules:
    """One rule for two classes, else one a class; and how the objective of each fell."""

    rules: tuple[SparseRule, ...]
    histories: tuple[tuple[float, ...], ...]
    reasons: tuple[str, ...]

    def scores(self, X: Table, terms: int | None = None) -> Any:
        """(n, rules), by the first so many terms."""
        return np.column_stack([SparseRule(rule.terms[:terms]).score(X) for rule in self.rules])

    @property
    def length(self) -> float:
        return sum(rule.length for rule in self.rules)

    @property
    def objective(self) -> float:
        return sum(history[-1] for history in self.histories)


class SparseLinearClassifier(Classifier):
    """A linear rule of few terms, each chosen by the log loss and kept if it is worth its bits.

    Parameters
    ----------
    features
        constructors of the features that may be chosen, from `fivefold.ensemble.sparse_terms.term_features`: Raws(),
        Squares(), Tests(), Trees(max_depth), Formulas(budget), Models(...).
    max_terms
        most terms of a rule, the bias not counted.
    bit_price
        what a bit of the rule costs, in units of log loss: ln 2 gives the maximum a posteriori rule, 0 keeps every term
        and its weight as it is.
    refit
        search all weights again after each new term.

    Attributes
    ----------
    rules_
        the SparseRule of each class; one for two classes.
    classes_
        the labels, sorted; for more than two each has a rule against all others.
    length_, objective_
        bits of all rules, and log loss plus the price of the bits.
    histories_
        the objective of each rule after each term.
    reasons_
        why each rule grew no further.

    Examples
    --------
    >>> from sklearn.datasets import load_breast_cancer
    >>> from fivefold.ensemble import SparseLinearClassifier
    >>> X, y = load_breast_cancer(return_X_y=True)
    >>> model = SparseLinearClassifier().fit(X, y)
    >>> len(model.rules_[0].terms) < 12, model.score(X, y) > 0.94
    (True, True)
    """

    _: KW_ONLY
    features: tuple[Any, ...] = (Raws(), Squares(), Tests())
    max_terms: Count = 20
    bit_price: NonNegative = 1.0
    refit: bool = False

    takes = Takes(one_class=False)
    card = Card(
        applications=("classification", "data mining"),
        use="A short rule that a person can read and that comes with a guarantee by its length. Where every bit of "
        "accuracy counts and nobody reads the rule, boosted trees.",
        steps=(
            "Start from the log odds of the classes.",
            "Take the feature along which the log loss falls fastest, and search its weight.",
            "Round the weight to the digits that pay; keep the term if it is worth its bits.",
        ),
        source="Friedman, Hastie & Tibshirani (2000); Barron & Cover (1991)",
        see_also=("LogisticRegression", "EnrichmentCascade"),
        variants=({"bit_price": 0.0, "max_terms": 5}, {"refit": True, "features": (Tests(),)}),
        search={"bit_price": (0.3, 0.7, 1.4), "refit": (False, True)},
    )

    rules_ = learned("rules")
    length_ = learned("length")
    objective_ = learned("objective")
    histories_ = learned("histories")
    reasons_ = learned("reasons")

    def _fit(self, X: Table, y: Target, w: Weights) -> None:
        K = len(self.classes_)
        extra = log2(len(self.features))
        pools = [constructor.pool(X, w, extra) for constructor in self.features]
        tasks = [1] if K == 2 else range(K)
        states = [RuleGrowth(X, np.where(y == k, 1.0, -1.0), w, self.bit_price, self.refit) for k in tasks]
        done = 0
        with fit_steps(self, "term", self.max_terms, X) as monitor:
            try:
                while done < self.max_terms and sum(state.add(pools) for state in states):
                    done += 1
                    if monitor(_model(states), sum(state.objective for state in states)):
                        break
            except KeyboardInterrupt:
                self.model_ = _model(states)
                warn_kept_best(self, done, "term")
        self.model_ = _model(states)

    def decision_function(self, X: UserTable) -> Any:
        """L(x): (n,) for two classes, positive for the second, also where L = 0; (n, K) for more."""
        X = self._admit(X)
        return self._decide(X)

    def staged_decision_function(self, X: UserTable) -> Iterator[Any]:
        """L(x) after the bias, the first term, the second, ..."""
        X = self._admit(X)
        for terms in range(1, max(len(rule.terms) for rule in self.rules_) + 1):
            L = self.model_.scores(X, terms)
            yield L[:, 0] if L.shape[1] == 1 else L

    def predict(self, X: UserTable) -> Any:
        """The class of each row; of two classes the second where L(x) = 0."""
        X = self._admit(X)
        L = self._decide(X)
        return self.classes_[(L > 0).astype(int) if L.ndim == 1 else L.argmax(axis=1)]

    def predict_proba(self, X: UserTable) -> Any:
        """1 / (1 + exp(-L)); for more than two classes made to sum to one."""
        X = self._admit(X)
        L = self._decide(X)
        P = 1 / (1 + np.exp(-(np.column_stack([-L, L]) if L.ndim == 1 else L)))
        return (P / P.sum(axis=1, keepdims=True)).astype(X.dtype)

    def to_text(self, *, feature_names: Any = None) -> str:
        """The rules as sums of their terms."""
        check_is_fitted(self)
        names = _check_feature_names_in(self, feature_names)
        labels = self.classes_[1:] if len(self.rules_) == 1 else self.classes_
        return "\n".join(f"{c}: {r.text(names)}" for c, r in zip(labels, self.rules_, strict=True))

    def _decide(self, X: Table) -> Any:
        L = self.model_.scores(X).astype(X.dtype)
        return np.where(L == 0, 4 * np.finfo(L.dtype).eps, L)[:, 0] if L.shape[1] == 1 else L


class RuleGrowth:
    """A rule for one class against the others while it grows."""

    def __init__(self, X: Any, y: Any, w: Any, price: float, refit: bool) -> None:
        self.X, self.y, self.w, self.price, self.refit = X, y, w, price, refit
        self.columns: list[Any] = [np.ones(len(y))]
        self.eta = np.zeros(len(y))
        first = self._search(self.eta, self.columns[0], ConstantFeature())
        self.terms = [first]
        self.eta = first.weight * self.columns[0]
        self.history, self.reason = [self._objective(self.terms, self.eta)], "max_terms"

    @property
    def objective(self) -> float:
        """Log loss and price of the bits."""
        return self.history[-1]

    def add(self, pools: list[Any]) -> bool:
        """Add the best term that lowers the objective, if any does."""
        if self.reason != "max_terms":
            return False
        alpha = self.w * self.y / (1 + np.exp(self.y * self.eta))
        for score, feature in sorted((pool.best(alpha) for pool in pools), key=lambda found: -found[0]):
            if score <= 1e-12 * float(np.abs(alpha).sum()):
                continue
            chosen = self._rounded(feature, alpha)
            terms, columns, eta = self._with(chosen, chosen.values(self.X))
            if self.refit:
                terms, eta = self._again(terms, columns, eta)
            objective = self._objective(terms, eta)
            if objective < self.objective * (1 - 1e-12):
                self.terms, self.columns, self.eta = terms, columns, eta
                self.history.append(objective)
                return True
        self.reason = "no feature is worth its bits" if self.price else "no feature lowers the loss"
        return False

    def rule(self) -> SparseRule:
        """The rule so far."""
        return SparseRule(tuple(self.terms))

    def _with(self, feature: Any, phi: Any) -> tuple[list[WeightedTerm], list[Any], Any]:
        """The terms with one more, or with a new weight for a feature that is there: no feature stands twice."""
        same = (i for i, column in enumerate(self.columns) if column[0] == phi[0] and np.array_equal(column, phi))
        at = next(same, len(self.terms))
        eta = self.eta if at == len(self.terms) else self.eta - self.terms[at].weight * phi
        term = self._search(eta, phi, feature)
        terms, columns = (
            [*self.terms[:at], term, *self.terms[at + 1 :]],
            [*self.columns[:at], phi, *self.columns[at + 1 :]],
        )
        return terms, columns, eta + term.weight * phi

    def _search(self, eta: Any, phi: Any, feature: Any) -> WeightedTerm:
        """The weight of least loss along phi; with a price on bits, rounded to the digits that pay."""
        size = float(np.sqrt(self.w @ phi**2 / self.w.sum()))
        reach = MAX_WEIGHT / size
        v, curvature = best_weight(eta, self.y, self.w, phi, reach)
        if not self.price:
            return WeightedTerm(feature, v, 0.0)
        options = {rounded_fraction((v / reach + 1) / 2, L) for L in range(1, MAX_WEIGHT_DIGITS + 1)}
        if not isinstance(feature, ConstantFeature):  # a weight of zero is no term
            options = (options - {0.5}) or {0.5 + 0.5**MAX_WEIGHT_DIGITS}
        lost = {x: curvature * ((2 * x - 1) * reach - v) ** 2 / 2 + self.price * fraction_bits(x) for x in options}
        x = min(sorted(options), key=lost.__getitem__)
        return WeightedTerm(feature, (2 * x - 1) * reach, fraction_bits(x))

    def _rounded(self, feature: Any, alpha: float) -> Any:
        """The feature in the digits that pay, by the gain of one Newton step from a weight of zero."""
        options = feature.rounded() if self.price else [feature]
        if len(options) == 1:
            return feature
        curvature = float(np.sum(np.abs(alpha) * (1 - np.abs(alpha) / self.w)))  # sum of w P (1 - P), and phi^2 = 1
        gain = threshold_products(options, self.X, alpha) ** 2 / (2 * curvature)
        return options[int(np.argmax(gain - self.price * np.array([option.bits for option in options])))]

    def _again(self, terms: list[WeightedTerm], columns: list[Any], eta: float) -> tuple[list[WeightedTerm], Any]:
        """Every weight in turn searched again; a step that does not lower the objective is not taken."""
        terms, objective = list(terms), self._objective(terms, eta)
        for _ in range(REFIT_SWEEPS):
            before = objective
            for i, phi in enumerate(columns):
                rest = eta - terms[i].weight * phi
                new = self._search(rest, phi, terms[i].feature)
                tried = [*terms[:i], new, *terms[i + 1 :]]
                value = self._objective(tried, rest + new.weight * phi)
                if value < objective:
                    terms, eta, objective = tried, rest + new.weight * phi, value
            if before - objective <= 1e-6 * abs(before):
                break
        return terms, eta

    def _objective(self, terms: list[WeightedTerm], eta: Any) -> float:
        bits = SparseRule(tuple(terms)).length if self.price else 0.0
        return float(_loss(eta, self.y, self.w)) + self.price * bits


def best_weight(eta: float, y: Target, w: Weights, phi: Any, reach: float) -> tuple[float, float]:
    """The v in [-reach, reach] of least sum w ln(1 + exp(-y (eta + v phi))), and the curvature there.

    >>> phi = np.array([1.0, 1.0, 1.0, 1.0, -1.0])
    >>> round(best_weight(np.zeros(5), np.ones(5), np.ones(5), phi, 8.0)[0], 4)  # ln(0.8 / 0.2)
    1.3863
    """
    low, high, v = -reach, reach, 0.0
    slope, curvature = _along(eta, y, w, phi, v)
    for _ in range(60):
        low, high = (v, high) if slope < 0 else (low, v)
        step = v - slope / curvature if curvature > 0 else np.inf
        new = step if low < step < high else (low + high) / 2
        if abs(new - v) <= 1e-12 * reach:
            break
        v = new
        slope, curvature = _along(eta, y, w, phi, v)
        if slope == 0:
            break
    return float(v), float(curvature)


def log_posterior(rule: SparseRule, X: Table, y: Target) -> float:
    """ln P(L) + sum ln P(y_i | x_i) with y = -1, +1 and the prior 2^-length: minus the objective at a price of ln 2."""
    return -rule.length * log(2) - float(np.logaddexp(0.0, -y * rule.score(X)).sum())


def _model(states: list[RuleGrowth]) -> SparseRules:
    return SparseRules(
        tuple(state.rule() for state in states),
        tuple(tuple(state.history) for state in states),
        tuple(state.reason for state in states),
    )


@jit(fastmath=FAST, error_model="numpy")
def _loss(eta, y, w):
    """Sum of w ln(1 + exp(-y eta))."""
    total = 0.0
    for i in range(len(y)):
        z = -y[i] * eta[i]
        total += w[i] * (max(z, 0.0) + np.log1p(np.exp(-abs(z))))
    return total


@jit(fastmath=FAST, error_model="numpy")
def _along(eta, y, w, phi, v):
    """Slope and curvature of the log loss along phi."""
    slope, curvature = 0.0, 0.0
    for i in range(len(y)):
        p = 1.0 / (1.0 + np.exp(y[i] * (eta[i] + v * phi[i])))
        slope -= w[i] * y[i] * phi[i] * p
        curvature += w[i] * phi[i] * phi[i] * p * (1.0 - p)
    return slope, curvature
