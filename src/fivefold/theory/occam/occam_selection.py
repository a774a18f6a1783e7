"""Choosing a rule by its errors and its length, on the rows it was trained on.

    root      argmin  e + sqrt((bits ln 2 + ln(2 / delta)) / (2 n))     too short a rule where errors are few
    tight     argmin  B = e + sqrt(e c) + c                             c = 2 (bits ln 2 + ln(1 / delta)) / n
    exact, kl, binomial                                                 the same bound solved, and by inversion
    linear    argmin  e + c                                             e + c <= B <= (3/2) (e + c): B of the rule
                                                                        found is at most 3/2 of the least B
    count     argmin  errors + price x bits                             price = 2 ln 2: the same rule as `linear`

A bound holds for all rules of a prefix code at once, so that the chosen rule has it too, however many were compared.
Lengths by `describe` are of one code for all its languages: each model says first in which of them it is written. At
the minimum of the count a further bit saves as many errors as it costs: bits and errors are of one size.

Blumer, Ehrenfeucht, Haussler & Warmuth (1987); McAllester (2009), Case Studies in Machine Learning.
"""

from __future__ import annotations

from collections.abc import Iterable, Sequence
from dataclasses import dataclass
from typing import Protocol

import numpy as np
from numpy.typing import ArrayLike

from fivefold.core.types import Array, Labels, UserTable, UserTarget, Vector
from fivefold.evaluation.protocols import FittedModel
from fivefold.information.occam_bounds import PRICE_PER_BIT, tight_bound
from fivefold.theory.codes import describe
from fivefold.theory.concentration import split_by_length
from fivefold.theory.occam.code_length_bounds import OCCAM_ASSUMPTIONS, RULES, check_occam

EQUAL = 1e-12  # criteria that differ by less than this share of themselves are equal: the shorter rule wins


class StagedModel(Protocol):
    """A fitted model that is built round by round, and tells its answers after each."""

    def staged_predict(self, X: UserTable) -> Iterable[Labels]:
        """The class of each row after each round."""


@dataclass(frozen=True)
class OccamSelection:
    """Errors, lengths and criterion of every rule, and the one chosen.

    Attributes
    ----------
    errors, bits
        errors on the rows, and code length, of each rule.
    n, delta
        number of rows, and probability that the bounds fail.
    rule
        name of the criterion that was minimised, one of `RULES`.
    scores
        its value for each rule.
    chosen
        index of the rule of least score; the shorter of equals.
    models
        the fitted models, if models were compared.
    """

    errors: Vector
    bits: Vector
    n: float
    delta: float
    rule: str
    scores: Vector
    chosen: int
    models: tuple[FittedModel, ...] = ()
    assumptions: tuple[str, ...] = OCCAM_ASSUMPTIONS

    @property
    def model(self) -> FittedModel:
        """The chosen model."""
        if not self.models:
            raise ValueError("no models were given, only their errors and lengths; `chosen` is the index")
        return self.models[self.chosen]

    @property
    def tight(self) -> float:
        """B of the chosen rule: its error on new rows is below this with probability 1 - delta."""
        return float(self._tight[self.chosen])

    @property
    def least_tight(self) -> float:
        """The least B of all rules; for rule="linear" and rule="count", `tight` is at most 3/2 of it."""
        return float(self._tight.min())

    @property
    def bits_per_error(self) -> float:
        """Of the chosen rule: near one where "count" has chosen at its default price among rules of many lengths."""
        errors, bits = self.errors[self.chosen], self.bits[self.chosen]
        return float(bits / errors) if errors else np.inf

    def bound(self, form: str = "kl") -> float:
        """A bound on the error of the chosen rule: "root", "tight", "exact", "kl" or "binomial"."""
        if form in ("linear", "count") or form not in RULES:
            raise ValueError(f"form is one of {', '.join(_BOUNDS)}; got {form!r}")
        i = self.chosen
        return min(1.0, float(RULES[form](self.errors[i], self.bits[i], self.n, self.delta)))

    @property
    def _tight(self) -> Array:
        return np.asarray(tight_bound(self.errors, self.bits, self.n, self.delta))

    def __str__(self) -> str:
        names = [type(m).__name__ for m in self.models] or [f"rule {i}" for i in range(len(self.bits))]
        width = max(map(len, names))
        lines = (
            f"{'*' if i == self.chosen else ' '} {name:{width}}  {bits:8.1f} bits  {errors:6.0f} errors  {score:.4g}"
            for i, (name, bits, errors, score) in enumerate(
                zip(names, self.bits, self.errors, self.scores, strict=True)
            )
        )
        end = (
            f"B of the choice {self.tight:.4g}, least B {self.least_tight:.4g}, on {self.n:g} rows; "
            f"{self.bits_per_error:.3g} bits per error"
        )
        return "\n".join((*lines, end))


_BOUNDS = tuple(name for name in RULES if name not in ("linear", "count"))


def select_by_length(
    errors: ArrayLike,
    bits: ArrayLike,
    n: float,
    *,
    rule: str = "tight",
    delta: float = 0.05,
    price: float | None = None,
) -> OccamSelection:
    """The rule of least criterion, from the errors on n rows and the code lengths of all.

    Examples
    --------
    >>> found = select_by_length([90, 40, 35, 0], [2, 20, 30, 200], 1000, rule="linear")
    >>> found.chosen, round(found.tight, 4), round(found.least_tight, 4)
    (1, 0.1104, 0.1104)
    """
    e, b = np.atleast_1d(np.asarray(errors, dtype=float)), np.atleast_1d(np.asarray(bits, dtype=float))
    if e.shape != b.shape or e.ndim != 1 or not len(e):
        raise ValueError(f"one number of errors and one length per rule; got shapes {e.shape} and {b.shape}")
    if rule not in RULES:
        raise ValueError(f"rule is one of {', '.join(RULES)}; got {rule!r}")
    if price is not None and (rule != "count" or not price >= 0):
        raise ValueError(f"a price is not negative, and for rule='count' only; got price={price} with rule={rule!r}")
    check_occam(e, b, n, delta)
    scores = np.asarray(RULES[rule](e, b, n, delta, PRICE_PER_BIT if price is None else price))
    least = scores <= scores.min() * (1 + EQUAL)
    chosen = int(np.flatnonzero(least)[b[least].argmin()])
    return OccamSelection(e, b, n, delta, rule, scores, chosen)


def occam_select(
    models: Sequence[FittedModel],
    X: UserTable,
    y: UserTarget,
    lengths: Sequence[float] | None = None,
    *,
    rule: str = "tight",
    delta: float = 0.05,
    price: float | None = None,
    ranges: ArrayLike | None = None,
) -> OccamSelection:
    """Choose among fitted models by their errors on these rows, those of fit, and their code lengths.

    Parameters
    ----------
    lengths
        bits of each model in one prefix code; None for those of `describe`.
    ranges
        (d, 2) plausible ranges of the columns, fixed before the rows were seen, for `describe`.

    Examples
    --------
    >>> from sklearn.datasets import load_breast_cancer
    >>> from fivefold.tree import OccamTreeClassifier
    >>> X, y = load_breast_cancer(return_X_y=True)
    >>> found = occam_select([OccamTreeClassifier(price=p).fit(X, y) for p in (0.1, 1.0, 10.0)], X, y)
    >>> found.chosen, round(found.bound(), 2)
    (1, 0.26)
    """
    if not len(models):
        raise ValueError("there is no model to choose from; give one or more")
    if lengths is None:
        bits = np.array([describe(model, ranges).bits for model in models])
    elif len(lengths) != len(models):
        raise ValueError(f"one length per model is needed; got {len(lengths)} lengths of {len(models)} models")
    else:
        split_by_length(delta, lengths)  # refuses lengths that no prefix code has
        bits = np.asarray(lengths, dtype=float)
    labels = np.asarray(y)
    errors = [int(np.sum(np.asarray(model.predict(X)) != labels)) for model in models]
    found = select_by_length(errors, bits, len(labels), rule=rule, delta=delta, price=price)
    return OccamSelection(**{**vars(found), "models": tuple(models)})


def occam_stages(
    model: StagedModel,
    X: UserTable,
    y: UserTarget,
    lengths: ArrayLike,
    *,
    rule: str = "tight",
    delta: float = 0.05,
    price: float | None = None,
) -> OccamSelection:
    """The round at which boosting should stop, by the errors after each round and the bits of the model until then.

    Parameters
    ----------
    model
        a fitted model with `staged_predict`.
    lengths
        bits of the model after each round, or bits per round. The bound speaks of a model that these bits describe:
        numbers in it are rounded as the code says. `OccamBoostingClassifier` does all of it for stumps.

    Examples
    --------
    >>> from sklearn.datasets import load_breast_cancer
    >>> from fivefold.ensemble import GradientBoostingClassifier
    >>> X, y = load_breast_cancer(return_X_y=True)
    >>> model = GradientBoostingClassifier(max_depth=1, learning_rate=1.0, n_estimators=20, random_state=0).fit(X, y)
    >>> found = occam_stages(model, X, y, 3.0, rule="count")
    >>> found.chosen + 1, float(found.errors[found.chosen])
    (3, 23.0)
    """
    labels = np.asarray(y)
    errors = np.array([np.sum(np.asarray(stage) != labels) for stage in model.staged_predict(X)])
    each = np.asarray(lengths, dtype=float)
    bits = each * np.arange(1, len(errors) + 1) if each.ndim == 0 else each
    return select_by_length(errors, bits, len(labels), rule=rule, delta=delta, price=price)
