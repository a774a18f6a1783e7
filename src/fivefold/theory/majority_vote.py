"""A weighted vote of rules, with weights and a certificate from PAC-Bayes.

    class of x = argmax_k  sum_t rho_t [rule t answers k]

The rules were fixed before, and then all rows test them; or they are copies of a learner on bootstrap samples, and each
is tested by the rows that its sample left out. The weights rho minimise a bound on the error of the vote, which holds
for all weights at once; the bound is computed from the same rows. `pac_bayes.votes` has the bounds: twice the error of
a rule, four times that of two rules erring together (tandem), and the C-bound.

Equal weights are a forest's. The tandem gives more weight to rules that err where others do not; the first order puts
almost all weight on the best rule.

Masegosa, Lorenzen, Igel & Seldin (2020), Second order PAC-Bayesian bounds for the weighted majority vote; Germain et
al. (2015), Risk bounds for the majority vote.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import KW_ONLY, dataclass, replace
from typing import Any

import numpy as np

from fivefold.core.admission.takes import Takes
from fivefold.core.estimators.base import learned
from fivefold.core.estimators.params import Count, OpenFraction, ParameterError, Seed
from fivefold.core.estimators.supervised_learning import Classifier
from fivefold.core.registry import Card
from fivefold.core.types import Codes, Indices, Labels, Mask, Matrix, Table, Target, UserTable, Weights
from fivefold.ensemble.bagging import BaggingClassifier
from fivefold.ensemble.members.bootstrap_bag import Bag
from fivefold.ensemble.members.inner_estimators import InnerEstimator, MemberSequence
from fivefold.theory.certificate import Certificate
from fivefold.theory.pac_bayes.ensemble_voters import Voters, check_rows, find_voters
from fivefold.theory.pac_bayes.votes import VoteObjective, VoterErrors, learn_vote_weights

INDEPENDENT = "rows are independent and come from where new data will come from"
FIXED = "the rules were fixed before these rows were seen"
SEEDED = "the seed of the samples was not chosen by the result"


@dataclass(frozen=True)
class SampleTests:
    """What the rows left out of bootstrap samples were drawn by."""

    bag: Bag
    count: int
    seeds: Indices

    def unseen(self) -> Mask:
        """Which units of the bag each sample left out (units, T)."""
        return np.column_stack([self.bag.unseen_units(self.count, int(seed)) for seed in self.seeds])


@dataclass(frozen=True)
class WeightedVote:
    """Rules with weights, and what they lose."""

    rules: tuple[Any, ...]  # with predict, of any library; or functions of a table
    weights: Weights  # (T,)
    answers_are_codes: bool  # of copies; labels otherwise
    errors: VoterErrors
    risk: float  # of the vote on the rows of fit
    rows: int
    tests: SampleTests | None  # None for rules that were fixed before

    def answers(self, X: Table, classes: Labels) -> Codes:
        """The class that each rule answers, by number (n, T); -1 for one that is not among the classes."""
        given = [np.asarray(rule(X) if not hasattr(rule, "predict") else rule.predict(X)) for rule in self.rules]
        if self.answers_are_codes:
            return np.column_stack(given).astype(np.int64)
        return np.column_stack([codes_of(answers, classes) for answers in given])

    def shares(self, X: Table, classes: Labels) -> Matrix:
        """The weight of the rules that answer each class (n, K), with sum 1."""
        A = self.answers(X, classes)
        votes = np.stack([(A == k) @ self.weights for k in range(len(classes))], axis=1)
        total = votes.sum(axis=1, keepdims=True)
        return np.where(total > 0, votes / np.where(total > 0, total, 1.0), 1 / len(classes))


def codes_of(answers: Labels, classes: Labels) -> Codes:
    """The number of each label among the sorted classes, -1 for others."""
    at = np.searchsorted(classes, answers).clip(0, len(classes) - 1)
    return np.where(classes[at] == answers, at, -1)


class MajorityVoteClassifier(MemberSequence, Classifier):
    """A vote of rules whose weights minimise a PAC-Bayes bound on its error, with that bound as a certificate.

    Parameters
    ----------
    rules
        classifiers that were fitted before, on other rows, or functions from a table to labels; wrap fitted ones in
        scikit-learn's FrozenEstimator, so that clones keep them. None to fit copies of `estimator` to samples.
    estimator
        the learner of the copies; None for a decision tree.
    n_estimators
        number of copies.
    objective
        the bound that the weights minimise: "tandem", "first order", or "uniform" for equal weights.
    delta
        the probability that a bound fails.
    n_jobs
        copies fitted at a time; the result does not depend on it.
    random_state
        seed of the samples and of the copies.

    Attributes
    ----------
    estimators_, weights_
        the rules, and the weight of each.
    certificate_
        the bounds on the error of the vote.
    classes_
        the labels.

    Examples
    --------
    >>> from sklearn.datasets import load_breast_cancer
    >>> from fivefold.theory import MajorityVoteClassifier
    >>> X, y = load_breast_cancer(return_X_y=True)
    >>> stumps = [lambda Z, j=j, t=t: (Z[:, j] < t).astype(int) for j, t in ((0, 15), (3, 700), (7, 0.05), (20, 17))]
    >>> vote = MajorityVoteClassifier(stumps, random_state=0).fit(X, y)
    >>> vote.weights_.round(2), round(vote.certificate_.bound, 3), round(1 - vote.score(X, y), 3)
    (array([0.13, 0.16, 0.43, 0.29]), 0.294, 0.084)
    """

    rules: list[Any] | None = None  # classifiers of any library, or functions
    _: KW_ONLY
    estimator: InnerEstimator = None
    n_estimators: Count = 50
    objective: VoteObjective = "tandem"
    delta: OpenFraction = 0.05
    n_jobs: int | None = None
    random_state: Seed = None

    takes = Takes(huge=True)
    card = Card(
        applications=("classification",),
        use="A vote with a bound on its error that needs no other rows: rules that are known before, or many copies of "
        "an unstable learner such as a tree. With few rows the bound is large; accuracy is that of bagging.",
        steps=(
            "Fit copies of the learner to bootstrap samples, unless rules are given.",
            "Count errors of each rule, and joint errors of each two, on the rows that they did not see.",
            "Choose the weights that minimise the PAC-Bayes bound on the error of the vote.",
        ),
        source="Masegosa, Lorenzen, Igel & Seldin (2020); Germain et al. (2015)",
        see_also=("BaggingClassifier", "VotingClassifier", "GibbsClassifier"),
        variants=({"objective": "first order", "n_estimators": 5}, {"objective": "uniform", "n_estimators": 5}),
    )

    estimators_ = learned("rules")
    weights_ = learned("weights")

    @property
    def certificate_(self) -> Certificate:
        """Bounds on the error of the vote; `bound` is the least when each has a third of delta."""
        model: WeightedVote = self.model_

        def limits(delta: float) -> dict[str, float]:
            each = (model.errors.first_order, model.errors.tandem, model.errors.c_bound)
            return dict(zip(("first order", "tandem", "C-bound"), (f(model.weights, delta) for f in each), strict=True))

        return Certificate(
            risk=model.risk,
            bound=min(limits(self.delta / 3).values()),
            parts=limits(self.delta),
            n=model.rows,
            delta=self.delta,
            assumptions=(INDEPENDENT, FIXED if model.tests is None else SEEDED),
            rows="training",
        )

    def _fit(self, X: Table, y: Target, w: Weights) -> None:
        n = max(1, int(w.sum()))
        if self.rules is None:
            bagging = BaggingClassifier(
                self.estimator,
                self.n_estimators,
                voting="hard",
                n_jobs=self.n_jobs,
                random_state=self.random_state,
            )
            bagged = bagging.fit(X, y, None if (w == 1).all() else w).model_
            tests = SampleTests(bagged.bag, bagged.count, bagged.seeds)
            rules: Sequence[Any] = bagged.estimators
        else:
            rules, tests = self._given_rules(), None
        vote = WeightedVote(
            rules=tuple(rules),
            weights=np.full(len(rules), 1 / len(rules)),
            answers_are_codes=tests is not None,
            errors=VoterErrors.of(np.zeros((1, len(rules)))),
            risk=0.0,
            rows=n,
            tests=tests,
        )
        losses = (vote.answers(X, self.classes_) != y[:, None]).astype(float)
        errors = _tested(losses, w, tests)
        weights = learn_vote_weights(errors, self.objective, self.delta)
        vote = replace(vote, weights=weights, errors=errors)
        wrong = vote.shares(X, self.classes_).argmax(axis=1) != y
        self.model_ = replace(vote, risk=float(np.average(wrong, weights=w)))

    def _given_rules(self) -> list[Any]:
        if not self.rules:
            raise ParameterError("MajorityVoteClassifier: rules is empty; give rules, or None to fit copies")
        for i, rule in enumerate(self.rules):
            if not callable(rule) and not callable(getattr(rule, "predict", None)):
                raise ParameterError(
                    f"MajorityVoteClassifier: rules[{i}] must be a fitted classifier or a function; got {rule!r}"
                )
        return list(self.rules)

    def predict_proba(self, X: UserTable) -> Matrix:
        """The weight of the rules that answer each class."""
        return self._scores(self._admit(X))

    def _scores(self, X: Table) -> Matrix:
        return self.model_.shares(X, self.classes_).astype(X.dtype, copy=False)


def _tested(losses: Matrix, w: Weights, tests: SampleTests | None) -> VoterErrors:
    """On all rows, or on the units that each sample left out."""
    if tests is None:
        return VoterErrors.of(losses, row_weights=w)
    rows = tests.bag.unit_rows()
    single = len(rows) != len(w) or (w == 1).all()
    return VoterErrors.of(losses[rows], tests.unseen(), None if single else w[rows])


@find_voters.register
def _(model: MajorityVoteClassifier, X: Table, codes: Codes) -> Voters:
    vote: WeightedVote = model.model_
    losses = (vote.answers(X, model.classes_) != codes[:, None]).astype(float)
    if vote.tests is None:
        return Voters(losses, np.ones(losses.shape, dtype=bool), vote.weights)
    check_rows(type(model).__name__, vote.tests.bag, X, codes)
    unseen = np.empty(losses.shape, dtype=bool)
    unseen[vote.tests.bag.unit_rows()] = vote.tests.unseen()
    return Voters(losses, unseen, vote.weights)
