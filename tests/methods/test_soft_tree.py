"""Soft trees: what the laws over all methods cannot say."""

import numpy as np
import pytest
from oracles import soft_tree as oracle
from sklearn.datasets import load_iris, make_friedman1
from sklearn.exceptions import ConvergenceWarning

from fivefold.optim.derivative_checks import check_gradient
from fivefold.optim.design import Design
from fivefold.optim.losses.likelihood_losses import SoftmaxLoss
from fivefold.optim.losses.regression_losses import SquaredLoss
from fivefold.tree import DecisionTreeClassifier, DecisionTreeRegressor, SoftTreeClassifier, SoftTreeRegressor
from fivefold.tree.soft_trees.soft_base import SoftTree
from fivefold.tree.soft_trees.soft_growth import gates_from_tree
from fivefold.tree.soft_trees.soft_objective import Skeleton, SoftRisk

ONE_LEAF = Skeleton(np.empty((0, 2), dtype=np.int64))
SHAPES = {
    "one leaf": ONE_LEAF,
    "one gate": Skeleton.full(1),
    "full": Skeleton.full(3),
    "lopsided": ONE_LEAF.split_leaf(0).split_leaf(1).split_leaf(1).split_leaf(0).split_leaf(4),
}
LOSSES = {"classes": (SoftmaxLoss(), 3, oracle.log_loss), "numbers": (SquaredLoss(), 1, oracle.squared)}


def problem(shape, kind, n=40, d=3):
    rng = np.random.RandomState(1)
    loss, q, _ = LOSSES[kind]
    y = rng.randint(q, size=n) if q > 1 else rng.normal(size=n)
    risk = SoftRisk(SHAPES[shape], loss, Design(rng.normal(size=(n, d))), y, rng.uniform(0.5, 2, size=n), q, 0.3)
    return risk, rng.normal(size=risk.n_parameters)


def rotated(n, seed=0):
    """Classes in the four corners of a square that stands on its tip: no cut of a column helps, two oblique ones do."""
    X = np.random.RandomState(seed).uniform(-1, 1, size=(n, 2))
    return X, (X.sum(axis=1) > 0) ^ (X[:, 0] > X[:, 1])


def wave(n, seed=0, d=4):
    """A smooth step along an oblique direction."""
    X = np.random.RandomState(seed).normal(size=(n, d))
    return X, np.tanh(X @ np.linspace(1, 2, d))


@pytest.mark.parametrize("kind", LOSSES)
@pytest.mark.parametrize("shape", SHAPES)
def test_derivatives_equal_differences_of_the_objective(shape, kind):
    """E-113: trained by gradient. Central differences are good to about 1e-9."""
    assert check_gradient(*problem(shape, kind)).error < 1e-7


@pytest.mark.parametrize("kind", LOSSES)
@pytest.mark.parametrize("shape", SHAPES)
def test_the_objective_is_that_of_plain_recursion(shape, kind):
    risk, x = problem(shape, kind)
    A, V = risk.unpack(x)
    children = risk.skeleton.children.tolist()
    expected = oracle.objective(children, A, V, risk.design.X, risk.y, risk.s, risk.alpha, LOSSES[kind][2])
    assert risk.value(x) == pytest.approx(expected, rel=1e-12)  # rounding of some hundred terms


@pytest.mark.parametrize("kind", LOSSES)
def test_gradients_of_batches_have_the_gradient_as_their_mean(kind):
    risk, x = problem("full", kind)
    batches = [risk.batch(x, rows) for rows in np.arange(40).reshape(8, 5)]
    np.testing.assert_allclose(np.mean(batches, axis=0), risk.gradient(x), rtol=1e-10, atol=1e-12)


def test_a_lopsided_skeleton_has_the_depths_of_its_history():
    depths = SHAPES["lopsided"].depths
    assert depths[:5].tolist() == [0, 1, 2, 1, 2]  # gates, in the order they were made
    assert depths[5:].tolist() == [2, 3, 2, 3, 3, 3]


@pytest.mark.parametrize(
    "model",
    [
        SoftTreeClassifier(init="tree", n_init=1, random_state=0),
        SoftTreeRegressor(grow="incremental", alpha=0.01, random_state=0),
    ],
)
def test_answers_are_leaf_values_mixed_by_the_gates_of_their_paths(model):
    """E-113: the sum over leaves of the product of gates times the value; the shares of the leaves sum to one."""
    X, y = load_iris(return_X_y=True)
    model.fit(X, y)
    children = model.model_.skeleton.children.tolist()
    shares, said = model.gates(X[::10]), model.predict(X[::10])
    np.testing.assert_allclose(shares.sum(axis=1), 1, rtol=1e-14)
    assert (shares > 0).all() and model.get_n_leaves() == shares.shape[1] > 1
    for x, share, answer in zip(X[::10], shares, said, strict=True):
        tree = (children, model.gate_coef_, model.gate_intercept_)
        F = oracle.answer(*tree, model.leaf_values_, x)
        # gates are computed about the centre of the columns, here about zero: coefficients near 10 lose a digit
        assert answer == (F.argmax() if len(F) > 1 else pytest.approx(F[0], rel=1e-11, abs=1e-11))
        np.testing.assert_allclose(share, [s for _, s in sorted(oracle.paths(*tree, x))], rtol=1e-11, atol=1e-14)


def test_probabilities_are_the_softmax_of_the_mixed_scores():
    X, y = load_iris(return_X_y=True)
    model = SoftTreeClassifier(max_depth=2, random_state=0).fit(X, y)
    tree = (model.model_.skeleton.children.tolist(), model.gate_coef_, model.gate_intercept_, model.leaf_values_)
    F = np.array([oracle.answer(*tree, x) for x in X[::10]])
    expected = np.exp(F) / np.exp(F).sum(axis=1, keepdims=True)
    np.testing.assert_allclose(model.predict_proba(X[::10]), expected, rtol=1e-11)


def test_steep_gates_reproduce_the_hard_tree_of_classes():
    """E-113: steep gates reproduce the hard tree."""
    X, y = load_iris(return_X_y=True)
    hard = DecisionTreeClassifier(max_depth=4, min_samples_leaf=3, random_state=0).fit(X, y)
    centre, scale = X.mean(axis=0), X.std(axis=0)
    skeleton, A = gates_from_tree(hard.model_.tree, centre, scale)
    values = hard.model_.value[hard.model_.tree.leaves]
    soft = SoftTree(skeleton, A[:, :-1] / scale, A[:, -1], centre, values)
    np.testing.assert_allclose(soft.steeper(1e5).answers(X), hard.predict_proba(X), atol=1e-12)
    assert np.abs(soft.answers(X) - hard.predict_proba(X)).max() > 0.1
    blunt = [np.abs(soft.steeper(c).answers(X) - hard.predict_proba(X)).max() for c in (1, 10, 100, 1000)]
    assert blunt == sorted(blunt, reverse=True)


def test_steep_gates_reproduce_the_hard_tree_of_numbers_to_the_last_byte():
    X, y = make_friedman1(300, random_state=0)
    hard = DecisionTreeRegressor(max_depth=5, random_state=0).fit(X, y)
    skeleton, A = gates_from_tree(hard.model_.tree, np.zeros(10), np.ones(10))
    values = hard.model_.value[hard.model_.tree.leaves]
    soft = SoftTree(skeleton, A[:, :-1], A[:, -1], np.zeros(10), values, hard=True)
    np.testing.assert_array_equal(soft.answers(X)[:, 0], hard.predict(X))


def test_a_hardened_tree_sends_a_row_down_one_path_and_is_the_limit_of_steep_gates():
    X, y = rotated(500)
    model = SoftTreeClassifier(max_depth=2, random_state=0).fit(X, y)
    hard = model.hardened()
    shares = hard.gates(X)
    assert ((shares == 1).sum(axis=1) == 1).all()
    np.testing.assert_array_equal(shares.argmax(axis=1), model.model_.steeper(1e9).shares(X).argmax(axis=1))
    assert hard.score(X, y) > 0.95 and 0 < model.gates(X).max() < 1  # the model itself is as it was


def test_a_smooth_oblique_target_takes_two_leaves_where_no_hard_tree_of_any_size_is_as_good():
    """The best plain tree of 200 leaves errs more than ten times as much; a plain tree in its place fails."""
    X, y = wave(1000)
    U, v = wave(2000, seed=1)
    soft = SoftTreeRegressor(max_depth=1, alpha=0.1, random_state=0).fit(X, y)
    plain = [DecisionTreeRegressor(max_leaf_nodes=k, random_state=0).fit(X, y) for k in (2, 8, 30, 100, 200)]
    error = np.mean((soft.predict(U) - v) ** 2)
    assert soft.get_n_leaves() == 2
    assert 10 * error < min(np.mean((tree.predict(U) - v) ** 2) for tree in plain)


def test_a_smooth_target_gets_a_continuous_answer():
    """E-81: no jumps at the borders of leaves: along a fine line no step is larger than its share of the whole way."""
    X, y = wave(500)
    line = np.outer(np.linspace(-2, 2, 4001), np.ones(4))
    soft, plain = (
        SoftTreeRegressor(max_depth=2, random_state=0).fit(X, y),
        DecisionTreeRegressor(max_leaf_nodes=4, random_state=0).fit(X, y),
    )
    assert np.abs(np.diff(soft.predict(line))).max() < 0.02
    assert np.abs(np.diff(plain.predict(line))).max() > 0.2


def test_oblique_classes_take_four_leaves_where_a_hard_tree_takes_dozens():
    X, y = rotated(1000)
    U, v = rotated(4000, seed=1)
    soft = SoftTreeClassifier(max_depth=2, random_state=0).fit(X, y)
    plain = DecisionTreeClassifier(random_state=0).fit(X, y)
    assert soft.get_n_leaves() == 4 and plain.get_n_leaves() > 40
    assert 2 * (1 - soft.score(U, v)) < 1 - plain.score(U, v)


@pytest.mark.parametrize("fraction", [None, 0.3])
def test_growth_stops_at_the_leaves_that_pay(fraction):
    """One for noise by Schwarz's price, two for one oblique border, four for the square on its tip."""
    rng = np.random.RandomState(0)
    X, y = rotated(600)
    model = SoftTreeClassifier(
        grow="incremental", max_depth=4, n_init=2, alpha=0.1, validation_fraction=fraction, random_state=0
    )
    assert model.fit(X, y).get_n_leaves() in ((4,) if fraction is None else (4, 5))
    assert model.score(X, y) > 0.97
    one = model.fit(X, X.sum(axis=1) + 0.1 * rng.normal(size=600) > 0)
    assert one.get_n_leaves() in ((2,) if fraction is None else (2, 3))
    if fraction is None:
        assert model.fit(X, rng.randint(2, size=600)).get_n_leaves() == 1


def test_growth_of_numbers_divides_where_the_surface_bends():
    X, y = wave(600)
    grown = SoftTreeRegressor(grow="incremental", max_depth=3, alpha=0.1, random_state=0).fit(X, y)
    assert grown.get_n_leaves() <= 4 and grown.score(X, y) > 0.99
    noise = np.random.RandomState(0).normal(size=600)
    assert SoftTreeRegressor(grow="incremental", random_state=0).fit(X, noise).get_n_leaves() == 1


def test_more_starts_end_no_higher():
    X, y = rotated(400)
    ends = [
        SoftTreeClassifier(max_depth=2, init="random", n_init=k, random_state=3).fit(X, y).history_[-1]
        for k in (1, 4, 8)
    ]
    assert ends == sorted(ends, reverse=True)


def test_a_large_penalty_makes_gates_soft_and_answers_alike():
    X, y = rotated(400)
    sizes = [
        np.abs(SoftTreeClassifier(alpha=a, random_state=0).fit(X, y).gate_coef_).max() for a in (0.01, 1.0, 1000.0)
    ]
    assert sizes[0] > sizes[1] > 10 * sizes[2]


def test_weights_and_repetition_give_the_same_bytes_in_any_order():
    """Rows are put in an order of their own and copies merged, so a descent into one of many minima cannot differ."""
    X, y = rotated(200)
    rng = np.random.RandomState(0)
    w, order = rng.randint(1, 4, size=200), rng.permutation(200)
    weighted = SoftTreeClassifier(random_state=0).fit(X[order], y[order], sample_weight=w[order])
    repeated = SoftTreeClassifier(random_state=0).fit(X.repeat(w, axis=0), y.repeat(w))
    np.testing.assert_array_equal(weighted.predict_proba(X), repeated.predict_proba(X))


def test_units_of_the_columns_and_of_the_target_do_not_matter():
    """From the cuts of a hard tree it is the same descent, but for rounding, which its steps may blow up a little."""
    X, y = wave(300)
    model, Z = SoftTreeRegressor(init="tree", n_init=1, random_state=0), X * [1e-3, 1, 1e3, 7] + 5
    plain = model.fit(X, y).predict(X)
    np.testing.assert_allclose((model.fit(Z, 1e4 * y - 1).predict(Z) + 1) / 1e4, plain, atol=1e-3)


def test_adam_in_batches_comes_near_what_lbfgs_finds():
    X, y = rotated(600)
    near = SoftTreeClassifier(max_depth=2, solver="adam", max_iter=300, learning_rate=0.05, random_state=0).fit(X, y)
    best = SoftTreeClassifier(max_depth=2, random_state=0).fit(X, y)
    assert near.history_[-1] < 1.1 * best.history_[-1] < 0.5 * near.history_[0]


def test_too_few_passes_are_reported_with_the_derivative_that_is_left():
    X, y = rotated(200)
    with pytest.warns(ConvergenceWarning, match=r"2 passes were not enough for tol=0.0001.*Raise max_iter"):
        SoftTreeClassifier(max_iter=2, random_state=0).fit(X, y)


def test_a_picture_of_gates_has_their_lines_where_the_gates_are_one_half():
    import matplotlib

    matplotlib.use("Agg")
    from matplotlib import pyplot as plt

    from fivefold import plot

    X, y = rotated(300)
    model = SoftTreeClassifier(max_depth=1, random_state=0).fit(X, X[:, 0] > X[:, 1])
    ax = plot.soft_gates(model, X, y)
    halves = [c for c in ax.collections if getattr(c, "levels", None) is not None and list(c.levels) == [0.5]]
    ends = np.concatenate([path.vertices for c in halves for path in c.get_paths()])
    eta = ends @ model.gate_coef_[0] + model.gate_intercept_[0]
    assert len(ends) > 10
    assert np.abs(eta).max() < 0.05  # the grid interpolates a sigmoid
    with pytest.raises(ValueError, match="two columns; X has 3"):
        plot.soft_gates(model, np.zeros((2, 3)))
    plot.soft_gates(SoftTreeRegressor(random_state=0).fit(X, X[:, 0]), X)
    plt.close("all")
