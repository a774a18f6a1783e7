"""Categorical naive Bayes: each column takes one of a few values.

    p(x, y = k) = pi_k prod_j theta_kj,x_j,   theta_kjv = (N_kjv + alpha) / (N_kj + alpha V_j)

N_kjv counts value v of column j in class k; every column has its own number of values V_j. alpha = 0 is maximum
likelihood, where a value never seen in a class has probability zero. The factor of a missing entry is left out, which
is exact for the Bayesian network in which the class is the only parent of every column.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import KW_ONLY
from typing import Any

import numpy as np

from fivefold.core.admission.takes import Takes
from fivefold.core.chunks.chunked_array import sum_over_chunks
from fivefold.core.console.user_warnings import warn
from fivefold.core.estimators.params import Count, NonNegative
from fivefold.core.estimators.supervised_learning import Classifier
from fivefold.core.numerics.arrays import is_tensor, namespace, to_device_of, to_numpy
from fivefold.core.registry import Card
from fivefold.core.types import Indices, Matrix, Table
from fivefold.distributions.categorical import Categorical, split_by_column
from fivefold.distributions.family import Family
from fivefold.naive_bayes.base import LearnedPriorMixin, NaiveBayes, SampleMixin, UserShares
from fivefold.naive_bayes.likelihoods.smoothing import Smoothing, checked_alpha

MAX_CATEGORY_CODE = 1_000_000  # a larger number was surely not meant as a code, and its table would fill the memory


class CategoricalNB(SampleMixin, LearnedPriorMixin, NaiveBayes):
    """Categorical naive Bayes: columns of categories, as text or as codes 0, 1, ...

    Parameters
    ----------
    alpha
        added to the count of every category of every column.
    min_categories
        minimum number of categories: one number for all columns, or one per column.

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

    takes = Takes(missing=True, empty=False, categories=True, positive=True, tensors=True, chunks=True)
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
    class_prior: UserShares = None
    min_categories: Count | list[int] | tuple[int, ...] | np.ndarray[Any, Any] | None = None

    @property
    def category_count_(self) -> list[Matrix]:
        """For each column, the weight of its categories in each class."""
        return split_by_column(self.model_.stats.counts, self.model_.family.levels)

    @property
    def feature_log_prob_(self) -> list[Matrix]:
        """For each column, the log probability of its categories in each class."""
        with np.errstate(divide="ignore"):
            return [np.log(p) for p in self.model_.members.columns]

    @property
    def n_categories_(self) -> Indices:
        """The number of categories of each column."""
        return np.array(self.model_.family.levels, dtype=np.int64)

    def _family(self, X: Table) -> Family:
        minimum: Indices = np.zeros(X.shape[1], dtype=np.int64)
        if self.min_categories is not None:
            given = np.asarray(self.min_categories)
            if given.dtype.kind not in "iu" or given.shape not in ((), minimum.shape):
                raise ValueError(
                    f"CategoricalNB: min_categories must be a whole number or {len(minimum)} of them, one per column; "
                    f"got {self.min_categories!r}"
                )
            minimum = minimum + given
        if self.__sklearn_is_fitted__():
            minimum = np.maximum(minimum, self.n_categories_)
        return Categorical(category_counts(self, X, np.arange(X.shape[1]), minimum))

    def _prepared(self, X: Table) -> Matrix:
        codes = namespace(X).trunc(X)
        if (broken := codes < X).any():
            broken, X = to_numpy(broken), to_numpy(X)
            j = int(broken.any(axis=0).argmax())
            warn(
                f"CategoricalNB: column {j} holds {X[broken[:, j].argmax(), j]:g}; categories are codes 0, 1, ..., so "
                "fractions are cut off. Bin the column first, or let MixedNB take it as a number"
            )
        return codes

    def _smoothing(self, shape: tuple[int, int]) -> Smoothing:
        return Smoothing(checked_alpha(self, self.alpha, self.force_alpha, shape))


def known_categories(estimator: Classifier) -> dict[int, tuple[Any, ...]]:
    """The categories that admission found in the columns of a frame."""
    return vars(estimator)["categories_in_"].values if "categories_in_" in vars(estimator) else {}


def category_counts(
    estimator: Classifier, X: Matrix, columns: Indices | Sequence[int], minimum: Indices | Sequence[int] | int
) -> tuple[int, ...]:
    """Numbers of categories of these columns, from the categories of a frame or one more than the largest code.

    The largest of both and of `minimum` counts: earlier batches may have held more categories.
    """
    known = known_categories(estimator)
    if is_tensor(X):
        largest = to_numpy(X[:, to_device_of(columns, X)].nan_to_num(nan=-1.0).amax(dim=0)).astype(np.float64)
    else:
        largest = sum_over_chunks(lambda X: np.fmax.reduce(X[:, columns], axis=0), X, merge=np.fmax)
        largest = np.nan_to_num(largest, nan=-1.0)
    if largest.max() > MAX_CATEGORY_CODE:
        raise ValueError(
            f"{type(estimator).__name__}: column {columns[int(largest.argmax())]} holds {largest.max():g}; categories "
            "are codes 0, 1, ... without gaps. Encode it with sklearn.preprocessing.OrdinalEncoder, or pass text"
        )
    named = np.array([len(known.get(j, ())) for j in columns])
    return tuple(int(n) for n in np.maximum(largest + 1, np.maximum(named, minimum)).clip(1))
