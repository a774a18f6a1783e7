"""Tests of conditional independence of two columns given others, from their joint counts.

    G^2   = 2 sum N_xyz log(N_xyz N_z / (N_xz N_yz))       twice the gain of the log likelihood by an edge
    chi^2 = sum (N_xyz - E)^2 / E,  E = N_xz N_yz / N_z

Under independence both follow a chi-squared distribution as rows grow. Its degrees of freedom are counted in every
configuration z from the states that occur there.
"""

from __future__ import annotations

from dataclasses import dataclass
from typing import Literal

import numpy as np
from scipy.special import chdtrc, xlogy

from fivefold.core.types import Doubles, UserTable
from fivefold.graphical.structure_learning.coded_table import CodedTable, code_table
from fivefold.graphical.structure_learning.family_counts import Configurations, candidate_counts

TestStatistic = Literal["g2", "chi2"]


@dataclass(frozen=True)
class IndependenceTest:
    """The result of a test."""

    statistic: float
    degrees: float  # of freedom
    p_value: float


def independence_test(
    X: UserTable | CodedTable, a: str, b: str, given: tuple[str, ...] = (), statistic: TestStatistic = "g2"
) -> IndependenceTest:
    """Are the columns `a` and `b` independent, given others? Rows in which one of them is missing are left out."""
    table = code_table(X)
    one, other = table.variables.index(a), table.variables.index(b)
    return compare_columns(table, one, other, table.variables.indices(given), statistic)


def compare_columns(
    table: CodedTable, a: int, b: int, given: tuple[int, ...], statistic: TestStatistic = "g2"
) -> IndependenceTest:
    """The same by numbers of columns."""
    joint = Configurations(table, (*given, a))
    if joint.is_renumbered:
        above = Configurations(table, given)
        pair = above.codes * table.levels[a] + table.codes[a]
        seen, codes = np.unique(pair * table.levels[b] + table.codes[b], return_inverse=True)
        known = (above.codes < above.count) & (table.codes[a] < table.levels[a]) & (table.codes[b] < table.levels[b])
        counts = np.zeros((above.count, table.levels[a], table.levels[b]))
        cells = np.bincount(codes[known], table.weights[known], minlength=len(seen))
        np.put(counts, seen[cells > 0], cells[cells > 0])
    else:
        counts = candidate_counts(joint, np.array([b])).counts[: joint.count * table.levels[b]]
        counts = counts.reshape(-1, table.levels[a], table.levels[b])
    return compare_counts(counts, statistic)


def compare_counts(counts: Doubles, statistic: TestStatistic = "g2") -> IndependenceTest:
    """Independence of the last two axes of counts [given, a, b]."""
    rows, columns = counts.sum(axis=2), counts.sum(axis=1)  # N_za, N_zb
    total = rows.sum(axis=1)
    if statistic == "g2":
        logs = xlogy(counts, counts).sum() + xlogy(total, total).sum()
        value = 2 * (logs - xlogy(rows, rows).sum() - xlogy(columns, columns).sum())
    else:
        expected = rows[:, :, None] * columns[:, None, :] / np.where(total > 0, total, 1)[:, None, None]
        value = float(((counts - expected) ** 2 / np.where(expected > 0, expected, 1)).sum())
    seen = ((rows > 0).sum(axis=1) - 1).clip(0) * ((columns > 0).sum(axis=1) - 1).clip(0)
    degrees = float(seen.sum())
    value = max(float(value), 0.0)
    return IndependenceTest(value, degrees, float(chdtrc(degrees, value)) if degrees else 1.0)
