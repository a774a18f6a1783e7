"""A tree read as rules, one a leaf, and the same rules without the terms that they do not need.

The length of a bar is the support of a rule, its colours the classes of the rows that the rule answers.
"""

import matplotlib.pyplot as plt
from sklearn.datasets import load_iris

from fivefold.plot import rule_table
from fivefold.rules import RuleExtractionClassifier


def draw():
    iris = load_iris(as_frame=True)
    X = iris.data.rename(columns=lambda name: name[:-5].replace(" ", "_"))
    y = iris.target_names[iris.target]
    figure, (above, below) = plt.subplots(2, 1, figsize=(9, 5.2), layout="constrained", height_ratios=(8, 5))
    for ax, pruning, title in ((above, None, "one rule a leaf"), (below, "pessimistic", "pruned term by term")):
        model = RuleExtractionClassifier(pruning=pruning).fit(X, y)
        rule_table(model, ax=ax).set_title(title, loc="left", fontsize=10)
    return figure


if __name__ == "__main__":
    draw()
    plt.show()
