"""A locked test set: opened once, for the final estimate.

Whoever looks at the error on test rows and then changes the model has trained on them. `lock_away` gives back the
training rows only; the test rows stay inside the lock, which judges one model. A second look is refused, or, with
second="record", scored and marked as one more look.
"""

from __future__ import annotations

from dataclasses import dataclass, field
from typing import Literal

import numpy as np
from numpy.typing import ArrayLike
from sklearn.model_selection import train_test_split

from fivefold.core.estimators.params import Seed
from fivefold.core.types import Table, Target
from fivefold.evaluation.protocols import FittedModel
from fivefold.evaluation.row_losses import Loss, default_loss, model_losses
from fivefold.evaluation.validation import INDEPENDENT_ROWS

SECOND_LOOK = "refuse", "record"  # what to do when the test set is opened again


class OpenedTwiceError(RuntimeError):
    """The test set has been looked at already."""


@dataclass(frozen=True)
class LockedTestResult:
    """The mean loss of a model on the test rows, its standard error, and how many looks there have been."""

    model: str
    mean: float
    error: float
    n: int
    looks: int
    assumptions: tuple[str, ...] = (INDEPENDENT_ROWS,)

    def __str__(self) -> str:
        spoiled = "" if self.looks == 1 else f"; look {self.looks} at these rows: optimistic if earlier ones were used"
        return f"{self.model}: loss {self.mean:.4g} +- {self.error:.2g} on {self.n} test rows{spoiled}"


@dataclass
class LockedTest:
    """Test rows that nobody sees; `open` scores a fitted model on them."""

    _X: Table = field(repr=False)
    _y: Target = field(repr=False)
    second: Literal["refuse", "record"] = "refuse"
    looks: tuple[LockedTestResult, ...] = ()

    def open(self, model: FittedModel, loss: Loss | None = None) -> LockedTestResult:
        """Score a fitted model; a second time only if second looks are recorded."""
        if self.looks and self.second == "refuse":
            raise OpenedTwiceError(
                f"the test set was opened for {self.looks[0].model}; its rows are no longer unseen. "
                "Choose between models by cross-validation on the training rows, and judge the last one here"
            )
        losses = model_losses(model, self._X, self._y, loss or default_loss(model))
        n, spread = len(losses), float(losses.std(ddof=1)) if len(losses) > 1 else np.inf
        look = LockedTestResult(str(model), float(losses.mean()), spread / np.sqrt(n), n, len(self.looks) + 1)
        self.looks = (*self.looks, look)
        return look


def lock_away(
    X: Table,
    y: Target,
    *,
    test_size: float = 0.2,
    stratify: ArrayLike | None = None,
    second: Literal["refuse", "record"] = "refuse",
    random_state: Seed = None,
) -> tuple[Table, Target, LockedTest]:
    """Training rows, their targets, and the lock that holds the others.

    Examples
    --------
    >>> from sklearn.datasets import load_iris
    >>> from fivefold.naive_bayes import GaussianNB
    >>> X, y, lock = lock_away(*load_iris(return_X_y=True), random_state=0)
    >>> model = GaussianNB().fit(X, y)
    >>> print(lock.open(model))
    GaussianNB(): loss 0.0... +- 0.0... on 30 test rows
    >>> lock.open(model)
    Traceback (most recent call last):
        ...
    fivefold.evaluation.locked_test.OpenedTwiceError: the test set was opened for GaussianNB(); ...
    """
    if second not in SECOND_LOOK:
        raise ValueError(f"second must be one of {', '.join(map(repr, SECOND_LOOK))}; got {second!r}")
    X, held, y, y_held = train_test_split(X, y, test_size=test_size, stratify=stratify, random_state=random_state)
    return X, y, LockedTest(held, y_held, second)
