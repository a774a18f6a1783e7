"""PAC-Bayes certificates of fitted linear, kernel and voting classifiers."""

from dataclasses import dataclass

import numpy as np
import pytest
from scipy.special import ndtr
from sklearn.datasets import load_breast_cancer, load_iris, make_classification

from fivefold.discriminant_analysis import LinearDiscriminantAnalysis
from fivefold.ensemble import AdaBoostClassifier, BaggingClassifier, ExtraTreesClassifier, RandomForestClassifier
from fivefold.ensemble.members import bootstrap_bag
from fivefold.linear_model import LogisticRegression, Perceptron, RidgeClassifier, SGDClassifier
from fivefold.naive_bayes import GaussianNB
from fivefold.svm import SVC, LinearSVC
from fivefold.theory import certify
from fivefold.theory.bounds import BOUNDS, Case, NotApplicable
from fivefold.theory.pac_bayes import certificates  # noqa: F401  registers the bounds
from fivefold.theory.pac_bayes.ensemble_voters import find_voters
from fivefold.theory.pac_bayes.gibbs_posterior import answer_shares, gibbs_errors, gibbs_posterior
from fivefold.theory.pac_bayes.linear_posteriors import GaussianLinearPosterior
from fivefold.theory.pac_bayes.posterior_bounds import improved_kl_upper
from fivefold.theory.pac_bayes.stochastic_rules import sampled_bound
from fivefold.theory.pac_bayes.votes import VoterErrors, c_bound, learn_vote_weights

LINEAR = [
    LogisticRegression(),
    LogisticRegression(fit_intercept=False),
    LinearSVC(random_state=0),
    RidgeClassifier(),
    Perceptron(random_state=0),
    SGDClassifier(random_state=0),
    LinearDiscriminantAnalysis(),
]


def two_classes(n=200, seed=0):
    X, y = make_classification(n, 5, random_state=seed)
    return X, y


def training_case(model, X, y):
    return Case(model, X, np.asarray(y), (model.predict(X) != y).astype(float), "training")


@pytest.mark.parametrize("model", LINEAR, ids=lambda m: f"{type(m).__name__}{getattr(m, 'fit_intercept', '')}")
@pytest.mark.parametrize("K", [2, 3])
def test_the_model_is_the_majority_vote_of_its_posterior(model, K):
    X, y = make_classification(150, 5, n_informative=4, n_redundant=0, n_classes=K, random_state=1)
    model.fit(X, y)
    shares = answer_shares(gibbs_posterior(model), X, K)
    np.testing.assert_allclose(shares.sum(axis=1), 1, atol=1e-9)
    assert (model.classes_[shares.argmax(axis=1)] == model.predict(X)).all()


def test_a_linear_kernel_gives_the_posterior_of_its_weights():
    X, y = two_classes()
    machine = SVC(kernel="linear").fit(X, y)
    mean = np.append(machine.coef_[0], machine.intercept_[0])
    by_hand = GaussianLinearPosterior(mean)
    Q, F = gibbs_posterior(machine), np.column_stack([X, np.ones(len(X))])
    assert Q.complexity == pytest.approx(by_hand.complexity, rel=1e-6)
    np.testing.assert_allclose(gibbs_errors(Q, X, y), by_hand.errors(F, y), atol=1e-6)


def test_a_gaussian_kernel_has_the_norm_of_its_expansion():
    X, y = two_classes(80)
    machine = SVC(gamma=0.2).fit(X, y)
    S, a = machine.support_vectors_, machine.dual_coef_[0]
    K = np.exp(-0.2 * ((S[:, None] - S) ** 2).sum(axis=2))
    norm = a @ K @ a + machine.intercept_[0] ** 2
    Q = gibbs_posterior(machine)
    assert Q.complexity == pytest.approx(norm / 2, rel=1e-6)
    margins = np.where(y == 1, 1, -1) * machine.decision_function(X) / np.sqrt(2)
    np.testing.assert_allclose(gibbs_errors(Q, X, y), ndtr(-margins), atol=1e-6)
    np.testing.assert_allclose(gibbs_errors(Q.scaled(3.0), X, y), ndtr(-3 * margins), atol=1e-6)


def test_the_gaussian_bound_is_the_least_over_sizes():
    X, y = two_classes()
    model = LogisticRegression().fit(X, y)
    found = BOUNDS["PAC-Bayes, Gaussian posterior"](training_case(model, X, y), 0.05)
    F = np.column_stack([X, np.ones(len(X))])
    mu = np.append(model.coef_[0], model.intercept_[0])
    each = (GaussianLinearPosterior(mu / np.linalg.norm(mu) * s) for s in np.geomspace(0.3, 300, 400))
    dense = min(improved_kl_upper(Q.error(F, y), Q.complexity, len(y), 0.05, exact_moment=True) for Q in each)
    assert found.value == pytest.approx(dense, abs=2e-4)
    assert found.predictor == "a rule drawn from the posterior"
    vote = BOUNDS["PAC-Bayes, Gaussian vote"](training_case(model, X, y), 0.05)
    assert found.value < vote.value < 1


def test_certify_tells_the_model_from_a_drawn_rule():
    X, y = load_breast_cancer(return_X_y=True)
    X = (X - X.mean(axis=0)) / X.std(axis=0)
    found = certify(LogisticRegression().fit(X, y), X, y)
    assert found.parts["PAC-Bayes, Gaussian posterior"] < 0.16 < 0.2 < found.bound < 0.35
    assert found.predictors == {"PAC-Bayes, Gaussian posterior": "a rule drawn from the posterior"} | {
        name: who for name, who in found.predictors.items() if name != "PAC-Bayes, Gaussian posterior"
    }


def test_a_forest_is_judged_by_the_rows_its_trees_did_not_see():
    X, y = load_iris(return_X_y=True)
    forest = RandomForestClassifier(30, random_state=0).fit(X, y)
    voters = find_voters(forest, X, y)
    assert voters.losses.shape == voters.unseen.shape == (150, 30)
    for t, (tree, rows) in enumerate(zip(forest.estimators_, forest.estimators_samples_, strict=True)):
        assert (np.flatnonzero(~voters.unseen[:, t]) == np.unique(rows)).all()
        np.testing.assert_allclose(1 - voters.losses[:, t], tree.predict_proba(X)[np.arange(150), y], atol=1e-12)
    bagged = BaggingClassifier(n_estimators=10, max_features=0.5, random_state=0).fit(X, y)
    voters = find_voters(bagged, X, y)
    for t, rows in enumerate(bagged.estimators_samples_):
        assert (np.flatnonzero(~voters.unseen[:, t]) == np.unique(rows)).all()
    found = certify(forest, X, y)
    assert {"PAC-Bayes, first-order vote", "PAC-Bayes, tandem vote", "C-bound"} <= set(found.parts)
    assert found.bound < 1


@pytest.mark.parametrize(("n", "exact"), [(200, True), (600, False)])
def test_a_tree_of_a_forest_does_not_depend_on_the_labels_of_rows_left_out(monkeypatch, n, exact):
    """Nor on their values, where columns have at most 255 of them; beyond, all rows share the bins of the columns."""
    monkeypatch.setattr(bootstrap_bag, "content_order", lambda X, y=None: np.arange(len(X), dtype=np.int32))
    X, y = two_classes(n)
    rng = np.random.RandomState(0)
    for kind in (RandomForestClassifier, ExtraTreesClassifier):
        forest = kind(3, bootstrap=True, random_state=0).fit(X, y)
        out = np.setdiff1d(np.arange(n), forest.estimators_samples_[1])
        labels, values = y.copy(), X.copy()
        labels[out] = 1 - labels[out]
        values[out] += rng.randn(len(out), X.shape[1])
        tree = forest.estimators_[1].tree_
        for changed in (kind(3, bootstrap=True, random_state=0).fit(X, labels),) + (
            (kind(3, bootstrap=True, random_state=0).fit(values, y),) if exact or kind is ExtraTreesClassifier else ()
        ):
            other = changed.estimators_[1].tree_
            assert (tree.feature == other.feature).all() and (tree.threshold == other.threshold).all()


@pytest.mark.parametrize("rows_per_voter", [0.5, 1.0])
def test_errors_of_voters_are_means_over_the_rows_they_did_not_see(rows_per_voter):
    rng = np.random.RandomState(0)
    losses, unseen = rng.rand(40, 4), rng.rand(40, 4) < rows_per_voter
    found = VoterErrors.of(losses, unseen)
    for t in range(4):
        assert found.alone[t] == pytest.approx(losses[unseen[:, t], t].mean())
        for u in range(4):
            both = unseen[:, t] & unseen[:, u]
            assert found.tandem_losses[t, u] == pytest.approx((losses[both, t] * losses[both, u]).mean())
            assert found.apart[t, u] == pytest.approx((losses[both, t] * (1 - losses[both, u])).mean())
    assert found.rows == unseen.sum(axis=0).min()
    assert found.common_rows == (unseen.T.astype(int) @ unseen).min()
    w = rng.randint(1, 4, 40)
    np.testing.assert_allclose(
        VoterErrors.of(losses, unseen, w).tandem_losses,
        VoterErrors.of(np.repeat(losses, w, axis=0), np.repeat(unseen, w, axis=0)).tandem_losses,
    )


def test_the_c_bound_and_the_tandem_hold_for_any_mean_losses():
    """On a finite space with known probabilities, against the error of the vote."""
    rng = np.random.RandomState(1)
    for _ in range(200):
        p, losses, rho = rng.dirichlet(np.ones(8)), rng.randint(0, 2, (8, 5)), rng.dirichlet(np.ones(5))
        mean = losses @ rho
        vote, gibbs, tandem = p @ (mean >= 0.5), p @ mean, p @ mean**2
        assert vote <= min(2 * gibbs, 4 * tandem) + 1e-12
        assert vote <= c_bound(gibbs, 2 * (gibbs - tandem)) + 1e-12


@pytest.mark.parametrize("objective", ["first order", "tandem"])
def test_learned_weights_never_have_a_larger_bound_than_equal_ones(objective):
    rng = np.random.RandomState(2)
    errors = VoterErrors.of((rng.rand(500, 6) < [0.1, 0.12, 0.1, 0.3, 0.45, 0.5]).astype(float))
    rho, uniform = learn_vote_weights(errors, objective, 0.05), np.full(6, 1 / 6)
    assert rho.sum() == pytest.approx(1)
    if objective == "tandem":
        assert errors.tandem(rho, 0.05) < errors.tandem(uniform, 0.05)
        assert rho.max() < 0.5  # several voters are better than the best one
    else:
        assert errors.first_order(rho, 0.05) < errors.first_order(uniform, 0.05)
    assert rho[:3].sum() > 0.8


@dataclass
class NoisyThreshold:
    """A stochastic network of one weight: answers 1 where x + noise > 0."""

    classes_ = np.array(["no", "yes"])
    complexity = 0.5
    _estimator_type = "classifier"

    def predict(self, X):
        return self.classes_[(np.asarray(X)[:, 0] > 0).astype(int)]

    def wrong(self, X, codes, draws, rng):
        return ((X[:, 0] + 0.1 * rng.standard_normal((draws, 1)) > 0).astype(int) != codes).astype(float)


def test_rules_that_can_only_be_drawn_are_bounded_with_a_confidence_of_their_own():
    rng = np.random.RandomState(3)
    X = rng.randn(500, 1)
    codes = (X[:, 0] > 0).astype(int)
    few, many = (sampled_bound(NoisyThreshold(), X, codes, draws=draws) for draws in (20, 2000))
    assert many.sampled_error < many.error_limit < few.error_limit
    exact = ndtr(-np.abs(X[:, 0]) / 0.1).mean()
    assert many.sampled_error == pytest.approx(exact, abs=0.01)
    assert many.bound < few.bound
    case = Case(NoisyThreshold(), X, NoisyThreshold.classes_[codes], np.zeros(500), "training", {"draws": 2000})
    assert BOUNDS["PAC-Bayes, sampled rules"](case, 0.05).value == pytest.approx(many.bound)
    shy = NoisyThreshold()
    shy.wrong = lambda X, codes, draws, rng: np.zeros((draws - 1, len(codes)))
    with pytest.raises(ValueError, match=r"must return 20 draws of 500 rows; got shape \(19, 500\)"):
        sampled_bound(shy, X, codes, draws=20)


def refused(model, name, message, X=None, y=None):
    X, y = (X, y) if X is not None else two_classes(80)
    with pytest.raises(NotApplicable, match=message):
        BOUNDS[name](training_case(model.fit(X, y), X, y), 0.05)


def test_what_a_prior_must_not_know_is_refused():
    refused(SVC(), "PAC-Bayes, Gaussian vote", "gamma=.scale. takes the kernel from the training rows")
    refused(SVC(kernel="sigmoid"), "PAC-Bayes, Gaussian vote", "no inner product")
    refused(GaussianNB(), "PAC-Bayes, Gaussian vote", "no posterior over rules is known for GaussianNB")
    refused(SVC(gamma=0.1), "PAC-Bayes, Gaussian vote", "of 3 classes is a vote of pairs", *load_iris(return_X_y=True))


def test_votes_without_rows_left_out_are_refused():
    name = "PAC-Bayes, tandem vote"
    refused(AdaBoostClassifier(random_state=0), name, "trained on all rows")
    refused(ExtraTreesClassifier(5, random_state=0), name, "bootstrap=True")
    refused(BaggingClassifier(n_estimators=3, bootstrap=False, random_state=0), name, "bootstrap=True")
    refused(RandomForestClassifier(5, class_weight="balanced", random_state=0), name, "labels decide which rows")
    refused(GaussianNB(), name, "GaussianNB is no vote")
    refused(LogisticRegression(), "PAC-Bayes, sampled rules", "has no `complexity` and `wrong`")


def test_rows_in_another_order_are_refused_by_votes():
    X, y = load_iris(return_X_y=True)
    forest = RandomForestClassifier(5, random_state=0).fit(X, y)
    with pytest.raises(NotApplicable, match="in their order"):
        BOUNDS["C-bound"](training_case(forest, X[::-1], y[::-1]), 0.05)
    weighted = RandomForestClassifier(5, random_state=0).fit(X, y, sample_weight=np.arange(150) % 3 + 0.5)
    with pytest.raises(NotApplicable, match="fitted with weights"):
        BOUNDS["C-bound"](training_case(weighted, X, y), 0.05)
