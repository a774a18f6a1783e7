"""What the texts say of every kernel method: the trick, the representer theorem, model selection, objects as inputs."""

import numpy as np
import pytest
from numpy.lib.stride_tricks import sliding_window_view
from numpy.testing import assert_allclose, assert_array_equal
from scipy.optimize import minimize
from sklearn.feature_extraction.text import CountVectorizer
from sklearn.metrics.pairwise import euclidean_distances
from sklearn.model_selection import GridSearchCV

from fivefold.cluster import KMeans
from fivefold.cross_decomposition import CCA, KernelCCA
from fivefold.decomposition import KernelPCA
from fivefold.ensemble import StackingClassifier
from fivefold.kernel_ridge import KernelRidge
from fivefold.kernels import RBF, DistanceKernel, Linear, Sum
from fivefold.kernels.feature_space import polynomial_features
from fivefold.kernels.row_cache import MatrixRows
from fivefold.kernels.structured import SharedWords, SpectrumKernel
from fivefold.linear_model import LogisticRegression, Ridge
from fivefold.multiclass import OneVsRestClassifier
from fivefold.optim.dual.dual_polish import polish_multipliers
from fivefold.optim.dual.smo import minimise_dual
from fivefold.optim.losses.regression_losses import InsensitiveLoss
from fivefold.plot import kernel_map
from fivefold.preprocessing import PatchFeatures
from fivefold.svm import SVC, SVR, LinearSVC, mine_hard_negatives
from fivefold.svm.support.dual_problems import soft_margin
from fivefold.svm.support_report import support_report
from fivefold.theory import machine_capacities, vc_confidence

rng = np.random.default_rng(57)
X = rng.normal(size=(80, 3))
TWO = np.where(X[:, 0] + 0.4 * rng.normal(size=80) > 0, 1, -1)
VALUE = np.sin(X[:, 0]) + X[:, 1]
RING_X = rng.normal(size=(150, 2))
RING = np.where(np.square(RING_X).sum(axis=1) > 1.4, 1, -1)


def test_precomputed_kernels_and_distances_give_what_the_rows_give():
    """A-06: strings, words, windows of a series and pixels reach a method as a matrix, or as rows."""
    direct, matrix = SVC(kernel="linear").fit(X, TWO), SVC(kernel="precomputed").fit(X @ X.T, TWO)
    assert_allclose(matrix.decision_function(X @ X.T), direct.decision_function(X), atol=1e-6)
    D = euclidean_distances(X)
    by_distance = KernelRidge(0.1, kernel="precomputed").fit(np.exp(-(D**2) / 2), VALUE)
    assert_allclose(by_distance.predict(np.exp(-(D**2) / 2)), KernelRidge(0.1, kernel=RBF()).fit(X, VALUE).predict(X))
    series = np.sin(np.arange(120) / 4)
    windows, ahead = sliding_window_view(series, 6)[:-1], series[6:]
    assert Ridge(1e-6).fit(windows[:80], ahead[:80]).score(windows[80:], ahead[80:]) > 0.999
    texts = ["a cat sat", "the cat ran", "a dog ran", "dogs sat"] * 5
    bags = CountVectorizer(binary=True, stop_words="english").fit_transform(texts).toarray()
    assert_array_equal(SharedWords()(texts), bags @ bags.T)
    strings = SpectrumKernel(2)
    y = np.tile([0, 0, 1, 1], 5)
    assert SVC(kernel=strings).fit(texts, y).score(texts, y) == 1.0


def test_an_image_that_holds_a_template_answers_it_with_one():
    """A-12: seed, size and number of the templates decide the features."""
    images = rng.normal(size=(12, 36))
    model = PatchFeatures(8, patch_size=3, random_state=3).fit(images)
    image = np.zeros((6, 6))
    image[2:5, 1:4] = 5.0 + 2.0 * model.templates_[4]
    found = model.transform(image.reshape(1, -1))
    assert_allclose(found[0, 4], 1.0, rtol=1e-12)
    assert found.max() <= 1.0 + 1e-12
    assert_array_equal(
        found, PatchFeatures(8, patch_size=3, random_state=3).fit(images).transform(image.reshape(1, -1))
    )


def test_the_hinge_without_constraints_has_the_minimum_of_the_dual():
    """A-120, B-88, C-60: the value of the primal, the dual and a descent on the hinge itself are one."""
    machine = SVC(kernel="linear", C=0.7, tol=1e-10).fit(X, TWO)
    w, b = machine.coef_[0], machine.intercept_[0]

    def risk(at):
        return 0.5 * at[:3] @ at[:3] + 0.7 * np.maximum(0, 1 - TWO * (X @ at[:3] + at[3])).sum()

    value = risk(np.append(w, b))
    assert_allclose(-machine.objective_[0], value, rtol=1e-6)
    assert machine.duality_gap_[0] <= 1e-6 * value
    descent = minimize(risk, np.append(w, b) + 0.01, method="Nelder-Mead", options={"maxiter": 4000, "fatol": 1e-12})
    assert value <= descent.fun * (1 + 1e-6)
    hinge = LinearSVC(C=0.7, loss="hinge", intercept_scaling=1e3, tol=1e-8, max_iter=100_000, random_state=0).fit(
        X, TWO
    )
    assert_allclose(hinge.coef_[0], w, rtol=1e-2, atol=1e-3)


def test_a_search_over_a_logarithmic_grid_evaluates_every_combination():
    """A-134, E-263, E-264: thirteen values of C, and the grid of C and width, by validation accuracy."""
    prices = np.logspace(-6, 6, 13)
    one = GridSearchCV(SVC(gamma=0.5), {"C": prices}, cv=3).fit(RING_X, RING)
    assert len(one.cv_results_["params"]) == 13
    assert one.best_params_["C"] > 1e-4  # at 1e-6 every row is within the margin: it underfits
    grid = GridSearchCV(SVC(), {"C": prices[4:9:2], "gamma": [0.01, 0.1, 1.0]}, cv=3).fit(RING_X, RING)
    assert len(grid.cv_results_["params"]) == 9 and grid.best_score_ > 0.85


def test_norms_of_feature_maps_bound_each_other():
    """B-60: |phi|_inf <= |phi|_2 <= sqrt(D) |phi|_inf, as maxima over a sample."""
    F = polynomial_features(X, 2)
    two, largest = np.sqrt(np.square(F).sum(axis=1)).max(), np.abs(F).max()
    assert largest <= two <= np.sqrt(F.shape[1]) * largest
    assert_allclose(np.square(F).sum(axis=1), (1 + np.square(X).sum(axis=1)) ** 2)


def test_rows_of_three_kinds_make_the_weights_and_hard_negatives_are_told():
    """B-89, B-94, B-112: w = sum of C y x within the margin and alpha y x on it; |f|^2 = alpha'K alpha."""
    machine = SVC(kernel="linear", C=0.5, tol=1e-8).fit(X, TWO)
    report = support_report(machine, X, TWO)
    assert (report.answers[report.bound] <= 1 + 1e-4).all() and (report.multipliers[report.bound] == 0.5).all()
    assert_allclose(report.answers[report.unbound], 1.0, atol=1e-4)
    beyond = np.setdiff1d(np.arange(80), np.concatenate([report.bound, report.unbound]))
    assert (report.answers[beyond] >= 1 - 1e-4).all() and not report.multipliers[beyond].any()
    b = TWO * report.multipliers
    assert_allclose(b @ X, machine.coef_[0], rtol=1e-8)
    assert_allclose(machine.squared_norm_[0], b @ (X @ X.T) @ b, rtol=1e-8)
    negatives = report.bound[TWO[report.bound] < 0]
    assert len(negatives) and (machine.decision_function(X[negatives]) > -1 - 1e-4).all()


def test_coefficients_of_rows_are_slopes_of_their_losses():
    """B-94: ridge alpha = residual / lambda, logistic alpha = C y P(-y | x), and w lies in the span of the rows."""
    wide = rng.normal(size=(12, 30))
    y, labels = rng.normal(size=12), np.tile([-1, 1], 6)
    ridge = Ridge(0.8, fit_intercept=False).fit(wide, y)
    assert_allclose(wide.T @ ((y - wide @ ridge.coef_) / 0.8), ridge.coef_, rtol=1e-8)
    logistic = LogisticRegression(C=2.0, fit_intercept=False, tol=1e-12).fit(wide, labels)
    wrong = 1 / (1 + np.exp(labels * (wide @ logistic.coef_[0])))
    assert_allclose(2.0 * (labels * wrong) @ wide, logistic.coef_[0], rtol=1e-4, atol=1e-8)


def test_mined_negatives_give_the_machine_of_all_rows():
    """B-91."""
    draw = np.random.default_rng(3)
    rows = np.vstack([draw.normal(2.0, 1.0, (30, 2)), draw.normal(0.0, 1.0, (1500, 2))])
    y = np.repeat([1, 0], [30, 1500])
    found = mine_hard_negatives(SVC(gamma=0.5, C=2.0, tol=1e-6), rows, y, start=40)
    whole = SVC(gamma=0.5, C=2.0, tol=1e-6).fit(rows, y)
    assert found.reason == "converged" and len(found.rows) < 600 and found.history[0] == 40
    assert_allclose(found.machine.decision_function(rows), whole.decision_function(rows), atol=1e-3)
    with pytest.raises(ValueError, match="two classes; got 3"):
        mine_hard_negatives(SVC(), X, np.arange(80) % 3)


@pytest.mark.parametrize("kernel", ["linear", "poly"])
def test_the_trick_gives_the_answers_of_the_explicit_map(kernel):
    """C-142, D-299, D-314, D-315: by name, as a function, as a matrix and by its features."""
    options = {"degree": 2, "gamma": 1.0, "coef0": 1.0} if kernel == "poly" else {}
    F = polynomial_features(RING_X, 2) if kernel == "poly" else RING_X
    by_name = SVC(kernel=kernel, C=2.0, tol=1e-9, **options).fit(RING_X, RING)
    explicit = SVC(kernel="linear", C=2.0, tol=1e-9).fit(F, RING)
    K = F @ F.T
    matrix = SVC(kernel="precomputed", C=2.0, tol=1e-9).fit(K, RING)
    for other in (explicit.decision_function(F), matrix.decision_function(K)):
        assert_allclose(by_name.decision_function(RING_X), other, atol=1e-4)
    regression = KernelRidge(0.3, kernel=kernel, **options).fit(RING_X, RING)
    assert_allclose(regression.predict(RING_X), Ridge(0.3, fit_intercept=False).fit(F, RING).predict(F), atol=1e-8)
    components = np.abs(KernelPCA(2, kernel=kernel, **options).fit_transform(RING_X))
    assert_allclose(components, np.abs(KernelPCA(2, kernel="linear").fit_transform(F)), atol=1e-6)
    if kernel == "poly":  # concentric classes: a line separates them among the features
        assert by_name.score(RING_X, RING) > 0.97 > SVC(kernel="linear").fit(RING_X, RING).score(RING_X, RING)


def test_means_of_clusters_are_found_among_kernel_components():
    """C-142: k-means by kernels is k-means of kernel principal components; the linear kernel gives the plain one."""
    plain = KMeans(3, random_state=0, n_init=5).fit_predict(X)
    Z = KernelPCA(3, kernel="linear").fit_transform(X)
    assert len(set(zip(plain, KMeans(3, random_state=0, n_init=5).fit_predict(Z), strict=True))) == 3


def test_smoothness_is_told_from_capacity():
    """C-217: separable rows have no training error; a larger price gives a smaller margin and a larger dimension."""
    draw = np.random.default_rng(5)
    rows = np.vstack([draw.normal(-2, 0.5, (200, 2)), draw.normal(2, 0.5, (200, 2))])
    y = np.repeat([-1, 1], 200)
    machines = [SVC(kernel="linear", C=C).fit(rows, y) for C in (1e-3, 1.0, 1e3)] + [
        SVC(gamma=50.0, C=1e3).fit(rows, y)
    ]
    found = machine_capacities(machines, rows, y)
    assert found[2].risk == 0 and found[3].risk == 0
    assert found[0].margin >= found[1].margin >= found[2].margin > found[3].margin
    assert [c.dimension <= 3 for c in found] == [True, True, True, False]
    assert found[0].confidence <= found[3].confidence and "VC dimension at most" in str(found[3])
    assert found[2].bound == found[2].risk + vc_confidence(found[2].dimension, 400)
    assert np.isinf(vc_confidence(500, 400))


def test_the_margin_of_a_canonical_hyperplane_is_one_over_its_weights():
    """D-280: scaled so that the nearest row answers 1, with the same predictions."""
    rows = np.vstack([X[TWO > 0] + [3, 0, 0], X[TWO < 0] - [3, 0, 0]])
    y = np.sort(TWO)[::-1]
    machine = SVC(kernel="linear", C=np.inf).fit(rows, y)
    answers = y * machine.decision_function(rows)
    assert_allclose(answers.min(), 1.0, atol=1e-4)
    w, b = 7.0 * machine.coef_[0], 7.0 * machine.intercept_[0]  # any scale, then back
    rho = np.abs(rows @ w + b).min()
    assert_allclose(1 / np.linalg.norm(w / rho), support_report(machine, rows, y).geometric_margin, rtol=1e-4)
    assert_array_equal(np.sign(rows @ (w / rho) + b / rho), machine.predict(rows))


def test_errors_within_the_tube_cost_nothing():
    """D-302, E-296: zero inside, the distance beyond outside; a tube of width zero is the absolute error."""
    t, f = np.array([0.0, 0.0, 0.0, 0.0]), np.array([-2.0, -0.3, 0.4, 1.5])
    assert_allclose(InsensitiveLoss(0.5).value(t, f), [1.5, 0.0, 0.0, 1.0])
    assert_allclose(InsensitiveLoss(0.0).value(t, f), np.abs(f))


def test_kernel_regression_follows_a_sine():
    """D-324."""
    x = np.linspace(0, 6, 60)[:, None]
    model = SVR(C=100.0, epsilon=0.01, gamma=1.0).fit(x, np.sin(x[:, 0]))
    assert np.abs(model.predict(x + 0.03)[:-1] - np.sin(x[:-1, 0] + 0.03)).max() < 0.03


def test_words_in_common_are_products_of_binary_bags():
    """E-277."""
    chosen = ["cat", "dog", "sat"]
    bags = (
        CountVectorizer(vocabulary=chosen, binary=True).transform(["cat sat cat", "dog sat", "cat dog sat"]).toarray()
    )
    assert_array_equal(bags @ bags.T, [[2, 1, 2], [1, 2, 2], [2, 2, 3]])
    assert_array_equal(Linear()(bags.astype(float)), SharedWords(stop_words=[])(["cat sat", "dog sat", "cat dog sat"]))


def test_linear_kernels_give_plain_canonical_correlations():
    """E-308."""
    second = X @ rng.normal(size=(3, 2)) + 0.5 * rng.normal(size=(80, 2))
    ours = KernelCCA(2, kernel="linear", y_kernel="linear", alpha=1e-8).fit(X, second)
    theirs = CCA(2, max_iter=2000).fit(X, second)
    U, V = theirs.transform(X, second)
    expected = [abs(np.corrcoef(U[:, k], V[:, k])[0, 1]) for k in range(2)]
    A, B = ours.transform(X, second)
    assert_allclose([abs(np.corrcoef(A[:, k], B[:, k])[0, 1]) for k in range(2)], expected, rtol=1e-4)


def test_the_average_of_kernels_needs_no_weights():
    """E-287: equal weights give the sum of the parts' features."""
    parts = Sum(0.5 * RBF(0.5), 0.5 * Linear())
    machine = SVC(kernel=parts, C=2.0).fit(RING_X, RING)
    K = 0.5 * RBF(0.5)(RING_X) + 0.5 * RING_X @ RING_X.T
    assert_allclose(
        machine.decision_function(RING_X), SVC(kernel="precomputed", C=2.0).fit(K, RING).decision_function(K), atol=1e-3
    )


def test_one_machine_per_class_agrees_with_a_single_one_for_two():
    """E-289."""
    codes = np.digitize(X[:, 0], [-0.5, 0.5])
    each = OneVsRestClassifier(SVC(kernel="linear")).fit(X, codes)
    scores = np.column_stack([SVC(kernel="linear").fit(X, codes == k).decision_function(X) for k in range(3)])
    assert_array_equal(each.predict(X), scores.argmax(axis=1))
    assert_array_equal(OneVsRestClassifier(SVC()).fit(X, TWO).predict(X), SVC().fit(X, TWO).predict(X))


def test_a_softmax_layer_on_outputs_of_machines_gives_probabilities_like_platts():
    """E-294: trained on answers to rows that were left out, as in stacking."""
    layer = StackingClassifier([("svm", SVC())], LogisticRegression(C=1e6), cv=5).fit(X, TWO)
    platt = SVC(probability=True, random_state=0).fit(X, TWO)
    assert np.abs(layer.predict_proba(X) - platt.predict_proba(X)).mean() < 0.1
    codes = np.digitize(X[:, 0], [-0.5, 0.5])
    P = StackingClassifier([("svm", SVC())], LogisticRegression(C=1e6), cv=5).fit(X, codes).predict_proba(X)
    assert_allclose(P.sum(axis=1), 1.0)
    assert np.mean(P.argmax(axis=1) == codes) > 0.8


def test_a_step_in_two_multipliers_is_the_texts():
    """A-123: from zero two points reach 0.5, 0.5 with offset 0 in one step; the dual value never falls."""
    sign = np.array([-1.0, 1.0])
    found = minimise_dual(soft_margin(sign, 1.0, np.ones(2)), MatrixRows(np.outer(sign, sign)))
    assert_allclose(found.b, [-0.5, 0.5])
    assert found.steps == 1 and abs(found.offsets[0]) < 1e-12
    dual, K = soft_margin(TWO.astype(float), 1.0, np.ones(80)), RBF(1.0)(X)
    values = [minimise_dual(dual, MatrixRows(K), max_iter=steps).value for steps in (1, 4, 16, 64)]
    assert (np.diff(values) <= 1e-12).all()  # of the minimised form, minus the dual


def test_known_support_sets_leave_a_linear_system_for_the_others():
    """B-90: rows within the margin at C, critical ones from m_t = 1; wrong guesses are moved between the sets."""
    sign, K = TWO.astype(float), RBF(1.0)(X)
    dual = soft_margin(sign, 1.0, np.ones(80))
    exact = minimise_dual(dual, MatrixRows(K), tol=1e-10)
    b = exact.b.copy()
    free = np.flatnonzero((np.abs(b) > 1e-9) & (np.abs(b) < 1 - 1e-9))
    i, j = free[:2]
    shift = 0.3 * min(abs(b[i]), 1 - abs(b[i]), abs(b[j]), 1 - abs(b[j]))
    b[i], b[j] = b[i] + shift, b[j] - shift  # the sum stays zero
    found, f = polish_multipliers(dual, lambda rows: K[rows], b, dual.t - K @ b)
    assert_allclose(found, exact.b, atol=1e-9)
    answers = sign * (dual.t - f + exact.offsets[0])
    assert_allclose(answers[free], 1.0, atol=1e-8)


def test_a_map_shows_what_a_kernel_calls_similar():
    """E-311: rows by name, strings by a kernel of theirs; each axis says its share."""
    ax = kernel_map("rbf", RING_X, RING, gamma=0.5)
    shown = np.vstack([c.get_offsets() for c in ax.collections])
    assert_allclose(
        np.sort(shown[:, 0]), np.sort(KernelPCA(2, kernel="rbf", gamma=0.5).fit_transform(RING_X)[:, 0]), atol=1e-8
    )
    ax = kernel_map(SpectrumKernel(2).normalised(), ["abab", "baba", "xyxy", "yxyx"], ["a", "a", "x", "x"])
    a, x = (c.get_offsets()[:, 0] for c in ax.collections)
    assert np.sign(a).tolist() != np.sign(x).tolist() and "kernel component 1" in ax.get_xlabel()


def test_a_distance_of_objects_makes_a_kernel_of_them():
    """A-06."""
    kernel = DistanceKernel(lambda a, b: abs(len(a) - len(b)), scale=1.0)
    K = kernel(["a", "bb", "cccc"])
    assert_allclose(np.diag(K), 1.0)
    assert K[0, 1] > K[0, 2] > 0
