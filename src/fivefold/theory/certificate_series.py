"""Every bound of one model as a series: against the number of rows, and against delta.

Against rows, a copy of the model is fitted to the first n rows of a random order and certified on them, or the fitted
model is certified on the first n held-out rows. Against delta, model and rows stay.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from typing import Any

import numpy as np
from sklearn.base import clone

from fivefold.core._sklearn import _safe_indexing as rows_of
from fivefold.core.types import UserTable, UserTarget, Vector
from fivefold.evaluation.protocols import FittedModel, Model
from fivefold.theory.bounds import Rows
from fivefold.theory.certificate import Certificate
from fivefold.theory.certify import certify


@dataclass(frozen=True)
class CertificateSeries:
    """Certificates of one model, in order."""

    against: str  # "rows" or "delta"
    at: Vector  # numbers of rows, or values of delta
    certificates: tuple[Certificate, ...]

    @property
    def bounds(self) -> dict[str, Vector]:
        """Each bound along the series; NaN where it does not apply."""
        names = dict.fromkeys(name for one in self.certificates for name in one.parts)
        return {name: np.array([one.parts.get(name, np.nan) for one in self.certificates]) for name in names}

    @property
    def risks(self) -> Vector:
        """The observed errors."""
        return np.array([one.risk for one in self.certificates])


def certificates_by_rows(
    model: Model | FittedModel,
    X: UserTable,
    y: UserTarget,
    sizes: Sequence[int],
    *,
    rows: Rows = "training",
    delta: float = 0.05,
    seed: int = 0,
    **settings: Any,
) -> CertificateSeries:
    """Certificates from more and more rows: of copies fitted to them, or of a fitted model on held-out rows.

    Examples
    --------
    >>> from sklearn.datasets import load_iris
    >>> from fivefold.tree import DecisionTreeClassifier
    >>> X, y = load_iris(return_X_y=True)
    >>> found = certificates_by_rows(DecisionTreeClassifier(max_depth=2, random_state=0), X, y, [50, 150])
    >>> found.at.tolist(), len(found.certificates)
    ([50.0, 150.0], 2)
    """
    labels = np.asarray(y)
    if not sizes or min(sizes) < 1 or max(sizes) > len(labels):
        raise ValueError(f"sizes are numbers of rows from 1 to {len(labels)}; got {list(sizes)}")
    order, found = np.random.default_rng(seed).permutation(len(labels)), []
    for n in sizes:
        part = order[:n]
        own, known = rows_of(X, part), labels[part]
        fitted: Any = clone(model).fit(own, known) if rows == "training" else model
        found.append(certify(fitted, own, known, delta, rows=rows, **settings))
    return CertificateSeries("rows", np.asarray(sizes, dtype=float), tuple(found))


def certificates_by_delta(
    model: FittedModel,
    X: UserTable,
    y: UserTarget,
    deltas: Sequence[float],
    *,
    rows: Rows | None = None,
    **settings: Any,
) -> CertificateSeries:
    """Certificates of a fitted model at several probabilities of being wrong."""
    if not deltas:
        raise ValueError("deltas are probabilities between 0 and 1, one at least; got none")
    found = tuple(certify(model, X, y, delta, rows=rows, **settings) for delta in deltas)
    return CertificateSeries("delta", np.asarray(deltas, dtype=float), found)
