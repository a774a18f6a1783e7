"""What learned metrics share: D(x, z) = |L x - L z|^2 = (x - z)' M (x - z) with M = L' L, and how L starts."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import KW_ONLY, dataclass
from typing import Any, Literal, Self

import numpy as np
from numpy.typing import ArrayLike, DTypeLike

from fivefold.core._sklearn import ClassNamePrefixFeaturesOutMixin
from fivefold.core.admission.takes import Takes
from fivefold.core.console.fit_progress import fit_steps, warn_kept_best
from fivefold.core.estimators.base import learned, learned_in_dtype
from fivefold.core.estimators.params import Count, NonNegative, Seed
from fivefold.core.estimators.supervised_learning import LabelTarget
from fivefold.core.estimators.transformer_mixins import FloatTransformerMixin
from fivefold.core.numerics.eigenpairs import eigen, fix_signs
from fivefold.core.random_state import check_random_state
from fivefold.core.types import Array, Doubles, Matrix, Table, UserTable, UserTarget, UserWeights, Vector
from fivefold.neighbors.learned_metrics.pair_objective import PairObjective
from fivefold.optim.minimise import minimise
from fivefold.optim.objective import Minimum, Monitor
from fivefold.optim.smooth.lbfgs import LBFGS
from fivefold.spatial.labelled_rows import LabelledRows

Init = Literal["auto", "pca", "lda", "identity", "random"] | np.ndarray


@dataclass(frozen=True)
class LinearMetric:
    """Rows are near if L x are near."""

    components: Matrix  # (k, d)
    objective: float
    n_steps: int
    dtype: DTypeLike


class MetricLearner(ClassNamePrefixFeaturesOutMixin, FloatTransformerMixin, LabelTarget):
    """A linear map of the rows after which near rows have the same label.

    Parameters
    ----------
    n_components
        number of columns after the map; by default that of X.
    init
        where the map starts: "pca", "lda", "identity", "random", or an array (n_components, n_features). "auto" takes
        "lda" where n_components is below the number of classes, "pca" where it is below that of columns, else
        "identity".
    warm_start
        whether a second call of fit starts where the first one ended.
    max_iter
        number of steps at most.
    tol
        the search ends where no derivative, nor the change of the objective as a share of it, is larger.
    random_state
        decides the start "random".

    Attributes
    ----------
    components_
        the map (n_components, n_features).
    objective_
        value of the objective at the end.
    n_iter_
        number of steps.
    """

    n_components: Count | None = None
    _: KW_ONLY
    init: Init = "auto"
    warm_start: bool = False
    max_iter: Count = 50
    tol: NonNegative = 1e-5
    random_state: Seed = None

    takes = Takes(one_class=True)

    components_ = learned_in_dtype("components")
    objective_ = learned("objective")
    n_iter_ = learned("n_steps")

    def transform(self, X: UserTable) -> Matrix:
        """The rows after the map (n, n_components)."""
        X = self._admit(X)
        return X @ self.components_.T

    def get_mahalanobis_matrix(self) -> Matrix:
        """M = L' L (d, d): squared distances are (x - z)' M (x - z)."""
        L = self.components_
        return L.T @ L

    def get_metric(self) -> Callable[[ArrayLike, ArrayLike], float]:
        """The distance of two rows, as a function: for any method that takes one as its metric."""
        L = np.asarray(self.components_, dtype=np.float64)

        def distance(x: ArrayLike, z: ArrayLike) -> float:
            return float(np.linalg.norm(L @ (np.asarray(x, dtype=np.float64) - np.asarray(z, dtype=np.float64))))

        return distance

    @property
    def _n_features_out(self) -> int:
        return len(self.model_.components)

    def _check_width(self, d: int) -> None:
        """Refuse a number of components, or a start, that does not suit d columns."""
        name, k = type(self).__name__, self.n_components
        if k is not None and k > d:
            raise ValueError(
                f"{name}: the preferred dimensionality of the projected space `n_components` ({k}) cannot be greater "
                f"than the given data dimensionality ({d})!"
            )
        if isinstance(self.init, np.ndarray):
            start = np.asarray(self.init)
            if start.ndim != 2 or start.shape[1] != d:
                raise ValueError(
                    f"{name}: the input dimensionality ({start.shape[-1]}) of the given linear transformation `init` "
                    f"must match the dimensionality of the given inputs `X` ({d})."
                )
            if start.shape[0] > d:
                raise ValueError(
                    f"{name}: the output dimensionality ({start.shape[0]}) of the given linear transformation `init` "
                    f"cannot be greater than its input dimensionality ({d})."
                )
            if k is not None and k != start.shape[0]:
                raise ValueError(
                    f"{name}: the preferred dimensionality of the projected space `n_components` ({k}) does not match "
                    f"the output dimensionality of the given linear transformation `init` ({start.shape[0]})!"
                )

    def _fit_admitted(self, X: UserTable, y: UserTarget, sample_weight: UserWeights, **extra: Any) -> Self:
        earlier = self.model_ if self.warm_start and self.__sklearn_is_fitted__() else None
        return super()._fit_admitted(X, y, sample_weight, earlier=earlier, **extra)

    def _start(self, rows: LabelledRows, earlier: LinearMetric | None) -> Doubles:
        """The map (k, d) at which the search starts."""
        d = rows.X.shape[1]
        if earlier is not None:
            if earlier.components.shape[1] != d:
                raise ValueError(
                    f"{type(self).__name__}: the new inputs dimensionality ({d}) does not match the input "
                    f"dimensionality of the previously learned transformation ({earlier.components.shape[1]})."
                )
            return np.array(earlier.components, dtype=np.float64)
        if isinstance(self.init, np.ndarray):
            return np.array(self.init, dtype=np.float64)
        k = self.n_components or d
        init = self.init
        if init == "auto":
            init = "lda" if k <= min(d, len(self.classes_) - 1) else "pca" if k < min(rows.X.shape) else "identity"
        if init == "random":
            return check_random_state(self.random_state).standard_normal((k, d))
        return np.eye(k, d) if init == "identity" else _principal_rows(rows, k, by_class=init == "lda")

    def _descend(
        self, objective: PairObjective, start: Doubles, tol: float, X: Table, after_step: Monitor | None = None
    ) -> Minimum:
        """Minimise from `start`; two steps in turn that change the objective by no more than a share of tol end it."""
        d, last, slow = start.shape[1], np.inf, 0
        with fit_steps(self, "step", self.max_iter, X) as monitor:

            def report(x: Array, value: float) -> bool:
                nonlocal last, slow
                slow = slow + 1 if last - value <= tol * max(abs(value), 1.0) else 0
                last = value
                if after_step is not None:
                    after_step(x, value)
                return monitor(lambda: LinearMetric(x.reshape(-1, d), value, 0, X.dtype), value) or slow > 1

            found = minimise(objective, start.ravel(), LBFGS(), tol=tol, max_iter=self.max_iter, monitor=report)
        if found.reason == "interrupted":
            warn_kept_best(self, found.steps, "step")
        return found


def _principal_rows(rows: LabelledRows, k: int, *, by_class: bool) -> Doubles:
    """The k principal axes of the rows, or of the class means beside the spread within classes (k, d)."""
    Z, y, share = rows.X.astype(np.float64), rows.y, rows.w / rows.w.sum()
    Z -= share @ Z
    if not by_class:
        return np.asarray(fix_signs(eigen((Z * share[:, None]).T @ Z)[1][:, :k].T))
    K = int(y.max()) + 1
    members = np.eye(K)[y] * share[:, None]
    priors: Vector = members.sum(axis=0)
    means = (members.T @ Z) / priors[:, None]
    residual = Z - means[y]
    values, V = eigen((residual * share[:, None]).T @ residual)
    kept = values > 1e-12 * max(float(values[0]), np.finfo(float).tiny)
    whitening = V[:, kept] / np.sqrt(values[kept])  # (d, r)
    centred = (means @ whitening) * np.sqrt(priors)[:, None]
    axes = eigen(centred.T @ centred)[1][:, :k]
    found = np.asarray(fix_signs((whitening @ axes).T))
    return np.pad(found, ((0, k - len(found)), (0, 0)))
