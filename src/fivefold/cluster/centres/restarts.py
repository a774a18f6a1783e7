"""Restarts: alternate assignment and update from several starts, and keep the end with the smallest objective."""

from __future__ import annotations

from collections.abc import Callable, Iterator
from dataclasses import KW_ONLY, replace
from typing import Any, Literal, Protocol, runtime_checkable

import numpy as np
from sklearn.exceptions import ConvergenceWarning
from sklearn.utils import check_array

from fivefold.cluster.centres.prototypes import CentresModel, PrototypeClusterer, RunRecord
from fivefold.core.chunks.chunked_array import is_chunked, sum_over_chunks
from fivefold.core.console.fit_progress import fit_steps, warn_kept_best
from fivefold.core.console.user_warnings import warn
from fivefold.core.estimators.base import learned
from fivefold.core.estimators.params import Count, Index, NonNegative, Seed
from fivefold.core.numerics.arrays import is_tensor, numpy_dtype, to_numpy
from fivefold.core.numerics.tensors import weight_by_code
from fivefold.core.random_state import check_random_state
from fivefold.core.types import Codes, Matrix, Rng, Table, UserTable, Weights
from fivefold.spatial.centres.chunked_lloyd import (
    ChunkedPoints,
    chunked_distinct_seeds,
    chunked_lloyd,
    chunked_seeds,
    points_of,
)
from fivefold.spatial.centres.lloyd import CentreUpdate, LloydResult, Monitor, alternate_updates, mean_update
from fivefold.spatial.centres.seeding import distinct_seeds, plusplus_seeds
from fivefold.spatial.tensor_points import AnyPoints

SEED_RULES = {"k-means++": plusplus_seeds, "random": distinct_seeds}
CHUNKED_SEED_RULES = {"k-means++": chunked_seeds, "random": chunked_distinct_seeds}
RANDOM_RUNS = 10  # runs of n_init="auto" where each start is left to chance
IMPROVEMENT_RATIO = 1 - 1e-9  # a run replaces the best so far if its objective is below this share of the other's


@runtime_checkable
class ArrayConvertible(Protocol):
    """Whatever NumPy can read as a table: arrays, frames, tensors."""

    def __array__(self) -> np.ndarray[Any, Any]: ...


Init = Literal["k-means++", "random"] | Callable[..., Any] | ArrayConvertible | list[Any] | tuple[Any, ...]
StartRule = Callable[[AnyPoints, Rng], Matrix]  # centres (K, d) from points and a random state


class HasClusters(Protocol):
    """A clusterer that is told how many clusters to make."""

    @property
    def n_clusters(self) -> Count: ...


class HasStarts(HasClusters, Protocol):
    """The parameters of a clusterer that decide where it starts, and how often."""

    @property
    def init(self) -> Init: ...
    @property
    def n_init(self) -> Count | Literal["auto"]: ...


class RestartedClusterer(PrototypeClusterer):
    """Base of clusterers that alternate assignment and update from several starts.

    Parameters
    ----------
    n_init
        runs from different starts, of which the one with the smallest sum (inertia, or cost of KMedians) is kept;
        "auto" makes one run with "k-means++" or given centres, ten otherwise.

    Attributes
    ----------
    runs_
        for each run its objective, its steps, and how far its clusters agree with those kept. The objective serves to
        compare runs; it is not an error rate.
    """

    n_clusters: Count = 8
    _: KW_ONLY
    init: Init = "k-means++"
    n_init: Count | Literal["auto"] = "auto"
    max_iter: Count = 300
    tol: NonNegative = 1e-4
    verbose: Index | bool = 0
    random_state: Seed = None

    cost_ = learned("cost")
    runs_ = learned("runs")


def check_enough_rows(estimator: HasClusters, X: Table) -> None:
    """Refuse to make more clusters than there are rows."""
    n, K = X.shape[0], estimator.n_clusters
    if n < K:
        raise ValueError(
            f"{type(estimator).__name__}: n_clusters={K} but X has only n_samples={n} rows of positive weight; "
            "ask for fewer clusters"
        )


def start_rule(
    estimator: HasStarts, X: Table, random_runs: int, n_clusters: int | None = None
) -> tuple[int, StartRule]:
    """How many runs to make, and the rule for the centres of each: n_clusters of the estimator, or as many as given.

    n_init="auto" makes `random_runs` runs where each start is left to chance, and one otherwise.
    """
    init, asked = estimator.init, estimator.n_init
    K = estimator.n_clusters if n_clusters is None else n_clusters
    if isinstance(init, str):
        once = init == "k-means++"
        seeds = (CHUNKED_SEED_RULES if is_chunked(X) else SEED_RULES)[init]
        return _runs(asked, 1 if once else random_runs), lambda points, rng: points.rows_as_given(seeds(points, K, rng))
    if callable(init):
        if is_chunked(X):
            raise ValueError(
                f"{type(estimator).__name__}: init is a function of all rows, and X is read in chunks; give the "
                "centres or 'k-means++'"
            )
        return _runs(asked, random_runs), lambda points, rng: _shaped(
            estimator, init(points.table, K, random_state=rng), X, K
        )
    given = _shaped(estimator, init, X, K)
    if _runs(asked, 1) > 1:
        name = type(estimator).__name__
        warn(f"{name}: init gives the centres, so one run is made instead of n_init={asked}", RuntimeWarning)
    return 1, lambda points, rng: given


def _runs(asked: int | Literal["auto"], auto: int) -> int:
    return auto if asked == "auto" else asked


def _shaped(estimator: HasStarts, C: UserTable, X: Table, K: int) -> Matrix:
    """Centres that a user gave, in the type of X; refused if their shape is wrong."""
    name, wanted = type(estimator).__name__, (K, X.shape[1])
    C = check_array(to_numpy(C), dtype=numpy_dtype(X.dtype), order="C", estimator=name, input_name="init")
    if C.shape != wanted:
        raise ValueError(
            f"{name}: init gives centres of shape {C.shape}; n_clusters and the columns of X need {wanted}"
        )
    return C


def best_run(
    estimator: RestartedClusterer,
    X: Table,
    w: Weights,
    update: CentreUpdate,
    objective: Callable[[LloydResult], float],
) -> tuple[CentresModel, Codes]:
    """The model and the labels of the run, of several, that ends with the smallest objective."""
    check_enough_rows(estimator, X)
    points, dtype, shown = points_of(X, w), numpy_dtype(X.dtype), 0
    word = "inertia" if update is mean_update else "cost"
    rng = check_random_state(estimator.random_state)
    runs, start = start_rule(estimator, X, RANDOM_RUNS)
    done: list[LloydResult] = []
    with fit_steps(estimator, "step", runs * estimator.max_iter, X) as monitor:

        def watch(centres: Matrix, value: float) -> bool:
            nonlocal shown
            if estimator.verbose:
                print(f"Iteration {shown}, {word} {value}")
                shown += 1
            return monitor(lambda: CentresModel(centres.astype(dtype), value, np.nan, 0), value)

        for fit in _fits(estimator, points, start, runs, rng, update, watch):
            done.append(fit)
            if estimator.verbose:
                _print_end(fit, shown, word, estimator.tol * points.variance)
                shown = 0
    best = done[0]
    for fit in done[1:]:
        best = fit if objective(fit) < IMPROVEMENT_RATIO * objective(best) else best
    if done[-1].reason == "interrupted":
        warn_kept_best(estimator, sum(fit.n_iter for fit in done), "step")
    warn_empty_clusters(estimator, best.n_filled)
    agreement = (
        1.0 if fit is best else adjusted_rand_index(fit.labels, best.labels, points.w, estimator.n_clusters)
        for fit in done
    )
    records = tuple(RunRecord(objective(fit), fit.n_iter, same) for fit, same in zip(done, agreement, strict=True))
    return CentresModel(best.centres.astype(dtype), best.inertia, best.cost, best.n_iter, records), best.labels


def _fits(
    estimator: RestartedClusterer,
    points: AnyPoints,
    start: StartRule,
    runs: int,
    rng: Rng,
    update: CentreUpdate,
    watch: Monitor,
) -> Iterator[LloydResult]:
    """One fit after the other, until all are made or one is stopped; Ctrl-C between two ends them."""
    tol, last = estimator.tol * points.variance, None
    for run in range(1, runs + 1):
        try:
            C = start(points, rng)
        except KeyboardInterrupt:
            if last is None:
                raise
            yield replace(last, reason="interrupted")
            return
        if estimator.verbose:
            print("Initialization complete" + (f": run {run} of {runs}" if runs > 1 else ""))
        if isinstance(points, ChunkedPoints):
            last = chunked_lloyd(points, C, tol, estimator.max_iter, watch)
        else:
            last = alternate_updates(points, C, tol, estimator.max_iter, update, watch)
        yield last
        if last.reason in ("stopped", "interrupted"):
            return


def _print_end(fit: LloydResult, shown: int, word: str, tol: float) -> None:
    """Print the last lines of a run, in scikit-learn's words: steps that were not monitored, and why it ended."""
    for i in range(shown, len(fit.history)):
        print(f"Iteration {i}, {word} {fit.history[i]}")
    if fit.reason == "converged":
        why = f"center shift {fit.shift} within tolerance {tol}" if fit.shift else "strict convergence"
        print(f"Converged at iteration {fit.n_iter - 1}: {why}.")


def warn_empty_clusters(estimator: HasClusters, found: int) -> None:
    """Warn if some clusters hold no row."""
    if found < estimator.n_clusters:
        warn(
            f"{type(estimator).__name__}: only {found} of n_clusters={estimator.n_clusters} clusters hold rows, as X "
            "has too few distinct rows. Ask for fewer clusters",
            ConvergenceWarning,
        )


def _joint_weights(a: Codes, b: Codes, w: Weights, K: int) -> Matrix:
    """The weight of the rows by their labels in two clusterings (K, K)."""
    both = K * (a.long() if is_tensor(a) else a.astype(np.int64)) + b
    return weight_by_code(both, w, K * K).reshape(K, K)


def adjusted_rand_index(a: Codes, b: Codes, w: Any, K: int) -> float:
    """Rand index of two clusterings of weighted rows, adjusted for chance (Hubert & Arabie, 1985), as n grows."""
    table = sum_over_chunks(lambda a, b, w: _joint_weights(a, b, w, K), a, b, w) / float(w.sum())
    both, one, other = (table**2).sum(), (table.sum(axis=1) ** 2).sum(), (table.sum(axis=0) ** 2).sum()
    most, chance = (one + other) / 2, one * other
    return 1.0 if most == chance else min(1.0, float((both - chance) / (most - chance)))
