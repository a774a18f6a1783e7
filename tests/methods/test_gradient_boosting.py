"""Gradient boosting with exact trees: what the laws cannot say."""

import numpy as np
import pytest
from sklearn.linear_model import LinearRegression, LogisticRegression

from fivefold.ensemble import GradientBoostingClassifier, GradientBoostingRegressor


def waves(n=300, seed=0):
    rng = np.random.RandomState(seed)
    X = rng.uniform(-3, 3, size=(n, 2))
    return X, np.sin(2 * X[:, 0]) + 0.2 * rng.normal(size=n)


def test_each_round_lowers_the_training_loss():
    X, y = waves()
    model = GradientBoostingRegressor(n_estimators=50, random_state=0).fit(X, y)
    assert (np.diff(model.train_score_) < 0).all()
    seen = [np.mean((said - y) ** 2) for said in model.staged_predict(X)]
    np.testing.assert_allclose(model.train_score_, seen, rtol=1e-9)


def test_rows_out_of_the_bag_judge_each_round():
    rng = np.random.RandomState(0)
    X, y = rng.normal(size=(300, 5)), rng.normal(size=300)  # nothing to learn
    model = GradientBoostingRegressor(subsample=0.5, n_estimators=80, random_state=0).fit(X, y)
    assert model.oob_improvement_.shape == model.oob_scores_.shape == (80,)
    assert (model.oob_scores_ - model.train_score_).mean() > 0  # the sample flatters itself
    np.testing.assert_allclose(-np.diff(model.oob_scores_), model.oob_improvement_[1:], atol=1e-12)
    assert model.oob_score_ == model.oob_scores_[-1]
    with pytest.raises(AttributeError, match="no row is out of the bag"):
        GradientBoostingRegressor(n_estimators=2, random_state=0).fit(X, y).oob_scores_  # noqa: B018


def test_boosting_starts_from_an_estimator():
    X, y = waves()
    line = LinearRegression().fit(X, y)
    model = GradientBoostingRegressor(init=LinearRegression(), n_estimators=1, learning_rate=0.0, random_state=0).fit(
        X, y
    )
    np.testing.assert_allclose(model.predict(X), line.predict(X), atol=1e-12)
    classes = (y > 0).astype(int)
    start = LogisticRegression().fit(X, classes)
    model = GradientBoostingClassifier(
        init=LogisticRegression(), n_estimators=1, learning_rate=0.0, random_state=0
    ).fit(X, classes)
    np.testing.assert_allclose(model.predict_proba(X), start.predict_proba(X), atol=1e-9)


def test_the_trees_can_be_looked_at():
    X, y = waves()
    model = GradientBoostingRegressor(n_estimators=4, random_state=0).fit(X, y)
    assert model.estimators_.shape == (4, 1) and model.apply(X).shape == (300, 4)
    total = model.init_.base[0] + 0.1 * sum(tree.predict(X) for tree in model.estimators_[:, 0])
    np.testing.assert_allclose(model.predict(X), total, atol=1e-12)
    np.testing.assert_array_equal(model.apply(X)[:, 2], model.estimators_[2, 0].apply(X))


def test_a_warm_start_goes_on_and_a_monitor_can_stop():
    X, y = waves()
    whole = GradientBoostingRegressor(n_estimators=12, random_state=0).fit(X, y)
    parts = GradientBoostingRegressor(n_estimators=5, warm_start=True, random_state=0).fit(X, y)
    parts.set_params(n_estimators=12).fit(X, y)
    np.testing.assert_allclose(parts.predict(X), whole.predict(X), atol=1e-12)
    with pytest.raises(ValueError, match="n_estimators=3 is less than the 12 rounds"):
        parts.set_params(n_estimators=3).fit(X, y)
    stopped = GradientBoostingRegressor(random_state=0).fit(X, y, monitor=lambda i, model, scope: i == 6)
    assert stopped.n_estimators_ == 7


def test_rows_held_back_stop_the_rounds():
    X, y = waves()
    model = GradientBoostingRegressor(n_estimators=500, n_iter_no_change=5, random_state=0).fit(X, y)
    assert model.n_estimators_ < 500 == model.n_estimators


def test_quantiles_cover_their_share():
    X, y = waves(1000)
    model = GradientBoostingRegressor(loss="quantile", alpha=0.8, n_estimators=60, random_state=0).fit(X, y)
    assert abs(np.mean(y <= model.predict(X)) - 0.8) < 0.05


def test_the_exponential_loss_of_three_classes_is_refused():
    X, _ = waves(30)
    with pytest.raises(ValueError, match="takes two classes; y holds 3"):
        GradientBoostingClassifier(loss="exponential", random_state=0).fit(X, np.arange(30) % 3)


@pytest.mark.parametrize(("verbose", "lines"), [(1, [*range(1, 11), *range(20, 101, 10), 200]), (2, range(1, 201))])
@pytest.mark.parametrize("subsample", [1.0, 0.8])
def test_verbose_prints_scikit_learns_table(verbose, lines, subsample, capsys):
    rng = np.random.default_rng(0)
    X = rng.normal(size=(60, 3))
    y = X[:, 0] + rng.normal(size=60)
    settings = {"n_estimators": 200, "max_depth": 1, "subsample": subsample, "random_state": 0}
    model = GradientBoostingRegressor(verbose=verbose, **settings).fit(X, y)
    header, *rows = capsys.readouterr().out.splitlines()
    names = ["Train Loss", *(["OOB Improve"] if subsample < 1 else []), "Remaining Time"]
    assert header == "      Iter " + " ".join(name.rjust(16) for name in names)
    assert [int(row[:10]) for row in rows] == list(lines)
    for row in rows:
        done, loss, *rest = row.split()
        assert float(loss) == pytest.approx(model.train_score_[int(done) - 1], abs=5.1e-5)
        if subsample < 1:
            assert float(rest[0]) == pytest.approx(model.oob_improvement_[int(done) - 1], abs=5.1e-5)
        assert rest[-1].endswith("s")
    silent = GradientBoostingRegressor(**settings).fit(X, y)
    assert capsys.readouterr().out == ""
    assert silent.predict(X).tobytes() == model.predict(X).tobytes()


def test_verbose_counts_on_after_a_warm_start(capsys):
    X, y = np.arange(20.0)[:, None], np.arange(20.0)
    model = GradientBoostingRegressor(n_estimators=3, warm_start=True, verbose=1, subsample=0.5, random_state=0)
    model.fit(X, y).set_params(n_estimators=5, subsample=1.0).fit(X, y)
    lines = capsys.readouterr().out.splitlines()
    assert [line.split()[0] for line in lines] == ["Iter", "1", "2", "3", "Iter", "4", "5"]
    assert [len(line.split()) for line in lines[-2:]] == [3, 3]  # no row is out of the bag any more
