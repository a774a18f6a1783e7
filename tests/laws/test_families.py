"""What every family of distributions must satisfy. Families, and tables they fit, are found by walking the package."""

import io
import pickle

import numpy as np
import pytest
from family_tables import CASES, EVERYWHERE, K, anywhere, assert_same, groups, leaves, over_families, precision, weights

from fivefold.core.storage import model_files
from fivefold.distributions.family import ExponentialForm, GroupWeights
from fivefold.distributions.maximum_likelihood import log_likelihood


def fitted(family, X):
    return family.fit(family.stats(X, weights(len(X))))


def subtracts(case):
    family, X = case.values
    stats = family.stats(X, np.ones((len(X), 1)))
    try:
        stats - stats
    except TypeError:  # a range does not shrink when a row is taken out
        return False
    return True


@anywhere
def test_statistics_of_the_parts_add_up_to_those_of_the_whole(family, X):
    for R in (weights(len(X)), groups(len(X))):
        parts = family.stats(X[:70], R[:70]) + family.stats(X[70:], R[70:])
        assert_same(parts, family.stats(X, R), precision(X))


@pytest.mark.parametrize(("family", "X"), [case for case in EVERYWHERE if subtracts(case)])
def test_the_whole_minus_a_part_is_the_rest(family, X):
    R = weights(len(X))
    rest = family.stats(X, R) - family.stats(X[:40], R[:40])
    # a difference of sums has the rounding error of the sums, which here are a fifth larger than it is
    assert_same(rest, family.stats(X[40:], R[40:]), 10 * precision(X))


@anywhere
def test_scaling_statistics_is_repeating_rows(family, X):
    R = weights(len(X))
    repeated = family.stats(np.tile(X, (3, 1)), np.tile(R, (3, 1)))
    assert_same(3 * family.stats(X, R), repeated, precision(X))
    assert_same(family.stats(X, R) * 3, repeated, precision(X))


@anywhere
def test_weights_mean_repetition(family, X):
    times = np.random.RandomState(3).randint(0, 4, len(X))
    codes = np.arange(len(X)) % K
    repeated = GroupWeights(np.repeat(codes, times), np.ones(times.sum()), K)
    found = family.stats(X, GroupWeights(codes, times.astype(float), K))
    assert_same(found, family.stats(np.repeat(X, times, axis=0), repeated), precision(X))


@anywhere
def test_groups_are_one_hot_weights(family, X):
    R = groups(len(X))
    assert_same(family.stats(X, R), family.stats(X, R.to_matrix()), precision(X))


@anywhere
def test_rows_and_members_without_weight_change_nothing(family, X):
    R = weights(len(X))
    R[50:] = 0
    assert_same(family.stats(X, R), family.stats(X[:50], R[:50]), precision(X))
    R = weights(len(X))
    nothing = family.stats(X, 0 * R)
    assert (nothing.weight == 0).all()
    assert_same(family.stats(X, R) + nothing, family.stats(X, R), precision(X))
    assert_same(nothing + family.stats(X, R), family.stats(X, R), precision(X))


@over_families
def test_members_of_no_weight_do_not_disturb_the_others(family, X):
    R = weights(len(X))
    with_empty, without = (family.stats(X, np.hstack([R, column])) for column in (0 * R[:, :1], R[:, :0]))
    for (path, a), (_, b) in zip(leaves(with_empty), leaves(without), strict=True):
        np.testing.assert_allclose(a[:K], b, rtol=1e-12, atol=1e-12 * np.abs(b).max(initial=0.0), err_msg=path)


def has_free_entries(X):
    """No entry is determined by the others of its row, as the last count of a multinomial row is, or the last share."""
    return np.ptp(X.sum(axis=1)) > 1e-9


def mass(members, X, rng, n=20_000):
    """Total probability of member 0, with the standard error of the estimate.

    Tables of whole numbers: the sum over the rows that turn up in a sample; what it leaves out is about the share of
    rows that turned up once (Good 1953). Others: importance sampling from a normal distribution twice as wide. Of
    shares, which sum to one, all columns but the last; of angles one turn.
    """
    sample = members.sample(np.zeros(n, dtype=int), rng)
    if (np.round(X) == X).all():
        seen, times = np.unique(sample, axis=0, return_counts=True)
        once = (times == 1).sum()
        return np.exp(members.log_prob(seen)[:, 0]).sum() + once / n, np.sqrt(2 * once + 1) / n
    shares = not has_free_entries(X)
    sample = sample[:, :-1] if shares else sample
    mean, spread = sample.mean(axis=0), 2 * sample.std(axis=0)
    E = rng.standard_normal(sample.shape)
    proposal = -0.5 * (E**2).sum(axis=1) - np.log(spread).sum() - 0.5 * E.shape[1] * np.log(2 * np.pi)
    rows = mean + spread * E
    log_prob = members.log_prob(np.column_stack([rows, 1 - rows.sum(axis=1)]) if shares else rows)[:, 0]
    ratio = np.exp(log_prob - proposal) * (np.abs(spread * E) <= members.period / 2).all(axis=1)
    return ratio.mean(), ratio.std() / np.sqrt(n)


@over_families
def test_probability_sums_to_one(family, X):
    total, error = mass(fitted(family, X), X, np.random.RandomState(4))
    assert abs(total - 1) < 4 * error + 1e-9
    assert error < 0.05


@over_families
def test_samples_come_from_the_members(family, X):
    """Members fitted anew to a sample are likelier than those it was drawn from by half a chi-square variable."""
    members, n = fitted(family, X), 6000
    which = np.random.RandomState(5).randint(0, K, n)
    sample = members.sample(which, np.random.RandomState(6))
    R = GroupWeights(which, np.ones(n), K)
    gain = (
        2 * (log_likelihood(family.fit(family.stats(sample, R)), sample, R) - log_likelihood(members, sample, R)).sum()
    )
    p = members.n_parameters
    assert -1e-6 < gain < p + 6 * np.sqrt(2 * p)  # mean p, variance 2 p


@over_families
def test_expected_is_the_log_likelihood_up_to_a_constant(family, X):
    R = weights(len(X))
    stats, gaps = family.stats(X, R), []
    for seed in (1, 7):
        members = family.fit(family.stats(X, weights(len(X), seed)))
        gaps.append(log_likelihood(members, X, R) - members.expected_log_prob(stats))
    np.testing.assert_allclose(gaps[0], gaps[1], rtol=1e-9, atol=1e-8)


@over_families
def test_the_fit_is_the_maximum_of_the_likelihood(family, X):
    R = weights(len(X))
    stats = family.stats(X, R)
    best = family.fit(stats).expected_log_prob(stats).sum()
    for seed in range(20):
        for size in (0.01, 0.3):  # near and far from the maximum
            other = family.fit(family.stats(X, R * (1 + size * weights(len(X), seed))))
            assert other.expected_log_prob(stats).sum() <= best + 1e-9 * abs(best)


@over_families
def test_a_prior_is_pseudo_statistics(family, X):
    R = weights(len(X))
    stats, prior = family.stats(X, R), 0.2 * family.stats(X[::3], R[::3])
    with_prior = family.fit(stats, prior)
    np.testing.assert_allclose(with_prior.log_prob(X), family.fit(stats + prior).log_prob(X), rtol=1e-12)
    best = (with_prior.expected_log_prob(stats) + with_prior.expected_log_prob(prior)).sum()
    for seed in range(10):
        other = family.fit(family.stats(X, R * (1 + 0.1 * weights(len(X), seed))))
        assert (other.expected_log_prob(stats) + other.expected_log_prob(prior)).sum() <= best + 1e-9 * abs(best)


@anywhere
def test_blocks_of_columns_give_the_same_as_tables(family, X):
    R, members = weights(len(X)), fitted(family, X)
    accumulator = family.accumulator(members)
    for rows in (slice(0, 130), slice(130, 131), slice(131, None)):  # whole lanes, one point, and the rest
        accumulator.add(np.ascontiguousarray(X[rows].T), np.ascontiguousarray(R[rows].T))
    assert_same(accumulator.stats(), family.stats(X, R), precision(X))
    shift = np.array([0.5, -1.0, 2.0])
    found = members.log_prob_columns(np.ascontiguousarray(X.T), shift, np.empty((K, len(X))))
    np.testing.assert_allclose(found.T, members.log_prob(X) + shift, rtol=1e-10)


@over_families
def test_threads_do_not_change_a_byte(family, X, monkeypatch):
    X = np.tile(X, (30_000 // len(X), 1))  # several parts
    R, results = weights(len(X)), []
    for threads in ("1", "2", "3"):
        monkeypatch.setenv("OMP_NUM_THREADS", threads)
        stats = family.stats(X, R)
        values = stats, family.stats(X, groups(len(X))), family.fit(stats).log_prob(X)
        results.append([leaf.tobytes() for _, leaf in leaves(values)])
    assert results[0] == results[1] == results[2]


@pytest.mark.parametrize(("family", "X"), [case for case in CASES if has_free_entries(case.values[1])])
def test_a_missing_entry_is_integrated_out(family, X):
    members = fitted(family, X)
    for j in range(X.shape[1]):
        rows = X[:4].copy()
        rows[:, j] = np.nan
        if (X[:, j] == np.round(X[:, j])).all():
            drawn = members.sample(np.arange(6000) % K, np.random.RandomState(8))[:, j]
            grid, step, atol = np.arange(drawn.min(), drawn.max() + 1), 1.0, 1e-3  # what never turned up is left out
        else:
            spread = min(12 * X[:, j].std(), members.period / 2)
            grid, step = np.linspace(X[:, j].mean() - spread, X[:, j].mean() + spread, 4001, retstep=True)
            atol = step  # jumps of a density cost a step; smooth ones, by trapezia, far less
        filled = np.repeat(X[:4, None], len(grid), axis=1)
        filled[:, :, j] = grid
        whole = np.exp(members.log_prob(filled.reshape(-1, X.shape[1]))).reshape(4, len(grid), K).sum(axis=1) * step
        np.testing.assert_allclose(np.exp(members.log_prob(rows)), whole, rtol=1e-6 + atol)
    nothing = np.full((1, X.shape[1]), np.nan)
    np.testing.assert_allclose(members.log_prob(nothing), 0.0, atol=1e-12)


@over_families
def test_with_missing_entries_a_step_of_em_never_lowers_the_likelihood(family, X):
    R, members = weights(len(X)), fitted(family, X)
    holes = np.where(np.random.RandomState(9).uniform(size=X.shape) < 0.3, np.nan, X)
    path = [log_likelihood(members, holes, R).sum()]
    for _ in range(6):
        accumulator = family.accumulator(members)
        for rows in (slice(0, 150), slice(150, None)):
            accumulator.add(np.ascontiguousarray(holes[rows].T), np.ascontiguousarray(R[rows].T))
        members = family.fit(accumulator.stats())
        path.append(log_likelihood(members, holes, R).sum())
    assert (np.diff(path) >= -1e-9 * np.abs(path[0])).all()


@over_families
def test_single_precision_is_close_to_double(family, X):
    R, narrow = weights(len(X)), X.astype(np.float32)
    for weighted in (R, groups(len(X))):
        assert_same(family.stats(narrow, weighted), family.stats(X, weighted), 1e-5)  # the rows have seven digits
    members = fitted(family, X)
    np.testing.assert_allclose(members.log_prob(narrow), members.log_prob(X), rtol=1e-5, atol=1e-5)


@over_families
def test_families_members_and_statistics_survive_files(family, X):
    stats = family.stats(X, weights(len(X)))
    members = family.fit(stats)
    members.log_prob(X)  # what is kept for speed must not get in the way
    file = io.BytesIO()
    model_files.save((family, stats, members), file)
    file.seek(0)
    for family_, stats_, members_ in (model_files.load(file), pickle.loads(pickle.dumps((family, stats, members)))):
        assert family_ == family
        assert_same(stats_, stats, 0)
        assert (members_.log_prob(X) == members.log_prob(X)).all()
        assert_same(family_.stats(X, weights(len(X))), stats, 0)


@over_families
def test_parameters_are_counted(family, X):
    one, two = (family.fit(family.stats(X, R)).n_parameters for R in (weights(len(X))[:, :1], weights(len(X))[:, :2]))
    assert 0 < one < two <= 2 * one


@over_families
def test_tensors_give_what_arrays_give(family, X):
    import torch

    R, members = weights(len(X)), fitted(family, X)
    holes = np.where(np.random.RandomState(9).uniform(size=X.shape) < 0.2, np.nan, X)
    for dtype, rtol in ((torch.float64, 1e-9), (torch.float32, 2e-4)):  # sums of 300 rows of seven digits
        tensor = torch.tensor(X, dtype=dtype)
        for weighted in (R, torch.tensor(R, dtype=dtype)):
            assert_same(family.stats(tensor, weighted).to_host(), family.stats(X, R), rtol)
        codes = groups(len(X))
        on_device = GroupWeights(torch.tensor(codes.codes), torch.tensor(codes.weights, dtype=dtype), K)
        assert_same(family.stats(tensor, on_device).to_host(), family.stats(X, codes), rtol)
        for table in (X, holes):
            found = members.log_prob(torch.tensor(table, dtype=dtype))
            assert found.dtype == dtype
            np.testing.assert_allclose(found.numpy(), members.log_prob(table), rtol=rtol, atol=rtol)


EXPONENTIAL = [case for case in CASES if isinstance(fitted(*case.values), ExponentialForm)]
over_exponential = pytest.mark.parametrize(("family", "X"), EXPONENTIAL)


@over_exponential
def test_the_exponential_form_is_the_density(family, X):
    members = fitted(family, X)
    eta = members.natural_parameters
    form = members.log_base_measure(X)[:, None] + members.sufficient_statistics(X) @ eta.T - members.log_normaliser(eta)
    np.testing.assert_allclose(form, members.log_prob(X), rtol=1e-9, atol=1e-9)
    np.testing.assert_allclose(members.from_natural(eta).log_prob(X), members.log_prob(X), rtol=1e-9, atol=1e-9)


@over_exponential
def test_the_gradient_of_the_log_normaliser_is_the_mean_of_the_sufficient_statistic(family, X):
    members = fitted(family, X)
    eta, h = members.natural_parameters, 1e-6
    for j in range(eta.shape[1]):
        up, down = eta.copy(), eta.copy()
        up[:, j] += h
        down[:, j] -= h
        slope = (members.log_normaliser(up) - members.log_normaliser(down)) / (2 * h)
        # rounding of A, 1e-16, over h, 1e-6; curvature times h^2
        np.testing.assert_allclose(slope, members.mean_statistics[:, j], rtol=1e-5, atol=1e-6)


@over_exponential
def test_sufficient_statistics_of_samples_have_their_mean(family, X):
    members, n = fitted(family, X), 20_000
    for k in range(K):
        u = members.sufficient_statistics(members.sample(np.full(n, k), np.random.RandomState(10 + k)))
        # four standard errors, and five times as many components as would exceed it once by chance in ten runs
        assert (np.abs(u.mean(axis=0) - members.mean_statistics[k]) <= 4 * u.std(axis=0) / np.sqrt(n) + 1e-9).all()
