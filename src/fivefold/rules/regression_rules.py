"""Rules for numbers by sequential covering.

    if R_1 then m_1, else if R_2 then m_2, ..., else m_0    m: the mean of the rows a rule covers, or a surface

A rule is grown by the condition that explains most of the squares about the mean,

    fall = sum (y - m)^2 - sum_inside (y - m_in)^2 - sum_outside (y - m_out)^2

and keeps the side whose rows are nearer to their mean. A condition must pay for the numbers it brings, W ln (squares
before / after) > price ln W (Schwarz); where none does the rule is done, what it covers is removed, and the next is
grown on the rows left.

Alpaydin (2010), exercise 9.7; Janssen & Fuernkranz (2010), Separate-and-conquer regression.
"""

from __future__ import annotations

from dataclasses import KW_ONLY, dataclass
from typing import Any, Literal

import numpy as np

from fivefold.core.admission.tables import Takes
from fivefold.core.console.fit_progress import fit_steps, warn_kept_best
from fivefold.core.estimators.params import Count, NonNegative
from fivefold.core.estimators.supervised_learning import Regressor
from fivefold.core.registry import Card
from fivefold.core.types import Array, Indices, Table, Target, UserTable, Weights
from fivefold.rules.base import merge_conditions
from fivefold.rules.covering.sequential_covering import ConditionSearch, VarianceGain, conditions_satisfied
from fivefold.rules.rule_lists.rule_export import RuleExports
from fivefold.rules.rule_lists.rule_lists import Rule, RuleList, Schema
from fivefold.tree.model_tree import LEAF_MODELS

RESIDUAL_TOLERANCE = 1e-11  # share of all squares that is rounding


@dataclass(frozen=True)
class RegressionRules:
    """Rules with the mean of what they cover, and a surface for each rule and the default."""

    rules: RuleList
    coef: Array  # (rules + 1, d), zero where a rule answers with a mean
    intercept: Array  # (rules + 1,)
    fill: Array  # (d,) where a value is missing

    def answers(self, X: Table) -> Any:
        """The number of each row (n,), float64."""
        fired = self.rules.fired(X)
        out = self.intercept[fired]
        if self.coef.any():
            known = np.where(np.isnan(X), self.fill, X)
            out = out + (self.coef[fired] * known).sum(axis=1)
        return out


class RuleRegressor(RuleExports, Regressor):
    """An ordered list of rules that answer with numbers: the mean of what they cover, or a linear surface.

    Parameters
    ----------
    consequent
        what a rule answers: the "mean" of the rows it covers, or a "linear" surface of the columns of numbers.
    price
        of a condition, in units of ln W / W of the squares: larger gives fewer and shorter rules.
    min_weight
        weight of the rows on either side of a condition at least.
    max_rules
        None for no limit.
    max_conditions
        of a rule; None for no limit.

    Attributes
    ----------
    rules_
        the rules with the means of what they cover, a RuleList.

    Examples
    --------
    >>> import numpy as np
    >>> from fivefold.rules import RuleRegressor
    >>> x = np.linspace(0, 1, 101)
    >>> model = RuleRegressor().fit(x[:, None], np.select([x < 0.3, x < 0.7], [5.0, 1.0], 2.0))
    >>> print(model.to_text(evidence=False))
    if x0 <= 0.295 then 5.0
    if x0 <= 0.695 then 1.0
    else 2.0
    """

    _: KW_ONLY
    consequent: Literal["mean", "linear"] = "mean"
    price: NonNegative = 2.0
    min_weight: NonNegative = 5.0
    max_rules: Count | None = None
    max_conditions: Count | None = None

    takes = Takes(missing=True, huge=True, categories=True)

    card = Card(
        applications=("regression", "data mining"),
        use="A number by a few rules a person can read. A tree of the same size is as good; forests err less.",
        steps=(
            "Add the condition that explains most of the squares about the mean; keep the side nearer to its mean.",
            "When no condition pays, the rule answers with the mean, or a surface, of the rows it covers; remove them.",
            "Go on with the rows left until no condition pays: the rest is the default.",
        ),
        source="Janssen & Fuernkranz (2010)",
        see_also=("DecisionTreeRegressor", "ModelTreeRegressor", "RIPPERClassifier"),
        variants=({"consequent": "linear", "min_weight": 15.0}, {"price": 0.5, "max_conditions": 2}),
        search={"price": (0.5, 2.0, 8.0), "min_weight": (5.0, 20.0)},
    )

    @property
    def rules_(self) -> RuleList:
        """The rules with the means of what they cover."""
        return self.model_.rules

    def _fit(self, X: Table, y: Target, w: Weights) -> None:
        centred = y.astype(np.float64) - w @ y / w.sum()
        S = np.stack([w, w * centred, w * centred**2], axis=1)
        measure = VarianceGain(
            max(float(self.min_weight), 1e-9), float(self.price), RESIDUAL_TOLERANCE * float(S[:, 2].sum())
        )
        most = 2**31 - 1 if self.max_conditions is None else self.max_conditions
        limit = len(X) if self.max_rules is None else self.max_rules
        search, answers = ConditionSearch(X, self._discrete()), RuleAnswers(self, X, y, w)
        with fit_steps(self, "rule", limit, X) as monitor:
            try:
                while len(answers.rules) < limit:
                    search.enter(answers.left)
                    conditions = search.grow(measure, S, most)
                    if not conditions:
                        break
                    answers.add(conditions)
                    if monitor(answers.model(), float(S[answers.left, 2].sum())):
                        break
            except KeyboardInterrupt:
                warn_kept_best(self, len(answers.rules), "rule")
        self.model_ = answers.model()

    def predict(self, X: UserTable) -> Any:
        """The number that the first rule that holds gives for each row."""
        X = self._admit(X)
        return self.model_.answers(X).astype(X.dtype, copy=False)

    def _discrete(self) -> Any:
        return vars(self)["categories_in_"].values if "categories_in_" in vars(self) else ()


class RuleAnswers:
    """Rules and their surfaces while they are being found."""

    def __init__(self, estimator: Any, X: Table, y: Target, w: Weights) -> None:
        self.X, self.y, self.w = X, y.astype(np.float64), w
        self.schema, self.leaf = Schema.of(estimator), LEAF_MODELS[estimator.consequent]
        known = ~np.isnan(X)
        shares = w / w.sum()  # sums of these with huge numbers do not overflow
        share = shares @ known  # a column without any value is filled with zeros
        self.fill = shares @ np.where(known, X, 0.0) / np.where(share > 0, share, 1.0)
        self.Z = np.where(known, X, self.fill).astype(np.float64)
        self.Z[:, list(estimator._discrete())] = 0.0  # codes of categories have no slope
        self.left, self.rules, self.surfaces = np.ones(len(X), dtype=bool), list[Rule](), list[Any]()

    def add(self, conditions: Any) -> None:
        """A rule that covers what satisfies the conditions; those rows are removed."""
        rows = np.flatnonzero(self.left & (conditions_satisfied(self.X, conditions) == len(conditions)))
        self.left[rows] = False
        rule, surface = self._answer(merge_conditions(conditions), rows)
        self.rules.append(rule)
        self.surfaces.append(surface)

    def model(self) -> RegressionRules:
        """The rules so far, and a default for the rows left."""
        default, surface = self._answer((), np.flatnonzero(self.left))
        coef, intercept = (np.array(part) for part in zip(*self.surfaces, surface, strict=True))
        return RegressionRules(RuleList(tuple(self.rules), default, self.schema), coef, intercept, self.fill)

    def _answer(self, conditions: Any, rows: Indices) -> tuple[Rule, tuple[Any, float]]:
        w, y = self.w[rows], self.y[rows]
        rule = Rule(conditions, float(w @ y / w.sum()), (), float(w.sum()), len(rows))
        return rule, self.leaf(self.Z[rows], y, w)
