"""Networks of discrete and real variables, beside sums and integrals written out, and beside naive Bayes."""

import numpy as np
import pytest
from scipy.stats import multivariate_normal, norm
from sklearn.datasets import load_iris
from sklearn.naive_bayes import GaussianNB

from fivefold.graphical import BayesianNetwork, ConditionalGaussian, DirectedGraph, MixedNetwork


@pytest.fixture
def model():
    discrete = BayesianNetwork.from_tables(
        {"a": [0.3, 0.7], "b": [[0.8, 0.2], [0.4, 0.6]], "c": [0.5, 0.5]}, {"b": ["a"]}
    )
    real = {
        "x": ConditionalGaussian(("b",), (), [0.0, 2.0], (), [1.0, 0.5]),
        "y": ConditionalGaussian(("c",), ("x",), [1.0, -1.0], [[2.0], [0.5]], 0.3),
        "z": ConditionalGaussian((), (), 5.0, (), 2.0),
    }
    return MixedNetwork(discrete, real)


def cases(model):
    """Every state of the discrete variables: its probability, and mean and covariance of (x, y)."""
    for a, b, c in np.ndindex(2, 2, 2):
        p = model.discrete.joint_probability({"a": a, "b": b, "c": c})
        mx, vx = [0.0, 2.0][b], [1.0, 0.5][b]
        k, w = [1.0, -1.0][c], [2.0, 0.5][c]
        yield (a, b, c), p, np.array([mx, k + w * mx]), np.array([[vx, w * vx], [w * vx, w * w * vx + 0.3]])


def test_discrete_variables_given_real_ones(model):
    found = {name: np.zeros(2) for name in "abc"}
    for states, p, mean, cov in cases(model):
        weight = p * norm.pdf(1.3, mean[1], np.sqrt(cov[1, 1]))
        for name, state in zip("abc", states, strict=True):
            found[name][state] += weight
    for name in "abc":
        answer = model.query(name, {"y": 1.3})
        assert answer.table == pytest.approx(found[name] / found[name].sum())
        assert np.exp(answer.log_evidence) == pytest.approx(found[name].sum())
    assert model.query("a", {"b": 1, "z": 4.0}).table == pytest.approx(model.discrete.query("a", {"b": 1}).table)


def test_real_variables_given_both_kinds(model):
    places = np.linspace(-6, 8, 4001)
    density = np.zeros_like(places)
    for states, p, mean, cov in cases(model):
        if states[2] == 1:
            density += p * np.exp(multivariate_normal(mean, cov).logpdf(np.column_stack([places, np.full(4001, 0.4)])))
    step = places[1] - places[0]
    answer = model.query("x", {"y": 0.4, "c": 1})
    assert np.exp(answer.log_evidence) == pytest.approx(density.sum() * step, rel=1e-6)
    density /= density.sum() * step
    assert answer.mean == pytest.approx((places * density).sum() * step, abs=1e-6)
    assert answer.density(places) == pytest.approx(density, abs=1e-6)
    assert "p(x | y=0.4, c=1): mean" in str(answer)
    assert model.query("z", {"y": 0.4}).mean == pytest.approx(5.0)


def test_draws_have_the_moments_and_densities_are_sums_of_logs(model):
    drawn = model.sample(40_000, 0)
    for name in "xyz":
        answer = model.query(name)
        assert np.mean(drawn[name]) == pytest.approx(answer.mean, abs=4 * np.sqrt(answer.variance / 40_000))
        assert np.var(drawn[name]) == pytest.approx(answer.variance, rel=0.05)
    rows = {name: values[:3] for name, values in drawn.items()}
    expected = []
    for i in range(3):
        row = {name: values[i] for name, values in rows.items()}
        (log,) = (
            np.log(p) + multivariate_normal(m, S).logpdf([row["x"], row["y"]])
            for states, p, m, S in cases(model)
            if states == (row["a"], row["b"], row["c"])
        )
        expected.append(log + norm.logpdf(row["z"], 5.0, np.sqrt(2.0)))
    assert model.log_joint(rows) == pytest.approx(expected)


def test_a_fit_recovers_the_numbers_and_a_star_is_gaussian_naive_bayes(model):
    found = MixedNetwork.fit(model.sample(60_000, 1), model.graph, "xyz")
    assert found.real["y"].weights == pytest.approx(model.real["y"].weights, abs=0.02)
    assert found.real["x"].variances == pytest.approx(model.real["x"].variances, abs=0.02)
    assert found.discrete.table("b") == pytest.approx(model.discrete.table("b"), abs=0.02)
    X, y = load_iris(return_X_y=True)
    names = ["sl", "sw", "pl", "pw"]
    star = DirectedGraph.from_edges([("species", name) for name in names])
    network = MixedNetwork.fit({"species": y.tolist(), **dict(zip(names, X.T, strict=True))}, star, names)
    rival = GaussianNB(var_smoothing=0).fit(X, y)
    for row in X[::30]:
        answer = network.query("species", dict(zip(names, row, strict=True)))
        assert answer.table == pytest.approx(rival.predict_proba(row[None])[0], abs=1e-9)


def test_what_is_no_mixed_network_is_refused(model):
    discrete = model.discrete
    with pytest.raises(ValueError, match="variances of 'x' must be positive"):
        MixedNetwork(discrete, {"x": ConditionalGaussian(variances=0.0)})
    with pytest.raises(ValueError, match="shape of its discrete parents"):
        MixedNetwork(discrete, {"x": ConditionalGaussian(("a",), intercepts=[1.0, 2.0, 3.0])})
    with pytest.raises(ValueError, match="both a discrete and a real"):
        MixedNetwork(discrete, {"a": ConditionalGaussian()})
    with pytest.raises(ValueError, match="'x' is asked for and given"):
        model.query("x", {"x": 1.0})
    with pytest.raises(ValueError, match="discrete variable 'd' has the real parent 'x'"):
        MixedNetwork.fit({}, DirectedGraph.from_edges([("x", "d")]), ["x"])
