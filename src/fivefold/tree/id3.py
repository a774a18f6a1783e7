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
