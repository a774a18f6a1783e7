"""Bells at seconds since 1970: |x|^2 + |c|^2 - 2 x.c at 1.7e9 left .566 of e^-1/2 = .6065, and waves lost digits."""

from fractions import Fraction

import numpy as np
import pytest

from fivefold.preprocessing import BasisExpansion
from fivefold.preprocessing.basis_functions import Bumps, Fourier, Gaussians
from fivefold.spatial.distances import squared_distances

NOW = 1.7e9


@pytest.mark.parametrize("d", [1, 3])
def test_bells_are_the_same_wherever_their_centres_are(d):
    rng = np.random.default_rng(0)
    Z, C = (rng.integers(-12, 13, size=(m, d)) / 4 for m in (40, 7))  # quarters: exact also at 1.7e9
    far = Gaussians(width=1.5, centres=C + NOW).learn(Z + NOW)(Z + NOW)
    expected = np.exp(-((Z[:, None] - C) ** 2).sum(axis=2) / (2 * 1.5**2))
    np.testing.assert_allclose(far, expected, rtol=1e-9)
    np.testing.assert_allclose(squared_distances(Z + NOW, C + NOW), ((Z[:, None] - C) ** 2).sum(axis=2), rtol=1e-9)


def test_a_bell_one_width_away():
    model = BasisExpansion(Gaussians(centres=[[NOW]]), include_bias=False).fit([[NOW], [NOW + 1]])
    np.testing.assert_allclose(model.transform([[NOW + 1]]), [[np.exp(-0.5)]], rtol=1e-12)
    along = Bumps(centres=[NOW]).learn(np.array([[NOW]]))
    np.testing.assert_allclose(along(np.array([[NOW + 1]])), [[np.exp(-0.5)]], rtol=1e-12)


def test_waves_keep_their_phase():
    x = np.array([NOW, NOW + 0.25, -NOW, NOW * 1000 + 3])
    found = Fourier(order=2, period=7.0).learn(x[:, None])(x[:, None])
    turns = np.array([float(Fraction(v) / 7 % 1) for v in x])
    expected = [f(2 * np.pi * k * turns) for f in (np.sin, np.cos) for k in (1, 2)]
    np.testing.assert_allclose(found, np.transpose(expected), atol=1e-14)
