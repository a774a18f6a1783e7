"""Linear-Gaussian networks beside the dense joint Gaussian, and Bayesian linear regression as one of them."""

import numpy as np
import pandas as pd
import polars as pl
import pytest
from scipy.stats import multivariate_normal

from fivefold.graphical import LinearGaussian, LinearGaussianNetwork
from fivefold.linear_model import BayesianLinearRegression, Ridge

NODES = {
    "a": LinearGaussian(intercept=1.0, variance=2.0),
    "b": LinearGaussian({"a": -0.5}, 0.3, 0.7),
    "c": LinearGaussian({"a": 1.5, "b": 2.0}, -1.0, 0.4),
    "d": LinearGaussian({"c": 0.1}, 0.0, 3.0),
}


def joint(network):
    d = len(network.nodes)
    B = np.zeros((d, d))
    for i, (above, a) in enumerate(zip(network.parents, network.weights, strict=True)):
        B[i, list(above)] = a
    root = np.linalg.inv(np.eye(d) - B)
    return root @ network.intercepts, root @ np.diag(network.variances) @ root.T


def test_the_marginal_of_linear_gaussian_nodes_is_gaussian():
    network = LinearGaussianNetwork.from_nodes(NODES)
    mean, P = joint(network)
    np.testing.assert_allclose(network.mean, mean, rtol=1e-12)
    np.testing.assert_allclose(network.covariance, P, rtol=1e-12)
    rng = np.random.default_rng(0)
    x = rng.normal(size=(6, 4))
    np.testing.assert_allclose(network.log_joint(x), multivariate_normal(mean, P).logpdf(x), rtol=1e-10)
    drawn = np.column_stack(list(network.sample(200_000, random_state=0).values()))
    error = 4 * np.sqrt((np.outer(np.diag(P), np.diag(P)) + P**2) / 200_000)  # of four standard errors
    assert (np.abs(np.cov(drawn.T) - P) < error).all()


def test_queries_condition_the_joint_in_any_direction():
    network = LinearGaussianNetwork.from_nodes(NODES)
    mean, P = joint(network)
    seen, asked = [3, 1], [2, 0]
    x = np.array([2.0, -0.4])
    gain = P[np.ix_(asked, seen)] @ np.linalg.inv(P[np.ix_(seen, seen)])
    found = network.query(["c", "a"], given={"d": 2.0, "b": -0.4})
    np.testing.assert_allclose(found.mean, mean[asked] + gain @ (x - mean[seen]), rtol=1e-10)
    np.testing.assert_allclose(found.covariance, P[np.ix_(asked, asked)] - gain @ P[np.ix_(seen, asked)], rtol=1e-10)
    np.testing.assert_allclose(
        found.log_evidence, multivariate_normal(mean[seen], P[np.ix_(seen, seen)]).logpdf(x), rtol=1e-10
    )
    each = network.query_all({"d": 2.0, "b": -0.4})
    assert set(each) == {"a", "c"}
    np.testing.assert_allclose([each["c"].mean[0], each["a"].mean[0]], found.mean, rtol=1e-10)


@pytest.mark.parametrize("kind", [pd.DataFrame, pl.DataFrame, dict, lambda c: np.column_stack(list(c.values()))])
def test_least_squares_is_maximum_likelihood(kind):
    truth = LinearGaussianNetwork.from_nodes(NODES)
    columns = truth.sample(500, random_state=1)
    parents = {name: tuple(node.weights) for name, node in NODES.items()}
    fitted = LinearGaussianNetwork.fit(kind(columns), parents)
    best = fitted.log_joint(kind(columns)).sum()
    assert best > truth.log_joint(columns).sum()
    for i in range(4):
        for field in ("intercepts", "variances"):
            for step in (0.999, 1.001):
                moved = getattr(fitted, field).copy()
                moved[i] *= step
                other = LinearGaussianNetwork(
                    **{
                        name: moved if name == field else getattr(fitted, name)
                        for name in ("nodes", "parents", "weights", "intercepts", "variances")
                    }
                )
                assert other.log_joint(columns).sum() < best
    twice = LinearGaussianNetwork.fit({k: v[:50] for k, v in columns.items()}, parents, sample_weight=np.full(50, 2.0))
    again = LinearGaussianNetwork.fit({k: np.tile(v[:50], 2) for k, v in columns.items()}, parents)
    np.testing.assert_allclose(twice.variances, again.variances, rtol=1e-12)
    np.testing.assert_allclose(twice.mean, again.mean, rtol=1e-12)


def test_bayesian_linear_regression_is_the_plate_model():
    """Weights w ~ N(0, 1 / alpha) are parents of every answer r ~ N(w'x, 1 / beta), and of the new one."""
    rng = np.random.default_rng(2)
    X, new = rng.normal(size=(6, 2)), np.array([0.7, -1.2])
    r = X @ [1.0, -2.0] + 0.3 * rng.normal(size=6)
    alpha, beta = 0.5, 4.0
    nodes = {f"w{j}": LinearGaussian(variance=1 / alpha) for j in range(2)}
    for i, x in enumerate([*X, new]):
        nodes[f"r{i}"] = LinearGaussian({"w0": x[0], "w1": x[1]}, 0.0, 1 / beta)
    network = LinearGaussianNetwork.from_nodes(nodes)
    given = {f"r{i}": value for i, value in enumerate(r)}
    model = BayesianLinearRegression(alpha=alpha, beta=beta, fit_intercept=False).fit(X, r)
    mean, std = model.predict(new[None], return_std=True)
    answer = network.query("r6", given)
    np.testing.assert_allclose([answer.mean[0], np.sqrt(answer.covariance[0, 0])], [mean[0], std[0]], rtol=1e-10)
    posterior = network.query(["w0", "w1"], given)
    np.testing.assert_allclose(posterior.mean, model.coef_, rtol=1e-10)
    S = np.linalg.inv(alpha * np.eye(2) + beta * X.T @ X)
    np.testing.assert_allclose(posterior.covariance, S, rtol=1e-10)
    np.testing.assert_allclose(
        Ridge(alpha=alpha / beta, fit_intercept=False).fit(X, r).coef_, posterior.mean, rtol=1e-9
    )
    flat = BayesianLinearRegression(alpha=1e-12, beta=beta, fit_intercept=False).fit(X, r)
    np.testing.assert_allclose(flat.coef_, np.linalg.lstsq(X, r, rcond=None)[0], rtol=1e-9)


def test_wrong_networks_and_queries_are_refused_in_words():
    with pytest.raises(ValueError, match="the graph has a cycle"):
        LinearGaussianNetwork.from_nodes({"a": LinearGaussian({"b": 1.0}), "b": LinearGaussian({"a": 1.0})})
    with pytest.raises(ValueError, match="node 'a' has parent 'z', which is no node"):
        LinearGaussianNetwork.from_nodes({"a": LinearGaussian({"z": 1.0})})
    with pytest.raises(ValueError, match="variance of 'a' given its parents is 0"):
        LinearGaussianNetwork.from_nodes({"a": LinearGaussian(variance=0.0)})
    network = LinearGaussianNetwork.from_nodes(NODES)
    with pytest.raises(ValueError, match="there is no variable 'e'"):
        network.query("a", given={"e": 1.0})
    with pytest.raises(ValueError, match="'a' is asked for and given"):
        network.query("a", given={"a": 1.0})
    with pytest.raises(ValueError, match="the table has no column 'b'"):
        network.log_joint({"a": [1.0]})
    with pytest.raises(ValueError, match="row 1: 'a' is nan"):
        LinearGaussianNetwork.fit(np.array([[1.0], [np.nan]]), {"a": ()})
    with pytest.raises(ValueError, match="'b' is an exact linear function of its parents"):
        LinearGaussianNetwork.fit(np.array([[1.0, 2.0], [2.0, 4.0], [3.0, 6.0]]), {"a": (), "b": ("a",)})
    assert "c = -1 + 1.5 a + 2 b + N(0, 0.4)" in str(network)
