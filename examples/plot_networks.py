"""One network, four pictures: its graph with a blanket, its equivalence class, its factor graph, its junction tree.

Observed nodes are grey; in the class only the arrows that all its members share have a head.
"""

import matplotlib.pyplot as plt
import numpy as np

from fivefold.graphical import BayesianNetwork, PartiallyDirectedGraph
from fivefold.plot import factor_graph, junction_tree, network


def draw():
    edges = {"sprinkler": ["cloudy"], "rain": ["cloudy"], "wet": ["sprinkler", "rain"], "slippery": ["wet"]}
    names = ["cloudy", *edges]
    rng = np.random.RandomState(0)
    tables = {name: rng.dirichlet((1.0, 1.0), size=(2,) * len(edges.get(name, ()))) for name in names}
    model = BayesianNetwork.from_tables(tables, edges)
    figure, axes = plt.subplots(2, 2, figsize=(9.0, 7.2), layout="constrained")
    network(model, highlighted="rain", observed=["slippery"], ax=axes[0, 0])
    network(PartiallyDirectedGraph.from_graph(model.graph), ax=axes[0, 1])
    factor_graph(model, observed=["slippery"], ax=axes[1, 0])
    junction_tree(model, ax=axes[1, 1])
    titles = ("network, blanket of rain", "equivalence class", "factor graph", "junction tree")
    for ax, title in zip(axes.flat, titles, strict=True):
        ax.set_title(title, loc="left", fontsize=10)
    return figure


if __name__ == "__main__":
    draw()
    plt.show()
