"""The posterior over rules that a fitted classifier stands for, so that PAC-Bayes speaks of it.

A linear classifier with weights mu (and the intercept as the weight of a constant feature 1) is the centre of the
Gaussian posterior N(s mu / |mu|, I); the size s is free and chosen by the bound, which holds for every s at once. A
kernel machine is linear in its features f(x): with h = sum_i a_i k(x_i, .) + b,

    |mu|^2 = a'Ka + b^2,     mu'f(x) / |f(x)| = h(x) / sqrt(k(x, x) + 1)

The answer of a rule drawn from the posterior is the sign of a normal variable with that mean and unit variance. The
centre is the majority vote of the posterior: where it errs, half of the rules or more err.

The prior, N(0, I), must not depend on the rows: the kernel and its parameters are chosen before. Columns that were
scaled by the rows are another kernel chosen by them.
"""

from __future__ import annotations

from collections.abc import Callable, Iterator, Sequence
from dataclasses import dataclass, replace
from functools import singledispatch
from typing import Any, Protocol, Self, runtime_checkable

import numpy as np
from scipy.sparse import issparse

from fivefold.core.types import Codes, Doubles, Matrix, Table, Vector
from fivefold.discriminant_analysis import LinearDiscriminantAnalysis
from fivefold.linear_model.base import LinearClassifier
from fivefold.linear_model.online.base import OnlineClassifier
from fivefold.svm import LinearSVC
from fivefold.svm.support.expansion import SupportExpansion
from fivefold.svm.support_vector_classifier import KernelClassifier
from fivefold.theory.bounds import NotApplicable
from fivefold.theory.pac_bayes.linear_posteriors import GaussianLinearPosterior, probit_loss, signs


@runtime_checkable
class RulePosterior(Protocol):
    """A distribution over rules whose Gibbs error is known row by row."""

    @property
    def complexity(self) -> float:
        """KL(Q, P), in nats."""

    def errors_at(self, X: Table, codes: Codes, factors: Sequence[float]) -> Iterator[Vector]:
        """The probability that a drawn rule errs, on each row, for the posterior `scaled` by each factor."""

    def scaled(self, factor: float) -> Self:
        """The posterior farther from the prior by a factor, or closer."""


class DrawsRules:
    """A classifier whose every prediction is that of a rule drawn from its posterior."""


def gibbs_errors(posterior: RulePosterior, X: Table, codes: Codes) -> Vector:
    """The probability that a drawn rule errs, on each row; `codes` number the classes."""
    return next(iter(posterior.errors_at(X, codes, (1.0,))))


def answer_shares(posterior: RulePosterior, X: Table, K: int) -> Matrix:
    """The probability that a drawn rule answers each class (n, K)."""
    n = X.shape[0]
    if K == 2:
        second = 1 - gibbs_errors(posterior, X, np.ones(n, dtype=np.int64))
        return np.column_stack([1 - second, second])
    return np.column_stack([1 - gibbs_errors(posterior, X, np.full(n, k)) for k in range(K)])


@dataclass(frozen=True)
class LinearRules:
    """A Gaussian posterior over weights of the columns of a table, and of a constant 1 if there is an intercept."""

    posterior: GaussianLinearPosterior
    intercept: bool

    @property
    def complexity(self) -> float:
        """|mu|^2 / 2."""
        return self.posterior.complexity

    def features(self, X: Table) -> Matrix:
        """The columns, and the constant."""
        F = np.asarray(X.toarray() if issparse(X) else X, dtype=np.float64)
        return np.column_stack([F, np.ones(len(F))]) if self.intercept else F

    def errors_at(self, X: Table, codes: Codes, factors: Sequence[float]) -> Iterator[Vector]:
        """Exactly, row by row."""
        return self.posterior.errors_at(self.features(X), codes, factors)

    def scaled(self, factor: float) -> Self:
        """With weights multiplied by a factor."""
        return replace(self, posterior=self.posterior.scaled(factor))


@dataclass(frozen=True)
class KernelRules:
    """A Gaussian posterior in the feature space of a kernel, for two classes."""

    norm: float  # |mu|
    margins: Callable[[Table], Vector]  # of mu of norm 1, at rows of unit length: positive for the second class
    factor: float = 1.0

    @property
    def complexity(self) -> float:
        """|mu|^2 / 2."""
        return 0.5 * (self.factor * self.norm) ** 2

    def errors_at(self, X: Table, codes: Codes, factors: Sequence[float]) -> Iterator[Vector]:
        """Exactly, row by row."""
        margins = signs(codes) * self.factor * self.norm * self.margins(X)
        return (probit_loss(factor * margins) for factor in factors)

    def scaled(self, factor: float) -> Self:
        """With weights multiplied by a factor."""
        return replace(self, factor=self.factor * factor)


@dataclass(frozen=True)
class MachineMargins:
    """h(x) / (|mu| sqrt(k(x, x) + 1)) of a kernel machine."""

    machine: SupportExpansion
    weights: Doubles
    norm: float

    def __call__(self, X: Table) -> Vector:
        answers = self.machine.outputs(X, self.weights)[:, 0] / np.sqrt(self.machine.kernel.diagonal(X) + 1)
        return np.asarray(answers / self.norm if self.norm > 0 else answers)


@singledispatch
def gibbs_posterior(model: Any) -> RulePosterior:
    """The posterior over rules that a fitted classifier is the centre of.

    Linear classifiers and support vector machines are known; `gibbs_posterior.register` adds a class of models.

    Examples
    --------
    >>> from fivefold.linear_model import LogisticRegression
    >>> model = LogisticRegression().fit([[0.0], [1.0], [3.0], [4.0]], [0, 0, 1, 1])
    >>> Q = gibbs_posterior(model)  # of the size of the weights themselves
    >>> answer_shares(Q, np.array([[0.0], [2.0], [4.0]]), 2).round(2)
    array([[0.98, 0.02],
           [0.5 , 0.5 ],
           [0.31, 0.69]])
    """
    raise NotApplicable(
        f"no posterior over rules is known for {type(model).__name__}, which is no linear classifier and no kernel "
        "machine. Register one with gibbs_posterior.register"
    )


@gibbs_posterior.register(LinearClassifier)
@gibbs_posterior.register(OnlineClassifier)
@gibbs_posterior.register(LinearSVC)
@gibbs_posterior.register(LinearDiscriminantAnalysis)
def _linear(model: Any) -> RulePosterior:  # any of the classes above
    coef = np.atleast_2d(model.coef_.toarray() if issparse(model.coef_) else model.coef_).astype(np.float64)
    constant = np.broadcast_to(np.asarray(model.intercept_, dtype=np.float64), len(coef))
    with_intercept = bool(getattr(model, "fit_intercept", True))
    mean = np.column_stack([coef, constant]) if with_intercept else coef
    if len(mean) > 1:
        mean = mean - mean.mean(axis=0)  # no answer changes, and the complexity is least
    return LinearRules(GaussianLinearPosterior(mean[0] if len(mean) == 1 else mean), with_intercept)


@gibbs_posterior.register(KernelClassifier)
def _kernel(model: Any) -> RulePosterior:  # SVC and NuSVC
    kernel = model.model_.kernel
    if len(model.classes_) != 2:
        raise NotApplicable(
            f"{type(model).__name__} of {len(model.classes_)} classes is a vote of pairs; the bound is for two classes"
        )
    if kernel.name in ("sigmoid", "precomputed") or (kernel.name == "function" and not kernel.is_of_pairs):
        raise NotApplicable(
            f"kernel={kernel.name!r} is no inner product of features of single rows; take linear, poly, rbf or a "
            "kernel of fivefold.kernels"
        )
    if kernel.name in ("rbf", "poly") and model.gamma == "scale":
        raise NotApplicable(
            'gamma="scale" takes the kernel from the training rows, and the prior would know them. Give gamma as a '
            'number that was chosen before, or gamma="auto"'
        )
    machine = model.model_
    norm = float(np.sqrt(machine.squared_norm[0] + machine.intercept[0] ** 2))
    return KernelRules(norm, MachineMargins(machine, model._pair_weights(), norm))
