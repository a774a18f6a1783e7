"""What the text says of bootstrap samples, forests, votes and ensembles."""

import numpy as np
import pytest
from sklearn.datasets import load_iris, make_classification, make_friedman1

from fivefold.ensemble import BaggingClassifier, RandomForestClassifier, RandomForestRegressor
from fivefold.ensemble.members.bootstrap_bag import Bag
from fivefold.naive_bayes import GaussianNB
from fivefold.tree import DecisionTreeClassifier, DecisionTreeRegressor


def test_a_bootstrap_sample_holds_0632_of_the_rows():
    """D-34: N of N with replacement; the share of distinct rows tends to 1 - 1/e."""
    n, samples = 5000, 40
    bag = Bag.of(np.random.RandomState(0).normal(size=(n, 2)), None, np.ones(n))
    drawn = [bag.draw_with_replacement(n, seed) for seed in range(samples)]
    assert all(c.sum() == n for c in drawn)
    assert (bag.draw_with_replacement(n, 3) == drawn[3]).all()
    share = [(c > 0).mean() for c in drawn]
    # the variance of the share is (1/e)(1 - 2/e) / n, and the bias is less than 1 / n
    error = np.sqrt(np.exp(-1) * (1 - 2 * np.exp(-1)) / n / samples)
    assert np.mean(share) == pytest.approx(1 - np.exp(-1), abs=3 * error + 1 / n)


@pytest.mark.parametrize("rows", [150, 3000])
def test_one_tree_with_all_rows_and_columns_is_the_decision_tree(rows):
    """D-35: M = 1, m = d and no bootstrap equals the tree; exact where a column has at most 255 values."""
    X, y = load_iris(return_X_y=True) if rows == 150 else make_classification(rows, 6, random_state=0)
    X = np.round(X, 1)
    forest = RandomForestClassifier(1, max_features=None, bootstrap=False, random_state=0).fit(X, y)
    tree = DecisionTreeClassifier(random_state=0).fit(X, y)
    ours, alone = forest.estimators_[0].tree_, tree.tree_
    np.testing.assert_array_equal(ours.feature, alone.feature)
    np.testing.assert_allclose(ours.threshold, alone.threshold, rtol=1e-14)
    np.testing.assert_array_equal(forest.predict_proba(X), tree.predict_proba(X))


def test_the_variance_over_seeds_falls_as_trees_are_added():
    """D-35: forests of more trees differ less from seed to seed."""
    X, y = make_classification(300, 8, n_informative=4, flip_y=0.2, random_state=0)
    spread = []
    for count in (1, 5, 25):
        said = [
            RandomForestClassifier(count, random_state=s).fit(X[:200], y[:200]).predict_proba(X[200:])
            for s in range(12)
        ]
        spread.append(np.var(said, axis=0).mean())
    assert spread[0] > 2 * spread[1] > 4 * spread[2]  # in theory five times each


def test_vote_fractions_sum_to_one_and_the_order_of_trees_does_not_matter():
    """D-36: the commonest class wins; fractions of votes are the scores of the classes."""
    X, y = make_classification(200, 6, n_informative=4, n_classes=3, random_state=0)
    forest = RandomForestClassifier(15, voting="hard", random_state=0).fit(X, y)
    votes = forest.predict_proba(X)
    np.testing.assert_allclose(votes.sum(axis=1), 1, rtol=1e-12)
    np.testing.assert_allclose(votes * 15, np.rint(votes * 15), atol=1e-12)
    each = np.array([member.predict(X) for member in reversed(forest.estimators_)])
    counts = np.stack([(each == k).mean(axis=0) for k in range(3)], axis=1)
    np.testing.assert_allclose(votes, counts, atol=1e-12)
    np.testing.assert_array_equal(forest.predict(X), counts.argmax(axis=1))


def test_an_ensemble_of_identical_predictors_is_the_predictor():
    """D-37: bagging without sampling of a learner without chance."""
    X, y = load_iris(return_X_y=True)
    alone = GaussianNB().fit(X, y)
    for voting in ("hard", "soft"):
        many = BaggingClassifier(GaussianNB(), 5, bootstrap=False, voting=voting, random_state=0).fit(X, y)
        np.testing.assert_array_equal(many.predict(X), alone.predict(X))
    np.testing.assert_allclose(many.predict_proba(X), alone.predict_proba(X), rtol=1e-9, atol=1e-12)


def test_a_forest_varies_less_than_a_single_tree():
    """E-114: over samples of the data the answers of a forest vary less, and err less."""
    new, truth = make_friedman1(200, noise=0.0, random_state=99)
    said = {"tree": [], "forest": []}
    for seed in range(8):
        X, y = make_friedman1(200, noise=1.0, random_state=seed)
        said["tree"].append(DecisionTreeRegressor(random_state=0).fit(X, y).predict(new))
        said["forest"].append(RandomForestRegressor(30, max_features=0.5, random_state=seed).fit(X, y).predict(new))
    variance = {name: np.var(answers, axis=0, ddof=1).mean() for name, answers in said.items()}
    error = {name: np.mean((np.array(answers) - truth) ** 2) for name, answers in said.items()}
    assert variance["forest"] < variance["tree"] / 2
    assert error["forest"] < error["tree"]


def test_columns_that_no_tree_asks_about_have_no_importance():
    """E-82: importances rank the columns; one that is never used, or holds nothing, has none."""
    rng = np.random.RandomState(0)
    X = rng.normal(size=(400, 5))
    X[:, 4] = 1.0
    y = (X[:, 0] + 0.4 * X[:, 2] > 0).astype(int)
    forest = RandomForestClassifier(40, max_depth=4, random_state=0).fit(X, y)
    importances = forest.feature_importances_
    assert importances[4] == 0 and importances.sum() == pytest.approx(1)
    assert list(np.argsort(importances)[::-1][:2]) == [0, 2]
    used = {int(f) for member in forest.estimators_ for f in member.tree_.feature if f >= 0}
    assert used == set(np.flatnonzero(importances))
