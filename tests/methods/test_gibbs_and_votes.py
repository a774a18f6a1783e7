"""Classifiers that draw rules from a posterior, and votes whose weights minimise a bound."""

import matplotlib.pyplot as plt
import numpy as np
import pytest
from sklearn.base import clone
from sklearn.datasets import load_breast_cancer, make_classification
from sklearn.frozen import FrozenEstimator

from fivefold import plot
from fivefold.linear_model import LogisticRegression
from fivefold.naive_bayes import GaussianNB
from fivefold.svm import SVC
from fivefold.theory import GibbsClassifier, MajorityVoteClassifier, certify
from fivefold.theory.bounds import NotApplicable
from fivefold.theory.gibbs_classifier import row_uniforms
from fivefold.theory.pac_bayes.feature_votes import FeatureVotePosterior, feature_vote_bound
from fivefold.theory.pac_bayes.laplace_posteriors import LaplaceLinearPosterior
from fivefold.theory.pac_bayes.linear_posteriors import GaussianLinearPosterior
from fivefold.theory.pac_bayes.margin_complexities import margin_complexities, margin_error
from fivefold.theory.pac_bayes.posterior_bounds import improved_kl_upper, relative_upper


def some_rows(n=300, seed=0, **options):
    return make_classification(n, 6, random_state=seed, **options)


def test_drawn_rules_err_as_often_as_the_closed_form_says():
    X, y = some_rows(4000, flip_y=0.1)
    model = GibbsClassifier(size=4.0, random_state=0).fit(X, y)
    inner = model.estimator_
    mean = np.append(inner.coef_[0], inner.intercept_[0])
    Q = GaussianLinearPosterior(4.0 * mean / np.linalg.norm(mean))
    errors = Q.errors(np.column_stack([X, np.ones(len(X))]), y)
    np.testing.assert_allclose(1 - model.answer_shares(X)[np.arange(len(y)), y], errors, atol=1e-12)
    seen = 1 - model.score(X, y)
    assert seen == pytest.approx(errors.mean(), abs=4 * np.sqrt((errors * (1 - errors)).mean() / len(y)))
    assert model.bound_ == pytest.approx(improved_kl_upper(errors.mean(), 8.0, len(y), 0.05, exact_moment=True))


def test_a_point_mass_is_the_ordinary_classifier():
    """At a great size nearly all of the posterior agrees with its centre."""
    X, y = some_rows()
    model = GibbsClassifier(size=1e9, random_state=0).fit(X, y)
    assert (model.predict(X) == LogisticRegression().fit(X, y).predict(X)).all()


def test_the_answer_of_a_row_depends_on_the_row_and_the_seed_alone():
    X, y = some_rows()
    one, two = (GibbsClassifier(size=0.5, random_state=seed).fit(X, y) for seed in (0, 1))
    answers, order = one.predict(X), np.random.RandomState(0).permutation(len(X))
    assert (one.predict(X[order]) == answers[order]).all()
    assert (one.predict(X[:1]) == answers[:1]).all()
    assert (one.predict(X.astype(np.float32)) == answers).all()
    assert 0.2 < (two.predict(X) != answers).mean() < 0.7


def test_uniform_numbers_of_rows_are_uniform():
    """Also for rows of small whole numbers, whose bits are alike, and for seeds that follow each other."""
    rows = np.array([[i, j] for i in range(60) for j in range(60)], dtype=float)
    for X, seed in ((rows, 0), (rows, 1), (np.random.RandomState(0).randn(3600, 2), 5)):
        u = row_uniforms(X, seed)
        assert (0 <= u).all() and (u < 1).all()
        counts = np.histogram(u, 20, (0, 1))[0]
        assert ((counts - 180) ** 2 / 180).sum() < 43.8  # chi-squared of 19 degrees, 1 in 1000
    assert abs(np.corrcoef(row_uniforms(rows, 0), row_uniforms(rows, 1))[0, 1]) < 0.06


def test_the_certificate_of_drawn_rules_is_that_of_the_model_itself():
    X, y = some_rows()
    model = GibbsClassifier(random_state=0).fit(X, y)
    found = certify(model, X, y)
    assert found.parts["PAC-Bayes, Gaussian posterior"] == pytest.approx(model.bound_)
    assert "PAC-Bayes, Gaussian posterior" not in found.predictors
    assert "draws a rule for each row" in found.inapplicable["PAC-Bayes, Gaussian vote"]
    assert model.bound_ < GibbsClassifier(size=1.0, random_state=0).fit(X, y).bound_


def test_rules_about_a_kernel_machine_and_about_nothing_known():
    X, y = some_rows(150)
    assert GibbsClassifier(SVC(gamma=0.1), random_state=0).fit(X, y).score(X, y) > 0.6
    with pytest.raises(NotApplicable, match="Give gamma as a number"):
        GibbsClassifier(SVC(), random_state=0).fit(X, y)
    with pytest.raises(NotApplicable, match="no posterior over rules is known for GaussianNB"):
        GibbsClassifier(GaussianNB(), random_state=0).fit(X, y)


def test_a_vote_of_given_rules_learns_their_weights_and_certifies_itself():
    X, y = load_breast_cancer(return_X_y=True)
    rules = [lambda Z, j=j: (Z[:, j] < np.array([15, 700, 0.05, 17, 850])[j % 5]).astype(int) for j in (0, 3, 7, 20)]
    rules += [FrozenEstimator(GaussianNB().fit(X[::2], y[::2])), lambda Z: np.zeros(len(Z), dtype=int)]
    vote = MajorityVoteClassifier(rules, random_state=0).fit(X[1::2], y[1::2])
    assert vote.weights_.sum() == pytest.approx(1)
    assert vote.weights_[4] > 0.3 > vote.weights_[5]
    found = vote.certificate_
    assert (
        found.parts["tandem"]
        <= MajorityVoteClassifier(rules, objective="uniform", random_state=0)
        .fit(X[1::2], y[1::2])
        .certificate_.parts["tandem"]
    )
    assert found.risk == pytest.approx(1 - vote.score(X[1::2], y[1::2]))
    assert found.bound >= min(found.parts.values())
    by_certify = certify(vote, X[1::2], y[1::2]).parts
    assert by_certify["PAC-Bayes, tandem vote"] == pytest.approx(found.parts["tandem"])
    assert by_certify["C-bound"] == pytest.approx(found.parts["C-bound"])
    again = clone(vote).fit(X[1::2], y[1::2])
    assert (again.weights_ == vote.weights_).all()


def test_a_vote_of_copies_is_tested_by_the_rows_their_samples_left_out():
    X, y = some_rows(400, flip_y=0.05)
    vote = MajorityVoteClassifier(n_estimators=20, random_state=0).fit(X, y)
    errors, tests = vote.model_.errors, vote.model_.tests
    drawn = np.column_stack([tests.bag.draw_with_replacement(tests.count, int(seed)) for seed in tests.seeds])
    losses = np.column_stack([rule.predict(X) for rule in vote]) != y[:, None]
    for t in range(20):
        assert errors.alone[t] == pytest.approx(losses[drawn[:, t] == 0, t].mean())
    assert certify(vote, X, y).parts["PAC-Bayes, tandem vote"] == pytest.approx(vote.certificate_.parts["tandem"])
    second = np.column_stack([rule.predict(X) for rule in vote]) @ vote.weights_
    np.testing.assert_allclose(vote.predict_proba(X), np.column_stack([1 - second, second]), atol=1e-12)


def test_a_bad_list_of_rules_is_refused():
    X, y = some_rows(50)
    with pytest.raises(ValueError, match="rules is empty"):
        MajorityVoteClassifier([], random_state=0).fit(X, y)
    with pytest.raises(ValueError, match=r"rules\[1\] must be a fitted classifier or a function; got 3"):
        MajorityVoteClassifier([lambda Z: np.zeros(len(Z)), 3], random_state=0).fit(X, y)


def test_the_laplace_bound_says_whether_it_is_rigorous():
    X, y = some_rows()
    mean = 20 * LogisticRegression(fit_intercept=False).fit(X, y).coef_[0]
    exact = LaplaceLinearPosterior(mean).bound(X, y)
    error = LaplaceLinearPosterior(mean).error(X, y)
    assert exact.rigorous
    assert exact.bound == pytest.approx(min(1.0, relative_upper(error, np.abs(mean).sum(), len(y), 0.05)))
    assert not LaplaceLinearPosterior(mean, method="normal").bound(X, y).rigorous


def test_the_bound_of_feature_votes_holds_on_coin_throws_and_finds_a_number_of_features():
    rng = np.random.RandomState(0)
    F = rng.choice([-1.0, 1.0], (1500, 8))
    codes = (F[:, 0] + F[:, 1] + F[:, 2] > 0).astype(int)
    w = np.repeat([1.0, 0.0], [3, 5])
    found = feature_vote_bound(w, F, codes, draws=400)
    assert 1 < found.count < 255
    more = FeatureVotePosterior(w, found.count).wrong(F, codes, 3000, rng).mean()
    assert more < found.bound < 0.2
    assert feature_vote_bound(w, F, rng.randint(0, 2, 1500), draws=400).bound > 0.5


def test_three_margin_complexities_do_not_depend_on_the_unit_of_the_features():
    X, y = some_rows(100)
    w = np.random.RandomState(0).randn(6)
    one, two = margin_complexities(w, X, y), margin_complexities(7 * w, X / 7, y)
    for name in ("l1_votes", "gaussian", "laplace", "margin_error"):
        assert getattr(one, name) == pytest.approx(getattr(two, name))
    rows = np.linalg.norm(X, axis=1).max()
    assert one.l1_votes == pytest.approx(np.abs(w).sum() ** 2 * np.abs(X).max() ** 2)
    assert one.gaussian == pytest.approx((w**2).sum() * rows**2)
    assert one.laplace == pytest.approx(np.abs(w).sum() * rows)
    assert "order of magnitude only" in str(one)
    margins = np.where(y == 1, 1, -1) * (X @ w)
    assert one.margin_error == margin_error(margins) == (margins < 1).mean() >= (margins < 0).mean()
    with pytest.raises(ValueError, match="got 3 weights and F of shape"):
        margin_complexities(w[:3], X, y)
    with pytest.raises(ValueError, match="two classes; y has 3"):
        margin_complexities(w, X, np.arange(100) % 3)


def test_the_figure_of_margin_complexities_has_a_curve_for_each():
    X, y = some_rows(100)
    found = margin_complexities(np.ones(6), X, y)
    ax = plot.margin_curves(found)
    assert [text.get_text() for text in ax.get_legend().get_texts()] == list(found.rates())
    for line, (name, value) in zip(ax.lines[::2], found.rates().items(), strict=False):
        assert line.get_label() == name
        assert np.interp(100, line.get_xdata(), line.get_ydata()) == pytest.approx(float(value), rel=0.05)
    plt.close("all")
