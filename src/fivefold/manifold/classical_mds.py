"""Classical scaling, the scaling that is exact for distances between points.

    B = -1/2 H D^2 H = V L V'        y_i = (sqrt l_1 v_i1, ..., sqrt l_k v_ik)

For Euclidean distances the coordinates are the principal components of the rows, up to signs. Negative eigenvalues tell
how far distances are from those of any points: their share of all eigenvalues, in size, is reported.

Torgerson (1952); Gower (1966).
"""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import KW_ONLY, dataclass
from typing import Any

from fivefold.core.estimators.base import learned
from fivefold.core.estimators.params import Count
from fivefold.core.numerics.eigenpairs import eigen
from fivefold.core.numerics.products import double_centre
from fivefold.core.random_state import check_random_state
from fivefold.core.registry import Card
from fivefold.core.types import Doubles, Table
from fivefold.manifold.embeddings.base import Embedding, Placement, refuse_components
from fivefold.manifold.embeddings.classical_scaling import ScalarProducts, places
from fivefold.manifold.embeddings.dissimilarities import TakesDissimilarities
from fivefold.manifold.embeddings.embeddability import Embeddability

LANCZOS_SEED = 0  # the first block of Lanczos is drawn; what it ends at does not depend on it beyond rounding


@dataclass(frozen=True)
class ScaledDistances(Placement):
    """Places of rows, the eigenvalues behind them, and the distances they come from."""

    values: Doubles  # (k,)
    distances: Doubles  # (n, n)


class ClassicalMDS(TakesDissimilarities, Embedding):
    """Coordinates whose distances are those given, exactly where points with such distances exist.

    Parameters
    ----------
    n_components
        number of coordinates.
    metric
        the name of a distance, a function of two rows, or "precomputed" where X holds distances.
    metric_params
        further arguments of the metric.

    Attributes
    ----------
    embedding_
        places of the rows (n, n_components).
    eigenvalues_
        of the centred scalar products, largest first: squared lengths of the columns of `embedding_`.
    dissimilarity_matrix_
        the distances (n, n).

    Examples
    --------
    >>> import numpy as np
    >>> from fivefold.manifold import ClassicalMDS
    >>> triangle = [[0.0, 3.0, 4.0], [3.0, 0.0, 5.0], [4.0, 5.0, 0.0]]
    >>> model = ClassicalMDS(metric="precomputed").fit(triangle)
    >>> model.eigenvalues_.round(6)
    array([12.964148,  3.702519])
    >>> np.linalg.norm(model.embedding_[1] - model.embedding_[2]).round(6)
    np.float64(5.0)
    """

    n_components: Count = 2
    _: KW_ONLY
    metric: str | Callable[..., Any] = "euclidean"
    metric_params: dict[str, Any] | None = None

    card = Card(
        applications=("dimension reduction", "visualization"),
        use="A map from distances alone, such as travel times or judged differences. Long distances count most: Sammon "
        "keeps short ones, Isomap follows a curved surface.",
        steps=(
            "Square the distances, and centre rows and columns: scalar products of the points sought.",
            "Find the leading eigenvectors.",
            "Scale each by the root of its eigenvalue.",
        ),
        source="Torgerson (1952); Gower (1966)",
        see_also=("MDS", "SammonMapping", "Isomap", "PCA"),
        variants=({"n_components": 1, "metric": "manhattan"},),
        growth=2.0,
    )

    eigenvalues_ = learned("values")
    dissimilarity_matrix_ = learned("distances")

    def _fit(self, X: Table) -> None:
        refuse_components(self, self.n_components, X.shape[0])
        D = self._dissimilarities(X, 3, self.metric_params)
        pairs = ScalarProducts.of(D).leading(self.n_components, check_random_state(LANCZOS_SEED))
        self.model_ = ScaledDistances(places(pairs, self.n_components), X.dtype, pairs.values, D)

    def embeddability(self) -> Embeddability:
        """All eigenvalues, and how far the distances are from those of any points."""
        D = self.dissimilarity_matrix_
        values = eigen(double_centre(-0.5 * D * D)).values
        return Embeddability.of(values, D, self.model_.embedding)
