"""Pairwise fields: every way to marginals against enumeration, builders, restoration, and the bar of the grid."""

import numpy as np
import pytest

from fivefold.graphical.fields.image_restoration import restore_image
from fivefold.graphical.fields.image_segmentation import segment_image
from fivefold.graphical.fields.pairwise_field import PairwiseField, grid_edges
from fivefold.graphical.fields.potentials import (
    flip_evidence,
    gaussian_evidence,
    potts,
    table_evidence,
    truncated_linear,
    truncated_quadratic,
)


def random_field(seed, n=5, edges=6):
    rng = np.random.RandomState(seed)
    cards = rng.randint(1, 4, size=n)
    pairs = [(i, j) for i in range(n) for j in range(n) if i < j]
    chosen = [pairs[k][:: rng.choice([1, -1])] for k in rng.permutation(len(pairs))[:edges]]
    tables = [rng.uniform(0.2, 2.0, (cards[i], cards[j])) for i, j in chosen]
    return PairwiseField([rng.uniform(0.2, 1.0, card) for card in cards], chosen, tables)


@pytest.mark.parametrize("seed", range(6))
def test_every_method_beside_enumeration(seed):
    field = random_field(seed)
    brute = field.marginals("brute_force")
    exact = field.marginals("exact")
    assert exact.log_partition == pytest.approx(brute.log_partition, abs=1e-9)
    for method, gap in (("exact", 1e-9), ("loopy", 0.1), ("gibbs", 0.05)):
        found = field.marginals(method, **({"draws": 4000} if method == "gibbs" else {}))
        for p, q in zip(found.marginals, brute.marginals, strict=True):
            np.testing.assert_allclose(p, q, atol=gap)
    assert field.marginals("mean_field").log_partition <= brute.log_partition
    states = np.stack(np.unravel_index(np.arange(int(field.cards.prod())), field.cards), axis=1)
    assert field.mode().log_score == pytest.approx(field.log_score(states).max())


def test_scaling_a_potential_changes_no_marginal_and_ones_decouple():
    field = random_field(3)
    evidence = [7.0 * np.exp(row) for row in field.flat.per_variable(field.flat.arrays.evidence)]
    ones = [np.ones(field.cards[e]) for e in field.edges]
    alone = PairwiseField(evidence, field.edges, ones)
    for p, row in zip(alone.marginals().marginals, evidence, strict=True):
        np.testing.assert_allclose(p, row / row.sum(), atol=1e-9)
    tables = [f.table * 3.0 for f in field.factors()[len(field) :]]
    scaled = PairwiseField(evidence, field.edges, tables)
    for p, q in zip(scaled.marginals("exact").marginals, field.marginals("exact").marginals, strict=True):
        np.testing.assert_allclose(p, q, atol=1e-9)


def test_a_chain_of_ten_thousand_is_solved_by_messages_in_three_passes():
    rng = np.random.RandomState(0)
    found = PairwiseField.chain(rng.uniform(0.1, 1.0, (10_000, 3)), potts(3, 2.0, 1.0)).marginals()
    assert (found.method, found.exact) == ("tree", True)
    assert found.report.passes <= 3
    assert np.isfinite(np.array(found.marginals)).all()


def test_a_forest_in_any_order_of_its_edges():
    rng = np.random.RandomState(1)
    edges = [(int(rng.randint(i)), i) for i in range(1, 200) if i % 50]
    edges = [edges[k] for k in rng.permutation(len(edges))]
    evidence = rng.uniform(0.1, 1.0, (200, 2))
    field = PairwiseField.tree(evidence, edges, [rng.uniform(0.2, 1.0, (2, 2)) for _ in edges])
    tree, exact = field.marginals("tree"), field.marginals("exact")
    assert tree.report.passes <= 3
    np.testing.assert_allclose(tree.marginals, exact.marginals, atol=1e-10)
    assert tree.log_partition == pytest.approx(exact.log_partition, abs=1e-8)


def noisy_picture(height, width, seed=0, sigma=0.7):
    rng = np.random.RandomState(seed)
    truth = np.zeros((height, width), dtype=int)
    truth[height // 4 : 3 * height // 4, width // 4 : 2 * width // 3] = 1
    truth[: height // 3, 2 * width // 3 :] = 2
    truth[2 * height // 3 :, : width // 5] = 3
    return truth, truth + rng.normal(0.0, sigma, truth.shape)


def test_a_grid_of_ten_thousand_pixels_and_four_labels_settles_in_under_fifty_passes():
    _, noisy = noisy_picture(100, 100)
    field = PairwiseField.grid(gaussian_evidence(noisy, range(4), 0.7), potts(4, 1.0, np.exp(-1.0)))
    assert field.cost.method == "loopy"
    found = field.marginals(tol=1e-6)
    assert found.report.converged
    assert found.report.passes < 50
    assert found.report.messages_sent == found.report.passes * 39_600


def test_a_restored_picture_has_fewer_wrong_pixels_and_knows_where_it_is_unsure():
    truth, noisy = noisy_picture(30, 40)
    plain = np.abs(noisy[..., None] - np.arange(4)).argmin(axis=-1)
    found = restore_image(noisy, range(4), 0.7, smoothness=1.5)
    wrong = found.labels != truth
    assert wrong.mean() < 0.2 * (plain != truth).mean()
    assert found.entropy[wrong].mean() > 4 * found.entropy[~wrong].mean()
    assert ((found.mean_image - truth) ** 2).mean() <= ((found.image - truth) ** 2).mean()
    holes = noisy.copy()
    holes[10:12, 15:20] = np.nan
    assert (restore_image(holes, range(4), 0.7, smoothness=1.5).labels[10:12, 15:20] == 1).all()
    flipped = np.where(np.random.RandomState(1).uniform(size=truth.shape) < 0.1, 1 - (truth == 1), truth == 1)
    black = restore_image(flipped, [0, 1], 0.1, noise_model="flip", smoothness=1.0)
    assert (black.labels != (truth == 1)).mean() < 0.03
    stairs = restore_image(noisy, range(4), 0.7, smoothness=1.0, most=2.0, method="mean_field")
    assert (stairs.labels != truth).mean() < 0.1


def test_a_larger_weight_gives_fewer_segments():
    _, noisy = noisy_picture(16, 16, sigma=0.3)
    picture = 40 * noisy
    counts = [segment_image(picture, weight, levels=np.arange(-40.0, 170.0, 10.0)) for weight in (0.0, 300.0, 3000.0)]
    assert [found.segments.max() + 1 for found in counts] == sorted(
        (f.segments.max() + 1 for f in counts), reverse=True
    )
    small = picture[:3, :3]
    levels = np.arange(0.0, 130.0, 40.0)
    exact = segment_image(small, 200.0, levels=levels, method="exact")
    assert exact.energy <= segment_image(small, 200.0, levels=levels).energy
    assert exact.energy <= segment_image(small, 200.0, levels=levels, method="modes").energy


def test_the_posterior_of_a_cause_from_tests_is_bayes_rule():
    """A disease with prior 0.01 and three tests, of which two were positive."""
    sensitivity, specificity, outcomes = np.array([0.9, 0.8, 0.7]), np.array([0.95, 0.9, 0.99]), np.array([1, 1, 0])
    given_ill = np.where(outcomes == 1, sensitivity, 1 - sensitivity)
    given_well = np.where(outcomes == 1, 1 - specificity, specificity)
    weights = np.array([0.99 * given_well.prod(), 0.01 * given_ill.prod()])
    tables = [np.array([[s, 1 - s], [1 - t, t]]) for s, t in zip(specificity, sensitivity, strict=True)]
    field = PairwiseField([[0.99, 0.01], *np.eye(2)[outcomes]], [(0, 1), (0, 2), (0, 3)], tables)
    for method in ("brute_force", "tree", "exact"):
        np.testing.assert_allclose(field.marginals(method).marginals[0], weights / weights.sum(), atol=1e-12)


def test_potentials():
    np.testing.assert_allclose(gaussian_evidence([1.0], [0.0, 1.0, 3.0], 2.0)[0], np.exp([-1 / 8, 0, -0.5]))
    assert (gaussian_evidence([1e6], [0.0, 1.0], 0.1) == [[0.0, 1.0]]).all()  # far from both: the nearer one
    np.testing.assert_allclose(flip_evidence([2], 0.3, 4), [[0.1, 0.1, 0.7, 0.1]])
    np.testing.assert_allclose(table_evidence([[1]], [[0.2, 0.8], [0.6, 0.4]]), [[[0.8, 0.4]]])
    np.testing.assert_allclose(-np.log(truncated_linear(4, 0.5, 1.0))[0], [0, 0.5, 1, 1])
    np.testing.assert_allclose(-np.log(truncated_quadratic(4, 0.5, 3.0))[0], [0, 0.5, 2, 3])


def test_neighbours_of_pixels():
    assert len(grid_edges(3, 4)) == 3 * 3 + 2 * 4
    assert len(grid_edges(3, 4, 8)) == len(grid_edges(3, 4)) + len(grid_edges(3, 4, "diagonal"))
    assert len(grid_edges(1, 1)) == 0


@pytest.mark.parametrize(
    ("call", "words"),
    [
        (lambda: PairwiseField([[1, 1]], [(0, 0)], potts(2, 1, 1)), "with itself"),
        (lambda: PairwiseField(np.ones((2, 2)), [(0, 2)], potts(2, 1, 1)), "numbered from 0 to 1"),
        (lambda: PairwiseField(np.ones((2, 2)), [(0, 1), (1, 0)], potts(2, 1, 1)), "same variables"),
        (lambda: PairwiseField(np.ones((2, 2)), [(0, 1)], potts(3, 1, 1)), r"edge \(0, 1\)"),
        (lambda: PairwiseField(np.ones((3, 2)), [(0, 1), (1, 2)], [potts(2, 1, 1)]), "2 edges, but 1 tables"),
        (lambda: PairwiseField([], np.empty((0, 2)), potts(2, 1, 1)), "at least one variable"),
        (lambda: PairwiseField(-np.ones((2, 2)), [(0, 1)], potts(2, 1, 1)), "zero or positive"),
        (lambda: PairwiseField.tree(np.ones((3, 2)), [(0, 1), (1, 2), (0, 2)], potts(2, 1, 1)), "cycle"),
        (lambda: PairwiseField(np.zeros((2, 2)), [(0, 1)], potts(2, 1, 1)).marginals("loopy"), "none of its states"),
        (lambda: random_field(0).marginals("best"), "one of auto"),
        (lambda: random_field(0).marginals("tree"), "cycle"),
        (lambda: restore_image([1.0], [0, 1], 1.0), "height, width"),
        (lambda: restore_image([[0.5]], [0, 1], 0.1, noise_model="flip"), "one of the levels"),
        (lambda: restore_image([[0.5]], [1, 0], 0.1), "rising"),
        (lambda: segment_image([[1.0]], -1.0), "weight"),
        (lambda: gaussian_evidence([0.0], [0.0], 0.0), "sigma"),
        (lambda: table_evidence([5], [[1.0, 0.0]]), "0 to 1"),
        (lambda: grid_edges(2, 2, 5), "neighbours"),
    ],
)
def test_refusals_say_what_is_wrong(call, words):
    with pytest.raises(ValueError, match=words):
        call()
