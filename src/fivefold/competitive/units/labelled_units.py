"""Units with labels: a row gets the class of the nearest one, after a linear map if there is one."""

from __future__ import annotations

from dataclasses import KW_ONLY, dataclass
from typing import Literal

import numpy as np
from numpy.typing import DTypeLike

from fivefold.core.admission.takes import Takes
from fivefold.core.estimators.base import learned, learned_in_dtype
from fivefold.core.estimators.params import Count, Seed
from fivefold.core.estimators.supervised_learning import Classifier
from fivefold.core.types import Codes, Doubles, Labels, Matrix, Rng, Table
from fivefold.spatial.centres.seeding import distinct_seeds
from fivefold.spatial.distances import squared_distances
from fivefold.spatial.labelled_rows import LabelledRows
from fivefold.spatial.points import Points


@dataclass(frozen=True)
class LabelledUnits:
    """Units, the class of each, and the map after which distances are taken."""

    units: Matrix  # (P, d)
    owners: Codes  # (P,) positions in classes_
    n_iter: int
    value: float
    dtype: DTypeLike
    omega: Doubles | None = None  # (m, d)

    def class_distances(self, X: Matrix, n_classes: int) -> Doubles:
        """The squared distance of each row to the nearest unit of each class (n, K)."""
        Z, M = np.asarray(X, np.float64), np.asarray(self.units, np.float64)
        if self.omega is not None:
            Z, M = Z @ self.omega.T, M @ self.omega.T
        D = squared_distances(Z, M)
        return np.stack([D[:, self.owners == k].min(axis=1) for k in range(n_classes)], axis=1)


class UnitClassifier(Classifier):
    """Base of classifiers by the nearest of some units per class.

    Parameters
    ----------
    n_units
        number of units of each class; a class has no more units than distinct rows.
    init
        "mean" starts from the mean of the class, a little apart if there are several units, "random" from rows of it.
    max_iter
        maximum number of passes over the rows.
    random_state
        seed of the start and, where rows are taken one by one, of their order.

    Attributes
    ----------
    prototypes_
        the units (P, d), those of the first class first.
    prototype_labels_
        the class of each unit.
    n_iter_
        steps made.
    """

    n_units: Count = 1
    _: KW_ONLY
    init: Literal["mean", "random"] = "random"
    max_iter: Count = 50
    random_state: Seed = None

    prototypes_ = learned_in_dtype("units")
    n_iter_ = learned("n_iter")
    takes = Takes(one_class=False)

    @property
    def prototype_labels_(self) -> Labels:
        """The class of each unit."""
        return self.classes_[self.model_.owners]

    def _start(self, rows: LabelledRows, rng: Rng) -> tuple[Doubles, Codes]:
        """The units (P, d) before the first step, and the class of each."""
        units, owners = [], []
        for k in range(len(self.classes_)):
            points = Points.of(np.ascontiguousarray(rows.X[rows.y == k], np.float64), rows.w[rows.y == k])
            count = min(self.n_units, points.n)
            found = points.rows_as_given(distinct_seeds(points, count, rng))
            if self.init == "mean":
                found = points.origin + (found - points.origin) / (10 if count > 1 else np.inf)
            units.append(found)
            owners.append(np.full(count, k))
        return np.concatenate(units), np.concatenate(owners)

    def _scores(self, X: Table) -> Matrix:
        return -self.model_.class_distances(X, len(self.classes_)).astype(X.dtype, copy=False)
