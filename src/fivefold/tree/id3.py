"""ID3: a branch for each value of the column that tells most about the class.

    gain(S, A) = H(S) - sum_v |S_v| / |S| H(S_v),      H(S) = -sum_k p_k log2 p_k

At every node the discrete column of largest gain gets a branch a value; a column is asked once on a way down, for
below its branch it has one value. Columns of numbers are cut by a threshold. A node is a leaf when its rows are of one
class or no column is left, and answers with the majority; so does a node asked for a value it never saw.

Quinlan (1986), Induction of decision trees.
"""

from __future__ import annotations

from fivefold.core.registry import Card
from fivefold.tree.shared.multiway_trees import BaseMultiwayTree


class ID3Classifier(BaseMultiwayTree):
    """ID3: a tree with a branch for each value of a column, chosen by information gain, not pruned.

    Parameters
    ----------
    criterion
        impurity of a node: "entropy", "gini", the share of mistakes, "error", or a function of the shares of the
        classes, (m, K) -> (m,), that satisfies the axioms of `partition.criteria.custom_impurity`.
    selection
        "gain" chooses the split with the largest gain; "ratio", of those with at least average gain, the one with the
        largest gain ratio, with C4.5's price of a threshold.
    nominal
        a discrete column gives one branch per value ("values"), two "groups" of values, or one value against the rest
        ("dummies").
    thresholds
        thresholds of a numeric split: 1, or 2 for three branches.
    missing
        where a row with a missing value goes: by "fractions" into every branch, with the "majority" of the node, in fit
        with the majority of its "class", or, at splits with two branches, by the other columns that most often send
        rows the same way ("surrogates").
    pruning
        None, "pessimistic", "error_based" (pessimistic, and the largest branch may replace its parent), "chi_square",
        "description_length", "cost_complexity", or "cheapest_merges" (repeatedly the collapse that lowers impurity plus
        price most).
    confidence
        for pessimistic pruning, the probability that the true number of mistakes exceeds the limit that is used:
        smaller values prune more; for chi-square pruning, the significance level, which should be small where
        thresholds are the best of many.
    ccp_alpha
        price per leaf of "cost_complexity" and "cheapest_merges", in impurity per unit of the weight of all rows.
    max_depth
        maximum number of questions on a path; None for no limit.
    min_samples_leaf
        minimum weight of the rows in each of at least two branches of a split.
    min_share
        minimum share of all rows in a node that is divided.
    min_impurity
        a node with no more impurity than this is not divided.
    min_gain
        minimum gain of a split per unit of weight; None allows splits that gain nothing.
    lookahead
        further levels examined before a split is chosen; each multiplies the time by the number of columns.
    alternatives
        splits per node that are tried, each with the whole tree below it; the one with the fewest mistakes on a
        held-out quarter of the rows is kept. For small problems: the time grows as alternatives ** max_depth.
    categorical_features
        discrete columns besides those that hold text or truth values: "auto" for none, "all", or their indices.
    class_weight
        weights of the classes, or "balanced".

    Attributes
    ----------
    tree_
        the nodes, a struct of arrays.
    feature_importances_
        share of each column in the total fall of the impurity.

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
        "included, and prefers columns of many values: C45Classifier mends both.",
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
