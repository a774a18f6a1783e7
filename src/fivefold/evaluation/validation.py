"""Cross-validation: losses on rows that took no part in training.

For every split j, train on T_j and test on D_j:

    e_j = 1/|D_j| sum_{i in D_j} loss(x_i, y_i, f_{T_j}(x_i))        e = 1/J sum_j e_j

the average of the folds' losses, not the loss of all rows pooled. Splits are scikit-learn's: KFold,
RepeatedKFold, StratifiedKFold, LeaveOneOut, LeavePOut, ShuffleSplit, GroupKFold, StratifiedGroupKFold, TimeSeriesSplit;
`bootstrap.OutOfBag` adds the bootstrap. All candidates of a comparison get the same splits.

Stone (1974), Cross-validatory choice; Geisser (1975), The predictive sample reuse method.
"""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np
from joblib import Parallel, delayed
from numpy.typing import ArrayLike
from sklearn.base import clone, is_classifier
from sklearn.model_selection import check_cv, train_test_split

from fivefold.core._sklearn import _safe_indexing as rows_of
from fivefold.core.estimators.params import Seed
from fivefold.core.random_state import check_random_state
from fivefold.core.types import Indices, Matrix, Table, Target, Vector
from fivefold.evaluation.protocols import CrossValidation, Model, Split, Splitter
from fivefold.evaluation.row_losses import Loss, default_loss, model_losses
from fivefold.evaluation.tolerances import ROUNDING

MAX_FITS = 10_000  # more fits than this (leave-p-out soon has millions) must be allowed by the caller


INDEPENDENT_ROWS = "the rows are independent draws from the source of the rows to come"
SIMILAR_FIT = "a model fitted on the training rows of a split errs like one fitted on all rows"


@dataclass(frozen=True)
class Validation:
    """Losses of one learner on every split.

    Attributes
    ----------
    train, test
        mean loss on the training and on the test rows of each split, (J,).
    losses
        loss of every test row, one array per split.
    splits
        indices of training and test rows of each split.
    """

    train: Vector
    test: Vector
    losses: tuple[Vector, ...]
    splits: tuple[Split, ...]
    assumptions: tuple[str, ...] = (INDEPENDENT_ROWS, SIMILAR_FIT)

    @property
    def mean(self) -> float:
        """The average over splits of the loss on test rows."""
        return float(self.test.mean())

    @property
    def error(self) -> float:
        """Standard error of the mean, taking the splits as independent; for a single split, over its test rows."""
        values = self.test if len(self.test) > 1 else self.losses[0]
        return float(values.std(ddof=1) / np.sqrt(len(values))) if len(values) > 1 else np.inf

    @property
    def pooled(self) -> float:
        """The average over all test rows; differs from the mean if folds differ in size."""
        return float(np.concatenate(self.losses).mean())

    @property
    def training(self) -> float:
        """The average over splits of the loss on training rows: too small, because the model was fitted to them."""
        return float(self.train.mean())

    @property
    def n_train(self) -> float:
        """The mean number of training rows of a split."""
        return float(np.mean([len(train) for train, _ in self.splits]))

    @property
    def n_test(self) -> float:
        """The mean number of test rows of a split."""
        return float(np.mean([len(test) for _, test in self.splits]))

    @property
    def ratio(self) -> float:
        """Test rows over training rows, as `corrected_t` takes it."""
        return float(np.mean([len(test) / len(train) for train, test in self.splits]))

    def __str__(self) -> str:
        return (
            f"loss {self.mean:.4g} +- {self.error:.2g} on unseen rows over {len(self.test)} splits; "
            f"{self.training:.4g} on training rows, which is optimistic"
        )


def cross_validate(
    model: Model,
    X: Table,
    y: Target,
    *,
    cv: CrossValidation = 5,
    loss: Loss | None = None,
    groups: ArrayLike | None = None,
    n_jobs: int | None = None,
    most_fits: int = MAX_FITS,
) -> Validation:
    """Fit a copy of the model on every split; its losses on training and on test rows.

    Examples
    --------
    >>> from sklearn.datasets import load_iris
    >>> from sklearn.model_selection import RepeatedStratifiedKFold
    >>> from fivefold.naive_bayes import GaussianNB
    >>> X, y = load_iris(return_X_y=True)
    >>> print(cross_validate(GaussianNB(), X, y, cv=RepeatedStratifiedKFold(n_splits=5, n_repeats=2, random_state=0)))
    loss 0.0... +- 0.0... on unseen rows over 10 splits; 0.0... on training rows, which is optimistic
    """
    splits = splits_of(model, X, y, cv=cv, groups=groups, most_fits=most_fits)
    judged = Parallel(n_jobs=n_jobs)(
        delayed(_judge_split)(model, X, y, split, loss or default_loss(model)) for split in splits
    )
    train, losses = zip(*judged, strict=True)
    return Validation(np.array(train), np.array([part.mean() for part in losses]), losses, splits)


def splits_of(
    model: Model,
    X: Table,
    y: Target,
    *,
    cv: CrossValidation = 5,
    groups: ArrayLike | None = None,
    most_fits: int = MAX_FITS,
) -> tuple[Split, ...]:
    """The splits of `cv`, drawn once; an integer is the number of folds, stratified for classifiers."""
    splitter: Splitter = check_cv(cv, y, classifier=is_classifier(model))
    count = splitter.get_n_splits(X, y, groups)
    if count > most_fits:
        raise ValueError(
            f"{splitter} means {count} fits, more than {most_fits}. Draw some of the splits with ShuffleSplit, "
            f"or allow all of them with most_fits={count}"
        )
    return tuple(splitter.split(X, y, groups))


def _judge_split(model: Model, X: Table, y: Target, split: Split, loss: Loss) -> tuple[float, Vector]:
    """Mean loss on the training rows of a split, and the loss of each test row."""
    train, test = ((rows_of(X, rows), rows_of(y, rows)) for rows in split)
    fitted = clone(model).fit(*train)
    on_train, on_test = (model_losses(fitted, Z, t, loss) for Z, t in (train, test))
    return float(on_train.mean()), on_test


@dataclass(frozen=True)
class ThreeWaySplit:
    """Indices of three sets of rows with three roles: fit, choose, estimate."""

    train: Indices
    validation: Indices
    test: Indices


def three_way_split(
    n: int, *, validation: float = 0.2, test: float = 0.2, stratify: ArrayLike | None = None, random_state: Seed = None
) -> ThreeWaySplit:
    """Rows to fit on, rows to choose a model by, and rows to estimate the error of the chosen model.

    Examples
    --------
    >>> parts = three_way_split(10, random_state=0)
    >>> len(parts.train), len(parts.validation), len(parts.test)
    (6, 2, 2)
    """
    rng = check_random_state(random_state)
    strata = None if stratify is None else np.asarray(stratify)
    rest, last = train_test_split(np.arange(n), test_size=test, stratify=strata, random_state=rng)
    share = validation / (1 - test)
    labels = None if strata is None else strata[rest]
    first, middle = train_test_split(rest, test_size=share, stratify=labels, random_state=rng)
    return ThreeWaySplit(first, middle, last)


def smoother_residuals(S: Matrix, y: Target) -> Vector:
    """Leave-one-out residuals of a linear smoother f = S y, without refitting: (y_i - f_i) / (1 - S_ii).

    Exact for least squares, ridge and kernel ridge, whose fit to the other rows stays the same if row i takes the value
    that they predict for it.

    Examples
    --------
    >>> smoother_residuals(np.full((3, 3), 1 / 3), np.array([0.0, 3.0, 6.0]))  # the mean: 0 - (3 + 6) / 2, ...
    array([-4.5,  0. ,  4.5])
    """
    S, y = np.asarray(S), np.asarray(y)
    left = 1 - np.diag(S)  # (n,)
    if (left <= ROUNDING).any():
        i = int(np.argmin(left))
        raise ValueError(
            f"the smoother predicts row {i} from its own target alone (S_ii = {S[i, i]:.6g}); add a penalty"
        )
    return (y - S @ y) / left
