"""Where a model is wrong: its losses on unseen rows, group by group, each group against all other rows.

    losses of 0 and 1     exact binomial interval (Clopper & Pearson 1934), Fisher's exact test
    other losses          Student's t interval, Welch's t-test

Holm's adjustment allows for the number of groups. Rows are taken as independent.
"""

from __future__ import annotations

from dataclasses import dataclass, replace
from typing import Any

import numpy as np
from numpy.typing import ArrayLike
from scipy.stats import binomtest, fisher_exact, t, ttest_ind

from fivefold.core.types import Labels, Mask, Vector
from fivefold.evaluation.comparison.holm import holm


@dataclass(frozen=True)
class GroupError:
    """The mean loss of a group of rows, and the test of the hypothesis that it is that of the other rows."""

    group: Any
    rows: int
    mean: float
    low: float
    high: float
    rest: float  # mean loss of all other rows
    p_value: float
    adjusted_p: float = 1.0

    def __str__(self) -> str:
        return (
            f"{self.group}: {self.mean:.4g} ({self.low:.4g} to {self.high:.4g}) in {self.rows} rows, {self.rest:.4g} "
            f"elsewhere; adjusted p {self.adjusted_p:.3g}"
        )


def errors_by_group(losses: ArrayLike, groups: Labels, *, level: float = 0.95) -> tuple[GroupError, ...]:
    """The mean loss of every group, largest first; `groups` holds a name per row.

    Examples
    --------
    >>> wrong = [1, 1, 1, 0, 1, 1, 0, 0, 0, 0, 0, 0, 0, 1, 0, 0]
    >>> for found in errors_by_group(wrong, np.repeat(["old", "new"], [6, 10])):
    ...     print(found)
    old: 0.8333 (0.3588 to 0.9958) in 6 rows, 0.1 elsewhere; adjusted p 0.0152
    new: 0.1 (0.002529 to 0.445) in 10 rows, 0.8333 elsewhere; adjusted p 0.0152
    """
    loss = np.asarray(losses, dtype=float)
    names, code = np.unique(np.asarray(groups), return_inverse=True)
    binary = bool(np.isin(loss, (0.0, 1.0)).all())
    found = [_group_error(names[k], loss, code == k, level, binary) for k in range(len(names))]
    return tuple(sorted(with_holm(found), key=lambda one: -one.mean))


def with_holm(found: list[GroupError]) -> list[GroupError]:
    """The same groups, in order, with p-values adjusted for their number."""
    adjusted = holm([one.p_value for one in found])
    return [replace(one, adjusted_p=float(p)) for one, p in zip(found, adjusted, strict=True)]


def _group_error(name: Any, loss: Vector, mine: Mask, level: float, binary: bool) -> GroupError:
    own, rest, n = loss[mine], loss[~mine], int(mine.sum())
    mean, other = float(own.mean()), float(rest.mean()) if len(rest) else np.nan
    if binary:
        ends = binomtest(round(own.sum()), n).proportion_ci(level, method="exact")
        low, high, p = float(ends.low), float(ends.high), 1.0
        if len(rest):
            counts = [[own.sum(), n - own.sum()], [rest.sum(), len(rest) - rest.sum()]]
            p = float(fisher_exact(np.array(counts, dtype=int)).pvalue)
        return GroupError(name, n, mean, low, high, other, p)
    half = float(t.ppf((1 + level) / 2, n - 1) * own.std(ddof=1) / np.sqrt(n)) if n > 1 else np.inf
    p = 1.0
    if min(n, len(rest)) > 1 and own.std() + rest.std() > 0:
        p = float(ttest_ind(own, rest, equal_var=False).pvalue)
    return GroupError(name, n, mean, mean - half, mean + half, other, p)
