"""Poisson naive Bayes: columns of counts, each with its own rate in each class.

    p(x, y = k) = pi_k prod_j Poisson(x_j | rate_kj),   rate_kj = (N_kj + alpha m_j) / (n_kj + alpha)

N_kj events in n_kj rows; m_j is the rate of column j over all classes, so smoothing draws the classes towards each
other and a column keeps its scale. Unlike in the multinomial model, the total of a row is evidence too. The factor of a
missing count is left out. The factorials, the same for every class, are left out of the scores.
"""

from __future__ import annotations

from dataclasses import KW_ONLY

from fivefold.core.admission.takes import Takes
from fivefold.core.estimators.base import learned
from fivefold.core.registry import Card
from fivefold.core.types import Table
from fivefold.distributions.family import Family
from fivefold.distributions.poisson import Poisson
from fivefold.naive_bayes.base import SampleMixin, UserShares
from fivefold.naive_bayes.likelihoods.log_linear_form import LogLinearNB
from fivefold.naive_bayes.likelihoods.smoothing import Alpha, Smoothing, checked_alpha


class PoissonNB(SampleMixin, LogLinearNB):
    """Poisson naive Bayes: counts of events, each column with its own rate.

    Parameters
    ----------
    alpha
        number of pseudo-rows at the column's overall rate that are added to every class; a number, or one per column.

    Attributes
    ----------
    class_count_, class_log_prior_
        weight of the rows of each class, and the logarithm of its share.
    feature_count_
        events of each column in each class.
    rate_
        events per row, of each column in each class.

    Examples
    --------
    >>> from fivefold.naive_bayes import PoissonNB
    >>> model = PoissonNB(alpha=0).fit([[2, 30], [4, 34], [8, 5], [6, 7]], ["a", "a", "b", "b"])
    >>> model.rate_
    array([[ 3., 32.],
           [ 7.,  6.]])
    >>> model.predict([[5, 20]])
    array(['a'], dtype='<U1')
    """

    takes = Takes(missing=True, empty=False, sparse=True, positive=True, tensors=True, chunks=True)
    card = Card(
        applications=("classification",),
        use="Counts of different things on different scales, some perhaps missing: visits, defects, purchases. For the "
        "words of texts of any length use MultinomialNB.",
        steps=(
            "Take the mean of every column within each class, drawn a little towards the mean of all rows.",
            "Multiply the share of a class by the Poisson probabilities of the counts; normalise over classes.",
        ),
        source="Kim, Han, Rim & Myaeng (2006)",
        see_also=("MultinomialNB", "GaussianNB", "MixedNB"),
        variants=({"alpha": 0.1, "fit_prior": False},),
        search={"alpha": (0.1, 1.0, 10.0)},
    )

    _: KW_ONLY
    alpha: Alpha = 1.0
    fit_prior: bool = True
    class_prior: UserShares = None

    rate_ = learned("members.rate")

    def _family(self, X: Table) -> Family:
        return Poisson()

    def _smoothing(self, shape: tuple[int, int]) -> Smoothing:
        return Smoothing(checked_alpha(self, self.alpha, True, shape))
