"""Linear ranking beside scikit-learn's classifier of differences: the same problem, written out pair by pair."""

import numpy as np
from sklearn.svm import LinearSVC

from benchmarks.harness import OURS, Case, Data, function, no_worse
from fivefold.rank import LinearRanker, Pairs

ROWS = 40  # of a query
GRADES = 5


def lists(n, d, scales=None, seed=0):
    """Queries of 40 rows with five grades, a linear order under noise, and an offset of its own for each query."""
    rng = np.random.default_rng(seed)
    X = rng.normal(size=(n, d)) * (1.0 if scales is None else np.geomspace(*scales, d))
    queries = np.arange(n) // ROWS
    score = (X / X.std(axis=0)) @ rng.normal(size=d) + 4 * rng.normal(size=n)
    grades = np.digitize(score, np.quantile(score, np.linspace(0, 1, GRADES + 1)[1:-1]))
    return Data(X + 3 * rng.normal(size=n // ROWS)[queries][:, None] * X.std(axis=0), grades, {"groups": queries})


def ours(data):
    return LinearRanker(C=0.01).fit(data.X, data.y, groups=data.given["groups"])


def theirs(data):
    """Pairs are written out and half of them turned round, for the classifier wants two classes: part of the work."""
    D = Pairs.of_grades(data.y, data.given["groups"]).differences(data.X)
    sign = np.where(np.arange(len(D)) % 2, 1.0, -1.0)
    return LinearSVC(C=0.01, fit_intercept=False, dual=False, random_state=0).fit(D * sign[:, None], sign)


def penalised_loss(data, model):
    """1/2 |w|^2 + C times the squared hinge of every pair, from the pairs."""
    D, w = Pairs.of_grades(data.y, data.given["groups"]).differences(data.X), np.ravel(model.coef_)
    return 0.5 * w @ w + 0.01 * float((np.maximum(1 - D @ w, 0) ** 2).sum())


def case(name, data, note):
    contestants = {"scikit-learn": function(theirs), OURS: function(ours)}
    return Case(name, data, 8_000, contestants, no_worse(penalised_loss, 1e-9), 10.0, note)


CASES = (
    case("LinearRanker fit", lambda n: lists(n, 50), "beside LinearSVC on the differences"),
    case(
        "LinearRanker fit, scales 0.1 to 10",
        lambda n: lists(n, 50, (0.1, 10.0)),
        "beside LinearSVC on the differences",
    ),
)
