"""Gaussian naive Bayes.

    p(y = k | x) ~ pi_k prod_j N(x_j | mu_kj, s2_kj + epsilon)

Class shares, means and variances are estimated by weighted maximum likelihood, from centred moments that add
(Chan, Golub & LeVeque 1983); epsilon is a small share of the largest column variance. The factor of a missing entry
is left out.
"""

from __future__ import annotations

from dataclasses import KW_ONLY

from fivefold.core.admission.takes import Takes
from fivefold.core.estimators.base import learned_in_dtype
from fivefold.core.estimators.params import NonNegative
from fivefold.core.registry import Card, SearchRange
from fivefold.core.types import Matrix, Table, Vector
from fivefold.distributions.family import Family
from fivefold.distributions.gaussian import Diagonal, Gaussian
from fivefold.naive_bayes.base import NaiveBayes, SampleMixin, UserShares, class_shares
from fivefold.naive_bayes.likelihoods.smoothing import Smoothing, variance_floor


class GaussianNB(SampleMixin, NaiveBayes):
    """Gaussian naive Bayes: numeric columns, each normal and independent of the others given the class.

    Parameters
    ----------
    var_smoothing
        share of the largest column variance that is added to all variances.

    Attributes
    ----------
    class_count_
        weight of the rows of each class.
    class_prior_
        class shares.
    theta_, var_
        mean and variance of each column in each class.
    epsilon_
        what was added to the variances.

    Examples
    --------
    >>> from fivefold.naive_bayes import GaussianNB
    >>> X = [[1.0, 10.0], [1.2, 11.0], [3.0, 30.0], [3.1, 29.0], [2.9, None]]
    >>> y = ["low", "low", "high", "high", "high"]
    >>> model = GaussianNB().fit(X, y)
    >>> model.predict([[1.1, 10.0], [3.0, float("nan")]])
    array(['low', 'high'], dtype='<U4')
    """

    takes = Takes(missing=True, empty=False, tensors=True, chunks=True, finite_later=True)
    card = Card(
        applications=("classification",),
        use="Numeric columns, many or few rows, a first answer in no time. Its probabilities are too close to 0 and 1 "
        "when columns depend on one another; LinearDiscriminantAnalysis does better then.",
        steps=(
            "Count the rows of each class: the class shares.",
            "Take the mean and variance of every column within each class.",
            "Multiply the share of a class by the normal densities of the entries of a row; normalise over classes.",
        ),
        source="Duda & Hart (1973); moments by Chan, Golub & LeVeque (1983)",
        see_also=("MixedNB", "LinearDiscriminantAnalysis", "QuadraticDiscriminantAnalysis"),
        variants=({"var_smoothing": 1e-2},),
        search={"var_smoothing": SearchRange(1e-10, 1.0)},
        portfolio=True,
    )

    _: KW_ONLY
    priors: UserShares = None
    var_smoothing: NonNegative = 1e-9

    class_count_ = learned_in_dtype("stats.weight")
    class_prior_ = learned_in_dtype("prior")
    theta_ = learned_in_dtype("members.mean")
    var_ = learned_in_dtype("members.covariance.matrix")

    @property
    def epsilon_(self) -> float:
        """What was added to the variances."""
        return variance_floor(self.model_.stats, self.model_.smoothing.share)

    def _family(self, X: Table) -> Family:
        return Gaussian(Diagonal())

    def _smoothing(self, shape: tuple[int, int]) -> Smoothing:
        return Smoothing(share=self.var_smoothing)

    def _class_shares(self, weight: Vector) -> Vector:
        return class_shares(self, self.priors, weight)

    def _joint_log_prob(self, X: Table) -> Matrix:
        return self.model_.members.log_prob(X, self.model_.log_prior)
