"""The penalised loss of all pairs, as a function of the coefficients of a linear score.

    1/2 |x|^2 + C sum over pairs (u, v) of  w_u w_v loss(s_u - s_v),      s = X x

An evaluation is a product with X, sums over pairs of scores, and a product with X transposed: differences of rows are
never written out.
"""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np

from fivefold.core.types import Array
from fivefold.optim.design import Design
from fivefold.optim.losses.base import Loss
from fivefold.optim.objective import SmoothObjective
from fivefold.rank.pairwise.pair_loops import PairHinge, pair_terms
from fivefold.rank.pairwise.ranking_pairs import Queries


@dataclass(frozen=True)
class PairRisk(SmoothObjective):
    """Rows of a design without intercept, the pairs of their queries, and the strength C of the loss."""

    loss: PairHinge | Loss
    design: Design
    queries: Queries
    C: float = 1.0

    def value_and_gradient(self, x: Array) -> tuple[float, Array]:
        order = self.queries.order
        value, slope = pair_terms(self.loss, self.queries, self.design.predictor(x)[order])
        r = np.empty(len(slope))
        r[order] = slope
        return self.C * value + 0.5 * float(x @ x), self.C * self.design.transpose(r) + x
