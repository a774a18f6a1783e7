"""Multinomial naive Bayes: rows of counts, such as the words of a text.

    p(x, y = k) ~ pi_k prod_j theta_kj^x_j,   theta_kj = (N_kj + alpha) / sum_j (N_kj + alpha)

N_kj is the total of column j over the rows of class k. All columns share one distribution, so only the counts matter,
not the order of the words. The number of possible orders, the same for every class, is left out.
McCallum & Nigam (1998).

Missing counts are refused: counts are shares of one total, so a gap would change the meaning of the others.
"""

from __future__ import annotations

from dataclasses import KW_ONLY

from fivefold.core.admission.takes import Takes
from fivefold.core.registry import Card
from fivefold.core.types import Matrix, Table
from fivefold.distributions.family import Family
from fivefold.distributions.multinomial import Multinomial
from fivefold.naive_bayes.base import SampleMixin, UserShares
from fivefold.naive_bayes.likelihoods.log_linear_form import LogLinearNB
from fivefold.naive_bayes.likelihoods.smoothing import Alpha, Smoothing, checked_alpha


class MultinomialNB(SampleMixin, LogLinearNB):
    """Multinomial naive Bayes: counts of words, or of other items of one kind.

    Parameters
    ----------
    alpha
        added to every count; a number, or one per column. Zero is maximum likelihood.

    Attributes
    ----------
    class_count_, class_log_prior_
        weight of the rows of each class, and the logarithm of its share.
    feature_log_prob_
        log probability of each column in each class.

    Examples
    --------
    >>> from sklearn.feature_extraction.text import CountVectorizer
    >>> from fivefold.naive_bayes import MultinomialNB
    >>> words = CountVectorizer()
    >>> X = words.fit_transform(["cheap pills cheap", "meeting at noon", "cheap watches", "noon meeting notes"])
    >>> model = MultinomialNB().fit(X, ["spam", "mail", "spam", "mail"])
    >>> model.predict(words.transform(["cheap notes cheap"]))
    array(['spam'], dtype='<U4')
    """

    takes = Takes(sparse=True, positive=True, tensors=True, chunks=True)
    card = Card(
        applications=("classification",),
        use="Word counts of texts, and other rows of counts of one kind; tf-idf values also work. Missing counts are "
        "refused: PoissonNB leaves them out. Where classes differ much in size, ComplementNB is more robust.",
        steps=(
            "Add up the counts of every column within each class, and alpha.",
            "Divide by their sum: a distribution over the columns for each class.",
            "Score a row by the sum of its counts times the log probabilities, plus the log share of the class.",
        ),
        source="McCallum & Nigam (1998)",
        see_also=("ComplementNB", "BernoulliNB", "PoissonNB"),
        variants=({"alpha": 0.1, "fit_prior": False},),
        search={"alpha": (0.01, 0.1, 1.0)},
    )

    _: KW_ONLY
    alpha: Alpha = 1.0
    force_alpha: bool = True
    fit_prior: bool = True
    class_prior: UserShares = None

    @property
    def feature_log_prob_(self) -> Matrix:
        """Log probability of each column in each class."""
        return self.model_.members.natural_parameters

    def _family(self, X: Table) -> Family:
        return Multinomial()

    def _smoothing(self, shape: tuple[int, int]) -> Smoothing:
        return Smoothing(checked_alpha(self, self.alpha, self.force_alpha, shape))
