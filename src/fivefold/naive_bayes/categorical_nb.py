"""Categorical naive Bayes: each column takes one of a few values.

    p(x, y = k) = pi_k prod_j theta_kj,x_j,   theta_kjv = (N_kjv + alpha) / (N_kj + alpha V_j)

N_kjv counts value v of column j in class k; every column has its own number of values V_j. alpha = 0 is maximum
likelihood, where a value never seen in a class has probability zero. A missing entry leaves its factor out, which is
the exact answer of the network whose class is the only parent of every column.
"""

from __future__ import annotations

from dataclasses import KW_ONLY
from typing import Any

import numpy as np

from fivefold.core.admission.tables import Takes
from fivefold.core.console.user_warnings import warn
from fivefold.core.estimators.params import Count, NonNegative
from fivefold.core.registry import Card
from fivefold.core.types import Array, Table
from fivefold.distributions.categorical import Categorical
from fivefold.distributions.family import Family
from fivefold.naive_bayes.base import NaiveBayes, SampleMixin, class_shares
from fivefold.naive_bayes.likelihoods.smoothing import Smoothing, checked_alpha

MAX_CATEGORY_CODE = 1_000_000  # a larger code is a number that was not meant as one


class CategoricalNB(SampleMixin, NaiveBayes):
    """Categorical naive Bayes: columns of categories, as text or as codes 0, 1, ...

    Parameters
    ----------
    alpha
        added to the count of every category of every column.
    min_categories
        the least number of categories, of all columns or of each.

    Attributes
    ----------
    class_count_, class_log_prior_
        weight of the rows of each class, and the logarithm of its share.
    category_count_
        for each column, the weight of its categories in each class.
    feature_log_prob_
        for each column, the log probability of its categories in each class.
    n_categories_
        the number of categories of each column.

    Examples
    --------
    >>> import pandas as pd
    >>> from fivefold.naive_bayes import CategoricalNB
    >>> X = pd.DataFrame({"sky": ["sun", "rain", "sun", None], "wind": ["no", "yes", "no", "yes"]})
    >>> model = CategoricalNB().fit(X, ["play", "stay", "play", "stay"])
    >>> model.predict(pd.DataFrame({"sky": ["sun"], "wind": [None]}))
    array(['play'], dtype='<U4')
    """

    takes = Takes(missing=True, empty=False, categories=True, positive=True)
    card = Card(
        applications=("classification", "data mining"),
        use="Columns of categories, as text or as codes. For tables that also hold numbers use MixedNB.",
        steps=(
            "Count the categories of every column within each class; add alpha.",
            "Divide by their sum: a distribution over the categories of a column for each class.",
            "Multiply the share of a class by the probabilities of the categories of a row; normalise over classes.",
        ),
        source="Mitchell (1997), chapter 6",
        see_also=("MixedNB", "BernoulliNB"),
        variants=({"alpha": 0.5, "min_categories": 3},),
        search={"alpha": (0.01, 0.1, 1.0)},
    )

    _: KW_ONLY
    alpha: NonNegative = 1.0
    force_alpha: bool = True
    fit_prior: bool = True
    class_prior: Any = None
    min_categories: Count | list[int] | tuple[int, ...] | np.ndarray[Any, Any] | None = None

    @property
    def category_count_(self) -> list[Array]:
        """For each column, the weight of its categories in each class."""
        return np.split(self.model_.stats.counts, np.cumsum(self.n_categories_)[:-1], axis=1)

    @property
    def feature_log_prob_(self) -> list[Array]:
        """For each column, the log probability of its categories in each class."""
        with np.errstate(divide="ignore"):
            return [np.log(p) for p in self.model_.members.columns]

    @property
    def n_categories_(self) -> Any:
        """The number of categories of each column."""
        return np.array(self.model_.family.levels, dtype=np.int64)

    def _family(self, X: Table) -> Family:
        least = np.zeros(X.shape[1], dtype=np.int64)
        if self.min_categories is not None:
            given = np.asarray(self.min_categories)
            if given.dtype.kind not in "iu" or given.shape not in ((), least.shape):
                raise ValueError(
                    f"CategoricalNB: min_categories must be a whole number or {len(least)} of them, one a column; "
                    f"got {self.min_categories!r}"
                )
            least = least + given
        if self.__sklearn_is_fitted__():
            least = np.maximum(least, self.n_categories_)
        return Categorical(category_counts(self, X, np.arange(X.shape[1]), least))

    def _ready(self, X: Table) -> Any:
        codes = np.trunc(X)
        if (broken := codes < X).any():
            j = int(broken.any(axis=0).argmax())
            warn(
                f"CategoricalNB: column {j} holds {X[broken[:, j].argmax(), j]:g}; categories are codes 0, 1, ..., so "
                "fractions are cut off. Bin the column first, or let MixedNB take it as a number"
            )
        return codes

    def _smoothing(self, shape: tuple[int, int]) -> Smoothing:
        return Smoothing(checked_alpha(self, self.alpha, self.force_alpha, shape))

    def _shares(self, weight: Array) -> Array:
        return class_shares(self, self.class_prior, weight, self.fit_prior)


def known_categories(estimator: Any) -> dict[int, tuple[Any, ...]]:
    """The categories that admission found in the columns of a frame."""
    return vars(estimator)["categories_in_"].values if "categories_in_" in vars(estimator) else {}


def category_counts(estimator: Any, X: Table, columns: Any, least: Any) -> tuple[int, ...]:
    """How many categories columns have: those known from a frame, else one more than the largest code."""
    known = known_categories(estimator)
    largest = np.nan_to_num(np.fmax.reduce(X[:, columns], axis=0), nan=-1.0)
    if largest.max() > MAX_CATEGORY_CODE:
        raise ValueError(
            f"{type(estimator).__name__}: column {columns[int(largest.argmax())]} holds {largest.max():g}; categories "
            "are codes 0, 1, ... without gaps. Encode it with sklearn.preprocessing.OrdinalEncoder, or pass text"
        )
    named = np.array([len(known.get(j, ())) for j in columns])
    return tuple(int(n) for n in np.maximum(largest + 1, np.maximum(named, least)).clip(1))
