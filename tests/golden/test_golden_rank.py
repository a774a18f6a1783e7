"""Ranking: what the catalogue's rows ask for."""

import numpy as np
import pytest
from numpy.testing import assert_allclose, assert_array_equal
from oracles import rank as oracle
from sklearn.metrics import ndcg_score, roc_auc_score
from sklearn.pipeline import make_pipeline
from sklearn.preprocessing import PolynomialFeatures
from sklearn.svm import LinearSVC

from fivefold.optim.constrained.quadratic_program import solve_qp
from fivefold.rank import (
    LinearRanker,
    Pairs,
    Queries,
    RankingPerceptron,
    misranked_pairs,
    pairwise_accuracy,
    soft_ranking_error,
)
from fivefold.spatial.points import Points

LOSSES = {
    "squared_hinge": lambda m: max(0.0, 1 - m) ** 2,
    "hinge": lambda m: max(0.0, 1 - m),
    "log": lambda m: np.logaddexp(0, -m),
}


def lists(n=40, d=3, noise=0.0, seed=0):
    """Queries of five rows with a linear order, an offset for each query, and noise."""
    rng = np.random.default_rng(seed)
    X, queries = rng.normal(size=(n, d)), np.arange(n) // 5
    score = X @ np.arange(1.0, d + 1) + noise * rng.normal(size=n)
    return X, np.round(2 * score), queries


def test_pairs_of_a_ranking_of_grades_and_of_clicks():
    """E-142: clicked item 3 after skipping 1 and 2 gives (3, 1) and (3, 2); partial orders are allowed."""
    assert list(Pairs.of_clicks([1, 2, 3, 4], [3])) == [(3, 1), (3, 2)]
    assert list(Pairs.of_clicks([1, 2, 3, 4], [1, 4])) == [(4, 2), (4, 3)]
    assert list(Pairs.of_ranking([2, 0, 1])) == [(2, 0), (2, 1), (0, 1)]
    graded = Pairs.of_grades([1, 3, 3, 0, 5], groups=["a", "a", "a", "b", "b"])
    assert sorted(graded) == [(1, 0), (2, 0), (4, 3)]
    both = Pairs.of([(0, 1)]) + graded
    assert len(both) == 4 and both.weight.tolist() == [1.0] * 4
    with pytest.raises(ValueError, match=r"clicked items \[9\] were not shown"):
        Pairs.of_clicks([1, 2], [9])


@pytest.mark.parametrize("settings", [{}, {"margin": 1.0}, {"average": False}])
def test_every_pair_is_satisfied_where_a_direction_does_it(settings):
    """E-143: the online rule stops once no pair is violated."""
    X, y, queries = lists()
    model = RankingPerceptron(random_state=0, max_iter=2000, **settings).fit(X, y, groups=queries)
    assert model.score(X, y, groups=queries) == 1.0
    assert model.n_iter_ < 2000
    assert misranked_pairs(y, model.predict(X), groups=queries) == 0


def test_the_perceptron_follows_its_rule_pair_by_pair():
    """E-143, E-353: the path of the oracle over the same drawn pairs, the mean of it, and a margin's larger gap."""
    X, y, queries = lists(noise=2.0)
    seed = np.random.RandomState(5).randint(2**31 - 1)
    known = Queries.of(y, queries, np.ones(len(y)), Points.of(X).keys)
    assert known.total == len(oracle.pairs(y, queries))
    drawn = list(zip(*known.draw(round(known.total), np.random.RandomState(seed)), strict=True))
    for margin in (0.0, 1.0):
        last, mean = (
            RankingPerceptron(margin=margin, average=a, max_iter=1, eta0=0.5, random_state=5).fit(X, y, groups=queries)
            for a in (False, True)
        )
        path = oracle.perceptron(X, drawn, eta=0.5, margin=margin)
        assert_allclose(last.coef_, path[-1], rtol=1e-9, atol=1e-9)
        assert_allclose(mean.coef_, path.mean(axis=0), rtol=1e-9, atol=1e-9)


def test_a_margin_separates_the_scores_of_pairs():
    """E-144: every pair is apart by one; without a margin by less."""
    X, y, queries = lists()
    apart = []
    for margin in (0.0, 1.0):
        model = RankingPerceptron(margin=margin, eta0=0.01, average=False, max_iter=3000, random_state=0)
        s = model.fit(X, y, groups=queries).predict(X)
        apart.append(min(s[u] - s[v] for u, v, _ in oracle.pairs(y, queries)))
    assert apart[1] >= 1 > apart[0] > 0
    assert soft_ranking_error(y, s, margin=1.0, groups=queries) == 0


def test_linear_hinge_without_penalty_is_the_margin_perceptron():
    """E-353: where every pair can be satisfied both reach zero loss of the same hinge."""
    X, y, queries = lists()
    hard = LinearRanker(C=1e4, loss="hinge", random_state=0).fit(X, y, groups=queries)
    soft = RankingPerceptron(margin=1.0, eta0=0.01, average=False, max_iter=3000, random_state=0).fit(
        X, y, groups=queries
    )
    for model in (hard, soft):
        assert soft_ranking_error(y, model.predict(X), margin=1.0, groups=queries) < 1e-6


def test_top_k_is_sorted_and_leaves_out_what_was_seen():
    """E-145."""
    X, y, queries = lists()
    model = LinearRanker().fit(X, y, groups=queries)
    s = model.predict(X)
    best = model.top(X, 3)
    assert_array_equal(best, np.argsort(-s)[:3])
    assert model.top(X).tolist() == [int(s.argmax())]
    fresh = model.top(X, 4, seen=best)
    assert not set(fresh) & set(best) and (np.diff(s[fresh]) <= 0).all()
    with pytest.raises(ValueError, match="k=39 rows are asked for; 37 have not been seen"):
        model.top(X, 39, seen=best)


def test_a_reranked_list_is_a_permutation_of_the_n_best():
    """E-146: features of a second model put the right candidate first; ties keep the order of the first system."""
    rng = np.random.default_rng(0)
    lattice = rng.normal(size=(30, 10, 2))  # 30 utterances, 10 candidates in acoustic order, two further features
    right = lattice.sum(axis=2).argmax(axis=1)
    y = (np.arange(10) == right[:, None]).ravel().astype(float)
    X, utterance = lattice.reshape(-1, 2), np.repeat(np.arange(30), 10)
    model = LinearRanker().fit(X, y, groups=utterance)
    orders = [model.rerank(candidates) for candidates in lattice]
    assert all(sorted(order) == list(range(10)) for order in orders)
    assert np.mean([order[0] == r for order, r in zip(orders, right, strict=True)]) > 0.9
    assert model.rerank(np.zeros((4, 2))).tolist() == [0, 1, 2, 3]


@pytest.mark.parametrize("ranker", [LinearRanker(C=10.0), RankingPerceptron(random_state=0, max_iter=500)], ids=str)
def test_an_order_shaped_like_a_u_needs_the_square(ranker):
    """E-147: on a line no direction orders the rows; with x^2 one does."""
    X = np.linspace(-1, 1, 21)[:, None]
    y = X[:, 0] ** 2
    assert ranker.fit(X, y).score(X, y) < 0.6
    bent = make_pipeline(PolynomialFeatures(2, include_bias=False), ranker).fit(X, y)
    assert bent.score(X, y) > 0.99


def test_counts_of_a_perfect_and_of_a_reversed_order():
    """E-148: zero for a perfect ranking; ties are violated pairs where asked."""
    y = np.array([0, 1, 2, 2])
    assert misranked_pairs(y, [1.0, 2.0, 3.0, 3.5]) == 0 == soft_ranking_error(y, [1.0, 2.0, 3.0, 3.5])
    assert misranked_pairs(y, [3.0, 2.0, 1.0, 1.0]) == 5
    assert soft_ranking_error(y, [3.0, 2.0, 1.0, 1.0]) == 1 + 2 + 2 + 1 + 1
    assert misranked_pairs(y, np.zeros(4)) == 5 and misranked_pairs(y, np.zeros(4), ties=False) == 0
    assert soft_ranking_error(y, np.zeros(4), margin=1.0) == 5


@pytest.mark.parametrize("n", [30, 2000])
def test_pairwise_accuracy_is_the_area_under_the_roc_for_two_grades(n):
    """D-313: ties half; short queries pair by pair, long ones by the tree: both exact."""
    rng = np.random.RandomState(0)
    y, s, w = rng.randint(2, size=n), rng.randint(12, size=n) / 4, rng.randint(1, 4, size=n)
    assert pairwise_accuracy(y, s) == pytest.approx(roc_auc_score(y, s), abs=1e-14)
    assert pairwise_accuracy(y, s, sample_weight=w) == pytest.approx(roc_auc_score(y, s, sample_weight=w), abs=1e-12)
    if n < 100:
        grades, queries = rng.randint(4, size=n), rng.randint(3, size=n)
        ours = pairwise_accuracy(grades, s, groups=queries, sample_weight=w)
        assert ours == pytest.approx(oracle.accuracy(grades, s, queries, w), abs=1e-14)
    assert ndcg_score([y], [y]) == pytest.approx(1.0)  # gains at the top are scikit-learn's


def test_separable_pairs_are_all_in_order_and_a_constant_changes_nothing():
    """D-311."""
    X, y, queries = lists()
    for loss in LOSSES:
        model = LinearRanker(C=1e3, loss=loss, random_state=0).fit(X, y, groups=queries)
        assert model.score(X, y, groups=queries) == 1.0
        shifted = LinearRanker(C=1e3, loss=loss, random_state=0).fit(X + 100 * queries[:, None], y, groups=queries)
        assert_allclose(shifted.coef_, model.coef_, rtol=1e-5)  # a constant of each query cancels
        assert pairwise_accuracy(y, model.predict(X) + 7, groups=queries) == 1.0


def test_support_vector_ranking_is_its_quadratic_program():
    """D-311: min 1/2 |w|^2 + C sum xi with w'(x_u - x_v) >= 1 - xi, xi >= 0; 1e-6, as the program is singular."""
    X, y, queries = lists(25, noise=2.0)
    D = Pairs.of_grades(y, queries).differences(X)
    P, d = len(D), X.shape[1]
    program = solve_qp(
        np.diag(np.append(np.ones(d), np.zeros(P))), np.append(np.zeros(d), np.full(P, 0.3)),
        G=np.hstack([-D, -np.eye(P)]), h=-np.ones(P), lb=np.append(np.full(d, -np.inf), np.zeros(P)),
    )  # fmt: skip
    model = LinearRanker(C=0.3, loss="hinge", random_state=0).fit(X, y, groups=queries)
    assert_allclose(model.coef_, program.x[:d], atol=1e-5)
    assert_allclose(oracle.objective(X, y, model.coef_, LOSSES["hinge"], 0.3, queries), program.value, rtol=1e-6)


def test_differences_as_rows_of_a_classifier_give_the_same_direction():
    """D-312: an unbiased machine on x_u - x_v, half of the pairs turned round; and by kernel, the dual of the pairs."""
    X, y, queries = lists(noise=2.0)
    pairs = Pairs.of_grades(y, queries)
    D = pairs.differences(X)
    sign = np.where(np.arange(len(D)) % 2, 1.0, -1.0)
    model = LinearRanker(C=0.5).fit(X, y, groups=queries)
    rival = LinearSVC(C=0.5, fit_intercept=False, dual=False, tol=1e-10, random_state=0).fit(D * sign[:, None], sign)
    assert_allclose(model.coef_, rival.coef_[0], rtol=1e-6)
    K = pairs.gram(X @ X.T)
    assert_allclose(K, D @ D.T, atol=1e-12)
    dual = solve_qp(
        K + np.eye(len(D)) / (2 * 0.5), -np.ones(len(D)), lb=0.0
    )  # squared slacks: 1 / (2 C) on the diagonal
    assert_allclose(dual.x @ D, model.coef_, rtol=1e-6)
