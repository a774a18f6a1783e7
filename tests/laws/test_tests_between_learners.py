"""What every test between learners must satisfy: it is fair to both, keeps its level, and says what it assumes."""

import inspect
import typing
from dataclasses import FrozenInstanceError

import numpy as np
import pytest
from numpy.testing import assert_allclose
from scipy.stats import kstest

from fivefold.evaluation import comparison
from fivefold.evaluation.comparison import (
    Comparison,
    against_control,
    bayesian_correlated_t,
    compare_all,
    corrected_resampled_t,
    five_by_two_f,
    five_by_two_t,
    friedman_test,
    holm,
    mcnemar_test,
    nemenyi,
    one_sample_t,
    paired_t,
    permutation_test,
    sign_test,
    t_over_folds,
    unpaired_t,
    wilcoxon_test,
)
from fivefold.evaluation.comparison.type_one_error import INFLATED_LEVELS, liberal_caution
from fivefold.evaluation.experiments.rejection_rates import DESIGNS, TESTS, SimulationDesign, rejection_rates

ALPHA = 0.05


def folds(rng, shift):
    """Scores of two learners on twelve folds, no two differences alike."""
    b = rng.normal(0.7, 0.05, 12)
    return b + rng.normal(shift, 0.02, 12), b


def halves(rng, shift):
    b = rng.normal(0.7, 0.05, (5, 2))
    return b + rng.normal(shift, 0.02, (5, 2)), b


def rows(rng, shift):
    hard = rng.random(150)  # of each row, for both
    return (rng.random(150) + hard) / 2 < 0.55 + 4 * shift, (rng.random(150) + hard) / 2 < 0.55


SPLITS = [(np.arange(10), np.arange(10, 12))] * 12
# every test that returns a comparison of a and b: how to call it, and scores to give it
CASES = {
    "one_sample_t": (lambda a, b, **how: one_sample_t(a - b, **how), folds),
    "paired_t": (paired_t, folds),
    "corrected_resampled_t": (lambda a, b, **how: corrected_resampled_t(a, b, 4, 1, **how), folds),
    "unpaired_t": (unpaired_t, folds),
    "t_over_folds": (lambda a, b, **how: t_over_folds(a, b, SPLITS, SPLITS, **how), folds),
    "sign_test": (sign_test, folds),
    "wilcoxon_test": (wilcoxon_test, folds),
    "permutation_test": (permutation_test, folds),
    "five_by_two_t": (five_by_two_t, halves),
    "five_by_two_f": (five_by_two_f, halves),
    "mcnemar_test": (mcnemar_test, rows),
    "mcnemar_test, mid-p": (lambda a, b, **how: mcnemar_test(a, b, variant="mid-p", **how), rows),
    "mcnemar_test, chi2": (lambda a, b, **how: mcnemar_test(a, b, variant="chi2", **how), rows),
    "mcnemar_test, continuity": (lambda a, b, **how: mcnemar_test(a, b, variant="continuity", **how), rows),
}
DIRECTED = [
    name for name, (test, _) in CASES.items() if name.partition(",")[0] not in ("five_by_two_f", "mcnemar_test")
]


def public():
    """Functions of the package, by name."""
    return {name: thing for name, thing in vars(comparison).items() if inspect.isfunction(thing)}


def comparisons(name, **how):
    """Found between learners alike, with A ahead and with B ahead, five of each."""
    test, draw = CASES[name]
    rng = np.random.default_rng(0)
    for shift in (0.0, 0.06, -0.06) * 5:
        a, b = draw(rng, shift)
        yield a, b, test(a, b, **how)


def test_every_test_meets_these_laws():
    returning = {name for name, f in public().items() if typing.get_type_hints(f).get("return") is Comparison}
    assert returning == {name.partition(",")[0] for name in CASES}


@pytest.mark.parametrize("name", CASES)
def test_it_is_antisymmetric_in_the_two_learners(name):
    test, _ = CASES[name]
    for a, b, found in comparisons(name):
        other = test(b, a)
        assert other.p_value == pytest.approx(found.p_value, rel=1e-9)  # sums in another order
        assert_allclose(other.tails, found.tails[::-1], rtol=1e-9, atol=1e-15)
        assert abs(other.statistic) == pytest.approx(abs(found.statistic), rel=1e-9)
        assert other.estimate == pytest.approx(-found.estimate, rel=1e-9, abs=1e-15)
        assert_allclose(other.interval, [-found.interval[1], -found.interval[0]], rtol=1e-9, atol=1e-15)


@pytest.mark.parametrize("name", CASES)
def test_a_learner_does_not_differ_from_itself(name):
    """D-17, A-18: all differences zero, p = 1."""
    test, draw = CASES[name]
    a, _ = draw(np.random.default_rng(1), 0.0)
    found = test(a, a)
    assert (found.p_value, found.estimate, found.rejected) == (1.0, 0.0, False)
    assert found.verdict == "no difference shown at a level of 0.05"


@pytest.mark.parametrize("name", ["paired_t", "corrected_resampled_t", "five_by_two_t", "five_by_two_f", "unpaired_t"])
def test_the_same_difference_everywhere_leaves_no_doubt(name):
    test, draw = CASES[name]
    flat = np.full_like(draw(np.random.default_rng(1), 0.0)[0], 0.5)
    found = test(flat + 0.25, flat)
    assert (found.p_value, found.estimate, found.statistic) == (0.0, 0.25, np.inf)


@pytest.mark.parametrize("name", CASES)
def test_decision_critical_region_and_interval_agree(name):
    decisions = set()
    for _, _, found in comparisons(name):
        low, high = found.critical
        inside = low * (1 - 1e-9) < found.statistic < high * (1 - 1e-9)
        assert found.rejected == (found.p_value <= ALPHA) == (not inside)
        if "mcnemar" not in name:  # its interval is not the test turned round
            assert found.rejected == (not found.interval[0] < 0 < found.interval[1])
        assert found.interval[0] <= found.estimate <= found.interval[1]
        decisions.add(found.verdict)
    assert {text.partition(",")[0] for text in decisions} == {
        "A is higher",
        "B is higher",
        "no difference shown at a level of 0.05",
    }


@pytest.mark.parametrize("name", DIRECTED)
def test_a_tail_known_beforehand_halves_the_p_value(name):
    """D-130."""
    test, _ = CASES[name]
    for a, b, found in comparisons(name):
        greater, less = (test(a, b, alternative=side) for side in ("greater", "less"))
        assert (greater.p_value, less.p_value) == found.tails[::-1]
        assert min(1.0, 2 * min(greater.p_value, less.p_value)) == found.p_value
        assert (greater.interval[1], less.interval[0]) == (np.inf, -np.inf)
        assert greater.rejected == (greater.statistic >= greater.critical[1] * (1 - 1e-9))
        assert (greater.critical[0], less.critical[1]) == (-np.inf, np.inf)
        assert greater.rejected == (greater.interval[0] >= 0)


@pytest.mark.parametrize("name", CASES)
def test_it_says_what_it_found_and_assumes_and_cannot_be_changed(name):
    _, _, found = next(comparisons(name))
    text = str(found)
    assert found.assumptions and all(f"assumes: {line}" in text for line in found.assumptions)
    assert found.verdict in text and f"p = {found.p_value:.4g}" in text
    assert (f"caution: {found.caution}" in text) == found.liberal
    with pytest.raises(FrozenInstanceError):
        found.p_value = 0.0


@pytest.mark.parametrize(
    "name", ["paired_t", "corrected_resampled_t", "sign_test", "wilcoxon_test", "permutation_test"]
)
def test_scores_that_do_not_belong_together_are_refused(name):
    """D-131."""
    test, _ = CASES[name]
    with pytest.raises(ValueError, match="same folds"):
        test([0.1, 0.2, 0.3], [0.1, 0.2])
    with pytest.raises(ValueError, match="1 of B are not"):
        test([0.1, 0.2, 0.3], [0.1, np.nan, 0.2])
    with pytest.raises(ValueError, match="only one has f2, f3"):
        test({"f1": 0.1, "f2": 0.2}, {"f1": 0.3, "f3": 0.2})
    with pytest.raises(ValueError, match="both as mappings"):
        test({"f1": 0.1}, [0.3])
    with pytest.raises(ValueError, match="alpha lies between 0 and 1"):
        test([0.1, 0.2, 0.3], [0.1, 0.2, 0.2], alpha=5)


def test_scores_by_fold_are_matched_by_its_name():
    a, b = {"x": 0.9, "y": 0.5, "z": 0.8}, {"z": 0.7, "x": 0.8, "y": 0.45}
    assert paired_t(a, b) == paired_t([0.9, 0.5, 0.8], [0.8, 0.45, 0.7])


def test_folds_are_compared_in_pairs_only_if_they_are_the_same():
    """D-131."""
    rng = np.random.default_rng(0)
    a, b = folds(rng, 0.02)
    rows = [rng.permutation(12) for _ in range(12)]
    mine = [(p[:10], p[10:]) for p in rows]
    turned = [(p[:10][::-1], p[10:]) for p in rows]  # the same rows in another order
    others = [(p[2:], p[:2]) for p in rows]
    assert t_over_folds(a, b, mine, turned) == paired_t(a, b)
    assert t_over_folds(a, b, mine, others) == unpaired_t(a, b) != paired_t(a, b)
    assert t_over_folds(a, b[:10], mine, mine[:10]) == unpaired_t(a, b[:10])


def test_pairs_tell_more_than_samples_where_scores_rise_and_fall_together():
    """D-131: a hard fold is hard for both learners; the paired test does not mistake that for noise."""
    rng = np.random.default_rng(0)
    found = [(paired_t(a, b).rejected, unpaired_t(a, b).rejected) for a, b in (folds(rng, 0.02) for _ in range(300))]
    paired, unpaired = np.mean(found, axis=0)
    assert paired > unpaired + 0.3


class TestLevel:
    """Rejecting equal learners no more often than alpha says, three standard errors of the simulation allowed."""

    @staticmethod
    def rejections(test, *, ratio, splits=10, simulations=2000):
        """p-values on differences of which every pair has the correlation that Nadeau & Bengio assume."""
        rng = np.random.default_rng(0)
        shared = rng.standard_normal((simulations, 1)) * np.sqrt(ratio)
        D = shared + rng.standard_normal((simulations, splits))
        return np.array([test(d, np.zeros(splits)).p_value for d in D])

    @staticmethod
    def within(p, simulations=2000):
        return abs(np.mean(p <= ALPHA) - ALPHA) <= 3 * np.sqrt(ALPHA * (1 - ALPHA) / simulations)

    @pytest.mark.parametrize("ratio", [0.25, 1.0])
    def test_the_corrected_t_is_exact_where_its_assumption_holds(self, ratio):
        """D-127: p-values are uniform if the learners are equal, and rejections as many as alpha says; also counted."""
        p = self.rejections(lambda a, b: corrected_resampled_t(a, b, 1.0, ratio), ratio=ratio)
        assert self.within(p)
        assert kstest(p, "uniform").pvalue > 0.001
        key = "corrected resampled t", "repeats"
        rate = rejection_rates(DESIGNS["200 rows"], 200, np.random.default_rng(3), {key: TESTS[key]})[key]
        assert rate <= ALPHA + 3 * np.sqrt(ALPHA * (1 - ALPHA) / 200)

    @pytest.mark.parametrize("test", [one_sample_t, paired_t], ids=["one sample", "paired"])
    def test_the_plain_t_is_exact_on_independent_differences(self, test):
        """D-127, D-128."""
        p = self.rejections((lambda a, b: test(a)) if test is one_sample_t else test, ratio=0.0)
        assert self.within(p)
        assert kstest(p, "uniform").pvalue > 0.001

    def test_dropping_the_correction_or_a_tail_is_noticed(self):
        """The two mutants that would make every study too sure of itself break the law above."""
        uncorrected = self.rejections(paired_t, ratio=0.25)
        one_tail = self.rejections(lambda a, b: _smaller_tail(a, b), ratio=0.25)
        assert not self.within(uncorrected) and np.mean(uncorrected <= ALPHA) > 0.2
        assert not self.within(one_tail) and np.mean(one_tail <= ALPHA) > 0.08

    def test_no_test_that_is_not_listed_exceeds_it_on_equal_learners(self):
        """300 simulations; 2,000 are in the slow test below."""
        n = 300
        rates = rejection_rates(DESIGNS["200 rows"], n, np.random.default_rng(1))
        limit = ALPHA + 3 * np.sqrt(ALPHA * (1 - ALPHA) / n)
        assert {key for key, rate in rates.items() if rate > limit} <= set(INFLATED_LEVELS)
        for key in (("paired t", "repeats"), ("Friedman", "repeats"), ("5x2cv F", "halves")):
            assert rates[key] > limit

    @pytest.mark.slow
    def test_in_two_designs_the_listed_tests_alone_exceed_it_by_the_share_they_state(self):
        """2,000 simulations with 200 and 1,000 rows, drawn anew."""
        n = 2000
        rates = [rejection_rates(design, n, np.random.default_rng(2)) for design in DESIGNS.values()]
        worst = {key: max(rate[key] for rate in rates) for key in TESTS}
        limit = ALPHA + 3 * np.sqrt(ALPHA * (1 - ALPHA) / n)
        assert {key for key, rate in worst.items() if rate > limit} <= set(INFLATED_LEVELS)
        for key, share in INFLATED_LEVELS.items():
            assert worst[key] == pytest.approx(share, abs=3 * np.sqrt(2 * share * (1 - share) / n)), key

    def test_power_grows_with_the_advantage_and_the_rows(self):
        """D-127."""
        tests = {key: TESTS[key] for key in [("corrected resampled t", "repeats"), ("McNemar exact", "rows")]}
        rates = [
            rejection_rates(SimulationDesign(rows, advantage=gap), 100, np.random.default_rng(0), tests)
            for rows, gap in ((200, 0.0), (200, 0.1), (800, 0.1))
        ]
        for key in tests:
            none, some, most = (rate[key] for rate in rates)
            assert none < some < most

    @pytest.mark.parametrize(("test", "kind"), INFLATED_LEVELS)
    def test_a_liberal_test_says_so_with_its_figure(self, test, kind):
        share = f"{INFLATED_LEVELS[test, kind]:.1%}"
        assert share in liberal_caution(test, kind)
        function = {
            "one-sample t": one_sample_t,
            "paired t": paired_t,
            "5x2cv t": five_by_two_t,
            "5x2cv F": five_by_two_f,
            "sign": sign_test,
            "Wilcoxon": wilcoxon_test,
            "permutation": permutation_test,
            "Friedman": friedman_test,
        }[test]
        assert share in function.__doc__

    def test_the_flag_goes_with_where_the_scores_come_from(self):
        a, b = folds(np.random.default_rng(0), 0.0)
        assert paired_t(a, b, over="repeats").liberal and "21.4%" in paired_t(a, b, over="repeats").caution
        assert not paired_t(a, b, over="data sets").liberal
        many = np.tile(a, 3), np.tile(b, 3)  # more than all signs are taken for
        assert permutation_test(*many, over="repeats").liberal and permutation_test(a, b, over="folds").liberal
        assert not corrected_resampled_t(a, b, 4, 1).liberal
        S = np.column_stack([a, b])
        names = ["A", "B"], [str(i) for i in range(12)]
        assert friedman_test(S, *names, over="folds").liberal and not friedman_test(S, *names).liberal


def _smaller_tail(a, b):
    found = corrected_resampled_t(a, b, 4, 1)
    return Comparison(**{**vars(found), "p_value": min(found.tails)})


class TestBayes:
    def test_without_a_region_it_is_the_corrected_t_read_as_a_probability(self):
        a, b = folds(np.random.default_rng(0), 0.01)
        test, found = corrected_resampled_t(a, b, 4, 1), bayesian_correlated_t(a, b, 4, 1, rope=0.0)
        assert (found.above, found.below) == pytest.approx(test.tails, rel=1e-12)
        assert found.within == pytest.approx(0.0, abs=1e-15)
        assert found.interval == pytest.approx(test.interval, rel=1e-12)

    def test_probabilities_sum_to_one_and_move_into_the_region_as_it_grows(self):
        a, b = folds(np.random.default_rng(0), 0.01)
        found = [bayesian_correlated_t(a, b, 4, 1, rope) for rope in (0.0, 0.005, 0.02, 1.0)]
        assert_allclose([f.below + f.within + f.above for f in found], 1.0)
        assert (np.diff([f.within for f in found]) > 0).all()
        assert found[-1].verdict.startswith("practically the same")

    def test_changing_places_changes_the_sides(self):
        a, b = folds(np.random.default_rng(0), 0.01)
        one, two = bayesian_correlated_t(a, b, 4, 1), bayesian_correlated_t(b, a, 4, 1)
        assert (one.below, one.within, one.above) == pytest.approx((two.above, two.within, two.below), rel=1e-9)

    @pytest.mark.parametrize(("gap", "part"), [(0.0, "within"), (0.25, "above"), (-0.25, "below")])
    def test_without_spread_one_part_has_all(self, gap, part):
        found = bayesian_correlated_t([0.5 + gap] * 5, [0.5] * 5, 4, 1)
        assert {name: getattr(found, name) for name in ("below", "within", "above")} == {
            name: float(name == part) for name in ("below", "within", "above")
        }


class TestHolm:
    def test_is_the_step_down_procedure(self):
        """The smallest p-value is held against alpha / m, the next against alpha / (m - 1), until one is too large."""
        rng = np.random.default_rng(0)
        for m in range(1, 8):
            p = rng.random(m) ** 3
            rejected = set()
            for step, i in enumerate(np.argsort(p)):
                if p[i] > ALPHA / (m - step):
                    break
                rejected.add(i)
            assert set(np.flatnonzero(holm(p) <= ALPHA)) == rejected

    def test_lies_between_the_p_values_and_bonferroni(self):
        p = np.random.default_rng(1).random(10)
        assert (holm(p) >= p).all() and (holm(p) <= np.minimum(1, 10 * p)).all()
        assert (np.diff(holm(np.sort(p))) >= 0).all()
        assert len(holm([])) == 0

    def test_keeps_the_probability_of_any_false_rejection(self):
        P = np.random.default_rng(0).random((2000, 8))
        share = np.mean([holm(p).min() <= ALPHA for p in P])
        assert share <= ALPHA + 3 * np.sqrt(ALPHA * (1 - ALPHA) / 2000)

    def test_refuses_what_is_no_probability(self):
        with pytest.raises(ValueError, match="between 0 and 1"):
            holm([0.5, 1.2])


class TestFriedman:
    SCORES = np.random.default_rng(0).normal(size=(10, 4)) + np.array([0, 0.5, 1, 3])
    SETS = tuple(f"set {i}" for i in range(10))

    def test_the_order_of_learners_and_of_data_sets_does_not_matter(self):
        found = friedman_test(self.SCORES, list("abcd"), self.SETS)
        turned = friedman_test(self.SCORES[::-1, ::-1], list("dcba"), self.SETS)
        assert turned.p_value == pytest.approx(found.p_value)
        assert turned.mean_ranks == found.mean_ranks[::-1]
        assert turned.groups == found.groups

    def test_losses_and_scores_give_the_same_ranks(self):
        assert friedman_test(self.SCORES, list("abcd"), self.SETS) == friedman_test(
            -self.SCORES, list("abcd"), self.SETS, larger_is_better=False
        )

    def test_learners_that_tie_everywhere_do_not_differ(self):
        found = friedman_test(np.ones((5, 3)), list("abc"), self.SETS[:5])
        assert (found.statistic, found.p_value, found.groups) == (0.0, 1.0, (("a", "b", "c"),))

    def test_the_same_order_everywhere_leaves_no_doubt(self):
        found = friedman_test(np.tile([3.0, 2.0, 1.0], (8, 1)), list("abc"), self.SETS[:8])
        assert (found.mean_ranks, found.statistic, found.p_value) == ((1, 2, 3), np.inf, 0.0)

    def test_groups_hold_just_those_within_a_critical_difference(self):
        found = friedman_test(self.SCORES, list("abcd"), self.SETS)
        rank = dict(zip(found.learners, found.mean_ranks, strict=True))
        together = {frozenset(pair) for group in found.groups for pair in _pairs(group)}
        assert together == {
            frozenset(p) for p in _pairs("abcd") if abs(rank[p[0]] - rank[p[1]]) <= found.critical_difference
        }
        P = nemenyi(found)
        for i, j in _pairs(range(4)):
            assert (P[i, j] > ALPHA) == (frozenset((found.learners[i], found.learners[j])) in together)
        assert_allclose(np.diag(P), 1.0)

    def test_folds_passed_off_as_data_sets_are_refused(self):
        with pytest.raises(ValueError, match=r"iris named more than once.*corrected_resampled_t"):
            friedman_test(self.SCORES[:3], list("abcd"), ["iris", "wine", "iris"])

    def test_what_is_missing_is_named(self):
        with pytest.raises(ValueError, match=r"one row per data set.*\(3, 4\); got \(10, 4\)"):
            friedman_test(self.SCORES, list("abcd"), self.SETS[:3])
        with pytest.raises(ValueError, match="two learners and two data sets"):
            friedman_test(self.SCORES[:1], list("abcd"), ["iris"])
        with pytest.raises(ValueError, match="no learner is called 'e'"):
            against_control(friedman_test(self.SCORES, list("abcd"), self.SETS), "e")


class TestCompareAll:
    rng = np.random.default_rng(3)
    BASE = rng.normal(0.8, 0.03, 10)
    SCORES: typing.ClassVar = {
        "good": BASE + 0.1 + rng.normal(0, 0.01, 10),
        "fair": BASE + rng.normal(0, 0.01, 10),
        "also fair": BASE + rng.normal(0, 0.01, 10),
    }

    def test_has_every_pair_once_with_holm_over_all(self):
        table = compare_all(self.SCORES, 80, 20)
        assert [(p.a, p.b) for p in table.pairs] == list(_pairs(list(self.SCORES)))
        assert_allclose([p.adjusted_p for p in table.pairs], holm([p.comparison.p_value for p in table.pairs]))
        for pair in table.pairs:
            assert pair.comparison == corrected_resampled_t(self.SCORES[pair.a], self.SCORES[pair.b], 80, 20)
            assert f"P(same) = {pair.equivalence.within:.2f}" in str(table)

    def test_names_those_that_cannot_be_told_apart(self):
        table = compare_all(self.SCORES, 80, 20)
        assert table.tied_with("fair") == ("also fair",) and table.tied_with("good") == ()
        assert table.pair("fair", "good") is table.pair("good", "fair")
        with pytest.raises(KeyError, match="not compared here"):
            table.pair("good", "good")

    def test_never_decides_by_a_liberal_test(self):
        assert not any(pair.comparison.liberal for pair in compare_all(self.SCORES, 80, 20).pairs)

    def test_a_learner_beside_its_copy_is_the_same(self):
        """D-17: no difference, p = 1."""
        pair = compare_all({"a": self.BASE, "b": self.BASE}, 80, 20).pairs[0]
        assert (pair.adjusted_p, pair.equivalence.within) == (1.0, 1.0)
        assert (pair.comparison.p_value, pair.comparison.estimate, pair.comparison.rejected) == (1.0, 0.0, False)

    def test_one_learner_is_refused(self):
        with pytest.raises(ValueError, match="two learners or more; got 1"):
            compare_all({"a": self.BASE}, 80, 20)
        with pytest.raises(ValueError, match="training rows and test rows"):
            compare_all(self.SCORES, 80, 0)


def _pairs(names):
    names = list(names)
    return [(a, b) for i, a in enumerate(names) for b in names[i + 1 :]]
