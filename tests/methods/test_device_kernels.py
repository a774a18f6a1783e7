"""Fused kernels give what torch's own functions give in float64; they run where torch sees a GPU."""

import numpy as np
import pytest

from fivefold.core.numerics.arrays import to_numpy


@pytest.fixture
def rows():
    """1000 rows of 5 columns about their mean on the device, with weights, codes and the same rows in float64."""
    torch = pytest.importorskip("torch")
    if not torch.cuda.is_available():
        pytest.skip("torch sees no GPU")
    made = torch.Generator().manual_seed(0)
    X, w = torch.randn(1000, 5, generator=made) + 1, torch.rand(1000, generator=made)
    codes, centre = torch.randint(3, (1000,), generator=made), X.mean(dim=0)
    return {"X": X, "w": w, "codes": codes, "centre": centre, "Z": (X - centre).double()}


def on_device(rows, *names):
    return [rows[name].cuda() for name in names]


def assert_close(found, wanted):
    found, wanted = np.asarray(found, dtype=np.float64), np.asarray(to_numpy(wanted), dtype=np.float64)
    np.testing.assert_allclose(found, wanted, rtol=2e-5, atol=2e-5 * np.abs(wanted).max())


@pytest.mark.may_skip("kernels need a GPU")
def test_products_of_columns(rows):
    from fivefold.core.numerics.gram_kernels import gram_sums

    Z, v = rows["Z"], rows["w"].double()
    found = gram_sums(*on_device(rows, "X", "w"))
    centre, level = found.centre, found.level
    np.testing.assert_allclose(centre, to_numpy(rows["X"][:64].double().mean(dim=0)), rtol=1e-6)
    Z, v = to_numpy(rows["X"].double()) - centre, to_numpy(v) - level
    assert_close(found.scatter, Z.T @ Z)
    assert_close(found.first, Z.sum(axis=0))
    assert_close(found.cross, v @ Z)
    assert_close([found.once, found.twice], [v.sum(), v @ v])
    assert not gram_sums(*on_device(rows, "X"), None).cross.any()


@pytest.mark.may_skip("kernels need a GPU")
def test_sums_by_group(rows):
    from fivefold.core.numerics.gram_kernels import group_sums

    X, codes, w = on_device(rows, "X", "codes", "w")
    for v in (w, None):
        members = to_numpy((rows["codes"][:, None] == np.arange(3)).double())
        members = members if v is None else members * to_numpy(rows["w"].double())[:, None]
        first, second, weight, centre = group_sums(X, codes, v, 3)
        Z = to_numpy(rows["X"].double()) - centre
        assert_close(first, members.T @ Z)
        assert_close(second, members.T @ Z**2)
        assert_close(weight, members.sum(axis=0))


@pytest.mark.may_skip("kernels need a GPU")
def test_scatters_by_group(rows):
    from fivefold.distributions.covariances.group_kernels import group_scatter_sums

    X, codes, w = on_device(rows, "X", "codes", "w")
    for v in (w, None):
        weight, first, second, centre = group_scatter_sums(X, codes, v, 4)  # the last group is empty
        share = np.ones(1000) if v is None else to_numpy(rows["w"].double())
        for k in range(4):
            mine = to_numpy(rows["codes"]) == k
            Z, s = to_numpy(rows["X"].double())[mine] - centre[k], share[mine]
            assert_close(weight[k], s.sum())
            assert_close(first[k], s @ Z)
            assert_close(second[k], (s[:, None] * Z).T @ Z)


@pytest.mark.may_skip("kernels need a GPU")
def test_a_step_of_diagonal_gaussians(rows):
    from fivefold.distributions.covariances.diagonal_kernels import diagonal_sums

    Z, M, P = rows["Z"], (rows["X"][:3] - rows["centre"]).double(), rows["X"][3:6].double() ** 2 + 0.1
    X, centre, w = on_device(rows, "X", "centre", "w")
    level = -0.5 * (M**2 * P).sum(dim=1)
    joint = -0.5 * ((Z[:, None] - M) ** 2 * P).sum(dim=2)
    for v in (w, None):
        slope, bend, levels = ((M * P).float().cuda(), (0.5 * P).float().cuda(), level.float().cuda())
        weight, first, second, value = diagonal_sums(X, centre, slope, bend, levels, v)
        s = 1 if v is None else rows["w"].double()[:, None]
        R = s * joint.softmax(dim=1)
        assert_close(weight, R.sum(dim=0))
        assert_close(first, R.T @ Z)
        assert_close(second, R.T @ Z**2)
        assert_close(value, float((s * joint.logsumexp(dim=1)[:, None]).sum()))


@pytest.mark.may_skip("kernels need a GPU")
@pytest.mark.parametrize("held", [4096, 1])
def test_nearest_centres_and_their_sums(rows, held, monkeypatch):
    from fivefold.spatial.centres import nearest_kernels

    monkeypatch.setattr(nearest_kernels, "MAX_SUMMED", held)
    C, Z = rows["X"][:7] - rows["centre"], rows["Z"]
    nearest = ((Z[:, None] - C.double()) ** 2).sum(dim=2).argmin(dim=1)
    X, w = on_device(rows, "X", "w")
    place = to_numpy(rows["centre"])
    labels, changed, sums = nearest_kernels.assign_and_sum(X, place, to_numpy(C), 0 * X[:, 0].int(), w)
    np.testing.assert_array_equal(to_numpy(labels), nearest)
    assert changed == int((nearest != 0).sum())
    if sums is not None:
        members = (nearest[:, None] == np.arange(7)).double()
        assert_close(sums[0], members.sum(dim=0))
        assert_close(sums[2], (members * rows["w"][:, None]).T @ Z)


@pytest.mark.may_skip("kernels need a GPU")
def test_softmax_losses(rows):
    from fivefold.optim.losses.likelihood_losses import SoftmaxLoss
    from fivefold.optim.losses.loss_kernels import softmax_sums

    Z, w, codes = to_numpy(rows["Z"]), to_numpy(rows["w"]).astype(np.float64), to_numpy(rows["codes"])
    W, b = rows["X"][:3], rows["w"][:3]
    eta = to_numpy(W).astype(np.float64) @ Z.T + to_numpy(b)[:, None]
    X, y, s = on_device(rows, "X", "codes", "w")
    total, G = softmax_sums(X, to_numpy(rows["centre"]), to_numpy(W), to_numpy(b), y, s)
    slope = w * SoftmaxLoss().slope(codes, eta)
    assert_close(total, w @ SoftmaxLoss().value(codes, eta))
    assert_close(G, np.column_stack([slope @ Z, slope.sum(axis=1)]))


@pytest.mark.may_skip("kernels need a GPU")
@pytest.mark.parametrize("kind", ["full", "tied", "diag", "spherical"])
def test_a_mixture_of_a_tensor_in_float32_is_that_of_the_array(rows, kind):
    from fivefold.mixture import GaussianMixture

    X, settings = to_numpy(rows["X"]).astype(np.float64), {"covariance_type": kind, "random_state": 0, "tol": 1e-2}
    wanted, found = GaussianMixture(3, **settings).fit(X), GaussianMixture(3, **settings).fit(rows["X"].cuda())
    np.testing.assert_allclose(to_numpy(found.means_), wanted.means_, atol=1e-3)
