"""What the laws cannot say about naive Bayes: by loops, with gaps, in batches, as a linear model, in words."""

import warnings

import numpy as np
import pandas as pd
import polars as pl
import pytest
from oracles import naive_bayes as oracle
from scipy.sparse import csr_array
from sklearn.base import clone
from sklearn.datasets import load_iris
from sklearn.discriminant_analysis import QuadraticDiscriminantAnalysis
from sklearn.exceptions import NotFittedError
from sklearn.neighbors import KernelDensity

from fivefold.distributions.gaussian import Full, Gaussian
from fivefold.mixture import GaussianMixture
from fivefold.naive_bayes import (
    BernoulliNB,
    CategoricalNB,
    ComplementNB,
    GaussianNB,
    GenerativeClassifier,
    MixedNB,
    MultinomialNB,
    PoissonNB,
)

# sums of a few dozen terms in another order
CLOSE = {"rtol": 1e-10, "atol": 1e-10}
ALL = (GaussianNB, BernoulliNB, MultinomialNB, ComplementNB, CategoricalNB, PoissonNB, MixedNB)
GAPS = (GaussianNB, BernoulliNB, CategoricalNB, PoissonNB, MixedNB)
COUNTS = (BernoulliNB, MultinomialNB, PoissonNB)
BY_LOOPS = {
    GaussianNB: oracle.gaussian,
    BernoulliNB: oracle.bernoulli,
    MultinomialNB: oracle.multinomial,
    ComplementNB: oracle.complement,
    PoissonNB: oracle.poisson,
    CategoricalNB: lambda *args: oracle.categorical(*args, levels=(4,) * 5),
    MixedNB: oracle.gaussian,
}


def table(method, n=90, seed=0, gaps=0.0):
    """Small counts, class by class, some of them missing; only zeros and ones for BernoulliNB."""
    rng = np.random.RandomState(seed)
    y = rng.choice(["no", "so", "yes"], size=n, p=[0.5, 0.3, 0.2])
    rate = {label: rng.gamma(1.0, 1.0, 5) for label in ("no", "so", "yes")}
    X = rng.poisson([rate[label] for label in y]).clip(0, 1 if method is BernoulliNB else 3) * 1.0
    X[:12] = np.arange(12)[:, None] % (2 if method is BernoulliNB else 4)
    X[12:][rng.rand(n - 12, 5) < gaps] = np.nan
    return X, y, rng.randint(1, 5, n) / 2


@pytest.mark.parametrize("method", ALL)
def test_the_joint_is_that_of_the_loops(method):
    X, y, w = table(method)
    model = method().fit(X, y, sample_weight=w)
    np.testing.assert_allclose(model.predict_joint_log_proba(X), BY_LOOPS[method](X, y, w, X), **CLOSE)


@pytest.mark.parametrize("method", GAPS)
def test_a_missing_entry_leaves_its_factor_out(method):
    X, y, w = table(method, gaps=0.2)
    joint = BY_LOOPS[method](X, y, w, X)
    model = method().fit(X, y, sample_weight=w)
    np.testing.assert_allclose(model.predict_joint_log_proba(X), joint, **CLOSE)
    np.testing.assert_allclose(model.predict_proba(X), oracle.posterior(joint), **CLOSE)


@pytest.mark.parametrize("method", GAPS)
def test_a_row_of_gaps_has_the_class_shares(method):
    X, y, _ = table(method)
    model = method().fit(X, y)
    np.testing.assert_allclose(model.predict_proba(np.full((1, 5), np.nan))[0], model.class_prior_, **CLOSE)


@pytest.mark.parametrize("method", [BernoulliNB, PoissonNB])
def test_gaps_in_a_sparse_table_are_left_out_too(method):
    X, y, w = table(method, gaps=0.2)
    dense, sparse = method().fit(X, y, sample_weight=w), method().fit(csr_array(X), y, sample_weight=w)
    np.testing.assert_allclose(sparse.predict_log_proba(csr_array(X)), dense.predict_log_proba(X), **CLOSE)


@pytest.mark.parametrize("method", [MultinomialNB, ComplementNB])
def test_a_missing_count_of_words_is_refused_with_column_and_cure(method):
    X, y, _ = table(method, gaps=0.2)
    with pytest.raises(ValueError, match=r"column 0 contains NaN in \d+ of 90 rows, first in row \d+\. Impute or drop"):
        method().fit(X, y)


@pytest.mark.parametrize("method", ALL)
def test_batches_give_what_the_whole_gives(method):
    X, y, w = table(method, gaps=0.1 if method in GAPS else 0.0)
    order = np.argsort(y, kind="stable")  # the first batch has not all classes, nor all categories
    X, y, w = X[order], y[order], w[order]
    whole, parts = method().fit(X, y, sample_weight=w), method()
    for rows in np.array_split(np.arange(len(y)), 7):
        parts.partial_fit(X[rows], y[rows], classes=["no", "so", "yes"], sample_weight=w[rows])
    np.testing.assert_allclose(parts.predict_joint_log_proba(X), whole.predict_joint_log_proba(X), **CLOSE)
    np.testing.assert_allclose(parts.class_count_, whole.class_count_, **CLOSE)


def test_batches_of_mixed_columns_give_what_the_whole_gives_though_categories_come_late():
    X, y, _ = table(MixedNB)
    X = X[np.argsort(X[:, 0], kind="stable")]
    families = {0: "categorical", 1: "poisson", (2, 3): "multinomial"}
    whole, parts = MixedNB(families).fit(X, y), MixedNB(families)
    for rows in np.array_split(np.arange(len(y)), 5):
        parts.partial_fit(X[rows], y[rows], classes=["no", "so", "yes"])
    np.testing.assert_allclose(parts.predict_joint_log_proba(X), whole.predict_joint_log_proba(X), **CLOSE)


def test_a_class_without_a_value_of_a_column_takes_the_distribution_of_all():
    X = np.array([[1.0, 0.0], [3.0, 4.0], [np.nan, 1.0], [np.nan, 2.0]])
    model = GaussianNB(var_smoothing=0).fit(X, [0, 0, 1, 1])
    np.testing.assert_allclose(model.theta_[:, 0], [2, 2])
    np.testing.assert_allclose(model.var_[:, 0], [1, 1])


def test_infinity_is_refused_with_its_place_when_fitting_and_when_predicting():
    """GaussianNB looks for it in its sums, not in a pass of its own: near the end of a table of several parts."""
    rng = np.random.RandomState(0)
    X, y = rng.normal(size=(40_000, 3)), rng.randint(2, size=40_000)
    model = GaussianNB().fit(X, y)
    for bad in (np.inf, -np.inf):
        X[39_990, 1] = bad
        for use in (lambda: GaussianNB().fit(X, y), lambda: model.predict(X), lambda: model.predict_proba(X)):
            with pytest.raises(ValueError, match="column 1 contains infinity in 1 of 40000 rows, first in row 39990"):
                use()
    X[39_990, 1] = np.nan
    assert np.isfinite(GaussianNB().fit(X, y).predict_proba(X)).all()


def test_data_far_from_zero_is_as_good_as_centred_data():
    """An offset of 1e8 leaves 8 digits of the data, whatever is computed from them."""
    X, y = load_iris(return_X_y=True)
    near, far = GaussianNB().fit(X, y), GaussianNB().fit(X + 1e8, y)
    np.testing.assert_allclose(far.var_, near.var_, rtol=1e-6)
    np.testing.assert_allclose(far.predict_proba(X + 1e8), near.predict_proba(X), atol=1e-5)


@pytest.mark.parametrize("method", COUNTS)
@pytest.mark.parametrize("container", [np.asarray, csr_array])
def test_the_log_linear_form_scores_exactly_as_the_model(method, container):
    X, y, w = table(method)
    model = method().fit(X, y, sample_weight=w)
    linear = model.log_linear()
    np.testing.assert_allclose(linear.scores(container(X)), model.predict_joint_log_proba(X), **CLOSE)
    np.testing.assert_allclose(X @ linear.coef.T + linear.intercept, model.predict_joint_log_proba(X), **CLOSE)


def test_the_most_indicative_columns_are_named():
    X = pd.DataFrame({"ball": [4, 3, 0, 0], "the": [5, 5, 5, 5], "vote": [0, 0, 3, 4]})
    said = MultinomialNB().fit(X, ["sport", "sport", "law", "law"]).indicative(1)
    assert {label: columns[0][0] for label, columns in said.items()} == {"law": "vote", "sport": "ball"}
    assert said["law"][0][1] == pytest.approx(np.log(8 / 1))  # (7 + 1) / 20 against (0 + 1) / 20
    assert [name for name, _ in ComplementNB().fit(X, ["s", "s", "l", "l"]).indicative(2)["l"]] == ["vote", "the"]


def test_maximum_likelihood_warns_of_zero_probabilities():
    X, y = [[0, 1], [0, 0], [1, 1]], ["a", "a", "b"]
    for method in (CategoricalNB, BernoulliNB, MultinomialNB, PoissonNB):
        with pytest.warns(UserWarning, match=f"{method.__name__}: .* probabilities are zero.*Set alpha > 0"):
            method(alpha=0).fit(X, y)
        with warnings.catch_warnings():
            warnings.simplefilter("error")
            method().fit(X, y)


def test_a_row_that_no_class_can_have_produced_has_the_class_shares():
    with pytest.warns(UserWarning, match="probabilities are zero"):
        model = CategoricalNB(alpha=0).fit([[0, 0], [0, 0], [1, 1]], ["a", "a", "b"])
    row = [[0, 1]]
    np.testing.assert_array_equal(model.predict_joint_log_proba(row), [[-np.inf, -np.inf]])
    np.testing.assert_allclose(model.predict_proba(row), [[2 / 3, 1 / 3]])
    assert model.predict(row) == ["a"]


def test_a_small_alpha_is_raised_unless_it_is_forced():
    X, y = [[0, 1], [0, 0], [1, 1]], ["a", "a", "b"]
    with pytest.warns(UserWarning, match="alpha was raised to 1e-10"):
        model = MultinomialNB(alpha=0, force_alpha=False).fit(X, y)
    np.testing.assert_allclose(np.exp(model.feature_log_prob_[0]), [0, 1], atol=1e-9)


@pytest.mark.parametrize("method", [MultinomialNB, BernoulliNB, PoissonNB, ComplementNB])
def test_alpha_may_differ_by_column_and_by_class(method):
    X, y, _ = table(method)
    same = method(alpha=0.5).fit(X, y).predict_joint_log_proba(X)
    for alpha in (np.full(5, 0.5), np.full((3, 5), 0.5)):
        np.testing.assert_allclose(method(alpha=alpha).fit(X, y).predict_joint_log_proba(X), same, **CLOSE)
    for wrong in (np.ones(3), [-1.0] * 5):
        with pytest.raises(ValueError, match=r"alpha must be a non-negative number.*\(5,\) \(columns\) or \(3, 5\)"):
            method(alpha=wrong).fit(X, y)


@pytest.mark.parametrize("method", ALL)
def test_class_shares_that_cannot_be_are_refused(method):
    X, y, _ = table(method)
    name = "priors" if method is GaussianNB else "class_prior"
    for wrong in ([0.5, 0.5], [0.5, 0.6, -0.1], [0.5, 0.5, 0.5]):
        with pytest.raises(ValueError, match="3 non-negative numbers with sum 1, one for each class of"):
            method(**{name: wrong}).fit(X, y)
    model = method(**{name: [0.2, 0.3, 0.5]}).fit(X, y)
    np.testing.assert_allclose(np.exp(model.class_log_prior_), [0.2, 0.3, 0.5])


@pytest.mark.parametrize("method", [MultinomialNB, ComplementNB, PoissonNB, CategoricalNB])
def test_negative_counts_are_refused_with_column_and_value(method):
    X, y, _ = table(method)
    X[7, 2] = -3
    with pytest.raises(ValueError, match="column 2 holds -3 in row 7"):
        method().fit(X, y)


def test_values_that_are_not_binary_are_refused_when_nothing_makes_them_so():
    with pytest.raises(ValueError, match=r"column 1 holds 2 in row 0.*0 to 1"):
        BernoulliNB(binarize=None).fit([[0, 2], [1, 1]], [0, 1])


def test_a_category_that_fit_did_not_see_says_nothing_and_a_code_beyond_the_levels_is_refused():
    frame = pl.DataFrame({"sky": ["sun", "rain", "sun"], "wind": [True, False, None]})
    for model in (CategoricalNB(), MixedNB()):
        model.fit(frame, ["a", "b", "a"])
        shares = [model.predict_proba(pl.DataFrame({"sky": [sky], "wind": [True]})) for sky in ("snow", None, "sun")]
        np.testing.assert_array_equal(shares[0], shares[1])
        assert shares[0][0, 0] < shares[2][0, 0]
    coded = CategoricalNB().fit([[0, 1], [1, 2]], [0, 1])
    with pytest.raises(ValueError, match=r"column 1 holds 7 in row 0.*3 levels 0 \.\. 2"):
        coded.predict([[0, 7]])


def test_codes_that_are_no_codes_are_spoken_of():
    with pytest.raises(ValueError, match=r"column 1 holds 3e\+09.*OrdinalEncoder"):
        CategoricalNB().fit([[0, 1], [1, 3e9]], [0, 1])
    with pytest.warns(UserWarning, match=r"column 0 holds 0\.5.*fractions are cut off"):
        CategoricalNB().fit([[0.5, 1], [1, 0]], [0, 1])
    with pytest.raises(ValueError, match="min_categories must be a whole number or 2 of them"):
        CategoricalNB(min_categories=[3]).fit([[0, 1], [1, 0]], [0, 1])


def test_categories_as_text_and_as_codes_say_the_same():
    X, y, _ = table(CategoricalNB)
    words = pd.DataFrame(np.array(["n", "o", "p", "q"])[X.astype(int)], columns=list("abcde"))
    text, codes = CategoricalNB().fit(words, y), CategoricalNB().fit(X, y)
    np.testing.assert_array_equal(text.predict_proba(words), codes.predict_proba(X))
    np.testing.assert_array_equal(text.n_categories_, [4] * 5)


def test_mixed_columns_multiply_the_factors_of_their_families():
    rng = np.random.RandomState(0)
    n = 200
    y = rng.randint(2, size=n)
    frame = pd.DataFrame(
        {
            "height": rng.normal(y, 1.0),
            "sky": pd.Categorical(np.array(["sun", "rain", "snow"])[rng.randint(0, 2 + y)]),
            "wind": rng.rand(n) < 0.3 + 0.4 * y,
            "visits": rng.poisson(2 + y),
            "words": rng.poisson(3, n),
            "letters": rng.poisson(4, n),
        }
    )
    frame.loc[5, ["height", "sky"]] = None
    model = MixedNB({"visits": "poisson", ("words", "letters"): "multinomial"}).fit(frame, y)
    assert {type(part.family).__name__: part.columns for part in model.parts_} == {
        "Poisson": (3,),
        "Multinomial": (4, 5),
        "Gaussian": (0,),
        "Categorical": (1,),
        "Bernoulli": (2,),
    }
    parts = [
        GaussianNB().fit(frame[["height"]], y).predict_joint_log_proba(frame[["height"]]),
        CategoricalNB().fit(frame[["sky"]], y).predict_joint_log_proba(frame[["sky"]]),
        BernoulliNB().fit(frame[["wind"]], y).predict_joint_log_proba(frame[["wind"]]),
        PoissonNB().fit(frame[["visits"]], y).predict_joint_log_proba(frame[["visits"]]),
        MultinomialNB().fit(frame[["words", "letters"]], y).predict_joint_log_proba(frame[["words", "letters"]]),
    ]
    joint = sum(parts) - 4 * model.class_log_prior_
    np.testing.assert_allclose(model.predict_proba(frame), oracle.posterior(joint), **CLOSE)


def test_a_family_object_may_describe_columns_that_depend_on_one_another():
    X, y = load_iris(return_X_y=True)
    model = MixedNB({(0, 1, 2, 3): Gaussian(Full())}).fit(X, y)
    whole = QuadraticDiscriminantAnalysis(store_covariance=True).fit(X, y)
    np.testing.assert_array_equal(model.predict(X), whole.predict(X))


def test_families_that_cannot_be_are_refused_in_words():
    X, y, _ = table(MixedNB)
    for families, message in (
        ({0: "gausian"}, r"gives 'gausian' for 0; allowed are 'gaussian', 'bernoulli'"),
        ({9: "gaussian"}, r"names column 9, which X does not have; its columns are 0 to 4"),
        ({"age": "gaussian"}, r"names column 'age', which X does not have"),
        ({0: "poisson", (0, 1): "multinomial"}, r"names column 0 twice"),
    ):
        with pytest.raises(ValueError, match=message):
            MixedNB(families).fit(X, y)


@pytest.mark.parametrize("method", [m for m in ALL if m is not ComplementNB])
def test_samples_come_from_the_model(method):
    """A model fitted to its own samples finds class shares and means again, within 4 standard errors."""
    X, y, _ = table(method, n=300)
    model = method().fit(X, y)
    Z, labels = model.sample(20_000, random_state=0)
    assert Z.shape == (20_000, 5)
    again = method().fit(Z, labels)
    share = np.exp(model.class_log_prior_)
    assert (np.abs(again.class_count_ / 20_000 - share) < 4 * np.sqrt(share / 20_000)).all()
    for k, label in enumerate(model.classes_):
        got, want = Z[labels == label], X[y == label]
        error = want.std(axis=0) / np.sqrt(len(got))
        # smoothing moves the mean of the model from that of the rows by 4 / (n + 4) of their range, three
        assert (np.abs(got.mean(axis=0) - want.mean(axis=0)) < 4 * error + 12 / len(want) + 0.02).all(), k
    with pytest.raises(NotFittedError):
        method().sample()


def test_complement_naive_bayes_tells_classes_apart_and_draws_no_rows():
    assert not hasattr(ComplementNB, "sample")


def test_complement_weights_that_would_be_infinite_are_refused():
    with pytest.raises(ValueError, match=r"never occurs outside one of the classes.*set alpha > 0"):
        ComplementNB(alpha=0).fit([[1, 1], [0, 1]], ["a", "b"])


def test_a_density_for_each_class_makes_a_classifier():
    X, y = load_iris(return_X_y=True)
    model = GenerativeClassifier(GaussianMixture(reg_covar=0.0)).fit(X, y)
    whole = QuadraticDiscriminantAnalysis().fit(X, y)
    # the rival divides by n - 1, so posteriors differ a little; decisions do not
    np.testing.assert_array_equal(model.predict(X), whole.predict(X))
    diagonal = GenerativeClassifier(GaussianMixture(covariance_type="diag", reg_covar=0.0)).fit(X, y)
    np.testing.assert_allclose(
        diagonal.predict_log_proba(X), GaussianNB(var_smoothing=0).fit(X, y).predict_log_proba(X), rtol=1e-8, atol=1e-8
    )
    assert clone(model).estimator is not model.estimator


def test_weights_reach_the_densities_or_are_refused():
    X, y = load_iris(return_X_y=True)
    w = np.random.RandomState(0).randint(1, 4, len(y)).astype(float)
    weighted = GenerativeClassifier().fit(X, y, sample_weight=w)
    repeated = GenerativeClassifier().fit(X.repeat(w.astype(int), axis=0), y.repeat(w.astype(int)))
    np.testing.assert_allclose(weighted.predict_proba(X), repeated.predict_proba(X), atol=1e-8)

    class Unweighted(KernelDensity):
        def fit(self, X, y=None):
            return super().fit(X)

    GenerativeClassifier(Unweighted(bandwidth=0.5)).fit(X, y, sample_weight=np.full(len(y), 2.0))
    with pytest.raises(ValueError, match=r"Unweighted\.fit takes no sample_weight"):
        GenerativeClassifier(Unweighted(bandwidth=0.5)).fit(X, y, sample_weight=w)
    finite = GenerativeClassifier(KernelDensity(kernel="tophat", bandwidth=0.1)).fit(X, y).predict_proba(X + 100)
    np.testing.assert_allclose(finite, 1 / 3)
