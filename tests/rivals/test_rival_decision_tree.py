"""Decision trees beside scikit-learn's, on data that float32 holds exactly."""

import numpy as np
import pytest
from scipy.sparse import csr_matrix
from sklearn import tree as theirs
from sklearn.datasets import load_breast_cancer, load_diabetes, load_iris
from sklearn.utils.estimator_checks import (
    check_classifiers_multilabel_output_format_predict,
    check_classifiers_multilabel_output_format_predict_proba,
)

import fivefold.tree as ours

CLASSES = [
    {},
    {"criterion": "entropy"},
    {"criterion": "log_loss", "max_depth": 4},
    {"max_depth": 3, "min_samples_leaf": 5},
    {"min_samples_split": 0.2, "min_samples_leaf": 0.02},
    {"min_weight_fraction_leaf": 0.05},
    {"max_leaf_nodes": 7},
    {"min_impurity_decrease": 0.01},
    {"class_weight": {0: 3.0, 1: 1.0}, "max_depth": 3},
    {"ccp_alpha": 0.01},
]
NUMBERS = [
    {"max_depth": 6},
    {"criterion": "absolute_error", "max_depth": 4},
    {"criterion": "poisson", "max_depth": 4},
    {"max_leaf_nodes": 9},
    {"min_samples_leaf": 7},
    {"ccp_alpha": 0.05, "max_depth": 6},
    {"min_impurity_decrease": 0.02},
]


def table(numbers=False, n=300, d=5, seed=0, missing=False):
    """Values that float32 holds exactly, and no two cuts alike."""
    rng = np.random.RandomState(seed)
    X = rng.normal(size=(n, d)).astype(np.float32).astype(np.float64)
    signal = X[:, 0] + np.sin(2 * X[:, 1]) * X[:, 2] + 0.3 * rng.normal(size=n)
    if missing:
        X[(rng.rand(n, d) < 0.15) & (rng.rand(n, 1) < 0.7)] = np.nan
    return X, np.exp(signal / 2) if numbers else (signal > 0.2).astype(int)


def falls(model):
    """Total impurity of the leaves and their number."""
    leaves = model.tree_.children_left < 0
    return (model.tree_.weighted_n_node_samples * model.tree_.impurity)[leaves].sum(), int(leaves.sum())


def assert_same_tree(a, b, X):
    """The same cuts and answers; thresholds are halfway between the same values."""
    np.testing.assert_array_equal(a.tree_.feature, b.tree_.feature)
    np.testing.assert_allclose(a.tree_.threshold, b.tree_.threshold, rtol=1e-6)
    np.testing.assert_allclose(a.tree_.value, b.tree_.value, rtol=1e-7, atol=1e-9)
    np.testing.assert_allclose(a.tree_.impurity, b.tree_.impurity, rtol=1e-7, atol=1e-9)
    np.testing.assert_array_equal(a.tree_.n_node_samples, b.tree_.n_node_samples)
    np.testing.assert_array_equal(a.apply(X), b.apply(X))
    np.testing.assert_allclose(a.feature_importances_, b.feature_importances_, rtol=1e-7, atol=1e-9)


def preorder(model):
    """The nodes of scikit-learn's best-first tree in the order of ours."""
    order, stack = [], [0]
    while stack:
        t = stack.pop()
        order.append(t)
        if model.tree_.children_left[t] >= 0:
            stack += [model.tree_.children_right[t], model.tree_.children_left[t]]
    return order


@pytest.mark.parametrize("weighted", [False, True])
@pytest.mark.parametrize("missing", [False, True])
@pytest.mark.parametrize("settings", CLASSES, ids=str)
def test_a_tree_of_classes_is_scikit_learns(settings, missing, weighted):
    """Small nodes with missing values have equal cuts to choose among, so there only sums are compared."""
    X, y = table(missing=missing)
    w = np.random.RandomState(1).rand(len(y)) + 0.5 if weighted else None
    a = ours.DecisionTreeClassifier(**settings).fit(X, y, sample_weight=w)
    b = theirs.DecisionTreeClassifier(**settings, random_state=0).fit(X, y, sample_weight=w)
    if set(settings) & {"max_depth", "max_leaf_nodes", "min_impurity_decrease", "ccp_alpha"} and not missing:
        order = preorder(b)
        np.testing.assert_array_equal(a.tree_.feature, b.tree_.feature[order])
        np.testing.assert_allclose(a.tree_.threshold, b.tree_.threshold[order], rtol=1e-6)
        np.testing.assert_allclose(a.tree_.impurity, b.tree_.impurity[order], atol=1e-9)
        np.testing.assert_allclose(a.predict_proba(X), b.predict_proba(X), atol=1e-9)
    else:  # leaves of a few rows tie: the trees agree while nodes are large
        assert a.tree_.feature[0] == b.tree_.feature[0]
        np.testing.assert_allclose(a.tree_.threshold[0], b.tree_.threshold[0], rtol=1e-6)
        assert abs(falls(a)[1] - falls(b)[1]) <= 0.15 * falls(b)[1] + 1


@pytest.mark.parametrize("weighted", [False, True])
@pytest.mark.parametrize("settings", NUMBERS, ids=str)
def test_a_tree_of_numbers_is_scikit_learns(settings, weighted):
    X, y = table(numbers=True)
    w = np.random.RandomState(1).rand(len(y)) + 0.5 if weighted else None
    a = ours.DecisionTreeRegressor(**settings).fit(X, y, sample_weight=w)
    b = theirs.DecisionTreeRegressor(**settings, random_state=0).fit(X, y, sample_weight=w)
    np.testing.assert_allclose(falls(a)[0], falls(b)[0], rtol=1e-7)
    np.testing.assert_allclose(a.predict(X), b.predict(X), rtol=1e-7)


def test_friedmans_score_names_the_squared_error():
    X, y = table(numbers=True)
    a, b = (
        ours.DecisionTreeRegressor(criterion=name, random_state=0).fit(X, y)
        for name in ("friedman_mse", "squared_error")
    )
    assert_same_tree(a, b, X)


@pytest.mark.parametrize("load", [load_iris, load_breast_cancer], ids=lambda f: f.__name__)
def test_shallow_trees_of_known_tables_are_scikit_learns(load):
    X, y = load(return_X_y=True)
    X = X.astype(np.float32).astype(np.float64)
    a = ours.DecisionTreeClassifier(max_depth=2, random_state=0).fit(X, y)
    b = theirs.DecisionTreeClassifier(max_depth=2, random_state=0).fit(X, y)
    np.testing.assert_allclose(falls(a)[0], falls(b)[0], rtol=1e-9)


@pytest.mark.parametrize("settings", [{}, {"criterion": "entropy"}, {"min_samples_leaf": 4}], ids=str)
def test_the_pruning_path_is_scikit_learns(settings):
    X, y = table()
    settings = {"max_depth": 5, **settings}
    a = ours.DecisionTreeClassifier(**settings).cost_complexity_pruning_path(X, y)
    b = theirs.DecisionTreeClassifier(**settings, random_state=0).cost_complexity_pruning_path(X, y)
    np.testing.assert_allclose(a.ccp_alphas, b.ccp_alphas, atol=1e-12)
    np.testing.assert_allclose(a.impurities, b.impurities, atol=1e-12)


def test_the_pruning_path_of_numbers_is_scikit_learns():
    X, y = load_diabetes(return_X_y=True)
    X = X.astype(np.float32).astype(np.float64)
    a = ours.DecisionTreeRegressor(max_depth=5, random_state=0).cost_complexity_pruning_path(X, y)
    b = theirs.DecisionTreeRegressor(max_depth=5, random_state=0).cost_complexity_pruning_path(X, y)
    np.testing.assert_allclose(a.ccp_alphas, b.ccp_alphas, rtol=1e-9)
    np.testing.assert_allclose(a.impurities, b.impurities, rtol=1e-9)


@pytest.mark.parametrize("criterion", ["squared_error", "poisson", "absolute_error"])
def test_a_tree_of_several_numbers_is_scikit_learns(criterion):
    X, y = table(numbers=True)
    Y = np.column_stack([y, np.abs(X[:, 1]) + y**2])
    settings = {"criterion": criterion, "max_depth": 4}
    a = ours.DecisionTreeRegressor(**settings).fit(X, Y)
    b = theirs.DecisionTreeRegressor(**settings, random_state=0).fit(X, Y)
    assert a.n_outputs_ == b.n_outputs_ and a.tree_.value.shape == b.tree_.value.shape
    np.testing.assert_allclose(a.predict(X), b.predict(X), rtol=1e-7)


@pytest.mark.parametrize("settings", [{}, {"criterion": "entropy"}, {"class_weight": "balanced"}], ids=str)
def test_a_tree_of_several_labels_is_scikit_learns(settings):
    X, y = table()
    Y = np.column_stack([y, np.digitize(X[:, 1], [-0.5, 0.5])])
    a = ours.DecisionTreeClassifier(max_depth=3, **settings).fit(X, Y)
    b = theirs.DecisionTreeClassifier(max_depth=3, random_state=0, **settings).fit(X, Y)
    assert a.n_classes_ == list(b.n_classes_) and a.n_outputs_ == 2 and isinstance(a.classes_, list)
    assert a.tree_.value.shape == b.tree_.value.shape
    for mine, other in zip(a.predict_proba(X), b.predict_proba(X), strict=True):
        np.testing.assert_allclose(mine, other, atol=1e-9)
    np.testing.assert_array_equal(a.predict(X), b.predict(X))


@pytest.mark.parametrize("kind", [ours.DecisionTreeClassifier, ours.ExtraTreeClassifier])
def test_scikit_learns_checks_of_several_labels_pass(kind):
    model = kind(random_state=0)
    check_classifiers_multilabel_output_format_predict(kind.__name__, model)
    check_classifiers_multilabel_output_format_predict_proba(kind.__name__, model)


@pytest.mark.parametrize("sign", [[1, 0, 0, 0, 0], [-1, 1, 0, 0, 0], [1, 1, -1, 0, 1]], ids=str)
@pytest.mark.parametrize("leaves", [None, 12])
def test_monotone_trees_are_scikit_learns(sign, leaves):
    for numbers in (False, True):
        X, y = table(numbers=numbers, n=200)
        name = "DecisionTreeRegressor" if numbers else "DecisionTreeClassifier"
        settings = {"monotonic_cst": sign, "max_depth": 3, "max_leaf_nodes": leaves}
        a = getattr(ours, name)(**settings, random_state=0).fit(X, y)
        b = getattr(theirs, name)(**settings, random_state=0).fit(X, y)
        said, other = (m.predict(X) if numbers else m.predict_proba(X) for m in (a, b))
        np.testing.assert_allclose(said, other, atol=1e-9)


@pytest.mark.parametrize("weights", [None, "whole", "fractions"])
@pytest.mark.parametrize("leaves", [None, 12])
def test_monotone_trees_of_medians_are_scikit_learns(weights, leaves):
    """Fractions of weights are drawn so that no median lies halfway between two rows by rounding."""
    X, y = table(numbers=True, n=200)
    rng = np.random.default_rng(0)
    w = {None: None, "whole": rng.integers(1, 4, 200).astype(float), "fractions": rng.random(200)}[weights]
    settings = {"criterion": "absolute_error", "monotonic_cst": [-1, 1, 0, 0, 0], "max_depth": 4}
    a, b = (m.DecisionTreeRegressor(**settings, max_leaf_nodes=leaves, random_state=0) for m in (ours, theirs))
    np.testing.assert_allclose(a.fit(X, y, w).predict(X), b.fit(X, y, w).predict(X), atol=1e-9)


@pytest.mark.parametrize("criterion", ["squared_error", "absolute_error"])
@pytest.mark.parametrize("kind", ["DecisionTreeRegressor", "ExtraTreeRegressor"])
def test_the_answer_of_a_monotone_tree_rises(kind, criterion):
    X, y = table(numbers=True)
    X[::7, 0] = np.nan
    model = getattr(ours, kind)(monotonic_cst=[1, 0, 0, 0, 0], criterion=criterion, random_state=0).fit(X, -y)
    grid = np.repeat(X[:50], 40, axis=0)
    grid[:, 0] = np.tile(np.linspace(-3, 3, 40), 50)
    assert np.diff(model.predict(grid).reshape(50, 40), axis=1).min() >= 0


@pytest.mark.parametrize("kind", ["DecisionTreeClassifier", "ExtraTreeClassifier"])
def test_a_sparse_table_gives_the_tree_of_the_dense_one(kind):
    X, y = table()
    X[np.abs(X) < 0.8] = 0.0
    dense = getattr(ours, kind)(random_state=0).fit(X, y)
    sparse = getattr(ours, kind)(random_state=0).fit(csr_matrix(X), y)
    np.testing.assert_array_equal(dense.tree_.threshold, sparse.tree_.threshold)
    np.testing.assert_array_equal(dense.predict_proba(X), sparse.predict_proba(csr_matrix(X)))
    np.testing.assert_array_equal(dense.decision_path(X).toarray(), sparse.decision_path(csr_matrix(X)).toarray())


def test_random_trees_err_as_much_as_scikit_learns():
    """Mean accuracy of 60 trees on other rows: within four standard errors of the difference."""
    (X, y), (Z, t) = table(n=400), table(n=400, seed=1)
    scores = [
        [module.ExtraTreeClassifier(random_state=seed).fit(X, y).score(Z, t) for seed in range(60)]
        for module in (ours, theirs)
    ]
    error = np.sqrt(sum(np.var(s, ddof=1) / 60 for s in scores))
    assert abs(np.mean(scores[0]) - np.mean(scores[1])) < 4 * error


def test_a_value_that_fit_never_missed_goes_with_most_of_the_rows():
    X, y = table()
    a = ours.DecisionTreeClassifier(max_depth=3, random_state=0).fit(X, y)
    b = theirs.DecisionTreeClassifier(max_depth=3, random_state=0).fit(X, y)
    holes = X.copy()
    holes[::2, 0] = holes[::3, 1] = np.nan
    np.testing.assert_allclose(a.predict_proba(holes), b.predict_proba(holes), atol=1e-9)
