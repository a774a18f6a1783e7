"""Learning vector quantisation: units with labels that rows of their class attract and others repel.

    LVQ1     nearest unit m:  m <- m + eta (x - m) if it has the class of x,  m - eta (x - m) if not
    LVQ2.1   the two nearest units, one of the class of x and one of another, if x is between them: the nearest
             distance over the next above (1 - window) / (1 + window); the right one comes, the wrong one goes
    LVQ3     as LVQ2.1; and if both have the class of x, both come, by epsilon eta

eta falls from pass to pass. LVQ2.1 lets units drift away if it runs for long: start it from LVQ1. Kohonen (1990).
"""

from __future__ import annotations

from dataclasses import KW_ONLY
from typing import Literal

import numpy as np

from fivefold.competitive.units.competition_loops import labelled_pass
from fivefold.competitive.units.labelled_units import LabelledUnits, UnitClassifier
from fivefold.competitive.units.row_passes import falling, run_passes
from fivefold.core.estimators.params import Fraction, OpenFraction
from fivefold.core.random_state import check_random_state
from fivefold.core.registry import Card
from fivefold.core.types import Doubles, Table, Target, Weights
from fivefold.spatial.labelled_rows import LabelledRows

VARIANTS = {"lvq1": 1, "lvq2.1": 2, "lvq3": 3}
LAST_RATE_SHARE = 0.01  # of the rate of the first pass, in the last one


class LVQClassifier(UnitClassifier):
    """Learning vector quantisation: LVQ1, LVQ2.1 or LVQ3.

    Parameters
    ----------
    variant
        "lvq1", "lvq2.1" or "lvq3"; the latter two are preceded by as many passes of LVQ1.
    learning_rate
        how far a unit moves in the first pass; it falls to a hundredth of that.
    window
        relative width of the window around the boundary of two units in which LVQ2.1 and LVQ3 move them.
    epsilon
        share of the rate by which LVQ3 moves two units of the row's class.

    Examples
    --------
    >>> from fivefold.competitive import LVQClassifier
    >>> X, y = [[0.0], [1.0], [2.0], [7.0], [8.0], [9.0]], ["low"] * 3 + ["high"] * 3
    >>> LVQClassifier(random_state=0).fit(X, y).predict([[1.5], [8.5]]).tolist()
    ['low', 'high']
    """

    _: KW_ONLY
    variant: Literal["lvq1", "lvq2.1", "lvq3"] = "lvq1"
    learning_rate: OpenFraction = 0.1
    window: OpenFraction = 0.2
    epsilon: Fraction = 0.2

    card = Card(
        applications=("classification",),
        use="A few prototypes that can be read, fast predictions, classes of several clumps. Scale the columns first; "
        "GLVQ minimises a cost and needs no rate, GMLVQ learns which columns matter.",
        steps=(
            "Put units of each class on rows of it.",
            "Take the rows in random order and find the nearest unit.",
            "Move it towards the row if it has its class, away from it otherwise.",
            "Lower the rate from pass to pass.",
        ),
        source="Kohonen (1990)",
        see_also=("GLVQ", "GMLVQ", "NearestCentroid"),
        variants=({"n_units": 2, "variant": "lvq2.1"}, {"n_units": 3, "variant": "lvq3", "init": "mean"}),
        search={"n_units": (1, 3, 6)},
    )

    def _fit(self, X: Table, y: Target, w: Weights) -> None:
        rows, rng = LabelledRows.of(X, y, w), check_random_state(self.random_state)
        start, owners = self._start(rows, rng)
        Z, origin = np.ascontiguousarray(rows.X, np.float64), start.mean(axis=0)
        Z = Z - origin
        phases = ["lvq1"] if self.variant == "lvq1" else ["lvq1", self.variant]

        def step(t: int, M: Doubles) -> tuple[Doubles, float, bool]:
            phase, at = divmod(t, self.max_iter)
            rate, M = falling(self.learning_rate, LAST_RATE_SHARE * self.learning_rate, at, self.max_iter), M.copy()
            ratio, code = (1 - self.window) / (1 + self.window), VARIANTS[phases[phase]]
            order = rng.permutation(len(Z))
            return M, float(labelled_pass(Z, rows.y, rows.w, order, M, owners, rate, code, ratio, self.epsilon)), False

        def model_of(M: Doubles, value: float, done: int) -> LabelledUnits:
            return LabelledUnits(M + origin, owners, done, value, X.dtype)

        count = len(phases) * self.max_iter
        self.model_ = model_of(*run_passes(self, X, count, start - origin, step, model_of))
