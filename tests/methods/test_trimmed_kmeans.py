"""Trimmed k-means and images by codebooks: what the laws cannot say."""

import numpy as np
import pytest
from numpy.testing import assert_allclose, assert_array_equal
from oracles import graph_clusters as oracle

from fivefold.cluster import KMeans, TrimmedKMeans, quantize_image
from fivefold.spatial.centres.trimmed_means import trimmed_weights

RNG = np.random.RandomState(0)
GROUPS = np.concatenate([RNG.normal(0, 1, (60, 2)), RNG.normal(12, 1, (60, 2))])
FAR = RNG.uniform(-200, 200, (12, 2)) + 300


def test_outliers_have_no_weight_and_drag_no_centre():
    X = np.concatenate([GROUPS, FAR])
    model = TrimmedKMeans(2, trim=12 / 132, random_state=0).fit(X)
    assert_array_equal(np.flatnonzero(model.labels_ < 0), np.arange(120, 132))
    centres = model.cluster_centers_[np.argsort(model.cluster_centers_[:, 0])]
    assert_allclose(centres, [GROUPS[:60].mean(axis=0), GROUPS[60:].mean(axis=0)], rtol=1e-9)
    assert model.predict(FAR).max() == -1 and np.isnan(model.decode(model.predict(FAR))).all()
    dragged = KMeans(2, random_state=0).fit(X).cluster_centers_
    assert np.abs(dragged - centres).max() > 50


@pytest.mark.parametrize("seed", range(4))
def test_the_best_of_several_runs_is_the_best_of_all_pairs_of_groups_and_rows_left_out(seed):
    X = np.random.RandomState(seed).normal(size=(9, 2))
    model = TrimmedKMeans(2, trim=2 / 9, n_init=60, random_state=0).fit(X)
    assert model.inertia_ == pytest.approx(oracle.best_trimmed_pair(X, 7))


def test_without_trimming_it_is_kmeans_from_the_same_start():
    start = GROUPS[[3, 70, 90]]
    ours, plain = (
        TrimmedKMeans(3, trim=0.0, init=start, random_state=0).fit(GROUPS),
        KMeans(3, init=start, random_state=0).fit(GROUPS),
    )
    assert_allclose(ours.cluster_centers_, plain.cluster_centers_, rtol=1e-6)
    assert_array_equal(ours.labels_, plain.labels_)


def test_the_weight_that_is_left_out_is_exact_and_rows_at_the_edge_share_it():
    v, edge = trimmed_weights(np.array([1.0, 4.0, 4.0, 9.0]), np.array([1.0, 2.0, 1.0, 1.0]), 0.4)
    assert_allclose(v, [1.0, 4 / 3, 2 / 3, 0.0])
    assert edge == 4.0


@pytest.mark.parametrize("trim", [0.0, 0.1, 0.35])
def test_no_step_raises_the_sum(trim):
    values = []
    for steps in range(1, 9):
        model = TrimmedKMeans(4, trim=trim, init=GROUPS[:4], max_iter=steps, tol=0.0, random_state=0).fit(GROUPS)
        values.append(model.inertia_)
    assert (np.diff(values) <= 1e-9 * values[0]).all()


def picture():
    i, j = np.mgrid[0:30, 0:41]
    return np.stack([6 * i, 5 * j, (i + j) % 3 * 80], axis=2).astype(np.uint8)


@pytest.mark.parametrize("block", [1, 2, (3, 4)])
def test_more_codes_cost_more_bits_and_lose_less(block):
    made = [quantize_image(picture(), k, block=block, random_state=0) for k in (2, 8, 32)]
    assert [image.image.shape for image in made] == [(30, 41, 3)] * 3 and made[0].image.dtype == np.uint8
    assert made[0].psnr < made[1].psnr < made[2].psnr
    assert made[0].bits < made[1].bits < made[2].bits
    for image in made:
        assert image.distortion == pytest.approx(np.square(image.image.astype(float) - picture()).mean())
        assert image.entropy <= np.log2(len(image.codebook)) + 1e-12


def test_as_many_codes_as_colours_lose_nothing():
    grey = np.array([[0.0, 0.5, 1.0], [1.0, 0.5, 0.0]])
    same = quantize_image(grey, 6, random_state=0)
    assert_allclose(same.image, grey, atol=1e-15)
    assert len(same.codebook) == 3 and same.psnr > 200


def test_images_that_are_none_are_refused():
    for wrong, words in ((np.zeros(4), "shape"), (np.full((2, 2), np.nan), "finite"), (np.zeros((0, 3)), "shape")):
        with pytest.raises(ValueError, match=f"quantize_image: image has .*{words}"):
            quantize_image(wrong, random_state=0)
    with pytest.raises(ValueError, match="block=5 does not fit"):
        quantize_image(np.zeros((3, 3)), 2, block=5, random_state=0)
    with pytest.raises(ValueError, match="n_colors=9, but the image has 4 blocks"):
        quantize_image(np.zeros((2, 2)), 9, random_state=0)
