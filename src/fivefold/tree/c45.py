"""C4.5: gain ratio, rows divided where values are missing, and pessimistic pruning.

    gain ratio  (known share) (H(S) - sum_b W_b / W H(S_b) - log2(cuts) / W) / split information

Columns may hold numbers or categories; the choice of a threshold among many is charged to its gain. A row with a
missing value goes into every branch with a part of its weight. The tree is pruned from the bottom up: a node becomes a
leaf, or is replaced by its largest branch, where that lowers the upper confidence limit of its mistakes.

Quinlan (1993), C4.5: Programs for Machine Learning; Quinlan (1996) for the price of a threshold.
"""

from __future__ import annotations

from typing import Literal

from fivefold.core.estimators.params import NonNegative
from fivefold.core.registry import Card
from fivefold.tree.shared.multiway_trees import BaseMultiwayTree, Pruning


class C45Classifier(BaseMultiwayTree):
    """C4.5: a tree for numbers and categories with gaps, chosen by gain ratio and pruned by its likely mistakes.

    Examples
    --------
    >>> import pandas as pd
    >>> from fivefold.tree import C45Classifier
    >>> X = pd.DataFrame({"sky": ["sun", "sun", None, "rain", "rain", "rain"], "heat": [30.0, 25, 20, 12, 28, None]})
    >>> model = C45Classifier().fit(X, ["stay", "stay", "stay", "play", "play", "play"])
    >>> print(model.to_text())
    sky = rain: play (3.6)
    sky = sun: stay (2.4)
    >>> model.predict_proba(pd.DataFrame({"sky": [None], "heat": [20.0]})).round(2)
    array([[0.5, 0.5]])
    """

    selection: Literal["gain", "ratio"] = "ratio"
    missing: Literal["fractions", "majority", "class", "surrogates"] = "fractions"
    pruning: Pruning = "error_based"
    min_samples_leaf: NonNegative = 2
    min_gain: NonNegative | None = 0.0

    card = Card(
        applications=("classification", "data mining"),
        use="Tables as they come: numbers, categories and gaps, and a tree to be read. Forests of trees err less.",
        steps=(
            "For every column find the best split: one branch per value, or a threshold whose choice is charged.",
            "Of the splits with at least average gain take the one with the largest gain ratio.",
            "Send parts of the rows with missing values into all branches; go on until a node is pure or small.",
            "From the bottom up make a node a leaf, or its largest branch, where no more mistakes are expected.",
        ),
        source="Quinlan (1993, 1996)",
        see_also=("ID3Classifier", "CARTClassifier", "DecisionTreeClassifier", "MixedNB"),
        variants=({"pruning": "pessimistic", "confidence": 0.1}, {"pruning": None, "missing": "majority"}),
        search={"confidence": (0.05, 0.25, 0.5), "min_samples_leaf": (2, 5, 20)},
        portfolio=False,
    )
