"""C4.5: gain ratio, rows divided where values are missing, and pessimistic pruning.

    gain ratio  (known share) (H(S) - sum_b W_b / W H(S_b) - log2(cuts) / W) / split information

Columns of numbers and of categories stand side by side; the choice of a threshold among many is charged to its gain. A
row that lacks a value goes into every branch with a part of its weight. The tree is cut back from the bottom: a node
becomes a leaf, or gives way to its largest branch, where the upper confidence limit of its mistakes says so.

Quinlan (1993), C4.5: Programs for Machine Learning; Quinlan (1996) for the price of a threshold.
"""

from __future__ import annotations

from typing import Literal

from fivefold.core.estimators.params import NonNegative
from fivefold.core.registry import Card
from fivefold.tree.shared.multiway_trees import BaseMultiwayTree, Pruning


class C45Classifier(BaseMultiwayTree):
    """C4.5: a tree for numbers and categories with gaps, chosen by gain ratio and pruned by its likely mistakes.

    Parameters
    ----------
    criterion
        impurity of a node: "entropy", "gini", the share of mistakes, "error", or a function of the shares of the
        classes, (m, K) -> (m,), which keeps the axioms of `partition.impurities`.
    selection
        the question with the largest "gain", or "ratio": of those with average gain or more the largest gain ratio,
        with C4.5's price of a threshold.
    nominal
        a discrete column gives a branch for each of its "values", two "groups" of values, or one value against the
        rest ("dummies").
    thresholds
        of a numeric question: one, or two for three branches.
    missing
        where a row goes that lacks the value: by "fractions" into every branch, by the "majority" of the node, in fit
        by the majority of its "class", or, at questions with two branches, by the other columns that most often send
        rows the same way ("surrogates").
    pruning
        None, "pessimistic", "error_based" (pessimistic, and the largest branch may take the place of its parent),
        "chi_square", "description_length", "cost_complexity", or "cheapest_merges" (the collapse that lowers impurity
        and price most, again and again).
    confidence
        of pessimistic pruning: the probability that the true number of mistakes is above the limit taken, smaller
        prunes more; of chi-square pruning: the level of significance, to be small where thresholds are the best of
        many.
    ccp_alpha
        price of a leaf of "cost_complexity" and "cheapest_merges", in impurity a unit of the weight of all rows.
    max_depth
        most questions on a way down; None for no limit.
    min_samples_leaf
        two branches at least hold rows of this weight.
    min_share
        a node with less than this share of all rows is not divided.
    min_impurity
        a node as pure as this is not divided.
    min_gain
        a question gains more than this, a unit of weight; None allows those that gain nothing.
    lookahead
        further levels that are looked at before a question is chosen; the time is multiplied by the columns each.
    alternatives
        questions of a node that are tried, each with the whole tree below it; the one that errs least on a quarter of
        the rows, held out, stays. For small problems: the time grows as alternatives ** max_depth.
    categorical_features
        discrete columns besides those that hold text or truth values: "auto" for none, "all", or their numbers.
    class_weight
        weights of the classes, or "balanced".

    Attributes
    ----------
    tree_
        the nodes, a struct of arrays.
    feature_importances_
        share of each column in the fall of the impurity.

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
            "For every column find the best question: a branch a value, or a threshold whose choice is charged.",
            "Of the questions with average gain or more ask the one with the largest gain ratio.",
            "Send rows without the value into all branches by parts; go on until a node is pure or small.",
            "From the bottom up make a node a leaf, or its largest branch, where that promises no more mistakes.",
        ),
        source="Quinlan (1993, 1996)",
        see_also=("ID3Classifier", "CARTClassifier", "DecisionTreeClassifier", "MixedNB"),
        variants=({"pruning": "pessimistic", "confidence": 0.1}, {"pruning": None, "missing": "majority"}),
        search={"confidence": (0.05, 0.25, 0.5), "min_samples_leaf": (2, 5, 20)},
        portfolio=False,
    )
