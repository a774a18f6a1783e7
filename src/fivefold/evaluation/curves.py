"""Loss on training and on unseen rows as a parameter changes, or as the number of training rows grows.

    validation curve    e(theta) for values of one parameter: training loss falls with complexity, test loss turns up
    learning curve      e(n) for sizes of the training set: the gap between the two closes as n grows

The splits are drawn once; scikit-learn's `validation_curve` and `learning_curve` do the fitting, with any loss.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from typing import Any

import numpy as np
from numpy.typing import ArrayLike, NDArray
from sklearn import model_selection

from fivefold.core.estimators.params import Seed
from fivefold.core.types import Matrix, Table, Target, Vector
from fivefold.evaluation.protocols import CrossValidation, Model
from fivefold.evaluation.row_losses import Loss, default_loss, loss_scorer
from fivefold.evaluation.validation import INDEPENDENT_ROWS, SIMILAR_FIT, splits_of


@dataclass(frozen=True)
class LossCurve:
    """Mean losses of every split at every value.

    Attributes
    ----------
    name
        what varies.
    values
        its values, (V,).
    train, test
        loss on training and on test rows, (V, J).
    """

    name: str
    values: Sequence[Any] | NDArray[Any]  # of a parameter, so anything
    train: Matrix
    test: Matrix
    assumptions: tuple[str, ...] = (INDEPENDENT_ROWS, SIMILAR_FIT)

    @property
    def mean(self) -> Vector:
        """Loss on unseen rows at every value, averaged over splits, (V,)."""
        return self.test.mean(axis=1)

    @property
    def error(self) -> Vector:
        """Standard error of that mean, the splits taken as independent, (V,)."""
        J = self.test.shape[1]
        return self.test.std(axis=1, ddof=1) / np.sqrt(J) if J > 1 else np.full(len(self.test), np.inf)

    @property
    def gap(self) -> Vector:
        """Loss on unseen rows minus loss on training rows, (V,)."""
        return self.mean - self.train.mean(axis=1)

    @property
    def best(self) -> int:
        """The index of the least loss on unseen rows, the first of equals."""
        return int(np.argmin(self.mean))

    def __str__(self) -> str:
        i = self.best
        return (
            f"{self.name} = {self.values[i]}: least loss on unseen rows, {self.mean[i]:.4g} +- {self.error[i]:.2g}; "
            f"{self.train[i].mean():.4g} on training rows"
        )


def validation_curve(
    model: Model,
    X: Table,
    y: Target,
    name: str,
    values: Sequence[Any],
    *,
    cv: CrossValidation = 5,
    loss: Loss | None = None,
    groups: ArrayLike | None = None,
    n_jobs: int | None = None,
) -> LossCurve:
    """Losses for each value of the named parameter; values are given from the simplest model to the most complex.

    Examples
    --------
    >>> from sklearn.datasets import load_diabetes
    >>> from fivefold.linear_model import Ridge
    >>> print(validation_curve(Ridge(), *load_diabetes(return_X_y=True), "alpha", [10.0, 1.0, 0.1]))
    alpha = 0.1: least loss on unseen rows, 30... +- ...; 28... on training rows
    """
    options = _curve_options(model, X, y, cv, loss, groups, n_jobs)
    train, test = model_selection.validation_curve(model, X, y, param_name=name, param_range=values, **options)
    return LossCurve(name, tuple(values), -train, -test)


def learning_curve(
    model: Model,
    X: Table,
    y: Target,
    sizes: Sequence[float] = (0.1, 0.2, 0.4, 0.7, 1.0),
    *,
    cv: CrossValidation = 5,
    loss: Loss | None = None,
    groups: ArrayLike | None = None,
    random_state: Seed = None,
    n_jobs: int | None = None,
) -> LossCurve:
    """Losses as the training set grows: `sizes` are numbers of rows, or shares of the training rows of a split.

    Rows are drawn at random; those of a smaller size are among those of every larger one.

    Examples
    --------
    >>> from sklearn.datasets import load_diabetes
    >>> from fivefold.linear_model import Ridge
    >>> found = learning_curve(Ridge(alpha=0.1), *load_diabetes(return_X_y=True), random_state=0)
    >>> found.values, bool(found.gap[-1] < found.gap[0])
    ((35, 70, 141, 247, 353), True)
    """
    options = _curve_options(model, X, y, cv, loss, groups, n_jobs)
    order = {"shuffle": True, "random_state": random_state}
    used, train, test = model_selection.learning_curve(model, X, y, train_sizes=sizes, **options, **order)
    return LossCurve("training rows", tuple(used.tolist()), -train, -test)


def _curve_options(
    model: Model,
    X: Table,
    y: Target,
    cv: CrossValidation,
    loss: Loss | None,
    groups: ArrayLike | None,
    n_jobs: int | None,
) -> dict[str, Any]:
    """What scikit-learn's two curves are asked: the splits, drawn once, and minus the loss as the score."""
    return {
        "scoring": loss_scorer(loss or default_loss(model)),
        "cv": splits_of(model, X, y, cv=cv, groups=groups),
        "n_jobs": n_jobs,
        "error_score": "raise",
    }
