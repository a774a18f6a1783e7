"""How often `compare_with_best` calls an equal learner worse, and how often a worse one, by simulation.

The learners and designs are those of `rejection_rates`: nearest means on columns of their own, all with the same
distances between the classes, so that no learner is better than another; with an `advantage` the first one is. Every
table is split as a study splits it, twice into five folds, and the whole procedure is run: winner, both sources,
family, margin. Three losses of a row with margin z, y times the log odds that the learner gives:

zero-one    [z <= 0]
log loss    log(1 + exp(-z))
heavy       min(log(1 + exp(-SHARPNESS z)), -log MIN_PROBABILITY)      far too sure: few rows decide the mean

An error of type I is a study of equal learners in which any of them is called worse. Power is the share of the worse
learners that are called so while the better one is the winner. Both are also measured for all pairs by the corrected
resampled t with Holm's adjustment (`compare_all`), the usual procedure.
"""

from __future__ import annotations

from collections.abc import Callable, Mapping
from dataclasses import dataclass, replace

import numpy as np

from fivefold.core.types import Array, Matrix, Vector
from fivefold.evaluation.comparison.all_pairs import compare_all
from fivefold.evaluation.comparison.with_best import RowLosses, compare_with_best
from fivefold.evaluation.experiments.rejection_rates import SimulationDesign, fold_masks, row_margins
from fivefold.evaluation.scores import MIN_PROBABILITY

FOLDS, REPEATS = 5, 2
SHARPNESS = 10.0  # how much too sure the probabilities behind the heavy-tailed loss are
SIMULATION_DRAWS = 999  # bootstrap draws per simulated study

LOSSES: Mapping[str, Callable[[Array], Array]] = {
    "zero-one": lambda z: (z <= 0).astype(float),
    "log loss": lambda z: np.logaddexp(0.0, -z),
    "heavy": lambda z: np.minimum(np.logaddexp(0.0, -SHARPNESS * z), -np.log(MIN_PROBABILITY)),
}


@dataclass(frozen=True)
class VerdictRates:
    """Shares of the simulated studies."""

    false_worse: float  # equal learners, any called worse: error of type I
    false_worse_pairs: float  # the same for all pairs with Holm's adjustment
    power: float  # worse learners called worse, the better one being the winner
    power_pairs: float


def simulate_study(design: SimulationDesign, loss: str, rng: np.random.Generator) -> tuple[Matrix, Matrix]:
    """Mean losses on the splits, (splits, learners), and losses of the rows over the repeats, (rows, learners)."""
    X, y = design.draw(rng)
    test = fold_masks(design.rows, FOLDS, REPEATS, rng)  # (splits, rows)
    losses = LOSSES[loss](row_margins(X, y, test)) * test  # (learners, splits, rows)
    return (losses.sum(axis=2) / test.sum(axis=1)).T, losses.sum(axis=1).T / REPEATS


def called_worse(splits: Matrix, rows: Matrix, rng: np.random.Generator, *, margin: float = 0.0) -> tuple[int, Array]:
    """The winner, and by both procedures which learners are called worse, (2, learners)."""
    ratio = 1 / (FOLDS - 1)
    n, K = rows.shape
    found = RowLosses(rows, np.arange(n), n / FOLDS)
    best, verdicts = compare_with_best(splits, ratio, found, margin=margin, rng=rng, draws=SIMULATION_DRAWS)
    ours = [verdict is not None and verdict.outcome == "worse" for verdict in verdicts]
    pairs = compare_all({str(k): splits[:, k] for k in range(K)}, 1.0, ratio)
    theirs = [k != best and pairs.pair(str(best), str(k)).rejected for k in range(K)]
    return best, np.array([ours, theirs])


def verdict_rates(
    design: SimulationDesign, loss: str, advantage: float, simulations: int, *, seed: int = 0, margin: float = 0.0
) -> VerdictRates:
    """Both rates of both procedures; the power is that for this advantage of the first learner.

    Examples
    --------
    >>> rates = verdict_rates(SimulationDesign(200), "zero-one", 0.3, 20)
    >>> rates.false_worse < 0.2, rates.power > 0.9
    (True, True)
    """
    sums = verdict_sums(design, loss, advantage, range(simulations), seed=seed, margin=margin)
    return VerdictRates(*(sums / simulations).tolist())


def verdict_sums(
    design: SimulationDesign, loss: str, advantage: float, simulations: range, *, seed: int = 0, margin: float = 0.0
) -> Vector:
    """The rates of these simulations, in the order of VerdictRates, summed; each simulation has a stream of its own."""
    sums = np.zeros((2, 2))
    ahead = replace(design, advantage=advantage)
    for simulation in simulations:
        rng = np.random.default_rng([seed, simulation])
        sums[0] += called_worse(*simulate_study(design, loss, rng), rng, margin=margin)[1].any(axis=1)
        best, worse = called_worse(*simulate_study(ahead, loss, rng), rng, margin=margin)
        sums[1] += worse[:, 1:].mean(axis=1) * (best == 0)
    return sums.ravel()
