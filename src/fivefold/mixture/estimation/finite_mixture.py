"""Finite mixture over any family of distributions.

    p(x) = sum_k pi_k p_k(x)

E-step  r_ik = pi_k p_k(x_i) / p(x_i)              the responsibilities (soft), or 1 for the best k (hard)
M-step  pi_k ~ sum_i w_i r_ik,  p_k = weighted maximum likelihood under r_.k

With a prior both steps are those of the posterior mode: pseudo-statistics are added to those of the components, and,
for weights under a Dirichlet(1 + a) prior, `a` to the weight of each; the objective is the log-likelihood plus the log
prior. Both steps run on a block of rows while it is in the cache; a fit makes no (n, K) array.

Dempster, Laird & Rubin (1977); hard assignment: Celeux & Govaert (1992).
"""

from __future__ import annotations

from dataclasses import dataclass, field, replace
from functools import cached_property
from typing import Any, Protocol

import numpy as np
from scipy.special import xlogy

from fivefold.core.chunks.chunked_array import is_chunked, sum_over_chunks, sum_pairs
from fivefold.core.numerics.arrays import AnyArray, is_tensor, namespace, plus_row
from fivefold.core.numerics.softmax import softmax
from fivefold.core.numerics.tensors import one_hot, row_cuts
from fivefold.core.parallel import BLOCK_ROWS, column_blocks, map_parts, scratch, teams_available
from fivefold.core.types import Codes, Mask, Matrix, Rng, Vector, Weights
from fivefold.distributions.covariances.covariance_matrices import FullCovariance
from fivefold.distributions.family import Accumulator, Family, FamilyMembers, FamilyStats, sum_stats
from fivefold.distributions.gaussian import Gaussian
from fivefold.distributions.statistics.empty_groups import refill_empty
from fivefold.distributions.statistics.mixture_step_loops import LOG_ZERO, PART_ROWS, full_covariance_step
from fivefold.distributions.statistics.moments import ColumnPairSums
from fivefold.distributions.statistics.tensor_mixture_step import gaussian_step
from fivefold.inference.em import CollapseError

TENSOR_LOG_ZERO = -1e30  # the same for tensors, of which some are float32
BLOCK_BYTES = 2**21  # of a block of rows, their densities and responsibilities: about what a core's cache holds


class Assignment(Protocol):
    """How rows are given to components; L (K, m) is the log joint density of the rows `rows`, v (m,) their weights."""

    def assign(self, L: Matrix, v: Weights, rows: slice, out: Matrix) -> float:
        """Fill out (K, m) with the weights of the rows in each component; return the objective. L is overwritten."""
        ...

    def assign_tensor(self, L: AnyArray, v: AnyArray) -> tuple[AnyArray, AnyArray]:
        """The weights (m, K) and the objective of rows of a tensor, from L (m, K)."""
        ...

    def slack(self, L: Matrix, after: Matrix, v: Weights, rows: slice) -> float:
        """The objective under `after`, less its bound by the assignment under L."""
        ...


@dataclass(frozen=True)
class SoftAssignment:
    """Each row to every component, by its posterior probability."""

    def assign_tensor(self, L: AnyArray, v: AnyArray) -> tuple[AnyArray, AnyArray]:
        """Weights (m, K) of rows in the components, and the objective, on the device of L (m, K)."""
        return L.softmax(dim=1).mul_(v[:, None]), (v * L.logsumexp(dim=1)).sum(dtype=namespace(L).float64)

    def assign(self, L: Matrix, v: Weights, rows: slice, out: Matrix) -> float:
        return softmax(L, v, out)

    def slack(self, L: Matrix, after: Matrix, v: Weights, rows: slice) -> float:
        """sum_i v_i KL(posterior | posterior after)."""
        logs = [J - np.logaddexp.reduce(J, axis=0) for J in (L, after)]
        return float(v @ (np.exp(logs[0]) * (logs[0] - logs[1])).sum(axis=0))


@dataclass(frozen=True)
class HardAssignment:
    """Each row to its likeliest component alone."""

    def assign_tensor(self, L: AnyArray, v: AnyArray) -> tuple[AnyArray, AnyArray]:
        """As for SoftAssignment."""
        top, best = L.max(dim=1)
        return one_hot(best, L.shape[1], L, v), (v * top).sum(dtype=namespace(L).float64)

    def assign(self, L: Matrix, v: Weights, rows: slice, out: Matrix) -> float:
        best, line = L.argmax(axis=0), np.arange(L.shape[1])
        out[:] = 0.0
        out[best, line] = v
        return float(v @ L[best, line])

    def slack(self, L: Matrix, after: Matrix, v: Weights, rows: slice) -> float:
        """sum_i v_i (log joint of the best component after - that of the one chosen before)."""
        return float(v @ (after.max(axis=0) - after[L.argmax(axis=0), np.arange(L.shape[1])]))


@dataclass(frozen=True)
class RestrictedAssignment:
    """Each row to the components allowed for it: known labels, or partly known ones."""

    allowed: Mask  # (n, K)
    rule: Assignment  # among the allowed components

    def assign_tensor(self, L: AnyArray, v: AnyArray) -> tuple[AnyArray, AnyArray]:
        raise TypeError("known components are fitted on the host")

    def assign(self, L: Matrix, v: Weights, rows: slice, out: Matrix) -> float:
        return self.rule.assign(self._masked(L, rows), v, rows, out)

    def slack(self, L: Matrix, after: Matrix, v: Weights, rows: slice) -> float:
        return self.rule.slack(self._masked(L, rows), self._masked(after, rows), v, rows)

    def _masked(self, L: Matrix, rows: slice) -> Matrix:
        L[~self.allowed[rows].T] = LOG_ZERO
        return L


@dataclass(frozen=True)
class FiniteMixture:
    """K members of a family, drawn with probabilities `weights`; before a fit, what is to be fitted."""

    family: Family
    rule: Assignment = field(default_factory=SoftAssignment)
    prior: FamilyStats | None = None  # pseudo-statistics of the components
    share: float = 0.0  # pseudo-weight of each component; infinite: all weights are equal
    dtype: str = "float64"  # precision of the table it was fitted to
    weights: Any = None  # Vector (K,) after a fit
    components: FamilyMembers = None  # K members after a fit

    def expect(self, X: Matrix, w: Weights) -> tuple[FamilyStats, float]:
        """Statistics under the responsibilities, and log-likelihood plus log prior."""
        if is_chunked(X):
            stats, value = sum_over_chunks(replace(self, prior=None, share=0.0).expect, X, w, merge=sum_pairs)
            return stats, value + self._log_prior()
        if is_tensor(X):
            stats, value = self._expect_of_tensor(X, w)
            return stats, value + self._log_prior()

        if (found := self._gaussian_step(X, w)) is not None:
            return found[0], found[1] + self._log_prior()

        def part(lo: int, hi: int) -> tuple[Accumulator, float]:
            sums, value = self.family.accumulator(self.components), 0.0
            for Z, v in column_blocks(X, w, lo, hi, rows):
                R = scratch("shares", len(self.weights), len(v))
                value += self.rule.assign(self._joint(Z), v, slice(lo, lo + len(v)), R)
                sums.add(Z, R)
                lo += len(v)
            return sums, value

        # few blocks, as threads wait for the interpreter between them, of a size that the cache holds
        rows = int(np.clip(BLOCK_BYTES // (8 * (X.shape[1] + 2 * len(self.weights))), BLOCK_ROWS, PART_ROWS))
        parts, values = zip(*map_parts(part, len(X), rows=PART_ROWS), strict=True)
        return parts[0].total(parts[1:]), float(sum(values)) + self._log_prior()

    def maximise(self, stats: FamilyStats) -> FiniteMixture:
        """The mixture that fits the statistics best."""
        try:
            members = self.family.fit(refill_empty(stats), self.prior)
        except ValueError as error:
            listed = ", ".join(f"{weight:.4g}" for weight in stats.weight)
            raise CollapseError(f"{error}. Rows by component, in weight: {listed}") from error
        weight = stats.weight + self.share if np.isfinite(self.share) else np.ones_like(stats.weight)
        return replace(self, weights=weight / weight.sum(), components=members)

    def expected_complete_log_prob(self, stats: FamilyStats) -> float:
        """Expected joint log density of rows and components, plus log prior, up to a constant."""
        each = xlogy(stats.weight, self.weights) + self.components.expected_log_prob(stats)
        return float(each.sum()) + self._log_prior()

    def slack(self, other: FiniteMixture, X: Matrix, w: Weights) -> float:
        """The value of `other` less its bound by the posterior of this mixture."""

        def part(lo: int, hi: int) -> float:
            left = 0.0
            for Z, v in column_blocks(X, w, lo, hi):
                left += self.rule.slack(self._joint(Z).copy(), other._joint(Z), v, slice(lo, lo + len(v)))
                lo += len(v)
            return left

        return float(sum(map_parts(part, len(X))))

    def posterior(self, X: Matrix) -> tuple[Matrix, Vector]:
        """Responsibilities (n, K) and log evidence (n,)."""
        if is_tensor(X):
            L = self._joint_of_tensor(X)
            return L.softmax(dim=1), L.logsumexp(dim=1).masked_fill_(L.amax(dim=1) <= TENSOR_LOG_ZERO, -np.inf)
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

    def sample(self, n: int, rng: Rng) -> tuple[Matrix, Codes]:
        """n rows, ordered by component, and their components."""
        which = np.repeat(np.arange(len(self.weights)), rng.multinomial(n, self.weights))
        return self.components.sample(which, rng), which

    @property
    def n_parameters(self) -> int:
        """Number of free parameters."""
        return int(self.components.n_parameters) + len(self.weights) - 1

    def _joint(self, Z: Matrix) -> Matrix:
        """log pi_k p_k(z) (K, m) for the points in the columns of Z, finite."""
        L: Matrix = self.components.log_prob_columns(
            Z, self._log_weights, scratch("joint", len(self.weights), Z.shape[1])
        )
        np.maximum(L, LOG_ZERO, out=L)
        return L

    def _gaussian_step(self, X: Matrix, w: Weights) -> tuple[FamilyStats, float] | None:
        """The E-step in one compiled loop: for full covariances, of rows without missing entries."""
        covariance, sums = getattr(self.components, "covariance", None), self.family.accumulator(self.components)
        if not isinstance(self.rule, SoftAssignment) or not isinstance(sums, ColumnPairSums):
            return None
        if not isinstance(covariance, FullCovariance) or not X.flags.c_contiguous or not teams_available():
            return None
        level, mean = covariance.levels(self._log_weights), self.components.mean
        weight, first, second, value = full_covariance_step(X, w, mean, covariance.padded_factor, level)
        if np.isnan(value):
            return None
        sums.add_sums(weight, first, second)
        return sums.stats(), value

    def _expect_of_tensor(self, X: AnyArray, w: AnyArray) -> tuple[FamilyStats, float]:
        """The E-step on the device of X, a run of rows at a time; the sums come to the host once for each run."""
        if isinstance(self.family, Gaussian) and isinstance(self.rule, SoftAssignment):
            members, by_column = self.components, self.family.structure.by_column
            found = gaussian_step(members.mean, members.covariance, self._log_weights, X, w, by_column)
            if found is not None:
                return found
        parts, value = [], 0.0
        for a, b in row_cuts(X, 4 * (len(self.weights) + X.shape[1])):
            R, gained = self.rule.assign_tensor(self._joint_of_tensor(X[a:b]), w[a:b].to(X.dtype))
            parts.append(self.family.stats(X[a:b], R))
            value += float(gained)
        return sum_stats(parts), value

    def _joint_of_tensor(self, X: AnyArray) -> AnyArray:
        """log pi_k p_k(x) (m, K) for the rows of a tensor, finite."""
        return plus_row(self.components.log_prob(X), self._log_weights).clamp_(min=TENSOR_LOG_ZERO)

    @cached_property
    def _log_weights(self) -> Vector:
        with np.errstate(divide="ignore"):
            return np.maximum(np.log(self.weights), LOG_ZERO)

    def _log_prior(self) -> float:
        value = 0.0 if self.prior is None else float(self.components.expected_log_prob(self.prior).sum())
        return value + (self.share * float(np.log(self.weights).sum()) if 0 < self.share < np.inf else 0.0)
