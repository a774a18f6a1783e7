"""Stochastic rules beside those of torch, step by step on the same gradients."""

import numpy as np
import pytest

from fivefold.optim.stochastic.gradient_rules import SGD, Adadelta, Adagrad, Adam, Nesterov, RMSProp
from fivefold.optim.stochastic.learning_rates import ConstantRate

PAIRS = {
    "momentum": (SGD(momentum=0.9, form="classic"), lambda optim, p: optim.SGD(p, 0.01, momentum=0.9)),
    "Adagrad": (Adagrad(), lambda optim, p: optim.Adagrad(p, 0.01)),
    "RMSProp": (RMSProp(decay=0.9, eps_inside_root=False), lambda optim, p: optim.RMSprop(p, 0.01, alpha=0.9)),
    "Adadelta": (Adadelta(decay=0.9), lambda optim, p: optim.Adadelta(p, 0.01, rho=0.9)),
    "Adam": (Adam(eps_inside_root=False), lambda optim, p: optim.Adam(p, 0.01)),
    "AMSGrad": (Adam(eps_inside_root=False, amsgrad=True), lambda optim, p: optim.Adam(p, 0.01, amsgrad=True)),
}


@pytest.mark.parametrize("name", PAIRS)
def test_points_are_those_of_torch(name):
    import torch  # takes seconds: when it is needed

    ours, theirs = PAIRS[name]
    A, b = np.diag([1.0, 5.0, 0.2]), np.array([1.0, -2.0, 0.5])
    p = torch.zeros(3, dtype=torch.float64, requires_grad=True)
    rival = theirs(torch.optim, [p])
    x, moments = np.zeros(3), ours.moments(np.zeros(3))
    for t in range(1, 40):
        x, moments = ours.advance(lambda x: A @ x - b, x, moments, ConstantRate(0.01).at(t), t)
        p.grad = torch.from_numpy(A @ p.detach().numpy() - b)
        rival.step()
        np.testing.assert_allclose(x, p.detach().numpy(), rtol=1e-10)


def test_nesterov_looks_ahead_as_torch_does():
    """torch keeps the point that is ahead: y = x - eta gamma M."""
    import torch

    A, b, eta, gamma = np.diag([1.0, 5.0, 0.2]), np.array([1.0, -2.0, 0.5]), 0.01, 0.9
    p = torch.zeros(3, dtype=torch.float64, requires_grad=True)
    rival = torch.optim.SGD([p], eta, momentum=gamma, nesterov=True)
    x, moments = np.zeros(3), (np.zeros(3),)
    for t in range(1, 40):
        x, moments = Nesterov(momentum=gamma).advance(lambda x: A @ x - b, x, moments, eta, t)
        p.grad = torch.from_numpy(A @ p.detach().numpy() - b)
        rival.step()
        np.testing.assert_allclose(x - eta * gamma * moments[0], p.detach().numpy(), rtol=1e-10)
