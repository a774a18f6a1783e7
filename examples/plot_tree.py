"""A tree asks about petals: its questions, and the boxes into which they cut the plane.

The star is one flower; the thick way is what the tree asks about it.
"""

import matplotlib.pyplot as plt
from sklearn.datasets import load_iris

from fivefold.plot import tree_and_partition
from fivefold.tree import DecisionTreeClassifier


def draw():
    iris = load_iris()
    X, y = iris.data[:, 2:], iris.target_names[iris.target]
    model = DecisionTreeClassifier(max_depth=3, min_samples_leaf=5, random_state=0).fit(X, y)
    names = ["petal length", "petal width"]
    left, _ = tree_and_partition(model, X, y, feature_names=names, example=[[5.1, 1.6]])
    left.figure.set_size_inches(10.5, 4.0)
    return left.figure


if __name__ == "__main__":
    draw()
    plt.show()
