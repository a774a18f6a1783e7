"""Cost matrices by name of class: what each decision costs for each true class, and what a rejection costs.

    true,    ham, spam, reject
    ham,       0,   10,      1
    spam,      1,    0,      1

One row per true class, one column per decision; a column `reject` prices the decision to leave the answer to someone
else. The decision for a row is the one of least expected cost under the class probabilities.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass, replace
from typing import Any, Self, cast

import numpy as np
from numpy.typing import ArrayLike

from fivefold.core.types import Codes, Matrix, Target, Vector
from fivefold.decision.minimum_risk import MinimumRiskClassifier, decide
from fivefold.evaluation.protocols import FittedClassifier, Model
from fivefold.evaluation.scores import COST, KNOWN_SCORES, CachedPredictions, Score

REJECT = "reject"  # the name of the column that prices rejections, and the answer for a rejected row


@dataclass(frozen=True)
class CostMatrix:
    """The cost of every decision for every true class.

    Parameters
    ----------
    classes
        names of the classes, in the order of their codes.
    costs
        (K, K): one row per true class, one column per decided class.
    reject
        cost of a rejection for each true class, or one number for all; None: every row is answered.

    Examples
    --------
    >>> costs = CostMatrix(("ham", "spam"), ((0, 10), (1, 0)), reject=0.5)
    >>> costs.decide([[0.99, 0.01], [0.5, 0.5], [0.02, 0.98]]), costs.decisions
    (array([0, 0, 1]), ('ham', 'spam', 'reject'))
    >>> costs.row_costs([[0.99, 0.01], [0.5, 0.5]], [0, 1])
    array([0., 1.])
    """

    classes: tuple[str, ...]
    costs: tuple[tuple[float, ...], ...]
    reject: tuple[float, ...] | float | None = None

    def __post_init__(self) -> None:
        K, table = len(self.classes), np.asarray(self.costs, dtype=float)
        if table.shape != (K, K):
            raise ValueError(f"costs of {K} classes are a table of {K} rows and {K} columns; got shape {table.shape}")
        if not np.isfinite(table).all():
            raise ValueError("every cost must be a finite number")
        for k, name in enumerate(self.classes):
            if table[k].min() < table[k, k]:
                cheaper = self.classes[int(table[k].argmin())]
                raise ValueError(
                    f"deciding {cheaper!r} when {name!r} is true costs less than the right decision, which must be the "
                    "cheapest of its row"
                )
        if (table == table.diagonal()[:, None]).all():
            raise ValueError("every decision costs the same for each class: there is nothing to decide")
        price = np.broadcast_to(np.nan if self.reject is None else np.asarray(self.reject, dtype=float), (K,))
        if self.reject is not None and not np.isfinite(price).all():
            raise ValueError("every cost of a rejection must be a finite number")
        if self.reject is not None and (price < table.diagonal()).any():
            k = int((price < table.diagonal()).argmax())
            raise ValueError(
                f"rejecting a row of {self.classes[k]!r} costs less than deciding rightly: every row would be rejected"
            )

    @classmethod
    def read(cls, text: Sequence[Sequence[str]], classes: Sequence[str]) -> Self:
        """The matrix from the cells of a file, with a header; `classes` in the order of their codes."""
        if len(text) < 2 or len(text[0]) < 3:
            raise ValueError("a header with the decisions, then one row per true class are needed")
        head, *rows = ([cell.strip() for cell in row] for row in text)
        decisions = head[1:]
        priced = REJECT in decisions and REJECT not in classes
        _check_names(decisions, [*classes, *([REJECT] if priced else [])], "columns")
        _check_names([row[0] for row in rows], list(classes), "rows")
        cells = {(row[0], name): _number(row, i + 1, name) for row in rows for i, name in enumerate(decisions)}
        costs = tuple(tuple(cells[true, decided] for decided in classes) for true in classes)
        return cls(tuple(classes), costs, tuple(cells[true, REJECT] for true in classes) if priced else None)

    @classmethod
    def from_json(cls, plain: Mapping[str, Any]) -> Self:
        """The matrix from plain values."""
        reject = plain.get("reject")
        priced = tuple(reject) if isinstance(reject, list | tuple) else reject
        return cls(tuple(plain["classes"]), tuple(map(tuple, plain["costs"])), priced)

    def to_json(self) -> dict[str, Any]:
        """The matrix as plain values."""
        reject = list(self.reject) if isinstance(self.reject, tuple) else self.reject
        return {"classes": list(self.classes), "costs": [list(row) for row in self.costs], "reject": reject}

    @property
    def losses(self) -> Matrix:
        """(A, K): one row per decision, one column per true class, as a loss matrix has them."""
        table = np.asarray(self.costs, dtype=float).T
        if self.reject is None:
            return table
        return np.vstack([table, np.broadcast_to(np.asarray(self.reject, dtype=float), len(self.classes))])

    @property
    def decisions(self) -> tuple[str, ...]:
        """Names of the rows of `losses`."""
        return (*self.classes, *([] if self.reject is None else [REJECT]))

    @property
    def uniform(self) -> bool:
        """Do all wrong decisions cost one and all right ones nothing, without rejections?"""
        return self.reject is None and np.array_equal(np.asarray(self.costs), 1.0 - np.eye(len(self.classes)))

    def decide(self, P: ArrayLike) -> Codes:
        """The index of the decision of least expected cost; the number of classes stands for a rejection."""
        return decide(np.asarray(P, dtype=float), self.losses)

    def row_costs(self, P: ArrayLike, codes: ArrayLike) -> Vector:
        """What the decision on each row costs, given the codes of the true classes."""
        return self.losses[self.decide(P), np.asarray(codes)]

    def constant_cost(self, shares: ArrayLike) -> float:
        """The expected cost of the best decision that is the same for all rows, from the shares of the classes."""
        return float((self.losses @ np.asarray(shares, dtype=float)).min())

    @property
    def score(self) -> Score:
        """The mean cost of decisions, as a score of classifiers whose classes are codes 0, 1, ..."""
        losses = self.losses
        return replace(
            KNOWN_SCORES[COST],
            low=float(losses.min()),
            high=float(losses.max()),
            function=self.mean_cost,
            row_losses=self.costs_of,
        )

    def costs_of(self, answers: CachedPredictions, y: Target) -> Vector:
        """What the decision on each row costs; y holds codes."""
        return self.row_costs(answers.proba_for(np.arange(len(self.classes))), y)

    def mean_cost(self, answers: CachedPredictions, y: Target) -> float:
        """The mean of `costs_of`."""
        return float(self.costs_of(answers, y).mean())

    def deciding(self, fitted: Model) -> MinimumRiskClassifier:
        """A fitted classifier of these classes, made to decide by least expected cost."""
        found = MinimumRiskClassifier(
            fitted, self.losses, actions=None if self.reject is None else list(self.decisions)
        )
        found.estimator_, found.classes_ = fitted, cast(FittedClassifier, fitted).classes_
        if tuple(map(str, found.classes_)) != self.classes:
            raise ValueError(f"the costs are of {', '.join(self.classes)}; the model knows {found.classes_.tolist()}")
        return found


def _check_names(found: Sequence[str], wanted: Sequence[str], what: str) -> None:
    for name in found:
        if name not in wanted:
            raise ValueError(f"{name!r} among the {what} is no class of the target; it has {', '.join(wanted)}")
        if found.count(name) > 1:
            raise ValueError(f"{name!r} stands twice among the {what}")
    if missing := [name for name in wanted if name not in found]:
        raise ValueError(f"the {what} lack {', '.join(map(repr, missing))}; every class needs one")


def _number(row: Sequence[str], at: int, name: str) -> float:
    cell = row[at] if at < len(row) else ""
    try:
        value = float(cell)
    except ValueError:
        raise ValueError(f"the cost of {name!r} for {row[0]!r} must be a number; got {cell!r}") from None
    if not np.isfinite(value):
        raise ValueError(f"the cost of {name!r} for {row[0]!r} must be a finite number; got {cell!r}")
    return value
