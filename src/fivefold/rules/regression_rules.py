"""Rules for numbers by sequential covering.

    if R_1 then m_1, else if R_2 then m_2, ..., else m_0    m: the mean of the rows a rule covers, or a linear function

A rule is grown by the condition that explains most of the sum of squares about the mean,

    gain = sum (y - m)^2 - sum_inside (y - m_in)^2 - sum_outside (y - m_out)^2

and keeps the side whose rows are nearer to their mean. A condition must pay for the numbers it adds, W ln (squares
before / after) > price ln W (Schwarz); when none does, the rule is finished, the rows it covers are removed, and the
next rule is grown on the rest.

Alpaydin (2010), exercise 9.7; Janssen & Fuernkranz (2010), Separate-and-conquer regression.
"""

from __future__ import annotations

from dataclasses import KW_ONLY, dataclass
from typing import Literal

import numpy as np

from fivefold.core.admission.takes import Takes
from fivefold.core.console.fit_progress import fit_steps, warn_kept_best
from fivefold.core.estimators.params import Count, NonNegative
from fivefold.core.estimators.supervised_learning import Regressor
from fivefold.core.registry import Card
from fivefold.core.types import Array, Indices, Table, Target, UserTable, Vector, Weights
from fivefold.partition.export.conditions import Condition
from fivefold.rules.base import category_columns
from fivefold.rules.covering.sequential_covering import ConditionSearch, VarianceGain, conditions_satisfied
from fivefold.rules.rule_lists.rule_export import RuleExports
from fivefold.rules.rule_lists.rule_lists import Rule, RuleList, Schema
from fivefold.rules.rule_lists.simplification import merge_conditions
from fivefold.tree.model_tree import LEAF_MODELS

RESIDUAL_TOLERANCE = 1e-11  # sums of squares below this share of the total are rounding


@dataclass(frozen=True)
class RegressionRules:
    """Rules with the mean of the rows they cover, and a linear function for each rule and the default."""

    rules: RuleList
    coef: Array  # (rules + 1, d), zero for rules that predict a mean
    intercept: Array  # (rules + 1,)
    fill: Array  # (d,) in place of missing values

    def answers(self, X: Table) -> Vector:
        """The predicted number of each row (n,)."""
        fired = self.rules.fired(X)
        out = self.intercept[fired]
        if self.coef.any():
            known = np.where(np.isnan(X), self.fill, X)
            out = out + (self.coef[fired] * known).sum(axis=1)
        return out


class RuleRegressor(RuleExports, Regressor):
    """An ordered list of rules that predict numbers: the mean of the rows they cover, or a linear function.

    Parameters
    ----------
    consequent
        what a rule predicts: the "mean" of the rows it covers, or a "linear" function of the columns of numbers.
    price
        price per condition: it must reduce the log of the sum of squares by more than price ln W / W; larger gives
        fewer and shorter rules.
    min_weight
        minimum weight of the rows on either side of a condition.
    max_rules
        maximum number of rules; None for no limit.

    Attributes
    ----------
    rules_
        the rules with the means of the rows they cover, a RuleList.

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
            "When no condition pays, the rule predicts the mean, or a linear function, of its rows; remove them.",
            "Continue with the remaining rows until no condition pays: they are the default.",
        ),
        source="Janssen & Fuernkranz (2010)",
        see_also=("DecisionTreeRegressor", "ModelTreeRegressor", "RIPPERClassifier"),
        variants=({"consequent": "linear", "min_weight": 15.0}, {"price": 0.5, "max_conditions": 2}),
        search={"price": (0.5, 2.0, 8.0), "min_weight": (5.0, 20.0)},
    )

    @property
    def rules_(self) -> RuleList:
        """The rules with the means of the rows they cover."""
        return self.model_.rules

    def _fit(self, X: Table, y: Target, w: Weights) -> None:
        centred = y.astype(np.float64) - w @ y / w.sum()
        S = np.stack([w, w * centred, w * centred**2], axis=1)
        measure = VarianceGain(
            max(float(self.min_weight), 1e-9), float(self.price), RESIDUAL_TOLERANCE * float(S[:, 2].sum())
        )
        most = 2**31 - 1 if self.max_conditions is None else self.max_conditions
        limit = len(X) if self.max_rules is None else self.max_rules
        search, answers = ConditionSearch(X, category_columns(self)), RuleAnswers(self, X, y, w)
        with fit_steps(self, "rule", limit, X) as monitor:
            try:
                while len(answers.rules) < limit:
                    search.start_from(answers.left)
                    conditions = search.grow(measure, S, most)
                    if not conditions:
                        break
                    answers.add(conditions)
                    if monitor(answers.model(), float(S[answers.left, 2].sum())):
                        break
            except KeyboardInterrupt:
                warn_kept_best(self, len(answers.rules), "rule")
        self.model_ = answers.model()

    def predict(self, X: UserTable) -> Array:
        """The prediction of the first rule that holds for each row."""
        X = self._admit(X)
        return self.model_.answers(X).astype(X.dtype, copy=False)


class RuleAnswers:
    """Rules and their linear functions while they are being found."""

    def __init__(self, estimator: RuleRegressor, X: Table, y: Target, w: Weights) -> None:
        self.X, self.y, self.w = X, y.astype(np.float64), w
        self.schema, self.leaf = Schema.of(estimator), LEAF_MODELS[estimator.consequent]
        known = ~np.isnan(X)
        shares = w / w.sum()  # weighted means of huge numbers do not overflow
        share = shares @ known  # a column without any value is filled with zeros
        self.fill = shares @ np.where(known, X, 0.0) / np.where(share > 0, share, 1.0)
        self.Z = np.where(known, X, self.fill).astype(np.float64)
        self.Z[:, list(category_columns(estimator))] = 0.0  # codes of categories have no slope
        self.left, self.rules, self.surfaces = np.ones(len(X), dtype=bool), list[Rule](), list[tuple[Array, float]]()

    def add(self, conditions: list[Condition]) -> None:
        """Add a rule with these conditions; the rows it covers are removed."""
        rows = np.flatnonzero(self.left & (conditions_satisfied(self.X, conditions) == len(conditions)))
        self.left[rows] = False
        rule, surface = self._answer(tuple(merge_conditions(conditions).values()), rows)
        self.rules.append(rule)
        self.surfaces.append(surface)

    def model(self) -> RegressionRules:
        """The rules so far, and a default for the rows left."""
        default, surface = self._answer((), np.flatnonzero(self.left))
        coef, intercept = (np.array(part) for part in zip(*self.surfaces, surface, strict=True))
        return RegressionRules(RuleList(tuple(self.rules), default, self.schema), coef, intercept, self.fill)

    def _answer(self, conditions: tuple[Condition, ...], rows: Indices) -> tuple[Rule, tuple[Array, float]]:
        w, y = self.w[rows], self.y[rows]
        rule = Rule(conditions, float(w @ y / w.sum()), (), float(w.sum()), len(rows))
        return rule, self.leaf(self.Z[rows], y, w)
