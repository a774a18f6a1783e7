"""Gaussian factor in information form, with multiply, eliminate and condition as a table has them.

    f(x) = exp(g + h'x - x'Kx / 2)          K = precision, h = K mean, g = logarithm of f(0)

Products add K, h and g. Integrating x_a out of (x_a, x_b) leaves

    K_bb - K_ba K_aa^-1 K_ab,    h_b - K_ba K_aa^-1 h_a,    g + (h_a' K_aa^-1 h_a + log |2 pi K_aa^-1|) / 2

and maximising over x_a the same without the determinant. K may be singular: a factor that says nothing about a
direction, such as the conditional density of a child as a function of its parents, is no density but a factor all the
same. Only an integral over such a direction is refused.

Lauritzen (1992); Koller & Friedman (2009), section 14.2.
"""

from __future__ import annotations

from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass
from functools import reduce

import numpy as np
from scipy.linalg import cho_factor, cho_solve

from fivefold.core.types import Doubles
from fivefold.inference.factors.clique_tree import CliqueTree, clique_tree
from fivefold.inference.factors.elimination_order import elimination_order
from fivefold.inference.factors.semirings import LOG_SUM_EXP, MAX_PRODUCT, MAX_SUM, SUM_PRODUCT, Semiring

LOG_TWO_PI = float(np.log(2.0 * np.pi))
# In which semirings the elimination of a variable is an integral, and in which it is a maximum.
INTEGRALS, MAXIMA = (SUM_PRODUCT, LOG_SUM_EXP), (MAX_PRODUCT, MAX_SUM)
# A pivot of a precision below this share of the largest one comes from rounding.
SINGULAR_SHARE = 1e-14


@dataclass(frozen=True, eq=False)
class GaussianFactor:
    """exp(g + h'x - x'Kx / 2) over real variables.

    Examples
    --------
    >>> import numpy as np
    >>> prior = GaussianFactor.of_moments((0,), np.array([1.0]), np.array([[4.0]]))
    >>> child = GaussianFactor.of_conditional(1, (0,), np.array([2.0]), 0.5, 1.0)  # x1 = 2 x0 + 0.5 + N(0, 1)
    >>> mean, covariance = prior.multiply(child).eliminate(0).moments()
    >>> mean.round(6), covariance.round(6)
    (array([2.5]), array([[17.]]))
    """

    variables: tuple[int, ...]
    precision: Doubles  # K (n, n)
    shift: Doubles  # h (n,)
    log_constant: float = 0.0  # g

    def __post_init__(self) -> None:
        n = len(self.variables)
        if len(set(self.variables)) < n:
            raise ValueError(f"A factor names a variable twice: {self.variables}.")
        if self.precision.shape != (n, n) or self.shift.shape != (n,):
            raise ValueError(
                f"A factor over the variables {self.variables} needs a precision of shape {(n, n)} and a shift of "
                f"shape {(n,)}; got {self.precision.shape} and {self.shift.shape}."
            )

    @classmethod
    def constant(cls, variables: Sequence[int] = ()) -> GaussianFactor:
        """A factor that is one everywhere."""
        return cls(tuple(variables), np.zeros((len(variables),) * 2), np.zeros(len(variables)))

    @classmethod
    def of_moments(cls, variables: Sequence[int], mean: Doubles, covariance: Doubles) -> GaussianFactor:
        """The density with this mean and covariance, which must be regular."""
        factor = _cholesky(covariance, tuple(variables), "covariance")
        K = cho_solve(factor, np.eye(len(mean)))
        h = K @ mean
        log_norm = 2.0 * float(np.log(np.diag(factor[0])).sum()) + len(mean) * LOG_TWO_PI
        return cls(tuple(variables), (K + K.T) / 2, h, -0.5 * (float(mean @ h) + log_norm))

    @classmethod
    def of_conditional(
        cls, child: int, parents: Sequence[int], weights: Doubles, intercept: float, variance: float
    ) -> GaussianFactor:
        """The density of child = weights' parents + intercept + N(0, variance), as a factor of child and parents."""
        if not variance > 0:
            raise ValueError(f"The variance of variable {child} given its parents is {variance}; it must be positive.")
        a = np.concatenate([[1.0], -np.asarray(weights, dtype=np.float64)])
        log_constant = -0.5 * (intercept**2 / variance + np.log(variance) + LOG_TWO_PI)
        return cls((child, *parents), np.outer(a, a) / variance, a * (intercept / variance), float(log_constant))

    def multiply(self, other: GaussianFactor, semiring: Semiring = SUM_PRODUCT) -> GaussianFactor:
        """The product, over the union of the variables: this factor's first, then those that only `other` has."""
        union = self.variables + tuple(v for v in other.variables if v not in self.variables)
        a, b = self.transpose(union), other.transpose(union)
        return GaussianFactor(union, a.precision + b.precision, a.shift + b.shift, a.log_constant + b.log_constant)

    def divide(self, other: GaussianFactor) -> GaussianFactor:
        """The quotient; the variables of `other` are among these."""
        b = other.transpose(self.variables)
        return GaussianFactor(
            self.variables, self.precision - b.precision, self.shift - b.shift, self.log_constant - b.log_constant
        )

    def eliminate(self, variable: int, semiring: Semiring = SUM_PRODUCT) -> GaussianFactor:
        """The integral, or the maximum, over one variable."""
        if variable not in self.variables:
            raise ValueError(f"This factor is over variables {self.variables}; it has no variable {variable}.")
        return self.onto([v for v in self.variables if v != variable], semiring)

    def onto(self, variables: Sequence[int], semiring: Semiring = SUM_PRODUCT) -> GaussianFactor:
        """The integral, or the maximum, over all other variables, which are eliminated together."""
        if semiring not in INTEGRALS + MAXIMA:
            raise ValueError("Gaussian factors are eliminated by integrals or maxima: in SUM_PRODUCT or MAX_PRODUCT.")
        a = [i for i, v in enumerate(self.variables) if v not in variables]
        b = [self.variables.index(v) for v in variables]
        K, h, left = self.precision, self.shift, tuple(variables)
        g = self.log_constant
        if semiring in MAXIMA:  # nothing depends on a variable without a row: its maximum is the factor
            a = [i for i in a if K[i].any() or h[i] != 0.0]
        if a:
            factor = _cholesky(K[np.ix_(a, a)], tuple(self.variables[i] for i in a), "precision")
            solved = cho_solve(factor, np.column_stack([K[np.ix_(a, b)], h[a]]))
            g += 0.5 * float(h[a] @ solved[:, -1])
            if semiring in INTEGRALS:
                g += 0.5 * len(a) * LOG_TWO_PI - float(np.log(np.diag(factor[0])).sum())
            rest = K[np.ix_(b, b)] - K[np.ix_(b, a)] @ solved[:, :-1]
            return GaussianFactor(left, (rest + rest.T) / 2, h[b] - K[np.ix_(b, a)] @ solved[:, -1], g)
        return GaussianFactor(left, K[np.ix_(b, b)], h[b], g)

    def condition(self, evidence: Mapping[int, float]) -> GaussianFactor:
        """The factor at observed values; the observed variables are gone from it."""
        a = [i for i, v in enumerate(self.variables) if v in evidence]
        b = [i for i, v in enumerate(self.variables) if v not in evidence]
        x = np.array([evidence[self.variables[i]] for i in a], dtype=np.float64)
        if not np.isfinite(x).all():
            raise ValueError(f"The evidence for variables {tuple(self.variables[i] for i in a)} is not finite: {x}.")
        K, h = self.precision, self.shift
        g = self.log_constant + float(h[a] @ x - 0.5 * x @ K[np.ix_(a, a)] @ x)
        return GaussianFactor(tuple(self.variables[i] for i in b), K[np.ix_(b, b)], h[b] - K[np.ix_(b, a)] @ x, g)

    def transpose(self, variables: Sequence[int]) -> GaussianFactor:
        """The same factor with its variables in another order; further ones are variables it says nothing about."""
        if missing := set(self.variables) - set(variables):
            raise ValueError(f"A factor over {self.variables} cannot do without the variables {sorted(missing)}.")
        place = [tuple(variables).index(v) for v in self.variables]
        K, h = np.zeros((len(variables),) * 2), np.zeros(len(variables))
        K[np.ix_(place, place)], h[place] = self.precision, self.shift
        return GaussianFactor(tuple(variables), K, h, self.log_constant)

    def moments(self) -> tuple[Doubles, Doubles]:
        """Mean and covariance of the density that is proportional to the factor."""
        factor = _cholesky(self.precision, self.variables, "precision")
        P = cho_solve(factor, np.eye(len(self.variables)))
        return cho_solve(factor, self.shift), (P + P.T) / 2

    def log_value(self, x: Doubles) -> Doubles:
        """log f at each row of x, with columns in the order of the variables."""
        return np.asarray(self.log_constant + x @ self.shift - 0.5 * np.einsum("ni,ij,nj->n", x, self.precision, x))


def eliminate_gaussians(
    factors: Iterable[GaussianFactor], keep: Sequence[int], semiring: Semiring = SUM_PRODUCT
) -> GaussianFactor:
    """The product of the factors, integrated or maximised over every variable that is not in `keep`.

    One variable at a time, in an order that keeps the products small.
    """
    pool = list(factors)
    scopes = [f.variables for f in pool]
    order = elimination_order(scopes, {v: 2 for scope in scopes for v in scope}, keep)
    for variable in order.order:
        held = [f for f in pool if variable in f.variables]
        pool = [f for f in pool if variable not in f.variables]
        pool.append(gaussian_product(held).eliminate(variable, semiring))
    return gaussian_product([GaussianFactor.constant(keep), *pool]).transpose(keep)


def gaussian_product(factors: Iterable[GaussianFactor]) -> GaussianFactor:
    """The product of several factors; of none, the constant one."""
    return reduce(GaussianFactor.multiply, factors, GaussianFactor.constant())


@dataclass(frozen=True)
class GaussianCalibration:
    """Beliefs of all cliques of a junction tree: every marginal from one pass of messages up and one down."""

    tree: CliqueTree
    beliefs: tuple[GaussianFactor, ...]
    log_partition: float  # logarithm of the integral of the product of the factors, at the evidence

    def joint(self, variables: Sequence[int]) -> tuple[Doubles, Doubles]:
        """Mean and covariance of variables that share a clique."""
        return self.beliefs[self.tree.covering(variables)].onto(variables).moments()


def calibrate_gaussians(
    factors: Iterable[GaussianFactor], evidence: Mapping[int, float] | None = None
) -> GaussianCalibration:
    """All marginals of a product of factors, given the evidence, by messages in a junction tree."""
    held = [f.condition(evidence or {}) for f in factors]
    scopes = [f.variables for f in held]
    tree = clique_tree(elimination_order(scopes, {v: 2 for scope in scopes for v in scope}))
    beliefs = [GaussianFactor.constant(clique) for clique in tree.cliques]
    for f in held:
        home = tree.covering(f.variables)
        beliefs[home] = beliefs[home].multiply(f)
    upward = [GaussianFactor.constant()] * len(beliefs)
    for k in range(len(beliefs) - 1, 0, -1):
        upward[k] = beliefs[k].onto(tree.separators[k])
        beliefs[tree.parents[k]] = beliefs[tree.parents[k]].multiply(upward[k])
    for k in range(1, len(beliefs)):
        downward = beliefs[tree.parents[k]].onto(tree.separators[k])
        beliefs[k] = beliefs[k].multiply(downward.divide(upward[k]))
    return GaussianCalibration(tree, tuple(beliefs), beliefs[0].onto(()).log_constant)


def _cholesky(A: Doubles, variables: tuple[int, ...], name: str) -> tuple[Doubles, bool]:
    """The lower Cholesky factor, scaled so that columns of different units do not matter; a singular A is refused."""
    scale = np.sqrt(np.diag(A).clip(0.0))
    refused = ValueError(
        f"The {name} of the variables {variables} is singular, so that the factor has no finite integral over them. "
        "Add a factor that says where they lie, or leave them in."
    )
    if not (np.isfinite(A).all() and (scale > 0).all()):
        raise refused
    try:
        lower, _ = cho_factor(A / np.outer(scale, scale), lower=True)
    except np.linalg.LinAlgError:
        raise refused from None
    if len(A) and (np.diag(lower) ** 2).min() < SINGULAR_SHARE:
        raise refused
    return np.tril(lower) * scale[:, None], True
