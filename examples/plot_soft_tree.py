"""Gates of a soft tree on two moons: each row takes every path, to a degree.

A solid line is where a gate is one half, dotted lines where it is 0.1 and 0.9. The tree starts at the cuts of the hard
tree on the right, turns them and makes them as soft as the data ask; it has no more leaves than the hard one.
"""

import matplotlib.pyplot as plt
from sklearn.datasets import make_moons

from fivefold.plot import partition, soft_gates
from fivefold.tree import DecisionTreeClassifier, SoftTreeClassifier


def draw():
    X, y = make_moons(160, noise=0.2, random_state=0)
    figure, (left, right) = plt.subplots(1, 2, figsize=(9.0, 3.8), layout="constrained", sharey=True)
    soft = SoftTreeClassifier(max_depth=2, alpha=0.1, init="tree", n_init=1, random_state=0).fit(X, y)
    hard = DecisionTreeClassifier(max_leaf_nodes=soft.get_n_leaves(), random_state=0).fit(X, y)
    soft_gates(soft, X, y, ax=left)
    partition(hard, X, y, feature_names=["", ""], ax=right)
    for ax, model in ((left, soft), (right, hard)):
        name = "soft" if model is soft else "hard"
        ax.set_title(
            f"{name}: {model.get_n_leaves()} leaves, {1 - model.score(X, y):.1%} wrong", loc="left", fontsize=10
        )
    return figure


if __name__ == "__main__":
    draw()
    plt.show()
