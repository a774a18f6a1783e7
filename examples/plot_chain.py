"""A Markov chain forgets its start: Gibbs sampling of a chain of spins that like to agree.

Running means of four chains come near the exact probability; draws in a row are alike, so few of them count.
"""

import matplotlib.pyplot as plt
import numpy as np

from fivefold.inference.approximate.gibbs_sampling import gibbs
from fivefold.inference.factors.factor import Factor
from fivefold.inference.factors.junction_tree import JunctionTree
from fivefold.plot import chain_trace


def draw():
    agree = np.array([[5.0, 1.0], [1.0, 5.0]])
    factors = [Factor((i, i + 1), agree) for i in range(9)] + [Factor((0,), np.array([2.0, 1.0]))]
    exact = JunctionTree([f.variables for f in factors], [2] * 10).calibrate(factors).marginal(9)[0]
    samples = gibbs(factors, [2] * 10, draws=4000, burn_in=0, seed=1)
    values = samples.trace(lambda states: states[..., 9] == 0)
    return chain_trace(values, burn_in=200, exact=exact, name="share of draws in state 0")[0].figure


if __name__ == "__main__":
    draw()
    plt.show()
