"""Occam's razor over Boolean formulas: few mistakes, few bits, and a bound on the error on new rows.

    list      if f_1 then c_1, else if f_2 then c_2, ..., else c_0            one formula for two classes, K - 1 at most
    length    sum_i (1 + log2 K + bits of f_i)  +  1 + log2 K                 formula: 2 per symbol, log2 d per feature

Features are true or false: a category or not, above a cut or not, missing or not. Cuts are at quantiles of a column,
independent of the labels, so that the code is fixed before the labels are seen. With e the share of mistakes on n rows
and c = 2 (length ln 2 + ln(1 / delta)) / n, the criteria to minimise are

    count     mistakes + price x length                     price = 2 ln 2, whatever n and delta; the same rule as
    linear    e + c                                         whose bound is at most half as large again as that of
    tight     e + sqrt(e c) + c                             the relative Occam bound itself
    root      e + sqrt((length ln 2 + ln(2 / delta)) / 2n)  the plain one: shorter formulas where mistakes are few

All formulas are tried in order of length until no longer one can win, or until max_formulas have been made; then the
best are extended. With several classes each has its formula, rarest class first, learned from the remaining rows.

Blumer, Ehrenfeucht, Haussler & Warmuth (1987); McAllester (2009), Case Studies in Machine Learning.
"""

from __future__ import annotations

from collections.abc import Collection, Iterator
from dataclasses import KW_ONLY, dataclass, replace
from functools import cached_property
from math import inf, log2
from typing import Literal

import numpy as np
from sklearn.utils.validation import check_is_fitted

from fivefold.core.admission.takes import Takes
from fivefold.core.console.fit_progress import fit_steps, warn_kept_best
from fivefold.core.estimators.params import Count, Index, NonNegative, OpenFraction, Positive
from fivefold.core.estimators.supervised_learning import Classifier
from fivefold.core.registry import Card
from fivefold.core.types import Array, Codes, Indices, Mask, Matrix, Table, Target, UserTable, Weights
from fivefold.information.occam_bounds import CRITERIA, PRICE_PER_BIT, Amount
from fivefold.partition.export.conditions import Condition
from fivefold.rules.formulas.binary_features import binary_features, complement, feature_name
from fivefold.rules.formulas.boolean_formulas import Formula
from fivefold.rules.formulas.formula_search import Score, find_formula
from fivefold.rules.rule_lists.rule_export import RuleExports
from fivefold.rules.rule_lists.rule_lists import Rule, RuleList, Schema
from fivefold.rules.rule_lists.simplification import merge_conditions
from fivefold.tree.occam_tree import Guarantee, guarantee


@dataclass(frozen=True)
class FormulaList:
    """Formulas, of which the first that is true answers; and the class weights of the rows that each answered."""

    features: tuple[Condition, ...]  # what formulas may be made of
    formulas: tuple[Formula, ...]  # over the numbers of `features`
    counts: Array  # (formulas + 1, K) class weights of the rows that each answers; the default last
    rows: tuple[tuple[int, float], ...]  # (rows, weight) that each term answers, formula by formula, the default last
    schema: Schema
    binary: frozenset[int]  # columns that hold only 0 and 1
    proved: bool  # is every formula proved to be the best for the rows it saw?

    @property
    def bits(self) -> float:
        """Code length."""
        label = 1 + log2(self.counts.shape[1])
        return (len(self.formulas) + 1) * label + sum(f.bits(len(self.features)) for f in self.formulas)

    @property
    def errors(self) -> float:
        """Weight of the training rows predicted wrongly."""
        return float(self.counts.sum() - self.counts.max(axis=1).sum())

    @cached_property
    def names(self) -> tuple[str, ...]:
        """Names of the features; the name of the column alone if it holds only 0 and 1."""
        return tuple(feature_name(c, self.schema, c.column in self.binary) for c in self.features)

    @cached_property
    def rules(self) -> RuleList:
        """The terms of each formula as rules, in order; a rule has the class shares of its formula."""
        classes, rules = self.schema.classes or (), []
        shares = self.counts / np.where(s := self.counts.sum(axis=1, keepdims=True), s, 1.0)
        terms = [(i, term) for i, f in enumerate(self.formulas) for term in f.terms()]
        for (i, term), (rows, weight) in zip([*terms, (-1, {})], self.rows, strict=True):
            box = merge_conditions(
                self.features[k] if plain else complement(self.features[k], self.schema) for k, plain in term.items()
            )
            value = tuple((shares[i] * (weight or 1.0)).tolist())
            rules.append(Rule(tuple(box.values()), classes[int(shares[i].argmax())], value, weight, rows))
        return RuleList(tuple(rules[:-1]), rules[-1], self.schema)

    def fired(self, X: Table) -> Indices:
        """The index of the formula that answers each row; the number of formulas if none is true."""
        asked = sorted({k for f in self.formulas for k in f.features})
        X = X.astype(np.float64, copy=False)
        B = {k: self.features[k].holds(X[:, self.features[k].column]).astype(bool) for k in asked}
        out = np.full(len(X), len(self.formulas))
        for i in range(len(self.formulas) - 1, -1, -1):
            out[self.formulas[i].holds(B)] = i
        return out

    def text(self) -> str:
        """The formulas in words."""
        labels = [(self.schema.classes or ())[int(k)] for k in self.counts.argmax(axis=1)]
        lines = [f"if {f.text(self.names)} then {c}" for f, c in zip(self.formulas, labels, strict=False)]
        return "\nelse ".join([*lines, str(labels[-1])]) if lines else f"always {labels[-1]}"


class OccamFormulaClassifier(RuleExports, Classifier):
    """A short Boolean formula with few mistakes, found by increasing code length, with a bound on its error.

    Parameters
    ----------
    criterion
        what is minimised: "count" for mistakes plus bits at a price, or a bound on the error: "linear", "tight" or
        "root".
    price
        price per bit, in mistakes, for "count"; larger gives shorter formulas. None for 2 ln 2.
    delta
        the probability that a bound fails.
    n_cuts
        maximum number of thresholds per column of numbers, at its quantiles.
    max_bits
        longest formula of the exhaustive search; None: limited by max_formulas only.
    max_formulas
        maximum number of formulas with different truth values that are made; fewer if there are many rows.
    beam
        formulas that are extended side by side after the exhaustive search; 0 for none.

    Attributes
    ----------
    formulas_
        the formulas over named features, in order.
    bits_
        code length of all of them.
    errors_, risk_
        mistakes on the training rows, and their share.
    proved_
        whether the search ended because no other formula can have a smaller score.

    Examples
    --------
    >>> import numpy as np, pandas as pd
    >>> from fivefold.rules import OccamFormulaClassifier
    >>> rng = np.random.RandomState(0)
    >>> X = pd.DataFrame(rng.randint(2, size=(400, 6)), columns=list("abcdef"))
    >>> y = ((X.a == 1) & (X.b == 0) | (X.e == 1)) ^ (rng.rand(400) < 0.05)
    >>> model = OccamFormulaClassifier().fit(X, np.where(y, "yes", "no"))
    >>> print(model.to_text())
    if e or a and not b then yes
    else no
    >>> round(model.bits_, 1), model.errors_, round(model.guarantee().bound, 2)
    (23.8, 21.0, 0.22)
    """

    _: KW_ONLY
    criterion: Literal["count", "linear", "tight", "root"] = "count"
    price: NonNegative | None = None
    delta: OpenFraction = 0.05
    n_cuts: Count = 15
    max_bits: Positive | None = None
    max_formulas: Count = 100_000
    beam: Index = 8

    takes = Takes(missing=True, categories=True)
    card = Card(
        applications=("classification", "data mining"),
        use="A rule of a few words with a proven bound on its error, from numbers and categories. The bound "
        "means little with few rows, and a tree is faster if the rule is long.",
        steps=(
            "Turn columns into features that are true or false: categories, cuts at quantiles, gaps.",
            "Make formulas in order of their bits, one per function of the rows, and score each.",
            "Stop when even a perfect longer formula would score worse; if there are too many, extend the best.",
            "With several classes do so for each, the rarest first, on the rows that no formula covers yet.",
        ),
        source="Blumer, Ehrenfeucht, Haussler & Warmuth (1987); McAllester (2009)",
        see_also=("OccamTreeClassifier", "DecisionTreeClassifier", "SparseLinearClassifier"),
        variants=(
            {"criterion": "tight", "max_formulas": 2000},
            {"price": 0.1, "n_cuts": 5, "max_formulas": 1000, "beam": 4},
            {"criterion": "root", "max_bits": 30.0, "beam": 0},
        ),
        search={"price": (0.05, 0.2, 1.0)},
        growth=1.2,
    )

    @property
    def formulas_(self) -> tuple[Formula, ...]:
        """The formulas over named features, in order."""
        return tuple(f.renamed(self.model_.names) for f in self.model_.formulas)

    @property
    def bits_(self) -> float:
        """Code length of all formulas."""
        return self.model_.bits

    @property
    def errors_(self) -> float:
        """Weight of the training rows predicted wrongly."""
        return self.model_.errors

    @property
    def risk_(self) -> float:
        """Share of mistakes on the training rows."""
        return self.model_.errors / float(self.model_.counts.sum())

    @property
    def proved_(self) -> bool:
        """Is it proved that no other formula has a smaller score?"""
        return self.model_.proved

    @property
    def rules_(self) -> RuleList:
        """The terms of the formulas as a list of rules."""
        return self.model_.rules

    def guarantee(self, delta: float = 0.05) -> Guarantee:
        """The Occam bounds on the error on new rows, if the training rows were drawn independently."""
        check_is_fitted(self)
        return guarantee(self.risk_, self.bits_, float(self.model_.counts.sum()), delta)

    def to_text(self, *, feature_names: Collection[str] | None = None, evidence: bool = False) -> str:
        """The formulas in words; with `evidence`, the rules they consist of, with their rows."""
        check_is_fitted(self)
        if evidence:
            return super().to_text(feature_names=feature_names)
        return replace(self.model_, schema=Schema.of(self, feature_names)).text()

    def predict_proba(self, X: UserTable) -> Matrix:
        """Class shares among the training rows that the same formula answered."""
        return self._scores(self._admit(X))

    def _fit(self, X: Table, y: Target, w: Weights) -> None:
        X = X.astype(np.float64, copy=False)
        features = tuple(binary_features(X, w, Schema.of(self), self.n_cuts)) or (Condition(0, low=inf, missing=True),)
        B = np.column_stack([c.holds(X[:, c.column]) for c in features]).astype(bool)  # (n, m)
        done = 0
        binary = frozenset(j for j in range(X.shape[1]) if np.isin(X[:, j], (0.0, 1.0)).all())
        with fit_steps(self, "formula", len(self.classes_), X) as monitor:
            try:
                for model in self._growing(features, B, y, w):
                    self.model_ = model
                    done += 1
                    if monitor(model, model.errors):
                        break
            except KeyboardInterrupt:
                warn_kept_best(self, done, "formula")
        self.model_ = _counted(replace(self.model_, binary=binary), B, w)

    def _growing(self, features: tuple[Condition, ...], B: Mask, y: Codes, w: Weights) -> Iterator[FormulaList]:
        """The list with no formula, with one, and so on: one per class, rarest first; the last class is the default."""
        K = len(self.classes_)
        patterns, which = np.unique(B, axis=0, return_inverse=True)
        sums = np.asarray(np.bincount(which.ravel() * K + y, w, len(patterns) * K), dtype=np.float64)
        W = sums.reshape(-1, K)  # (U, K)
        model = FormulaList(features, (), W.sum(axis=0, keepdims=True), (), Schema.of(self), frozenset(), True)
        yield model
        order = np.argsort(model.counts[0], kind="stable")[:-1]
        for c in order:
            if len(patterns) < 2:
                break
            rest = W if c == order[-1] else np.column_stack([W[:, c], np.delete(W, c, axis=1).sum(axis=1)])
            found = find_formula(
                patterns, rest, self._score(model, float(w.sum())), fixed=bool(c != order[-1]),
                budget=inf if self.max_bits is None else self.max_bits, most=self.max_formulas, beam=self.beam,
            )  # fmt: skip
            model = replace(model, proved=model.proved and found.proved)
            if found.formula is not None:
                true = found.formula.truth(patterns)
                counts = np.vstack([model.counts[:-1], W[true].sum(axis=0), W[~true].sum(axis=0)])
                model = replace(model, formulas=(*model.formulas, found.formula), counts=counts)
                patterns, W = patterns[~true], W[~true]
            yield model

    def _score(self, model: FormulaList, n: float) -> Score:
        """The score of the list with one more formula, as a function of its mistakes and bits."""
        settled, before, label = model.counts[:-1], model.bits, 1 + log2(model.counts.shape[1])
        missed = float(settled.sum() - settled.max(axis=1, initial=0.0).sum())
        criterion, price = CRITERIA[self.criterion], PRICE_PER_BIT if self.price is None else self.price

        def score(errors: Amount, bits: Amount) -> Amount:
            length = before + bits + np.where(np.asarray(bits) > 0, label, 0.0)
            return criterion(errors + missed, length, n, self.delta, price)

        return score

    def _scores(self, X: Table) -> Matrix:
        counts = self.model_.counts
        shares = counts / counts.sum(axis=1, keepdims=True)
        return shares.astype(X.dtype, copy=False)[self.model_.fired(X)]


def _counted(model: FormulaList, B: Mask, w: Weights) -> FormulaList:
    """The list with the number and weight of the rows that each term is the first to answer."""
    rows, unanswered = [], np.ones(len(B), dtype=bool)
    for formula in model.formulas:
        for term in formula.terms():
            held = unanswered & np.logical_and.reduce([B[:, k] == plain for k, plain in term.items()])
            rows.append((int(held.sum()), float(w[held].sum())))
            unanswered &= ~held
    rows.append((int(unanswered.sum()), float(w[unanswered].sum())))
    return replace(model, rows=tuple(rows))
