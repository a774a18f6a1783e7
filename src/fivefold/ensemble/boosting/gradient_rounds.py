"""Rounds of gradient boosting with exact trees: sort the columns once, fit a tree to the gradients, refit its leaves.

    r_i = -loss'(y_i, F(x_i));   a tree of r by least squares;   F <- F + nu * (best step of the loss in each leaf)

With `subsample` below one a round sees a sample of the rows; the others measure its improvement.
"""

from __future__ import annotations

import time
from collections.abc import Callable
from dataclasses import dataclass, replace
from functools import cached_property
from typing import Any, TypeAlias

import numpy as np
from numpy.typing import NDArray
from scipy.special import logit
from sklearn.utils.validation import has_fit_parameter

from fivefold.core.console.fit_progress import fit_steps, warn_kept_best
from fivefold.core.random_state import check_random_state
from fivefold.core.types import Array, Indices, Mask, Matrix, Table, Weights
from fivefold.ensemble.boosting.boosted_trees import SET_WORDS, BoostedTrees, BoostedTreesBuilder
from fivefold.ensemble.boosting.boosting_losses import PROBABILITY_MARGIN, BoostingLoss, weighted_quantile
from fivefold.ensemble.boosting.hist_rounds import TrainingRows
from fivefold.ensemble.members.bootstrap_bag import Bag
from fivefold.ensemble.members.inner_estimators import InnerEstimator, check_learner, fit_clone
from fivefold.optim.losses.margin_losses import ExponentialLoss, LogLoss
from fivefold.optim.losses.regression_losses import HuberLoss, SquaredLoss
from fivefold.partition.criteria.regression_criteria import SquaredError
from fivefold.partition.growers.binary_grower import grow
from fivefold.partition.growers.histogram_grower import HistogramTree
from fivefold.partition.histograms.bins import Bins
from fivefold.partition.splitters.presorted_splitter import PresortedSplitter, presort
from fivefold.partition.tree_arrays.binary_tree import Tree
from fivefold.partition.tree_arrays.node_hierarchy import shares_of_total
from fivefold.tree.decision_tree import DecisionTreeRegressor
from fivefold.tree.shared.base import TreeModel, columns_tried, growth_limits

TREE_SETTINGS = (
    "max_depth",
    "min_samples_split",
    "min_samples_leaf",
    "min_weight_fraction_leaf",
    "max_features",
    "max_leaf_nodes",
    "min_impurity_decrease",
    "ccp_alpha",
)

RoundMonitor: TypeAlias = Callable[..., bool | None]  # of the round, the estimator and {}; true stops the fit


@dataclass(frozen=True)
class ConstantStart:
    """Where boosting starts if no estimator is given: a constant."""

    base: Array  # (K,)


@dataclass(frozen=True)
class GradientModel:
    """A start, the trees, and the statistics of their nodes."""

    init: InnerEstimator  # a fitted one, "zero" or a ConstantStart
    target: str
    boosted: BoostedTrees
    answer: Array  # (nodes,) values, learning rate not included
    impurity: Array  # (nodes,)
    weight: Weights  # (nodes,)
    train_score: Array  # (rounds,)
    tried: int  # columns tried at each node
    oob_scores: Any = ()  # array (rounds,); empty without subsample
    oob_improvement: Any = ()  # as `oob_scores`
    settings: tuple[tuple[int, dict[str, Any]], ...] = ()  # (first round, parameters of its trees and of later ones)

    @cached_property
    def estimators(self) -> NDArray[np.object_]:
        """(rounds, K) fitted decision trees."""
        b, K = self.boosted, len(self.boosted.base)
        out = np.empty((b.rounds, K), dtype=object)
        for t in range(b.rounds * K):
            out[t // K, t % K] = self._tree(t)
        return out

    @property
    def trees(self) -> int:
        """Trees per round."""
        return len(self.boosted.base)

    @property
    def rounds(self) -> int:
        """Rounds of boosting."""
        return self.boosted.rounds

    @property
    def oob_score(self) -> float:
        """The last of the scores out of the bag."""
        return float(self.oob_scores[-1])

    @cached_property
    def importances(self) -> Array:
        """Share of each column in the decrease of the squared error, averaged over the trees that have a split."""
        b, total = self.boosted, self.weight * self.impurity
        inner = np.flatnonzero(b.feature >= 0)
        tree = np.searchsorted(b.starts, inner, side="right") - 1
        decrease = (total[inner] - total[b.left[inner]] - total[b.right[inner]]) / self.weight[b.starts[tree]]
        out = np.asarray(np.bincount(b.feature[inner], decrease, len(b.bins.categorical)), dtype=np.float64)
        return shares_of_total(out)

    def _tree(self, t: int) -> DecisionTreeRegressor:
        b, part = self.boosted, slice(self.boosted.starts[t], self.boosted.starts[t + 1])
        left, right = (np.where(a[part] >= 0, a[part] - part.start, -1).astype(np.int32) for a in (b.left, b.right))
        depth = np.zeros(len(left), dtype=np.int32)
        for node in np.flatnonzero(left >= 0):  # preorder: parents come first
            depth[[left[node], right[node]]] = depth[node] + 1
        tree = Tree(
            feature=b.feature[part],
            threshold=b.threshold[part],
            left=left,
            right=right,
            missing_left=b.missing_left[part],
            depth=depth,
            rows=b.rows[part],
        )
        own = [given for first, given in self.settings if first <= t // self.trees]
        out = DecisionTreeRegressor(**(own[-1] if own else {}))
        out.n_features_in_ = len(b.bins.categorical)
        value = self.answer[part][:, None]
        out.model_ = TreeModel(tree, value, self.impurity[part], self.weight[part], out.n_features_in_, self.tried)
        return out


def initial_scores(init: InnerEstimator, target: BoostingLoss, X: Table) -> Matrix:
    """F (K, n) before the first round."""
    if isinstance(init, str):
        return np.zeros((target.trees_per_round, X.shape[0]))
    if isinstance(init, ConstantStart):
        return np.repeat(init.base[:, None], X.shape[0], axis=1)
    if not target.classes:
        return np.asarray(init.predict(X), dtype=np.float64).reshape(1, -1)
    P = np.clip(
        np.asarray(init.predict_proba(X), dtype=np.float64), PROBABILITY_MARGIN / 10, 1 - PROBABILITY_MARGIN / 10
    )
    if target.trees_per_round == 1:
        return logit(P[:, 1])[None] * (0.5 if isinstance(target.loss, ExponentialLoss) else 1.0)
    logs = np.log(P.T)
    return logs - logs.mean(axis=0)


def boost_exact_trees(
    estimator: Any,  # GradientBoostingClassifier or GradientBoostingRegressor, whose module imports this one
    rows: TrainingRows,
    target: BoostingLoss,
    monitor: RoundMonitor | None,
    earlier: GradientModel | None,
) -> GradientModel:
    """Fit round after round, after those of an earlier fit if one is given."""
    held = None
    if estimator.n_iter_no_change is not None:
        rows, held = rows.hold_back(estimator.validation_fraction, target, estimator.random_state)
    return _GradientRounds(estimator, rows, held, target, monitor, earlier).run()


class _Table:
    """What `verbose` prints, as in scikit-learn: with 1, rounds 1 to 10, every tenth to 100, and so on; with 2, all."""

    def __init__(self, verbose: int, out_of_bag: bool, first: int, last: int) -> None:
        self.all, self.first, self.last, self.every = verbose > 1, first, last, 1
        self.start = time.monotonic()
        names = ["Train Loss", *(["OOB Improve"] if out_of_bag else []), "Remaining Time"]
        print(f"{'Iter':>10} " + " ".join(f"{name:>16}" for name in names))

    def row(self, done: int, *losses: float) -> None:
        made = done - self.first
        if made % self.every:
            return
        remaining = (self.last - done) * (time.monotonic() - self.start) / made
        text = f"{remaining / 60:.2f}m" if remaining > 60 else f"{remaining:.2f}s"
        print(f"{done:>10d} " + " ".join(f"{loss:>16.4f}" for loss in losses) + f" {text:>16}")
        if not self.all and made >= 10 * self.every:
            self.every *= 10


class _GradientRounds:
    def __init__(
        self,
        estimator: Any,  # as in `boost_exact_trees`
        rows: TrainingRows,
        held: TrainingRows | None,
        target: BoostingLoss,
        watch: RoundMonitor | None,
        earlier: GradientModel | None,
    ) -> None:
        self.estimator, self.rows, self.held, self.target, self.watch = estimator, rows, held, target, watch
        (n, d), w = rows.X.shape, rows.w
        self.rng = check_random_state(estimator.random_state)
        self.init = self._init() if earlier is None else earlier.init
        self.columns = presort(rows.X)
        bins = Bins((), (), np.zeros(d, dtype=np.int64), np.zeros(d, dtype=bool))
        self.builder = BoostedTreesBuilder(
            bins, np.zeros(target.trees_per_round), None if earlier is None else earlier.boosted
        )
        self.F, self.F_held = self._start(rows.X, earlier), None if held is None else self._start(held.X, earlier)
        self.g, self.h = np.empty((2, target.trees_per_round, n))
        self.tried = columns_tried(estimator.max_features, d)
        self.nodes = [[a] for a in (earlier.answer, earlier.impurity, earlier.weight)] if earlier else [[], [], []]
        self.train = list(earlier.train_score) if earlier else []
        self.oob = (list(earlier.oob_scores), list(earlier.oob_improvement)) if earlier else ([], [])
        self.first = self.builder.rounds if not self.oob[0] else 0  # the first round that leaves rows out
        if earlier is not None and estimator.subsample < 1 and self.first:
            self.oob = [0.0] * self.first, [0.0] * self.first
        given = {name: getattr(estimator, name) for name in TREE_SETTINGS}
        self.settings = (*(earlier.settings if earlier else ()), (self.builder.rounds, given))
        self.history = np.full(estimator.n_iter_no_change or 1, np.inf)
        self.bag = Bag.of(rows.X, rows.y, w) if estimator.subsample < 1 else None
        self.factor = 2.0 if isinstance(target.loss, SquaredLoss | LogLoss) else 1.0  # deviances are twice the log loss

    def _start(self, X: Table, earlier: GradientModel | None) -> Matrix:
        F = initial_scores(self.init, self.target, X)
        if earlier is not None:
            earlier.boosted.add(X, 0, earlier.rounds, F)
        return F

    def _init(self) -> InnerEstimator:
        e, rows = self.estimator, self.rows
        if e.init is None:
            return ConstantStart(np.asarray(self.target.start(rows.y, rows.w), dtype=np.float64))
        if isinstance(e.init, str):
            if e.init != "zero":
                raise ValueError(f"{type(e).__name__}: init must be an estimator, 'zero' or None; got {e.init!r}")
            return e.init
        check_learner(e, e.init, "init", "predict_proba" if self.target.classes else "predict")
        y = e.classes_[rows.y.astype(int)] if self.target.classes else rows.y
        if not has_fit_parameter(e.init, "sample_weight"):
            if (rows.w != 1).any():
                raise ValueError(
                    f"{type(e).__name__}: The initial estimator {type(e.init).__name__} does not support sample "
                    "weights: fit without sample_weight, or give another init"
                )
            return fit_clone(e.init, rows.X, y, {})
        return fit_clone(e.init, rows.X, y, {"sample_weight": rows.w})

    def run(self) -> GradientModel:
        """All rounds, or those until the loss of the held-out rows stops falling."""
        e, done = self.estimator, self.builder.rounds
        table = _Table(e.verbose, self.bag is not None, done, e.n_estimators) if e.verbose else None
        with fit_steps(e, "round", e.n_estimators - done, self.rows.X) as monitor:
            try:
                while done < e.n_estimators:
                    self._round(done)
                    done += 1
                    if table is not None:
                        table.row(done, self.train[-1], *(self.oob[1][-1:] if self.bag is not None else ()))
                    if monitor(self._model(), self.train[-1]) or self._watched(done - 1) or self._stop(done - 1):
                        break
            except KeyboardInterrupt:
                warn_kept_best(e, done, "round")
        return self._model()

    def _watched(self, i: int) -> bool:
        if self.watch is None:
            return False
        self.estimator.model_ = self._model()
        return bool(self.watch(i, self.estimator, {}))

    def _stop(self, i: int) -> bool:
        if self.held is None or self.F_held is None:
            return False
        self.builder.model().add(self.held.X, i, i + 1, self.F_held)
        loss = self.factor * self.target.value(self.held.y, self.F_held, self.held.w)
        if not (loss + self.estimator.tol < self.history).any():
            return True
        self.history[i % len(self.history)] = loss
        return False

    def _round(self, i: int) -> None:
        y, w = self.rows.y, self.rows.w
        inside = w if self.bag is None else self._drawn()
        before = self._loss(w - inside) if self.bag is not None and i == self.first else (self.oob[0] or [0.0])[-1]
        if isinstance(self.target.loss, HuberLoss):
            delta = weighted_quantile(np.abs(y - self.F[0]), w, self.estimator.alpha, between=False)
            self.target = replace(self.target, loss=HuberLoss(max(delta, PROBABILITY_MARGIN)))
        self.target.gradients(y, self.F, w, self.g, self.h)
        for k in range(self.target.trees_per_round):
            self._add_tree(k, inside)
        self.train.append(self._loss(inside))
        if self.bag is not None:
            self.oob[0].append(self._loss(w - inside))
            self.oob[1].append(before - self.oob[0][-1])

    def _drawn(self) -> Weights:
        """The weight of each row in the sample of this round."""
        bag = self.bag
        assert bag is not None
        picked = bag.draw_without_replacement(
            max(1, int(self.estimator.subsample * bag.size)), int(self.rng.randint(2**31))
        )
        whole = bag.units is None or bag.units.dtype.kind == "i"
        return picked.astype(np.float64) if whole else picked * self.rows.w

    def _loss(self, w: Weights) -> float:
        return self.factor * self.target.value(self.rows.y, self.F, w) if w.any() else 0.0

    def _add_tree(self, k: int, w: Weights) -> None:
        e, X = self.estimator, self.rows.X
        some = np.flatnonzero(w)
        whole = len(some) == len(w)
        columns = self.columns if whole else _subset_columns(self.columns, w > 0)
        Z, v, r = (X, w, -self.g[k]) if whole else (X[some], w[some], -self.g[k, some])
        rules = growth_limits(e, Z, v, int(self.rng.randint(2**31)))
        grown = grow(Z, SquaredError(r, v), rules, leaves=e.max_leaf_nodes or 0, columns=columns)
        weight, total, squares = grown.sums(v, v * r, v * r * r).T
        mean = total / weight
        model = TreeModel(
            grown.tree, mean[:, None], np.maximum(squares / weight - mean**2, 0.0), weight, X.shape[1], self.tried
        )
        model = model.pruned(e.ccp_alpha)
        tree = model.tree
        at = tree.leaves[grown.leaf] if tree is grown.tree and whole else tree.apply(X)
        value = model.value[:, 0].copy()
        self._fit_leaves(k, w, at, value, tree.leaves)
        self.F[k] += e.learning_rate * value[at]
        none = np.full(len(tree), -1, dtype=np.int32)
        flat = HistogramTree(
            feature=tree.feature,
            threshold=tree.threshold.astype(np.float64, copy=False),
            left=tree.left,
            right=tree.right,
            missing_left=tree.missing_left,
            category=none,
            sets=np.zeros((0, SET_WORDS), dtype=np.uint32),
            value=value.astype(np.float64, copy=False),
            gain=np.zeros(len(tree)),
            rows=tree.rows,
        )
        self.builder.add_tree(flat, e.learning_rate * flat.value)
        for kept, new in zip(self.nodes, (value, model.impurity, model.weight), strict=True):
            kept.append(new)

    def _fit_leaves(self, k: int, w: Weights, at: Indices, value: Array, leaves: Indices) -> None:
        """Give each leaf the step that lowers the loss of its rows."""
        if isinstance(self.target.loss, SquaredLoss):
            return
        if self.target.leaf_constant is not None:
            r = self.rows.y - self.F[0]
            order = np.argsort(at, kind="stable")
            for rows in np.split(order, np.flatnonzero(np.diff(at[order])) + 1):
                rows = rows[w[rows] > 0]
                if len(rows):
                    value[at[rows[0]]] = self._constant(r[rows], w[rows])
            return
        K, m = self.target.trees_per_round, len(value)
        G, H = np.bincount(at, -w * self.g[k], m), np.bincount(at, w * self.h[k], m)
        W = np.maximum(np.bincount(at, w, m), 1e-300)
        step = np.divide(G / W, H / W, out=np.zeros(m), where=H / W >= np.finfo(float).tiny)
        value[leaves] = (step * ((K - 1) / K if K > 1 else 1.0))[leaves]

    def _constant(self, r: Array, w: Weights) -> float:
        if not isinstance(self.target.loss, HuberLoss):
            assert self.target.leaf_constant is not None
            return float(self.target.leaf_constant(r, w))
        middle = weighted_quantile(r, w, 0.5, between=False)
        away = np.clip(r - middle, -self.target.loss.delta, self.target.loss.delta)
        return middle + float(np.average(away, weights=w))

    def _model(self) -> GradientModel:
        parts = [np.concatenate(part) for part in self.nodes] if self.nodes[0] else [np.zeros(0)] * 3
        answer, impurity, weight = parts
        oob_scores, oob_improvement = self.oob
        return GradientModel(
            init=self.init,
            target=self.estimator.loss,
            boosted=self.builder.model(),
            answer=answer,
            impurity=impurity,
            weight=weight,
            train_score=np.array(self.train),
            tried=self.tried,
            oob_scores=np.array(oob_scores),
            oob_improvement=np.array(oob_improvement),
            settings=self.settings,
        )


def _subset_columns(columns: PresortedSplitter, mask: Mask) -> PresortedSplitter:
    """The sorted columns of some rows, renumbered."""
    number = (np.cumsum(mask) - 1).astype(np.int32)
    kept = mask[columns.order]
    shape = (len(columns.order), -1)
    return PresortedSplitter(
        number[columns.order[kept]].reshape(shape),
        columns.rank[kept].reshape(shape),
        np.zeros(int(mask.sum()), np.uint8),
    )
