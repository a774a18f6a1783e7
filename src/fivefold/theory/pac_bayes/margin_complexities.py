"""Three complexities of a linear classifier with margins, side by side, and the share of rows within the margin.

    err(w)  <=  e + sqrt(e c) + c,     e the share of rows with y w'f(x) < 1

    votes of features (L1)    c ~ (|w|_1^2 |f|_inf^2 + ln(1 / delta)) / n
    Gaussian prior (L2)       c ~ (|w|_2^2 |f|_2^2   + ln(1 / delta)) / n
    Laplace prior             c ~ (|w|_1   |f|_2     + ln(1 / delta)) / n

|f| is the largest norm of a row. Constants and logarithms are left out: these are orders of magnitude, to compare
classifiers and priors by, and no bounds. The bounds of posterior_bounds are explicit and much stronger. Multiplying w
and dividing f by the same number changes none of the three.
"""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any

import numpy as np
from numpy.typing import ArrayLike
from scipy.sparse import issparse

from fivefold.core.types import Table, UserTarget, Vector
from fivefold.optim.losses.margin_losses import MarginErrorLoss
from fivefold.theory.concentration.bound_arguments import check_confidence
from fivefold.theory.pac_bayes.linear_posteriors import signs


def margin_error(margins: ArrayLike) -> float:
    """The share of rows whose margin y w'f is below 1: never less than the share of errors.

    Examples
    --------
    >>> margin_error([2.0, 1.0, 0.9, -3.0])
    0.5
    """
    return float(MarginErrorLoss().at(np.asarray(margins, dtype=float)).mean())


@dataclass(frozen=True)
class MarginComplexities:
    """Orders of magnitude of c, without constants and logarithms: not bounds.

    Attributes
    ----------
    l1_votes, gaussian, laplace
        |w|_1^2 |f|_inf^2, |w|_2^2 |f|_2^2 and |w|_1 |f|_2.
    margin_error
        share of rows with a margin below 1.
    n, delta
        rows, and the probability of being wrong.
    """

    l1_votes: float
    gaussian: float
    laplace: float
    margin_error: float
    n: int
    delta: float

    def rates(self, n: ArrayLike | None = None) -> dict[str, Vector]:
        """(complexity + ln(1 / delta)) / n by each, for these rows or other numbers of them."""
        rows = np.asarray(self.n if n is None else n, dtype=float)
        each = {"votes of features": self.l1_votes, "Gaussian prior": self.gaussian, "Laplace prior": self.laplace}
        return {name: (value + np.log(1 / self.delta)) / rows for name, value in each.items()}

    def __str__(self) -> str:
        lines = (f"  {name:17}  {float(value):.4g}" for name, value in self.rates().items())
        head = (
            f"{self.margin_error:.4g} of {self.n} rows within the margin; complexity per row, order of magnitude only"
        )
        return "\n".join((head, *lines))


def margin_complexities(w: ArrayLike, F: Table, y: UserTarget, delta: float = 0.05) -> MarginComplexities:
    """The three complexities of weights w on features F (n, d) of two classes, `y` any two labels or -1 and 1.

    Examples
    --------
    >>> F = np.array([[1.0, 0.5], [-1.0, 0.5], [1.0, -0.5], [-1.0, -0.5]])
    >>> print(margin_complexities([2.0, 0.0], F, [1, 0, 1, 0]))
    0 of 4 rows within the margin; complexity per row, order of magnitude only
      votes of features  1.749
      Gaussian prior     1.999
      Laplace prior      1.308
    """
    features: Any = np.asarray(F.toarray() if issparse(F) else F, dtype=float)
    weights = np.asarray(w, dtype=float).ravel()
    if features.ndim != 2 or features.shape[1] != len(weights):
        raise ValueError(f"a weight per column of F; got {len(weights)} weights and F of shape {features.shape}")
    classes, codes = np.unique(np.asarray(y), return_inverse=True)
    if len(classes) > 2:
        raise ValueError(f"margins are those of two classes; y has {len(classes)}")
    check_confidence(len(features), delta)
    l1, rows = float(np.abs(weights).sum()), float(np.linalg.norm(features, axis=1).max())
    return MarginComplexities(
        l1_votes=(l1 * float(np.abs(features).max())) ** 2,
        gaussian=float(weights @ weights) * rows**2,
        laplace=l1 * rows,
        margin_error=margin_error(signs(codes) * (features @ weights)),
        n=len(features),
        delta=delta,
    )
