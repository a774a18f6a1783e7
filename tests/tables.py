"""Small tables that suit a method: what the laws over the registry are tried on."""

import numpy as np
from scipy.sparse import issparse
from sklearn.base import is_classifier, is_regressor

from benchmarks.harness.contestants import seeded  # noqa: F401  for tests beside a rival
from fivefold.core.estimators.supervised_learning import NumericTarget
from fivefold.core.registry import methods

METHODS = methods()
ROW_QUESTIONS = ("predict", "transform", "score_samples", "kneighbors")
CASES = [(method, {**method.card.given, **settings}) for method in METHODS for settings in ({}, *method.card.variants)]


def named(case):
    method, settings = case
    return method.name + "".join(f"-{key}={value}" for key, value in settings.items())


def build(case, **more):
    """The estimator of a case, with a seed where it takes one."""
    method, settings = case
    known = {parameter.name for parameter in method.parameters}
    seed = {"random_state": 0} if "random_state" in known else {}
    return method.cls(**{**seed, **settings, **{k: v for k, v in more.items() if k in known}})


def table(case, n=60, d=4, seed=0, dtype=np.float64):
    """X and y: three classes that differ, counts for methods that take counts only."""
    rng = np.random.RandomState(seed)
    codes = rng.randint(3, size=n)
    codes[:3] = 0, 1, 2
    centres = 2.0 * rng.normal(size=(3, d))
    X = centres[codes] + rng.normal(size=(n, d))
    if case[0].cls.takes.positive:
        X = np.floor(np.abs(X)).clip(0, 3)
        X[:4] = np.arange(4)[:, None]  # every code is there
    numbers = is_regressor(build(case)) or issubclass(case[0].cls, NumericTarget)
    y = centres[codes, 0] + rng.normal(size=n) if numbers else np.array(["a", "b", "c"])[codes]
    if build(case).__sklearn_tags__().target_tags.positive_only:
        y = np.abs(y) + 0.1
    if not build(case).__sklearn_tags__().target_tags.single_output:
        y = np.column_stack([y, X[:, 1] - y])
    return X.astype(dtype), y


def fitted(case, X, y, **fit):
    return build(case).fit(X, y, **fit)


def outputs(model, X):
    """All a fitted model says about rows of X, by the name of the method."""
    said = {}
    for name in ("predict", "predict_proba", "decision_function", "transform", "score_samples"):
        if callable(getattr(model, name, None)):
            answer = getattr(model, name)(X)
            said[name] = answer.toarray() if issparse(answer) else np.asarray(answer)
    return said


def row_question(model):
    """A method of a fitted model that answers about new rows."""
    return next(getattr(model, name) for name in ROW_QUESTIONS if hasattr(model, name))


def answers_new_rows(case):
    """Can new rows be asked about? A hierarchy or a density of the rows of fit says nothing of others."""
    return any(hasattr(case[0].cls, name) for name in ROW_QUESTIONS)


def learns_labels(case):
    return is_classifier(build(case))
