"""Affinity propagation: clusters about exemplars, rows that stand for others, whose number the preferences decide.

Rows send each other messages about how well one would stand for the other (spatial/centres/exemplars.py), until the
rows that stand for themselves stay the same. Similarities are minus squared distances, or given.

Frey & Dueck (2007), Clustering by passing messages between data points.
"""

from __future__ import annotations

from dataclasses import KW_ONLY, dataclass
from typing import Annotated, Any, Literal

import numpy as np
from scipy.sparse import issparse
from sklearn.exceptions import ConvergenceWarning

from fivefold.core._sklearn import ClusterMixin, Tags
from fivefold.core.admission.takes import Takes
from fivefold.core.console.fit_progress import fit_steps, warn_kept_best
from fivefold.core.console.user_warnings import warn
from fivefold.core.estimators.base import Unsupervised, learned, learned_in_dtype, not_fitted_error
from fivefold.core.estimators.params import Count, Index, Range, Seed
from fivefold.core.numerics.arrays import to_numpy
from fivefold.core.parallel import map_parts
from fivefold.core.random_state import check_random_state
from fivefold.core.registry import Card
from fivefold.core.storage.memory_limits import refuse_square
from fivefold.core.types import Codes, Doubles, Indices, Matrix, Rng, Table, UserTable
from fivefold.spatial.centres.exemplars import PART_ENTRIES, Exemplars, propagate
from fivefold.spatial.centres.lloyd import nearest_centres
from fivefold.spatial.distances import squared_distances

TIES = np.finfo(np.float64)  # similarities are moved apart by their last digit


@dataclass(frozen=True)
class ExemplarModel:
    """Exemplars, and the similarities that they were found from."""

    centres: Any  # (K, d) rows of X, None where similarities were given
    indices: Indices  # (K,)
    labels: Codes  # (n,)
    affinity: Doubles  # (n, n), preferences on the diagonal
    n_iter: int
    dtype: Any


class AffinityPropagation(ClusterMixin, Unsupervised):
    """Clusters about rows that stand for the others; their number is found.

    Parameters
    ----------
    damping
        share of a message that stays in a round: larger is slower, and less likely to oscillate.
    max_iter
        rounds, at most.
    convergence_iter
        rounds without a change of the exemplars after which they are final.
    copy
        no effect: X is never changed.
    preference
        similarity of each row with itself, a number or one per row: larger makes more exemplars. By default the median
        of all similarities.
    affinity
        "euclidean" takes minus the squared distance for the similarity of two rows, "precomputed" takes X for it.
    verbose
        print why rounds end.
    random_state
        seed of the last digits by which equal similarities are told apart.

    Attributes
    ----------
    cluster_centers_indices_
        numbers of the exemplars.
    cluster_centers_
        the exemplars, unless similarities were given.
    labels_
        the cluster of each row; -1 without any exemplar.
    affinity_matrix_
        similarities (n, n), preferences on the diagonal.
    n_iter_
        rounds made.

    Examples
    --------
    >>> from fivefold.cluster import AffinityPropagation
    >>> model = AffinityPropagation(random_state=5).fit([[1, 2], [1, 4], [1, 0], [4, 2], [4, 4], [4, 0]])
    >>> model.labels_, model.predict([[0, 0], [4, 4]])
    (array([0, 0, 0, 1, 1, 1]), array([0, 1]))
    """

    _: KW_ONLY
    damping: Annotated[float, Range(0.5, 1, open_high=True)] = 0.5
    max_iter: Count = 200
    convergence_iter: Count = 15
    copy: bool = True
    preference: Any = None  # a number, or whatever NumPy can read as a vector of numbers
    affinity: Literal["euclidean", "precomputed"] = "euclidean"
    verbose: Index | bool = False
    random_state: Seed = None

    takes = Takes(sparse=True)
    card = Card(
        applications=("clustering",),
        use="Up to some thousands of rows, an unknown number of compact groups, each shown by one of its rows, or any "
        "similarities, symmetric or not. Time and memory grow with the square of the rows; for more take KMeans.",
        steps=(
            "Compute the similarities of all rows, and a preference for each row to stand for itself.",
            "Tell each row how well every other would stand for it, beside the best alternative.",
            "Tell each row how many others a row already stands for.",
            "Repeat until the rows that stand for themselves stay the same.",
            "Give every row to the exemplar that is most similar to it.",
        ),
        source="Frey & Dueck (2007)",
        see_also=("KMedoids", "KMeans", "SpectralClustering"),
        variants=({"damping": 0.8, "preference": -20.0},),
        growth=2.0,
    )

    cluster_centers_indices_ = learned("indices")
    labels_ = learned("labels")
    affinity_matrix_ = learned_in_dtype("affinity")
    n_iter_ = learned("n_iter")

    def __sklearn_tags__(self) -> Tags:
        tags = super().__sklearn_tags__()
        tags.input_tags.pairwise = self.affinity == "precomputed"
        tags.input_tags.sparse = self.affinity != "precomputed"
        return tags

    @property
    def cluster_centers_(self) -> Matrix:
        """The exemplars."""
        if not self.__sklearn_is_fitted__():
            raise not_fitted_error(self, "cluster_centers_")
        if self.model_.centres is None:
            raise AttributeError("AffinityPropagation: similarities were given, so the exemplars are known by number")
        return self.model_.centres

    @cluster_centers_.setter
    def cluster_centers_(self, value: Any) -> None:
        known: ExemplarModel = self.model_
        self.model_ = ExemplarModel(value, known.indices, known.labels, known.affinity, known.n_iter, known.dtype)

    def _fit(self, X: Table) -> None:
        n = X.shape[0]
        refuse_square("AffinityPropagation", n, 4, "Fit a sample of the rows and predict the others, or use KMeans")
        S = self._similarities(X)
        preference = self._preferences(S)
        np.fill_diagonal(S, preference)
        found = self._one_or_all(S) or self._propagated(X, S, check_random_state(self.random_state))
        centres = None if self.affinity == "precomputed" else X[found.rows].copy()
        self.model_ = ExemplarModel(centres, found.rows, found.labels, S, found.n_iter, X.dtype)

    def _propagated(self, X: Table, S: Doubles, rng: Rng) -> Exemplars:
        noise = rng.standard_normal(S.shape)

        def tell_apart(lo: int, hi: int) -> None:
            S[lo:hi] += (TIES.eps * S[lo:hi] + 100 * TIES.tiny) * noise[lo:hi]

        map_parts(tell_apart, len(S), rows=max(1, PART_ENTRIES // len(S)))
        with fit_steps(self, "round", self.max_iter, X) as monitor:

            def watch(found: Any, value: float) -> bool:
                return monitor(lambda: self._model_of(X, S, found()), value)

            found = propagate(S, self.damping, self.convergence_iter, self.max_iter, watch)
        if self.verbose:
            ended = f"Converged after {found.n_iter - 1} iterations." if found.reason == "converged" else ""
            print(ended or "Did not converge")
        if found.reason == "interrupted":
            warn_kept_best(self, found.n_iter, "round")
        elif found.reason == "max_iter" or not len(found.rows):
            kept = "may return degenerate cluster centers and labels" if len(found.rows) else "has no cluster centers"
            warn(
                f"AffinityPropagation: did not converge in {found.n_iter} rounds; this model {kept}. Raise damping "
                "or max_iter",
                ConvergenceWarning,
            )
        return found

    def _model_of(self, X: Table, S: Doubles, found: Exemplars) -> ExemplarModel:
        centres = None if self.affinity == "precomputed" else X[found.rows]
        return ExemplarModel(centres, found.rows, found.labels, S, found.n_iter, X.dtype)

    def _similarities(self, X: Table) -> Doubles:
        if self.affinity == "euclidean":
            rows = X if issparse(X) else np.asarray(X, dtype=np.float64)
            return np.asarray(-squared_distances(rows), dtype=np.float64)
        if issparse(X):
            raise TypeError("AffinityPropagation: Sparse data was passed for X, but similarities have to be dense")
        if X.shape[0] != X.shape[1]:
            raise ValueError(
                f"AffinityPropagation: The matrix of similarities must be a square array, (n, n); X is {X.shape}"
            )
        return np.array(X, dtype=np.float64)

    def _preferences(self, S: Doubles) -> Doubles:
        if self.preference is None:
            return np.asarray(np.median(S))
        try:
            asked = np.asarray(to_numpy(self.preference), dtype=np.float64)
        except (TypeError, ValueError, OverflowError):
            asked = np.array([np.nan])
        if asked.ndim > 1 or (asked.ndim == 1 and len(asked) not in (1, len(S))) or not np.isfinite(asked).all():
            raise ValueError(
                f"AffinityPropagation: preference={self.preference!r}; give a finite number, or one for each of the "
                f"{len(S)} rows"
            )
        return asked

    def _one_or_all(self, S: Doubles) -> Exemplars | None:
        """Where nothing tells rows apart: one exemplar, or all rows; None elsewhere."""
        n = len(S)
        own, other = S[0, 0], S[0, -1] if n > 1 else np.inf
        if n > 1:
            rest = S.ravel()[1:].reshape(n - 1, n + 1)[:, :-1]  # all entries but the diagonal
            if (S.diagonal() != own).any() or (rest != other).any():
                return None
        warn("AffinityPropagation: all rows have mutually equal similarities; exemplars are arbitrary")
        if n > 1 and own > other:
            return Exemplars(np.arange(n), np.arange(n), 0, "converged")
        return Exemplars(np.array([0]), np.zeros(n, dtype=np.int64), 0, "converged")

    def predict(self, X: UserTable) -> Codes:
        """The nearest exemplar of each row."""
        X = self._admit(X)
        if self.model_.centres is None:
            raise ValueError(
                "AffinityPropagation: predict is not supported where affinity='precomputed': similarities with new "
                "rows are not known"
            )
        C = self.model_.centres
        if not C.shape[0]:
            warn(
                "AffinityPropagation: did not converge, so there is no exemplar: every row gets -1", ConvergenceWarning
            )
            return np.full(X.shape[0], -1)
        return nearest_centres(X, np.asarray(C.toarray() if issparse(C) else C)).astype(np.int64)


def affinity_propagation(
    S: UserTable,
    *,
    preference: Any = None,  # as in AffinityPropagation
    convergence_iter: int = 15,
    max_iter: int = 200,
    damping: float = 0.5,
    copy: bool = True,
    verbose: bool = False,
    return_n_iter: bool = False,
    random_state: Any = None,
) -> tuple[Indices, Codes] | tuple[Indices, Codes, int]:
    """The exemplars that `AffinityPropagation` finds from similarities (n, n), the label of each row, and the rounds.

    Examples
    --------
    >>> from fivefold.cluster import affinity_propagation
    >>> S = [[0, -4, -4, -90], [-4, 0, -16, -99], [-4, -16, 0, -80], [-90, -99, -80, 0]]
    >>> [found.tolist() for found in affinity_propagation(S, preference=-30, random_state=0)]
    [[0, 3], [0, 0, 0, 1]]
    """
    model = AffinityPropagation(
        damping=damping,
        max_iter=max_iter,
        convergence_iter=convergence_iter,
        copy=copy,
        preference=preference,
        affinity="precomputed",
        verbose=verbose,
        random_state=random_state,
    ).fit(S)
    found = (model.cluster_centers_indices_, model.labels_)
    return (*found, model.n_iter_) if return_n_iter else found
