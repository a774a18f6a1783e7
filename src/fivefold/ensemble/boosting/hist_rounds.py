"""Rounds of boosting with histogram trees: columns are binned once, then each round fits trees to the gradients.

    F <- F + learning_rate * tree(g, h)

The score of held-out rows, or of the training rows, decides when to stop: when none of the last `n_iter_no_change`
rounds beat the score before them by `tol`.
"""

from __future__ import annotations

import copy
from contextlib import ExitStack
from dataclasses import dataclass, field, replace
from functools import partial
from typing import Any

import numpy as np
from sklearn.metrics import check_scoring
from sklearn.model_selection import train_test_split

from fivefold.core.chunks.chunked_array import (
    every_row,
    is_chunked,
    mapped_array,
    row_bytes_limit,
    rows_at,
    subset,
    uniform_by_row,
)
from fivefold.core.console.fit_progress import fit_steps, warn_kept_best
from fivefold.core.console.user_warnings import warn
from fivefold.core.estimators.params import Seed
from fivefold.core.numerics.arrays import is_tensor, to_device_of, to_numpy
from fivefold.core.parallel import are_whole, take_rows
from fivefold.core.types import Doubles, Indices, Mask, Matrix, Rng, Table, Target, Weights
from fivefold.ensemble.boosting.boosted_trees import BoostedTrees, BoostedTreesBuilder
from fivefold.ensemble.boosting.boosting_losses import BoostingLoss
from fivefold.ensemble.boosting.column_settings import ColumnSettings
from fivefold.ensemble.boosting.device_boosting import rows_on_device
from fivefold.ensemble.boosting.gradient_rows import GradientRows, GrowthSettings, LocalRows, share_rows
from fivefold.partition.growers.histogram_grower import HistogramLimits
from fivefold.partition.histograms.bins import Allocation, Bins, find_bins
from fivefold.partition.histograms.histogram_loops import MAX_ROWS

# early_stopping="auto" stops early above this many rows; also the most training rows that a scorer sees
EARLY_STOPPING_ROWS = 10_000
MAX_STRATIFIED_ROWS = 2_000_000  # of a table in chunks: from more, rows are held back without a look at their classes


@dataclass(frozen=True)
class TrainingRows:
    """A table with its targets and weights."""

    X: Table
    y: Target
    w: Weights
    allocate: Allocation = np.empty  # of arrays with an entry per row
    chunked: tuple[Any, Any] | None = None  # targets and weights of a table in chunks, as they are read with it

    @classmethod
    def of(cls, X: Table, y: Target, w: Weights) -> TrainingRows:
        """The rows; of a table in chunks, targets and weights are read, and large arrays are mapped from files."""
        if not is_chunked(X):
            return cls(X, to_numpy(y), np.ascontiguousarray(to_numpy(w)))  # weights nobody gave are one number
        targets, weights = every_row(y, w)
        return cls(X, targets, weights, partial(mapped_array, max_bytes=row_bytes_limit(X)), (y, w))

    def take(self, rows: Indices) -> TrainingRows:
        """Some of the rows, on the host; those of a table in chunks are read."""
        X = rows_at(self.X, rows) if is_chunked(self.X) else to_numpy(_rows_of(self.X, rows))
        return TrainingRows(X, self.y[rows], self.w[rows])

    def keep(self, rows: Indices) -> TrainingRows:
        """Some of the rows; those of a table in chunks stay where they are."""
        if not is_chunked(self.X):
            return TrainingRows(_rows_of(self.X, rows), self.y[rows], self.w[rows])
        kept: Mask = np.zeros(len(self.y), dtype=bool)
        kept[rows] = True
        return replace(self, X=subset(self.X, kept), y=self.y[rows], w=self.w[rows])

    def hold_back(self, share: float, target: BoostingLoss, random_state: Seed) -> tuple[TrainingRows, TrainingRows]:
        """The rows to learn from, and a share or number of them held back, by class where there are classes."""
        if is_chunked(self.X) and len(self.y) > MAX_STRATIFIED_ROWS:
            n, seed = len(self.y), random_state if isinstance(random_state, int) else 0
            apart = uniform_by_row(seed, 0, n) < (share if share < 1 else share / n)
            return self.keep(np.flatnonzero(~apart)), self.take(np.flatnonzero(apart))
        kept, held = train_test_split(
            np.arange(self.X.shape[0]),
            test_size=share,
            stratify=self.y if target.classes else None,
            random_state=random_state,
        )
        return self.keep(np.sort(kept)), self.take(np.sort(held))


@dataclass
class _ScoreHistory:
    """Scores after each round, on the training rows and on the held-out rows."""

    judge: Any  # a scorer of scikit-learn; None for the loss
    watched: TrainingRows
    held: TrainingRows | None
    train: list[float] = field(default_factory=list)
    validation: list[float] = field(default_factory=list)

    @property
    def deciding(self) -> list[float]:
        return self.train if self.held is None else self.validation


def boost_histogram_trees(
    estimator: Any,  # HistGradientBoostingClassifier or HistGradientBoostingRegressor, whose module imports this one
    rows: TrainingRows,
    held: TrainingRows | None,
    target: BoostingLoss,
    columns: ColumnSettings,
    seed: int,
    earlier: BoostedTrees | None,
) -> BoostedTrees:
    """Fit round after round, after those of an earlier fit if one is given.

    `held` are rows given for validation; otherwise some are held back if it is asked for.
    """
    early = len(rows.X) > EARLY_STOPPING_ROWS if estimator.early_stopping == "auto" else bool(estimator.early_stopping)
    if early and held is None and estimator.validation_fraction is not None:
        rows, held = rows.hold_back(estimator.validation_fraction, target, seed)
    return _HistogramRounds(estimator, rows, held if early else None, target, columns, seed, early, earlier).run()


class _HistogramRounds:
    def __init__(
        self,
        estimator: Any,  # as in `boost_histogram_trees`
        rows: TrainingRows,
        held: TrainingRows | None,
        target: BoostingLoss,
        columns: ColumnSettings,
        seed: int,
        early: bool,
        earlier: BoostedTrees | None,
    ) -> None:
        self.estimator, self.rows, self.held, self.target, self.early = estimator, rows, held, target, early
        self.seed = seed
        rng = np.random.RandomState(seed)
        self.bins = _bins(estimator, rows, columns, rng) if earlier is None else earlier.bins
        limits = HistogramLimits(
            max_leaves=estimator.max_leaf_nodes or 0,
            max_depth=2**31 - 1 if estimator.max_depth is None else estimator.max_depth,
            min_rows=estimator.min_samples_leaf,
            ridge=float(estimator.l2_regularization),
            column_share=float(estimator.max_features),
        )
        base = np.asarray(target.start(rows.y, rows.w), dtype=np.float64) if earlier is None else earlier.base
        self.builder = BoostedTreesBuilder(self.bins, base, earlier)
        self.first = 0 if earlier is None else earlier.rounds
        count = float(rows.w.sum())
        repeated = are_whole(rows.w) and count <= MAX_ROWS
        settings = GrowthSettings(
            bins=self.bins,
            limits=limits,
            signs=columns.signs,
            interaction_sets=columns.interaction_sets,
            integer_weights=repeated,
            max_count=int(count) if repeated else 0,
        )
        self.data = self._rows(settings, base, earlier)
        self.scores = self._judge(earlier) if early else None

    def _rows(self, settings: GrowthSettings, base: Doubles, earlier: BoostedTrees | None) -> GradientRows:
        """The rows with their scores: among workers where they are, except for losses whose leaves are quantiles."""
        rows, target = self.rows, self.target
        if rows.chunked is not None and target.leaf_constant is None:
            shared = share_rows(rows.X, *rows.chunked, settings, target, base)
            if shared is not None:
                return shared
        if is_tensor(rows.X):
            return rows_on_device(rows.X, rows.y, rows.w, settings, target, base)
        codes = self.bins.codes(rows.X, rows.allocate)
        F = base[:, None] if earlier is None else earlier.sums(rows.X)
        return LocalRows(settings, codes, rows.y, rows.w, target, F, rows.allocate)

    def run(self) -> BoostedTrees:
        """All rounds, or those until the score stops improving."""
        e, done = self.estimator, self.first

        def model() -> BoostedTrees:
            return self.builder.model()

        sample_loss = self.data.sample_loss
        with ExitStack() as stack, fit_steps(e, "round", e.max_iter - self.first, self.rows.X) as monitor:
            stack.callback(self.data.close)
            try:
                while done < e.max_iter:
                    self._round(done)
                    done += 1
                    if e.verbose:
                        print(f"{type(e).__name__}: round {done} of at most {e.max_iter}, loss {sample_loss():.6g}")
                    if (self.scores is not None and self._stop()) or monitor(model, sample_loss):
                        break
            except KeyboardInterrupt:
                warn_kept_best(e, done, "round")
        return self._model()

    def _round(self, i: int) -> None:
        self.data.update_gradients()
        for k in range(self.target.trees_per_round):
            seed = (self.seed + i * self.target.trees_per_round + k) % 2**32
            tree = self.data.grow(k, seed)
            value = self.estimator.learning_rate * tree.value
            self.data.add(k, value)
            self.builder.add_tree(tree, value)

    def _judge(self, earlier: BoostedTrees | None) -> _ScoreHistory:
        e = self.estimator
        if e.scoring == "loss":
            judge, watched = None, self.rows
            self.F_held = None if self.held is None else self._start(earlier, self.held.X)
            self.Z_held = None if self.held is None else self.bins.levels(self.held.X)
            self.held_scratch = None if self.held is None else np.empty((2, len(self.held.w)))
        else:
            judge = check_scoring(e, e.scoring)
            n = len(self.rows.X)
            some = (
                np.random.RandomState(self.seed).choice(n, EARLY_STOPPING_ROWS, replace=False)
                if n > EARLY_STOPPING_ROWS
                else np.arange(n)
            )
            watched = self.rows.take(np.sort(some))
        scores = _ScoreHistory(judge, watched, self.held)
        if earlier is not None:
            scores.train, scores.validation = list(earlier.train_score), list(earlier.validation_score)
        else:
            self._score(scores)
        return scores

    def _start(self, earlier: BoostedTrees | None, X: Table) -> Matrix:
        return np.repeat(self.builder.base[:, None], len(X), axis=1) if earlier is None else earlier.sums(X)

    def _score(self, scores: _ScoreHistory) -> None:
        if scores.judge is None:
            scores.train.append(-self.data.loss())
            if self.held is not None and self.F_held is not None:
                scores.validation.append(-self.target.value(self.held.y, self.F_held, self.held.w, self.held_scratch))
            return
        probe = copy.copy(self.estimator)
        probe.model_, probe._admit = self.builder.model(), lambda X: X  # its rows are already admitted
        for rows, out in ((scores.watched, scores.train), (scores.held, scores.validation)):
            if rows is not None:
                y = self.estimator.classes_[rows.y.astype(int)] if self.target.classes else rows.y
                out.append(float(scores.judge(probe, rows.X, y, sample_weight=rows.w)))

    def _stop(self) -> bool:
        """Record the scores of the last round; is it time to stop?"""
        scores, e = self.scores, self.estimator
        assert scores is not None
        if scores.judge is None and self.F_held is not None:
            rounds = self.builder.rounds
            self.builder.model().add(self.Z_held, rounds - 1, rounds, self.F_held)
        self._score(scores)
        recent = scores.deciding[-e.n_iter_no_change - 1 :]
        return len(recent) > e.n_iter_no_change and max(recent[1:]) <= recent[0] + e.tol

    def _model(self) -> BoostedTrees:
        scores = self.scores
        train, validation, rounds = [], [], self.builder.rounds
        if scores is not None:
            train, validation = scores.train, scores.validation
            if self.estimator.keep_best:
                rounds = max(1, int(np.argmax(scores.deciding[: rounds + 1])))
        found = self.builder.model(
            rounds,
            train_score=np.array(train),
            validation_score=np.array(validation),
            stopping=self.early,
            seed=self.seed,
        )
        return replace(found, **{name: getattr(found, name).copy() for name in self.builder.arrays})


def _rows_of(X: Table, rows: Indices) -> Table:
    """Some rows of a table in memory."""
    return take_rows(X, rows) if isinstance(X, np.ndarray) else X[to_device_of(rows, X)]


def _bins(estimator: Any, rows: TrainingRows, columns: ColumnSettings, rng: Rng) -> Bins:  # as in the rounds
    bins = find_bins(rows.X, rows.w, estimator.max_bins, columns.categorical, rng)
    for f, count in bins.pooled():
        levels = len(bins.place[f])
        warn(
            f"{type(estimator).__name__}: column {f} has {levels} levels and there are {estimator.max_bins} bins: its "
            f"{count} rarest levels share one"
        )
    return bins
