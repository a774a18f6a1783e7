"""Decisions and information: mutual information of columns, and thresholds of a classifier, beside scikit-learn."""

from functools import partial

import numpy as np
from sklearn.metrics import balanced_accuracy_score

from benchmarks.harness import OURS, Case, data, function, no_worse, same_output


def information(name):
    """A function of feature_selection, with the same noise."""

    def of(library):
        def call(table):
            from importlib import import_module

            found = getattr(import_module(f"{library}.feature_selection"), name)
            return found(table.X, table.y, random_state=0)

        return function(call)

    return {"scikit-learn": of("sklearn"), OURS: of("fivefold")}


def few_positives(n):
    """Two classes of which one is rare."""
    table = data.classes(n, 10)
    kept = (table.y == 0) | (np.random.default_rng(0).random(n) < 0.1)
    return data.Data(np.ascontiguousarray(table.X[kept]), table.y[kept])


def tuned_rival(table):
    from sklearn.model_selection import TunedThresholdClassifierCV
    from sklearn.naive_bayes import GaussianNB

    return TunedThresholdClassifierCV(GaussianNB(), scoring="balanced_accuracy", random_state=0).fit(table.X, table.y)


def tuned(table):
    from sklearn.naive_bayes import GaussianNB

    from fivefold.evaluation import ThresholdClassifier

    return ThresholdClassifier(GaussianNB(), "balanced_accuracy").fit(table.X, table.y)


def balanced_error(table, model):
    """Balanced error on new rows."""
    new = few_positives(2 * len(table.y))
    return 1 - float(balanced_accuracy_score(new.y, model.predict(new.X)))


CASES = (
    Case(
        "mutual_info_classif",
        partial(data.classes, d=20, K=3),
        10_000,
        information("mutual_info_classif"),
        same_output(1e-9),
        2.0,
    ),
    Case(
        "mutual_info_regression",
        partial(data.linear, d=20),
        10_000,
        information("mutual_info_regression"),
        same_output(1e-9),
        2.0,
    ),
    Case(
        "ThresholdClassifier fit",
        few_positives,
        50_000,
        {"scikit-learn": function(tuned_rival), OURS: function(tuned)},
        no_worse(balanced_error, 0.01),
        1.0,
        "the same classifier, naive Bayes, inside both",
    ),
)
