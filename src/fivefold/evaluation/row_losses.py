"""Losses of predictions, one number per row; the cost of an error may depend on the row itself.

    loss(X, y, predicted) -> (n,)

zero-one   1[y != f(x)]                 its mean is the error rate
squared    (y - f(x))^2                 least for the mean
absolute   |y - f(x)|                   least for the median
weighted   c(x) loss(x, y, f(x))        an error on one row may cost more than on another

These losses evaluate predictions; a learner may minimise another loss on its training rows. The zero-one loss is
constant almost everywhere, so no gradient leads to its minimum.
"""

from __future__ import annotations

from collections.abc import Callable

import numpy as np
from sklearn.base import is_classifier

from fivefold.core.types import Array, Table, Target, Vector
from fivefold.evaluation import monte_carlo_risk
from fivefold.evaluation.protocols import FittedModel

Loss = Callable[[Table, Target, Target], Array]  # X, y, predicted -> (n,)


def zero_one_row_loss(X: Table, y: Target, predicted: Target) -> Array:
    """1 for a wrong class, 0 for the right one."""
    return monte_carlo_risk.zero_one_loss(y, predicted)


def squared_row_loss(X: Table, y: Target, predicted: Target) -> Array:
    """The squared difference."""
    return monte_carlo_risk.squared_loss(y, predicted)


def absolute_row_loss(X: Table, y: Target, predicted: Target) -> Array:
    """The absolute difference."""
    return np.abs(np.subtract(y, predicted))


def model_losses(model: FittedModel, X: Table, y: Target, loss: Loss) -> Vector:
    """The loss of a fitted model on each of these rows, (n,)."""
    return np.asarray(loss(X, y, model.predict(X)), dtype=float)


def weighted_loss(loss: Loss, weight: Callable[[Table], Array]) -> Loss:
    """`loss` times `weight(X)`, one number per row.

    Examples
    --------
    >>> dear = weighted_loss(zero_one_row_loss, lambda X: X[:, 0])
    >>> dear(np.array([[3.0], [5.0]]), [0, 1], [1, 1])
    array([3., 0.])
    """
    return lambda X, y, predicted: np.asarray(weight(X)) * loss(X, y, predicted)


def loss_scorer(loss: Loss) -> Callable[[FittedModel, Table, Target], float]:
    """Minus the mean loss, in the form that scikit-learn's searches and curves take as `scoring`.

    Examples
    --------
    >>> from sklearn.dummy import DummyClassifier
    >>> from sklearn.model_selection import cross_val_score
    >>> scoring = loss_scorer(zero_one_row_loss)
    >>> cross_val_score(DummyClassifier(), np.zeros((6, 1)), [0, 0, 0, 0, 1, 1], cv=2, scoring=scoring)
    array([-0.33333333, -0.33333333])
    """
    return lambda model, X, y: -float(model_losses(model, X, y, loss).mean())


def default_loss(model: FittedModel) -> Loss:
    """The zero-one loss for classifiers, the squared loss for all others."""
    return zero_one_row_loss if is_classifier(model) else squared_row_loss
