"""Gradient boosting with histograms: trees of a few leaves, each fitted to what the sum of those before it gets wrong.

    F_m(x) = F_{m-1}(x) + nu tree_m(x),   tree_m: Newton steps -G / (H + ridge), from derivatives of the loss at F_{m-1}

Columns are binned once, into at most 255 bins, so a split costs a pass over histograms, not over sorted rows. Missing
values go to the side that gains more; categories are split into two sets of levels.

Friedman (2001); Ke et al. (2017), LightGBM; Chen & Guestrin (2016), XGBoost.
"""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Mapping
from dataclasses import KW_ONLY, dataclass
from itertools import combinations
from numbers import Integral
from typing import Annotated, Any, ClassVar, Literal, NamedTuple, Self

import numpy as np
from sklearn.callback import with_callbacks
from sklearn.utils.validation import check_is_fitted

from fivefold.core._sklearn import _check_monotonic_cst
from fivefold.core.admission.tables import admit
from fivefold.core.admission.takes import Takes
from fivefold.core.admission.targets import admit_weights
from fivefold.core.chunks.chunked_array import is_chunked
from fivefold.core.estimators.base import learned
from fivefold.core.estimators.params import Count, NonNegative, OpenFraction, Positive, Range, Seed
from fivefold.core.estimators.supervised_learning import Classifier, Regressor
from fivefold.core.random_state import check_random_state
from fivefold.core.registry import Card, SearchRange, SearchValues
from fivefold.core.types import Array, Labels, Mask, Matrix, Table, Target, UserTable, UserTarget, UserWeights, Weights
from fivefold.ensemble.boosting.boosting_losses import REGRESSION_LOSSES, BoostingLoss, class_loss
from fivefold.ensemble.boosting.hist_rounds import ColumnSettings, TrainingRows, boost_histogram_trees
from fivefold.ensemble.members.warm_start import EarlierFit, WarmStart
from fivefold.partition.histograms.histogram_loops import MAX_ROWS
from fivefold.tree.shared.base import MaxLeaves

MaxBins = Annotated[int, Range(2, 255)]
ColumnSets = list[Iterable[int]] | tuple[Iterable[int], ...]
Portion = Annotated[float, Range(0, 1, open_low=True)]
SEARCH: Mapping[str, SearchValues] = {
    "learning_rate": SearchRange(0.02, 0.3),
    "max_iter": SearchRange(50, 300),
    "max_leaf_nodes": SearchRange(4, 64),
    "min_samples_leaf": SearchRange(2, 60),
    "l2_regularization": SearchRange(0.001, 30.0),
    "max_features": SearchRange(0.3, 1.0),
    "early_stopping": (True, False),
    "keep_best": (True,),
}


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

    takes: ClassVar[Takes] = Takes(missing=True, huge=True, categories=True, infinite=True, chunks=True)
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
        d = X.shape[1]
        asked = self.monotonic_cst
        if asked is not None and not isinstance(asked, dict) and np.ndim(asked) != 1:
            raise ValueError(f"{type(self).__name__}: monotonic_cst must hold one sign per column; got {asked!r}")
        signs = None if asked is None else _check_monotonic_cst(self, asked)
        columns = ColumnSettings(self._categorical(d), signs, self._interaction_sets(d))
        if signs is not None and (bad := (signs != 0) & columns.categorical).any():
            raise ValueError(
                f"{name}: column {int(bad.argmax())} holds categories, which have no order for monotonic_cst"
            )
        held = None if validation is None else self._admitted(validation, target)
        self.model_ = boost_histogram_trees(self, rows, held, target, columns, seed, before)

    def _admitted(self, given: ValidationRows, target: BoostingLoss) -> TrainingRows:
        """Rows passed for validation, as rounds score them."""
        X, y = admit(self, given.X, fitting=False), np.asarray(given.y)
        if target.classes:
            y = np.searchsorted(self.classes_, y).clip(0, target.classes - 1)
        return TrainingRows(X, _typed(y, target), admit_weights(self, given.sample_weight, X))

    def _categorical(self, d: int) -> Mask:
        """Which columns hold categories: text, category types, and those named by the user."""
        out = np.zeros(d, dtype=bool)
        if "categories_in_" in vars(self):
            text = [j for j, values in vars(self)["categories_in_"].values.items() if values != (False, True)]
            out[text] = True
        named = self.categorical_features
        if named is None or (isinstance(named, str) and named == "from_dtype"):
            return out
        named = np.asarray(named)
        if named.size == 0:
            return out
        if named.dtype.kind not in "biuOU":
            raise ValueError(
                f"{type(self).__name__}: categorical_features must hold names, numbers or truth values, one for each "
                f"column of categories; got {named.dtype.name}"
            )
        if named.dtype == bool and named.shape != (d,):
            raise ValueError(
                f"{type(self).__name__}: categorical_features is a mask of shape {named.shape}; X has {d} columns"
            )
        if named.dtype.kind in "OU":
            known = list(getattr(self, "feature_names_in_", ()))
            if unknown := [str(x) for x in named if x not in known]:
                raise ValueError(f"{type(self).__name__}: categorical_features names {unknown[0]!r}, no column of X")
            named = np.array([known.index(x) for x in named], dtype=int)
        if named.dtype != bool and not ((named >= 0) & (named < d)).all():
            raise ValueError(
                f"{type(self).__name__}: categorical_features holds {named.max()}; columns are 0 to {d - 1}"
            )
        out[named] = True
        return out

    def _interaction_sets(self, d: int) -> Mask | None:
        """(sets, d): columns that may occur on one path; the columns not named form one more set."""
        if self.interaction_cst is None:
            return None
        if isinstance(self.interaction_cst, str):
            sets = list(combinations(range(d), 2 if self.interaction_cst == "pairwise" else 1))
        else:
            try:
                sets = [tuple(group) for group in self.interaction_cst]
            except TypeError:
                raise ValueError(
                    f"{type(self).__name__}: interaction_cst must be a sequence of lists or tuples of columns; got "
                    f"{self.interaction_cst!r}"
                ) from None
        named = {f for group in sets for f in group}
        if wrong := [f for f in named if not isinstance(f, Integral) or not 0 <= f < d]:
            raise ValueError(f"{type(self).__name__}: interaction_cst holds {wrong[0]!r}; columns are 0 to {d - 1}")
        rest = set(range(d)) - named
        out = np.zeros((len(sets) + bool(rest), d), dtype=bool)
        for i, group in enumerate([*sets, tuple(rest)][: len(out)]):
            out[i, list(group)] = True
        return out


def _typed(y: Target, target: BoostingLoss) -> Target:
    return y.astype(np.int64 if target.classes > 2 else np.float64)


class HistGradientBoostingClassifier(HistBoostingMethods, Classifier):
    """Boosted trees on binned columns, for classes: the first choice for tables of mixed columns.

    Parameters
    ----------
    loss
        "log_loss": the negative log-likelihood of the classes.
    class_weight
        weights of the classes, or "balanced".

    Attributes
    ----------
    n_trees_per_iteration_
        trees per round.

    Examples
    --------
    >>> from sklearn.datasets import load_iris
    >>> from fivefold.ensemble import HistGradientBoostingClassifier
    >>> X, y = load_iris(return_X_y=True)
    >>> model = HistGradientBoostingClassifier(max_iter=20, random_state=0).fit(X, y)
    >>> model.n_iter_, round(model.score(X, y), 2)
    (20, 0.98)
    """

    loss: Literal["log_loss"] = "log_loss"
    _: KW_ONLY
    class_weight: Any = None  # a dictionary by label, of whatever type
    keep_best: bool = False

    card = Card(
        applications=("classification",),
        use="Tables of numbers and categories with missing values, a thousand rows or more, interactions of any kind: "
        "often the most accurate single method. With few rows, or a plain linear relation, simpler methods do better.",
        steps=(
            "Put every column in at most 255 bins.",
            "Compute first and second derivatives of the log loss at the sum of trees so far.",
            "Grow a tree: split the leaf whose best split lowers the loss most, until there are 31 leaves.",
            "Add a tenth of its Newton steps and continue until the score of held-out rows stops improving.",
        ),
        source="Friedman (2001); Chen & Guestrin (2016); Ke et al. (2017)",
        see_also=("HistGradientBoostingRegressor", "GradientBoostingClassifier", "AdaBoostClassifier"),
        variants=(
            {"min_samples_leaf": 3, "max_leaf_nodes": 5, "max_iter": 20},
            {"max_features": 0.5, "min_samples_leaf": 5, "interaction_cst": "pairwise", "max_iter": 10},
        ),
        search=SEARCH,
        portfolio=True,
    )

    def _fit(
        self,
        X: Table,
        y: Target,
        w: Weights,
        validation: ValidationRows | None = None,
        earlier: EarlierFit | None = None,
    ) -> None:
        target = class_loss(len(self.classes_))
        self._boost(TrainingRows.of(X, _typed(y, target), w), target, validation, earlier)

    def decision_function(self, X: UserTable) -> Array:
        """The sum of trees: log-odds of the second of two classes, or (n, K)."""
        X = self._admit(X)
        return self._decision(self.model_.sums(X), X)

    def predict_proba(self, X: UserTable) -> Matrix:
        """Probabilities of the classes."""
        X = self._admit(X)
        return class_loss(len(self.classes_)).predict(self.model_.sums(X)).astype(X.dtype, copy=False)

    def staged_decision_function(self, X: UserTable) -> Iterator[Array]:
        """The sum of trees after each round."""
        X = self._admit(X)
        yield from (self._decision(F, X).copy() for F in self.model_.stages(X))

    def staged_predict(self, X: UserTable) -> Iterator[Labels]:
        """The likeliest class after each round."""
        yield from (self.classes_[P.argmax(axis=1)] for P in self.staged_predict_proba(X))

    def staged_predict_proba(self, X: UserTable) -> Iterator[Matrix]:
        """Probabilities of the classes after each round."""
        X, target = self._admit(X), class_loss(len(self.classes_))
        yield from (target.predict(F).astype(X.dtype) for F in self.model_.stages(X))

    def _scores(self, X: Table) -> Matrix:
        F = self.model_.sums(X)
        return F.T if len(F) > 1 else np.stack([-F[0], F[0]], axis=1)[:, : len(self.classes_)]

    def _decision(self, F: Matrix, X: Table) -> Array:
        return (F.T if len(F) > 1 else F[0]).astype(X.dtype, copy=False)


class HistGradientBoostingRegressor(HistBoostingMethods, Regressor, keywords="quantile"):
    """Boosted trees on binned columns, for numbers: the first choice for tables of mixed columns.

    Parameters
    ----------
    loss
        "squared_error" for means, "absolute_error" for medians, "quantile", "gamma" and "poisson" for positive targets
        and for counts, with the logarithm of the mean as the sum of trees.
    quantile
        the quantile of loss="quantile".

    Attributes
    ----------
    n_trees_per_iteration_
        trees per round: one.

    Examples
    --------
    >>> import numpy as np
    >>> from fivefold.ensemble import HistGradientBoostingRegressor
    >>> X = np.arange(200.0)[:, None]
    >>> model = HistGradientBoostingRegressor(random_state=0).fit(X, X[:, 0] > 100)
    >>> model.predict([[10.0], [190.0]]).round(3)
    array([0., 1.])
    """

    loss: Literal["squared_error", "absolute_error", "gamma", "poisson", "quantile"] = "squared_error"
    _: KW_ONLY
    quantile: Annotated[float, Range(0, 1)] | None = None
    keep_best: bool = False

    card = Card(
        applications=("regression",),
        use="Tables of numbers and categories with missing values, a thousand rows or more, interactions of any kind: "
        "often the most accurate single method. It does not extrapolate; with few rows simpler methods do better.",
        steps=(
            "Put every column in at most 255 bins.",
            "Compute first and second derivatives of the loss at the sum of trees so far.",
            "Grow a tree: split the leaf whose best split lowers the loss most, until there are 31 leaves.",
            "Add a tenth of its Newton steps, or of the medians of its leaves, and continue until the score of "
            "held-out rows stops improving.",
        ),
        source="Friedman (2001); Chen & Guestrin (2016); Ke et al. (2017)",
        see_also=("HistGradientBoostingClassifier", "GradientBoostingRegressor", "AdaBoostRegressor"),
        variants=(
            {"min_samples_leaf": 3, "max_leaf_nodes": 5, "max_iter": 20},
            {"loss": "absolute_error", "min_samples_leaf": 5, "max_iter": 10},
        ),
        search=SEARCH,
        portfolio=True,
    )

    def _fit(
        self,
        X: Table,
        y: Target,
        w: Weights,
        validation: ValidationRows | None = None,
        earlier: EarlierFit | None = None,
    ) -> None:
        if self.loss == "quantile" and self.quantile is None:
            raise ValueError("HistGradientBoostingRegressor: loss='quantile' needs the quantile, a number in [0, 1]")
        target = REGRESSION_LOSSES[self.loss](self.quantile)
        rows = TrainingRows.of(X, _typed(y, target), w)
        y = rows.y
        if self.loss == "gamma" and (y <= 0).any():
            raise ValueError(f"HistGradientBoostingRegressor: loss='gamma' needs positive y; the least is {y.min():g}")
        if self.loss == "poisson" and ((y < 0).any() or y.sum() <= 0):
            raise ValueError(
                f"HistGradientBoostingRegressor: loss='poisson' needs y that are not negative and not all zero; the "
                f"least is {y.min():g}"
            )
        self._boost(rows, target, validation, earlier)

    def predict(self, X: UserTable) -> Array:
        """The predicted number of each row."""
        X = self._admit(X)
        return self._answer(self.model_.sums(X), X)

    def staged_predict(self, X: UserTable) -> Iterator[Array]:
        """The predicted numbers after each round."""
        X = self._admit(X)
        yield from (self._answer(F, X).copy() for F in self.model_.stages(X))

    def _answer(self, F: Matrix, X: Table) -> Array:
        return REGRESSION_LOSSES[self.loss](self.quantile).predict(F)
