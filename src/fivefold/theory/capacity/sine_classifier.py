"""The sine classifier: two parameters, and an infinite VC dimension.

    f(x) = +1 if sin(w1 x + w0) > 0, otherwise -1

The points x_i = 10^-i, i = 1, ..., n, get any labels y_i = +-1 from

    w1 = pi (1 + sum over i with y_i = -1 of 10^i),    w0 = 0

since w1 x_i / pi is 10^-i, plus 10^(j - i) for every j with y_j = -1: an even number for j > i, one for j = i, and less
than one in all for j < i. For other points frequencies are tried in turn, each with the phase of least error: for a
given w1 the error changes only where w1 x_i + w0 passes a multiple of pi, so that 2 n phases are all there are.

Training errors say nothing about this family, however few parameters it has: capacity does not count parameters.

Vapnik (1995); Burges (1998) for the construction.
"""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any, Self

import numpy as np
from numpy.typing import ArrayLike
from sklearn.utils import check_array

from fivefold.core._sklearn import Tags
from fivefold.core.estimators.base import learned
from fivefold.core.estimators.params import Count
from fivefold.core.estimators.supervised_learning import Classifier
from fivefold.core.registry import Card
from fivefold.core.types import Doubles, Matrix, Table, Target, UserTable, UserTarget, UserWeights, Weights

MAX_POWER = 15  # 10^-15 is the smallest power whose multiples of pi 10^15 a float still tells apart


@dataclass(frozen=True)
class Sine:
    """sin(frequency x + phase)."""

    frequency: float
    phase: float

    def __call__(self, x: Doubles) -> Doubles:
        found: Doubles = np.sin(self.frequency * x + self.phase)
        return found


def sine_weights(labels: ArrayLike) -> tuple[float, float]:
    """w1 and w0 that give the points 0.1, 0.01, ... these labels, +1 or -1.

    Examples
    --------
    >>> w1, w0 = sine_weights([-1, 1, -1])
    >>> np.sign(np.sin(w1 * np.array([0.1, 0.01, 0.001]) + w0))
    array([-1.,  1., -1.])
    """
    y = np.asarray(labels, dtype=float)
    if y.ndim != 1 or not np.isin(y, (-1.0, 1.0)).all() or len(y) > MAX_POWER:
        raise ValueError(f"labels are +1 or -1, at most {MAX_POWER} of them; got {labels!r}")
    return float(np.pi * (1 + np.sum((1 - y) / 2 * 10.0 ** np.arange(1, len(y) + 1)))), 0.0


class SineClassifier(Classifier):
    """Two classes by the sign of a sine of one column: a family of infinite capacity with two parameters.

    Parameters
    ----------
    n_frequencies
        how many frequencies are tried: multiples of half a period over the range of the column.

    Attributes
    ----------
    frequency_, phase_
        w1 and w0.

    Examples
    --------
    >>> model = SineClassifier().fit([0.1, 0.01, 0.001, 0.0001], [0, 1, 1, 0])
    >>> model.predict([0.1, 0.01, 0.001, 0.0001])
    array([0, 1, 1, 0])
    """

    n_frequencies: Count = 2000

    card = Card(
        applications=("classification",),
        use="To see that few parameters do not mean small capacity. It learns any labels, and nothing from them.",
        steps=(
            "For powers of a tenth write the labels into the digits of the frequency.",
            "For other rows try frequencies in turn, each with the phase of least error.",
        ),
        source="Vapnik (1995)",
    )

    frequency_, phase_ = learned("frequency"), learned("phase")

    def __sklearn_tags__(self) -> Tags:
        tags = super().__sklearn_tags__()
        kinds: Any = tags.input_tags  # scikit-learn sets these without declaring them
        kinds.one_d_array, kinds.two_d_array = True, False
        tags.classifier_tags.multi_class = False
        return tags

    def fit(self, X: UserTable, y: UserTarget, sample_weight: UserWeights = None) -> Self:
        """Learn from a vector, or a table of one column, and two labels."""
        return self._fit_admitted(_column(X), y, sample_weight)

    def predict(self, X: UserTable) -> Any:
        """The second class where the sine is positive."""
        return super().predict(_column(X))

    def decision_function(self, X: UserTable) -> Doubles:
        """The sine at every row."""
        found: Doubles = self.model_(np.asarray(self._admit(_column(X))[:, 0], dtype=np.float64))
        return found

    def _fit(self, X: Table, y: Target, w: Weights) -> None:
        if len(self.classes_) > 2:
            raise ValueError(
                f"Only binary classification is supported: a sign has two values; y holds {len(self.classes_)} classes"
            )
        x = np.asarray(X[:, 0], dtype=np.float64)
        sign = np.where(y == len(self.classes_) - 1, 1.0, -1.0)
        self.model_ = _written(x, sign) or _searched(x, sign, np.asarray(w, dtype=np.float64), self.n_frequencies)

    def _scores(self, X: Table) -> Matrix:
        f = self.model_(np.asarray(X[:, 0], dtype=np.float64))
        return np.column_stack([-f, f])[:, -len(self.classes_) :]


def _written(x: Doubles, sign: Doubles) -> Sine | None:
    """The labels in the digits of the frequency, if every x is a power of a tenth with one label."""
    if (x <= 0).any():
        return None
    power = np.rint(-np.log10(x)).astype(int)
    if power.min() < 1 or power.max() > MAX_POWER or not np.allclose(x, 10.0**-power, rtol=1e-12, atol=0):
        return None
    labels = np.ones(power.max())
    labels[power - 1] = sign
    return Sine(*sine_weights(labels)) if np.array_equal(labels[power - 1], sign) else None


def _searched(x: Doubles, sign: Doubles, w: Doubles, count: int) -> Sine:
    """The frequency and phase of least weighted error, the lowest of equal frequencies."""
    span = float(x.max() - x.min()) or 1.0
    best, least = Sine(0.0, np.pi / 2), np.inf
    for k in range(count):
        if least <= 0:
            break  # no row is wrong
        frequency = np.pi * k / span
        phase, error = _best_phase(frequency * x, sign, w)
        if error < least - 1e-12 * w.sum():
            best, least = Sine(frequency, phase), error if error > 1e-12 * w.sum() else 0.0
    return best


def _best_phase(angle: Doubles, sign: Doubles, w: Doubles) -> tuple[float, float]:
    """The middle of the phases of least error, and that error."""
    turn = 2 * np.pi
    rise, fall = np.mod(-angle, turn), np.mod(np.pi - angle, turn)  # phases from which on the sine is +, and -
    at = np.concatenate([rise, fall])
    change = np.concatenate([-sign * w, sign * w])  # of the error, when the phase passes
    order = np.argsort(at, kind="stable")
    edges = np.append(at[order], at[order[0]] + turn)
    start = w[(rise > fall) == (sign < 0)].sum()  # at phase zero the sine is + where it fell last
    errors = start + np.cumsum(change[order])
    errors = np.where(np.diff(edges) > 1e-9, errors, np.inf)  # no phase lies between edges that coincide
    j = int(errors.argmin())
    return float(np.mod((edges[j] + edges[j + 1]) / 2, turn)), float(errors[j])


def _column(X: UserTable) -> Matrix:
    """A vector, or a table of one column, as a table of one column."""
    X = check_array(X, ensure_2d=False, dtype=[np.float64, np.float32], ensure_all_finite=False, input_name="X")
    if X.ndim == 1:
        return X.reshape(-1, 1)
    if X.ndim == 2 and X.shape[1] == 1:
        return X
    raise ValueError(f"SineClassifier takes one column: a vector, or a table of width 1; got shape {X.shape}")
