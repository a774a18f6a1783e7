"""Forests: many trees, each of its own sample of the rows and of the columns at every node; their answers averaged.

    f(x) = 1/T sum_t tree_t(x)

Trees that err differently err less together: with variance s^2 each and correlation r between two of them, the mean of
T has variance r s^2 + (1 - r) s^2 / T. Columns are ranked once for all trees; every tree is grown by one thread, from a
seed of its own, so the number of threads never changes a byte.

Breiman (2001), Random Forests.
"""

from __future__ import annotations

import warnings
from collections.abc import Callable, Sequence
from dataclasses import dataclass, replace
from functools import cached_property
from typing import Annotated, Any

import numpy as np
from scipy.sparse import hstack
from sklearn.base import clone
from sklearn.metrics import r2_score
from sklearn.utils import check_random_state, compute_class_weight

from fivefold.core.parallel import map_items
from fivefold.core.params import Count, Range
from fivefold.core.progress import kept_best, steps
from fivefold.ensemble.forest_kernels import Trees
from fivefold.ensemble.oob import Bag
from fivefold.partition.class_criteria import Entropy, Gini, TwoCounts
from fivefold.partition.grow import grow, grow_sampled
from fivefold.partition.number_criteria import Deviance, Squares
from fivefold.partition.sampled import rank_columns
from fivefold.tree.base import TreeModel, columns_tried, decision_path, rules_of

TOGETHER = 32  # trees between two reports of progress
COUNTED = 2**31  # total weight up to which whole weights are integers

MaxSamples = Count | Annotated[float, Range(0, open_low=True, open_high=True)] | None
OobScore = bool | Callable[..., Any]


@dataclass(frozen=True)
class Draws:
    """What the sample of each tree is drawn from, and its seed."""

    seeds: Any  # (T,) int64
    bag: Bag | None  # None: every tree has all rows
    count: int

    def of(self, i: int) -> Any:
        """How often tree i has each row."""
        return self.bag.draw(self.count, int(self.seeds[i]))  # type: ignore[union-attr]


@dataclass(frozen=True)
class OutOfBag:
    """What trees say of rows they were not grown from."""

    answers: Any  # (n, K), zero where no tree can say
    score: float


@dataclass(frozen=True)
class Forest:
    """Trees, their samples, and their judgement of the rows left out."""

    trees: Trees
    draws: Draws
    oob: OutOfBag | None = None

    @cached_property
    def votes(self) -> Any:
        """The class that each node votes for, as shares (m, K); the first of those that are equally common."""
        return np.eye(self.trees.value.shape[1])[self.trees.value.argmax(axis=1)]


@dataclass(frozen=True)
class Classes:
    """Codes of classes, and the impurity that a tree lowers."""

    y: Any  # (n,) int64
    K: int
    impurity: str
    factors: Any = None  # (n,) weights of the classes
    balanced: bool = False  # classes have equal weight in every tree

    @cached_property
    def packed(self) -> Any:
        """One, and 2**32 more where the class is 1."""
        return 1 + (self.y << 32)

    def take(self, rows: Any) -> Classes:
        """Some of the rows."""
        return replace(self, y=self.y[rows])

    def weights(self, c: Any) -> Any:
        """Weights of the rows of a tree that has each of them c times."""
        if not self.balanced:
            return c
        sums = np.bincount(self.y, c, self.K)
        return c * (c.sum() / np.maximum(sums, 1e-300) / np.count_nonzero(sums))[self.y]

    def criterion(self, w: Any) -> Any:
        """What scores the splits of rows of these weights."""
        if self.impurity != "gini":
            return Entropy(self.y.astype(np.int32), w.astype(np.float64), self.K)
        if self.K == 2 and w.dtype.kind == "i":
            return TwoCounts(w * self.packed)
        return Gini(self.y.astype(np.int32), w.astype(np.float64), self.K)

    def answers(self, grown: Any, w: Any) -> tuple[Any, Any, Any]:
        """Shares of the classes, impurity and weight of every node."""
        counts = grown.counts(self.y, w, self.K)
        weight = counts.sum(axis=1)
        shares = counts / weight[:, None]
        return shares, CLASS_IMPURITY[self.impurity](shares), weight


def _gini(shares: Any) -> Any:
    return 1.0 - (shares**2).sum(axis=1)


def _entropy(shares: Any) -> Any:
    return -(shares * np.log2(np.where(shares > 0, shares, 1.0))).sum(axis=1)


CLASS_IMPURITY = {"gini": _gini, "entropy": _entropy, "log_loss": _entropy}


@dataclass(frozen=True)
class Numbers:
    """Numbers about a centre, and the impurity that a tree lowers."""

    y: Any  # (n,) float64, less the centre
    centre: float
    impurity: str
    factors: Any = None

    def take(self, rows: Any) -> Numbers:
        """Some of the rows."""
        return replace(self, y=self.y[rows])

    def weights(self, c: Any) -> Any:
        """Weights of the rows of a tree that has each of them c times."""
        return c

    def criterion(self, w: Any) -> Any:
        """What scores the splits of rows of these weights."""
        return NUMBER_CRITERIA[self.impurity](self.y, w.astype(np.float64))

    def answers(self, grown: Any, w: Any) -> tuple[Any, Any, Any]:
        """Mean, impurity and weight of every node."""
        spread = _deviance if self.impurity == "poisson" else _variance
        extra = _x_log_x(self.y) if self.impurity == "poisson" else self.y**2
        weight, total, extra = grown.sums(w, w * self.y, w * extra).T
        return (total / weight + self.centre)[:, None], np.maximum(spread(weight, total, extra), 0.0), weight


def _x_log_x(y: Any) -> Any:
    return y * np.log(np.where(y > 0, y, 1.0))


def _deviance(weight: Any, total: Any, extra: Any) -> Any:
    return (extra - total * np.log(np.where(total > 0, total, 1.0) / weight)) / weight


def _variance(weight: Any, total: Any, extra: Any) -> Any:
    return extra / weight - (total / weight) ** 2


NUMBER_CRITERIA = {"squared_error": Squares, "friedman_mse": Squares, "poisson": Deviance}


class Members(Sequence[Any]):
    """The trees of a forest as estimators, each made when it is asked for."""

    def __init__(self, forest: Any) -> None:
        self._forest = forest

    def __len__(self) -> int:
        return len(self._forest.model_.trees)

    def __getitem__(self, i: Any) -> Any:
        if isinstance(i, slice):
            return [self._forest._member(j) for j in range(len(self))[i]]
        return self._forest._member(range(len(self))[i])


class ForestMethods:
    """What every forest does: grow, go on growing, and answer."""

    model_: Any
    estimator_: Any
    n_features_in_: int
    n_estimators: int
    max_features: Any
    max_leaf_nodes: Any
    bootstrap: bool
    oob_score: Any
    random_state: Any
    warm_start: bool
    ccp_alpha: float
    max_samples: Any
    _admit: Any
    _score: Any
    get_params: Any

    def _forget(self) -> None:
        if not self.warm_start:
            vars(self).pop("model_", None)

    def _plant(self, X: Any, target: Any, w: Any) -> None:
        """Grow the trees that are missing, and judge them by the rows that they were not grown from."""
        before = vars(self).get("model_")
        trees = None if before is None else before.trees
        draws = self._draws(X, target, w, () if before is None else before.draws.seeds)
        trees = self._grown(X, target, w, draws, trees)
        draws = replace(draws, seeds=draws.seeds[: len(trees)])  # an interrupted fit has fewer
        oob = self._out_of_bag(X, target, Forest(trees, draws)) if self.oob_score else None
        self.model_ = Forest(trees, draws, oob)

    def _draws(self, X: Any, target: Any, w: Any, kept: Any) -> Draws:
        """A seed for each tree, those from before kept, and what the samples are drawn from."""
        count = self.n_estimators
        if count < len(kept):
            raise ValueError(
                f"{type(self).__name__}: n_estimators={count} but the forest has {len(kept)} trees already; with "
                "warm_start=True ask for as many or more"
            )
        if count == len(kept):
            warnings.warn("Warm-start fitting without increasing n_estimators does not fit new trees.", stacklevel=6)
        fresh = check_random_state(self.random_state).randint(2**31, size=count)
        seeds = np.concatenate([kept, fresh[len(kept) :]]).astype(np.int64)
        if not self.bootstrap:
            if self.oob_score or self.max_samples is not None:
                raise ValueError(
                    f"{type(self).__name__}: oob_score={self.oob_score} and max_samples={self.max_samples} are about "
                    "samples of the rows: they need bootstrap=True"
                )
            return Draws(seeds, None, 0)
        bag = Bag.of(X, target.y, w)
        drawn = bag.asked(self.max_samples)
        return Draws(seeds, bag if target.factors is None else bag.weighted(target.factors), drawn)

    def _grown(self, X: Any, target: Any, w: Any, draws: Draws, trees: Trees | None) -> Trees:
        """All trees, those from before first."""
        tried = columns_tried(self.max_features, X.shape[1])
        w = w if target.factors is None else w * target.factors
        w = w.astype(np.int64) if w.sum() < COUNTED and (w == np.rint(w)).all() else w
        ranked = rank_columns(X) if self.max_leaf_nodes is None else None

        def one(i: int) -> Trees:
            c = target.weights(w if draws.bag is None else draws.of(i))
            rows, rules = np.flatnonzero(c).astype(np.int32), rules_of(self, X, c, int(draws.seeds[i]))
            if ranked is None:
                some, c = target.take(rows), c[rows]
                grown = grow(X[rows], some.criterion(c), rules, leaves=self.max_leaf_nodes)
            else:
                some, grown = target, grow_sampled(X, ranked, rows, target.criterion(c), rules)
            tree = TreeModel(grown.tree, *some.answers(grown, c), X.shape[1], tried)
            return Trees.of(tree.pruned(self.ccp_alpha))

        parts = [] if trees is None else [trees]
        blocks = range(0 if trees is None else len(trees), len(draws.seeds), TOGETHER)
        with steps(self, f"block of {TOGETHER} trees", len(blocks), X) as monitor:
            try:
                for lo in blocks:
                    parts += map_items(lambda j, lo=lo: one(lo + j), min(TOGETHER, len(draws.seeds) - lo))
                    parts = [Trees.joined(parts)]
                    if monitor(Forest(parts[0], draws), len(parts[0])):
                        break
            except KeyboardInterrupt:
                if not parts:
                    raise
                kept_best(self, len(parts[0]), "tree")
        return parts[0]

    def _out_of_bag(self, X: Any, target: Any, forest: Forest) -> OutOfBag:
        """The mean answer of the trees that did not see a row, and how good it is."""
        value, n = self._values(forest), len(X)
        total, times = np.zeros((n, value.shape[1])), np.zeros(n)
        for i in range(len(forest.trees)):
            out = np.flatnonzero(forest.draws.of(i) == 0)
            total[out] += value[forest.trees.leaves(X, i, out)]
            times[out] += 1
        if (lonely := int((times == 0).sum())) > 0:
            warnings.warn(
                f"{type(self).__name__}: {lonely} of {n} rows are in the sample of every tree and do not have OOB "
                "scores: their answers are zero. Grow more trees",
                stacklevel=5,
            )
        answers = total / np.maximum(times, 1)[:, None]
        return OutOfBag(answers, self._score(target, answers))

    def _values(self, forest: Forest) -> Any:
        """What nodes answer."""
        return forest.trees.value

    @property
    def estimators_(self) -> Members:
        """The trees as estimators, each made when it is asked for."""
        if "model_" not in vars(self):
            raise AttributeError(f"{type(self).__name__} has no 'estimators_' before fit")
        return Members(self)

    @property
    def estimators_samples_(self) -> list[Any]:
        """The rows of each tree; one drawn twice is there twice."""
        trees, draws = self.model_.trees, self.model_.draws
        if draws.bag is None:
            return [np.arange(trees.rows[0]) for _ in range(len(trees))]
        return [np.repeat(np.arange(len(c)), c) for c in map(draws.of, range(len(trees)))]

    def apply(self, X: Any) -> Any:
        """The leaf of each row in every tree (n, T)."""
        X = self._admit(X)
        trees, ids = self.model_.trees, np.arange(len(X))
        return np.stack([trees.leaves(X, i, ids) - trees.start[i] for i in range(len(trees))], axis=1)

    def decision_path(self, X: Any) -> tuple[Any, Any]:
        """Sparse (n, nodes of all trees), 1 where a row passes a node; and where the nodes of each tree begin."""
        X = self._admit(X)
        trees = self.model_.trees
        paths = [decision_path(trees[i].tree, X) for i in range(len(trees))]
        return hstack(paths, format="csr"), trees.start.copy()

    def _member(self, i: int) -> Any:
        """Tree i as an estimator."""
        tree = clone(self.estimator_)
        shared = (tree.get_params().keys() & self.get_params().keys()) - {"class_weight"}
        tree.set_params(**{name: getattr(self, name) for name in shared})
        tree.random_state = int(self.model_.draws.seeds[i])
        tree.n_features_in_, tree.model_ = self.n_features_in_, self.model_.trees[i]
        return tree


class ForestOfClasses(ForestMethods):
    """A forest that answers with shares of classes."""

    classes_: Any
    criterion: str
    class_weight: Any
    voting: str

    n_outputs_ = 1

    @property
    def n_classes_(self) -> int:
        """Number of classes."""
        return len(self.classes_)

    def _fold(self, y: Any, codes: Any, w: Any) -> Any:
        """Weights of classes decide which rows are drawn, not how many: they are kept apart."""
        return w

    def _fit(self, X: Any, y: Any, w: Any) -> None:
        rule, balanced, factors = self.class_weight, False, None
        if isinstance(rule, str) and rule == "balanced_subsample":
            rule, balanced = "balanced", self.bootstrap
        if rule is not None and not balanced:
            each = compute_class_weight(rule, classes=self.classes_, y=self.classes_[y], sample_weight=w)
            factors = each[y]
        self._plant(X, Classes(y, len(self.classes_), self.criterion, factors, balanced), w)

    def predict_proba(self, X: Any) -> Any:
        """The mean over the trees of the shares of the classes, or of the votes."""
        return self._scores(self._admit(X))

    def predict_log_proba(self, X: Any) -> Any:
        """Their logarithms."""
        with np.errstate(divide="ignore"):
            return np.log(self.predict_proba(X))

    def _scores(self, X: Any) -> Any:
        return self.model_.trees.mean(X, self._values(self.model_))

    def _values(self, forest: Forest) -> Any:
        return forest.votes if self.voting == "hard" else forest.trees.value

    def _score(self, target: Classes, answers: Any) -> float:
        said = answers.argmax(axis=1)
        return float(self.oob_score(target.y, said) if callable(self.oob_score) else np.mean(said == target.y))

    def _member(self, i: int) -> Any:
        tree = super()._member(i)
        tree.classes_ = np.arange(float(len(self.classes_)))
        return tree


class ForestOfNumbers(ForestMethods):
    """A forest that answers with a number."""

    criterion: str

    n_outputs_ = 1

    def _fit(self, X: Any, y: Any, w: Any) -> None:
        y, poisson = y.astype(np.float64), self.criterion == "poisson"
        if poisson and ((y < 0).any() or y.sum() == 0):
            raise ValueError(
                f"{type(self).__name__}: criterion='poisson' needs counts, none negative and not all zero; the least "
                f"of y is {y.min():g}, their sum {y.sum():g}"
            )
        centre = 0.0 if poisson else float(w @ y / w.sum())  # about it squares keep their digits
        self._plant(X, Numbers(y - centre, centre, self.criterion), w)

    def predict(self, X: Any) -> Any:
        """The mean answer of the trees."""
        X = self._admit(X)
        return self.model_.trees.mean(X, self.model_.trees.value)[:, 0]

    def _score(self, target: Numbers, answers: Any) -> float:
        y, said = target.y + target.centre, answers[:, 0]
        if callable(self.oob_score):
            return float(self.oob_score(y, said))
        return float(r2_score(y, said))
