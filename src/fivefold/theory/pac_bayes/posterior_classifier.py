"""Classifiers that are posteriors over rules, trained by their PAC-Bayes bound, with the certificate that comes of it.

The rows are divided at random: a prior is learned on one part, scaling of columns included, and the posterior by the
bound on the other part, from the prior. The certificate speaks of the Gibbs classifier, which draws a rule from the
posterior for each prediction. `predict` gives the answer of most rules; it errs only where at least half of them do, so
that its error is at most twice as large.

With several divisions the posterior is the mixture of one posterior per division, and every certificate is of the mean
of their errors (`fixed_rate`). The rate then comes from rows that are in the part of the prior in every division.
"""

from __future__ import annotations

from abc import abstractmethod
from dataclasses import KW_ONLY, dataclass
from typing import Any, Literal, Self

import numpy as np
from scipy.special import logsumexp, softmax
from sklearn.callback import with_callbacks

from fivefold.core.admission.takes import Takes
from fivefold.core.estimators.base import learned
from fivefold.core.estimators.params import Count, OpenFraction, Seed
from fivefold.core.estimators.supervised_learning import Classifier
from fivefold.core.random_state import check_random_state
from fivefold.core.types import Array, Codes, Indices, Labels, Matrix, Table, Target, UserTable, UserTarget, Weights
from fivefold.theory.bounds import BoundCard, BoundValue, Case, NotApplicable, register
from fivefold.theory.certificate import Certificate
from fivefold.theory.pac_bayes.fixed_rate import fixed_rate_upper
from fivefold.theory.pac_bayes.learned_prior import SCALES, expected_rate, learn_prior
from fivefold.theory.pac_bayes.posterior_bounds import improved_kl_upper
from fivefold.theory.pac_bayes.posterior_rules import FeatureSpace, Rule
from fivefold.theory.pac_bayes.posterior_training import (
    FAMILIES,
    PosteriorName,
    TrainedPosterior,
    train_at_rate,
    train_by_kl_form,
)

FIXED_RATE, KL_FORM = "PAC-Bayes, fixed rate", "PAC-Bayes, improved kl"
ROWS_ASSUMPTION = "the rows are independent and come from where new data will come from"
CERTIFICATE_ASSUMPTIONS = (
    ROWS_ASSUMPTION,
    "columns were neither chosen nor scaled by these rows before they came here",
)
RATE_SHARE = 0.75  # of the rows of a prior: those that all divisions share, for the rate


@register(
    BoundCard(
        name="PAC-Bayes, learned prior",
        formula="2 (1 - exp(-C error - (KL + ln(1/delta)) / n)) / (1 - exp(-C)),  error: that of the Gibbs classifier",
        rows="training",
        assumptions=CERTIFICATE_ASSUMPTIONS,
        use="For models that were trained by a PAC-Bayes bound; the factor 2 is the price of a vote in place of a "
        "random rule. The more accurate the prior, the tighter.",
        source="Catoni (2007); Ambroladze, Parrado-Hernandez & Shawe-Taylor (2007)",
    )
)
def _vote_bound(case: Case, delta: float) -> BoundValue:
    if not isinstance(case.model, PosteriorClassifier):
        raise NotApplicable(
            f"{type(case.model).__name__} has no posterior over rules with a prior from a part of the rows; "
            "PACBayesProbit and PACBayesKernelProbit have one"
        )
    model: PosteriorMixture = case.model.model_
    return BoundValue(2 * next(iter(model.bounds(delta).values())), details={"KL": model.complexity})


@dataclass(frozen=True)
class PosteriorMixture:
    """One posterior per division of the rows, in equal parts, and what their bound is made of."""

    family: PosteriorName
    rules: tuple[Rule, ...]  # the mean rule of each
    error: float  # Gibbs error on the rows of the bound, mean over the divisions
    complexity: float  # KL from the prior in nats, mean over the divisions
    n: int  # rows that each error is computed from
    rate: float | None  # None where the prior is zero
    dtype: Any

    def log_shares(self, X: Table) -> Matrix:
        """ln of the shares of rules that answer with each class (n, K)."""
        family = FAMILIES[self.family]
        logs = [family.log_shares(rule.features(X), rule.scores(X)) for rule in self.rules]
        return np.asarray(logsumexp(logs, axis=0) - np.log(len(self.rules)))

    def bounds(self, delta: float) -> dict[str, float]:
        """Of the Gibbs error, by each form; the first is the tighter one, settled before the rows were seen."""
        kl = {KL_FORM: float(improved_kl_upper(self.error, self.complexity, self.n, delta, exact_moment=True))}
        if self.rate is None:
            return kl
        bound = float(fixed_rate_upper(self.error, self.complexity, self.n, delta, self.rate))
        return {FIXED_RATE: min(1.0, bound)} | kl

    def certificate(self, risk: float, delta: float, factor: float, predictor: str) -> Certificate:
        """Of a predictor whose error is at most `factor` times that of the Gibbs classifier."""
        parts = {name: min(1.0, factor * value) for name, value in self.bounds(delta).items()}
        return Certificate(
            risk=risk, bound=next(iter(parts.values())), parts=parts, n=self.n, delta=delta,
            assumptions=CERTIFICATE_ASSUMPTIONS, rows="training", predictors=dict.fromkeys(parts, predictor),
        )  # fmt: skip


class PosteriorClassifier(Classifier):
    """What posteriors over rules share.

    Parameters
    ----------
    prior
        "learned" on a part of the rows, or "zero": centred at no preference, with columns as they are.
    prior_fraction
        share of the rows that a learned prior is learned on; the bound is evaluated on the others.
    n_divisions
        random divisions of the rows into these two parts; the posterior is the mixture of one per division.
    delta
        probability that the certificate is wrong.
    random_state
        seed of the divisions.

    Attributes
    ----------
    certificate_
        of the Gibbs classifier, `predict_gibbs`: its error on new data is below `certificate_.bound` with probability
        1 - delta.
    vote_certificate_
        of `predict`: twice that bound.
    gibbs_error_, complexity_
        error of the Gibbs classifier on the rows of the bound and KL from the prior, means over the divisions.
    rate_
        of the bound, fixed by the rows of the prior; None for the zero prior, whose certificate is in the kl form.
    """

    prior: Literal["learned", "zero"] = "learned"
    _: KW_ONLY
    prior_fraction: OpenFraction = 0.5
    n_divisions: Count = 4
    delta: OpenFraction = 0.05
    random_state: Seed = None

    takes = Takes(one_class=False)

    gibbs_error_ = learned("error")
    complexity_ = learned("complexity")
    rate_ = learned("rate")

    @abstractmethod
    def _space(self, X: Table, prior_rows: Indices | None) -> FeatureSpace:
        """Features of all rows; whatever they depend on comes from the prior's rows, or from nothing."""

    @property
    def _family(self) -> PosteriorName:
        return "gaussian"

    @with_callbacks
    def fit(self, X: UserTable, y: UserTarget) -> Self:
        """Learn from rows and their labels; a bound counts independent rows, so there are no weights."""
        return self._fit_admitted(X, y, None)

    def _fit(self, X: Table, y: Target, w: Weights) -> None:
        name = type(self).__name__
        codes = np.asarray(y)
        if self.prior == "zero":
            space, found = self._from_zero(X, codes)
            self._keep(X, codes, [space.rule(found.mean)], [found], len(X), None)
            return
        size = round(self.prior_fraction * len(X))
        if not 0 < size < len(X):
            raise ValueError(
                f"{name}: prior_fraction={self.prior_fraction} of {len(X)} rows leaves {size} for the prior and "
                f'{len(X) - size} for the bound; both need rows. Give more rows, or prior="zero"'
            )
        self._from_divisions(X, codes, size)

    def _from_zero(self, X: Table, codes: Codes) -> tuple[FeatureSpace, TrainedPosterior]:
        """All rows are for the bound, which no rate was fixed for."""
        space, family = self._space(X, None), FAMILIES[self._family]
        guess = learn_prior(family, space.Z, codes, len(self.classes_)).mean
        length = float(np.linalg.norm(guess)) or 1.0
        starts = [scale / length * guess for scale in SCALES]
        return space, train_by_kl_form(family, space.Z, codes, np.zeros_like(guess), starts, self.delta)

    def _from_divisions(self, X: Table, codes: Codes, size: int) -> None:
        family, n, K = FAMILIES[self._family], len(X), len(self.classes_)
        rng = check_random_state(self.random_state)
        order = rng.permutation(n)
        common = size if self.n_divisions == 1 else max(1, round(RATE_SHARE * size))
        rate = None
        if common < size:
            Z = self._space(X[order[:common]], np.arange(common)).Z
            rate = expected_rate(learn_prior(family, Z, codes[order[:common]], K), common, n - size, self.delta)
        rules, found = [], []
        for _ in range(self.n_divisions):
            rows = np.concatenate([order[:common], rng.permutation(order[common:])])
            before, after = rows[:size], rows[size:]
            space = self._space(X, before)
            part = self._space(X[before], np.arange(size))  # nothing of the prior depends on the other rows
            prior = learn_prior(family, part.Z, codes[before], K)
            if rate is None:
                rate = expected_rate(prior, size, n - size, self.delta)
            mean = space.lift(part, before, prior.mean)
            found.append(train_at_rate(family, space.Z[after], codes[after], mean, rate))
            rules.append(space.rule(found[-1].mean))
        self._keep(X, codes, rules, found, n - size, rate)

    def _keep(
        self, X: Table, codes: Codes, rules: list[Rule], found: list[TrainedPosterior], n: int, rate: float | None
    ) -> None:
        """The mixture and its certificates."""
        error, complexity = (float(np.mean([getattr(q, part) for q in found])) for part in ("error", "complexity"))
        self.model_ = PosteriorMixture(self._family, tuple(rules), error, complexity, n, rate, X.dtype)
        risk = float((self._scores(X).argmax(axis=1) != codes).mean())
        self.certificate_ = self.model_.certificate(error, self.delta, 1.0, "a rule drawn from the posterior")
        self.vote_certificate_ = self.model_.certificate(risk, self.delta, 2.0, "the vote of the posterior")

    def decision_function(self, X: UserTable) -> Array:
        """ln of the share of rules that answer with each class (n, K); of two, the second less the first (n,)."""
        logs = self.model_.log_shares(self._admit(X))
        found = logs[:, 1] - logs[:, 0] if logs.shape[1] == 2 else logs
        return np.asarray(found.astype(self.model_.dtype, copy=False))

    def predict_proba(self, X: UserTable) -> Matrix:
        """Shares of rules that answer with each class (n, K); they are votes, not calibrated probabilities."""
        return np.asarray(softmax(self.model_.log_shares(self._admit(X)), axis=1).astype(self.model_.dtype, copy=False))

    def predict_gibbs(self, X: UserTable, *, random_state: Seed = None) -> Labels:
        """The answer of a rule that is drawn from the posterior for each row: what `certificate_` speaks of."""
        ends = softmax(self.model_.log_shares(self._admit(X)), axis=1).cumsum(axis=1)
        draws = check_random_state(random_state).uniform(size=(len(ends), 1))
        return self.classes_[(draws >= ends[:, :-1]).sum(axis=1)]

    def _scores(self, X: Table) -> Matrix:
        return self.model_.log_shares(X)
