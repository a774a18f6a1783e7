"""Methods that place the rows of fit, and know no place for others."""

from __future__ import annotations

from dataclasses import dataclass

from numpy.typing import DTypeLike

from fivefold.core.estimators.base import Unsupervised, learned_in_dtype
from fivefold.core.types import Matrix, UserTable, UserTarget


@dataclass(frozen=True)
class Placement:
    """The places of the rows."""

    embedding: Matrix  # (n, k)
    dtype: DTypeLike


def refuse_components(estimator: object, k: int, n: int) -> None:
    """Refuse more coordinates than there are rows."""
    if k > n:
        raise ValueError(
            f"{type(estimator).__name__}: n_components={k} must be at most the number of rows; X has n_samples={n}. "
            "Ask for fewer coordinates"
        )


class Embedding(Unsupervised):
    """Gives each row of fit a place in few dimensions."""

    embedding_ = learned_in_dtype("embedding")

    def fit_transform(self, X: UserTable, y: UserTarget = None) -> Matrix:
        """Fit, and give the places of the rows (n, n_components)."""
        return self.fit(X, y).embedding_
