"""Complement naive Bayes: a class is scored by how badly the other classes together explain a row.

    score_k(x) = -sum_j x_j log theta'_kj,   theta'_kj = (N_.j - N_kj + alpha) / sum_j (N_.j - N_kj + alpha)

The statistics of the complement are those of all classes less those of the class, so the scores of a small class rest
on many rows. With `norm` the weights of a class are divided by their sum. The scores are not log probabilities;
`predict_proba` gives their softmax. Rennie, Shih, Teevan & Karger (2003).
"""

from __future__ import annotations

from dataclasses import KW_ONLY

import numpy as np

from fivefold.core.admission.takes import Takes
from fivefold.core.numerics.arrays import plus_row
from fivefold.core.registry import Card
from fivefold.core.types import Matrix, Table, Vector
from fivefold.distributions.family import Family
from fivefold.distributions.multinomial import Multinomial, MultinomialMembers
from fivefold.distributions.statistics.counts import Totals, affine_log_density
from fivefold.naive_bayes.base import UserShares
from fivefold.naive_bayes.likelihoods.log_linear_form import LogLinearNB
from fivefold.naive_bayes.likelihoods.smoothing import Alpha, Smoothing, checked_alpha


class ComplementNB(LogLinearNB):
    """Complement naive Bayes: multinomial naive Bayes for classes of very different size.

    Parameters
    ----------
    alpha
        added to every count; a number, or one per column.
    fit_prior
        whether class shares are learned; they matter only if there is a single class.
    class_prior
        class shares, in the order of `classes_`; not used if there is more than one class.
    norm
        whether the weights of each class are divided by their sum.

    Attributes
    ----------
    class_count_, class_log_prior_
        weight of the rows of each class, and the logarithm of its share.
    feature_all_
        total of each column over all classes.
    feature_log_prob_
        weight of each column for each class.

    Examples
    --------
    >>> from fivefold.naive_bayes import ComplementNB
    >>> model = ComplementNB().fit([[3, 0, 1], [2, 0, 0], [0, 4, 1]], ["a", "a", "b"])
    >>> model.predict([[0, 2, 0], [1, 0, 1]])
    array(['b', 'a'], dtype='<U1')
    """

    takes = Takes(sparse=True, positive=True, tensors=True, chunks=True)
    card = Card(
        applications=("classification",),
        use="Texts whose classes differ much in size. Its scores rank classes; its probabilities are uncalibrated.",
        steps=(
            "For each class, add up the counts of every column over all other classes, and alpha.",
            "Divide by their sum: a distribution over the columns for the rows outside the class.",
            "Score a row by minus the sum of its counts times the log probabilities.",
        ),
        source="Rennie, Shih, Teevan & Karger (2003)",
        see_also=("MultinomialNB",),
        variants=({"norm": True},),
        search={"alpha": (0.01, 0.1, 1.0), "norm": (False, True)},
    )

    _: KW_ONLY
    alpha: Alpha = 1.0
    force_alpha: bool = True
    fit_prior: bool = True
    class_prior: UserShares = None
    norm: bool = False

    @property
    def feature_all_(self) -> Vector:
        """Total of each column over all classes."""
        return self.model_.stats.total.sum(axis=0)

    @property
    def feature_log_prob_(self) -> Matrix:
        """Weight of each column for each class."""
        weights = -self.model_.members.natural_parameters
        return weights / weights.sum(axis=1, keepdims=True) if self.norm else weights

    def _family(self, X: Table) -> Family:
        return Multinomial()

    def _smoothing(self, shape: tuple[int, int]) -> Smoothing:
        return Smoothing(checked_alpha(self, self.alpha, self.force_alpha, shape))

    def _members(self, family: Family, stats: Totals, smoothing: Smoothing) -> MultinomialMembers:
        whole = Totals(*(a.sum(axis=0, keepdims=True) for a in (stats.weight, stats.observed, stats.total)))
        members = super()._members(family, whole - stats, smoothing)
        if not members.probability.all():
            raise ValueError(
                "ComplementNB: a column never occurs outside one of the classes, so its weight for that class would be "
                "infinite; set alpha > 0"
            )
        return members

    def _linear(self) -> tuple[Matrix, Vector]:
        single_class = len(self.classes_) == 1
        return self.feature_log_prob_, self.model_.log_prior * single_class

    def _joint_log_prob(self, X: Table) -> Matrix:
        coef, intercept = self._linear()
        return plus_row(affine_log_density(X, coef, np.zeros_like(coef)), intercept)
