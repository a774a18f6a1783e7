"""How often each test rejects equal learners: its level, measured by simulation.

Two classes and several learners. A learner sees `width` columns of its own, N(-mu, 1) in one class and N(mu, 1) in
the other with mu the same for all, and puts a row into the class with the nearer mean; so no learner is better than
another, and a test that keeps its level rejects in no more than alpha of the simulations. With `advantage` the columns
of the first learner are that much further apart, and the share of rejections is the power. The columns are many and
each carries little information, so that the fit depends on the rows, as it does for the methods compared in practice.

The class means of all training sets, and all predictions, are products of matrices: a simulation costs milliseconds.

`python -m fivefold.evaluation.experiments.rejection_rates [SIMULATIONS]` prints the table of all tests and designs.
"""

from __future__ import annotations

import sys
from collections.abc import Callable, Mapping
from dataclasses import dataclass, replace
from typing import Literal

import numpy as np

from fivefold.core.types import Array, Mask, Matrix, Vector
from fivefold.evaluation.comparison.five_by_two import N_HALVINGS, five_by_two_f, five_by_two_t
from fivefold.evaluation.comparison.friedman import Friedman, friedman_test
from fivefold.evaluation.comparison.mcnemar import mcnemar_test
from fivefold.evaluation.comparison.permutation import permutation_test
from fivefold.evaluation.comparison.rank_tests import sign_test, wilcoxon_test
from fivefold.evaluation.comparison.result import Comparison
from fivefold.evaluation.comparison.t_tests import corrected_resampled_t, one_sample_t, paired_t


@dataclass(frozen=True)
class SimulationDesign:
    """Rows, learners, and the columns of each learner."""

    rows: int
    learners: int = 4
    width: int = 50
    mu: float = 0.1  # half the distance between the class means along every column
    advantage: float = 0.0  # of the first learner

    def draw(self, rng: np.random.Generator) -> tuple[Array, Vector]:
        """Columns (learners, rows, width) and classes -1 and 1 (rows,), half of each."""
        y = rng.permutation(np.resize([-1.0, 1.0], self.rows))
        mu = np.full(self.learners, self.mu)
        mu[0] += self.advantage
        return mu[:, None, None] * y[:, None] + rng.standard_normal((self.learners, self.rows, self.width)), y


SMALL_SET_ROWS = 60  # rows of each of the twelve data sets of a comparison over data sets
DESIGNS: Mapping[str, SimulationDesign] = {"200 rows": SimulationDesign(200), "1,000 rows": SimulationDesign(1000)}


@dataclass(frozen=True)
class SimulatedScores:
    """Accuracies of every learner by resampling scheme, its hits on one test set, and accuracies on other data sets."""

    folds: Array  # (learners, 10): ten folds
    repeats: Array  # (learners, 10): five folds, twice
    halves: Array  # (learners, 5, 2)
    rows: Mask  # (learners, n_test): right or wrong on a third of the rows
    datasets: Array  # (learners, 12): twelve small tables, each tested on a third of its rows


def fold_masks(rows: int, folds: int, repeats: int, rng: np.random.Generator) -> Mask:
    """Which rows are test rows in each fold, (repeats * folds, rows)."""
    codes = np.stack([rng.permutation(rows) % folds for _ in range(repeats)])  # (repeats, rows)
    return (codes[:, None] == np.arange(folds)[:, None]).reshape(-1, rows)


def row_margins(X: Array, y: Vector, test: Mask) -> Array:
    """y times the score of each learner, trained on the other rows of every split: (learners, splits, rows).

    The score is the logarithm of the odds of the second class, if the columns have the variance 1 and the means of the
    training rows. A row with a positive margin is classified correctly.
    """
    train = ~test
    means = [((train & (y == c)).astype(float) @ X) / (train & (y == c)).sum(axis=1)[:, None] for c in (-1, 1)]
    slope = means[1] - means[0]  # (learners, splits, width)
    middle = (slope * (means[0] + means[1]) / 2).sum(axis=2)
    return y * (slope @ X.transpose(0, 2, 1) - middle[:, :, None])


def correct_rows(X: Array, y: Vector, test: Mask) -> Mask:
    """Whether each learner, trained on the other rows of every split, is right: (learners, splits, rows)."""
    return row_margins(X, y, test) > 0


def split_accuracies(X: Array, y: Vector, test: Mask) -> Matrix:
    """Share of the test rows of every split that each learner classifies correctly, (learners, splits)."""
    return (correct_rows(X, y, test) & test).sum(axis=2) / test.sum(axis=1)


def simulate_scores(design: SimulationDesign, rng: np.random.Generator) -> SimulatedScores:
    """Draw one table and score every learner on it, by every resampling scheme."""
    X, y = design.draw(rng)
    n = design.rows
    third = fold_masks(n, 3, 1, rng)[:1]
    return SimulatedScores(
        folds=split_accuracies(X, y, fold_masks(n, 10, 1, rng)),
        repeats=split_accuracies(X, y, fold_masks(n, 5, 2, rng)),
        halves=split_accuracies(X, y, fold_masks(n, 2, N_HALVINGS, rng)).reshape(-1, N_HALVINGS, 2),
        rows=correct_rows(X, y, third)[:, 0, third[0]],
        datasets=np.hstack([_holdout_accuracies(replace(design, rows=SMALL_SET_ROWS), rng) for _ in range(12)]),
    )


def _holdout_accuracies(design: SimulationDesign, rng: np.random.Generator) -> Matrix:
    X, y = design.draw(rng)
    return split_accuracies(X, y, fold_masks(design.rows, 3, 1, rng)[:1])


def _friedman_over(over: Literal["data sets", "folds", "repeats"], S: Matrix) -> Friedman:
    learners, splits = S.shape
    return friedman_test(S.T, [str(i) for i in range(learners)], [str(j) for j in range(splits)], over=over)


# The result of each test on one simulation, by the name and kind that INFLATED_LEVELS uses.
TESTS: Mapping[tuple[str, str], Callable[[SimulatedScores], Comparison | Friedman]] = {
    ("corrected resampled t", "folds"): lambda s: corrected_resampled_t(s.folds[0], s.folds[1], 9, 1),
    ("corrected resampled t", "repeats"): lambda s: corrected_resampled_t(s.repeats[0], s.repeats[1], 4, 1),
    ("one-sample t", "folds"): lambda s: one_sample_t(s.folds[0] - s.folds[1]),
    ("one-sample t", "repeats"): lambda s: one_sample_t(s.repeats[0] - s.repeats[1], over="repeats"),
    ("paired t", "folds"): lambda s: paired_t(*s.folds[:2]),
    ("paired t", "repeats"): lambda s: paired_t(*s.repeats[:2], over="repeats"),
    ("5x2cv t", "halves"): lambda s: five_by_two_t(*s.halves[:2]),
    ("5x2cv F", "halves"): lambda s: five_by_two_f(*s.halves[:2]),
    ("sign", "folds"): lambda s: sign_test(*s.folds[:2], over="folds"),
    ("sign", "repeats"): lambda s: sign_test(*s.repeats[:2], over="repeats"),
    ("Wilcoxon", "folds"): lambda s: wilcoxon_test(*s.folds[:2], over="folds"),
    ("Wilcoxon", "repeats"): lambda s: wilcoxon_test(*s.repeats[:2], over="repeats"),
    ("permutation", "folds"): lambda s: permutation_test(*s.folds[:2], over="folds"),
    ("permutation", "repeats"): lambda s: permutation_test(*s.repeats[:2], over="repeats"),
    ("Friedman", "folds"): lambda s: _friedman_over("folds", s.folds),
    ("Friedman", "repeats"): lambda s: _friedman_over("repeats", s.repeats),
    ("paired t", "data sets"): lambda s: paired_t(*s.datasets[:2], over="data sets"),
    ("sign", "data sets"): lambda s: sign_test(*s.datasets[:2]),
    ("Wilcoxon", "data sets"): lambda s: wilcoxon_test(*s.datasets[:2]),
    ("permutation", "data sets"): lambda s: permutation_test(*s.datasets[:2]),
    ("Friedman", "data sets"): lambda s: _friedman_over("data sets", s.datasets),
    ("McNemar exact", "rows"): lambda s: mcnemar_test(*s.rows[:2]),
    ("McNemar mid-p", "rows"): lambda s: mcnemar_test(*s.rows[:2], variant="mid-p"),
    ("McNemar chi2", "rows"): lambda s: mcnemar_test(*s.rows[:2], variant="chi2"),
    ("McNemar continuity", "rows"): lambda s: mcnemar_test(*s.rows[:2], variant="continuity"),
}


def rejection_rates(
    design: SimulationDesign,
    simulations: int,
    rng: np.random.Generator,
    tests: Mapping[tuple[str, str], Callable[[SimulatedScores], Comparison | Friedman]] = TESTS,
) -> dict[tuple[str, str], float]:
    """The share of simulations in which each test rejects at its level.

    Examples
    --------
    >>> rates = rejection_rates(SimulationDesign(100, advantage=0.5), 20, np.random.default_rng(0))
    >>> rates["corrected resampled t", "repeats"] > 0.5  # the first learner is far better
    True
    """
    counts = dict.fromkeys(tests, 0)
    for _ in range(simulations):
        scored = simulate_scores(design, rng)
        for key, test in tests.items():
            counts[key] += test(scored).rejected
    return {key: count / simulations for key, count in counts.items()}


def main(simulations: int = 2000) -> None:
    """Print the rejection rates of equal learners, design by design."""
    rates = {name: rejection_rates(design, simulations, np.random.default_rng(0)) for name, design in DESIGNS.items()}
    print(f"{'test':24}{'over':10}" + "".join(f"{name:>12}" for name in DESIGNS))
    for test, over in TESTS:
        print(f"{test:24}{over:10}" + "".join(f"{rates[name][test, over]:12.1%}" for name in DESIGNS))


if __name__ == "__main__":
    main(*map(int, sys.argv[1:]))
