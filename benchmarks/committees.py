"""Committees: bagging, voting, stacking, cascades and short sums, each library with learners of its own.

scikit-learn has no cascade and no greedy sum with a price of bits. A cascade stands beside the stack of the same
learners, a filter for something rare beside boosted trees, a short sum beside boosted stumps of as many rounds. The
ratio of those says what the method costs, and the row counts where it errs no more than is said there.
"""

import numpy as np

from benchmarks.ensemble import NEW, as_accurate, explains_as_much, explains_as_much_as_seeds, numbers, table, whole
from benchmarks.harness import OURS, Case, Data, Disagreement, assembled, drop_in, fit, predict, same_predictions
from benchmarks.harness.agree import same_output


def learners(find):
    """Three unlike classifiers."""
    return [
        ("linear", find("linear_model.LogisticRegression")()),
        ("bayes", find("naive_bayes.GaussianNB")()),
        ("tree", find("tree.DecisionTreeClassifier")(max_depth=8, random_state=0)),
    ]


def number_learners(find):
    """Two unlike regressors."""
    return [
        ("linear", find("linear_model.LinearRegression")()),
        ("tree", find("tree.DecisionTreeRegressor")(max_depth=8, random_state=0)),
    ]


def committee(path, task, members=learners, **params):
    return assembled(lambda find: find(path)(members(find), **params), task)


# What scikit-learn lacks


def rare(n):
    """One row in eighty is positive, by three bounds."""
    X = np.random.default_rng(0).normal(size=(n + NEW, 10))
    y = (X[:, 0] > 1) & (X[:, 1] > 1) & (X[:, 2] > 0)
    y = y.astype(np.int64)
    return Data(X[:n], y[:n]), Data(X[n:], y[n:])


def keeps_the_rare(data, ours, rival):
    """On new rows at least 95% of the positives pass all stages, and at most a tenth of all rows do."""
    new = rare(len(data.X))[1]
    a, b = (model.predict(new.X) == 1 for model in (ours, rival))
    found, passed = float(a[new.y == 1].mean()), float(a.mean())
    if found < 0.95 or passed > 0.1:
        raise Disagreement(f"{found:.3f} of the new positives are found among {passed:.3f} of the rows")
    return f"{found:.1%} of new positives among {passed:.1%} of rows, rival {b[new.y == 1].mean():.1%}"


def nearly_as_accurate(data, ours, rival):
    """Accuracy on new rows is at most 0.02 lower: terms are fewer, and rounded."""
    rows = whole(len(data.X))
    new, truth = rows.X[len(data.X) :], rows.y[len(data.X) :]
    a, b = (float(np.mean(model.predict(new) == truth)) for model in (ours, rival))
    if a < b - 0.02:
        raise Disagreement(f"accuracy on new rows {a:.4f}, the rival's {b:.4f}")
    return f"accuracy on {NEW} new rows {a:.4f}, rival {b:.4f}"


def beside(rival_path, rival_params, ours_path, ours_params=None):
    """Ours, and another method of scikit-learn."""
    rival = drop_in(rival_path, fit, **rival_params)["scikit-learn"]
    return {"scikit-learn": rival, OURS: drop_in(ours_path, fit, **(ours_params or {}))[OURS]}


VOTING, STACKING = "ensemble.VotingClassifier", "ensemble.StackingClassifier"
NUMBER_VOTING, NUMBER_STACKING = "ensemble.VotingRegressor", "ensemble.StackingRegressor"
BAG = {"n_estimators": 10, "random_state": 0}
CASCADE = {
    "scikit-learn": committee(STACKING, fit)["scikit-learn"],
    OURS: committee("ensemble.CascadeClassifier", fit)[OURS],
}

CASES = (
    Case(
        "BaggingClassifier fit", table, 20_000, drop_in("ensemble.BaggingClassifier", fit, **BAG), as_accurate, 3,
        "10 trees",
    ),
    Case(
        "BaggingRegressor fit", numbers, 10_000, drop_in("ensemble.BaggingRegressor", fit, **BAG),
        explains_as_much_as_seeds, 3, "10 trees",
    ),
    Case("VotingClassifier fit", table, 50_000, committee(VOTING, fit), same_predictions(0.99), 1, "three learners"),
    Case(
        "VotingClassifier predict", table, 50_000, committee(VOTING, predict), same_predictions(0.99), 1,
        "three learners",
    ),
    Case(
        "VotingRegressor fit", numbers, 50_000, committee(NUMBER_VOTING, fit, number_learners), explains_as_much, 1,
        "two learners",
    ),
    Case(
        "VotingRegressor predict", numbers, 50_000, committee(NUMBER_VOTING, predict, number_learners),
        same_output(1e-2), 1, "two learners",
    ),
    Case(
        "StackingClassifier fit", table, 20_000, committee(STACKING, fit), as_accurate, 1, "three learners, five folds"
    ),
    Case(
        "StackingRegressor fit", numbers, 20_000, committee(NUMBER_STACKING, fit, number_learners), explains_as_much, 1,
        "two learners, five folds",
    ),
    Case(
        "CascadeClassifier fit", table, 20_000, CASCADE, nearly_as_accurate, 1,
        "three learners, five folds; beside the stack of them",
    ),
    Case(
        "EnrichmentCascade fit", lambda n: rare(n)[0], 20_000,
        beside("ensemble.GradientBoostingClassifier", {"random_state": 0}, "ensemble.EnrichmentCascade"),
        keeps_the_rare, 1, "one in eighty; beside gradient boosting",
    ),
    Case(
        "SparseLinearClassifier fit", table, 20_000,
        beside(
            "ensemble.GradientBoostingClassifier", {"random_state": 0, "max_depth": 1, "n_estimators": 20},
            "ensemble.SparseLinearClassifier",
        ),
        nearly_as_accurate, 1, "20 terms; beside 20 boosted stumps",
    ),
)  # fmt: skip
