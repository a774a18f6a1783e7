"""The compiled pass of affinity propagation: one reading of similarities and messages per round."""

from __future__ import annotations

from fivefold.core.compilation.jit import FAST, jit

RUN = 32  # columns whose largest message is kept: few enough to look through again
LOWEST = -1.7976931348623157e308  # below every similarity


@jit(fastmath=FAST, error_model="numpy")
def message_pass(S, R, A, column, damping, lo, hi, tops, sums):
    """Availabilities of rows lo..hi from the sums of the round before, then responsibilities, and the sums of these.

    `column` (n,) are sums over rows of max(r_ik, 0), of r_kk on the diagonal; `sums` receives those of the new r. The
    two largest a_ik + s_ik come from the largest of each run of columns, `tops` (one per RUN or more): scratch.
    """
    n, keep, take = S.shape[0], damping, 1.0 - damping
    runs = (n + RUN - 1) // RUN
    for k in range(n):
        sums[k] = 0.0
    for i in range(lo, hi):
        s, r, a = S[i], R[i], A[i]
        own = keep * a[i] - take * (r[i] - column[i])
        for b in range(runs):
            tops[b] = _available(s, r, a, column, keep, take, b * RUN, min(n, (b + 1) * RUN))
        a[i] = own
        b = i // RUN
        tops[b] = _top(s, a, b * RUN, min(n, (b + 1) * RUN))
        b = 0
        for c in range(1, runs):
            b = c if tops[c] > tops[b] else b
        best, first, second = b * RUN, LOWEST, LOWEST
        for k in range(b * RUN, min(n, (b + 1) * RUN)):
            value = a[k] + s[k]
            if value > first:
                best, first, second = k, value, first
            elif value > second:
                second = value
        for c in range(runs):
            second = max(second, tops[c]) if c != b else second
        to_best = keep * r[best] + take * (s[best] - second)
        before, before_best = sums[i], sums[best]
        for k in range(n):
            r[k] = keep * r[k] + take * (s[k] - first)
            sums[k] += max(r[k], 0.0)
        r[best] = to_best
        sums[best] = before_best + max(to_best, 0.0)
        sums[i] = before + r[i]


@jit(fastmath=FAST, error_model="numpy")
def _available(s, r, a, column, keep, take, lo, hi):
    """New availabilities of columns lo..hi of a row, but for its own; the largest of them with the similarity."""
    top = LOWEST
    for k in range(hi - lo):
        gap = max(r[lo + k], 0.0) - column[lo + k]
        a[lo + k] = keep * a[lo + k] - take * max(gap, 0.0)
        top = max(top, a[lo + k] + s[lo + k])
    return top


@jit(fastmath=FAST, error_model="numpy")
def _top(s, a, lo, hi):
    top = LOWEST
    for k in range(hi - lo):
        top = max(top, a[lo + k] + s[lo + k])
    return top
