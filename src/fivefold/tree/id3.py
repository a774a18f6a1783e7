"""ID3: one branch per value of the column that is most informative about the class.

    gain(S, A) = H(S) - sum_v |S_v| / |S| H(S_v),      H(S) = -sum_k p_k log2 p_k

A node is split by the discrete column of largest gain, one branch per value; a column occurs once on a path, since
below its branch it has one value. Columns of numbers are cut by a threshold. A node is a leaf if its rows are of one
class or no column is left, and answers with the majority; so does a node for values it never saw.

Quinlan (1986), Induction of decision trees.
"""

from __future__ import annotations

from fivefold.core.registry import Card
from fivefold.tree.shared.multiway_trees import BaseMultiwayTree


class ID3Classifier(BaseMultiwayTree):
    """ID3: a tree with one branch per value of a column, chosen by information gain, not pruned.

    Examples
    --------
    >>> import pandas as pd
    >>> from fivefold.tree import ID3Classifier
    >>> X = pd.DataFrame({"sky": ["sun", "sun", "cloud", "rain", "rain"], "wind": ["no", "yes", "no", "no", "yes"]})
    >>> model = ID3Classifier().fit(X, ["stay", "stay", "play", "play", "stay"])
    >>> print(model.to_text())
    sky = cloud: play (1)
    sky = rain
    |   wind = no: play (1)
    |   wind = yes: stay (1)
    sky = sun: stay (2)
    """

    card = Card(
        applications=("classification", "data mining"),
        use="Discrete columns, disjunctive rules, a tree to be read. It learns any consistent table by heart, noise "
        "included, and prefers columns of many values: C45Classifier corrects both.",
        steps=(
            "Ask the column whose values leave the least entropy of the class.",
            "Make a branch for every value and send the rows there; cut a column of numbers by its best threshold.",
            "Go on until the rows of a node are of one class or no column is left; the majority answers.",
        ),
        source="Quinlan (1986)",
        see_also=("C45Classifier", "CARTClassifier", "DecisionTreeClassifier", "CategoricalNB"),
        variants=(
            {"thresholds": 2, "missing": "class", "max_depth": 4},
            {"alternatives": 2, "max_depth": 3, "criterion": "error", "pruning": "cheapest_merges"},
            {"pruning": "description_length", "nominal": "dummies", "categorical_features": [0], "max_depth": 4},
            {"pruning": "chi_square", "confidence": 0.05, "max_depth": 3},
        ),
        search={"max_depth": (2, 4, 8, None), "min_samples_leaf": (1, 5, 20)},
    )
