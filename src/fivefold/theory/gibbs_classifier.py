"""The Gibbs classifier: each prediction is that of a rule drawn from a posterior over rules.

    answer(x)     = rule(x),  rule ~ Q                    err(Q, x, y) = P(rule(x) != y)
    err(Q)        = E err(Q, x, y)                        what PAC-Bayes bounds

Q is the Gaussian posterior about a linear or kernel classifier: rules close to the classifier are likely. Its size |mu|
decides how close; by default it is the one with the least bound on err(Q). Given x, the answer of a drawn rule has
known probabilities, so that drawing the answer is drawing a rule. The draw depends on the seed and on the numbers in
the row, not on other rows: the same row has the same answer whenever it is asked for.

The classifier at the centre errs at most twice as often, and usually less often, than drawn rules do. The price of
drawing is paid for the certificate, which bounds exactly what is used.

McAllester (1999); Langford & Shawe-Taylor (2002).
"""

from __future__ import annotations

from dataclasses import KW_ONLY, dataclass

import numpy as np
from sklearn.base import clone

from fivefold.core.admission.takes import Takes
from fivefold.core.estimators.base import learned
from fivefold.core.estimators.params import OpenFraction, Positive, Seed
from fivefold.core.estimators.supervised_learning import Classifier
from fivefold.core.estimators.training_rows import row_digests
from fivefold.core.random_state import check_random_state
from fivefold.core.registry import Card
from fivefold.core.types import Codes, Labels, Matrix, Table, Target, UserTable, Vector, Weights
from fivefold.ensemble.members.inner_estimators import InnerEstimator, check_learner, seed_parameters
from fivefold.linear_model import LogisticRegression
from fivefold.theory.pac_bayes.gibbs_posterior import DrawsRules, RulePosterior, answer_shares, gibbs_posterior
from fivefold.theory.pac_bayes.posterior_bounds import improved_kl_upper

SIZES = np.geomspace(0.3, 300.0, 49)  # |mu| of the posterior, of which the best is taken


@dataclass(frozen=True)
class GibbsRules:
    """A posterior, the classifier at its centre, and the seed of the draws."""

    posterior: RulePosterior
    estimator: InnerEstimator
    size: float  # |mu|
    bound: float  # on the error of drawn rules
    seed: int


class GibbsClassifier(DrawsRules, Classifier):
    """Answers with rules drawn about a linear or kernel classifier, whose error is certified without other rows.

    Parameters
    ----------
    estimator
        the classifier at the centre: linear, or an SVC of two classes with a number for gamma; None for logistic
        regression.
    size
        norm of the mean of the posterior, whose rules have unit noise; None for the one with the least bound.
    delta
        the probability that the bound fails.
    random_state
        seed of the draws.

    Attributes
    ----------
    estimator_
        the fitted classifier at the centre.
    posterior_
        the posterior over rules.
    size_, bound_
        norm of its mean, and the bound on the error of drawn rules, valid if columns were not scaled by these rows.
    classes_
        the labels.

    Examples
    --------
    >>> from sklearn.datasets import load_digits
    >>> from fivefold.theory import GibbsClassifier
    >>> X, y = load_digits(n_class=2, return_X_y=True)
    >>> model = GibbsClassifier(random_state=0).fit(X / 16, y)
    >>> round(model.bound_, 3), round(1 - model.score(X / 16, y), 3)
    (0.157, 0.019)
    """

    estimator: InnerEstimator = None
    _: KW_ONLY
    size: Positive | None = None
    delta: OpenFraction = 0.05
    random_state: Seed = None

    takes = Takes(one_class=False)
    card = Card(
        applications=("classification",),
        use="A certificate of the classifier that is used, without giving up rows. For accuracy alone use the "
        "classifier at its centre.",
        steps=(
            "Fit the classifier at the centre.",
            "Choose the size of the Gaussian posterior about it by the PAC-Bayes bound.",
            "For each row draw the answer of a rule of the posterior.",
        ),
        source="McAllester (1999); Langford & Shawe-Taylor (2002)",
        see_also=("MajorityVoteClassifier", "LogisticRegression"),
        variants=({"size": 20.0},),
    )

    estimator_ = learned("estimator")
    posterior_ = learned("posterior")
    size_ = learned("size")
    bound_ = learned("bound")

    def _fit(self, X: Table, y: Target, w: Weights) -> None:
        rng = check_random_state(self.random_state)
        inner = LogisticRegression() if self.estimator is None else self.estimator
        inner = clone(check_learner(self, inner, "estimator", "predict"))
        inner.set_params(**{name: int(rng.randint(2**31)) for name in seed_parameters(inner)})
        inner.fit(X, y) if (w == 1).all() else inner.fit(X, y, sample_weight=w)
        centre = gibbs_posterior(inner)
        own = float(np.sqrt(2 * centre.complexity))
        sizes = SIZES if self.size is None else np.array([float(self.size)])
        factors = (sizes / own).tolist() if own > 0 else [1.0]
        errors = np.array([np.average(e, weights=w) for e in centre.errors_at(X, y, factors)])
        complexities = [centre.scaled(factor).complexity for factor in factors]
        n = max(1, int(w.sum()))
        bounds = np.asarray(improved_kl_upper(errors.clip(0, 1), complexities, n, self.delta, exact_moment=True))
        best = int(bounds.argmin())
        self.model_ = GibbsRules(
            posterior=centre.scaled(factors[best]),
            estimator=inner,
            size=float(np.sqrt(2 * complexities[best])),
            bound=float(bounds[best]),
            seed=int(rng.randint(2**31)),
        )

    def answer_shares(self, X: UserTable) -> Matrix:
        """The probability that a drawn rule answers each class (n, K)."""
        X = self._admit(X)
        return answer_shares(self.model_.posterior, X, len(self.classes_))

    def predict(self, X: UserTable) -> Labels:
        """The answer of a rule drawn for each row."""
        X = self._admit(X)
        shares = answer_shares(self.model_.posterior, X, len(self.classes_))
        below = np.cumsum(shares, axis=1)[:, :-1] <= row_uniforms(X, self.model_.seed)[:, None]
        return self.classes_[below.sum(axis=1)]


@gibbs_posterior.register
def _(model: GibbsClassifier) -> RulePosterior:
    posterior: RulePosterior = model.posterior_
    return posterior


def row_uniforms(X: Table, seed: int) -> Vector:
    """A number in [0, 1) per row that depends on the seed and the numbers in the row, in single precision."""
    with np.errstate(over="ignore"):
        keys: Codes = row_digests(np.ascontiguousarray(X, dtype=np.float32) + np.float32(0)).astype(np.uint64)
        # SplitMix64: keys that differ in any bit give numbers that look independent
        z = keys * np.uint64(0x9E3779B97F4A7C15) + np.uint64(seed)
        z = (z ^ (z >> np.uint64(30))) * np.uint64(0xBF58476D1CE4E5B9)
        z = (z ^ (z >> np.uint64(27))) * np.uint64(0x94D049BB133111EB)
    return np.asarray((z ^ (z >> np.uint64(31))) >> np.uint64(11), dtype=np.float64) * 2.0**-53
