"""What the laws cannot say about kernel machines: solvers beside slow ones, reports, bounds, refusals."""

import warnings

import numpy as np
import pytest
from oracles.smo import quadratic_program_dual, simplified_smo, two_variable_step
from scipy.sparse import csr_array
from sklearn.exceptions import ConvergenceWarning

from fivefold.kernels import RBF
from fivefold.kernels.row_cache import MatrixRows, RepeatedRows, VectorRows
from fivefold.kernels.row_source_loops import GaussianRule64
from fivefold.optim.dual.kernel_dual import KernelDual, check_optimality
from fivefold.optim.dual.smo import DualSolver, minimise_dual
from fivefold.optim.dual.smo_loops import leave_out
from fivefold.optim.dual.working_set_loops import BUCKETS, choose_working_set, code_sides, mark_violations
from fivefold.svm import SVC, SVDD, SVR, NuSVC, NuSVR, OneClassSVM
from fivefold.svm.leave_one_out import leave_one_out
from fivefold.svm.support.dual_problems import (
    enclosing_sphere,
    nu_margin,
    quantile_support,
    soft_margin,
    squared_margin,
)
from fivefold.svm.support_report import support_report


def rings(n=120, seed=0):
    """Two classes, one around the other, with some overlap."""
    rng = np.random.RandomState(seed)
    y = np.where(np.arange(n) % 2 == 0, 1, -1)
    angle, radius = rng.uniform(0, 2 * np.pi, n), np.where(y > 0, 1.0, 1.8) + 0.35 * rng.normal(size=n)
    return np.column_stack([radius * np.cos(angle), radius * np.sin(angle)]), y


def gaussian_gram(X, gamma):
    return np.exp(-gamma * ((X[:, None] - X[None]) ** 2).sum(axis=2))


def test_one_step_of_the_text_solves_two_points():
    """A-123: from zero, E = (1, -1) and kappa = -4 give 0.5, 0.5 and the offset 0."""
    x, y = np.array([-1.0, 1.0]), np.array([-1.0, 1.0])
    K = np.outer(x, x)
    assert two_variable_step(K, y, np.zeros(2), 0.0, 0, 1, 1.0, -y) == (0.5, 0.5, 0.0)


@pytest.mark.parametrize("C", [0.3, 1.0, 10.0])
def test_the_simplified_solver_of_the_text_finds_the_same_machine(C):
    X, y = rings(40)
    K = gaussian_gram(X, 0.7)
    alpha, b = simplified_smo(K, y.astype(float), C)
    model = SVC(C=C, gamma=0.7).fit(X, y)
    np.testing.assert_allclose(K @ (alpha * y) - b, model.decision_function(X), atol=5e-3 * C)


@pytest.mark.parametrize("name", ["soft", "squared", "one class", "sphere", "nu"])
def test_the_solver_of_quadratic_programs_finds_the_same_minimum(name):
    X, y = rings(50)
    order = np.argsort(-y, kind="stable")
    X, sign = X[order], y[order].astype(float)
    K, w = gaussian_gram(X, 0.7), np.linspace(0.5, 1.5, 50)
    dual = {
        "soft": lambda: soft_margin(sign, 2.0, w),
        "squared": lambda: squared_margin(sign, 2.0, w),
        "one class": lambda: quantile_support(0.3, w),
        "sphere": lambda: enclosing_sphere(0.2, w, np.diag(K).copy()),
        "nu": lambda: nu_margin(sign, 0.4, w),
    }[name]()
    found, x = minimise_dual(dual, MatrixRows(K)), quadratic_program_dual(K, dual)
    ridge = 0.0 if dual.ridge is None else dual.ridge
    best = 0.5 * x @ (K @ x + ridge * x) - dual.t @ x
    assert found.value == pytest.approx(best, rel=1e-9, abs=1e-12)
    assert found.gap <= 1e-9 * max(1.0, abs(best))
    report = check_optimality(dual, found.b, found.f)
    assert report.violation == pytest.approx(found.violation, abs=1e-15) and report.gap == pytest.approx(
        found.gap, abs=1e-9
    )
    assert report.out_of_box == 0 and max(report.sum_error) < 1e-12 and "duality gap" in str(report)


def test_single_steps_need_no_equality():
    X, y = rings(60)
    K, free = gaussian_gram(X, 0.7), soft_margin(y.astype(float), 1.0, np.ones(60))
    dual = KernelDual(free.t, free.low, free.high, equality=False)
    found = minimise_dual(dual, MatrixRows(K), tol=1e-8)
    assert found.gap < 1e-6 and found.offsets[0] == 0
    f = K @ found.b
    assert 0.5 * found.b @ f + np.maximum(0, 1 - y * f).sum() == pytest.approx(-found.value, abs=1e-6)


def test_a_small_cache_and_a_warm_start_change_nothing():
    X, y = rings(2400, seed=3)
    dual = soft_margin(y.astype(float), 5.0, np.ones(len(y)))
    source = VectorRows.of(GaussianRule64(0.7), X, np.dtype(np.float32))
    plain = minimise_dual(dual, source, tol=1e-4)
    for options in ({"cache_bytes": 1e6}, {"cache_bytes": 1}, {"start": plain.b}):
        found = minimise_dual(dual, source, tol=1e-4, **options)
        assert found.violation < 1e-4 and found.gap <= 1e-4 * abs(found.value)
        assert found.value == pytest.approx(plain.value, rel=1e-5)
    assert found.steps < 0.1 * plain.steps


@pytest.mark.parametrize("n", [300, 2200])
def test_a_problem_near_a_solved_one_keeps_its_rows_and_residuals(n):
    """Residuals from those of the solution before left out the diagonal of the two-norm machine."""
    X, y = rings(n, seed=3)
    G = gaussian_gram(X, 0.7)
    dual = squared_margin(y.astype(float), 1.0, np.ones(n))
    solver = DualSolver(VectorRows.of(GaussianRule64(0.7), X, np.dtype(np.float64)), 1e-4)
    whole = solver.minimise(dual)
    out = np.arange(n) % 5 == 0
    without, start = dual.without(out), whole.b.copy()
    leave_out(start, out, without.low, without.high)
    found = solver.minimise(without, start, near=whole)
    np.testing.assert_allclose(found.f, dual.t - G @ found.b - dual.ridge * found.b, atol=1e-8)
    assert (found.b[out] == 0).all() and found.steps < whole.steps
    assert found.rows_made <= max(whole.rows_made, n)


def test_rounds_in_working_sets_make_few_rows():
    """Beside the support vectors, few rows are made, and few of them twice."""
    X, y = rings(6000, seed=3)
    dual = soft_margin(y.astype(float), 1.0, np.ones(len(y)))
    found = minimise_dual(dual, VectorRows.of(GaussianRule64(0.7), X, np.dtype(np.float32)))
    assert found.violation < 1e-3 and found.rows_made < 1.5 * (found.b != 0).sum()


def test_the_row_cache_gives_rows_of_the_matrix_whatever_it_forgets():
    X, _ = rings(700)
    G, source = gaussian_gram(X, 0.7), VectorRows.of(GaussianRule64(0.7), X, np.dtype(np.float64))
    twice, place = RepeatedRows(source, np.tile(np.arange(700), 2)), np.tile(np.arange(700), 2)
    cache, double, rng = source.cached(40 * 700 * 8), twice.cached(40 * 700 * 8), np.random.RandomState(0)
    for _ in range(40):
        wanted, keep = np.unique(rng.randint(1400, size=50)), rng.rand(1400) < 0.5
        weights, f = rng.normal(size=len(wanted)), np.zeros(1400)
        double.subtract(f, wanted, weights, keep[wanted])
        np.testing.assert_allclose(f, -weights @ G[np.ix_(place[wanted], place)], atol=1e-12)
        few = np.unique(wanted[:20] % 700)
        cache.subtract(f[:700], few, weights[: len(few)], keep[few])
        np.testing.assert_allclose(cache.rows(few), G[few], rtol=1e-12)
    assert cache.capacity == 40 and cache.rows(np.arange(41)) is None and (cache.slot_of >= 0).sum() == 40
    np.testing.assert_allclose(double.rows(np.array([3, 703])), G[[3, 3]][:, place], rtol=1e-12)
    kept = np.arange(0, 700, 3)
    np.testing.assert_allclose(source.matrix(kept), G[np.ix_(kept, kept)], rtol=1e-12)
    np.testing.assert_allclose(source.weighted_sums(kept, kept, np.ones(len(kept))), G[np.ix_(kept, kept)].sum(axis=1))


def test_the_row_cache_forgets_the_row_unused_for_longest():
    X, _ = rings(50)
    cache = VectorRows.of(GaussianRule64(0.7), X, np.dtype(np.float64)).cached(4 * 50 * 8)
    for wanted in ([0, 1, 2, 3], [1, 0], [4], [2], [5, 1]):  # 4 takes the place of 2, 2 that of 3, and 5 that of 0
        cache.rows(np.array(wanted))
    assert np.flatnonzero(cache.slot_of >= 0).tolist() == [1, 2, 4, 5] and cache.made == 7


@pytest.mark.parametrize(
    ("tube", "groups", "equality"), [(0.0, 1, True), (0.2, 1, True), (0.0, 2, True), (0.1, 1, False)]
)
@pytest.mark.parametrize("outlier", [0.0, 1e9])
def test_the_working_set_holds_the_largest_violations_beside_half_of_the_last_set(tube, groups, equality, outlier):
    n, size, rng = 3000, 64, np.random.RandomState(0)
    low, high = -rng.randint(2, size=n).astype(float), rng.randint(2, size=n).astype(float)
    b = np.where(rng.rand(n) < 0.3, rng.rand(n) * (high + low), rng.choice([0.0, 1.0], n) * (low + high))
    f = rng.normal(size=n)
    f[7] += outlier
    sizes = (n,) if groups == 1 else (1000, 2000)
    dual = KernelDual(f, low, high, tube_width=tube, group_sizes=sizes, equality=equality)
    sides, marks, extremes = np.empty(n, np.uint8), np.empty((2, n), np.uint8), np.empty((2, groups))
    code_sides(b, low, high, sides)
    worst = mark_violations(f, sides, tube, dual.group_ends, equality, 1e-3, extremes, marks)
    assert worst == dual.violation(b, f)
    last, order, rows = rng.permutation(n)[:size], np.empty(size, np.int64), np.empty(n, np.int64)
    parts, ends, counts, values = (
        np.empty((5, size)),
        np.empty(groups, np.int64),
        np.empty((2, BUCKETS), np.int64),
        b + 0,
    )
    m = choose_working_set(
        b, f, low, high, f, sides, tube, dual.group_ends, last, marks, order, rows, parts, ends, counts, values
    )
    u, down = dual.slopes(b, f)
    free, taken = dual.is_free(b, last), np.zeros(n, bool)
    expected = [np.concatenate([last[~free], last[free]])[-size // 2 :]]
    taken[expected[0]] = True
    for g in dual.group_slices:
        for slope, bound in ((u, down[g].min() if equality else 0.0), (-down, -u[g].max() if equality else 0.0)):
            among = np.flatnonzero((slope[g] > bound) & ~taken[g]) + g.start
            chosen = among[np.argsort(-slope[among])[: size // (4 * groups)]]
            taken[chosen] = True
            expected.append(chosen)
    places = np.split(order[:m], np.cumsum([len(part) for part in expected])[:-1])
    assert [sorted(part) for part in places] == [sorted(part) for part in expected]
    np.testing.assert_array_equal(rows[:m], np.flatnonzero(taken))
    np.testing.assert_array_equal(parts[:, :m], np.stack([b, f, low, high, f])[:, rows[:m]])
    np.testing.assert_array_equal(ends, np.searchsorted(rows[:m], dual.group_ends))


def test_support_vectors_alone_give_the_same_machine_and_their_kinds_are_told():
    X, y = rings()
    model = SVC(C=3.0, gamma=0.7).fit(X, y)
    report = support_report(model, X, y)
    again = SVC(C=3.0, gamma=0.7).fit(X[model.support_], y[model.support_])
    np.testing.assert_allclose(again.decision_function(X), model.decision_function(X), atol=1e-8)
    f = y * model.decision_function(X)
    np.testing.assert_allclose(f[report.unbound], 1.0, atol=1e-8)
    assert (report.slack[report.multipliers == 0] < 1e-8).all() and len(report.bound) > 0
    assert len(report.misclassified) == (model.predict(X) != y).sum()
    assert (f < 1 - 1e-8).sum() <= len(report.bound)
    assert report.share == len(model.support_) / len(y) and "support vectors" in str(report)
    assert report.margin == pytest.approx(model.squared_norm_[0] ** -0.5)
    assert report.geometric_margin == pytest.approx(f.min() * report.margin)


def test_the_tube_of_a_regressor_holds_rows_without_multipliers():
    X, _ = rings()
    t = np.sin(2 * X[:, 0]) + 0.1 * np.random.RandomState(1).normal(size=len(X))
    model = SVR(C=2.0, epsilon=0.1).fit(X, t)
    report = support_report(model, X, t)
    np.testing.assert_allclose(np.abs(report.answers[report.unbound]), 0.1, atol=1e-8)
    assert (np.abs(report.answers[report.multipliers == 0]) < 0.1 + 1e-8).all()
    assert (np.abs(report.answers[report.bound]) > 0.1 - 1e-8).all()
    constant = SVR(epsilon=2.0).fit(X, t)
    assert len(constant.support_) == 0 and np.ptp(constant.predict(X)) == 0
    found = NuSVR(C=2.0, nu=0.3).fit(X, t)
    same = SVR(C=2.0, epsilon=found.epsilon_).fit(X, t)
    np.testing.assert_allclose(found.predict(X), same.predict(X), atol=1e-6)
    assert (np.abs(t - found.predict(X)) > found.epsilon_ + 1e-8).mean() <= 0.3 <= len(found.support_) / len(t)


def test_leaving_out_one_row_at_a_time_equals_naive_refits():
    X, y = rings(60)
    machine = SVC(C=2.0, gamma=0.7)
    found = leave_one_out(machine, X, y)
    kept = ~np.eye(60, dtype=bool)
    naive = [
        y[i] * SVC(C=2.0, gamma=0.7).fit(X[kept[i]], y[kept[i]]).decision_function(X[i : i + 1])[0] for i in range(60)
    ]
    np.testing.assert_allclose(found.answers, naive, atol=1e-6)
    assert found.error <= found.support_bound and found.error <= found.xi_alpha_bound and found.refits < 60
    assert "leave-one-out error" in str(found)


def test_nu_bounds_errors_and_support_vectors_and_some_price_gives_the_same_machine():
    X, y = rings(200)
    model = NuSVC(nu=0.4, gamma=0.7).fit(X, y)
    f = y * model.decision_function(X)
    assert (f < 1 - 1e-8).mean() <= 0.4 <= len(model.support_) / len(y)
    C = np.abs(model.dual_coef_).max()
    np.testing.assert_allclose(
        SVC(C=C, gamma=0.7).fit(X, y).decision_function(X), model.decision_function(X), atol=1e-6
    )
    with pytest.warns(UserWarning, match="at most 0.2"):
        NuSVC(nu=0.9).fit(X, np.where(np.arange(200) < 20, 1, -1))


def test_one_class_and_sphere_are_the_same_region_for_a_gaussian_kernel():
    X, _ = rings(150)
    half_space, sphere = OneClassSVM(nu=0.2, gamma=0.7).fit(X), SVDD(nu=0.2, gamma=0.7).fit(X)
    scale = 2 / half_space.dual_coef_.sum()
    np.testing.assert_allclose(sphere.decision_function(X), scale * half_space.decision_function(X), atol=1e-8)
    assert (sphere.predict(X) < 0).mean() <= 0.2 <= len(sphere.support_) / 150
    distance = 1 - 2 * gaussian_gram(X, 0.7)[:, sphere.support_] @ sphere.dual_coef_[0] + sphere.squared_norm_[0]
    np.testing.assert_allclose(-sphere.score_samples(X), distance, atol=1e-10)


def test_a_hard_margin_is_the_limit_of_soft_ones_and_says_when_there_is_none():
    X, y = rings(40)
    hard = SVC(C=np.inf, gamma=5.0).fit(X, y)
    np.testing.assert_allclose(
        SVC(C=1e6, gamma=5.0).fit(X, y).decision_function(X), hard.decision_function(X), atol=1e-6
    )
    assert (y * hard.decision_function(X)).min() == pytest.approx(1.0, abs=1e-6)
    squared = SVC(C=1e8, gamma=5.0, loss="squared_hinge").fit(X, y)
    np.testing.assert_allclose(squared.decision_function(X), hard.decision_function(X), atol=1e-3)
    with pytest.raises(ValueError, match="cannot be separated"):
        SVC(C=np.inf, kernel="linear").fit(X, y)
    with pytest.raises(ValueError, match="cannot be separated"):
        SVC(C=np.inf).fit([[0.0], [0.0], [1.0]], [0, 1, 1])


def test_objects_of_any_kind_and_kernels_as_values():
    words = ["tea", "teapot", "pot", "coffee", "toffee", "coffees"]
    shared = [1, 1, 1, 0, 0, 0]

    def letters(A, B):
        return np.array([[float(len(set(a) & set(b))) for b in B] for a in A])

    assert SVC(kernel=letters, C=10.0).fit(words, shared).predict(["pots", "coffers"]).tolist() == [1, 0]
    X, y = rings()
    value, name = SVC(kernel=RBF(1.0)).fit(X, y), SVC(gamma=0.5).fit(X, y)
    np.testing.assert_allclose(value.decision_function(X), name.decision_function(X), atol=1e-8)
    sparse = SVC(gamma=0.5).fit(csr_array(X), y)
    np.testing.assert_allclose(sparse.decision_function(csr_array(X)), name.decision_function(X), atol=1e-8)


def test_odd_tables_get_an_answer_or_plain_words():
    X, y = rings(60)
    flat = SVC().fit(np.ones((6, 2)), [0, 0, 1, 1, 1, 1])
    assert np.isfinite(flat.decision_function(np.ones((1, 2)))).all()
    for scale in (1e-8, 1e8):
        same = SVC().fit(X * scale, y).decision_function(X * scale)
        np.testing.assert_allclose(same, SVC().fit(X, y).decision_function(X), atol=1e-8)
    with pytest.warns(ConvergenceWarning, match="scale the columns"):
        wide = SVC(kernel="linear", max_iter=20_000).fit(X * [1.0, 1e8], y)
    assert np.isfinite(wide.decision_function(X * [1.0, 1e8])).all()
    with pytest.raises(ValueError, match="two classes or more"):
        SVC().fit(X, np.ones(60))
    with pytest.raises(ValueError, match="'C' parameter"):
        SVC(C=0.0).fit(X, y)
    with pytest.raises(ValueError, match="symmetric"):
        SVC(kernel="precomputed").fit(np.arange(9.0).reshape(3, 3), [0, 1, 1])
    with pytest.raises(ValueError, match="square"):
        SVC(kernel="precomputed").fit(np.ones((3, 2)), [0, 1, 1])
    with pytest.warns(UserWarning, match="not positive semidefinite"):
        SVC(kernel="precomputed").fit(-gaussian_gram(X, 1.0), y)


def test_probabilities_follow_the_answers_and_the_seed():
    X, y = rings(300)
    model = SVC(probability=True, random_state=0, gamma=0.7).fit(X, y)
    p, f = model.predict_proba(X)[:, 1], model.decision_function(X)
    assert (np.diff(p[np.argsort(f)]) >= 0).all() and 0.2 < p.mean() < 0.8
    again = SVC(probability=True, random_state=0, gamma=0.7).fit(X, y)
    np.testing.assert_array_equal(again.predict_proba(X), model.predict_proba(X))
    three = np.where(X[:, 0] > 1, 2, (y + 1) // 2)
    q = SVC(probability=True, random_state=0).fit(X, three).predict_proba(X)
    np.testing.assert_allclose(q.sum(axis=1), 1.0)
    assert (q.argmax(axis=1) == three).mean() > 0.8


def test_no_matrix_of_all_rows_is_asked_for():
    """Twenty thousand rows with a cache of 8 MiB: the matrix would take 1.6 GiB."""
    rng = np.random.RandomState(0)
    X = rng.normal(size=(20_000, 3))
    source = VectorRows.of(GaussianRule64(0.3), X, np.dtype(np.float32))
    cache = source.cached(8 * 2**20)
    assert cache.Q.nbytes <= 8 * 2**20 + 20_000 * 4
    with warnings.catch_warnings():
        warnings.simplefilter("ignore")
        model = SVC(cache_size=8, max_iter=300).fit(X, X[:, 0] > 0)
    assert model.n_iter_[0] == 300 and model.fit_status_ == 1


def test_machines_are_the_same_bytes_for_1_2_3_and_7_threads(monkeypatch):
    X, y = rings(3000, seed=5)
    targets = X[:, 0] + y
    found = []
    for threads in ("1", "2", "3", "7"):
        monkeypatch.setenv("OMP_NUM_THREADS", threads)
        fits = [SVC().fit(X, y), NuSVC(nu=0.3).fit(X, y), SVR().fit(X, targets), OneClassSVM(nu=0.2).fit(X)]
        found.append([(m.support_.tobytes(), m.dual_coef_.tobytes(), m.intercept_.tobytes()) for m in fits])
    assert found[1:] == found[:1] * 3
