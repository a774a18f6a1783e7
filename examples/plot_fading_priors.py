"""Priors fade: what three people believe of a coin after 0, 4, 32 and 256 tosses.

One knew nothing, one was sure that it is fair, one that it falls on tails. The dotted line is the share of heads.
"""

import matplotlib.pyplot as plt
import numpy as np

from fivefold.distributions.beta import BetaMembers
from fivefold.distributions.conjugate.count_pairs import BinomialBeta
from fivefold.plot import fading_priors


def draw():
    tosses = np.random.RandomState(0).binomial(1, 0.7, size=(256, 1)) * 1.0
    priors = {
        "knows nothing": BetaMembers.from_mean(0.5, 2),
        "fair": BetaMembers.from_mean(0.5, 20),
        "mostly tails": BetaMembers.from_mean(0.2, 10),
    }
    return fading_priors(BinomialBeta(), priors, tosses, (0, 4, 32, 256))[0].figure


if __name__ == "__main__":
    draw()
    plt.show()
