"""Compiled loops of the Kalman filter and the Rauch-Tung-Striebel smoother, in square-root form.

    x_1 ~ N(mu, P),   x_{t+1} = A x_t + b_t + N(0, Q),   y_t = C x_t + d_t + N(0, R)

With S a square root of the predicted covariance, L the one of the innovation, both steps of the filter are reflections:

    observation   [ R^1/2  C S ]  ->  [ L  0   ]      x + K~ L^-1 (y - C x - d),  covariance S_f S_f'
                  [ 0      S   ]      [ K~ S_f ]
    time          [ A S_f  Q^1/2 ]  ->  [ S' 0   ]    next covariance S' S'',  gain of the smoother J = G S'^-1,
                  [ S_f    0     ]      [ G  S_r ]    S_r S_r' what is left of x_t when x_{t+1} is known

and the smoother goes back with x_s = x_f + J (x_s' - x_p'), S_s from [S_r, J S_s']. Entries that are not observed have
no row in the first array. Covariances do not depend on the data: once they have settled they are copied.

Kailath, Sayed & Hassibi (2000), chapter 12; Park & Kailath (1995).
"""

import numpy as np

from fivefold.core.compilation.jit import jit
from fivefold.inference.state_space.triangular_loops import SUMS, multiply_into, triangularise

LOG_TWO_PI = float(np.log(2.0 * np.pi))
# Covariances have settled when a step changes them by a few roundings, and when they got there quickly from COARSE: at
# the rate of 20 powers of e in QUICK_STEPS all further steps together change them by no more than ten times as much.
ROUNDINGS = 4 * float(np.finfo(np.float64).eps)
COARSE = 1e-8
QUICK_STEPS = 200


@jit(reference_counting=False)
def relative_change(a, s, t):
    """The largest difference of entries of a[s] and a[t], as a share of the largest entry."""
    size, change = 0.0, 0.0
    for i in range(a.shape[1]):
        for k in range(a.shape[2]):
            size = max(size, abs(a[s, i, k]))
            change = max(change, abs(a[s, i, k] - a[t, i, k]))
    return change / size if size > 0.0 else change


@jit(reference_counting=False, any_integer=True)
def copy_matrix(a, s, b, t, row, column):
    """a[s] = the square of b[t] that begins at this row and column."""
    for i in range(a.shape[1]):
        for k in range(a.shape[2]):
            a[s, i, k] = b[t, row + i, column + k]


@jit(reference_counting=False)
def same_entries_seen(seen, s, t):
    """Are the same entries of two rows observed?"""
    different = 0
    for k in range(seen.shape[1]):
        different += seen[s, k] != seen[t, k]
    return different == 0


@jit(fastmath=SUMS, reference_counting=False)
def observe(U, C, c, root_R, r, S, t, seen, pivots):
    """The reflected array of one observation; the number of its observed entries, or -1 where they determine one
    another.
    """
    m, n = C.shape[1], C.shape[2]
    p = 0
    for i in range(m):
        if seen[t, i]:
            for k in range(m):
                U[0, p, k] = root_R[r, i, k]
            for k in range(n):
                U[0, p, m + k] = 0.0
            for j in range(n):
                for k in range(n):
                    U[0, p, m + k] += C[c, i, j] * S[t, j, k]
            p += 1
    if p == 0:
        return 0
    for i in range(n):
        for k in range(m):
            U[0, p + i, k] = 0.0
        for k in range(n):
            U[0, p + i, m + k] = S[t, i, k]
    # The last n rows are a root in n columns as they are, if nothing was missing; otherwise they are gathered in n.
    column = triangularise(U, 0, p, 0, p + n, m + n, pivots)
    if column < p:
        return -1
    if p < m:
        triangularise(U, p, p + n, p, p + n, m + n, pivots)
    return p


@jit(fastmath=SUMS, reference_counting=False)
def correct(x_f, x_p, t, U, p, Y, seen, C, c, level, z):
    """Put the mean after an observation into x_f[t]; the log-density of the observation."""
    m, n = C.shape[1], C.shape[2]
    for i in range(n):
        x_f[t, i] = x_p[t, i]
    row, log_prob = 0, 0.0
    for i in range(m):
        if seen[t, i]:
            innovation = Y[t, i] - level[t, i]
            for j in range(n):
                innovation -= C[c, i, j] * x_p[t, j]
            for k in range(row):
                innovation -= U[0, row, k] * z[k]
            z[row] = innovation / U[0, row, row]
            log_prob -= 0.5 * (z[row] * z[row] + LOG_TWO_PI) + np.log(U[0, row, row])
            row += 1
    for i in range(n):
        for k in range(p):
            x_f[t, i] += U[0, p + i, k] * z[k]
    return log_prob


@jit(fastmath=SUMS, reference_counting=False)
def move(V, A, a, root_Q, q, S, t, both):
    """The array of one step of time, with the rows of the smoother if `both`."""
    n = A.shape[1]
    multiply_into(V, A, a, S, t)
    for i in range(n):
        for k in range(n):
            V[0, i, n + k] = root_Q[q, i, k]
    if both:
        for i in range(n):
            for k in range(n):
                V[0, n + i, k] = S[t, i, k]
                V[0, n + i, n + k] = 0.0


@jit(fastmath=SUMS, reference_counting=False)
def smoother_gain(J, t, V, pivots):
    """J[t] with J S' = G by back substitution over the rows with a column of their own."""
    n = J.shape[1]
    for back in range(n):
        row = n - 1 - back
        q = pivots[row]
        for i in range(n):
            total = 0.0
            if q >= 0:
                total = V[0, n + i, q]
                for j in range(n - 1 - row):
                    total -= J[t, i, row + 1 + j] * V[0, row + 1 + j, q]
                total /= V[0, row, q]
            J[t, i, row] = total


@jit(fastmath=SUMS, reference_counting=False)
def run_filter(
    Y, seen, start, stop, A, drive, root_Q, C, level, root_R, x_p, S_p, x_f, S_f, log_prob, J, rest, U, V, z, pivots
):
    """Filter the rows start..stop, one sequence; -1, or the row whose entries determine one another.

    Matrices have a leading axis, of length one where they stay the same; x_p and S_p hold the first prediction. J and
    `rest` get what the smoother needs, if they are as long as the table. The last four are scratch.
    """
    n = A.shape[1]
    smoothing = len(J) > 0
    fixed = len(A) == 1 and len(root_Q) == 1 and len(C) == 1 and len(root_R) == 1
    p, coarse = 0, start
    for t in range(start, stop):
        a, q = min(t - start, len(A) - 1), min(t - start, len(root_Q) - 1)
        c, r = min(t - start, len(C) - 1), min(t - start, len(root_R) - 1)
        settled = False
        if fixed and t > start:
            change = relative_change(S_p, t, t - 1)
            coarse = t if change > COARSE else coarse
            settled = (change <= ROUNDINGS and t - coarse <= QUICK_STEPS) or change == 0.0
            settled = settled and same_entries_seen(seen, t, t - 1)
        if not settled:
            p = observe(U, C, c, root_R, r, S_p, t, seen, pivots)
            if p < 0:
                return t
            if p == 0:
                copy_matrix(S_f, t, S_p, t, 0, 0)
            else:
                copy_matrix(S_f, t, U, 0, p, p)
        else:
            copy_matrix(S_f, t, S_f, t - 1, 0, 0)
        log_prob[t] = correct(x_f, x_p, t, U, p, Y, seen, C, c, level, z)
        if t + 1 == stop:
            return -1
        for i in range(n):
            x_p[t + 1, i] = drive[t, i]
            for j in range(n):
                x_p[t + 1, i] += A[a, i, j] * x_f[t, j]
        if settled:
            copy_matrix(S_p, t + 1, S_p, t, 0, 0)
            if smoothing:
                copy_matrix(J, t, J, t - 1, 0, 0)
                copy_matrix(rest, t, rest, t - 1, 0, 0)
        else:
            move(V, A, a, root_Q, q, S_f, t, smoothing)
            used = triangularise(V, 0, n, 0, 2 * n if smoothing else n, 2 * n, pivots)
            copy_matrix(S_p, t + 1, V, 0, 0, 0)
            if smoothing:
                smoother_gain(J, t, V, pivots)
                if used < n:  # more than n columns are left
                    triangularise(V, n, 2 * n, used, 2 * n, 2 * n, pivots)
                copy_matrix(rest, t, V, 0, n, used)
    return -1


@jit(fastmath=SUMS, reference_counting=False)
def run_smoother(start, stop, x_p, x, S, J, rest, W, pivots):
    """Replace filtered means and square roots by those given the whole sequence, rows start..stop."""
    n = x.shape[1]
    coarse = 0
    for back in range(stop - start - 1):
        t = stop - 2 - back
        for i in range(n):
            for k in range(n):
                x[t, i] += J[t, i, k] * (x[t + 1, k] - x_p[t + 1, k])
        if back > 0:
            change = relative_change(S, t + 1, t + 2)
            coarse = back if change > COARSE else coarse
            quick = (change <= ROUNDINGS and back - coarse <= QUICK_STEPS) or change == 0.0
            if quick and relative_change(J, t, t + 1) == 0.0 and relative_change(rest, t, t + 1) == 0.0:
                copy_matrix(S, t, S, t + 1, 0, 0)
                continue
        multiply_into(W, J, t, S, t + 1)
        for i in range(n):
            for k in range(n):
                W[0, i, n + k] = rest[t, i, k]
        triangularise(W, 0, n, 0, n, 2 * n, pivots)
        copy_matrix(S, t, W, 0, 0, 0)


@jit(reference_counting=False)
def filter_sequences(
    Y,
    seen,
    cuts,
    first,
    last,
    A,
    drive,
    root_Q,
    C,
    level,
    root_R,
    mean,
    root_P,
    x_p,
    S_p,
    x_f,
    S_f,
    log_prob,
    J,
    rest,
    U,
    V,
    z,
    pivots,
):
    """Filter the sequences first..last, which begin at cuts; -1, or the row whose entries determine one another."""
    for s in range(first, last):
        for i in range(len(mean)):
            x_p[cuts[s], i] = mean[i]
        copy_matrix(S_p, cuts[s], root_P, 0, 0, 0)
        bad = run_filter(
            Y,
            seen,
            cuts[s],
            cuts[s + 1],
            A,
            drive,
            root_Q,
            C,
            level,
            root_R,
            x_p,
            S_p,
            x_f,
            S_f,
            log_prob,
            J,
            rest,
            U,
            V,
            z,
            pivots,
        )
        if bad >= 0:
            return bad
    return -1


@jit(reference_counting=False)
def smooth_sequences(cuts, first, last, x_p, x, S, J, rest, W, pivots):
    """Smooth the sequences first..last."""
    for s in range(first, last):
        run_smoother(cuts[s], cuts[s + 1], x_p, x, S, J, rest, W, pivots)
