"""What classes and numbers share in boosting with histograms: parameters, admission, held-out rows, resumption."""

from __future__ import annotations

from collections.abc import Iterable
from dataclasses import KW_ONLY, dataclass
from typing import Annotated, Any, ClassVar, Literal, NamedTuple, Self

import numpy as np
from sklearn.callback import with_callbacks
from sklearn.utils.validation import check_is_fitted

from fivefold.core.admission.places import without_tensor_path
from fivefold.core.admission.tables import admit
from fivefold.core.admission.takes import Takes
from fivefold.core.admission.targets import admit_weights
from fivefold.core.chunks.chunked_array import is_chunked
from fivefold.core.estimators.base import learned
from fivefold.core.estimators.params import Count, NonNegative, OpenFraction, Positive, Range, Seed
from fivefold.core.numerics.arrays import is_tensor, to_numpy
from fivefold.core.random_state import check_random_state
from fivefold.core.types import Mask, Table, Target, UserTable, UserTarget, UserWeights
from fivefold.ensemble.boosting.boosting_losses import BoostingLoss
from fivefold.ensemble.boosting.column_settings import ColumnSettings, is_from_dtype
from fivefold.ensemble.boosting.hist_rounds import TrainingRows, boost_histogram_trees
from fivefold.ensemble.members.warm_start import EarlierFit, WarmStart
from fivefold.partition.growers.device_growth import host_reason_of
from fivefold.partition.histograms.histogram_loops import MAX_ROWS
from fivefold.partition.histograms.tree_walks import walks_on_device
from fivefold.tree.shared.base import MaxLeaves

MaxBins = Annotated[int, Range(2, 255)]
ColumnSets = list[Iterable[int]] | tuple[Iterable[int], ...]
Portion = Annotated[float, Range(0, 1, open_low=True)]


class ValidationRows(NamedTuple):
    """Rows that decide when to stop, as users pass them."""

    X: UserTable
    y: UserTarget
    sample_weight: UserWeights


@dataclass(eq=False, repr=False)
class HistBoostingMethods(WarmStart):
    """What both kinds of boosting share.

    Parameters
    ----------
    max_iter
        maximum number of rounds.
    max_leaf_nodes, max_depth
        maximum number of leaves and maximum depth of a tree; None for no limit.
    min_samples_leaf
        minimum number of rows of a leaf; an integer weight counts as that many rows.
    l2_regularization
        ridge added to the second derivative of a leaf.
    max_features
        share of the columns tried at each node, drawn at random.
    max_bins
        maximum number of bins per column, besides the one for missing values.
    categorical_features
        columns that hold categories: a mask, numbers or names; "from_dtype" takes columns of category types and text.
        Rare levels beyond max_bins share a bin.
    monotonic_cst
        per column: 1 if the prediction must not fall along it, -1 if it must not rise, else 0; a list, or a dictionary
        by name.
    interaction_cst
        sets of columns that may occur on one path of a tree; "pairwise" or "no_interactions".
    warm_start
        continue from the rounds of the previous fit.
    early_stopping
        stop when the score stops improving; "auto" does so with more than 10,000 rows.
    scoring
        the score that decides: "loss", the name of a scorer, a function, or None for `score`.
    validation_fraction
        rows held out for the score: a share or a number; None uses the training rows.
    n_iter_no_change, tol
        rounds without a gain of more than tol after which to stop.
    verbose
        print one line per round.
    random_state
        seed of the held-out rows, of the columns tried, and of the rows that the bins are found from if there are more
        than 200,000.
    keep_best
        after early stopping, drop the rounds beyond the best score.

    Attributes
    ----------
    n_iter_
        rounds.
    train_score_, validation_score_
        scores before the first and after each round, with early stopping.
    do_early_stopping_
        whether a score decided when to stop.
    is_categorical_
        which columns hold categories, or None.
    """

    loss: str
    _: KW_ONLY
    learning_rate: Positive = 0.1
    max_iter: Count = 100
    max_leaf_nodes: MaxLeaves = 31
    max_depth: Count | None = None
    min_samples_leaf: Count = 20
    l2_regularization: NonNegative = 0.0
    max_features: Portion = 1.0
    max_bins: MaxBins = 255
    categorical_features: Any = "from_dtype"  # anything that becomes an array, or "from_dtype"
    monotonic_cst: Any = None  # anything that becomes an array, or a dictionary by name
    interaction_cst: ColumnSets | Literal["pairwise", "no_interactions"] | None = None
    warm_start: bool = False
    early_stopping: bool | Literal["auto"] = "auto"
    scoring: Any = "loss"  # whatever scikit-learn's check_scoring takes
    validation_fraction: OpenFraction | Count | None = 0.1
    n_iter_no_change: Count = 10
    tol: NonNegative = 1e-7
    verbose: Annotated[int, Range(0)] | bool = 0
    random_state: Seed = None

    takes: ClassVar[Takes] = Takes(missing=True, huge=True, categories=True, infinite=True, chunks=True, tensors=True)
    train_score_ = learned("train_score")
    validation_score_ = learned("validation_score")
    n_iter_ = learned("rounds")
    do_early_stopping_ = learned("stopping")

    @property
    def n_trees_per_iteration_(self) -> int:
        """Trees per round: one, or one per class if there are more than two."""
        check_is_fitted(self)
        return len(self.model_.base)

    @property
    def is_categorical_(self) -> Mask | None:
        """Which columns hold categories; None if no column does."""
        check_is_fitted(self)
        categorical = self.model_.bins.categorical
        return categorical if categorical.any() else None

    @with_callbacks
    def fit(
        self,
        X: UserTable,
        y: UserTarget,
        sample_weight: UserWeights = None,
        *,
        X_val: UserTable = None,
        y_val: UserTarget = None,
        sample_weight_val: UserWeights = None,
    ) -> Self:
        """Learn from rows and their targets; `X_val` and `y_val`, if given, decide when to stop."""
        if (X_val is None) != (y_val is None):
            raise ValueError(f"{type(self).__name__}: give both X_val and y_val, or neither")
        if X_val is not None and self.early_stopping is False:
            raise ValueError(
                f"{type(self).__name__}: X_val and y_val are for early stopping, which early_stopping=False turns off"
            )
        validation = None if X_val is None else ValidationRows(X_val, y_val, sample_weight_val)
        return self._fit_admitted(X, y, sample_weight, validation=validation)

    def _host_reason(self, X: Table) -> str:
        return without_tensor_path(
            {
                "warm_start=True": self.warm_start,
                "monotonic_cst": self.monotonic_cst is not None,
                "interaction_cst": self.interaction_cst is not None,
                f"loss={self.loss!r}": self.loss in ("absolute_error", "quantile"),
                "categorical_features": not is_from_dtype(self.categorical_features),
            }
        ) or host_reason_of(X, self.max_leaf_nodes, self.max_depth)

    def _admit(self, X: UserTable) -> Table:
        """Tensors stay on a device, unless sets of categories are asked for, which only the host knows."""
        X = super()._admit(X)
        return X if is_tensor(X) and walks_on_device(X) and self.is_categorical_ is None else to_numpy(X)

    def _boost(
        self, rows: TrainingRows, target: BoostingLoss, validation: ValidationRows | None, earlier: EarlierFit | None
    ) -> None:
        name, X = type(self).__name__, rows.X
        if len(X) > MAX_ROWS:
            raise ValueError(f"{name}: X has {len(X)} rows; histograms count at most {MAX_ROWS}. Take a sample")
        before = self._resume_rounds(earlier, X, "max_iter")
        if before is not None and is_chunked(X):
            raise ValueError(f"{name}: warm_start=True continues on a table in memory only; fit anew to the chunks")
        if self.monotonic_cst is not None and target.trees_per_round > 1:
            raise ValueError(f"{name}: monotonic_cst supports at most two classes; y has {target.classes}")
        rng = check_random_state(self.random_state)
        seed = int(rng.randint(np.iinfo(np.uint32).max, dtype="u8"))
        if before is not None:  # the same rows are held back; files of version 0.1.0 have the seed beside the model
            seed = vars(self).pop("_seed", seed) if before.seed is None else before.seed
        columns = ColumnSettings.of(self, X.shape[1])
        held = None if validation is None else self._admitted(validation, target)
        self.model_ = boost_histogram_trees(self, rows, held, target, columns, seed, before)

    def _admitted(self, given: ValidationRows, target: BoostingLoss) -> TrainingRows:
        """Rows passed for validation, as rounds score them."""
        X, y = to_numpy(admit(self, given.X, fitting=False)), np.asarray(to_numpy(given.y))
        if target.classes:
            y = np.searchsorted(self.classes_, y).clip(0, target.classes - 1)
        return TrainingRows(X, typed_targets(y, target), admit_weights(self, given.sample_weight, X))


def typed_targets(y: Target, target: BoostingLoss) -> Target:
    """Targets in the type that the loss is compiled for."""
    return to_numpy(y).astype(np.int64 if target.classes > 2 else np.float64)
