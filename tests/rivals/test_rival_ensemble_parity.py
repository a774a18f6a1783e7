"""Trees and ensembles do what scikit-learn's do: shapes of answers, routing, warm starts, tools that look inside.

Signatures, public names and the shapes of fitted attributes are compared for every method by tests/laws.
"""

import contextlib
import io
import re

import numpy as np
import pytest
import sklearn
from sklearn import ensemble as rival_ensemble
from sklearn import tree as rival_tree
from sklearn.base import BaseEstimator, ClassifierMixin, clone
from sklearn.datasets import make_classification, make_regression
from sklearn.inspection import partial_dependence, permutation_importance
from sklearn.linear_model import LogisticRegression, Ridge
from sklearn.model_selection import GridSearchCV
from sklearn.neighbors import KNeighborsClassifier
from sklearn.pipeline import make_pipeline
from sklearn.preprocessing import StandardScaler
from tables import seeded

from fivefold import ensemble, tree

CLASSES = make_classification(90, 5, n_informative=4, n_redundant=0, n_classes=3, random_state=0)
TWO = make_classification(90, 5, n_informative=4, n_redundant=0, random_state=0)
NUMBERS = make_regression(90, 5, noise=3.0, random_state=0)
OUTPUTS = make_regression(90, 5, n_targets=2, noise=3.0, random_state=0)
MEMBERS = {
    "Classifier": [
        ("linear", LogisticRegression()),
        ("tree", rival_tree.DecisionTreeClassifier(max_depth=2, random_state=0)),
    ],
    "Regressor": [("linear", Ridge()), ("tree", rival_tree.DecisionTreeRegressor(max_depth=2, random_state=0))],
}
NOT_BUILT = {"BaseDecisionTree", "BaseEnsemble"}  # abstract classes of scikit-learn's own
SHARED = [
    (ours, theirs, name)
    for ours, theirs in ((tree, rival_tree), (ensemble, rival_ensemble))
    for name in theirs.__all__
    if name not in NOT_BUILT and isinstance(getattr(theirs, name), type)
]
SEVERAL = re.compile("DecisionTree|ExtraTree|RandomForest|BaggingRegressor")  # the others take one target
SUPERVISED = [case for case in SHARED if case[2].endswith(("Classifier", "Regressor"))]
ASKED = [
    "predict",
    "predict_proba",
    "predict_log_proba",
    "decision_function",
    "apply",
    "transform",
    "staged_predict",
    "staged_predict_proba",
    "staged_decision_function",
    "staged_score",
]


def small(module, name, **settings):
    """The method of this name, with few members."""
    if name.startswith(("Voting", "Stacking")):
        settings.setdefault("estimators", MEMBERS["Classifier" if name.endswith("Classifier") else "Regressor"])
    elif "Hist" in name:
        settings.setdefault("max_iter", 4)
    elif "n_estimators" in getattr(module, name)().get_params():
        settings.setdefault("n_estimators", 4)
    return seeded(getattr(module, name)(**settings))


def data_of(name):
    return CLASSES if name.endswith("Classifier") else NUMBERS


def shape(said):
    """The shapes of an answer; of a list, those of its parts."""
    return [shape(part) for part in said] if isinstance(said, list | tuple) else np.shape(said)


def test_every_public_name_is_there():
    for ours, theirs in ((tree, rival_tree), (ensemble, rival_ensemble)):
        assert [name for name in theirs.__all__ if name not in NOT_BUILT and not hasattr(ours, name)] == []


def assert_same_shapes(ours, theirs, name, X, y):
    a, b = small(ours, name).fit(X, y), small(theirs, name).fit(X, y)
    for method in [m for m in ASKED if hasattr(b, m)]:
        extra = (y,) if method == "staged_score" else ()
        with np.errstate(divide="ignore"):  # the peer's logarithms of zero
            mine, other = (getattr(model, method)(X, *extra) for model in (a, b))
            if method.startswith("staged"):
                mine, other = list(mine), list(other)
        assert shape(mine) == shape(other), method


@pytest.mark.parametrize("case", SUPERVISED, ids=lambda c: c[2])
def test_answers_have_the_same_shapes(case):
    assert_same_shapes(*case, *data_of(case[2]))
    assert_same_shapes(*case, *TWO)


@pytest.mark.parametrize("case", [case for case in SUPERVISED if SEVERAL.match(case[2])], ids=lambda c: c[2])
def test_answers_of_several_outputs_have_the_same_shapes(case):
    X, y = CLASSES
    Y = np.stack([y, y[::-1] % 2], axis=1) if case[2].endswith("Classifier") else OUTPUTS[1]
    assert_same_shapes(*case, X, Y)


@pytest.mark.parametrize("case", SUPERVISED, ids=lambda c: c[2])
def test_a_model_can_be_looked_into_by_scikit_learns_tools(case):
    ours, _, name = case
    X, y = data_of(name)
    model = small(ours, name)
    K = 3 if name.endswith("Classifier") else 1
    fitted = clone(model).fit(X, y)
    if K == 1 or hasattr(fitted, "predict_proba"):  # hard votes have no probabilities to average
        assert partial_dependence(fitted, X, [0], grid_resolution=5)["average"].shape == (K, 5)
    assert permutation_importance(fitted, X, y, n_repeats=2, random_state=0).importances.shape == (5, 2)
    assert make_pipeline(StandardScaler(), model).fit(X, y).predict(X).shape == (90,)


GROWING = [case for case in SHARED if "warm_start" in small(*case[1:]).get_params()]


@pytest.mark.parametrize("case", GROWING, ids=lambda c: c[2])
def test_a_warm_start_adds_to_what_is_there(case):
    ours, theirs, name = case
    X, y = data_of(name)
    key = "max_iter" if "Hist" in name else "n_estimators"
    for module in (ours, theirs):
        model = small(module, name, warm_start=True, random_state=0).fit(X, y)
        model.set_params(**{key: 7}).fit(X, y)
        assert (model.n_iter_ if "Hist" in name else len(model.estimators_)) == 7
        with pytest.raises(ValueError, match=f"{key}=2"):
            model.set_params(**{key: 2}).fit(X, y)


@pytest.mark.parametrize("case", GROWING, ids=lambda c: c[2])
def test_a_warm_start_on_other_columns_or_classes_is_refused(case):
    """Trees that ask about columns which are gone would read past the end of the rows."""
    ours, _, name = case
    X, y = data_of(name)
    key = "max_iter" if "Hist" in name else "n_estimators"
    model = small(ours, name, warm_start=True, random_state=0).fit(X, y)
    with pytest.raises(ValueError, match="goes on from a fit with columns 5; this table has columns 2"):
        model.set_params(**{key: 7}).fit(X[:, :2], y)
    assert not hasattr(model, "model_")
    if name.endswith("Classifier"):
        model.fit(X, y)
        with pytest.raises(ValueError, match=r"with classes \[0, 1, 2\]; this table has classes \[0, 1\]"):
            model.set_params(**{key: 9}).fit(X, y % 2)
    assert model.set_params(**{key: 3}).fit(X[:, :2], y).n_features_in_ == 2


def test_a_warm_start_with_more_outputs_is_refused():
    X, Y = OUTPUTS
    forest = ensemble.RandomForestRegressor(2, warm_start=True, random_state=0).fit(X, Y[:, 0])
    with pytest.raises(ValueError, match="with outputs 1; this table has outputs 2"):
        forest.set_params(n_estimators=3).fit(X, Y)


@pytest.fixture
def routing():
    with sklearn.config_context(enable_metadata_routing=True):
        yield


class Noting(ClassifierMixin, BaseEstimator):
    """Notes the metadata that it gets."""

    def fit(self, X, y, mark=None):
        self.classes_, self.rows_, self.mark_ = np.unique(y), np.asarray(X)[:, 0], mark
        return self

    def predict_proba(self, X, tilt=0.0):
        return np.column_stack([np.full(len(X), 0.5 - tilt), np.full(len(X), 0.5 + tilt)])

    def predict(self, X, tilt=0.0):
        return self.classes_[self.predict_proba(X, tilt).argmax(axis=1)]


@pytest.mark.usefixtures("routing")
def test_copies_in_a_bag_get_the_metadata_of_their_rows():
    X, y = TWO
    learner = Noting().set_fit_request(mark=True).set_predict_proba_request(tilt=True)
    w = (np.arange(90) % 3 > 0).astype(float)
    for module in (ensemble, rival_ensemble):
        bag = module.BaggingClassifier(learner, 3, random_state=0)
        for weights in (None, w):
            bag.fit(X, y, mark=X[:, 0], sample_weight=weights)
            for copy, rows in zip(bag.estimators_, bag.estimators_samples_, strict=True):
                np.testing.assert_array_equal(copy.mark_, copy.rows_)
                np.testing.assert_array_equal(np.sort(copy.rows_), np.sort(X[rows, 0]))
        np.testing.assert_allclose(bag.predict_proba(X, tilt=0.25)[:, 1], 0.75)
        assert set(bag.predict(X, tilt=-0.25)) == {0}


def test_metadata_that_nobody_asks_for_is_refused_with_what_to_do():
    X, y = TWO
    with pytest.raises(ValueError, match=r"BaggingClassifier.fit was given \['mark'\].*enable_metadata_routing=True"):
        ensemble.BaggingClassifier(Noting(), random_state=0).fit(X, y, mark=X[:, 0])
    with pytest.raises(ValueError, match=r"VotingClassifier.fit was given \['mark'\].*enable_metadata_routing=True"):
        ensemble.VotingClassifier([("noting", Noting())]).fit(X, y, mark=X[:, 0])


@pytest.mark.usefixtures("routing")
@pytest.mark.parametrize("name", ["BaggingClassifier", "VotingClassifier", "StackingClassifier"])
def test_weights_pass_through_a_search_to_the_members_that_ask_for_them(name):
    X, y = TWO
    w = np.random.RandomState(0).rand(90)
    learner = LogisticRegression().set_fit_request(sample_weight=True).set_score_request(sample_weight=False)
    given = {"estimator": learner} if name.startswith("Bagging") else {"estimators": [("linear", learner)]}
    final = {"final_estimator": learner} if name.startswith("Stacking") else {}
    for module in (ensemble, rival_ensemble):
        model = seeded(getattr(module, name)(**given, **final))
        search = GridSearchCV(model, {}, cv=2).fit(X, y, sample_weight=w)
        assert search.best_score_ > 0.5


@pytest.mark.parametrize("name", ["BaggingClassifier", "BaggingRegressor"])
def test_rows_of_weight_zero_keep_their_places_out_of_the_bag(name):
    X, y = TWO if name.endswith("Classifier") else NUMBERS
    w = (np.arange(90) % 3 > 0).astype(float)
    a, b = (
        small(module, name, n_estimators=30, oob_score=True, random_state=0).fit(X, y, sample_weight=w)
        for module in (ensemble, rival_ensemble)
    )
    said = "oob_decision_function_" if name.endswith("Classifier") else "oob_prediction_"
    assert np.shape(getattr(a, said)) == np.shape(getattr(b, said))
    assert all(w[rows].all() for model in (a, b) for rows in model.estimators_samples_)
    idle = w == 0
    every = a.predict_proba(X) if name.endswith("Classifier") else a.predict(X)
    np.testing.assert_allclose(getattr(a, said)[idle], every[idle], rtol=1e-12)  # they are in no sample


@pytest.mark.parametrize("name", ["VotingClassifier", "VotingRegressor"])
def test_voting_says_how_long_each_fit_takes_if_asked(name):
    X, y = data_of(name)
    for module in (ensemble, rival_ensemble):
        with contextlib.redirect_stdout(io.StringIO()) as out:
            small(module, name, verbose=1).fit(X, y)
        assert "(1 of 2) Processing linear" in out.getvalue() and "total=" in out.getvalue()


def test_means_of_several_outputs_name_every_column():
    X, Y = OUTPUTS
    model = small(ensemble, "VotingRegressor").fit(X, Y).set_output(transform="pandas")
    one, two = (inner.predict(X) for inner in model.estimators_)
    np.testing.assert_allclose(model.predict(X), (one + two) / 2, rtol=1e-12)
    table = model.transform(X)
    assert list(table) == [f"votingregressor_{name}{j}" for name in ("linear", "tree") for j in (0, 1)]
    np.testing.assert_allclose(table["votingregressor_tree1"], two[:, 1], rtol=1e-12)


def words_of(model, X, y):
    with pytest.raises((ValueError, TypeError)) as refused:
        model.fit(X, y)
    return str(refused.value)


@pytest.mark.parametrize("name", ["VotingClassifier", "StackingClassifier", "CascadeClassifier"])
@pytest.mark.parametrize(
    ("estimators", "words"),
    [
        ([("a__b", LogisticRegression())], "must not contain __: got ['a__b']"),
        ([("a", LogisticRegression()), ("a", LogisticRegression())], "not unique: ['a', 'a']"),
        ([("n_jobs", LogisticRegression())], "conflict with constructor arguments: ['n_jobs']"),
        ([("a", LogisticRegression)], "'a', unless it is 'drop', is the class LogisticRegression, not an instance"),
        ([("a", None)], "None has no fit"),
        ([("a", "dropped")], "'dropped' has no fit"),
    ],
    ids=lambda v: v if isinstance(v, str) else "",
)
def test_wrong_lists_of_estimators_are_refused_with_what_was_given(name, estimators, words):
    said = words_of(getattr(ensemble, name)(estimators), *TWO)
    assert said.startswith(name) and words in said


@pytest.mark.parametrize(
    ("model", "words"),
    [
        (ensemble.BaggingClassifier(LogisticRegression, random_state=0), "give LogisticRegression()"),
        (ensemble.BaggingClassifier(Ridge(), random_state=0), "estimator should be a classifier; got Ridge()"),
        (ensemble.BaggingRegressor("tree", random_state=0), "'tree' has no fit and predict"),
        (ensemble.AdaBoostClassifier(LogisticRegression), "give LogisticRegression()"),
        (
            ensemble.GradientBoostingClassifier(init="one", random_state=0),
            "init must be an estimator, 'zero' or None; got 'one'",
        ),
        (ensemble.GradientBoostingClassifier(init=Ridge(), random_state=0), "Ridge() has no predict_proba"),
        (ensemble.StackingClassifier(MEMBERS["Classifier"], "linear"), "'linear' has no fit and predict"),
        (
            ensemble.VotingClassifier([("a", Ridge())], voting="soft"),
            "'a' must be an estimator with fit and predict_proba",
        ),
        (ensemble.VotingClassifier(MEMBERS["Classifier"], weights=2), "one per estimator; got 2"),
        (ensemble.VotingClassifier(MEMBERS["Classifier"], weights=["x", 1]), "list of numbers"),
        (ensemble.VotingClassifier(MEMBERS["Classifier"], weights=[1, -1]), "weights sum to zero"),
    ],
    ids=str,
)
def test_parameters_that_cannot_be_are_refused_with_what_was_given(model, words):
    said = words_of(model, *TWO)
    assert said.startswith(type(model).__name__) and words in said


@pytest.mark.parametrize("name", ["VotingClassifier", "StackingClassifier"])
def test_a_member_that_takes_no_weights_is_named(name):
    model = getattr(ensemble, name)([("near", KNeighborsClassifier())])
    with pytest.raises(TypeError, match="estimator KNeighborsClassifier does not support sample weights: fit without"):
        model.fit(*TWO, sample_weight=np.ones(90))


@pytest.mark.parametrize("name", ["BaggingClassifier", "RandomForestClassifier", "ExtraTreesRegressor"])
def test_what_rows_out_of_the_bag_say_is_asked_for_first(name):
    model = small(ensemble, name).fit(*data_of(name))
    with pytest.raises(AttributeError, match=f"{name} has no 'oob_score_': .* oob_score=True"):
        _ = model.oob_score_
    with pytest.raises(AttributeError, match=f"{name} is not fitted yet: it has no 'oob_score_' before fit"):
        _ = getattr(ensemble, name)().oob_score_


def test_importances_that_learners_do_not_have_are_refused_with_another_way():
    model = ensemble.AdaBoostClassifier(LogisticRegression(), n_estimators=2, random_state=0).fit(*TWO)
    with pytest.raises(AttributeError, match="its learners, LogisticRegression, have none; .*permutation_importance"):
        _ = model.feature_importances_


@pytest.mark.parametrize("name", ["RandomForestClassifier", "ExtraTreesClassifier"])
def test_shares_out_of_the_bag_have_a_table_for_each_of_several_labels(name):
    X, y = TWO
    Y = np.stack([y, y[::-1], X[:, 0] > 0], axis=1).astype(int)
    settings = {"n_estimators": 40, "bootstrap": True, "oob_score": True, "random_state": 0}
    a, b = (getattr(module, name)(**settings).fit(X, Y) for module in (ensemble, rival_ensemble))
    assert a.oob_decision_function_.shape == b.oob_decision_function_.shape == (90, 2, 3)
    np.testing.assert_allclose(a.oob_decision_function_.sum(axis=1), 1, rtol=1e-12)
    for model in (a, b):  # a row is right where all its labels are
        assert model.oob_score_ == np.mean((model.oob_decision_function_.argmax(axis=1) == Y).all(axis=1))
    uneven = getattr(ensemble, name)(**settings).fit(X, np.stack([CLASSES[1], y], axis=1))
    assert [table.shape for table in uneven.oob_decision_function_] == [(90, 3), (90, 2)]
