"""What every model of an output's noise must satisfy: minus its log-likelihood is the named loss, up to a constant."""

import numpy as np
import pytest
from numpy.testing import assert_allclose
from scipy.special import softmax
from scipy.stats import bernoulli, multinomial, multivariate_normal, norm

from fivefold.optim.losses.likelihood_losses import SoftmaxLoss
from fivefold.optim.losses.margin_losses import LogLoss
from fivefold.optim.losses.output_noise import NOISES, BernoulliOutput, GaussianOutput, MixtureOutput, MultinomialOutput
from fivefold.optim.losses.regression_losses import SquaredLoss

N, H, K = 30, 3, 4


def example(name, rng):
    """A noise, targets, and two outputs for them."""
    gates = [softmax(rng.standard_normal((N, H)), axis=1) for _ in range(2)]
    probabilities = [softmax(rng.standard_normal((H, N, K)), axis=2) for _ in range(2)]
    codes = rng.randint(K, size=N)
    return {
        "bernoulli": (BernoulliOutput(), rng.randint(2, size=N), rng.uniform(0.05, 0.95, (2, N))),
        "multinomial": (MultinomialOutput(), codes, [P[0] for P in probabilities]),
        "gaussian": (GaussianOutput(1.7), rng.standard_normal(N), rng.standard_normal((2, N))),
        "gaussian of K outputs": (GaussianOutput(0.6), rng.standard_normal((N, K)), rng.standard_normal((2, N, K))),
        "mixture": (
            MixtureOutput(GaussianOutput(0.8)),
            rng.standard_normal((N, K)),
            [(g, rng.standard_normal((H, N, K))) for g in gates],
        ),
        "mixture of classes": (MixtureOutput(MultinomialOutput()), codes, list(zip(gates, probabilities, strict=True))),
    }[name]


CASES = ["bernoulli", "multinomial", "gaussian", "gaussian of K outputs", "mixture", "mixture of classes"]


@pytest.mark.parametrize("name", CASES)
def test_minus_the_log_likelihood_is_the_named_loss_up_to_a_constant(name):
    """E-348."""
    noise, t, outputs = example(name, np.random.RandomState(0))
    rest = [-noise.log_prob(t, y) - noise.loss(t, y) / noise.scale for y in outputs]
    assert_allclose(rest[0], rest[1], atol=1e-12)  # the same for other outputs
    assert_allclose(rest[0], noise.constant(t, outputs[0]), atol=1e-12)
    assert noise.loss_name in {
        "two-class cross-entropy", "cross-entropy", "squared error", "competitive loss",
    }  # fmt: skip


def test_densities_are_those_of_scipy():
    """E-348."""
    rng = np.random.RandomState(1)
    noise, t, (p, _) = example("bernoulli", rng)
    assert_allclose(noise.log_prob(t, p), bernoulli.logpmf(t, p))
    noise, t, (P, _) = example("multinomial", rng)
    assert_allclose(noise.log_prob(t, P), multinomial.logpmf(np.eye(K)[t], 1, P), atol=1e-12)
    noise, t, (y, _) = example("gaussian", rng)
    assert_allclose(noise.log_prob(t, y), norm.logpdf(t, y, 1.7))
    noise, T, (Y, _) = example("gaussian of K outputs", rng)
    assert_allclose(noise.log_prob(T, Y), [multivariate_normal.logpdf(a, b, 0.36) for a, b in zip(T, Y, strict=True)])
    noise, T, ((G, Ys), _) = example("mixture", rng)
    each = [[multivariate_normal.pdf(a, b, 0.64) for a, b in zip(T, Y, strict=True)] for Y in Ys]
    assert_allclose(noise.log_prob(T, (G, Ys)), np.log((G * np.transpose(each)).sum(axis=1)))


def test_losses_are_those_of_the_linear_predictor():
    """E-348: through the inverse link the loss is the one that linear models minimise."""
    rng = np.random.RandomState(2)
    eta, t = rng.standard_normal(N), rng.randint(2, size=N)
    assert isinstance(BernoulliOutput().predictor_loss, LogLoss)
    assert_allclose(BernoulliOutput().loss(t, LogLoss().inverse_link(eta)), LogLoss().value(2.0 * t - 1, eta))
    E, codes = rng.standard_normal((K, N)), rng.randint(K, size=N)
    assert isinstance(MultinomialOutput().predictor_loss, SoftmaxLoss)
    assert_allclose(MultinomialOutput().loss(codes, SoftmaxLoss().inverse_link(E).T), SoftmaxLoss().value(codes, E))
    assert isinstance(GaussianOutput().predictor_loss, SquaredLoss)
    assert_allclose(GaussianOutput(3.0).loss(eta, E[0]), SquaredLoss().value(eta, E[0]))


@pytest.mark.parametrize("name", CASES)
def test_samples_have_the_mean_of_their_outputs(name):
    rng = np.random.RandomState(3)
    noise, _, (y, _) = example(name, rng)
    draws = np.array([noise.sample(y, rng) for _ in range(4000)])
    gates, outputs = y if "mixture" in name else (np.ones((N, 1)), [y])
    if "classes" in name or name == "multinomial":
        draws = np.eye(K)[draws.astype(int)]
    mean = sum(gates[:, h].reshape(-1, *[1] * (np.ndim(o) - 1)) * o for h, o in enumerate(outputs))
    spread = draws.std(axis=0) / np.sqrt(len(draws))
    assert (np.abs(draws.mean(axis=0) - mean) < 5 * spread + 1e-12).all()  # 360 means at most: 5 errors in 2 million


def test_components_compete_by_the_share_of_the_target_they_explain():
    """E-348: slopes of the competitive loss, g - f for the gates and f for the components, by differences."""
    rng = np.random.RandomState(4)
    noise, t, ((G, Y), _) = example("mixture", rng)
    f = noise.responsibilities(t, (G, Y))
    assert_allclose(f.sum(axis=1), 1)
    gates, parts = noise.slopes(t, (G, Y))
    a, h = np.log(G), 1e-6
    for k in range(H):
        up, down = a.copy(), a.copy()
        up[:, k] += h
        down[:, k] -= h
        found = noise.loss(t, (softmax(up, axis=1), Y)) - noise.loss(t, (softmax(down, axis=1), Y))
        assert_allclose(found / (2 * h), gates[:, k], atol=1e-7)
        for i in range(K):
            up, down = Y.copy(), Y.copy()
            up[k, :, i] += h
            down[k, :, i] -= h
            found = noise.loss(t, (G, up)) - noise.loss(t, (G, down))
            assert_allclose(found / (2 * h), parts[:, k] * (Y[k, :, i] - t[:, i]), atol=1e-6)


def test_every_noise_has_a_name_and_refuses_what_does_not_fit():
    assert {type(noise).__name__ for noise in NOISES.values()} == {
        "BernoulliOutput", "MultinomialOutput", "GaussianOutput", "MixtureOutput",
    }  # fmt: skip
    with pytest.raises(ValueError, match="codes 0 .. 1; got"):
        BernoulliOutput().log_prob([0, 2], [0.5, 0.5])
    with pytest.raises(ValueError, match="one shape; got"):
        GaussianOutput().loss([0.0, 1.0], [[0.0], [1.0]])
