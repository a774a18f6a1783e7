"""Naive Bayes with one family per column, or per group of columns.

    p(x, y = k) = pi_k prod_g p_g(x_g | theta_kg)

Columns of numbers are Gaussian, of categories categorical, of truth values Bernoulli, unless `families` says otherwise.
Statistics, smoothing and the treatment of missing entries are those of each family.
"""

from __future__ import annotations

from collections.abc import Callable, Mapping
from dataclasses import KW_ONLY
from typing import Any, Literal

import numpy as np

from fivefold.core.admission.takes import Takes
from fivefold.core.estimators.base import learned
from fivefold.core.estimators.params import NonNegative
from fivefold.core.registry import Card, SearchRange
from fivefold.core.types import Table
from fivefold.distributions.bernoulli import Bernoulli
from fivefold.distributions.beta import Beta
from fivefold.distributions.categorical import Categorical
from fivefold.distributions.double_exponential import Laplace
from fivefold.distributions.exponential import Exponential
from fivefold.distributions.family import Family
from fivefold.distributions.gamma import Gamma
from fivefold.distributions.gaussian import Diagonal, Gaussian
from fivefold.distributions.multinomial import Multinomial
from fivefold.distributions.poisson import Poisson
from fivefold.distributions.product import Part, Product
from fivefold.distributions.student_t import StudentT
from fivefold.distributions.von_mises import VonMises
from fivefold.naive_bayes.base import LearnedPriorMixin, NaiveBayes, SampleMixin, UserShares
from fivefold.naive_bayes.categorical_nb import category_counts, known_categories
from fivefold.naive_bayes.likelihoods.smoothing import Smoothing

# makers of the family of columns of X, from (estimator, X, columns, family of earlier batches or None)
FAMILY_MAKERS: dict[str, Callable[..., Family]] = {
    "gaussian": lambda *_: Gaussian(Diagonal()),
    "bernoulli": lambda *_: Bernoulli(),
    "categorical": lambda nb, X, columns, old: Categorical(category_counts(nb, X, columns, old.levels if old else 0)),
    "poisson": lambda *_: Poisson(),
    "multinomial": lambda *_: Multinomial(),
    "exponential": lambda *_: Exponential(),
    "gamma": lambda *_: Gamma(),
    "beta": lambda *_: Beta(),
    "laplace": lambda *_: Laplace(),
    "student_t": lambda *_: StudentT(),
    "von_mises": lambda *_: VonMises(),
}
BOOLEAN_CATEGORIES = (False, True)


class MixedNB(SampleMixin, LearnedPriorMixin, NaiveBayes):
    """Naive Bayes for tables of mixed columns: numbers, counts, truth values and categories.

    Parameters
    ----------
    families
        "auto", or a mapping from a column, by name or number, or a tuple of columns to a family: "gaussian",
        "bernoulli", "categorical", "poisson", "multinomial" (of the counts in a tuple of columns), "exponential" and
        "gamma" (positive numbers), "beta" (between 0 and 1), "laplace" and "student_t" (outliers), "von_mises"
        (angles), or an object of `fivefold.distributions`. Columns that are not mentioned are treated as by "auto":
        categorical if they hold categories, Bernoulli if they hold truth values, Gaussian otherwise.
    alpha
        smoothing of counts: added to the counts of categories; for Poisson columns, the number of pseudo-rows at the
        column's overall rate that are added to every class.
    var_smoothing
        share of the largest variance of the Gaussian columns that is added to their variances.

    Attributes
    ----------
    class_count_, class_prior_, class_log_prior_
        weight of the rows of each class, its share, and the logarithm of its share.
    parts_
        the families, and the columns of each.

    Examples
    --------
    >>> import pandas as pd
    >>> from fivefold.naive_bayes import MixedNB
    >>> X = pd.DataFrame({
    ...     "height": [1.6, 1.7, 1.9, None], "visits": [3, 2, 9, 8], "colour": ["red", None, "blue", "blue"]
    ... })
    >>> model = MixedNB({"visits": "poisson"}).fit(X, ["a", "a", "b", "b"])
    >>> model.predict(pd.DataFrame({"height": [1.65], "visits": [None], "colour": ["blue"]}))
    array(['a'], dtype='<U1')
    """

    takes = Takes(missing=True, empty=False, categories=True, tensors=True, chunks=True)
    card = Card(
        applications=("classification", "data mining"),
        use="Tables as they come: numbers, counts and categories side by side, some missing. One pass, no encoding.",
        steps=(
            "Give every column, or group of columns, a family.",
            "Fit its members to the known entries of each class, smoothed.",
            "Multiply the share of a class by the densities of the known entries of a row; normalise over classes.",
        ),
        source="Hastie, Tibshirani & Friedman (2009), section 6.6.3",
        see_also=("GaussianNB", "CategoricalNB", "PoissonNB", "Mixture"),
        variants=({"families": {0: "gaussian"}, "alpha": 0.5, "fit_prior": False},),
        search={"var_smoothing": SearchRange(1e-10, 1.0)},
        portfolio=True,
    )

    families: Literal["auto"] | Mapping[Any, Any] = "auto"  # names of columns may be anything
    _: KW_ONLY
    alpha: NonNegative = 1.0
    var_smoothing: NonNegative = 1e-9
    fit_prior: bool = True
    class_prior: UserShares = None

    parts_ = learned("family.parts")

    def _family(self, X: Table) -> Family:
        before = self.model_.family.parts if self.__sklearn_is_fitted__() else ()
        parts = []
        for g, (family, columns) in enumerate(self._groups(X.shape[1])):
            if isinstance(family, str):
                family = FAMILY_MAKERS[family](self, X, columns, before[g].family if before else None)
            parts.append(Part(family, tuple(columns)))
        return Product(tuple(parts))

    def _groups(self, d: int) -> list[tuple[str | Family, list[int]]]:
        """Families with their columns: columns of a kind share one, a multinomial or an object has its own."""
        groups: dict[Any, tuple[str | Family, list[int]]] = {}
        taken: set[int] = set()
        for key, family in ({} if isinstance(self.families, str) else self.families).items():
            if not isinstance(family, Family) and family not in FAMILY_MAKERS:
                raise ValueError(
                    f"MixedNB: families gives {family!r} for {key!r}; allowed are "
                    f"{', '.join(map(repr, FAMILY_MAKERS))}, or an object of fivefold.distributions"
                )
            columns = [self._position(name, d) for name in (key if isinstance(key, tuple) else (key,))]
            if twice := taken.intersection(columns):
                raise ValueError(f"MixedNB: families names column {min(twice)} twice; give every column one family")
            taken.update(columns)
            own_group = isinstance(family, Family) or family == "multinomial"
            groups.setdefault((key,) if own_group else family, (family, []))[1].extend(columns)
        for j in range(d):
            if j not in taken:
                kind = self._kind(j)
                groups.setdefault(kind, (kind, []))[1].append(j)
        return list(groups.values())

    def _position(self, column: Any, d: int) -> int:
        """The number of a column, from its name or number."""
        names = list(getattr(self, "feature_names_in_", ()))
        if column in names:
            return names.index(column)
        if isinstance(column, int | np.integer) and 0 <= column < d:
            return int(column)
        known = f"{names[:8]}" if names else f"0 to {d - 1}"
        raise ValueError(f"MixedNB: families names column {column!r}, which X does not have; its columns are {known}")

    def _kind(self, j: int) -> str:
        """The family of a column that `families` does not mention."""
        known = known_categories(self).get(j)
        if known is None:
            return "gaussian"
        return "bernoulli" if known == BOOLEAN_CATEGORIES else "categorical"

    def _smoothing(self, shape: tuple[int, int]) -> Smoothing:
        return Smoothing(self.alpha, self.var_smoothing)
