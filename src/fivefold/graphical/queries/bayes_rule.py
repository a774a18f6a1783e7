"""Bayes' rule with its parts by name.

P(h | e) = P(e | h) P(h) / P(e):   posterior = likelihood * prior / evidence

Products of many likelihoods leave the range of floating-point numbers, so that hypotheses are compared by logarithms.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import NamedTuple

import numpy as np
from numpy.typing import ArrayLike
from scipy.special import logsumexp

from fivefold.core.types import Doubles
from fivefold.graphical.assignments import assignment_text
from fivefold.graphical.queries.posterior import Posterior
from fivefold.graphical.variables import Evidence, State


class BayesRule(NamedTuple):
    """The parts of Bayes' rule, per state of the hypothesis."""

    prior: Doubles
    likelihood: Doubles  # P(evidence | state); 0 for a state of probability zero
    evidence: float  # P(evidence), the sum of likelihood * prior
    posterior: Doubles


def bayes_rule(joint: Posterior, hypothesis: str, evidence: Evidence) -> BayesRule:
    """The parts of Bayes' rule for one variable of a joint table, given states of others.

    >>> from fivefold.graphical import Variables
    >>> health = Variables(("ill", "test"), (("no", "yes"), ("negative", "positive")))
    >>> joint = Posterior(health, np.array([[0.891, 0.099], [0.001, 0.009]]))
    >>> rule = bayes_rule(joint, "ill", {"test": "positive"})
    >>> rule.prior, rule.likelihood, round(rule.evidence, 3)
    (array([0.99, 0.01]), array([0.1, 0.9]), 0.108)
    >>> rule.posterior.round(4)
    array([0.9167, 0.0833])
    """
    codes = joint.variables.codes_of(evidence)
    if joint.variables.index(hypothesis) in codes:
        raise ValueError(f"{hypothesis!r} is the hypothesis, so its state cannot be evidence; leave it out of evidence")
    table = joint.marginal(hypothesis, *evidence).table
    prior = table.reshape(len(table), -1).sum(axis=1)
    at: tuple[slice | int, ...] = (slice(None), *codes.values())
    both = np.asarray(table[at])
    if not (total := float(both.sum())):
        raise ValueError(f"the evidence {assignment_text(evidence)} has probability zero in this table")
    likelihood = np.divide(both, prior, out=np.zeros_like(both), where=prior > 0)
    return BayesRule(prior, likelihood, total, both / total)


class BeliefUpdate(NamedTuple):
    """Bayes' rule for a list of causes, in logarithms."""

    causes: tuple[State, ...]
    prior: Doubles
    log_likelihood: Doubles
    log_evidence: float
    posterior: Doubles

    def __str__(self) -> str:
        width = max(len(str(cause)) for cause in self.causes)
        rows = zip(self.causes, self.prior, self.log_likelihood, self.posterior, strict=True)
        return "\n".join([
            f"{'':<{width}}  prior     log likelihood  posterior",
            *(f"{cause!s:<{width}}  {p:<8.6g}  {l:<14.6g}  {q:.6g}" for cause, p, l, q in rows),
            f"log evidence {self.log_evidence:.6g}",
        ])  # fmt: skip


def update_beliefs(
    prior: Mapping[State, float] | Sequence[float],
    likelihood: ArrayLike | None = None,
    *,
    log_likelihood: ArrayLike | None = None,
) -> BeliefUpdate:
    """The posterior of causes from their prior and the likelihood of the evidence under each, or its logarithm.

    Likelihoods of independent pieces of evidence come in rows (pieces, causes), and are multiplied.

    >>> found = update_beliefs({"fair": 0.5, "two heads": 0.5}, [[0.5, 1.0]] * 3)
    >>> found.posterior.round(6), round(float(np.exp(found.log_evidence)), 6)
    (array([0.111111, 0.888889]), 0.5625)
    """
    causes = tuple(prior) if isinstance(prior, Mapping) else tuple(range(len(prior)))
    p = np.asarray(list(prior.values()) if isinstance(prior, Mapping) else prior, dtype=float)
    if p.ndim != 1 or not (p >= 0).all() or not np.isclose(p.sum(), 1):
        raise ValueError(f"prior must be probabilities with sum 1; got {p.tolist()}")
    if (likelihood is None) == (log_likelihood is None):
        raise ValueError("give likelihood or log_likelihood, one of them")
    with np.errstate(divide="ignore"):
        if likelihood is not None and not (np.asarray(likelihood, dtype=float) >= 0).all():
            raise ValueError("likelihoods must be numbers of at least 0")
        logs = np.log(np.asarray(likelihood, dtype=float)) if likelihood is not None else np.asarray(log_likelihood)
        logs = np.atleast_2d(logs).astype(float)
        if logs.shape[1] != len(p):
            raise ValueError(f"one likelihood per cause, {len(p)}; got {logs.shape[1]}")
        joint = np.log(p) + logs.sum(axis=0)
    evidence = float(logsumexp(joint))
    if evidence == -np.inf:
        raise ValueError("the evidence has probability zero under every cause")
    return BeliefUpdate(causes, p, logs.sum(axis=0), evidence, np.exp(joint - evidence))
