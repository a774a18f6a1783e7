"""Sparse linear classifiers: terms are added one at a time by the log loss, as long as each is worth its bits.

    L(x) = w_1 + w_2 phi_2(x) + ... + w_k phi_k(x),     P(y | x) = 1 / (1 + exp(-y L(x))),     y = -1, +1

A round computes the residuals alpha_i = y_i P(-y_i | x_i) and takes, of all features, the one with the largest
|alpha' phi| / |phi|; a safeguarded Newton search along it finds the weight. Earlier weights stay, or are refitted.

    objective = sum_i ln(1 + exp(-y_i L(x_i))) + price x length(L)
    length(L) = bits of k + sum bits of w_i + sum bits of phi_i - log2 (k - 1)!

A term is kept only if the objective falls; weights are rounded to as few digits as pay. With a price of ln 2 per bit
the objective is -ln [P(L) prod P(y_i | x_i)] under the prior P(L) = 2^-length: the maximum a posteriori rule. With the
formulas of a language as features any rule of the language is one term away, at the price of its length.

Friedman, Hastie & Tibshirani (2000), Additive logistic regression; Barron & Cover (1991) for the price of bits.
"""

from __future__ import annotations

from collections.abc import Collection, Iterator, Sequence
from dataclasses import KW_ONLY, dataclass
from math import log, log2

import numpy as np
from sklearn.utils.validation import check_is_fitted

from fivefold.core._sklearn import _check_feature_names_in
from fivefold.core.admission.takes import Takes
from fivefold.core.compilation.jit import FAST, jit
from fivefold.core.console.fit_progress import fit_steps, warn_kept_best
from fivefold.core.estimators.base import learned
from fivefold.core.estimators.params import Count, NonNegative
from fivefold.core.estimators.supervised_learning import Classifier
from fivefold.core.registry import Card
from fivefold.core.types import Array, Labels, Matrix, Table, Target, UserTable, Weights
from fivefold.ensemble.sparse_terms.term_features import (
    ConstantFeature,
    Constructor,
    Feature,
    Pool,
    Raws,
    Squares,
    Tests,
    ThresholdFeature,
    threshold_products,
)
from fivefold.information.number_lengths import fraction_bits, list_bits, rounded_fraction

MAX_WEIGHT = 8.0  # weights of features of norm one lie in (-8, 8): probabilities between 0.0003 and 0.9997
MAX_WEIGHT_DIGITS = 16  # binary digits of a weight at most
REFIT_SWEEPS = 2  # passes over all weights when they are refitted; more change little


@dataclass(frozen=True)
class WeightedTerm:
    """A feature and its weight."""

    feature: Feature
    weight: float
    bits: float  # code length of the weight


@dataclass(frozen=True)
class SparseRule:
    """A sum of few terms, the first of them the constant."""

    terms: tuple[WeightedTerm, ...]

    def score(self, X: Table) -> Array:
        """L(x) of each row."""
        out = np.zeros(len(X))
        for term in self.terms:
            out += term.weight * term.feature.values(X)
        return out

    @property
    def length(self) -> float:
        """Code length of the rule, in bits."""
        features = sum(term.feature.bits for term in self.terms[1:])
        return list_bits(sum(term.bits for term in self.terms), features, len(self.terms))

    def text(self, names: Sequence[str]) -> str:
        """The sum in readable form."""
        parts = [f"{t.weight:+.4g}" + f" {t.feature.name(names)}" * (i > 0) for i, t in enumerate(self.terms)]
        return " ".join(parts)


@dataclass(frozen=True)
class SparseRules:
    """One rule for two classes, else one per class; and the objective of each after every term."""

    rules: tuple[SparseRule, ...]
    histories: tuple[tuple[float, ...], ...]
    reasons: tuple[str, ...]

    def scores(self, X: Table, terms: int | None = None) -> Matrix:
        """(n, rules), by the first `terms` terms, or all."""
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
        maximum number of terms of a rule, the bias not counted.
    bit_price
        price per bit of the rule, in units of log loss: ln 2 gives the maximum a posteriori rule; 0 keeps every term
        and does not round weights.
    refit
        whether to refit all weights after each new term.

    Attributes
    ----------
    rules_
        the SparseRule of each class; one for two classes.
    classes_
        the labels, sorted; with more than two, each has a rule against all others.
    length_, objective_
        bits of all rules, and log loss plus the price of the bits.
    histories_
        the objective of each rule after each term.
    reasons_
        why each rule stopped growing.

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
    features: tuple[Constructor, ...] = (Raws(), Squares(), Tests())
    max_terms: Count = 20
    bit_price: NonNegative = 1.0
    refit: bool = False

    takes = Takes(one_class=False)
    card = Card(
        applications=("classification", "data mining"),
        use="A short rule that a person can read, with a guarantee by its length. Where accuracy alone counts and "
        "nobody reads the rule, use boosted trees.",
        steps=(
            "Start from the log odds of the classes.",
            "Take the feature along which the log loss falls fastest, and find its weight.",
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

    def decision_function(self, X: UserTable) -> Array:
        """L(x): (n,) for two classes, positive for the second, also where L = 0; (n, K) for more."""
        X = self._admit(X)
        return self._decide(X)

    def staged_decision_function(self, X: UserTable) -> Iterator[Array]:
        """L(x) after the bias, the first term, the second, ..."""
        X = self._admit(X)
        for terms in range(1, max(len(rule.terms) for rule in self.rules_) + 1):
            L = self.model_.scores(X, terms)
            yield L[:, 0] if L.shape[1] == 1 else L

    def predict(self, X: UserTable) -> Labels:
        """The class of each row; of two classes the second where L(x) = 0."""
        X = self._admit(X)
        L = self._decide(X)
        return self.classes_[(L > 0).astype(int) if L.ndim == 1 else L.argmax(axis=1)]

    def predict_proba(self, X: UserTable) -> Matrix:
        """1 / (1 + exp(-L)); for more than two classes made to sum to one."""
        X = self._admit(X)
        L = self._decide(X)
        P = 1 / (1 + np.exp(-(np.column_stack([-L, L]) if L.ndim == 1 else L)))
        return (P / P.sum(axis=1, keepdims=True)).astype(X.dtype)

    def to_text(self, *, feature_names: Collection[str] | None = None) -> str:
        """The rules as sums of their terms."""
        check_is_fitted(self)
        names = _check_feature_names_in(self, feature_names)
        labels = self.classes_[1:] if len(self.rules_) == 1 else self.classes_
        return "\n".join(f"{c}: {r.text(names)}" for c, r in zip(labels, self.rules_, strict=True))

    def _decide(self, X: Table) -> Array:
        L = self.model_.scores(X).astype(X.dtype)
        return np.where(L == 0, 4 * np.finfo(L.dtype).eps, L)[:, 0] if L.shape[1] == 1 else L


class RuleGrowth:
    """A rule for one class against the others while it grows."""

    def __init__(self, X: Table, y: Array, w: Weights, price: float, refit: bool) -> None:
        self.X, self.y, self.w, self.price, self.refit = X, y, w, price, refit
        self.columns: list[Array] = [np.ones(len(y))]
        self.eta: Array = np.zeros(len(y))
        first = self._fit_weight(self.eta, self.columns[0], ConstantFeature())
        self.terms = [first]
        self.eta = first.weight * self.columns[0]
        self.history, self.reason = [self._objective(self.terms, self.eta)], "max_terms"

    @property
    def objective(self) -> float:
        """Log loss plus the price of the bits."""
        return self.history[-1]

    def add(self, pools: list[Pool]) -> bool:
        """Add the best term that lowers the objective, if any does."""
        if self.reason != "max_terms":
            return False
        alpha = self.w * self.y / (1 + np.exp(self.y * self.eta))
        for score, feature in sorted((pool.best(alpha) for pool in pools), key=lambda found: -found[0]):
            if feature is None or score <= 1e-12 * float(np.abs(alpha).sum()):
                continue
            chosen = self._rounded(feature, alpha)
            terms, columns, eta = self._with_term(chosen, chosen.values(self.X))
            if self.refit:
                terms, eta = self._refit(terms, columns, eta)
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

    def _with_term(self, feature: Feature, phi: Array) -> tuple[list[WeightedTerm], list[Array], Array]:
        """The terms with one more, or with a new weight for a feature already present: no feature occurs twice."""
        same = (i for i, column in enumerate(self.columns) if column[0] == phi[0] and np.array_equal(column, phi))
        at = next(same, len(self.terms))
        eta = self.eta if at == len(self.terms) else self.eta - self.terms[at].weight * phi
        term = self._fit_weight(eta, phi, feature)
        terms, columns = (
            [*self.terms[:at], term, *self.terms[at + 1 :]],
            [*self.columns[:at], phi, *self.columns[at + 1 :]],
        )
        return terms, columns, eta + term.weight * phi

    def _fit_weight(self, eta: Array, phi: Array, feature: Feature) -> WeightedTerm:
        """The weight of least loss along phi; with a price on bits, rounded to the digits that pay."""
        size = float(np.sqrt(self.w @ phi**2 / self.w.sum()))
        reach = MAX_WEIGHT / size
        v, curvature = best_weight(eta, self.y, self.w, phi, reach)
        if not self.price:
            return WeightedTerm(feature, v, 0.0)
        options = {rounded_fraction((v / reach + 1) / 2, L) for L in range(1, MAX_WEIGHT_DIGITS + 1)}
        if not isinstance(feature, ConstantFeature):  # a weight of zero would be no term
            options = (options - {0.5}) or {0.5 + 0.5**MAX_WEIGHT_DIGITS}
        lost = {x: curvature * ((2 * x - 1) * reach - v) ** 2 / 2 + self.price * fraction_bits(x) for x in options}
        x = min(sorted(options), key=lost.__getitem__)
        return WeightedTerm(feature, (2 * x - 1) * reach, fraction_bits(x))

    def _rounded(self, feature: Feature, alpha: Array) -> Feature:
        """The feature rounded to the digits that pay, by the gain of one Newton step from weight zero."""
        if not self.price or not isinstance(feature, ThresholdFeature):
            return feature
        options = feature.rounded()
        curvature = float(np.sum(np.abs(alpha) * (1 - np.abs(alpha) / self.w)))  # sum of w P (1 - P), and phi^2 = 1
        gain = threshold_products(options, self.X, alpha) ** 2 / (2 * curvature)
        return options[int(np.argmax(gain - self.price * np.array([option.bits for option in options])))]

    def _refit(self, terms: list[WeightedTerm], columns: list[Array], eta: Array) -> tuple[list[WeightedTerm], Array]:
        """Refit every weight in turn; a step that does not lower the objective is not taken."""
        terms, objective = list(terms), self._objective(terms, eta)
        for _ in range(REFIT_SWEEPS):
            before = objective
            for i, phi in enumerate(columns):
                rest = eta - terms[i].weight * phi
                new = self._fit_weight(rest, phi, terms[i].feature)
                tried = [*terms[:i], new, *terms[i + 1 :]]
                value = self._objective(tried, rest + new.weight * phi)
                if value < objective:
                    terms, eta, objective = tried, rest + new.weight * phi, value
            if before - objective <= 1e-6 * abs(before):
                break
        return terms, eta

    def _objective(self, terms: list[WeightedTerm], eta: Array) -> float:
        bits = SparseRule(tuple(terms)).length if self.price else 0.0
        return float(_loss(eta, self.y, self.w)) + self.price * bits


def best_weight(eta: Array, y: Array, w: Weights, phi: Array, reach: float) -> tuple[float, float]:
    """The v in [-reach, reach] that minimises sum w ln(1 + exp(-y (eta + v phi))), and the curvature there.

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


def log_posterior(rule: SparseRule, X: Table, y: Array) -> float:
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
