"""The lasso and the elastic net for several targets that share their columns.

    min over B, b of   1/(2 W) sum_i s_i |y_i - B'x_i - b|^2 + alpha (r sum_j |b_j| + (1 - r)/2 sum_j |b_j|^2)

b_j is the row of coefficients of column j, one for each target, and |b_j| its length: a column serves all targets or
none. Coordinate descent moves a row at a time: it shrinks as a whole, by its length
(optim.proximal.coordinate_descent).

Yuan & Lin (2006); Obozinski, Taskar & Jordan (2010).
"""

from __future__ import annotations

from dataclasses import KW_ONLY
from typing import Any, ClassVar

from fivefold.core.estimators.base import learned
from fivefold.core.estimators.params import Fraction
from fivefold.core.registry import Card
from fivefold.core.types import Table, Target, Weights
from fivefold.linear_model.lasso import LassoBase

CARD_STEPS = (
    "Centre columns and targets; make the Gram matrix if there are more rows than columns.",
    "Take the columns in use and those nearest to entering.",
    "Set the row of coefficients of each column to its own minimum in turn, extrapolating from the last passes.",
    "Check every column, and repeat until the duality gap is closed.",
)


class _MultiTask(LassoBase):
    """Targets (n, T) share their zeros.

    Parameters
    ----------
    fit_intercept
        fit an intercept for each target.
    copy_X
        kept for scikit-learn's signature; X is never overwritten.
    tol
        duality gap, as a share of the sum of squares of y, above which a warning is given.
    random_state
        seed of the order of the columns, for selection="random".
    selection
        "cyclic" takes the columns of a working set in order, "random" in a random order.

    Attributes
    ----------
    coef_
        shape (n_targets, d).
    intercept_
        the predictions at the origin.
    eps_
        the largest duality gap allowed, on the scale of the sum of squares.
    """

    joint: ClassVar[bool] = True

    eps_ = learned("eps")

    def __sklearn_tags__(self) -> Any:
        tags = super().__sklearn_tags__()
        tags.target_tags.single_output = False
        return tags

    def _fit(self, X: Table, y: Target, w: Weights) -> None:
        if y.ndim == 1:
            name = type(self).__name__
            raise ValueError(
                f"{name} takes several targets, one per column of y; y is a vector. For mono-task outputs, use "
                f"{name.removeprefix('MultiTask')}"
            )
        super()._fit(X, y, w)


class MultiTaskLasso(_MultiTask):
    """The lasso for several targets: a column has coefficients for all of them or for none.

    Parameters
    ----------
    alpha
        strength of the penalty on the lengths of the rows of coefficients.

    Examples
    --------
    >>> from fivefold.linear_model import MultiTaskLasso
    >>> model = MultiTaskLasso(alpha=0.1).fit([[0, 1], [1, 2], [2, 4]], [[0, 0], [1, 1], [2, 3]])
    >>> model.coef_.round(3)
    array([[0.   , 0.608],
           [0.   , 0.946]])
    """

    card = Card(
        applications=("regression", "data mining"),
        use="Several targets that depend on the same few of many columns, as signals measured at many times do.",
        steps=CARD_STEPS,
        source="Obozinski, Taskar & Jordan (2010)",
        see_also=("Lasso", "MultiTaskElasticNet"),
        variants=({"alpha": 0.1, "selection": "random"},),
        search={"alpha": (1e-3, 1e-2, 0.1, 1.0)},
    )


class MultiTaskElasticNet(_MultiTask, keywords="l1_ratio fit_intercept copy_X max_iter tol warm_start"):
    """The elastic net for several targets: a column has coefficients for all of them or for none.

    Parameters
    ----------
    l1_ratio
        share of the penalty on the lengths of the rows of coefficients; the rest is on their squares.

    Examples
    --------
    >>> from fivefold.linear_model import MultiTaskElasticNet
    >>> model = MultiTaskElasticNet(alpha=0.1).fit([[0, 0], [1, 1], [2, 2]], [[0, 0], [1, 1], [2, 2]])
    >>> model.coef_.round(4)
    array([[0.4564, 0.4564],
           [0.4564, 0.4564]])
    """

    _: KW_ONLY
    l1_ratio: Fraction = 0.5

    card = Card(
        applications=("regression", "data mining"),
        use="Several targets that depend on the same columns, some of them correlated.",
        steps=CARD_STEPS,
        source="Yuan & Lin (2006); Zou & Hastie (2005)",
        see_also=("ElasticNet", "MultiTaskLasso"),
        variants=({"alpha": 0.1, "l1_ratio": 0.9},),
        search={"alpha": (1e-3, 1e-2, 0.1, 1.0), "l1_ratio": (0.2, 0.5, 0.9)},
    )
