"""Trees, ensembles, reductions and generative classifiers: what a user of scikit-learn's finds at the same names.

Signatures, types of attributes, errors before fit, members of ensembles, and what meta-estimators hand on.
"""

import pickle
from importlib import import_module
from inspect import isclass, isfunction, signature

import numpy as np
import pytest
from numpy.testing import assert_allclose, assert_array_equal
from scipy.sparse import csc_array, csc_matrix, csr_array, csr_matrix
from sklearn.base import BaseEstimator, ClassifierMixin, is_regressor
from sklearn.datasets import load_diabetes, load_iris, make_multilabel_classification
from sklearn.dummy import DummyClassifier, DummyRegressor
from sklearn.exceptions import NotFittedError
from sklearn.impute import SimpleImputer
from sklearn.linear_model import LogisticRegression, Ridge
from sklearn.model_selection import cross_val_score
from sklearn.pipeline import make_pipeline
from sklearn.preprocessing import FunctionTransformer
from sklearn.svm import SVC
from sklearn.tree import DecisionTreeClassifier as TheirTree

from fivefold import discriminant_analysis, ensemble, multiclass, naive_bayes, tree

CHAPTERS = [tree, ensemble, naive_bayes, discriminant_analysis, multiclass]
PAIR = [("a", LogisticRegression(max_iter=500)), ("b", LogisticRegression(C=0.1, max_iter=500))]
SHARED = [
    (chapter, name)
    for chapter in CHAPTERS
    for name in dir(chapter)
    if isclass(getattr(chapter, name)) and hasattr(import_module(f"sklearn.{chapter.__name__[9:]}"), name)
]
# the same meaning in another class: our nodes, our start of boosting
OWN_TYPES = {"tree_", "init_", "estimator_", "estimators_", "named_estimators_", "final_estimator_", "le_"}


def theirs(chapter):
    return import_module(f"sklearn.{chapter.__name__[9:]}")


def kind(value):
    """Enough of the type for code that uses the value."""
    if isinstance(value, np.ndarray):
        return "array", value.ndim, value.dtype
    if isinstance(value, list | tuple) and value:
        return type(value), kind(value[0])
    return type(value)


def settings(name, cls):
    """A small model."""
    given = {"n_estimators": 5, "max_iter": 5, "random_state": 0, "store_covariance": True}
    out = {key: value for key, value in given.items() if key in signature(cls).parameters}
    if name.startswith(("Stacking", "Voting")):
        out["estimators"] = PAIR if name.endswith("Classifier") else [("a", Ridge()), ("b", Ridge(2))]
    if "VsRest" in name or "VsOne" in name or name == "OutputCodeClassifier":
        out["estimator"] = LogisticRegression(max_iter=500)
    if name.startswith(("RandomForest", "ExtraTreesC", "ExtraTreesR", "Bagging")):
        out.update(bootstrap=True, oob_score=True)
    return out | ({"subsample": 0.5} if name.startswith("GradientBoosting") else {})


@pytest.mark.filterwarnings("ignore:.*do not have OOB", "ignore:invalid value:RuntimeWarning")  # five trees are few
@pytest.mark.parametrize(("chapter", "name"), SHARED, ids=[name for _, name in SHARED])
def test_learned_attributes_have_scikit_learns_types(chapter, name):
    mine, rival = getattr(chapter, name), getattr(theirs(chapter), name)
    options = settings(name, rival)
    X, y = load_diabetes(return_X_y=True) if is_regressor(rival(**options)) else load_iris(return_X_y=True)
    X = X.round() if name == "CategoricalNB" else X
    a, b = mine(**options).fit(X, y), rival(**options).fit(X, y)
    for attribute in (k for k in dir(b) if k.endswith("_") and not k.startswith("_") and hasattr(b, k)):
        found, wanted = getattr(a, attribute), getattr(b, attribute)
        if attribute in OWN_TYPES:
            assert not isinstance(wanted, list | tuple) or (type(found), len(found)) == (type(wanted), len(wanted))
        else:
            assert kind(found) == kind(wanted), attribute
    for sequence in ("__len__", "__iter__", "__getitem__"):
        assert hasattr(mine, sequence) == hasattr(rival, sequence)
    if hasattr(b, "tree_"):
        for part in (k for k in dir(b.tree_) if not k.startswith("_") and k != "compute_partial_dependence"):
            assert callable(getattr(b.tree_, part)) or kind(getattr(a.tree_, part)) == kind(getattr(b.tree_, part)), (
                part
            )


@pytest.mark.parametrize("name", ["export_text", "export_graphviz", "plot_tree"])
def test_functions_that_show_trees_have_scikit_learns_signature(name):
    mine, rival = (signature(getattr(module, name)).parameters.values() for module in (tree, theirs(tree)))
    assert isfunction(getattr(tree, name))
    assert [(p.name, p.kind, p.default) for p in mine] == [(p.name, p.kind, p.default) for p in rival]


@pytest.mark.parametrize(("chapter", "name"), SHARED, ids=[name for _, name in SHARED])
def test_what_only_a_fit_gives_is_called_not_fitted(chapter, name):
    """An AttributeError alone would pass for a missing feature; NotFittedError is one too."""
    model = getattr(chapter, name)(**settings(name, getattr(theirs(chapter), name)))
    for attribute in ("feature_importances_", "estimators_", "tree_", "classes_", "coef_", "theta_"):
        assert not hasattr(model, attribute)
    for method in ("apply", "decision_path", "predict", "predict_proba", "transform", "get_n_leaves", "staged_predict"):
        if hasattr(model, method):
            with pytest.raises(NotFittedError):
                list(getattr(model, method)(*([] if method == "get_n_leaves" else [np.zeros((2, 3))])))
    if hasattr(type(model), "feature_importances_"):
        with pytest.raises(NotFittedError):
            _ = model.feature_importances_


@pytest.mark.parametrize(
    "model",
    [
        ensemble.RandomForestClassifier(4, random_state=0),
        ensemble.ExtraTreesRegressor(4, random_state=0),
        ensemble.IsolationForest(n_estimators=4, random_state=0),
        ensemble.BaggingClassifier(n_estimators=4, random_state=0),
        ensemble.AdaBoostClassifier(n_estimators=4, random_state=0),
        ensemble.GradientBoostingRegressor(n_estimators=4, random_state=0),
    ],
    ids=lambda model: type(model).__name__,
)
def test_an_ensemble_is_the_sequence_of_its_members(model):
    X, y = load_iris(return_X_y=True)
    model.fit(X, y)
    assert len(model) == 4 == len(list(model)) == len(model[:])
    assert model[1] is model.estimators_[1] or (model[1] == model.estimators_[1]).all()
    again = pickle.loads(pickle.dumps(model))
    assert len(again) == 4
    assert_array_equal(again.predict(X), model.predict(X))


class TestTrees:
    X, y = load_iris(return_X_y=True)

    @pytest.mark.parametrize("criterion", ["gini", "entropy"])
    def test_falls_of_the_impurity_without_a_sum_of_one(self, criterion):
        a, b = (
            m.DecisionTreeClassifier(criterion=criterion, max_depth=3, random_state=0) for m in (tree, theirs(tree))
        )
        a, b = a.fit(self.X[:, 2:3], self.y).tree_, b.fit(self.X[:, 2:3], self.y).tree_
        assert_allclose(a.compute_feature_importances(normalize=False), b.compute_feature_importances(normalize=False))
        assert_array_equal(a.compute_node_depths(), b.compute_node_depths())

    @pytest.mark.parametrize("cls", [tree.DecisionTreeClassifier, tree.ExtraTreeRegressor])
    def test_a_count_is_not_read_as_a_share(self, cls):
        with pytest.raises(ValueError, match="min_samples_split"):
            cls(min_samples_split=1).fit(self.X, self.y)
        cls(min_samples_split=1.0).fit(self.X, self.y)

    @pytest.mark.parametrize("container", [csr_matrix, csr_array])
    def test_sparse_targets_are_refused_by_either_error_of_scikit_learns(self, container):
        for model, error in (
            (tree.DecisionTreeClassifier(random_state=0), TypeError),
            (ensemble.RandomForestClassifier(2, random_state=0), ValueError),
        ):
            with pytest.raises(error, match="sparse targets"):
                model.set_params(random_state=0).fit(self.X, container(np.eye(3, dtype=int)[self.y]))

    @pytest.mark.parametrize(
        "model",
        [
            tree.DecisionTreeClassifier(random_state=0),
            tree.DecisionTreeClassifier(class_weight="balanced", random_state=0),
            tree.ExtraTreeClassifier(random_state=0),
            ensemble.RandomForestClassifier(5, random_state=0),
            ensemble.ExtraTreesClassifier(5, class_weight="balanced", random_state=0),
        ],
        ids=repr,
    )
    def test_a_class_of_weight_zero_keeps_its_place(self, model):
        w = (self.y != 1).astype(float)
        model.fit(self.X, self.y, sample_weight=w)
        shares = model.predict_proba(self.X)
        assert_array_equal(model.classes_, [0, 1, 2])
        assert shares.shape == (150, 3) and not shares[:, 1].any()
        if isinstance(model, tree.DecisionTreeClassifier):
            alone = type(model)(**model.get_params()).fit(self.X[w > 0], self.y[w > 0])
            assert_allclose(shares[:, [0, 2]], alone.predict_proba(self.X))

    @pytest.mark.parametrize("scale", [1.0, 1e7, 0.1])
    def test_equal_targets_are_not_divided_and_whole_ones_stay_whole(self, scale):
        """Rounding about the mean gave a pure node a spread, and a cut."""
        rng = np.random.default_rng(0)
        X = rng.random((330, 3))
        X[:, 0] = np.arange(330) % 3
        y = scale * (np.arange(330) % 3)
        model = tree.DecisionTreeRegressor(random_state=0).fit(X, y)
        assert model.get_n_leaves() == 3
        if scale >= 1:
            assert_array_equal(model.predict(X), y)
            assert_array_equal(model.tree_.impurity[model.tree_.children_left < 0], 0.0)


class Recorder(ClassifierMixin, BaseEstimator):
    """Remembers what it was given; its fit returns nothing."""

    def fit(self, X, y):
        self.seen_, self.target_, self.classes_ = X, y, np.unique(y)

    def predict(self, X):
        return np.zeros(X.shape[0], dtype=int)

    def predict_proba(self, X):
        return np.eye(len(self.classes_))[np.zeros(X.shape[0], dtype=int)]

    def __sklearn_tags__(self):
        tags = super().__sklearn_tags__()
        tags.input_tags.sparse = True
        return tags


class TestBagging:
    X, y = load_iris(return_X_y=True)

    @pytest.mark.parametrize("container", [csr_matrix, csr_array, csc_matrix, csc_array])
    def test_copies_get_a_sparse_table_in_its_format(self, container):
        model = ensemble.BaggingClassifier(Recorder(), n_estimators=2, random_state=0).fit(container(self.X), self.y)
        assert {type(copy.seen_) for copy in model} == {container}

    def test_samples_are_listed_in_the_order_of_the_copies(self):
        model = ensemble.BaggingClassifier(Recorder(), n_estimators=3, random_state=0).fit(self.X, self.y)
        for copy, rows in zip(model, model.estimators_samples_, strict=True):
            assert_array_equal(copy.seen_, self.X[rows])
            assert_array_equal(copy.target_, self.y[rows])

    def test_a_pipeline_decides_what_it_takes(self):
        X = self.X.copy()
        X[3, 1], X[7, 0] = np.nan, np.inf
        clean = FunctionTransformer(lambda Z: np.nan_to_num(Z, nan=0.0, posinf=9.0))
        pipeline = make_pipeline(clean, TheirTree(random_state=0))
        model = ensemble.BaggingClassifier(pipeline, random_state=0).fit(X, self.y)
        assert model.score(X, self.y) > 0.95
        with pytest.raises(ValueError, match=r"(?i)nan|inf"):
            ensemble.BaggingClassifier(make_pipeline(LogisticRegression()), random_state=0).fit(X, self.y)

    def test_a_sample_of_one_class_does_not_end_the_fit(self):
        """One row of the second class is left out of a third of the samples."""
        X, y = np.arange(12.0)[:, None], np.r_[np.zeros(11, int), 1]
        model = ensemble.BaggingClassifier(LogisticRegression(), 20, random_state=0).fit(X, y)
        assert_allclose(model.predict_proba(X).sum(axis=1), 1.0)

    def test_few_rows_a_sample_are_announced(self):
        w = np.full(150, 1 / 300)
        with pytest.warns(UserWarning, match="samples of 1 of 150 rows"):
            ensemble.BaggingClassifier(max_samples=1.0, random_state=0).fit(self.X, self.y, sample_weight=w)


@pytest.mark.parametrize("container", [csc_matrix, csc_array])
def test_boosted_learners_get_a_sparse_table_in_its_format(container):
    seen = []

    class Stump(TheirTree):
        def fit(self, X, y, sample_weight=None):
            seen.append(type(X))
            return super().fit(X, y, sample_weight=sample_weight)

    X, y = load_iris(return_X_y=True)
    ensemble.AdaBoostClassifier(Stump(max_depth=1), n_estimators=2, random_state=0).fit(container(X), y)
    assert set(seen) == {container}


@pytest.mark.parametrize(
    ("method", "inner", "target"),
    [
        (ensemble.AdaBoostClassifier, DummyClassifier(strategy="most_frequent"), lambda rng: rng.integers(2, size=51)),
        (ensemble.AdaBoostRegressor, DummyRegressor(), lambda rng: rng.normal(size=51)),
    ],
)
def test_boosting_takes_the_shapes_that_its_learner_takes(method, inner, target):
    rng = np.random.default_rng(1)
    X, y = rng.normal(size=(51, 3, 3)), target(rng)
    assert method(inner, random_state=0).fit(X, y).predict(X).shape == (51,)


class TestForests:
    def test_out_of_bag_accuracy_of_several_labels_is_that_of_score(self):
        """A row counts where all of its labels are right."""
        X, Y = make_multilabel_classification(300, random_state=0)
        model = ensemble.RandomForestClassifier(40, oob_score=True, random_state=0).fit(X[:200], Y[:200])
        assert abs(model.oob_score_ - model.score(X[200:], Y[200:])) < 0.15

    def test_trees_are_a_list_made_once(self):
        X, y = load_iris(return_X_y=True)
        forest = ensemble.RandomForestClassifier(3, random_state=0).fit(X, y)
        assert type(forest.estimators_) is list and forest.estimators_ is forest.estimators_
        assert isinstance(forest.estimator, tree.DecisionTreeClassifier)
        assert len(forest.fit(X[:, :2], y).estimators_) == 3 and forest[0].n_features_in_ == 2


class TestBoosting:
    X, y = load_diabetes(return_X_y=True)

    def test_a_boosted_tree_shows_its_parameters(self):
        model = ensemble.GradientBoostingRegressor(
            n_estimators=3,
            max_depth=1,
            min_impurity_decrease=0.1,
            warm_start=True,
            random_state=0,
        )
        model.fit(self.X, self.y).set_params(n_estimators=5, max_depth=2).fit(self.X, self.y)
        assert [trees[0].max_depth for trees in model] == [1, 1, 1, 2, 2]
        assert model[0][0].get_params()["min_impurity_decrease"] == 0.1

    def test_scores_out_of_the_bag_may_begin_later(self):
        model = ensemble.GradientBoostingRegressor(n_estimators=4, max_depth=1, warm_start=True, random_state=0)
        model.fit(self.X, self.y).set_params(n_estimators=6, subsample=0.5).fit(self.X, self.y)
        assert_array_equal(model.oob_improvement_ != 0, np.arange(6) >= 4)
        assert_array_equal(model.oob_scores_ != 0, np.arange(6) >= 4)

    @pytest.mark.parametrize(
        ("settings", "message"),
        [
            ({"interaction_cst": 1}, "interaction_cst"),
            ({"interaction_cst": [1, 2]}, "interaction_cst must be a sequence"),
            ({"categorical_features": [b"age"]}, "must hold names, numbers or truth values"),
            ({"categorical_features": [0], "monotonic_cst": [1] + [0] * 9}, "column 0 holds categories"),
        ],
    )
    def test_what_histogram_boosting_cannot_be_asked(self, settings, message):
        with pytest.raises(ValueError, match=message):
            ensemble.HistGradientBoostingRegressor(max_iter=2, **settings).fit(np.abs(self.X.round()), self.y)

    @pytest.mark.parametrize("none", [[], np.array([]), np.zeros(10, dtype=bool)], ids=["list", "array", "mask"])
    def test_no_categorical_column_at_all(self, none):
        plain, named = (
            ensemble.HistGradientBoostingRegressor(max_iter=2, categorical_features=c, random_state=0).fit(
                self.X, self.y
            )
            for c in (None, none)
        )
        assert_array_equal(plain.predict(self.X), named.predict(self.X))


class TestReductions:
    X, y = load_iris(return_X_y=True)

    def test_pairs_of_a_precomputed_kernel(self):
        K = self.X @ self.X.T
        model = multiclass.OneVsOneClassifier(SVC(kernel="precomputed", random_state=0)).fit(K, self.y)
        plain = multiclass.OneVsOneClassifier(SVC(kernel="linear", random_state=0)).fit(self.X, self.y)
        assert [len(rows) for rows in model.pairwise_indices_] == [100] * 3 and plain.pairwise_indices_ is None
        assert model.n_features_in_ == 150
        assert_array_equal(model.predict(K), plain.predict(self.X))
        cut = cross_val_score(
            multiclass.OneVsOneClassifier(SVC(kernel="precomputed", random_state=0)), K, self.y, error_score="raise"
        )
        assert_array_equal(cut, cross_val_score(plain, self.X, self.y))

    @pytest.mark.parametrize("method", [multiclass.OneVsOneClassifier, multiclass.OneVsRestClassifier])
    def test_a_pipeline_with_an_imputer_takes_missing_values(self, method):
        X = self.X.copy()
        X[::7, 1] = np.nan
        pipeline = make_pipeline(SimpleImputer(), LogisticRegression(max_iter=500))
        assert method(pipeline).fit(X, self.y).score(X, self.y) > 0.8

    @pytest.mark.parametrize("label", [0, 1, "a"])
    def test_one_class_against_the_rest_of_none(self, label):
        X = np.ones((10, 2))
        with pytest.warns(UserWarning, match="is the same in all rows"):
            model = multiclass.OneVsRestClassifier(LogisticRegression()).fit(X, [label] * 10)
        assert_array_equal(model.predict(X), [label] * 10)
        assert_array_equal(model.predict_proba(X), np.tile([1.0, 0.0], (10, 1)))
