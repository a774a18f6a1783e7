"""The wrappers for many classes say what scikit-learn's say, around estimators of scikit-learn and of ours."""

import numpy as np
import pytest
import sklearn.multiclass
from numpy.testing import assert_allclose
from scipy.sparse import csr_matrix
from sklearn.datasets import load_iris, make_multilabel_classification
from sklearn.feature_extraction.text import CountVectorizer
from sklearn.linear_model import LogisticRegression, Ridge, SGDClassifier
from sklearn.naive_bayes import GaussianNB
from sklearn.pipeline import make_pipeline
from sklearn.tree import DecisionTreeClassifier
from tables import seeded

import fivefold.multiclass
from fivefold.svm import LinearSVC

X, Y = load_iris(return_X_y=True)
INSIDE = [
    LinearSVC(random_state=0),
    LogisticRegression(max_iter=1000),
    GaussianNB(),
    DecisionTreeClassifier(max_depth=2, random_state=0),
]
WRAPPERS = {
    "OneVsRestClassifier": {},
    "OneVsOneClassifier": {},
    "OutputCodeClassifier": {"code_size": 3, "random_state": 1},
}


def both(name, estimator, **settings):
    settings = {**WRAPPERS[name], **settings}
    return [seeded(getattr(m, name)(estimator, **settings)) for m in (fivefold.multiclass, sklearn.multiclass)]


@pytest.mark.parametrize("classes", [3, 2])
@pytest.mark.parametrize("inside", INSIDE, ids=lambda e: type(e).__name__)
@pytest.mark.parametrize("name", WRAPPERS)
def test_labels_and_scores_are_scikit_learns(name, inside, classes):
    """Machines are the same objects' copies, so the answers are equal but for the order of a sum."""
    rows = Y >= 3 - classes
    ours, theirs = (model.fit(X[rows], Y[rows]) for model in both(name, inside))
    assert (ours.predict(X[rows]) == theirs.predict(X[rows])).all()
    assert len(ours.estimators_) == len(theirs.estimators_)
    for method in ("decision_function", "predict_proba"):
        assert hasattr(ours, method) == hasattr(theirs, method)
        if hasattr(theirs, method):
            assert_allclose(getattr(ours, method)(X[rows]), getattr(theirs, method)(X[rows]), atol=1e-12)


def test_the_random_words_are_scikit_learns():
    for inside in (LinearSVC(random_state=0), GaussianNB()):
        ours, theirs = (model.fit(X, Y) for model in both("OutputCodeClassifier", inside))
        assert_allclose(ours.code_book_, theirs.code_book_)


@pytest.mark.parametrize("kind", [np.asarray, csr_matrix], ids=["dense", "sparse"])
def test_rows_with_several_labels_are_learned_as_by_scikit_learn(kind):
    Z, L = make_multilabel_classification(n_samples=100, random_state=0)
    ours, theirs = (model.fit(Z, kind(L)) for model in both("OneVsRestClassifier", LogisticRegression(max_iter=1000)))
    said = [p.toarray() if hasattr(p, "toarray") else p for p in (ours.predict(Z), theirs.predict(Z))]
    assert (said[0] == said[1]).all()
    assert_allclose(ours.predict_proba(Z), theirs.predict_proba(Z))
    assert ours.multilabel_ and theirs.multilabel_


def test_a_regressor_can_be_inside_one_vs_rest():
    ours, theirs = (model.fit(X, Y) for model in both("OneVsRestClassifier", Ridge()))
    assert (ours.predict(X) == theirs.predict(X)).all()


@pytest.mark.parametrize("name", ["OneVsRestClassifier", "OneVsOneClassifier"])
def test_learning_in_parts_is_scikit_learns(name):
    ours, theirs = both(name, SGDClassifier(random_state=0))
    for part in (slice(0, None, 2), slice(1, None, 2)):
        for model in (ours, theirs):
            model.partial_fit(X[part], Y[part], classes=[0, 1, 2])
    assert_allclose(ours.decision_function(X), theirs.decision_function(X))
    with pytest.raises(ValueError, match="label 7 is not one of the classes"):
        ours.partial_fit(X[:3], [0, 7, 1])


def test_text_goes_through_to_the_pipeline_inside():
    texts, labels = ["a b", "b c", "c d", "a d", "b b", "c c"], ["x", "y", "z", "x", "y", "z"]
    ours, theirs = (
        model.fit(texts, labels)
        for model in both(
            "OneVsRestClassifier", make_pipeline(CountVectorizer(token_pattern=r"\w"), LinearSVC(random_state=0))
        )
    )
    assert (ours.predict(texts) == theirs.predict(texts)).all()
