"""Networks of a standard form: naive Bayes, hidden Markov chains, and diagnosis by noisy-or.

    naive Bayes      class -> every feature
    hidden Markov    z1 -> z2 -> ... -> zT,   zt -> xt
    diagnosis        diseases -> findings, each finding a noisy-or of its causes

Inference in these networks gives what the specialised methods give; findings that are not known are left out.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import Any

import numpy as np
from numpy.typing import ArrayLike

from fivefold.graphical.bayesian_network import BayesianNetwork
from fivefold.graphical.parameters.canonical_tables import noisy_or
from fivefold.graphical.variables import State

PRESENCE = ("no", "yes")  # states of diseases and findings


def naive_bayes_network(
    class_prior: ArrayLike,
    features: Mapping[str, ArrayLike],
    *,
    target: str = "class",
    states: Mapping[str, Sequence[State]] | None = None,
) -> BayesianNetwork:
    """A star: `features` holds P(feature | class), (classes, levels), by name.

    Examples
    --------
    >>> spam = naive_bayes_network([0.7, 0.3], {"offer": [[0.9, 0.1], [0.4, 0.6]]})
    >>> spam.query("class", {"offer": 1}).table
    array([0.28, 0.72])
    """
    return BayesianNetwork.from_tables({target: class_prior, **features}, dict.fromkeys(features, (target,)), states)


def hidden_markov_network(start: ArrayLike, transition: ArrayLike, emission: ArrayLike, steps: int) -> BayesianNetwork:
    """A hidden Markov chain of this many steps, rows of `transition` and `emission` by the present state.

    States are z1, z2, ..., what is observed of them x1, x2, ...

    Examples
    --------
    >>> chain = hidden_markov_network([0.5, 0.5], [[0.9, 0.1], [0.1, 0.9]], [[0.8, 0.2], [0.3, 0.7]], 3)
    >>> chain.query("z2", {"x1": 0, "x2": 0, "x3": 1}).table.round(4)
    array([0.6873, 0.3127])
    """
    if steps < 1:
        raise ValueError(f"a chain has at least one step; got {steps}")
    tables: dict[str, Any] = {"z1": start} | {f"z{t}": transition for t in range(2, steps + 1)}
    parents = {f"z{t}": (f"z{t - 1}",) for t in range(2, steps + 1)} | {
        f"x{t}": (f"z{t}",) for t in range(1, steps + 1)
    }
    return BayesianNetwork.from_tables(tables | {f"x{t}": emission for t in range(1, steps + 1)}, parents)


def diagnosis_network(
    diseases: Mapping[str, float],
    findings: Mapping[str, Mapping[str, float]],
    leaks: Mapping[str, float] | None = None,
) -> BayesianNetwork:
    """Diseases with their prevalence; findings with the strength of each disease that causes them.

    A finding is present with probability 1 - (1 - leak) prod of (1 - strength) over the diseases that are.

    Examples
    --------
    >>> network = diagnosis_network({"flu": 0.1, "cold": 0.3}, {"fever": {"flu": 0.9, "cold": 0.2}}, {"fever": 0.01})
    >>> round(network.query("flu", {"fever": "yes"})["yes"], 4)
    0.5922
    """
    tables: dict[str, Any] = {name: np.array([1 - p, p]) for name, p in diseases.items()}
    for name, causes in findings.items():
        tables[name] = noisy_or(tuple(causes.values()), (leaks or {}).get(name, 0.0))
    parents = {name: tuple(causes) for name, causes in findings.items()}
    return BayesianNetwork.from_tables(tables, parents, dict.fromkeys(tables, PRESENCE))
