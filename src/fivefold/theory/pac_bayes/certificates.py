"""PAC-Bayes certificates of fitted models, for the registry of bounds.

A linear or kernel classifier is the majority vote of a Gaussian posterior (gibbs_posterior), whose size s is chosen on
the rows: the bound holds for all s at once. With e(x, y) the share of rules that err on a row and C = s^2 / 2,

    a drawn rule     err  <=  inverse KL(mean of e,    (C + ln(2 sqrt(n) / delta)) / n)
    the centre       err  <=  2 inverse KL(mean of e, ...)   or   4 inverse KL(mean of e^2, (2 C + ...) / n)

with half of delta for each of the last two. Forests and bagging are bounded by their voters (votes), networks with
random weights by draws (stochastic_rules).
"""

from __future__ import annotations

from collections.abc import Callable

import numpy as np

from fivefold.core.types import Codes, Mask, Matrix, Vector, Weights
from fivefold.theory.bounds import THE_MODEL, BoundCard, BoundValue, Case, NotApplicable, register
from fivefold.theory.pac_bayes.ensemble_voters import find_voters
from fivefold.theory.pac_bayes.gibbs_posterior import DrawsRules, gibbs_posterior
from fivefold.theory.pac_bayes.posterior_bounds import improved_kl_upper
from fivefold.theory.pac_bayes.stochastic_rules import StochasticRules, sampled_bound
from fivefold.theory.pac_bayes.votes import VoterErrors

SIZES = np.geomspace(0.3, 300.0, 25)  # |mu| of the posterior, of which the best is taken
FINER_SIZES = np.geomspace(0.75, 1.33, 9)  # relative to it, for a second look: neighbours are a factor of 1.33 apart
A_RULE = "a rule drawn from the posterior"
INDEPENDENT = "rows are independent and come from where new data will come from"
BEFORE = "columns, their scales, the kernel and its parameters were chosen without looking at the rows"
SEEDED = "the seed of the samples was not chosen by the result"
LEFT_OUT = (
    "a voter does not depend on the rows that its sample left out; in a forest of more than 255 rows their values, not "
    "their labels, have a part in the bins of the columns, which is neglected"
)
GAUSSIAN_SOURCE = "Langford & Shawe-Taylor (2002), PAC-Bayes & margins; McAllester (2003); Maurer (2004)"
VOTE_SOURCE = "Lorenzen, Igel & Seldin (2019); Masegosa, Lorenzen, Igel & Seldin (2020)"
VOTE_USE = "Forests and bagging with many rows: voters are tested on the rows that their samples left out."


def class_codes(case: Case) -> tuple[Codes, Mask]:
    """The number of each row's class among the model's classes, and which rows have a class it does not know."""
    classes = np.asarray(case.model.classes_)
    codes = np.searchsorted(classes, case.y).clip(0, len(classes) - 1)
    return codes, classes[codes] != case.y


@register(
    BoundCard(
        name="PAC-Bayes, Gaussian posterior",
        formula="KL(e, err) <= (|mu|^2 / 2 + ln(2 sqrt(n) / delta)) / n,  e = mean of Phi(-y mu'f / |f|)",
        rows="training",
        assumptions=(INDEPENDENT, BEFORE),
        use="Linear and kernel classifiers with wide margins. It bounds a rule drawn about the model, not the model: "
        "half of what the vote has to pay.",
        source=GAUSSIAN_SOURCE,
    )
)
def gaussian_posterior(case: Case, delta: float) -> BoundValue:
    """The Gibbs classifier about a linear or kernel classifier, or a GibbsClassifier itself."""
    own = isinstance(case.model, DrawsRules)

    def limits(errors: Matrix, complexities: Vector) -> Vector:
        return np.asarray(improved_kl_upper(errors[0], complexities, case.n, delta, exact_moment=True))

    value, details = _best_size(case, limits, powers=(1,), fixed=own)
    return BoundValue(value, THE_MODEL if own else A_RULE, details)


@register(
    BoundCard(
        name="PAC-Bayes, Gaussian vote",
        formula="err <= 2 KLinv(mean of e, C) or 4 KLinv(mean of e^2, 2 C),  e = Phi(-y mu'f / |f|),  C = |mu|^2 / 2",
        rows="training",
        assumptions=(INDEPENDENT, BEFORE),
        use="Linear and kernel classifiers with wide margins and many rows; loose by a factor of about two.",
        source=f"{GAUSSIAN_SOURCE}; Masegosa et al. (2020)",
    )
)
def gaussian_vote(case: Case, delta: float) -> BoundValue:
    """A linear or kernel classifier as the majority vote of the posterior about it."""
    if isinstance(case.model, DrawsRules):
        raise NotApplicable(f"{type(case.model).__name__} draws a rule for each row and is no vote of them")

    def limits(errors: Matrix, complexities: Vector) -> Vector:
        first = improved_kl_upper(errors[0], complexities, case.n, delta / 2, exact_moment=True)
        second = improved_kl_upper(errors[1], 2 * complexities, case.n, delta / 2, exact_moment=True)
        return np.minimum(2 * np.asarray(first), 4 * np.asarray(second))

    value, details = _best_size(case, limits, powers=(1, 2))
    return BoundValue(value, details=details)


@register(
    BoundCard(
        name="PAC-Bayes, first-order vote",
        formula="err <= 2 KLinv(mean error of voters on rows they did not see, ln(2 sqrt(n) / delta) / n)",
        rows="training",
        assumptions=(INDEPENDENT, SEEDED, LEFT_OUT),
        use=f"{VOTE_USE} Better than the tandem where voters err together, or rows are few.",
        source=VOTE_SOURCE,
    )
)
def first_order_vote(case: Case, delta: float) -> float:
    """Twice the error of a voter."""
    errors, weights = _voter_errors(case)
    return errors.first_order(weights, delta)


@register(
    BoundCard(
        name="PAC-Bayes, tandem vote",
        formula="err <= 4 KLinv(mean of joint errors of two voters on rows neither saw, ln(2 sqrt(m) / delta) / m)",
        rows="training",
        assumptions=(INDEPENDENT, SEEDED, LEFT_OUT),
        use=f"{VOTE_USE} Better than the first order where voters err on different rows.",
        source=VOTE_SOURCE,
    )
)
def tandem_vote(case: Case, delta: float) -> float:
    """Four times the joint error of two voters."""
    errors, weights = _voter_errors(case)
    return errors.tandem(weights, delta)


@register(
    BoundCard(
        name="C-bound",
        formula="err <= 1 - (1 - 2 g)^2 / (1 - 2 d),  g the error of a voter, d the probability that one of two errs",
        rows="training",
        assumptions=(INDEPENDENT, SEEDED, LEFT_OUT),
        use=f"{VOTE_USE} Better than the others where voters are weak and err on different rows.",
        source="Lacasse et al. (2006); Germain et al. (2015)",
    )
)
def c_bound_of_vote(case: Case, delta: float) -> float:
    """By the first two moments of the margin of the vote."""
    errors, weights = _voter_errors(case)
    return errors.c_bound(weights, delta)


@register(
    BoundCard(
        name="PAC-Bayes, sampled rules",
        formula="KL(e, err) <= (KL(Q, P) + ln(2 sqrt(n) / delta')) / n,  e from m drawn rules with ln(1 / delta'') / m",
        rows="training",
        assumptions=(INDEPENDENT, "the prior over weights does not depend on the rows"),
        use="Networks with random weights: models with `complexity` and `wrong`, as StochasticRules says.",
        source="Langford & Caruana (2002); Perez-Ortiz et al. (2021)",
    )
)
def sampled_rules(case: Case, delta: float) -> BoundValue:
    """A model that only draws rules and knows their KL."""
    if not isinstance(case.model, StochasticRules):
        raise NotApplicable(f"{type(case.model).__name__} does not draw rules: it has no `complexity` and `wrong`")
    codes, _ = class_codes(case)
    draws, seed = int(case.extra.get("draws", 1000)), int(case.extra.get("seed", 0))
    found = sampled_bound(case.model, case.X, codes, delta, draws=draws, seed=seed)
    details = {"Gibbs error at most": found.error_limit, "KL divergence": found.complexity}
    return BoundValue(found.bound, A_RULE, details)


def _voter_errors(case: Case) -> tuple[VoterErrors, Weights]:
    """Of the voters of a model, and their weights."""
    codes, unknown = class_codes(case)
    voters = find_voters(case.model, case.X, codes)
    losses = np.where(unknown[:, None], 1.0, voters.losses)
    return VoterErrors.of(losses, voters.unseen), voters.weights


def _best_size(
    case: Case, limits: Callable[[Matrix, Vector], Vector], powers: tuple[int, ...], *, fixed: bool = False
) -> tuple[float, dict[str, float]]:
    """The least limit over sizes of the posterior, or at its own if `fixed`; and the error and complexity there.

    `limits` takes means of powers of the error of drawn rules (powers, sizes) and complexities (sizes,).
    """
    posterior, (codes, unknown) = gibbs_posterior(case.model), class_codes(case)
    own = float(np.sqrt(2 * posterior.complexity))

    def evaluate(sizes: Vector) -> tuple[Vector, Matrix, Vector]:
        factors = (sizes / own).tolist() if own > 0 else [1.0]
        each = posterior.errors_at(case.X, codes, factors)
        means = np.array([[np.where(unknown, 1.0, e**power).mean() for power in powers] for e in each]).T
        complexities = np.array([posterior.scaled(factor).complexity for factor in factors])
        return limits(means, complexities), means, complexities

    if fixed:
        found, means, complexities = evaluate(np.array([own]))
    else:
        near = SIZES[int(np.argmin(evaluate(SIZES)[0]))] if own > 0 else 0.0
        found, means, complexities = evaluate(near * FINER_SIZES)
    best = int(np.argmin(found))
    return float(found[best]), {"Gibbs error": float(means[0, best]), "KL divergence": float(complexities[best])}
