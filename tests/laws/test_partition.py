"""What every grown tree must satisfy, whatever its criterion: every cut is a best one, and sums agree."""

import numpy as np
import pytest
from oracles.tree import IMPURITIES, best_gain, best_set_gain

from fivefold.tree import DecisionTreeClassifier, DecisionTreeRegressor, ExtraTreeClassifier, ExtraTreeRegressor

CRITERIA = ("gini", "entropy", "error", "squared_error", "absolute_error", "max_error", "poisson")
criteria = pytest.mark.parametrize("criterion", CRITERIA)
# sums of a few dozen numbers near one, in another order
ROUNDING = {"rtol": 1e-9, "atol": 1e-9}


def table(criterion, n=60, seed=0, missing=False, K=3):
    """Columns with ties, a target that follows them, weights."""
    rng = np.random.RandomState(seed)
    X = np.round(rng.normal(size=(n, 4)), 1)
    if missing:
        X[rng.rand(n, 4) < 0.2] = np.nan
    signal = np.nansum(X[:, :2], axis=1) + 0.5 * rng.normal(size=n)
    if criterion in ("gini", "entropy", "error"):
        y = np.digitize(signal, np.quantile(signal, np.arange(1, K) / K))
    else:
        y = np.round(np.exp(signal)) if criterion == "poisson" else np.round(signal, 1)
    return X, y, rng.randint(1, 4, size=n).astype(float)


def learner(criterion, random=False, **settings):
    classes = criterion in ("gini", "entropy", "error")
    kind = (ExtraTreeClassifier if classes else ExtraTreeRegressor) if random else (
        DecisionTreeClassifier if classes else DecisionTreeRegressor
    )  # fmt: skip
    return kind(criterion=criterion, random_state=0, **settings)


def members(model, X):
    """For each node a mask of the rows that pass it."""
    return np.asarray(model.decision_path(X).todense()).T == 1


@pytest.mark.parametrize("missing", [False, True])
@criteria
def test_every_cut_gains_as_much_as_the_best_of_all_cuts(criterion, missing):
    X, y, w = table(criterion, missing=missing)
    model = learner(criterion, max_depth=3, min_samples_leaf=2).fit(X, y, sample_weight=w)
    tree, rows = model.model_.tree, members(model, X)
    assert len(tree) > 3
    for t in np.flatnonzero(tree.feature >= 0):
        here, left = rows[t], rows[tree.left[t]]
        impurity, most = IMPURITIES[criterion], best_gain(criterion, X[here], y[here], w[here], least_leaf=2)
        sides = [w[side].sum() * impurity(y[side], w[side]) for side in (left, here & ~left)]
        whole = w[here].sum() * impurity(y[here], w[here])
        worst = whole - max(s / w[r].sum() for s, r in zip(sides, (left, here & ~left), strict=True)) * w[here].sum()
        assert most <= (worst if criterion == "max_error" else whole - sum(sides)) + 1e-8


@pytest.mark.parametrize("random", [False, True])
@pytest.mark.parametrize("missing", [False, True])
@criteria
def test_weights_impurities_and_rows_of_nodes_are_those_of_the_rows_that_pass_them(criterion, missing, random):
    X, y, w = table(criterion, missing=missing)
    model = learner(criterion, random, max_depth=4).fit(X, y, sample_weight=w)
    for t, here in enumerate(members(model, X)):
        assert model.tree_.n_node_samples[t] == here.sum()
        np.testing.assert_allclose(model.tree_.weighted_n_node_samples[t], w[here].sum(), **ROUNDING)
        np.testing.assert_allclose(model.tree_.impurity[t], IMPURITIES[criterion](y[here], w[here]), **ROUNDING)


@criteria
def test_the_fall_from_the_root_to_the_leaves_is_the_sum_of_the_gains(criterion):
    X, y, w = table(criterion)
    model = learner(criterion).fit(X, y, sample_weight=w).model_
    tree, total = model.tree, model.weight * model.impurity
    inner = tree.feature >= 0
    gains = total[inner] - total[tree.left[inner]] - total[tree.right[inner]]
    assert gains.min() >= -1e-9
    np.testing.assert_allclose(gains.sum(), total[0] - total[tree.leaves].sum(), **ROUNDING)


@pytest.mark.parametrize("leaves", [None, 6])
@criteria
def test_a_monotone_change_of_a_column_changes_no_answer(criterion, leaves):
    """Ranks decide where an exact tree cuts."""
    X, y, w = table(criterion)
    curved = np.column_stack([np.exp(X[:, 0]), X[:, 1] ** 3, 7 * X[:, 2] - 3, np.arctan(X[:, 3])])
    plain = learner(criterion, max_leaf_nodes=leaves).fit(X, y, sample_weight=w)
    other = learner(criterion, max_leaf_nodes=leaves).fit(curved, y, sample_weight=w)
    np.testing.assert_array_equal(plain.apply(X), other.apply(curved))


@pytest.mark.parametrize("random", [False, True])
@criteria
def test_the_order_of_rows_does_not_matter(criterion, random):
    X, y, w = table(criterion, missing=True)
    order = np.random.RandomState(1).permutation(len(X))
    plain = learner(criterion, random).fit(X, y, sample_weight=w)
    other = learner(criterion, random).fit(X[order], y[order], sample_weight=w[order])
    np.testing.assert_allclose(plain.predict(X).astype(float), other.predict(X).astype(float), **ROUNDING)


@pytest.mark.parametrize("random", [False, True])
@criteria
def test_a_weight_of_two_is_a_row_twice_also_with_missing_values(criterion, random):
    X, y, w = table(criterion, missing=True)
    counts = w.astype(int)
    weighted = learner(criterion, random).fit(X, y, sample_weight=w)
    repeated = learner(criterion, random).fit(X.repeat(counts, 0), y.repeat(counts))
    asked = X.copy()
    asked[::3, 1] = np.nan
    np.testing.assert_allclose(weighted.predict(asked).astype(float), repeated.predict(asked).astype(float), **ROUNDING)


@pytest.mark.parametrize("random", [False, True])
@criteria
def test_limits_on_nodes_are_kept(criterion, random):
    X, y, w = table(criterion, n=200)
    limits = {"max_depth": 5, "min_samples_split": 20, "min_samples_leaf": 7, "min_weight_fraction_leaf": 0.06}
    model = learner(criterion, random, min_impurity=0.05, **limits).fit(X, y, sample_weight=w)
    tree = model.model_.tree
    inner, parent = tree.feature >= 0, tree.parent
    assert model.get_depth() <= 5 and inner.any()
    assert tree.rows[inner].min() >= 20 and tree.rows.min() >= 7
    assert model.model_.weight.min() >= 0.06 * w.sum()
    assert (model.tree_.impurity[parent[1:]] > 0.05).all()
    assert learner(criterion, random, max_leaf_nodes=4).fit(X, y).get_n_leaves() == 4


@pytest.mark.parametrize("criterion", ["gini", "entropy", "squared_error", "poisson"])
@pytest.mark.parametrize("seed", range(3))
def test_categories_are_divided_as_well_as_any_two_sets_of_them(criterion, seed):
    """Two classes or a number: putting the categories in the order of their mean is exact."""
    rng = np.random.RandomState(seed)
    x = rng.randint(8, size=120)
    _, y, w = table(criterion, n=120, seed=seed, K=2)
    y = np.sort(y)[np.argsort(rng.normal(size=8)[x] + rng.normal(size=120), kind="stable").argsort()]
    names = np.array([f"level {k}" for k in range(8)], dtype=object)[x][:, None]
    model = learner(criterion, max_depth=1).fit(names, y, sample_weight=w).model_
    total = model.weight * model.impurity
    np.testing.assert_allclose(total[0] - total[1:].sum(), best_set_gain(criterion, x, y, w), **ROUNDING)


@pytest.mark.parametrize("kind", [DecisionTreeClassifier, ExtraTreeClassifier])
def test_ten_thousand_categories_are_learned(kind):
    rng = np.random.RandomState(0)
    level = np.concatenate([np.arange(10_000), rng.randint(10_000, size=10_000)])
    y = np.random.RandomState(1).randint(2, size=10_000)[level]
    names = np.char.add("word ", level.astype(str)).astype(object)[:, None]
    model = kind(random_state=0).fit(names, y)
    assert (model.predict(names) == y).all()
    if kind is DecisionTreeClassifier:
        assert model.get_n_leaves() == 2
