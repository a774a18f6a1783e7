"""Forests of tables in chunks, and of tensors on a device: tree after tree from histograms of samples.

How rows are drawn and held: sampled_rows.py, device_samples.py.
"""

from __future__ import annotations

from typing import Any

import numpy as np

from fivefold.core.chunks.chunked_array import every_row
from fivefold.core.console.fit_progress import fit_steps, warn_kept_best
from fivefold.core.estimators.supervised_learning import class_weights
from fivefold.core.numerics.arrays import is_tensor, to_numpy
from fivefold.core.parallel import are_whole
from fivefold.core.types import Array, Codes, Doubles, Indices, Matrix, Target, Weights
from fivefold.ensemble.forests.base import Forest, SampleDraws
from fivefold.ensemble.forests.committee import Committee
from fivefold.ensemble.forests.device_samples import samples_on_device
from fivefold.ensemble.forests.forest_loops import ForestArrays
from fivefold.ensemble.forests.sampled_rows import (
    MAX_BINS,
    Sample,
    SampledRows,
    SampleHolder,
    as_tree,
    sample_holder,
)
from fivefold.partition.growers.histogram_grower import HistogramLimits
from fivefold.partition.histograms.bins import Bins, find_bins
from fivefold.partition.histograms.histogram_loops import MAX_ROWS
from fivefold.tree.shared.base import TreeModel, clip_monotonic, columns_tried, constraints_of, row_count
from fivefold.tree.shared.tree_targets import IMPURITY_FUNCTIONS

CRITERIA = ("gini", "squared_error", "friedman_mse")  # those that histograms of one number per row can score


def grow_chunked_forest(forest: Any, X: Any, y: Any, w: Any, classes: int) -> Forest:
    """The forest of an estimator from ChunkedArrays or tensors; `classes` is 0 for numbers."""
    _refuse_settings(forest, y)
    targets, weights = (to_numpy(y), np.ascontiguousarray(to_numpy(w))) if is_tensor(X) else every_row(y, w)
    n, d = X.shape
    constraints = constraints_of(forest, X, np.ones(1), means=classes in (0, 2))
    levels = np.zeros(d, dtype=np.int64) if constraints is None else constraints.levels
    signs = constraints.sign if constraints is not None and constraints.sign.any() else None
    seeds = forest._new_seeds(0).astype(np.int64)
    bins = find_bins(X, weights, MAX_BINS, levels > 0, np.random.RandomState(seeds[0] % 2**32))
    draws = _sampled_rows(forest, targets, weights, classes)
    tried = columns_tried(forest.max_features, d)
    limits = HistogramLimits(
        max_leaves=forest.max_leaf_nodes or 0,
        max_depth=2**31 - 1 if forest.max_depth is None else forest.max_depth,
        min_rows=row_count(forest.min_samples_leaf, n),
        min_curvature=0.0,
        column_share=tried / d,
    )
    rows: SampleHolder
    if is_tensor(X):
        rows = samples_on_device(X, targets, weights, bins, draws, limits, signs)
    else:
        rows = sample_holder(X, y, (targets, weights), bins, draws, limits, signs)

    def grown(seed: int) -> ForestArrays:
        sides = _sides(classes, seed)
        return _tree(forest, rows, Sample(seed, sides), draws, bins, levels, signs, tried)

    try:
        return _grow_all(forest, X, seeds, grown)
    finally:
        rows.close()


def _grow_all(forest: Any, X: Any, seeds: Indices, grown: Any) -> Forest:
    committee, draws = Committee(), SampleDraws(seeds, None, 0, in_chunks=True)
    with fit_steps(forest, "tree", len(seeds), X) as monitor:
        try:
            for i, seed in enumerate(seeds.tolist()):
                committee.add(i, grown(seed))
                trees = committee.arrays()
                assert trees is not None
                if monitor(Forest(trees, draws), len(trees)):
                    break
        except KeyboardInterrupt:
            if (kept := committee.arrays()) is None:
                raise
            warn_kept_best(forest, len(kept), "tree")
    found = committee.arrays()
    assert found is not None  # n_estimators is at least one
    return Forest(found, SampleDraws(seeds[: len(found)], None, 0, in_chunks=True))


def _tree(
    forest: Any,
    rows: SampleHolder,
    sample: Sample,
    draws: SampledRows,
    bins: Bins,
    levels: Indices,
    signs: Codes | None,
    tried: int,
) -> ForestArrays:
    found = rows.grow(sample)
    tree, order = as_tree(found, bins, levels)
    sums = tree.aggregate(rows.leaf_sums(len(order))[order][tree.leaves])
    tree.rows[:] = sums[:, -1]
    answer = _class_shares(sums[:, :-1]) if draws.classes else _means(sums[:, :-1], draws.centre)
    value, impurity, weight = answer
    if signs is not None:
        bounded = clip_monotonic(tree, value[:, -1], signs)
        value = np.stack([1 - bounded, bounded], axis=1) if draws.classes else bounded[:, None]
    sizes = (draws.classes or 1,)
    model = TreeModel(tree, value, impurity, weight, len(bins.sizes), tried, sizes).pruned(forest.ccp_alpha)
    return ForestArrays.of(model, "gini" if draws.classes and signs is None else None)


def _class_shares(counts: Matrix) -> tuple[Matrix, Array, Array]:
    weight = counts.sum(axis=1)
    shares = counts / np.maximum(weight, 1e-300)[:, None]
    return shares, IMPURITY_FUNCTIONS["gini"](shares), weight


def _means(sums: Matrix, centre: float) -> tuple[Matrix, Array, Array]:
    weight, total, squares = sums.T
    mean = total / np.maximum(weight, 1e-300)
    return (mean + centre)[:, None], np.maximum(squares / np.maximum(weight, 1e-300) - mean**2, 0.0), weight


def _sampled_rows(forest: Any, y: Target, w: Weights, classes: int) -> SampledRows:
    """How rows are drawn: as many as the samples of memory have, on average."""
    total = float(w.sum())
    size = total if are_whole(w) else float(len(w))
    asked = forest.max_samples
    if asked is not None:
        size = float(asked) if isinstance(asked, int | np.integer) else max(1.0, float(asked) * size)
    factors = np.ones(classes)
    if classes and forest.class_weight is not None:
        rule = "balanced" if isinstance(forest.class_weight, str) else forest.class_weight
        by_class: Doubles = np.bincount(y, w, classes).astype(np.float64)
        factors = class_weights(rule, forest.classes_, np.arange(classes), by_class)
        total = float(by_class @ factors)
    if size + 10 * np.sqrt(size) > MAX_ROWS or len(w) > MAX_ROWS:
        raise ValueError(
            f"{type(forest).__name__}: histograms count at most {MAX_ROWS} rows; the table has {len(w)} and a sample "
            f"{size:.0f}. Fit to a sample, or give max_samples"
        )
    centre = 0.0 if classes else float(w @ y) / total
    return SampledRows(classes, forest.bootstrap, size / total, factors, centre)


def _sides(classes: int, seed: int) -> tuple[float, ...]:
    """The side of each class in a tree: of two the first and the second, of more at random, but not all on one."""
    if classes == 0:
        return ()
    if classes <= 2:
        return (-0.5, 0.5)[-classes:]
    rng = np.random.RandomState(seed % 2**32)
    sides: Doubles = rng.choice([-1.0, 1.0], classes)
    sides[rng.randint(classes)] *= -1.0 if abs(sides.sum()) == classes else 1.0
    return tuple(sides.tolist())


def unknown_setting(forest: Any) -> tuple[str, str]:
    """The first setting that histograms do not know, with what they do know; ("", "") if they know all."""
    plain = {"oob_score": False, "min_weight_fraction_leaf": 0.0, "min_impurity_decrease": 0.0, "min_samples_split": 2}
    for setting, default in plain.items():
        if (given := getattr(forest, setting)) != default:
            return f"{setting}={given}", f"{setting}={default}"
    if forest.criterion not in CRITERIA:
        return f"criterion={forest.criterion!r}", f"one of {CRITERIA}"
    return "", ""


def _refuse_settings(forest: Any, y: Any) -> None:
    name, (unknown, known) = type(forest).__name__, unknown_setting(forest)
    if unknown:
        raise ValueError(f"{name}: {unknown} needs all rows in memory; a table in chunks is fitted with {known}")
    if y.ndim > 1:
        raise ValueError(f"{name}: chunks take one column of targets; y has {y.shape[1]}")
