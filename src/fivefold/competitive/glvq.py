"""Generalised learning vector quantisation: units placed so that rows are nearer to those of their class than others.

    min over the units of  sum_i w_i f(mu_i),     mu = (d+ - d-) / (d+ + d-)

d+ and d- are squared distances to the nearest unit of the row's class and of another class; f is the identity or a
sigmoid, whose slope makes the cost more like the number of errors. Found by L-BFGS. Sato & Yamada (1996).
"""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import KW_ONLY
from typing import Any, Literal

import numpy as np

from fivefold.competitive.units.glvq_cost import RelativeDistances
from fivefold.competitive.units.labelled_units import LabelledUnits, UnitClassifier
from fivefold.core.console.fit_progress import fit_steps, warn_kept_best
from fivefold.core.estimators.base import learned
from fivefold.core.estimators.params import Count, NonNegative
from fivefold.core.random_state import check_random_state
from fivefold.core.registry import Card
from fivefold.core.storage.memory_limits import refuse_table
from fivefold.core.types import Array, Doubles, Table, Target, Weights
from fivefold.optim.minimise import minimise
from fivefold.optim.smooth.lbfgs import LBFGS
from fivefold.spatial.labelled_rows import LabelledRows

ARRAYS_OF_DISTANCES = 5.0  # of rows and units, which the cost and its derivatives take


class CostMinimiser(UnitClassifier):
    """Base of classifiers whose units minimise the cost of relative distances.

    Parameters
    ----------
    max_iter
        maximum number of steps of L-BFGS.
    class_weight
        weights of the classes: None, "balanced" or a dictionary by label.
    slope
        of the sigmoid of relative distances; 0 takes them as they are.
    tol
        the search ends where no derivative of the mean cost is larger.

    Attributes
    ----------
    cost_
        the mean cost of a row.
    """

    _: KW_ONLY
    max_iter: Count = 200
    class_weight: Mapping[Any, float] | Literal["balanced"] | None = None
    slope: NonNegative = 2.0
    tol: NonNegative = 1e-5

    cost_ = learned("value")

    def _start_map(self, d: int) -> Doubles:
        """The map (m, d) to start from; without rows if none is learned."""
        return np.empty((0, d))

    def _fit(self, X: Table, y: Target, w: Weights) -> None:
        rows = LabelledRows.of(X, y, w)
        start, owners = self._start(rows, check_random_state(self.random_state))
        cure = "Ask for fewer units, or fit a sample of the rows"
        refuse_table(type(self).__name__, len(rows.X), len(owners), ARRAYS_OF_DISTANCES, cure)
        Z = np.ascontiguousarray(rows.X, np.float64)
        origin = rows.w @ Z / rows.w.sum()
        scale = np.sqrt(rows.w @ np.square(Z - origin).sum(axis=1) / rows.w.sum()) or 1.0
        W = self._start_map(X.shape[1])
        objective = RelativeDistances((Z - origin) / scale, rows.y, rows.w, owners, self.slope, len(W))
        x0 = np.concatenate([((start - origin) / scale).ravel(), W.ravel()])

        def model_of(x: Array, value: float, steps: int) -> LabelledUnits:
            units, omega = objective.split(x)
            if omega is not None:
                omega = omega / np.sqrt(np.square(omega).sum())
            return LabelledUnits(units * scale + origin, owners, steps, value, X.dtype, omega)

        with fit_steps(self, "step", self.max_iter, X) as monitor:
            found = minimise(
                objective, x0, LBFGS(), tol=self.tol, max_iter=self.max_iter,
                monitor=lambda x, value: monitor(lambda: model_of(x, value, 0), value),
            )  # fmt: skip
        if found.reason == "interrupted":
            warn_kept_best(self, found.steps, "step")
        self.model_ = model_of(found.x, found.value, found.steps)


class GLVQ(CostMinimiser):
    """Generalised learning vector quantisation.

    Examples
    --------
    >>> from fivefold.competitive import GLVQ
    >>> X, y = [[0.0], [1.0], [2.0], [7.0], [8.0], [9.0]], ["low"] * 3 + ["high"] * 3
    >>> model = GLVQ(random_state=0).fit(X, y)
    >>> model.predict([[1.5], [8.5]]).tolist(), model.prototype_labels_.tolist()
    (['low', 'high'], ['high', 'low'])
    """

    card = Card(
        applications=("classification",),
        use="As LVQClassifier, with a cost that is minimised and no rate to choose. Scale the columns first, or let "
        "GMLVQ find their scales.",
        steps=(
            "Put units of each class on rows of it.",
            "For each row compare the nearest unit of its class with the nearest of another.",
            "Move all units downhill on the sum of these comparisons.",
        ),
        source="Sato & Yamada (1996)",
        see_also=("LVQClassifier", "GMLVQ"),
        variants=({"n_units": 2, "slope": 0.0, "init": "mean"},),
        search={"n_units": (1, 3, 6)},
    )
