"""The price per bit: every rule that some price chooses, and the price that does best on rows held out.

    argmin  errors + price x bits          from price 0 up errors rise and bits fall: the lower hull of (bits, errors)

The price 2 ln 2 follows from a bound, which is loose; rows held out often ask for a lower one.

McAllester (2009), Case Studies in Machine Learning.
"""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

import numpy as np
from numpy.typing import ArrayLike
from sklearn.base import BaseEstimator, clone
from sklearn.model_selection import ShuffleSplit

from fivefold.core.estimators.params import Seed
from fivefold.core.types import Indices, UserTable, UserTarget, Vector
from fivefold.evaluation.row_losses import zero_one_row_loss
from fivefold.evaluation.selection import Selection, select
from fivefold.information.occam_bounds import PRICE_PER_BIT
from fivefold.theory.occam.occam_selection import EQUAL

PRICES = tuple(PRICE_PER_BIT * 2.0**k for k in range(3, -7, -1))  # 2 ln 2 and its doubles and halves: most bits last


def price_path(errors: ArrayLike, bits: ArrayLike) -> tuple[Vector, Indices]:
    """Prices, rising from 0, and the rule that minimises errors + price x bits from each of them up to the next.

    Examples
    --------
    >>> prices, chosen = price_path([90, 40, 35, 0], [2, 20, 30, 200])
    >>> prices.round(3), chosen
    (array([0.   , 0.206, 0.5  , 2.778]), array([3, 2, 1, 0]))
    """
    e, b = np.asarray(errors, dtype=float), np.asarray(bits, dtype=float)
    at = int(np.lexsort((b, e))[0])  # the fewest errors; of these the fewest bits
    prices, chosen = [0.0], [at]
    while (shorter := np.flatnonzero(b < b[at])).size:
        slopes = (e[shorter] - e[at]) / (b[at] - b[shorter])
        first = slopes.min()
        equal = shorter[slopes <= first * (1 + EQUAL)]
        at = int(equal[b[equal].argmin()])
        prices.append(float(first))
        chosen.append(at)
    return np.array(prices), np.array(chosen)


def tune_price(
    learner: BaseEstimator,
    X: UserTable,
    y: UserTarget,
    prices: Sequence[float] = PRICES,
    *,
    parameter: str = "price",
    holdout: float = 0.25,
    random_state: Seed = None,
) -> Selection:
    """The price per bit of least error on rows held out, and the learner fitted on all rows with it.

    Parameters
    ----------
    parameter
        the learner's parameter that is a price per bit: "price" of OccamTreeClassifier and OccamFormulaClassifier,
        "bit_price" of SparseLinearClassifier.
    holdout
        share of the rows held out.

    Examples
    --------
    >>> from sklearn.datasets import load_breast_cancer
    >>> from fivefold.tree import OccamTreeClassifier
    >>> X, y = load_breast_cancer(return_X_y=True)
    >>> found = tune_price(OccamTreeClassifier(), X, y, random_state=0)
    >>> round(found.model.price, 3)
    0.173
    """
    if parameter not in learner.get_params():
        raise ValueError(
            f"{type(learner).__name__} has no parameter {parameter!r}; name the one that is its price per bit"
        )
    rising = sorted(prices, reverse=True)  # the largest price gives the shortest rule: the first of equals wins
    candidates: list[Any] = [clone(learner).set_params(**{parameter: p}) for p in rising]
    split = ShuffleSplit(1, test_size=holdout, random_state=random_state)
    return select(candidates, X, y, cv=split, loss=zero_one_row_loss)
