"""Class-conditional models: a density per class, prior probabilities, and Bayes' rule.

    P(k | x) = p(x | k) P(k) / sum_j p(x | j) P(j)          by log-sum-exp

Densities may be fitted estimators with score_samples, distributions of scipy.stats, members of a family of fivefold, or
functions. Equal priors leave the decision to the likelihoods alone. The same decisions follow from any of the
discriminants P(k | x), p(x | k) P(k) and log p(x | k) + log P(k).

Duda, Hart & Stork (2001), chapter 2.
"""

from __future__ import annotations

from collections.abc import Callable, Sequence
from copy import copy
from dataclasses import dataclass
from functools import cached_property
from inspect import signature
from typing import Any, Literal, TypeAlias, cast

import numpy as np
from scipy.special import logsumexp

from fivefold.core.types import Array, Codes, Labels, Matrix, Rng, Table, Vector
from fivefold.distributions.family import Distributions

# score_samples or logpdf of a class; scipy.stats gives its distributions no type in common
ClassDensity: TypeAlias = Any
PRIOR_TOLERANCE = 1e-8  # by which the sum of given priors may differ from one


@dataclass(frozen=True)
class ClassConditionalModel:
    """K densities with prior probabilities: everything that Bayes' rule needs.

    Parameters
    ----------
    densities
        one per class: a fitted estimator with `score_samples`, a distribution of scipy.stats, or a function that gives
        the density of each row; or members of a family, one per class.
    priors
        prior probabilities of the classes, with sum one; None: equal, so that the likelihoods alone decide.
    labels
        names of the classes; None: 0, 1, ...

    Examples
    --------
    >>> from scipy.stats import norm
    >>> model = ClassConditionalModel([norm(0, 1), norm(4, 1)])
    >>> model.posterior([[2.0]])
    array([[0.5, 0.5]])
    >>> model.predict([[1.0], [3.0]])
    array([0, 1])
    """

    densities: Sequence[ClassDensity] | Distributions
    priors: Sequence[float] | Vector | None = None
    labels: Sequence[Any] | Labels | None = None

    def __post_init__(self) -> None:
        K = self.n_classes
        if self.labels is not None and len(self.labels) != K:
            raise ValueError(f"{K} densities, but {len(self.labels)} labels; name every class once")
        if self.priors is None:
            return
        shares = np.asarray(self.priors, dtype=float)
        if shares.shape != (K,) or not (shares >= 0).all() or not abs(shares.sum() - 1) <= PRIOR_TOLERANCE:
            raise ValueError(f"priors must be {K} probabilities with sum 1, one per class; got {self.priors!r}")

    @property
    def n_classes(self) -> int:
        """The number of classes K."""
        if isinstance(self.densities, Distributions):
            return len(next(value for value in vars(self.densities).values() if isinstance(value, np.ndarray)))
        return len(self.densities)

    @property
    def univariate(self) -> Sequence[ClassDensity]:
        """The densities, if all are distributions of one number that know their quantiles; otherwise none."""
        if isinstance(self.densities, Distributions) or not all(hasattr(density, "ppf") for density in self.densities):
            return ()
        return self.densities

    @cached_property
    def classes_(self) -> Labels:
        return np.arange(self.n_classes) if self.labels is None else np.asarray(self.labels)

    @cached_property
    def prior(self) -> Vector:
        """Prior probabilities (K,)."""
        K = self.n_classes
        return np.full(K, 1 / K) if self.priors is None else np.asarray(self.priors, dtype=float)

    def log_likelihoods(self, X: Table) -> Matrix:
        """log p(x | k) of each row and class, (n, K)."""
        X = as_rows(X)
        if isinstance(self.densities, Distributions):
            return np.asarray(self.densities.log_prob(X), dtype=float)
        return np.column_stack([log_density(density, X) for density in self.densities])

    def log_joint(self, X: Table) -> Matrix:
        """log p(x | k) + log P(k), (n, K)."""
        with np.errstate(divide="ignore"):
            return self.log_likelihoods(X) + np.log(self.prior)

    def posterior(self, X: Table) -> Matrix:
        """P(k | x), (n, K); where no class can have produced a row, the priors."""
        return normalise_logs(self.log_joint(X), self.prior)

    def discriminants(self, X: Table, form: Literal["posterior", "joint", "log joint"] = "log joint") -> Matrix:
        """Scores of the classes (n, K), the largest of which decides; all three forms decide alike."""
        forms: dict[str, Callable[[Table], Matrix]] = {
            "posterior": self.posterior,
            "joint": lambda rows: np.exp(self.log_joint(rows)),
            "log joint": self.log_joint,
        }
        return forms[form](X)

    def predict_proba(self, X: Table) -> Matrix:
        """The same as `posterior`, as classifiers call it."""
        return self.posterior(X)

    def predict(self, X: Table) -> Labels:
        """The most probable class of each row, the first of equals."""
        return self.classes_[self.log_joint(X).argmax(axis=1)]

    def conditional_error(self, X: Table, chosen: Labels | None = None) -> Vector:
        """P(error | x) = 1 - P(chosen class | x) of each row; by default of the most probable class."""
        P = self.posterior(X)
        if chosen is None:
            return 1.0 - P.max(axis=1)
        codes = {label: k for k, label in enumerate(self.classes_.tolist())}
        at = np.array([codes[label] for label in np.asarray(chosen).tolist()])
        return 1.0 - P[np.arange(len(P)), at]

    def sample(self, n: int, rng: Rng | np.random.Generator) -> tuple[Matrix, Codes]:
        """n rows and the codes of their classes: a class by its prior, then a row by its density."""
        counts = rng.multinomial(n, self.prior)
        codes = np.repeat(np.arange(self.n_classes), counts)
        if isinstance(self.densities, Distributions):
            # both kinds of generator name their draws alike
            return np.asarray(self.densities.sample(codes, cast(Rng, rng))), codes
        parts = [_draw(density, int(m), rng) for density, m in zip(self.densities, counts, strict=True) if m]
        return np.concatenate(parts), codes


def log_density(density: ClassDensity, X: Matrix) -> Vector:
    """The log density of each row: `score_samples`, `logpdf`, `logpmf`, or the logarithm of a function."""
    if hasattr(density, "score_samples"):
        return np.asarray(density.score_samples(X), dtype=float)
    for name in ("logpdf", "logpmf"):
        if hasattr(density, name):
            # distributions of one number have quantiles; gaussian_kde holds its points in columns
            rows = X[:, 0] if hasattr(density, "ppf") else X.T if hasattr(density, "dataset") else X
            return np.asarray(getattr(density, name)(rows), dtype=float).reshape(len(X))
    if callable(density):
        with np.errstate(divide="ignore"):
            values = np.log(np.asarray(density(X), dtype=float))
        if values.size != len(X):
            raise ValueError(f"a density gives one number per row: {len(X)} rows, but {values.size} numbers")
        return values.reshape(len(X))
    raise TypeError(
        f"{type(density).__name__} is no density: give a fitted estimator with score_samples, a distribution of "
        "scipy.stats, or a function of rows"
    )


def normalise_logs(joint: Matrix, otherwise: Vector) -> Matrix:
    """exp(joint) divided by its sum over each row; `otherwise` where that sum is zero."""
    total = logsumexp(joint, axis=1, keepdims=True)
    impossible = np.isneginf(total[:, 0])
    P = np.exp(joint - np.where(impossible[:, None], 0.0, total))
    P[impossible] = otherwise
    return P


def as_rows(X: Table) -> Matrix:
    """Rows (n, d) of floats; a vector is one column."""
    rows: Array = np.asarray(X, dtype=float)
    return rows[:, None] if rows.ndim == 1 else rows


def _draw(density: ClassDensity, m: int, rng: Any) -> Matrix:
    """m rows of one density."""
    if hasattr(density, "rvs"):
        return np.asarray(density.rvs(m, random_state=rng), dtype=float).reshape(m, -1)
    if hasattr(density, "resample"):
        return np.asarray(density.resample(m, seed=rng), dtype=float).T
    if not hasattr(density, "sample"):
        raise TypeError(
            f"rows cannot be drawn from {type(density).__name__}, which has neither rvs nor sample; for Monte Carlo "
            "give densities that have one"
        )
    seed = int(rng.integers(2**31) if isinstance(rng, np.random.Generator) else rng.randint(2**31))
    if "random_state" in signature(density.sample).parameters:
        drawn = density.sample(m, random_state=seed)
    else:  # estimators draw by a parameter of their own
        drawn = _with_seed(density, seed).sample(m)
    return as_rows(drawn[0] if isinstance(drawn, tuple) else drawn)


def _with_seed(density: ClassDensity, seed: int) -> ClassDensity:
    """A shallow copy of a fitted estimator with another seed."""
    other = copy(density)
    if "random_state" in getattr(density, "get_params", dict)():
        other.random_state = seed
    return other
