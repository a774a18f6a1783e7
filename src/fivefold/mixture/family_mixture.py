"""Mixture of any family of distributions, for columns of different kinds.

    p(x) = sum_k pi_k prod_g p_k^g(x_g)

Numbers, counts, zeros and ones, categories: each group of columns has a family, and the same EM fits all of them.
Missing entries are left out (integrated out under Gaussians). With Bernoulli columns this is naive Bayes clustering.
McLachlan & Peel (2000).
"""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence
from dataclasses import KW_ONLY
from typing import Annotated, Any, Literal

import numpy as np

from fivefold.core.admission.categories import Categories
from fivefold.core.admission.takes import Takes
from fivefold.core.chunks.chunked_array import ChunkedArray, is_chunked, per_row, sum_over_chunks
from fivefold.core.estimators.params import Count, Index, NonNegative, Range, Seed
from fivefold.core.numerics.arrays import is_tensor, like, namespace, to_device_of
from fivefold.core.registry import Card
from fivefold.core.types import Mask, Matrix, Rng, Table, Vector, Weights
from fivefold.distributions.alternatives import Alternatives
from fivefold.distributions.categorical import Categorical
from fivefold.distributions.family import Family, FamilyMembers, FamilyStats
from fivefold.distributions.gaussian import Diagonal, Gaussian
from fivefold.distributions.product import Part, Product
from fivefold.mixture.base import BaseMixture
from fivefold.mixture.estimation.finite_mixture import FiniteMixture
from fivefold.mixture.estimation.initialisation import blurred_start, mean_imputed
from fivefold.spatial.centres.chunked_lloyd import points_of

RANDOM_START_SHARE = 0.1  # share of each row that is spread at random over the components at the start


class Mixture(BaseMixture):
    """Mixture of any family: clusters and densities for numbers, counts and categories together.

    Parameters
    ----------
    family
        what each component is: a family from `fivefold.distributions`; a list of families, one per component; or
        auto: independent Gaussians for columns of numbers, categories for columns of text.
    reg_covar
        added to every variance (with family auto).
    smoothing
        number of pseudo-rows added to every level of every category (with family auto), so that no level has
        probability zero.
    init_params
        where to start: clusters of k-means on standardised columns, cells around k-means++ seeds or around random
        rows, or random responsibilities.
    prior
        pseudo-statistics, as the family's `prior(...)` returns them.

    Attributes
    ----------
    components_
        the fitted members of the family.

    Examples
    --------
    >>> from fivefold.distributions.bernoulli import Bernoulli
    >>> from fivefold.mixture import Mixture
    >>> X = [[1, 1, 0, 0], [1, 1, 1, 0], [0, 0, 1, 1], [0, 1, 1, 1]] * 5
    >>> Mixture(2, family=Bernoulli(), random_state=0).fit_predict(X)[:4]
    array([1, 1, 0, 0])
    """

    n_components: Count = 1
    _: KW_ONLY
    family: Family | list[Any] | tuple[Any, ...] | Literal["auto"] = "auto"
    tol: NonNegative = 1e-3
    reg_covar: NonNegative = 1e-6
    smoothing: NonNegative = 0.1
    max_iter: Index = 200
    n_init: Count = 1
    init_params: Literal["kmeans", "k-means++", "random", "random_from_data"] = "kmeans"
    prior: Any = None  # the Stats of the family
    weight_prior: Annotated[float, Range(0)] = 0.0
    assignment: Literal["soft", "hard"] = "soft"
    random_state: Seed = None
    warm_start: bool = False
    verbose: Index | bool = 0
    verbose_interval: Count = 10

    takes = Takes(missing=True, empty=False, categories=True, tensors=True, chunks=True)
    card = Card(
        applications=("clustering", "density estimation"),
        use="Groups in tables of mixed columns: numbers, counts, yes or no, categories, with missing entries. Columns "
        "are taken as independent within a group; for correlated numbers use GaussianMixture.",
        steps=(
            "Start from the clusters of k-means on standardised columns, a little blurred at random.",
            "Give each row to every component by its posterior probability.",
            "Fit weight and distribution of each component to its rows.",
            "Repeat until the log-likelihood gains less than tol per row; keep the best of n_init runs.",
        ),
        source="McLachlan & Peel (2000)",
        see_also=("GaussianMixture", "MixedNB", "BernoulliNB", "KMeans"),
        variants=(
            {"n_components": 3},
            {"n_components": 2, "assignment": "hard", "init_params": "random_from_data"},
        ),
        search={"n_components": (1, 2, 3, 5, 8)},
    )

    @property
    def components_(self) -> FamilyMembers:
        """The fitted members of the family."""
        return self.model_.components

    def _unfitted(self, X: Table, w: Weights) -> FiniteMixture:
        if isinstance(self.family, str):
            if self.prior is not None:
                raise ValueError("Mixture: a prior belongs to a family; give the family too, or use smoothing instead")
            known = vars(self).get("categories_in_", Categories({})).values
            family, prior = family_of_columns(known, X.shape[1], self.reg_covar, self.smoothing)
            return FiniteMixture(family, prior=prior, share=self.weight_prior)
        is_list = isinstance(self.family, list | tuple) and len(self.family) > 0
        if not isinstance(self.family, Family) and not (is_list and all(isinstance(f, Family) for f in self.family)):
            raise ValueError(
                f"Mixture: family must be a family of distributions or a list of them; got {self.family!r}"
            )
        family = self.family if isinstance(self.family, Family) else Alternatives(tuple(self.family))
        return FiniteMixture(family, prior=self.prior, share=self.weight_prior)

    def _starts(self, unfitted: FiniteMixture, X: Table, w: Weights, rng: Rng) -> Iterator[FiniteMixture]:
        levels = column_levels(unfitted.family)
        imputed = mean_imputed(X, w)
        points = points_of(embedded(imputed, w, levels), w)
        imputed = numbers_imputed(X, imputed, np.array([j in levels for j in range(X.shape[1])]))
        while True:
            R = blurred_start(self._start_groups(unfitted, points, rng), points, rng, RANDOM_START_SHARE)
            yield unfitted.maximise(sum_over_chunks(unfitted.family.stats, imputed, R))


def family_of_columns(
    categories: Mapping[int, Sequence[Any]], d: int, floor: float, smoothing: float
) -> tuple[Family, FamilyStats | None]:
    """Gaussians for columns of numbers and levels for columns of categories, and their prior."""
    levels = Categorical(tuple(len(values) for values in categories.values()))
    numbers = tuple(j for j in range(d) if j not in categories)
    gaussians = Gaussian(Diagonal(), floor)
    if not categories:
        return gaussians, None
    if not numbers:
        return levels, levels.prior(smoothing)
    both = Product((Part(gaussians, numbers), Part(levels, tuple(categories))))
    return both, both.prior(None, levels.prior(smoothing))


def numbers_imputed(X: Table, imputed: Table, is_level: Mask) -> Table:
    """The table with numbers imputed only: a mean is not a level. A tensor has no missing entries."""
    if is_tensor(X):
        return X
    if not isinstance(X, ChunkedArray):
        return np.where(is_level, X, imputed)
    known, filled = X.pick, imputed.pick
    return ChunkedArray(X.rows, lambda rows: np.where(is_level, known(rows), filled(rows)), imputed.example)


def column_levels(family: Family) -> dict[int, int]:
    """The number of levels of each categorical column."""
    if isinstance(family, Categorical):
        return dict(enumerate(family.levels))
    if isinstance(family, Product):
        return {part.columns[j]: m for part in family.parts for j, m in column_levels(part.family).items()}
    return {}


def embedded(X: Matrix, w: Weights, levels: dict[int, int]) -> Matrix:
    """Standardised columns, and indicators of levels, scaled so that rows that differ in one category are 1 apart."""
    numbers = [j for j in range(X.shape[1]) if j not in levels]
    if is_chunked(X) or is_tensor(X):
        seen = sum_over_chunks(Gaussian(Diagonal()).stats, X, w[:, None])
        mean, variance = seen.mean[0, numbers], (seen.scatter[0] / seen.count[0])[numbers]
        if is_tensor(X):
            return _standardised(X, numbers, like(mean, X), like(np.sqrt(variance), X), levels)
        return per_row(lambda X: _standardised(X, numbers, mean, np.sqrt(variance), levels), X)
    mean = np.average(X[:, numbers], axis=0, weights=w)
    scale = np.sqrt(np.average((X[:, numbers] - mean) ** 2, axis=0, weights=w))
    return _standardised(X, numbers, mean, scale, levels)


def _standardised(X: Matrix, numbers: list[int], mean: Vector, scale: Vector, levels: dict[int, int]) -> Matrix:
    xp = namespace(X)
    values = {j: to_device_of(np.arange(m), X) for j, m in levels.items()}
    indicators = [like(X[:, j, None] == known, X) / np.sqrt(2) for j, known in values.items()]
    return xp.concat([(X[:, numbers] - mean) / xp.where(scale > 0, scale, xp.ones_like(scale)), *indicators], axis=1)
