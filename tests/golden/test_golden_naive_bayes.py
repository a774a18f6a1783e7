"""Naive Bayes against numbers and checks of the catalogue; the row is in the docstring."""

import numpy as np
import pytest
from oracles.naive_bayes import star_posterior
from scipy.stats import norm
from sklearn.datasets import load_iris
from sklearn.feature_extraction.text import CountVectorizer, TfidfVectorizer

from fivefold.mixture import GaussianMixture
from fivefold.naive_bayes import (
    BernoulliNB,
    CategoricalNB,
    GaussianNB,
    GenerativeClassifier,
    MixedNB,
    MultinomialNB,
)

LETTERS = list("aaaaaaaabbabbaaaaaaa")
TEXTS = ["the cat sat on the mat", "the dog sat", "stocks fell and the market fell", "market up"]
TOPICS = ["pets", "pets", "money", "money"]
# a table that decides about playing outside: outlook, temperature, humidity, wind
PLAY = [
    ("sunny", "hot", "high", "weak", "no"),
    ("sunny", "hot", "high", "strong", "no"),
    ("overcast", "hot", "high", "weak", "yes"),
    ("rain", "mild", "high", "weak", "yes"),
    ("rain", "cool", "normal", "weak", "yes"),
    ("rain", "cool", "normal", "strong", "no"),
    ("overcast", "cool", "normal", "strong", "yes"),
    ("sunny", "mild", "high", "weak", "no"),
    ("sunny", "cool", "normal", "weak", "yes"),
    ("rain", "mild", "normal", "weak", "yes"),
    ("sunny", "mild", "normal", "strong", "yes"),
    ("overcast", "mild", "high", "strong", "yes"),
    ("overcast", "hot", "normal", "weak", "yes"),
    ("rain", "mild", "high", "strong", "no"),
]
DAYS, PLAYED = np.array([row[:4] for row in PLAY]), np.array([row[4] for row in PLAY])


def test_class_priors_are_the_shares_of_the_letters():
    """C.1-7: from the string aaaaaaaabbabbaaaaaaa, p(a) = 16/20 and p(b) = 4/20; entropy 0.721928 bits."""
    model = GaussianNB().fit(np.arange(20.0)[:, None], LETTERS)
    np.testing.assert_allclose(model.class_prior_, [0.8, 0.2], rtol=1e-15)
    assert -(model.class_prior_ * np.log2(model.class_prior_)).sum() == pytest.approx(0.721928, abs=5e-7)


def test_priors_move_the_boundary_towards_the_rarer_letter():
    """C.1-6: heights around 8 decide equally; x = 5 is an a, x = 11 a b; priors 0.8 and 0.2 turn 8 into an a."""
    X, y = np.array([[4.0], [6.0], [10.0], [12.0]]), list("aabb")
    equal = GaussianNB(priors=[0.5, 0.5]).fit(X, y)
    assert list(equal.predict([[5.0], [11.0]])) == ["a", "b"]
    np.testing.assert_allclose(equal.predict_proba([[8.0]]), [[0.5, 0.5]], rtol=1e-12)
    counted = GaussianNB(priors=[0.8, 0.2]).fit(X, y)
    np.testing.assert_allclose(counted.predict_proba([[8.0]]), [[0.8, 0.2]], rtol=1e-12)
    assert counted.predict([[8.2]]) == ["a"]


def test_bernoulli_posteriors_sum_to_one_and_follow_the_formula():
    """B-163: P(x, z) = beta_z prod beta^phi (1 - beta)^(1 - phi), fitted by counts; the posterior sums to 1."""
    X, z = np.array([[1, 0], [1, 1], [0, 1], [0, 0], [0, 1]]), np.array([0, 0, 1, 1, 1])
    model = BernoulliNB(alpha=0.5).fit(X, z)
    beta = np.array([[2.5 / 3, 1.5 / 3], [0.5 / 4, 2.5 / 4]])
    np.testing.assert_allclose(np.exp(model.feature_log_prob_), beta, rtol=1e-14)
    joint = np.array([2 / 5, 3 / 5]) * np.prod(np.where(X[:, None] == 1, beta, 1 - beta), axis=2)
    np.testing.assert_allclose(np.exp(model.predict_joint_log_proba(X)), joint, rtol=1e-12)
    np.testing.assert_allclose(model.predict_proba(X).sum(axis=1), 1, rtol=1e-14)


def test_one_gaussian_a_class_is_the_classifier_with_estimated_parameters():
    """D-151: p(y|x) ~ p(x|y) P(y), each density from the rows of its class; by Gaussian ML, Gaussians."""
    X, y = load_iris(return_X_y=True)
    column = X[:, 2:3]
    model = GenerativeClassifier(GaussianMixture(reg_covar=0.0)).fit(column, y)
    joint = np.column_stack(
        [np.mean(y == k) * norm.pdf(X[:, 2], X[y == k, 2].mean(), X[y == k, 2].std()) for k in range(3)]
    )
    np.testing.assert_allclose(model.predict_proba(column), joint / joint.sum(axis=1, keepdims=True), atol=1e-10)


def test_a_generative_classifier_and_a_mixture_share_one_graph():
    """E-325: P(C|x) = P(C) p(x|C) / p(x); with the class hidden, the same parameters give the responsibilities."""
    X, y = load_iris(return_X_y=True)
    seen = GaussianNB(var_smoothing=0).fit(X, y)
    hidden = GaussianMixture(
        3,
        covariance_type="diag",
        weights_init=seen.class_prior_,
        means_init=seen.theta_,
        precisions_init=1 / seen.var_,
        max_iter=0,
        reg_covar=0.0,
    ).fit(X)
    # the precisions given are inverted once more: rounding
    np.testing.assert_allclose(hidden.predict_proba(X), seen.predict_proba(X), atol=1e-10)
    general = GenerativeClassifier(GaussianMixture(covariance_type="diag", reg_covar=0.0)).fit(X, y)
    np.testing.assert_allclose(general.predict_proba(X), seen.predict_proba(X), atol=1e-10)


def test_categorical_naive_bayes_is_inference_in_the_star_network():
    """D-248, E-326: the posterior equals that of the network whose class is the only parent; a gap is summed out."""
    model = CategoricalNB().fit(DAYS.astype(object), PLAYED)
    tables = [np.exp(logs).tolist() for logs in model.feature_log_prob_]
    levels = [sorted(set(column)) for column in DAYS.T]
    for day in (("sunny", "cool", "high", "strong"), ("rain", None, "normal", "weak"), (None, None, None, "strong")):
        evidence = [None if v is None else levels[j].index(v) for j, v in enumerate(day)]
        wanted = star_posterior(np.exp(model.class_log_prior_), tables, evidence)
        np.testing.assert_allclose(model.predict_proba(np.array([day], dtype=object))[0], wanted, rtol=1e-12)


def test_maximum_likelihood_is_relative_frequency_and_sums_to_one():
    """D-250: theta_kc = N_kc / N_c, columns sum to 1; a zero count is a zero probability, with a warning.

    The sunny, cool, humid and windy day: 0.0053 for yes, 0.0206 for no (Mitchell 1997, section 6.9.1).
    """
    with pytest.warns(UserWarning, match="1 probabilities are zero"):  # no overcast day without play
        model = CategoricalNB(alpha=0).fit(DAYS.astype(object), PLAYED)
    np.testing.assert_allclose([np.exp(p).sum(axis=1) for p in model.feature_log_prob_], 1, rtol=1e-14)
    day = np.array([["sunny", "cool", "high", "strong"]], dtype=object)
    np.testing.assert_allclose(np.exp(model.predict_joint_log_proba(day))[0], [0.0206, 0.0053], atol=5e-5)
    assert model.predict(day) == ["no"]
    assert model.predict_proba(day)[0, 0] == pytest.approx(0.795, abs=5e-4)


def test_a_dirichlet_prior_adds_its_counts():
    """D-251: theta = (N_kc + alpha_kc) / (N_c + alpha_c); alpha = 1 is Laplace's, alpha -> 0 maximum likelihood."""
    X, y = np.array([[3, 1, 0], [2, 0, 2]]), [0, 1]
    alpha = np.array([[1.0, 2.0, 3.0], [0.5, 0.5, 1.0]])
    model = MultinomialNB(alpha=alpha).fit(X, y)
    wanted = (X + alpha) / (X + alpha).sum(axis=1, keepdims=True)
    np.testing.assert_allclose(np.exp(model.feature_log_prob_), wanted, rtol=1e-14)
    np.testing.assert_allclose(np.exp(MultinomialNB().fit(X, y).feature_log_prob_[0]), [4 / 7, 2 / 7, 1 / 7])
    np.testing.assert_allclose(
        np.exp(MultinomialNB(alpha=1e-12).fit(X, y).feature_log_prob_[0]), [3 / 4, 1 / 4, 0], atol=1e-11
    )


def test_a_single_distribution_depends_on_the_counts_of_values_only():
    """D-249: all attributes share one distribution over values, so their order says nothing."""
    rng = np.random.RandomState(0)
    words, y = rng.randint(0, 6, size=(40, 9)), rng.randint(2, size=40)

    def counted(table):
        return np.array([np.bincount(row, minlength=6) for row in table])

    model = MultinomialNB().fit(counted(words), y)
    shuffled = np.random.default_rng(0).permuted(words, axis=1)
    np.testing.assert_array_equal(
        model.predict_joint_log_proba(counted(shuffled)), model.predict_joint_log_proba(counted(words))
    )


def test_attributes_with_the_same_values_pooled_are_the_single_distribution():
    """D-254: theta_jkc = share of value k of attribute j in class c; pooled over j it is the one of D-249."""
    rng = np.random.RandomState(1)
    X, y = rng.randint(0, 3, size=(60, 4)), rng.randint(2, size=60)
    apart = CategoricalNB().fit(X, y)
    pooled = sum(apart.category_count_)
    counts = np.array([np.bincount(row, minlength=3) for row in X])
    np.testing.assert_array_equal(MultinomialNB().fit(counts, y).feature_count_, pooled)
    mixed = MixedNB(dict.fromkeys(range(4), "categorical")).fit(X, y)
    np.testing.assert_allclose(mixed.predict_joint_log_proba(X), apart.predict_joint_log_proba(X), rtol=1e-12)


def test_word_counts_sum_to_the_length_of_the_text():
    """B-129, D-252: counts sum to the words of the vocabulary in a text; a word of every text has the least idf."""
    words = CountVectorizer(token_pattern=r"\w+").fit(TEXTS[:3])
    X = words.transform(TEXTS)
    np.testing.assert_array_equal(X.sum(axis=1)[:3].ravel(), [[6, 3, 6]])
    assert X[3].sum() == 1  # "up" is not in the vocabulary
    weighted = TfidfVectorizer(token_pattern=r"\w+").fit(TEXTS[:3])
    assert weighted.idf_[weighted.vocabulary_["the"]] == weighted.idf_.min() == 1.0


def test_texts_are_classified_by_their_words():
    """D-253: theta_kc = occurrences of word k in class c over all its words; twice all texts, the same decisions."""
    words = CountVectorizer()
    X = words.fit_transform(TEXTS)
    with pytest.warns(UserWarning, match="probabilities are zero"):
        model = MultinomialNB(alpha=0).fit(X, TOPICS)
    with pytest.warns(UserWarning, match="probabilities are zero"):
        twice = MultinomialNB(alpha=0).fit(words.transform(TEXTS * 2), TOPICS * 2)
    fell = words.vocabulary_["fell"]
    assert np.exp(model.feature_log_prob_[0, fell]) == pytest.approx(2 / 8)  # eight words about money
    new = words.transform(["the cat fell", "the market", "dog"])
    np.testing.assert_array_equal(model.predict(new), twice.predict(new))
    np.testing.assert_allclose(np.exp(model.class_log_prior_), [0.5, 0.5])
    assert list(MultinomialNB().fit(X, TOPICS).predict(words.transform(["dog mat", "the market fell"]))) == [
        "pets",
        "money",
    ]


def test_the_linear_scores_are_the_log_joint():
    """D-255: log f_i(x) = sum_k N_kx log theta_ki + log(|D_i| / |D|) = w.x + w_0, exactly."""
    words = CountVectorizer()
    X = words.fit_transform(TEXTS)
    model = MultinomialNB().fit(X, TOPICS)
    linear = model.log_linear()
    np.testing.assert_allclose(linear.scores(X), model.predict_joint_log_proba(X), rtol=1e-13)
    np.testing.assert_allclose(linear.coef, model.feature_log_prob_, rtol=0)
    np.testing.assert_allclose(linear.intercept, np.log([0.5, 0.5]), rtol=1e-13)
    best = words.get_feature_names_out()[linear.indicative(1)["pets"][0][0]]
    assert best in ("sat", "the", "cat", "dog", "mat", "on")


def test_numeric_and_discrete_columns_multiply():
    """E-326: p(x|C) = prod_j p(x_j|C) for numeric (Gaussian) and discrete inputs."""
    X = np.column_stack([[1.0, 2.0, 5.0, 7.0], [0, 1, 1, 1]])
    model = MixedNB({1: "categorical"}, var_smoothing=0).fit(X, [0, 0, 1, 1])
    numeric = norm.pdf(3.0, [1.5, 6.0], [0.5, 1.0])
    discrete = np.array([2 / 4, 3 / 4])  # (1 + 1) / (2 + 2) and (2 + 1) / (2 + 2)
    np.testing.assert_allclose(
        np.exp(model.predict_joint_log_proba([[3.0, 1]]))[0], 0.5 * numeric * discrete, rtol=1e-12
    )
