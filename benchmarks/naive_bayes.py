"""Naive Bayes beside scikit-learn; the Intel extension has none."""

from functools import partial

from benchmarks.harness import Case, data, drop_in, fit, predict, same, same_predictions

CLASSES = partial(data.classes, d=50, K=8, redundant=10)
BINARY = partial(data.binary, d=50, K=8)
LEVELS = partial(data.levels, d=20, K=8, count=6)
TEXT = partial(data.text, words=20_000, K=20)

# Rows whose two best classes tie to the last digit may fall either way.
TIES = same_predictions(0.9999)


def pair(name, table, rows, attributes, bars, note):
    """Fit and predict of one method."""
    path = f"naive_bayes.{name}"
    return (
        Case(f"{name} fit", table, rows, drop_in(path, fit), same(*attributes), bars[0], note),
        Case(f"{name} predict", table, rows, drop_in(path, predict), TIES, bars[1], note),
    )


CASES = (
    *pair("GaussianNB", CLASSES, 200_000, ("theta_", "var_", "class_prior_"), (7, 14), "8 classes"),
    *pair("BernoulliNB", BINARY, 200_000, ("feature_log_prob_", "class_log_prior_"), (1, 1), "8 classes"),
    *pair("CategoricalNB", LEVELS, 200_000, ("feature_log_prob_", "class_log_prior_"), (1, 1), "6 levels, 8 classes"),
    *pair("MultinomialNB", TEXT, 50_000, ("feature_log_prob_", "class_log_prior_"), (1, 1), "sparse text, 20 classes"),
    *pair("ComplementNB", TEXT, 50_000, ("feature_log_prob_",), (1, 1), "sparse text, 20 classes"),
)
