"""Methods that answer by neighbours: ties, copies, weights, gaps, objects, refusals, and the cases behind an answer."""

import numpy as np
import pandas as pd
import pytest
from oracles.neighbors import outlier_factors, vote_shares
from scipy.sparse import csr_matrix
from sklearn.model_selection import LeaveOneOut, cross_val_score

from fivefold.kernels import RBF, Linear
from fivefold.kernels.structured import SpectrumKernel
from fivefold.neighbors import (
    KNeighborsClassifier,
    KNeighborsRegressor,
    KNeighborsTransformer,
    LocalOutlierFactor,
    NearestCentroid,
    NearestNeighbors,
    RadiusNeighborsClassifier,
    RadiusNeighborsRegressor,
    radius_neighbors,
)
from fivefold.study.models.m_estimate import MEstimateClassifier, has_votes

RNG = np.random.RandomState(0)
X = RNG.normal(size=(80, 3))
LABELS = RNG.randint(3, size=80)
NUMBERS = X[:, 0] + 0.1 * RNG.normal(size=80)
QUERIES = RNG.normal(size=(15, 3))
VOTES = {
    "uniform": lambda d: 1.0,
    "distance": lambda d: 1 / d,
    "gaussian": lambda d: np.exp(-0.5 * (d / 0.7) ** 2),
    "linear": lambda d: max(0.0, 1 - d / 0.7),
    "tricube": lambda d: max(0.0, 1 - (d / 0.7) ** 3) ** 3,
}


@pytest.mark.parametrize("rule", VOTES)
def test_votes_are_those_of_the_nearest_rows(rule):
    near = QUERIES[[np.sqrt(((X - q) ** 2).sum(axis=1)).min() < 0.6 for q in QUERIES]]  # within a kernel's reach
    model = KNeighborsClassifier(7, weights=rule, bandwidth=0.7).fit(X, LABELS)
    np.testing.assert_allclose(model.predict_proba(near), vote_shares(X, LABELS, near, 7, VOTES[rule]), atol=1e-12)


@pytest.mark.parametrize("weights", ["uniform", "distance", "gaussian", "biweight"])
def test_a_row_of_weight_two_is_two_of_the_neighbours(weights):
    w = RNG.randint(0, 4, size=80)
    weighted = KNeighborsClassifier(6, weights=weights).fit(X, LABELS, w)
    repeated = KNeighborsClassifier(6, weights=weights).fit(X.repeat(w, axis=0), LABELS.repeat(w))
    np.testing.assert_allclose(weighted.predict_proba(QUERIES), repeated.predict_proba(QUERIES), atol=1e-12)


def test_fractions_of_rows_are_counted_up_to_k():
    """0.5 + 0.25 + 0.25 of three rows are one row; the fourth has no vote."""
    model = KNeighborsRegressor(1).fit([[0.0], [1.0], [2.0], [3.0]], [8.0, 4.0, 0.0, 100.0], [0.5, 0.25, 1.0, 1.0])
    assert model.predict([[-1.0]]) == pytest.approx(0.5 * 8 + 0.25 * 4 + 0.25 * 0)
    with pytest.raises(ValueError, match=r"n_neighbors = 3, n_samples_fit = 2\.75"):
        KNeighborsRegressor(3).fit([[0.0], [1.0], [2.0], [3.0]], [8.0, 4.0, 0.0, 1.0], [0.5, 0.25, 1.0, 1.0])


def test_rows_of_weight_zero_are_never_neighbours_and_numbers_are_those_of_the_table():
    w = np.ones(80)
    w[:40] = 0
    model = KNeighborsClassifier(3).fit(X, LABELS, w)
    assert model.n_samples_fit_ == 80 and model.kneighbors(QUERIES, return_distance=False).min() >= 40
    D = np.sqrt(((QUERIES[:, None] - X) ** 2).sum(axis=2))
    own = np.sqrt(((X[:, None] - X) ** 2).sum(axis=2))
    given = KNeighborsClassifier(3, metric="precomputed").fit(own, LABELS, w)
    np.testing.assert_array_equal(given.kneighbors(D)[1], model.kneighbors(QUERIES)[1])
    np.testing.assert_array_equal(given.predict(D), model.predict(QUERIES))


def test_of_equally_near_rows_the_first_vote_and_of_equal_votes_the_first_class():
    model = KNeighborsClassifier(2).fit([[1.0], [-1.0], [1.0], [-1.0]], ["b", "a", "b", "a"])
    assert model.kneighbors([[0.0]], return_distance=False).tolist() == [[0, 1]]
    assert model.predict([[0.0]]) == ["a"]
    same = KNeighborsClassifier(3).fit(np.ones((6, 2)), [0, 0, 1, 1, 1, 1])
    assert same.predict([[1.0, 1.0]]) == [0]


@pytest.mark.parametrize("estimator", [KNeighborsClassifier, RadiusNeighborsClassifier])
def test_rows_at_distance_zero_have_all_the_votes(estimator):
    model = estimator(3.0 if estimator is RadiusNeighborsClassifier else 4, weights="distance")
    model.fit([[0.0], [0.0], [0.0], [1.0]], [0, 1, 1, 2])
    np.testing.assert_allclose(model.predict_proba([[0.0]]), [[1 / 3, 2 / 3, 0.0]])
    square = estimator(3.0 if estimator is RadiusNeighborsClassifier else 4, weights=lambda d: d**-2.0)
    with np.errstate(divide="ignore"):
        np.testing.assert_allclose(
            square.fit([[0.0], [0.0], [0.0], [1.0]], [0, 1, 1, 2]).predict_proba([[0.0]]), [[1 / 3, 2 / 3, 0.0]]
        )


def test_a_width_of_zero_leaves_the_copies_of_a_row():
    """All neighbours are copies, and so is the next row: the kernel has no width, and all of them vote."""
    model = KNeighborsRegressor(2, weights="tricube").fit(np.ones((4, 1)), [1.0, 3.0, 5.0, 7.0])
    assert model.predict([[1.0]]) == [2.0]


def test_more_neighbours_than_rows_are_refused_with_both_numbers():
    with pytest.raises(ValueError, match="n_neighbors = 9, n_samples_fit = 8"):
        KNeighborsClassifier(9).fit(X[:8], LABELS[:8])
    search = NearestNeighbors().fit(X[:8])
    with pytest.raises(ValueError, match="n_neighbors = 9, n_samples_fit = 8, n_samples = 15"):
        search.kneighbors(QUERIES, 9)
    with pytest.raises(ValueError, match="n_neighbors = 8, n_samples_fit = 7"):
        search.kneighbors(n_neighbors=8)
    with pytest.raises(ValueError, match="n_neighbors = 8, n_samples_fit = 7"):
        KNeighborsClassifier(8).fit(X[:8], LABELS[:8]).predict(None)


def test_one_class_has_all_the_votes():
    model = KNeighborsClassifier(3).fit(X, np.full(80, "only"))
    assert model.predict_proba(QUERIES).tolist() == [[1.0]] * 15 and set(model.predict(QUERIES)) == {"only"}


def test_several_targets_are_predicted_as_each_alone():
    both, numbers = np.column_stack([LABELS, LABELS == 1]), np.column_stack([NUMBERS, X[:, 1]])
    for make in (KNeighborsClassifier, lambda: RadiusNeighborsClassifier(2.0, outlier_label=[0, 1])):
        model = make().fit(X, both)
        for column in (0, 1):
            alone = make().set_params(**({"outlier_label": column} if "outlier_label" in model.get_params() else {}))
            alone.fit(X, both[:, column])
            np.testing.assert_array_equal(model.predict(QUERIES)[:, column], alone.predict(QUERIES))
            np.testing.assert_array_equal(model.predict_proba(QUERIES)[column], alone.predict_proba(QUERIES))
    model = KNeighborsRegressor(weights="distance").fit(X, numbers)
    for column in (0, 1):
        alone = KNeighborsRegressor(weights="distance").fit(X, numbers[:, column])
        np.testing.assert_allclose(model.predict(QUERIES)[:, column], alone.predict(QUERIES), rtol=1e-12)


@pytest.mark.parametrize("metric", ["euclidean", "cosine", "manhattan", "chebyshev"])
def test_sparse_rows_have_the_neighbours_of_dense_ones(metric):
    thin, asked = np.where(np.abs(X) > 0.4, X, 0.0), np.where(np.abs(QUERIES) > 0.4, QUERIES, 0.0)
    dense = NearestNeighbors(n_neighbors=4, metric=metric).fit(thin)
    sparse = NearestNeighbors(n_neighbors=4, metric=metric).fit(csr_matrix(thin))
    for queries in (asked, csr_matrix(asked)):
        np.testing.assert_allclose(sparse.kneighbors(queries)[0], dense.kneighbors(asked)[0], atol=1e-7)
        np.testing.assert_allclose(dense.kneighbors(queries)[0], dense.kneighbors(asked)[0], atol=1e-12)
    found, own = sparse.radius_neighbors(csr_matrix(asked), 0.6), dense.radius_neighbors(asked, 0.6)
    assert [sorted(a) for a in found[1]] == [sorted(b) for b in own[1]]


def test_missing_values_are_left_out_of_distances_or_refused():
    gaps = X.copy()
    gaps[::7, 1] = np.nan
    with pytest.raises(ValueError, match=r"column 1 contains NaN in 12 of 80 rows, first in row 0"):
        KNeighborsClassifier().fit(gaps, LABELS)
    model = KNeighborsClassifier(1, metric="nan_euclidean").fit(gaps, LABELS)
    assert model.score(gaps, LABELS) == 1.0
    query = np.array([[0.2, np.nan, 0.1]])
    columns = np.where(np.isnan(gaps), np.nan, gaps - query)
    d = np.sqrt(3 / (~np.isnan(columns)).sum(axis=1) * np.nansum(columns**2, axis=1))
    assert model.kneighbors(query)[1] == d.argmin() and model.kneighbors(query)[0] == pytest.approx(d.min())
    nothing = KNeighborsClassifier(3, metric="nan_euclidean", weights="distance").fit(gaps, LABELS)
    assert nothing.predict_proba(np.full((1, 3), np.nan)).sum() == pytest.approx(1.0)


def test_gower_compares_numbers_categories_and_gaps():
    frame = pd.DataFrame({"size": [1.0, 2.0, 9.0, None], "colour": ["red", "red", "blue", "blue"]})
    model = KNeighborsClassifier(1, metric="gower").fit(frame, ["a", "b", "c", "d"])
    asked = pd.DataFrame({"size": [1.4, 8.0, None], "colour": ["red", "blue", "blue"]})
    assert model.predict(asked).tolist() == ["a", "d", "c"]  # of two that differ in no known column the first
    assert model.kneighbors(asked)[0][0] == pytest.approx((0.4 / 8) / 2)


def test_strings_and_other_objects_have_neighbours():
    words, kinds = ["kitten", "sitting", "mitten", "graph", "grape"], ["animal"] * 3 + ["thing"] * 2
    model = KNeighborsClassifier(1, metric="edit").fit(words, kinds)
    assert model.predict(["bitten", "gripe"]).tolist() == ["animal", "thing"]
    assert model.explain(["bitten"])[0].distances.tolist() == [1.0]
    kernel = KNeighborsClassifier(2, metric=SpectrumKernel(2)).fit(words, kinds)
    K, own = SpectrumKernel(2)(["mittens"], words)[0], SpectrumKernel(2).diag(words)
    squares = SpectrumKernel(2).diag(["mittens"])[0] - 2 * K + own
    np.testing.assert_allclose(kernel.kneighbors(["mittens"])[0][0], np.sqrt(np.sort(squares)[:2]))


def test_the_distance_of_a_linear_kernel_is_the_euclidean_one():
    plain = KNeighborsClassifier(5).fit(X, LABELS)
    linear, radial = (KNeighborsClassifier(5, metric=k).fit(X, LABELS) for k in (Linear(), RBF(0.5)))
    np.testing.assert_allclose(linear.kneighbors(QUERIES)[0], plain.kneighbors(QUERIES)[0], rtol=1e-7)
    for model in (linear, radial):  # the distance of a radial kernel grows with the Euclidean one
        np.testing.assert_array_equal(model.kneighbors(QUERIES)[1], plain.kneighbors(QUERIES)[1])


def test_a_function_of_two_rows_is_a_metric():
    found = NearestNeighbors(n_neighbors=3, metric=lambda a, b: np.abs(a - b).sum()).fit(X).kneighbors(QUERIES)
    known = NearestNeighbors(n_neighbors=3, metric="manhattan").fit(X).kneighbors(QUERIES)
    np.testing.assert_array_equal(found[1], known[1])


@pytest.mark.parametrize("weights", ["uniform", "distance", "epanechnikov"])
def test_an_explanation_holds_the_cases_that_make_the_answer(weights):
    w = RNG.randint(0, 3, size=80)
    classifier = KNeighborsClassifier(6, weights=weights).fit(X, LABELS, w)
    shares = classifier.predict_proba(QUERIES)
    for cases, own in zip(classifier.explain(QUERIES), shares, strict=True):
        assert (np.diff(cases.distances) >= 0).all() and (LABELS[cases.rows] == cases.targets).all()
        again = [cases.weights[cases.targets == label].sum() for label in classifier.classes_]
        np.testing.assert_allclose(again, own, atol=1e-12)
    regressor = RadiusNeighborsRegressor(1.5, weights=weights).fit(X, NUMBERS, w + 1)
    for cases, own in zip(regressor.explain(QUERIES), regressor.predict(QUERIES), strict=True):
        assert cases.weights @ cases.targets == pytest.approx(own)
    words = str(regressor.explain(QUERIES[:1])[0])
    assert (
        words.startswith("   row  distance  weight  target\n")
        and f"{NUMBERS[regressor.explain(QUERIES)[0].rows[0]]}" in words
    )


def test_without_rows_each_row_of_fit_is_predicted_by_the_others():
    model = KNeighborsClassifier(5).fit(X, LABELS)
    left_out = cross_val_score(KNeighborsClassifier(5), X, LABELS, cv=LeaveOneOut()).mean()
    assert model.score(None, LABELS) == pytest.approx(left_out)
    number = KNeighborsRegressor(5, weights="gaussian").fit(X, NUMBERS)
    others = [
        KNeighborsRegressor(5, weights="gaussian").fit(np.delete(X, i, 0), np.delete(NUMBERS, i)) for i in range(9)
    ]
    np.testing.assert_allclose(number.predict(None)[:9], [m.predict(X[[i]])[0] for i, m in enumerate(others)])


def test_rows_without_neighbours_have_the_label_of_outliers():
    far = np.full((1, 3), 50.0)
    with pytest.raises(ValueError, match=r"No neighbors found for test samples array\(\[1\]\).*larger radius"):
        RadiusNeighborsClassifier(3.0).fit(X, LABELS).predict(np.vstack([X[:1], far]))
    common = RadiusNeighborsClassifier(3.0, outlier_label="most_frequent").fit(X, LABELS)
    assert common.predict(far) == np.bincount(LABELS).argmax()
    other = RadiusNeighborsClassifier(3.0, outlier_label=-1).fit(X, LABELS)
    with pytest.warns(UserWarning, match="not in training classes"):
        assert other.predict(far) == [-1]
    with pytest.warns(UserWarning, match="1 samples have no neighbors within radius 3; they are predicted as NaN"):
        assert np.isnan(RadiusNeighborsRegressor(3.0).fit(X, NUMBERS).predict(far)).all()
    with pytest.raises(TypeError, match="another type"):
        RadiusNeighborsClassifier(outlier_label="none").fit(X, LABELS)


def test_large_neighbourhoods_are_counted_in_blocks(monkeypatch):
    whole = [
        RadiusNeighborsRegressor(9.0, weights="distance").fit(X, NUMBERS).predict(QUERIES),
        KNeighborsRegressor(9).fit(X, NUMBERS).predict(QUERIES),
    ]
    for module in ("k_neighbors", "radius_neighbors"):
        monkeypatch.setattr(f"fivefold.neighbors.{module}.MAX_BLOCK_VOTES", 30)
    parts = [
        RadiusNeighborsRegressor(9.0, weights="distance").fit(X, NUMBERS).predict(QUERIES),
        KNeighborsRegressor(9).fit(X, NUMBERS).predict(QUERIES),
    ]
    for a, b in zip(whole, parts, strict=True):
        assert a.tobytes() == b.tobytes()


def test_what_users_do_to_their_table_later_changes_no_answer():
    mine = X.copy()
    model = KNeighborsRegressor().fit(mine, NUMBERS)
    before = model.predict(QUERIES)
    mine[:] = 0.0
    np.testing.assert_array_equal(KNeighborsRegressor().fit(X, NUMBERS).predict(QUERIES), before)
    np.testing.assert_array_equal(model.predict(QUERIES), before)


def test_graphs_and_tables_of_distances_say_the_same():
    graph = KNeighborsTransformer(n_neighbors=10).fit(X)
    given = KNeighborsRegressor(4, metric="precomputed", weights="distance").fit(graph.transform(X), NUMBERS)
    plain = KNeighborsRegressor(4, weights="distance").fit(X, NUMBERS)
    np.testing.assert_allclose(given.predict(graph.transform(QUERIES)), plain.predict(QUERIES))
    np.testing.assert_allclose(given.predict(None), plain.predict(None))
    with pytest.raises(ValueError, match="12 neighbors per samples are required, but some samples have only 11"):
        given.kneighbors(graph.transform(QUERIES), 12)
    with pytest.raises(ValueError, match="must be square"):
        KNeighborsRegressor(metric="precomputed").fit(np.abs(X), NUMBERS)
    with pytest.raises(ValueError, match="Negative values"):
        KNeighborsRegressor(1, metric="precomputed").fit(-np.ones((2, 2)), [0.0, 1.0])


@pytest.mark.parametrize("factor", ["reachability", "distance"])
def test_outlier_factors_are_quotients_of_densities(factor):
    factors = dict(zip(("reachability", "distance"), outlier_factors(X, 6), strict=True))
    model = LocalOutlierFactor(6, factor=factor).fit(X)
    np.testing.assert_allclose(-model.negative_outlier_factor_, factors[factor], rtol=1e-8)


def test_copies_are_neighbours_of_a_row_of_weight_two():
    w = RNG.randint(1, 4, size=80)
    weighted, repeated = LocalOutlierFactor(6).fit(X, sample_weight=w), LocalOutlierFactor(6).fit(X.repeat(w, axis=0))
    first = np.cumsum(w) - w
    np.testing.assert_allclose(weighted.negative_outlier_factor_, repeated.negative_outlier_factor_[first], rtol=1e-9)
    w[:3] = 0
    scored = LocalOutlierFactor(6, novelty=True).fit(X, sample_weight=w)
    np.testing.assert_allclose(scored.negative_outlier_factor_[:3], scored.score_samples(X[:3]))


def test_more_neighbours_than_rows_are_all_others_in_a_search_for_outliers():
    with pytest.warns(UserWarning, match=r"n_neighbors \(20\) is greater than the total number of samples \(8\)"):
        model = LocalOutlierFactor().fit(X[:8])
    assert model.n_neighbors_ == 7
    with pytest.warns(UserWarning, match="Duplicate values"):
        LocalOutlierFactor(2).fit(np.vstack([np.zeros((4, 1)), [[1.0]], [[1.0 + 1e-3]]]))


@pytest.mark.parametrize("covariance", ["pooled", "class"])
def test_mahalanobis_centres_do_not_depend_on_the_units_of_columns(covariance):
    mixed = X @ RNG.normal(size=(3, 3)) + 5.0
    asked = QUERIES @ np.linalg.lstsq(X, mixed - 5.0, rcond=None)[0] + 5.0
    settings = {"metric": "mahalanobis", "covariance": covariance}
    plain, turned = (NearestCentroid(**settings).fit(rows, LABELS) for rows in (X, mixed))
    np.testing.assert_allclose(turned.decision_function(asked), plain.decision_function(QUERIES), rtol=1e-6)
    constant = NearestCentroid(**settings)
    with pytest.warns(UserWarning, match="zero standard deviation"):
        constant.fit(np.hstack([X, np.ones((80, 1))]), LABELS)
    np.testing.assert_array_equal(constant.predict(np.hstack([QUERIES, np.zeros((15, 1))])), plain.predict(QUERIES))


def test_columns_far_from_zero_cost_no_digits():
    far = X + 1e8
    assert (
        KNeighborsClassifier(3).fit(far, LABELS).predict(QUERIES + 1e8)
        == KNeighborsClassifier(3).fit(far - 1e8, LABELS).predict((QUERIES + 1e8) - 1e8)
    ).all()
    centres = NearestCentroid(shrink_threshold=0.1).fit(far, LABELS)
    near = NearestCentroid(shrink_threshold=0.1).fit(far - 1e8, LABELS)
    np.testing.assert_allclose(centres.deviations_, near.deviations_, atol=1e-6)


def test_a_study_draws_votes_of_neighbours_towards_the_shares_of_all_rows():
    """Three votes for one class say less than a probability of one."""
    assert has_votes(KNeighborsClassifier())
    shares = MEstimateClassifier(KNeighborsClassifier(3)).fit(X, LABELS).predict_proba(QUERIES)
    plain = KNeighborsClassifier(3).fit(X, LABELS).predict_proba(QUERIES)
    prior = np.bincount(LABELS) / len(LABELS)
    np.testing.assert_allclose(shares, (3 * plain + 2 * prior) / 5)


def test_radius_answers_in_blocks_of_growing_size_are_those_of_one_block(monkeypatch):
    rng = np.random.default_rng(0)
    X, y = rng.normal(size=(300, 2)), rng.integers(0, 3, 300)
    model = RadiusNeighborsClassifier(0.3, outlier_label=0).fit(X, y)
    whole = model.predict(X[:90])
    monkeypatch.setattr(radius_neighbors, "MAX_BLOCK_VOTES", 3000)  # ten rows first, then all that are left
    np.testing.assert_array_equal(model.predict(X[:90]), whole)
