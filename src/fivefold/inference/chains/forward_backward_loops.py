"""Compiled sums over the paths of chains: scaled, and in logs.

Scaled messages are probabilities that sum to one at each position: a multiplication per pair of states where logs take
an exponential. A sequence whose messages underflow all the same is marked, and done again in logs.
"""

import numpy as np

from fivefold.core.compilation.jit import FAST, jit
from fivefold.core.numerics.softmax import exp_mantissa

MIN_SCALE = 1e-250  # sums of messages below it have lost digits, or are zero
MIN_EXPONENT = -700.0  # exponentials below it are zero
MIN_LOG = -1e300  # logs below it stand for zero


@jit(error_model="numpy")
def exponentials(L, top, out, bits, low, low_bits):
    """out = exp(L - top) with top the largest number of each row; `low` (K,) is scratch; bits are those of both."""
    m, K = L.shape
    for i in range(m):
        best = L[i, 0]
        for k in range(1, K):
            best = max(best, L[i, k])
        if best < MIN_LOG:  # the whole row is impossible
            best = 0.0
        top[i] = best
        for k in range(K):
            out[i, k], low[k] = exp_mantissa(max(L[i, k] - best, MIN_EXPONENT))
        for k in range(K):
            bits[i, k] += low_bits[k] << 52
        for k in range(K):
            if L[i, k] - best < MIN_EXPONENT:
                out[i, k] = 0.0


@jit(fastmath=FAST, error_model="numpy")
def _row_times_table(p, A, out):
    """out = p A: four columns at a time, whose sums stay in registers."""
    K = len(p)
    fours = K // 4 * 4
    for k in range(0, fours, 4):
        s0, s1, s2, s3 = 0.0, 0.0, 0.0, 0.0
        for i in range(K):
            v = p[i]
            s0 += v * A[i, k]
            s1 += v * A[i, k + 1]
            s2 += v * A[i, k + 2]
            s3 += v * A[i, k + 3]
        out[k], out[k + 1], out[k + 2], out[k + 3] = s0, s1, s2, s3
    for k in range(fours, K):
        s = 0.0
        for i in range(K):
            s += p[i] * A[i, k]
        out[k] = s


@jit(fastmath=FAST, error_model="numpy")
def forward(start, steps, emission, rows, lo, hi, alpha, scale):
    """Scaled messages alpha of positions lo .. hi, and their sums; does it get through without underflow?"""
    K = len(start)
    several = len(steps) > 1
    for t in range(hi - lo):
        a, b = alpha[lo + t], emission[rows[lo + t]]
        if t == 0:
            for k in range(K):
                a[k] = start[k]
        else:
            _row_times_table(alpha[lo + t - 1], steps[lo + t if several else 0], a)
        total = 0.0
        for k in range(K):
            a[k] *= b[k]
            total += a[k]
        scale[lo + t] = total
        if not total > MIN_SCALE:
            return False
        c = 1.0 / total
        for k in range(K):
            a[k] *= c
    return True


@jit(fastmath=FAST, error_model="numpy")
def backward(steps, transposed, emission, rows, lo, hi, weight, scale, marginals, counts, pairs, beta, ahead):
    """From alpha to marginals, in place; add weight times the sum over steps of pairwise marginals to counts.

    With one table of transitions the counts lack its factor. `pairs` gets the pairwise marginals of each step where it
    has room for them.
    """
    K = len(beta)
    several, keep = len(steps) > 1, len(pairs) > 0
    for k in range(K):
        beta[k] = 1.0
    for t in range(hi - 2, lo - 1, -1):
        a, b, c = marginals[t], emission[rows[t + 1]], 1.0 / scale[t + 1]
        for k in range(K):
            ahead[k] = beta[k] * b[k] * c
            beta[k] = 0.0
        if several or keep:
            A = steps[t + 1 if several else 0]
            for i in range(K):
                p, total = a[i], 0.0
                for k in range(K):
                    q = A[i, k] * ahead[k]
                    total += q
                    if keep:
                        pairs[t + 1, i, k] = p * q
                    counts[i, k] += weight * p * (q if several else ahead[k])
                beta[i] = total
        else:
            for i in range(K):
                p = weight * a[i]
                for k in range(K):
                    counts[i, k] += p * ahead[k]
            _row_times_table(ahead, transposed, beta)
        for k in range(K):
            a[k] *= beta[k]


@jit(error_model="numpy")
def posterior(
    start, steps, emission, rows, offsets, weights, first, last, scale, marginals, starts, counts, pairs, fails, scratch
):
    """Forward and backward for sequences first .. last; a sequence that underflows is marked in `fails`."""
    K = len(start)
    beta, ahead, transposed = scratch[0], scratch[1], scratch[2:]
    for i in range(K):
        for k in range(K):
            transposed[i, k] = steps[0, k, i]
    for s in range(first, last):
        lo, hi = offsets[s], offsets[s + 1]
        if not forward(start, steps, emission, rows, lo, hi, marginals, scale):
            fails[s] = True
            continue
        backward(steps, transposed, emission, rows, lo, hi, weights[s], scale, marginals, counts, pairs, beta, ahead)
        for k in range(K):
            starts[k] += weights[s] * marginals[lo, k]


@jit(error_model="numpy")
def filtered(start, steps, emission, rows, offsets, first, last, scale, alpha, fails):
    """Forward alone for sequences first .. last."""
    for s in range(first, last):
        fails[s] = not forward(start, steps, emission, rows, offsets[s], offsets[s + 1], alpha, scale)


@jit(error_model="numpy")
def log_sum(x):
    """log sum exp, minus infinity where all are."""
    top = x[0]
    for k in range(1, len(x)):
        top = max(top, x[k])
    if top < MIN_LOG:
        return -np.inf
    total = 0.0
    for k in range(len(x)):
        total += np.exp(x[k] - top)
    return top + np.log(total)


@jit(error_model="numpy")
def log_forward(start, steps, emission, rows, lo, hi, alpha, terms):
    """Log messages of positions lo .. hi; the log of the sum over all paths."""
    K = len(start)
    several = len(steps) > 1
    for t in range(lo, hi):
        for k in range(K):
            if t == lo:
                alpha[t, k] = start[k] + emission[rows[t], k]
            else:
                for i in range(K):
                    terms[i] = alpha[t - 1, i] + steps[t if several else 0, i, k]
                alpha[t, k] = log_sum(terms) + emission[rows[t], k]
    return log_sum(alpha[hi - 1])


@jit(error_model="numpy")
def log_posterior(start, steps, emission, rows, lo, hi, weight, marginals, starts, counts, pairs, sums):
    """Forward and backward in logs for positions lo .. hi; `sums` gets log p of the positions up to each one."""
    K = len(start)
    several, keep = len(steps) > 1, len(pairs) > 0
    beta, ahead, terms = np.zeros(K), np.empty(K), np.empty(K)
    value = log_forward(start, steps, emission, rows, lo, hi, marginals, terms)
    for t in range(lo, hi):
        sums[t] = log_sum(marginals[t])
    if value == -np.inf:
        marginals[lo:hi] = 0.0
        return value
    for t in range(hi - 1, lo - 1, -1):
        if t < hi - 1:
            for k in range(K):
                ahead[k] = beta[k] + emission[rows[t + 1], k]
            for i in range(K):
                for k in range(K):
                    terms[k] = steps[t + 1 if several else 0, i, k] + ahead[k]
                    joint = np.exp(marginals[t, i] + terms[k] - value)
                    counts[i, k] += weight * joint
                    if keep:
                        pairs[t + 1, i, k] = joint
                beta[i] = log_sum(terms)
        for k in range(K):
            marginals[t, k] = np.exp(marginals[t, k] + beta[k] - value)
    for k in range(K):
        starts[k] += weight * marginals[lo, k]
    return value
