"""Limits of an error rate: how wide each is against the rows and against the error, and the tails they come from.

At delta = 0.05, for an error of 0.05. The binomial limit is exact, the KL form close behind; Hoeffding's is as wide for
small errors as for large ones. The Gaussian approximation (dashed) is no guarantee: for small
errors it is below the exact limit.
"""

import matplotlib.pyplot as plt

from fivefold.plot import error_limits


def draw():
    return error_limits(0.05, 200)[0].figure


if __name__ == "__main__":
    draw()
    plt.show()
