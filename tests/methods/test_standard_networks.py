"""Naive Bayes, hidden Markov chains and diagnosis as networks, beside the specialised methods; advice on networks."""

from itertools import product

import numpy as np
import pytest

from fivefold.graphical import (
    BayesianNetwork,
    diagnosis_network,
    hidden_markov_network,
    naive_bayes_network,
    network_warnings,
)
from fivefold.graphical.network_advice import STEPS
from fivefold.inference.chains.chain import Chain
from fivefold.inference.chains.forward_backward import forward_backward
from fivefold.naive_bayes import CategoricalNB


def test_posteriors_of_a_hidden_markov_network_are_those_of_forward_and_backward():
    rng = np.random.RandomState(0)
    start, transition, emission = rng.dirichlet(np.ones(3)), rng.dirichlet(np.ones(3), 3), rng.dirichlet(np.ones(4), 3)
    seen = rng.randint(0, 4, 12)
    network = hidden_markov_network(start, transition, emission, 12)
    given = {f"x{t + 1}": int(x) for t, x in enumerate(seen)}
    chain = Chain(np.log(start), np.log(transition), np.log(emission.T[seen]), np.array([0, 12]))
    found = forward_backward(chain)
    every = network.marginals(given)
    for t in range(12):
        assert every[f"z{t + 1}"].table == pytest.approx(found.marginals[t])
    assert every["z1"].log_evidence == pytest.approx(float(found.log_partition[0]))


def test_a_star_answers_as_naive_bayes_predicts():
    rng = np.random.RandomState(0)
    X, y = rng.randint(0, 3, (200, 4)), rng.randint(0, 2, 200)
    X[:, 0] = np.where(rng.random_sample(200) < 0.7, y, X[:, 0])
    model = CategoricalNB().fit(X, y)
    names = ["a", "b", "c", "d"]
    tables = {name: np.exp(logs) for name, logs in zip(names, model.feature_log_prob_, strict=True)}
    network = naive_bayes_network(np.exp(model.class_log_prior_), tables, target="y")
    for row, p in zip(X[:10], model.predict_proba(X[:10]), strict=True):
        given = {name: int(x) for name, x in zip(names, row, strict=True)}
        assert network.query("y", given).table == pytest.approx(p)


def test_diseases_given_some_of_the_findings():
    diseases = {"flu": 0.05, "cold": 0.2, "allergy": 0.1}
    findings = {"fever": {"flu": 0.9, "cold": 0.2}, "sneezing": {"cold": 0.7, "allergy": 0.8}, "rash": {"allergy": 0.3}}
    leaks = {"fever": 0.01, "sneezing": 0.05}
    network = diagnosis_network(diseases, findings, leaks)
    weights = dict.fromkeys(diseases, 0.0)
    total = 0.0
    for present in product((0, 1), repeat=3):
        ill = dict(zip(diseases, present, strict=True))
        p = np.prod([diseases[d] if ill[d] else 1 - diseases[d] for d in diseases])
        fever = 1 - (1 - leaks["fever"]) * np.prod([1 - s * ill[d] for d, s in findings["fever"].items()])
        sneezing = 1 - (1 - leaks["sneezing"]) * np.prod([1 - s * ill[d] for d, s in findings["sneezing"].items()])
        p *= fever * (1 - sneezing)
        total += p
        for d in diseases:
            weights[d] += p * ill[d]
    found = network.marginals({"fever": "yes", "sneezing": "no"})
    for d in diseases:
        assert found[d]["yes"] == pytest.approx(weights[d] / total)


def test_advice_names_zeros_large_tables_and_idle_edges():
    assert any("probability zero" in step for step in STEPS)
    clean = BayesianNetwork.from_tables({"a": [0.5, 0.5], "b": [[0.1, 0.9], [0.2, 0.8]]}, {"b": ["a"]})
    assert network_warnings(clean) == []
    names = [f"p{i}" for i in range(11)]
    tables = {name: [0.5, 0.5] for name in names} | {"wide": np.full((2,) * 12, 0.5), "only": [1.0], "zero": [0.0, 1.0]}
    text = "\n".join(network_warnings(BayesianNetwork.from_tables(tables, {"wide": names})))
    for part in ("2,048 rows", "'wide' are equal", "'only' has one state", "probability 0 to zero=0"):
        assert part in text
