"""Models as plates: what stands in a box is repeated. Left Bayesian linear regression, right a mixture of Gaussians.

Grey nodes are observed, white ones hidden; the label in the corner counts the copies.
"""

import matplotlib.pyplot as plt

from fivefold.graphical import DirectedGraph
from fivefold.plot import network


def draw():
    figure, (left, right) = plt.subplots(1, 2, figsize=(8.0, 3.6), layout="constrained")
    regression = DirectedGraph.from_edges([("α", "w"), ("w", "r"), ("x", "r"), ("β", "r")])
    where = {"α": (-0.5, 0.0), "w": (-0.5, -1.0), "x": (1.0, -1.0), "β": (-1.0, -2.0), "r": (0.5, -2.0)}
    network(regression, observed=["x", "r"], plates={"N": ["x", "r"]}, places=where, ax=left)
    mixture = DirectedGraph.from_edges([("π", "z"), ("z", "x"), ("μ, Σ", "x")])
    where = {"π": (0.0, 0.0), "z": (0.0, -1.0), "x": (0.0, -2.0), "μ, Σ": (1.4, -2.0)}
    network(mixture, observed=["x"], plates={"N": ["z", "x"], "K": ["μ, Σ"]}, places=where, ax=right)
    left.set_title("Bayesian linear regression", loc="left", fontsize=10)
    right.set_title("mixture of Gaussians", loc="left", fontsize=10)
    return figure


if __name__ == "__main__":
    draw()
    plt.show()
