"""Bernoulli naive Bayes: columns of zeros and ones.

    p(x, y = k) = pi_k prod_j p_kj^x_j (1 - p_kj)^(1 - x_j),   p_kj = (N_kj + alpha) / (N_k + 2 alpha)

N_kj counts the ones of column j in class k. A zero counts as much as a one, unlike in the multinomial model. The
factor of a missing entry is left out. McCallum & Nigam (1998).
"""

from __future__ import annotations

from dataclasses import KW_ONLY
from math import isnan

import numpy as np
from scipy.sparse import csr_array, issparse

from fivefold.core.admission.takes import Takes
from fivefold.core.estimators.params import NonNegative
from fivefold.core.numerics.arrays import is_tensor
from fivefold.core.registry import Card
from fivefold.core.types import Matrix, Table
from fivefold.distributions.bernoulli import Bernoulli
from fivefold.distributions.family import Family
from fivefold.naive_bayes.base import SampleMixin, UserShares
from fivefold.naive_bayes.likelihoods.log_linear_form import LogLinearNB
from fivefold.naive_bayes.likelihoods.smoothing import Alpha, Smoothing, checked_alpha


class BernoulliNB(SampleMixin, LogLinearNB):
    """Bernoulli naive Bayes: columns of zeros and ones, such as which words occur in a short text.

    Parameters
    ----------
    alpha
        added to the counts of ones and of zeros; a number, or one per column.
    binarize
        values above this threshold are ones; None when the table holds zeros and ones already.

    Attributes
    ----------
    class_count_, class_log_prior_
        weight of the rows of each class, and the logarithm of its share.
    feature_count_
        weight of the ones of each column in each class.
    feature_log_prob_
        log probability of a one.

    Examples
    --------
    >>> from fivefold.naive_bayes import BernoulliNB
    >>> model = BernoulliNB().fit([[1, 0, 1], [1, 0, 0], [0, 1, 1], [0, 1, 0]], [0, 0, 1, 1])
    >>> model.predict_proba([[1, 0, 1]]).round(2)
    array([[0.9, 0.1]])
    """

    takes = Takes(missing=True, empty=False, sparse=True, tensors=True, chunks=True)
    card = Card(
        applications=("classification",),
        use="Binary columns, or the presence of words in short texts. For word counts use MultinomialNB; for "
        "categories with more than two values CategoricalNB.",
        steps=(
            "Turn values above the threshold into ones.",
            "Count the ones of every column within each class; add alpha to ones and zeros.",
            "Multiply the share of a class by the probabilities of the entries of a row; normalise over classes.",
        ),
        source="McCallum & Nigam (1998)",
        see_also=("MultinomialNB", "CategoricalNB", "MixedNB"),
        variants=({"alpha": 0.5, "fit_prior": False},),
        search={"alpha": (0.01, 0.1, 1.0)},
    )

    _: KW_ONLY
    alpha: Alpha = 1.0
    force_alpha: bool = True
    binarize: NonNegative | None = 0.0
    fit_prior: bool = True
    class_prior: UserShares = None

    @property
    def feature_log_prob_(self) -> Matrix:
        """Log probability of a one."""
        with np.errstate(divide="ignore"):
            return np.log(self.model_.members.probability)

    def _family(self, X: Table) -> Family:
        return Bernoulli()

    def _smoothing(self, shape: tuple[int, int]) -> Smoothing:
        return Smoothing(checked_alpha(self, self.alpha, self.force_alpha, shape))

    def _prepared(self, X: Table) -> Table:
        if self.binarize is None:
            return X
        if is_tensor(X):
            return (X > self.binarize).to(X.dtype).masked_fill_(X.isnan(), np.nan)
        values = X.data if issparse(X) else X
        ones = (values > self.binarize).astype(values.dtype)
        if isnan(values.sum()):
            ones[np.isnan(values)] = np.nan
        return csr_array((ones, X.indices, X.indptr), shape=X.shape) if issparse(X) else ones
