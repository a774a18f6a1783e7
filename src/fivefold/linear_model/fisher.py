"""Fisher's linear discriminant: the directions along which classes lie farthest apart for their spread.

    J(w) = w' S_B w / w' S_W w,        two classes:  w ~ S_W^-1 (m_2 - m_1)

S_W is the sum of the scatters within classes and S_B the scatter of the class means. K classes have K - 1 directions,
solutions of S_B w = lambda S_W w. The difference of the means alone is the same with S_W replaced by the identity; it
suffers where classes are long and slanted.

Projected rows are classified by Bayes' rule with a Gaussian for each class: on a line the log odds are a quadratic, so
there are none, one or two thresholds. Or by the midpoint of the projected means; or by the threshold with the fewest
errors.

Fisher (1936); Rao (1948).
"""

from __future__ import annotations

from dataclasses import KW_ONLY, dataclass
from typing import Literal

import numpy as np
from scipy.linalg import eigh

from fivefold.core.admission.takes import Takes
from fivefold.core.estimators.base import learned
from fivefold.core.estimators.params import Count, NonNegative
from fivefold.core.estimators.supervised_learning import Classifier
from fivefold.core.estimators.transformer_mixins import ClassAxesMixin
from fivefold.core.numerics.eigenpairs import fix_signs
from fivefold.core.numerics.products import affine
from fivefold.core.numerics.table_moments import weighted_moments
from fivefold.core.registry import Card
from fivefold.core.types import Array, Matrix, Table, Target, UserTable, Vector, Weights

VARIANCE_FLOOR = 1e-12  # share of the mean variance that is added to every variance, so that none is zero


@dataclass(frozen=True)
class FisherProjection:
    """Directions, the classes along them, and where the decision changes."""

    centre: Array  # (d,)
    axes: Array  # (d, q)
    separation: Array  # (q,) J of each
    means: Array  # (K, q) of the projected classes
    precisions: Array  # (K, q, q)
    levels: Array  # (K,) log prior - 1/2 log determinant
    thresholds: Array  # two classes: where the decision changes, ascending


class FisherDiscriminant(ClassAxesMixin, Classifier):
    """Projection that separates classes best for their spread, and a classifier on the projected values.

    Parameters
    ----------
    direction
        "fisher" weighs by the spread within classes; "means" takes the differences of the class means alone.
    threshold
        "bayes": a Gaussian for each class along the directions, with the shares of the classes as priors; "midpoint":
        the nearest projected mean; "min_error": two classes only, the point with the fewest errors on the rows learned
        from.
    shrinkage
        added to S_W as this multiple of its mean diagonal; needed if S_W is singular and the pseudo-inverse
        is not wanted.
    n_components
        number of directions; at most, and by default, min(columns, classes - 1).

    Attributes
    ----------
    scalings_
        the directions, of unit length, one per column; two classes: from the first towards the second.
    separation_
        J of each direction.
    means_
        the class means along the directions.
    thresholds_
        two classes: where on the line the decision changes: none, one or two values.
    classes_
        the labels.

    Examples
    --------
    >>> from fivefold.linear_model import FisherDiscriminant
    >>> X = [[0.0, 0.0], [1.0, 1.0], [1.0, 0.0], [3.0, 3.0], [4.0, 4.0], [4.0, 3.0]]
    >>> model = FisherDiscriminant().fit(X, [0, 0, 0, 1, 1, 1])
    >>> model.scalings_.ravel().round(4), model.predict([[2.0, 0.5]])
    (array([0.7071, 0.7071]), array([0]))
    """

    _: KW_ONLY
    direction: Literal["fisher", "means"] = "fisher"
    threshold: Literal["bayes", "midpoint", "min_error"] = "bayes"
    shrinkage: NonNegative = 0.0
    n_components: Count | None = None

    takes = Takes(one_class=False)
    card = Card(
        applications=("classification", "dimension reduction", "visualization"),
        use="The one direction that shows two classes best, and thresholds on it. LinearDiscriminantAnalysis gives "
        "probabilities in all coordinates under one covariance.",
        steps=(
            "Take the class means and the scatter within classes.",
            "Solve for the directions that spread the means most for the scatter.",
            "Project; fit a Gaussian to each class there, and decide by Bayes' rule.",
        ),
        source="Fisher (1936); Rao (1948)",
        see_also=("LinearDiscriminantAnalysis", "LeastSquaresClassifier"),
        variants=({"threshold": "midpoint"}, {"direction": "means"}, {"shrinkage": 0.1}),
    )

    scalings_ = learned("axes")
    separation_ = learned("separation")
    means_ = learned("means")
    thresholds_ = learned("thresholds")

    def _fit(self, X: Table, y: Target, w: Weights) -> None:
        K, d = len(self.classes_), X.shape[1]
        maximum = self._max_components(d)
        if self.threshold == "min_error" and K > 2:
            raise ValueError(f"FisherDiscriminant: threshold='min_error' is for two classes; y holds {K} classes")
        classes = [weighted_moments(X[y == k], w[y == k]) for k in range(K)]
        sizes, means = np.array([m.weight for m in classes]), np.array([m.mean for m in classes])
        within = np.asarray(sum(m.scatter for m in classes))
        within[np.diag_indices(d)] += self.shrinkage * within.trace() / d
        centre = sizes @ means / sizes.sum()
        axes = _axes(means - centre, sizes, within if self.direction == "fisher" else np.eye(d))
        axes = axes[:, : self.n_components or maximum]
        if K == 2:
            axes = axes * np.sign((means[1] - means[0]) @ axes + 1e-300)
        spread = np.einsum("ij,ik,kj->j", axes, within, axes)
        apart = ((means - centre) @ axes) ** 2
        with np.errstate(over="ignore"):  # infinite where no class has any spread
            separation = sizes @ apart / np.maximum(spread, np.finfo(float).tiny)
        at = (means - centre) @ axes  # (K, q)
        covariances = np.array([axes.T @ m.scatter @ axes / m.weight for m in classes])
        pooled = np.einsum("k,kij->ij", sizes, covariances) / sizes.sum()
        precisions, levels = self._gaussians(covariances, pooled, sizes / sizes.sum())
        thresholds: Vector = np.empty(0)
        if K == 2 and axes.shape[1] == 1:
            thresholds = _crossings(at[:, 0], precisions[:, 0, 0], levels)
            if self.threshold == "min_error":
                cut = _fewest_errors(((X - centre) @ axes)[:, 0], y, w)
                # with equal spread the odds change at the cut if the levels differ by this
                thresholds, precisions = np.array([cut]), np.ones((2, 1, 1))
                levels = np.array([0.0, (at.mean() - cut) * np.ptp(at)])
        self.model_ = FisherProjection(
            centre=centre,
            axes=axes.astype(X.dtype),
            separation=separation,
            means=at,
            precisions=precisions,
            levels=levels,
            thresholds=thresholds,
        )

    def _gaussians(self, covariances: Array, pooled: Array, priors: Array) -> tuple[Array, Array]:
        """Precisions and levels of the classes along the directions: their own, or for the midpoint one for all."""
        q = pooled.shape[0]
        floor = VARIANCE_FLOOR * (pooled.trace() / q) + 1e-200
        if self.threshold == "midpoint":
            covariances, priors = np.broadcast_to(pooled, covariances.shape), np.ones_like(priors)
        covariances = covariances + floor * np.eye(q)
        return np.linalg.inv(covariances), np.log(priors) - 0.5 * np.linalg.slogdet(covariances)[1]

    def transform(self, X: UserTable) -> Matrix:
        """Coordinates along the directions, from the mean of the rows learned from."""
        X = self._admit(X)
        return affine(X, self.model_.centre, self.model_.axes)

    def decision_function(self, X: UserTable) -> Array:
        """Log odds of the second class, or the discriminants (n, K)."""
        X = self._admit(X)
        scores = self._scores(X)
        return scores[:, 1] - scores[:, 0] if scores.shape[1] == 2 else scores

    def _scores(self, X: Table) -> Matrix:
        model = self.model_
        Z = affine(X, model.centre, model.axes)[:, None] - model.means  # (n, K, q)
        return model.levels - 0.5 * np.einsum("nki,kij,nkj->nk", Z, model.precisions, Z)

    @property
    def _n_features_out(self) -> int:
        return int(self.model_.axes.shape[1])


def _axes(M: Matrix, sizes: Vector, within: Matrix) -> Matrix:
    """Directions of unit length, best first, from centred class means (K, d)."""
    d = len(within)
    size = np.sqrt(np.maximum(within.diagonal(), np.finfo(float).tiny))
    size = np.where(within.diagonal() > 0, size, 1.0)
    C, N = within / size / size[:, None], M / size
    values, V = eigh(C)
    real = values > 1e-10 * values.max(initial=0.0)  # a direction in which no class varies is left out
    if not real.any():
        values, V, real = np.ones(d), np.eye(d), np.ones(d, dtype=bool)
    root = V[:, real] / np.sqrt(values[real])
    _, _, Vt = np.linalg.svd(np.sqrt(sizes)[:, None] * (N @ root), full_matrices=False)
    q = min(len(M) - 1, d)
    axes = (root @ Vt[:q].T) / size[:, None]
    if axes.shape[1] < q:
        axes = np.hstack([axes, np.zeros((d, q - axes.shape[1]))])
    length = np.linalg.norm(axes, axis=0)
    return fix_signs((axes / np.where(length > 0, length, 1.0)).T).T


def _crossings(means: Array, precisions: Array, levels: Array) -> Array:
    """Where two Gaussians on a line, weighted by their priors, are equal: none, one or two points."""
    a = 0.5 * (precisions[0] - precisions[1])
    b = precisions[1] * means[1] - precisions[0] * means[0]
    c = levels[1] - levels[0] - 0.5 * (precisions[1] * means[1] ** 2 - precisions[0] * means[0] ** 2)
    if abs(a) <= 1e-12 * precisions.max():
        return np.array([-c / b]) if b != 0 else np.empty(0)
    inside = b * b - 4 * a * c
    if inside < 0:
        return np.empty(0)
    q = -0.5 * (b + np.copysign(np.sqrt(inside), b))  # avoids cancellation
    return np.unique([q / a, c / q] if q != 0 else [0.0])


def _fewest_errors(z: Array, y: Array, w: Array) -> float:
    """The cut with the least weight of the first class above it and of the second below; halfway between values."""
    order = np.argsort(z, kind="stable")
    z, change = z[order].astype(np.float64), np.where(y[order] == 0, -w[order], w[order])
    errors = np.append(0.0, np.cumsum(change))  # up to a constant: that of a cut below all values
    values = np.append(np.flatnonzero(np.diff(z) > 0) + 1, [0, len(z)])  # a cut does not part equal values
    k = int(values[np.lexsort((np.abs(values - len(z) / 2), errors[values]))[0]])
    low, high = z[max(k - 1, 0)], z[min(k, len(z) - 1)]
    return float(0.5 * (low + high)) if 0 < k < len(z) else float(low - 1 if k == 0 else high + 1)
