"""Hidden states of a sequence: a trellis with Viterbi's path, and regimes of a noisy signal.

Left: three kinds of day are seen only through what somebody does on them; each state points back to its best
predecessor, and the bold path is the likeliest. Right: a signal that switches between three levels, coloured by the
decoded state, above the probabilities of the states at each step.
"""

import matplotlib.pyplot as plt
import numpy as np

from fivefold.inference.chains.chain import Chain
from fivefold.plot import state_sequence, trellis
from fivefold.sequence import GaussianHMM


def draw():
    days = np.array([0, 0, 1, 2, 2, 1, 0, 1, 2, 2])
    stay = np.array([[0.7, 0.2, 0.1], [0.2, 0.6, 0.2], [0.1, 0.3, 0.6]])
    habits = np.array([[0.7, 0.2, 0.1], [0.3, 0.4, 0.3], [0.05, 0.25, 0.7]])
    chain = Chain(np.log([0.4, 0.3, 0.3]), np.log(stay), np.log(habits).T, np.array([0, len(days)]), days)
    rng = np.random.RandomState(4)
    levels = np.repeat([0, 2, 1, 0, 2], [30, 25, 35, 20, 30])
    X = np.array([0.0, 2.5, 5.0])[levels][:, None] + rng.normal(size=(len(levels), 1))
    model = GaussianHMM(3, random_state=0, start="clusters").fit(X)
    figure, (left, right) = plt.subplots(1, 2, figsize=(9, 3.6), layout="constrained")
    trellis(chain, names=["sun", "cloud", "rain"], ax=left).set_title("trellis", loc="left", fontsize=10)
    state_sequence(model, X, ax=right).set_title("states over time", loc="left", fontsize=10)
    return figure


if __name__ == "__main__":
    draw()
    plt.show()
