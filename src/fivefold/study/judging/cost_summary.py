"""The decisions of the winner on rows that it did not see, and what they cost, in a study with a cost matrix."""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np

from fivefold.core.types import Matrix
from fivefold.decision.cost_matrix import CostMatrix
from fivefold.study.formatting import decimals_for, format_number
from fivefold.study.judging.results import Results


@dataclass(frozen=True)
class DecisionCosts:
    """The decisions of the winner on unseen rows, over all splits."""

    learner: str
    matrix: CostMatrix
    counts: Matrix  # (K, A): rows of each true class by decision
    cost: float  # mean per row
    most_probable_cost: float  # the same if the most probable class were answered
    constant_cost: float  # the same for the best decision that ignores the columns

    @property
    def rejected(self) -> float:
        """The share of rows that are rejected."""
        return 0.0 if self.matrix.reject is None else float(self.counts[:, -1].sum() / self.counts.sum())


def decision_costs(results: Results) -> DecisionCosts | None:
    """The decisions of the winner; None without a cost matrix, or if its probabilities were not kept."""
    plan = results.plan
    matrix, codes = plan.cost_matrix, plan.codes
    if matrix is None or codes is None or not results.judged:
        return None
    best = results.judged[0]
    folds = [fold for fold in best.outcome.folds if fold.proba is not None and len(fold.test)]
    if not folds:
        return None
    P = np.concatenate([fold.proba for fold in folds if fold.proba is not None])
    truth = np.concatenate([codes[fold.test] for fold in folds])
    losses, decided = matrix.losses, matrix.decide(P)
    K, A = len(matrix.classes), len(losses)
    counts = np.bincount(truth * A + decided, minlength=K * A).reshape(K, A).astype(float)
    return DecisionCosts(
        learner=best.name,
        matrix=matrix,
        counts=counts,
        cost=float(losses[decided, truth].mean()),
        most_probable_cost=float(losses[P.argmax(axis=1), truth].mean()),
        constant_cost=matrix.constant_cost(np.bincount(truth, minlength=K) / len(truth)),
    )


def cost_sentences(results: Results) -> list[str]:
    """What the decisions cost, in words; nothing without a cost matrix."""
    found = decision_costs(results)
    if found is None:
        return []
    digits = max(decimals_for(found.cost), decimals_for(found.most_probable_cost))
    cost, usual, constant = (
        format_number(value, digits) for value in (found.cost, found.most_probable_cost, found.constant_cost)
    )
    said = [
        f"On unseen rows the decisions of least expected cost come to {cost} per row; the most probable class "
        f"would come to {usual}, and the best decision that ignores the columns to {constant}."
    ]
    if found.matrix.reject is not None:
        said.append(f"{found.rejected:.1%} of the rows are rejected.")
    if results.model_rows is not None:
        said.append("The model file answers with these decisions; its probabilities are those of the classes.")
    if results.certificates is not None or (results.holdout is not None and results.holdout.certificate is not None):
        said.append("The certified share of wrong classes is that of the most probable class.")
    return said
