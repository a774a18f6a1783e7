"""The losses of pairs that rankers minimise, and how.

    min over w of   1/2 |w|^2 + C sum over pairs (u, v) of  loss(w'x_u - w'x_v)         u has a higher grade than v

It is the classification of the differences x_u - x_v, all of one class, without a bias, which cancels. The smooth
losses are minimised over w without writing the differences out: Newton's method on a sample of the pairs, then L-BFGS
with the sample's Hessian; each pass computes sums over pairs from the scores (`pair_loops`). The hinge has one
multiplier per pair, and is solved on the differences.
"""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import KW_ONLY
from typing import Literal

import numpy as np
from sklearn.exceptions import ConvergenceWarning

from fivefold.core.blas_threads import one_blas_thread
from fivefold.core.console.fit_progress import fit_steps, warn_kept_best
from fivefold.core.console.user_warnings import warn
from fivefold.core.estimators.params import Count, NonNegative, Positive, Seed
from fivefold.core.random_state import check_random_state
from fivefold.core.types import Array, Table
from fivefold.optim.design import Design
from fivefold.optim.empirical_risk import EmpiricalRisk
from fivefold.optim.losses.base import Loss
from fivefold.optim.losses.margin_losses import HingeLoss, LogLoss, SquaredHingeLoss
from fivefold.optim.minimise import minimise
from fivefold.optim.objective import Minimum
from fivefold.optim.risk_minimisation.linear_svm_solvers import solve_svm
from fivefold.optim.risk_minimisation.subsample_start import start_from_subsample
from fivefold.optim.smooth.lbfgs import LBFGS
from fivefold.rank.base import Ranker
from fivefold.rank.pairwise.pair_loops import PairHinge
from fivefold.rank.pairwise.pair_risk import PairRisk
from fivefold.rank.pairwise.ranking_pairs import Queries

LOSSES: dict[str, Loss] = {"squared_hinge": SquaredHingeLoss(), "hinge": HingeLoss(), "log": LogLoss()}
SAMPLE_PAIRS = 8000  # pairs in the sample that gives the start and its Hessian
MAX_DENSE_COLUMNS = 1000  # with more columns the Hessian of the sample is too costly to factor
MAX_DIFFERENCE_CELLS = 2**28  # numbers in the table of differences at most: 2 GiB
TOLERANCE_FACTOR = 1e-3  # `solve_svm` takes liblinear's tolerance and multiplies it by this


class PairLossRanker(Ranker):
    """Minimises a penalty and the losses of pairs.

    Parameters
    ----------
    C
        weight of the pairs' losses relative to the penalty; the larger, the fewer pairs out of order.
    loss
        "squared_hinge", "hinge", or "log" for the probability that a pair is in order.
    tol
        tolerance: the size of the gradient relative to that at zero; for "hinge" the relative duality gap.
    max_iter
        maximum number of steps of the solver.
    random_state
        seed of the order in which pairs are visited, for "hinge" with many columns.
    """

    C: Positive = 1.0
    _: KW_ONLY
    loss: Literal["squared_hinge", "hinge", "log"] = "squared_hinge"
    tol: NonNegative = 1e-8
    max_iter: Count = 1000
    random_state: Seed = None

    def _minimise_pairs(self, X: Table, queries: Queries, model: Callable[[Array], object]) -> Minimum:
        """The coefficients of the least loss, with warnings; `model` of coefficients is what a callback sees."""
        with fit_steps(self, "step", self.max_iter, X) as monitor, one_blas_thread():

            def report(x: Array, value: float) -> bool:
                return monitor(model(x), value)

            found = ROUTES[self.loss](self, X, queries, report)
        _warn_outcome(self, found, X)
        return found


def _smooth(ranker: PairLossRanker, X: Table, queries: Queries, monitor: Callable[[Array, float], bool]) -> Minimum:
    loss = LOSSES[ranker.loss]
    terms = PairHinge(1.0, squared=True) if isinstance(loss, SquaredHingeLoss) else loss
    risk = PairRisk(terms, Design(X, intercept=False), queries, ranker.C)
    x0, inverse = np.zeros(X.shape[1]), None
    enough = ranker.tol * risk.violation(x0)
    if X.shape[1] <= MAX_DENSE_COLUMNS:
        x0, inverse = start_from_subsample(_differences(ranker, X, queries, SAMPLE_PAIRS), x0, SAMPLE_PAIRS)
    return minimise(risk, x0, LBFGS(inverse=inverse), tol=enough, max_iter=ranker.max_iter, monitor=monitor)


def _on_differences(
    ranker: PairLossRanker, X: Table, queries: Queries, monitor: Callable[[Array, float], bool]
) -> Minimum:
    pairs = int(queries.counts[-1])
    width = X.nnz / X.shape[0] if Design(X).sparse else X.shape[1]
    if pairs * width > MAX_DIFFERENCE_CELLS:
        raise ValueError(
            f"{type(ranker).__name__}: loss='hinge' has one multiplier per pair, and the queries hold {pairs} pairs. "
            "Take loss='squared_hinge', which needs no memory for pairs, or give shorter queries in `groups`"
        )
    seed = check_random_state(ranker.random_state).randint(2**31 - 1)
    with np.errstate(divide="ignore"):  # a multiplier at its bound divides by zero: the loop detects divergence
        return solve_svm(
            _differences(ranker, X, queries), ranker.tol / TOLERANCE_FACTOR, ranker.max_iter, seed, monitor
        )


def _differences(ranker: PairLossRanker, X: Table, queries: Queries, most: int | None = None) -> EmpiricalRisk:
    """The problem as a classification of differences: all pairs, or at most this many, reweighted to count as all."""
    pairs = queries.pairs(most)
    D = pairs.differences(X.astype(np.float64))
    ones = np.ones(len(pairs))
    return EmpiricalRisk(
        LOSSES[ranker.loss], Design(D, intercept=False), ones, ranker.C * pairs.weight, np.ones(X.shape[1])
    )


ROUTES = {"squared_hinge": _smooth, "log": _smooth, "hinge": _on_differences}


def _warn_outcome(ranker: PairLossRanker, found: Minimum, X: Table) -> None:
    if found.reason == "interrupted":
        warn_kept_best(ranker, found.steps, "step")
    elif found.reason == "diverged":
        size = np.asarray(abs(X).max(axis=0).toarray() if Design(X).sparse else np.abs(X).max(axis=0)).ravel()
        warn(
            f"{type(ranker).__name__}: no minimum was found; the largest entries of column {int(size.argmax())} and "
            f"column {int(size.argmin())} are {size.max():.3g} and {size.min():.3g}. Scale the columns, or take "
            "loss='squared_hinge'",
            ConvergenceWarning,
        )
    elif found.reason == "max_iter":
        warn(
            f"{type(ranker).__name__}: max_iter={ranker.max_iter} steps were not enough for tol={ranker.tol:g}; raise "
            "max_iter, or scale the columns",
            ConvergenceWarning,
        )
