"""Forests the slow way: a row is walked down node by node, votes are counted one by one."""

from math import log

import numpy as np


def leaf(tree, x):
    """The leaf of one row, by the nodes under scikit-learn's names."""
    t = 0
    while tree.children_left[t] >= 0:
        value = x[tree.feature[t]]
        left = tree.missing_go_to_left[t] == 1 if np.isnan(value) else value <= tree.threshold[t]
        t = tree.children_left[t] if left else tree.children_right[t]
    return t


def mean_shares(forest, X):
    """The mean over the trees of the values of the leaves."""
    trees = [member.tree_ for member in forest.estimators_]
    return np.array([np.mean([t.value[leaf(t, x), 0] for t in trees], axis=0) for x in X])


def vote_shares(forest, X):
    """The share of the trees that vote for each class; a tree votes for the first of its commonest classes."""
    out = np.zeros((len(X), len(forest.classes_)))
    for member in forest.estimators_:
        for i, x in enumerate(X):
            out[i, member.tree_.value[leaf(member.tree_, x), 0].argmax()] += 1
    return out / len(forest.estimators_)


def out_of_bag(forest, X):
    """For each row the mean over the trees whose sample does not hold it."""
    out = []
    for i, x in enumerate(X):
        said = [
            member.tree_.value[leaf(member.tree_, x), 0]
            for member, rows in zip(forest.estimators_, forest.estimators_samples_, strict=True)
            if i not in rows
        ]
        out.append(np.mean(said, axis=0))
    return np.array(out)


def usual_length(m):
    """Mean cuts that isolate one of m rows, from the harmonic number."""
    return 0.0 if m < 2 else 1.0 if m == 2 else 2 * (log(m - 1) + 0.5772156649015329) - 2 * (m - 1) / m


def isolation_score(forest, x):
    """Minus two to the power of minus the mean length of the ways of one row over the usual length."""
    lengths = []
    for member in forest.estimators_:
        tree, t, cuts = member.tree_, 0, 0
        while tree.children_left[t] >= 0:
            t = tree.children_left[t] if x[tree.feature[t]] <= tree.threshold[t] else tree.children_right[t]
            cuts += 1
        lengths.append(cuts + usual_length(tree.weighted_n_node_samples[t]))
    return -(2.0 ** -(np.mean(lengths) / usual_length(forest.max_samples_)))
