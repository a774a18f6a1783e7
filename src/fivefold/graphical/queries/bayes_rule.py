"""Bayes' rule with its parts by name.

P(h | e) = P(e | h) P(h) / P(e):   posterior = likelihood * prior / evidence
"""

from __future__ import annotations

from typing import NamedTuple

import numpy as np

from fivefold.core.types import Doubles
from fivefold.graphical.assignments import assignment_text
from fivefold.graphical.queries.posterior import Posterior
from fivefold.graphical.variables import Evidence


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
