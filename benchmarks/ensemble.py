"""Ensembles beside scikit-learn's and the Intel extension's."""

from functools import cache
from importlib import import_module

import numpy as np
from sklearn.base import clone
from sklearn.metrics import log_loss

from benchmarks.harness import (
    Case,
    Data,
    Disagreement,
    beside_sklearn,
    data,
    drop_in,
    fit,
    predict,
    same,
    same_predictions,
)
from benchmarks.harness.case import Absent

NEW = 30_000  # rows that judge what was learned


# Forests


@cache
def whole(n):
    return data.classes(n + NEW, 30, redundant=6)


def table(n):
    return Data(whole(n).X[:n], whole(n).y[:n])


def numbers(n):
    """The first column is the target of the others."""
    X = whole(n).X[:n]
    return Data(np.ascontiguousarray(X[:, 1:]), X[:, 0] + np.abs(X[:, 1]))


def as_accurate(table, ours, rival):
    """Accuracy on new rows is at most one standard error lower."""
    new, truth = (part[len(table.X) :] for part in (whole(len(table.X)).X, whole(len(table.X)).y))
    a, b = (float(np.mean(model.predict(new) == truth)) for model in (ours, rival))
    error = np.sqrt(b * (1 - b) / NEW)
    if a < b - error:
        raise Disagreement(f"accuracy on new rows {a:.4f}, the rival's {b:.4f} +- {error:.4f}")
    return f"accuracy on {NEW} new rows {a:.4f}, rival {b:.4f}"


def explains_as_much(table, ours, rival):
    """R^2 on new rows is at most 0.002 lower."""
    a, b = (explained(table, model) for model in (ours, rival))
    if a < b - 0.002:
        raise Disagreement(f"R^2 on new rows {a:.4f}, the rival's {b:.4f}")
    return f"R^2 on {NEW} new rows {a:.4f}, rival {b:.4f}"


def explains_as_much_as_seeds(table, ours, rival):
    """R^2 on new rows is no lower than the rival's least of four seeds: few trees, which draws decide."""
    others = [clone(rival).set_params(random_state=seed).fit(table.X, table.y) for seed in (1, 2, 3)]
    a, b = explained(table, ours), [explained(table, model) for model in (rival, *others)]
    if a < min(b):
        raise Disagreement(f"R^2 on new rows {a:.4f}, the rival's {min(b):.4f} to {max(b):.4f} by the seed")
    return f"R^2 on {NEW} new rows {a:.4f}, rival {min(b):.4f} to {max(b):.4f} by the seed"


def explained(table, model):
    """R^2 on new rows."""
    X = whole(len(table.X)).X[len(table.X) :]
    truth = X[:, 0] + np.abs(X[:, 1])
    return float(1 - np.mean((truth - model.predict(np.ascontiguousarray(X[:, 1:]))) ** 2) / np.var(truth))


def same_marks(table, ours, rival):
    """Scores correlate with the rival's as its own do under another seed; those scatter by about 0.01."""
    again = clone(rival).set_params(random_state=1).fit(table.X)
    a, b, c = (model.score_samples(table.X[:5000]) for model in (ours, rival, again))
    between, own = np.corrcoef(a, b)[0, 1], np.corrcoef(b, c)[0, 1]
    if between < own - 0.03 or abs(a.mean() - b.mean()) > 0.02:
        raise Disagreement(f"scores correlate by {between:.3f}, the rival's with its own by {own:.3f}")
    return f"scores correlate by {between:.3f}, the rival's with its own by {own:.3f}"


def close_shares(table, ours, rival):
    """What is predicted for rows of the fit, which full trees know by heart."""
    equal = float(np.mean(ours == rival))
    if equal < 0.98:
        raise Disagreement(f"{equal:.4f} of the predictions are the rival's")
    return f"{equal:.2%} of predictions equal"


def close_numbers(table, ours, rival):
    """What is predicted for rows of the fit differs from the truth by as little, to a tenth."""
    a, b = (float(np.mean((answer - table.y) ** 2)) for answer in (ours, rival))
    if a > 1.1 * b:
        raise Disagreement(f"mean square on rows of the fit {a:.4g}, the rival's {b:.4g}")
    return f"mean square on rows of the fit {a:.4g}, rival {b:.4g}"


def same_outliers(table, ours, rival):
    """Nearly the same rows are ordinary; few are outliers, and draws differ."""
    equal, outliers = float(np.mean(ours == rival)), [float(np.mean(marks == -1)) for marks in (ours, rival)]
    if equal < 0.95:
        raise Disagreement(f"{equal:.4f} of the marks are the rival's")
    return f"{equal:.2%} of marks equal; outliers {outliers[0]:.2%}, rival {outliers[1]:.2%}"


def as_many_leaves(table, ours, rival):
    """Every row is in one leaf of each tree; the numbers of leaves differ by a tenth at most, as draws do."""
    a, b = (model.transform(table.X[:5000]) for model in (ours, rival))
    if np.any(a.sum(axis=1) != b.sum(axis=1)) or abs(a.shape[1] - b.shape[1]) > 0.1 * b.shape[1]:
        raise Disagreement(f"{a.shape[1]} leaves, the rival's {b.shape[1]}, or a row is not in one leaf of each tree")
    return f"{a.shape[1]} leaves, rival {b.shape[1]}"


FEW = {"n_estimators": 20, "n_jobs": 2, "random_state": 0}
RF, ET = "ensemble.RandomForestClassifier", "ensemble.ExtraTreesClassifier"
RFR, ETR, IF = "ensemble.RandomForestRegressor", "ensemble.ExtraTreesRegressor", "ensemble.IsolationForest"

FORESTS = (
    Case(
        "RandomForestClassifier fit",
        table,
        100_000,
        drop_in(RF, fit, **FEW),
        as_accurate,
        1,
        "20 trees",
        memory="scikit-learn",
    ),
    Case(
        "RandomForestClassifier fit beside scikit-learn",
        table,
        100_000,
        beside_sklearn(RF, fit, **FEW),
        as_accurate,
        7,
        "20 trees",
        memory="scikit-learn",
    ),
    Case("RandomForestClassifier predict", table, 100_000, drop_in(RF, predict, **FEW), close_shares, 1, "20 trees"),
    Case(
        "ExtraTreesClassifier fit",
        table,
        100_000,
        drop_in(ET, fit, **FEW),
        as_accurate,
        1,
        "20 trees",
        memory="scikit-learn",
    ),
    Case(
        "RandomForestRegressor fit",
        numbers,
        20_000,
        drop_in(RFR, fit, **FEW),
        explains_as_much,
        1,
        "20 trees",
        memory="scikit-learn",
    ),
    Case(
        "RandomForestRegressor fit beside scikit-learn",
        numbers,
        20_000,
        beside_sklearn(RFR, fit, **FEW),
        explains_as_much,
        3,
        "20 trees",
        memory="scikit-learn",
    ),
    Case("RandomForestRegressor predict", numbers, 20_000, drop_in(RFR, predict, **FEW), close_numbers, 1, "20 trees"),
    Case("ExtraTreesClassifier predict", table, 100_000, drop_in(ET, predict, **FEW), close_shares, 1, "20 trees"),
    Case(
        "ExtraTreesRegressor fit",
        numbers,
        20_000,
        drop_in(ETR, fit, **FEW),
        explains_as_much_as_seeds,
        1,
        "20 trees",
        memory="scikit-learn",
    ),
    Case(
        "RandomTreesEmbedding fit",
        table,
        50_000,
        drop_in("ensemble.RandomTreesEmbedding", fit, random_state=0),
        as_many_leaves,
        1,
        "100 trees of depth 5",
    ),
    Case(
        "IsolationForest fit",
        table,
        100_000,
        drop_in(IF, fit, random_state=0),
        same_marks,
        1,
        "100 trees",
        memory="scikit-learn",
    ),
    Case("IsolationForest predict", table, 20_000, drop_in(IF, predict, random_state=0), same_outliers, 1, "100 trees"),
)

# Boosting


def as_sure(table, ours, rival):
    """Log loss on new rows is at most 0.001 higher."""
    new, truth = (part[len(table.X) :] for part in (whole(len(table.X)).X, whole(len(table.X)).y))
    a, b = (log_loss(truth, model.predict_proba(new)) for model in (ours, rival))
    if a > b + 0.001:
        raise Disagreement(f"log loss on new rows {a:.5f}, the rival's {b:.5f}")
    return f"log loss on {NEW} new rows {a:.5f}, rival {b:.5f}"


def library(package, name, **params):
    """An estimator of a library of boosting."""

    def prepare(data):
        try:
            make = getattr(import_module(package), name)
        except ModuleNotFoundError as error:
            raise Absent(f"{package} is not installed") from error
        return fit(make(**params), data)

    return prepare


HGB, GB, ADA = (
    f"ensemble.{name}"
    for name in ("HistGradientBoostingClassifier", "GradientBoostingClassifier", "AdaBoostClassifier")
)
HGBR, GBR, ADAR = (path.replace("Classifier", "Regressor") for path in (HGB, GB, ADA))
HUNDRED = {"n_estimators": 100, "n_jobs": 2}
LEAVES = {"tree_method": "hist", "grow_policy": "lossguide", "max_leaves": 31, "max_depth": 0, "learning_rate": 0.1}
RIVALS = {
    **drop_in(HGB, fit, early_stopping=False),
    "LightGBM": library("lightgbm", "LGBMClassifier", **HUNDRED, verbose=-1),
    "XGBoost": library("xgboost", "XGBClassifier", **HUNDRED, **LEAVES),
}
NUMBER_RIVALS = {
    **drop_in(HGBR, fit, early_stopping=False),
    "LightGBM": library("lightgbm", "LGBMRegressor", **HUNDRED, verbose=-1),
    "XGBoost": library("xgboost", "XGBRegressor", **HUNDRED, **LEAVES),
}

BOOSTING = (
    Case("HistGradientBoostingClassifier fit", table, 200_000, RIVALS, as_sure, 0.8,
        "100 rounds of 31 leaves", memory="scikit-learn",
    ),
    Case(
        "HistGradientBoostingClassifier predict", table, 200_000, drop_in(HGB, predict, early_stopping=False),
        same_predictions(0.999), 1, "100 rounds of 31 leaves",
    ),
    Case(
        "AdaBoostClassifier fit", table, 100_000, drop_in(ADA, fit, n_estimators=100, random_state=0),
        same("estimator_errors_", rtol=1e-6), 20, "100 stumps",
    ),
    Case(
        "GradientBoostingClassifier fit", table, 20_000, drop_in(GB, fit, n_estimators=20, random_state=0),
        same("train_score_", rtol=1e-6), 3, "20 rounds",
    ),
    Case("HistGradientBoostingRegressor fit", numbers, 200_000, NUMBER_RIVALS, explains_as_much, 0.8,
         "100 rounds of 31 leaves", memory="scikit-learn",
    ),
    Case(
        "HistGradientBoostingRegressor predict", numbers, 200_000, drop_in(HGBR, predict, early_stopping=False),
        close_numbers, 1, "100 rounds of 31 leaves",
    ),
    Case(
        "GradientBoostingRegressor fit", numbers, 20_000, drop_in(GBR, fit, n_estimators=20, random_state=0),
        same("train_score_", rtol=1e-6), 3, "20 rounds",
    ),
    Case(
        "GradientBoostingClassifier predict", table, 100_000, drop_in(GB, predict, n_estimators=20, random_state=0),
        same_predictions(0.999), 1, "20 rounds",
    ),
    Case(
        "AdaBoostRegressor fit", numbers, 20_000, drop_in(ADAR, fit, n_estimators=20, random_state=0),
        explains_as_much_as_seeds, 1, "20 trees of depth 3",
    ),
    Case(
        "AdaBoostClassifier predict", table, 20_000, drop_in(ADA, predict, n_estimators=50, random_state=0),
        same_predictions(0.999), 1, "50 stumps",
    ),
)  # fmt: skip

CASES = (*FORESTS, *BOOSTING)
