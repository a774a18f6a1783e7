"""Finite mixture over any family of distributions.

    p(x) = sum_k pi_k p_k(x)

E-step  r_ik = pi_k p_k(x_i) / p(x_i)              the responsibilities (soft), or 1 for the best k (hard)
M-step  pi_k ~ sum_i w_i r_ik,  p_k = weighted maximum likelihood under r_.k

With a prior both steps are those of the posterior mode: pseudo-statistics are added to the components' and, for shares
under a Dirichlet(1 + a) prior, `a` to each weight; what climbs is the log-likelihood plus the log prior. Both steps run
on a block of rows while it is in the cache; no (n, K) array is made in a fit.

Dempster, Laird & Rubin (1977); hard assignment: Celeux & Govaert (1992).
"""

from __future__ import annotations

from dataclasses import dataclass, field, fields, replace
from typing import Any, Protocol

import numpy as np
from scipy.special import xlogy

from fivefold.core.numerics.softmax import softmax
from fivefold.core.parallel import column_blocks, map_parts, scratch
from fivefold.core.types import Array
from fivefold.distributions.family import Family, sum_stats
from fivefold.inference.em import CollapseError

LOG_ZERO = -1e290  # a log density of zero: loops that assume finite numbers meet it instead of -inf
MIN_COMPONENT_SHARE = 1e-12  # of all weight: a component with less has no rows


class Assignment(Protocol):
    """How rows are given to components; L (K, m) is the log joint density of the rows `rows`."""

    def give(self, L: Array, v: Array, rows: slice, out: Array) -> float:
        """out = the weights of the rows in each component; returns what is climbed. L is used up."""
        ...

    def slack(self, L: Array, after: Array, v: Array, rows: slice) -> float:
        """What is climbed under `after`, less its bound by the assignment under L."""
        ...


@dataclass(frozen=True)
class SoftAssignment:
    """To every component by its posterior probability."""

    def give(self, L: Array, v: Array, rows: slice, out: Array) -> float:
        return softmax(L, v, out)

    def slack(self, L: Array, after: Array, v: Array, rows: slice) -> float:
        """sum_i v_i KL(posterior | posterior after)."""
        logs = [J - np.logaddexp.reduce(J, axis=0) for J in (L, after)]
        return float(v @ (np.exp(logs[0]) * (logs[0] - logs[1])).sum(axis=0))


@dataclass(frozen=True)
class HardAssignment:
    """To the best component alone."""

    def give(self, L: Array, v: Array, rows: slice, out: Array) -> float:
        best, line = L.argmax(axis=0), np.arange(L.shape[1])
        out[:] = 0.0
        out[best, line] = v
        return float(v @ L[best, line])

    def slack(self, L: Array, after: Array, v: Array, rows: slice) -> float:
        """sum_i v_i (log joint of the best component after - that of the one chosen before)."""
        return float(v @ (after.max(axis=0) - after[L.argmax(axis=0), np.arange(L.shape[1])]))


@dataclass(frozen=True)
class RestrictedAssignment:
    """To components that are allowed for the row: known labels, or partial ones."""

    allowed: Any  # (n, K) of booleans
    rule: Assignment

    def give(self, L: Array, v: Array, rows: slice, out: Array) -> float:
        return self.rule.give(self._masked(L, rows), v, rows, out)

    def slack(self, L: Array, after: Array, v: Array, rows: slice) -> float:
        return self.rule.slack(self._masked(L, rows), self._masked(after, rows), v, rows)

    def _masked(self, L: Array, rows: slice) -> Array:
        L[~self.allowed[rows].T] = LOG_ZERO
        return L


@dataclass(frozen=True)
class FiniteMixture:
    """K members of a family, drawn with probabilities `weights`; without them, what is to be fitted."""

    family: Family
    rule: Assignment = field(default_factory=SoftAssignment)
    prior: Any = None  # pseudo-statistics of the components
    share: float = 0.0  # pseudo-weight of each component; infinite: all weights equal
    dtype: str = "float64"  # precision of the table it was fitted to
    weights: Any = None  # (K,)
    components: Any = None  # K members

    def expect(self, X: Any, w: Any) -> tuple[Any, float]:
        """Statistics under the responsibilities, and log-likelihood plus log prior."""

        def part(lo: int, hi: int) -> tuple[Any, float]:
            sums, value = self.family.accumulator(self.components), 0.0
            for Z, v in column_blocks(X, w, lo, hi):
                R = scratch("shares", len(self.weights), len(v))
                value += self.rule.give(self._joint(Z), v, slice(lo, lo + len(v)), R)
                sums.add(Z, R)
                lo += len(v)
            return sums.stats(), value

        stats, values = zip(*map_parts(part, len(X)), strict=True)
        return sum_stats(stats), float(sum(values)) + self._log_prior()

    def maximise(self, stats: Any) -> FiniteMixture:
        """The mixture that fits the statistics best."""
        try:
            members = self.family.fit(_with_empty_refilled(stats), self.prior)
        except ValueError as error:
            told = ", ".join(f"{weight:.4g}" for weight in stats.weight)
            raise CollapseError(f"{error}. Rows by component, in weight: {told}") from error
        weight = stats.weight + self.share if np.isfinite(self.share) else np.ones_like(stats.weight)
        return replace(self, weights=weight / weight.sum(), components=members)

    def complete(self, stats: Any) -> float:
        """Expected log density of rows and components together, plus log prior, up to a constant."""
        each = xlogy(stats.weight, self.weights) + self.components.expected_log_prob(stats)
        return float(each.sum()) + self._log_prior()

    def slack(self, other: FiniteMixture, X: Any, w: Any) -> float:
        """What the bound by this posterior leaves of the value of `other`."""

        def part(lo: int, hi: int) -> float:
            left = 0.0
            for Z, v in column_blocks(X, w, lo, hi):
                left += self.rule.slack(self._joint(Z).copy(), other._joint(Z), v, slice(lo, lo + len(v)))
                lo += len(v)
            return left

        return float(sum(map_parts(part, len(X))))

    def posterior(self, X: Any) -> tuple[Array, Array]:
        """Responsibilities (n, K) and log evidence (n,)."""
        R, evidence = np.empty((len(X), len(self.weights)), X.dtype), np.empty(len(X), X.dtype)

        def part(lo: int, hi: int) -> None:
            for Z, v in column_blocks(X, np.ones(len(X)), lo, hi):
                L, r = self._joint(Z), scratch("shares", len(self.weights), len(v))
                top = L.max(axis=0)
                softmax(L, v, r)
                rows = slice(lo, lo + len(v))
                R[rows], evidence[rows] = r.T, np.where(top > LOG_ZERO, top - np.log(r.max(axis=0)), -np.inf)
                lo += len(v)

        map_parts(part, len(X))
        return R, evidence

    def sample(self, n: int, rng: np.random.RandomState) -> tuple[Array, Any]:
        """n rows, ordered by component, and their components."""
        which = np.repeat(np.arange(len(self.weights)), rng.multinomial(n, self.weights))
        return self.components.sample(which, rng), which

    @property
    def n_parameters(self) -> int:
        """Free parameters."""
        return int(self.components.n_parameters) + len(self.weights) - 1

    def _joint(self, Z: Array) -> Array:
        """log pi_k p_k(z) (K, m) for the points in the columns of Z, finite."""
        with np.errstate(divide="ignore"):
            shift = np.maximum(np.log(self.weights), LOG_ZERO)
        L: Array = self.components.log_prob_columns(Z, shift, scratch("joint", len(self.weights), Z.shape[1]))
        np.maximum(L, LOG_ZERO, out=L)
        return L

    def _log_prior(self) -> float:
        value = 0.0 if self.prior is None else float(self.components.expected_log_prob(self.prior).sum())
        return value + (self.share * float(np.log(self.weights).sum()) if 0 < self.share < np.inf else 0.0)


def _with_empty_refilled(stats: Any) -> Any:
    """The statistics; a component without rows has, faintly, those of all, so that its parameters are defined."""
    K, lost = len(stats.weight), ~(stats.weight > MIN_COMPONENT_SHARE * stats.weight.sum())
    if not lost.any():
        return stats
    whole = sum_stats(_members_of(np.array([k]), stats) for k in np.flatnonzero(~lost)) * MIN_COMPONENT_SHARE
    return _members_of(np.where(lost, K, np.arange(K)), stats, whole)


def _members_of(index: Any, *stats: Any) -> Any:
    """Members `index` of statistics laid end to end."""
    values = [[getattr(s, f.name) for s in stats] for f in fields(stats[0])]
    return type(stats[0])(*(
        tuple(_members_of(index, *parts) for parts in zip(*v, strict=True))
        if isinstance(v[0], tuple)
        else np.concatenate(v)[index]
        for v in values
    ))  # fmt: skip
