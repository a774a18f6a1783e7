"""The figure of Markov chains."""

import matplotlib
import numpy as np
import pytest

matplotlib.use("Agg")
import matplotlib.pyplot as plt

from fivefold.inference.approximate.gibbs_sampling import gibbs
from fivefold.inference.factors.factor import Factor
from fivefold.plot import chain_trace


def test_running_means_come_near_the_exact_value_and_burn_in_is_marked():
    agree = np.array([[3.0, 1.0], [1.0, 3.0]])
    samples = gibbs([Factor((0, 1), agree), Factor((0,), np.array([2.0, 1.0]))], (2, 2), draws=4000, seed=2)
    exact = (2 * 3 + 1) / 12
    values = samples.trace(lambda states: states[..., 1] == 0)
    means, bars = chain_trace(values, burn_in=500, exact=exact, lags=20)
    lines = [line for line in means.get_lines() if str(line.get_gid()).startswith("chain:")]
    assert len(lines) == 4
    for line in lines:
        assert line.get_xdata()[0] == 501
        assert line.get_ydata()[-1] == pytest.approx(exact, abs=0.03)
        assert line.get_ydata()[-1] == pytest.approx(values[int(line.get_gid()[-1]), 500:].mean())
    assert {"burn-in", "exact"} <= {text.get_text() for text in means.get_legend().get_texts()}
    (stems,) = bars.collections[-1:]
    assert len(stems.get_segments()) == 21
    plt.close(means.figure)
    with pytest.raises(ValueError, match="burn_in"):
        chain_trace(values, burn_in=4000)
