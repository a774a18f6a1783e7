"""What the comparison with the best must satisfy: it keeps its level, is fair, and never calls a trifle worse."""

import numpy as np
import pytest
from numpy.testing import assert_allclose, assert_array_equal
from oracles.simultaneous import bootstrap_maxima
from scipy import stats

from fivefold.evaluation.comparison import RowLosses, compare_with_best, corrected_resampled_t
from fivefold.evaluation.comparison import resampling_units as units
from fivefold.evaluation.comparison.simultaneous import (
    NORMAL_DRAWS,
    TAIL_SHARE,
    Difference,
    all_pairs_of,
    pairs_between,
    row_differences,
    split_differences,
)
from fivefold.evaluation.comparison.with_best import comparison_families, decide
from fivefold.evaluation.experiments.rejection_rates import SimulationDesign
from fivefold.evaluation.experiments.verdict_rates import LOSSES, verdict_rates

ALPHA = 0.05


def everyone(K):
    return np.ones(K, dtype=bool)


def first(K):
    return np.arange(K) == 0


def three_errors(rate, count):
    """Three standard errors of a share."""
    return 3 * np.sqrt(rate * (1 - rate) / count)


class TestSplits:
    def test_two_learners_have_the_p_value_of_the_corrected_resampled_t(self):
        """With one pair nothing is adjusted; the simulation leaves three of its standard errors."""
        rng = np.random.default_rng(0)
        for shift in (0.0, 0.01, 0.02, 0.03):
            losses = rng.normal(0.3, 0.05, (10, 1)) + rng.normal([0.0, shift], 0.015, (10, 2))
            (found,) = split_differences(losses, 0.25, [all_pairs_of(everyone(2))])
            one = found.difference(1, 0)
            if one.estimate <= 0:
                assert one.p_value == 1.0
                continue
            expected = corrected_resampled_t(losses[:, 1], losses[:, 0], 4, 1)
            assert one.estimate == pytest.approx(expected.estimate, rel=1e-12)
            assert abs(one.p_value - expected.p_value) <= three_errors(expected.p_value, NORMAL_DRAWS) + 1e-4
            assert_allclose([one.low, one.high], expected.interval, atol=0.02 * expected.interval[1])

    @pytest.mark.parametrize("K", [3, 4, 10])
    def test_on_many_splits_all_pairs_are_tukeys_studentized_range(self, K):
        """The quantile's standard error is sqrt(alpha (1 - alpha) / draws) over a density of about 0.12: 0.013."""
        (found,) = split_differences(np.random.default_rng(1).normal(size=(150, K)), 0.0, [all_pairs_of(everyone(K))])
        expected = stats.studentized_range.ppf(1 - ALPHA, K, np.inf) / np.sqrt(2)
        assert found.critical_value(ALPHA) == pytest.approx(expected, abs=0.06)  # 149 degrees of freedom add 0.02

    @pytest.mark.parametrize(("others", "printed"), [(2, 2.21), (3, 2.35), (5, 2.51), (9, 2.69)])
    def test_on_many_splits_one_baseline_has_the_values_of_dunnetts_table(self, others, printed):
        """Dunnett (1964), two-sided, 5 %, infinite degrees of freedom."""
        K = others + 1
        losses = np.random.default_rng(2).normal(size=(150, K))
        (found,) = split_differences(losses, 0.0, [pairs_between(first(K), ~first(K))])
        assert found.critical_value(ALPHA) == pytest.approx(printed, abs=0.06)

    def test_independent_learners_have_scipys_dunnett(self):
        """Losses that are exactly uncorrelated and of equal variance: then one statistic is the other.

        SciPy has 476 degrees of freedom, the pairs 119, and both p-values are simulated.
        """
        noise = np.random.default_rng(3).normal(size=(120, 4))
        losses = np.linalg.qr(noise - noise.mean(axis=0))[0] * np.sqrt(119) + [0.0, 0.1, 0.25, 0.35]
        (found,) = split_differences(losses, 0.0, [pairs_between(first(4), ~first(4))])
        expected = stats.dunnett(*losses[:, 1:].T, control=losses[:, 0], rng=np.random.default_rng(0))
        for k in (1, 2, 3):
            one = found.difference(k, 0)
            assert one.estimate / found.error[k, 0] == pytest.approx(expected.statistic[k - 1], rel=1e-9)
            assert one.p_value == pytest.approx(expected.pvalue[k - 1], abs=0.015)

    def test_correlated_learners_make_the_maximum_no_larger(self):
        """The maximum is that of independent learners: a conservative choice, checked where losses go together."""
        rng = np.random.default_rng(4)
        J, K, rejected = 10, 6, 0
        for _ in range(400):
            losses = rng.normal(size=(J, 1)) * rng.uniform(0, 2, K) + rng.normal(size=(J, K))
            (found,) = split_differences(losses, 0.0, [all_pairs_of(everyone(K))])
            rejected += any(found.difference(i, j).p_value <= ALPHA for i in range(K) for j in range(K))
        assert rejected / 400 <= ALPHA + three_errors(ALPHA, 400)


class TestRows:
    def test_the_maxima_are_those_of_the_direct_computation(self):
        rng = np.random.default_rng(5)
        sizes = rng.integers(1, 9, 30).astype(float)
        sums = rng.exponential(size=(30, 4)) * sizes[:, None] + rng.normal(size=(30, 1))
        mask = all_pairs_of(np.array([True, True, True, False]))
        found, beside = row_differences(
            sums, sizes, [mask, pairs_between(~everyone(4), everyone(4))], np.random.default_rng(0), draws=200
        )
        pairs = [(i, j) for i in range(3) for j in range(3) if i != j]
        expected = bootstrap_maxima(sums, sizes, pairs, np.random.default_rng(0), 200, TAIL_SHARE)
        assert_allclose(found.maxima, expected, rtol=1e-8)
        assert_array_equal(beside.maxima, 0.0)  # no pair at all

    def test_errors_are_those_of_a_ratio_of_sums(self):
        """With one row per unit: the standard error of the mean of the paired differences."""
        losses = np.random.default_rng(6).exponential(size=(200, 3))
        (found,) = row_differences(
            losses, np.ones(200), [all_pairs_of(everyone(3))], np.random.default_rng(0), draws=50
        )
        assert_allclose(found.mean, losses.mean(axis=0))
        for i, j in ((0, 1), (0, 2), (1, 2)):
            assert found.error[i, j] == pytest.approx(stats.sem(losses[:, i] - losses[:, j]), rel=1e-9)

    def test_intervals_hold_together_for_skewed_losses(self):
        """All pairs of four learners with exponential losses, 60 rows: in at most 5 % of samples any interval fails."""
        rng, failed = np.random.default_rng(7), 0
        true = np.array([1.0, 1.2, 1.5, 2.0])
        for _ in range(300):
            losses = rng.exponential(true, (60, 4))
            (found,) = row_differences(losses, np.ones(60), [all_pairs_of(everyone(4))], rng, draws=4999)
            pairs = [(i, j, found.difference(i, j)) for i in range(4) for j in range(4)]
            failed += any(not one.low <= true[i] - true[j] <= one.high for i, j, one in pairs)
        assert failed / 300 <= ALPHA + three_errors(ALPHA, 300)

    def test_many_rows_are_dealt_into_units_of_equal_number(self):
        codes = units.row_units(10 * units.MAX_UNITS + 7, np.random.default_rng(0))
        assert np.ptp(np.bincount(codes)) == 1 and codes.max() == units.MAX_UNITS - 1
        losses = np.random.default_rng(1).normal(size=(len(codes), 2))
        sums, sizes = units.unit_sums(losses, codes)
        assert_allclose(sums.sum(axis=0), losses.sum(axis=0), rtol=1e-9, atol=1e-9)
        assert sizes.sum() == len(codes)

    def test_a_group_stays_together_and_a_block_holds_neighbours(self):
        groups = np.array(["b", "a", "b", "c", "a"])
        assert_array_equal(units.group_units(groups, np.random.default_rng(0)), [1, 0, 1, 2, 0])
        time = np.random.default_rng(2).permutation(100)
        assert_array_equal(units.time_units(time), time // 10)

    @pytest.mark.parametrize("kind", ["groups", "time"])
    def test_rows_that_depend_on_one_another_are_drawn_together(self, kind):
        """Forty groups of ten rows that share their difference, or a slow random walk: single rows reject too often."""
        rng = np.random.default_rng(8)
        rates = dict.fromkeys(["rows", kind], 0)
        for _ in range(200):
            noise = rng.normal(size=(400, 2))
            if kind == "groups":
                shared, together = np.repeat(rng.normal(size=(40, 2)), 10, axis=0), np.repeat(np.arange(40), 10)
            else:
                shared = np.zeros((400, 2))
                for t in range(1, 400):
                    shared[t] = 0.8 * shared[t - 1] + 0.6 * rng.normal(size=2)
                together = units.time_units(np.arange(400))
            for name, codes in (("rows", np.arange(400)), (kind, together)):
                sums = units.unit_sums(noise + shared, codes)
                (found,) = row_differences(*sums, [all_pairs_of(everyone(2))], rng, draws=799)
                rates[name] += min(found.difference(0, 1).p_value, found.difference(1, 0).p_value) <= ALPHA
        assert rates["rows"] / 200 > 0.2
        assert rates[kind] / 200 <= ALPHA + three_errors(ALPHA, 200) + 0.02 * (kind == "time")  # blocks cut some ties

    def test_a_tail_on_one_side_widens_that_side_only(self):
        """One learner loses a lot on one row in fifty: it may be far worse than it looks, and hardly better."""
        rng = np.random.default_rng(9)
        losses = rng.normal(1.0, 0.1, (300, 3))
        losses[:, 2] += 20.0 * (rng.random(300) < 0.02)
        (found,) = row_differences(losses, np.ones(300), [all_pairs_of(everyone(3))], rng)
        heavy, plain = found.difference(2, 0), found.difference(1, 0)
        assert heavy.high - heavy.estimate > 1.5 * (heavy.estimate - heavy.low)
        assert plain.high - plain.estimate == pytest.approx(plain.estimate - plain.low, rel=0.2)
        assert plain.high - plain.low < 10 * found.error[1, 0]  # as if the other pairs had no tail


def study(rng, means, n=300, folds=5):
    """Mean losses on the splits and the losses of the rows of learners with exponential losses."""
    losses = rng.exponential(means, (n, len(means)))
    return losses.reshape(folds, -1, len(means)).mean(axis=1), RowLosses(losses, np.arange(n), n / folds)


class TestVerdicts:
    @pytest.mark.parametrize(
        ("low", "high", "outcome"),
        [
            (0.011, 0.2, "worse"),
            (0.005, 0.2, "undecided"),
            (-0.009, 0.009, "equal"),
            (1e-5, 3e-5, "equal"),
            (-0.02, 0.005, "undecided"),
            (-np.inf, np.inf, "undecided"),
        ],
    )
    def test_the_interval_and_the_margin_decide(self, low, high, outcome):
        assert decide([Difference((low + high) / 2, low, high, 0.5)], 0.01) == outcome

    def test_sources_that_contradict_one_another_leave_it_undecided(self):
        assert decide([Difference(0.1, 0.05, 0.2, 0.0), Difference(0, -0.001, 0.001, 1.0)], 0.01) == "undecided"

    def test_a_difference_of_a_hundred_thousandth_is_never_worse(self):
        """The same on every row and every split, so that no doubt is left that it is there."""
        splits, rows = study(np.random.default_rng(0), [1.0, 1.0])
        splits[:, 1], rows.losses[:, 1] = splits[:, 0] + 2e-5, rows.losses[:, 0] + 2e-5
        best, (_, verdict) = compare_with_best(splits, 0.25, rows, margin=0.01)
        assert best == 0 and verdict.outcome == "equal" and verdict.p_value == 1.0
        assert compare_with_best(splits, 0.25, rows, margin=0.0)[1][1].outcome == "worse"

    def test_a_learner_beside_its_copy_is_equal(self):
        splits, rows = study(np.random.default_rng(1), [1.0, 1.0])
        splits[:, 1], rows.losses[:, 1] = splits[:, 0], rows.losses[:, 0]
        verdict = compare_with_best(splits, 0.25, rows)[1][1]
        assert (verdict.outcome, verdict.p_value, verdict.rows.low, verdict.rows.high) == ("equal", 1.0, 0.0, 0.0)

    def test_worse_is_what_has_a_small_p_value(self):
        """The level of a source is half of alpha, and so is what its p-value is doubled for."""
        seen = set()
        for seed in range(12):
            splits, rows = study(np.random.default_rng(seed), [1.0, 1.1, 1.3, 1.6, 2.5])
            _, verdicts = compare_with_best(splits, 0.25, rows, margin=0.05, draws=799)
            for verdict in filter(None, verdicts):
                assert (verdict.outcome == "worse") == (verdict.p_value <= ALPHA)
                assert verdict.fitted.low >= verdict.rows.low and verdict.fitted.p_value <= verdict.rows.p_value
                seen.add(verdict.outcome)
        assert seen == {"worse", "undecided"}

    def test_units_of_the_loss_do_not_matter_and_neither_does_the_order(self):
        splits, rows = study(np.random.default_rng(3), [1.0, 1.2, 1.5, 2.0])
        order = np.array([2, 0, 3, 1])
        best, plain = compare_with_best(splits, 0.25, rows, margin=0.1)
        scaled = RowLosses(1000 * rows.losses, rows.units, rows.mean_test_rows)
        moved = RowLosses(rows.losses[:, order], rows.units, rows.mean_test_rows)
        _, scaled_verdicts = compare_with_best(1000 * splits, 0.25, scaled, margin=100.0)
        other, moved_verdicts = compare_with_best(splits[:, order], 0.25, moved, margin=0.1)
        assert order[other] == best
        for k, verdict in enumerate(plain):
            if verdict is not None:
                at = int(np.flatnonzero(order == k)[0])
                for found in (scaled_verdicts[k], moved_verdicts[at]):
                    assert found.outcome == verdict.outcome
                    assert found.p_value == pytest.approx(verdict.p_value, abs=2e-3)  # ties by rounding among draws

    def test_a_larger_margin_never_makes_a_learner_worse(self):
        splits, rows = study(np.random.default_rng(4), [1.0, 2.0, 3.0])
        rank = {"worse": 2, "undecided": 1, "equal": 0}
        for k in (1, 2):
            outcomes = [
                rank[compare_with_best(splits, 0.25, rows, margin=margin)[1][k].outcome]
                for margin in (0.0, 0.3, 1.0, 3.0, 6.0)
            ]
            assert outcomes == sorted(outcomes, reverse=True) and outcomes[0] == 2 and outcomes[-1] == 0

    def test_rows_are_widened_as_the_corrected_resampled_t_is(self):
        """Five folds of four: w^2 = (1/5 + 1/4) 5 = 2.25."""
        splits, rows = study(np.random.default_rng(5), [1.0, 2.0])
        verdict = compare_with_best(splits, 0.25, rows)[1][1]
        assert verdict.rows.high - verdict.rows.low == pytest.approx(1.5 * (verdict.fitted.high - verdict.fitted.low))

    def test_baselines_are_a_family_of_their_own(self):
        family, (competitors, beside) = comparison_families(0, np.array([False, False, True, True]))
        assert_array_equal(family, [0, 0, 1, 1])
        assert competitors.sum() == 2 and beside.sum() == 8 and not (competitors & beside).any()
        family, (competitors, beside) = comparison_families(2, np.array([False, False, True, True]))
        assert_array_equal(family, [0, 0, 0, 1])  # a baseline that wins competes
        splits, _ = study(np.random.default_rng(6), [1.0, 1.2, 2.0])
        alone = compare_with_best(splits[:, :2], 0.25)[1][1]
        beside_baseline = compare_with_best(splits, 0.25, baselines=np.array([False, False, True]))[1][1]
        assert alone.splits.estimate == beside_baseline.splits.estimate
        assert alone.p_value == pytest.approx(beside_baseline.p_value, abs=three_errors(0.5, NORMAL_DRAWS))

    def test_the_best_of_many_guesses_does_not_beat_the_baseline(self):
        """Ten learners as good as the baseline; the winner is the luckiest of them, and the family allows for it."""
        rng, beaten = np.random.default_rng(7), 0
        for _ in range(200):
            splits, rows = study(rng, np.ones(11), n=100)
            best, verdicts = compare_with_best(splits, 0.25, rows, baselines=np.arange(11) == 10, rng=rng, draws=499)
            beaten += best != 10 and verdicts[10].outcome == "worse"
        assert beaten / 200 <= ALPHA + three_errors(ALPHA, 200)

    def test_one_split_is_refused(self):
        with pytest.raises(ValueError, match="two splits or more; got 1"):
            compare_with_best(np.ones((1, 2)), 0.25)
        with pytest.raises(ValueError, match="two units or more; got 1"):
            row_differences(np.ones((1, 2)), np.ones(1), [all_pairs_of(everyone(2))], np.random.default_rng(0))


@pytest.mark.parametrize("loss", LOSSES)
def test_the_whole_procedure_keeps_its_level_and_finds_more_than_all_pairs(loss):
    """`python -m benchmarks.verdicts` measures both designs with ten times as many simulations."""
    count = 100
    rates = verdict_rates(SimulationDesign(200), loss, 0.1, count)
    assert rates.false_worse <= ALPHA + three_errors(ALPHA, count)
    assert rates.power > rates.power_pairs
