"""Compiled passes of stochastic gradient descent over rows, dense or sparse.

A step on row i with weight s, at rate eta:

    w <- (1 - eta l2) w - eta s loss'(y, p) x,   b <- b - eta s loss'(y, p),   p = x'w + b

w is stored as a scale times v, so the decay costs one product and a sparse row touches only its own columns. The L1
penalty is cumulative and applied to the columns of a row when the row is visited (Tsuruoka, Tsujii & Ananiadou, 2009).
The mean of all w is stored as (m + A v) / B, which a step changes only on the columns of its row (Bottou, 2012).
"""

from __future__ import annotations

from typing import Any, NamedTuple

import numpy as np
from scipy.sparse import issparse

from fivefold.core.compilation.jit import FAST, generic, jit
from fivefold.core.types import Array, Indices, Matrix, Table

HINGE, SQUARED_HINGE, LOG, MODIFIED_HUBER, SQUARED, HUBER, INSENSITIVE, SQUARED_INSENSITIVE = range(8)
GRADIENT_STEP, PA1_STEP, PA2_STEP = range(3)  # step length: the learning rate, or passive-aggressive (PA-I, PA-II)
MAX_SLOPE = 1e12  # slopes are clipped to this size
MIN_FOUR_SUMS = 16  # entries of a sparse row from which on its inner product is taken in four sums
ONE, TWO, THREE, FOUR = (np.uint64(k) for k in range(1, 5))  # unsigned plus signed would be a float to Numba
MIN_SCALE = 1e-9  # below this the scale is multiplied into v and starts again at one


class DenseRows(NamedTuple):
    """Rows of an array."""

    X: Matrix


class SparseRows(NamedTuple):
    """Rows of a matrix in compressed rows."""

    data: Array
    indices: Indices
    indptr: Indices


def as_rows(X: Table) -> DenseRows | SparseRows:
    """X as the loops take it."""
    if not issparse(X):
        return DenseRows(X)
    kind, bare = (np.int32, np.uint32) if X.nnz < 2**31 else (np.int64, np.uint64)
    # an unsigned index cannot count from the end, so the loop skips that test
    return SparseRows(X.data, *(part.astype(kind, copy=False).view(bare) for part in (X.indices, X.indptr)))


@generic
def dot(rows: DenseRows | SparseRows, i: int, v: Array) -> Any:
    """x_i' v."""


@dot.rule(DenseRows)
def _(rows, i, v):
    s = 0.0
    for j in range(v.shape[0]):
        s += rows.X[i, j] * v[j]
    return s


@dot.rule(SparseRows)
def _(rows, i, v):
    return sparse_dot(rows.data, rows.indices, np.uint64(rows.indptr[i]), np.uint64(rows.indptr[i + 1]), v)


@jit(fastmath=FAST - {"reassoc"}, error_model="numpy", forceinline=True)
def sparse_dot(data, indices, start, end, v):
    """Entries start..end of sparse rows times v.

    Four sums, as one would wait for each of its additions; the compiler may not reorder them, as it would take gather
    instructions, which are slower than four loads. In a short row the four are not worth their start.
    """
    a, b, c, d, rest = 0.0, 0.0, 0.0, 0.0, start
    if end - start >= MIN_FOUR_SUMS:
        while rest + THREE < end:
            a += data[rest] * v[indices[rest]]
            b += data[rest + ONE] * v[indices[rest + ONE]]
            c += data[rest + TWO] * v[indices[rest + TWO]]
            d += data[rest + THREE] * v[indices[rest + THREE]]
            rest += FOUR
    for p in range(rest, end):
        a += data[p] * v[indices[p]]
    return (a + b) + (c + d)


@generic
def add(rows: DenseRows | SparseRows, i: int, v: Array, c: float) -> Any:
    """v += c x_i; returns the change of |v|^2."""


@add.rule(DenseRows)
def _(rows, i, v, c):
    s = 0.0
    for j in range(v.shape[0]):
        z = c * rows.X[i, j]
        s += z * (2 * v[j] + z)
        v[j] += z
    return s


@add.rule(SparseRows)
def _(rows, i, v, c):
    s = 0.0
    for p in range(rows.indptr[i], rows.indptr[i + 1]):
        j = rows.indices[p]
        z = c * rows.data[p]
        s += z * (2 * v[j] + z)
        v[j] += z
    return s


@generic
def row_norms(rows: DenseRows | SparseRows, i: int, v: Array) -> Any:
    """sum of |v_j| and of v_j^2 over the columns of row i, and |x_i|^2."""


@row_norms.rule(DenseRows)
def _(rows, i, v):
    s, q, x = 0.0, 0.0, 0.0
    for j in range(v.shape[0]):
        s += abs(v[j])
        q += v[j] * v[j]
        x += rows.X[i, j] * rows.X[i, j]
    return s, q, x


@row_norms.rule(SparseRows)
def _(rows, i, v):
    s, q, x = 0.0, 0.0, 0.0
    for p in range(rows.indptr[i], rows.indptr[i + 1]):
        j = rows.indices[p]
        s += abs(v[j])
        q += v[j] * v[j]
        x += rows.data[p] * rows.data[p]
    return s, q, x


@generic
def shrink_row(
    rows: DenseRows | SparseRows, i: int, v: Array, paid: Array, mean: Array, A: float, scale: float, u: float
) -> None:
    """Shrink scale v_j of the columns of row i towards zero by the L1 penalty due, u, less what was applied, `paid`."""


@shrink_row.rule(DenseRows)
def _(rows, i, v, paid, mean, A, scale, u):
    for j in range(v.shape[0]):
        shrink_column(v, paid, mean, A, scale, u, j)


@shrink_row.rule(SparseRows)
def _(rows, i, v, paid, mean, A, scale, u):
    for p in range(rows.indptr[i], rows.indptr[i + 1]):
        shrink_column(v, paid, mean, A, scale, u, rows.indices[p])


@jit(fastmath=FAST, error_model="numpy")
def shrink_column(v, paid, mean, A, scale, u, j):
    """One column of `shrink_row`."""
    old = v[j]
    new = max(0.0, old - (u + paid[j]) / scale) if old > 0 else min(0.0, old + (u - paid[j]) / scale)
    if old == 0.0:
        new = 0.0
    v[j] = new
    paid[j] += scale * (new - old)
    if A != 0.0:
        mean[j] -= A * (new - old)


@jit(fastmath=FAST, error_model="numpy", forceinline=True)
def loss_and_slope(kind, edge, y, p):
    """The loss of one row and its slope in p; `edge` is the threshold of a hinge or the width of a tube.

    At the kink of a hinge the slope is that of the rising side, so that a perceptron learns from a tie.
    """
    m, r = y * p, y - p
    size = abs(r)
    if kind == HINGE:
        return max(0.0, edge - m), -y if m <= edge else 0.0
    if kind == SQUARED_HINGE or (kind == MODIFIED_HUBER and m >= -1):
        short = max(0.0, edge - m)
        return short * short, -2 * y * short
    if kind == MODIFIED_HUBER:
        return -4.0 * m, -4.0 * y
    if kind == LOG:
        e = np.exp(-abs(m))
        return np.log1p(e) + max(0.0, -m), -y * (e if m > 0 else 1.0) / (1 + e)
    if kind == SQUARED or (kind == HUBER and size <= edge):
        return 0.5 * r * r, -r
    sign, beyond = -1.0 if r > 0 else 1.0, max(0.0, size - edge)
    if kind == HUBER:
        return edge * (size - 0.5 * edge), sign * edge
    if kind == INSENSITIVE:
        return beyond, sign if beyond > 0 else 0.0
    return beyond * beyond, 2 * sign * beyond


@jit(fastmath=FAST, error_model="numpy")
def rate_at(code, eta0, shape, t):
    """The rate of step t: see optim.stochastic.learning_rates."""
    if code == 0:
        return eta0
    if code == 1:
        return eta0 / (1 + (t - 1) / shape)
    return eta0 / t**shape


@jit(fastmath=FAST, error_model="numpy")
def fold_scale(v, mean, scale, A, B):
    """Multiply the scale out of v, and A and B out of the mean, which is empty where none is kept."""
    for j in range(mean.shape[0]):
        mean[j] = (mean[j] + A * v[j]) / B
    if scale != 1.0:
        for j in range(v.shape[0]):
            v[j] *= scale


@jit(fastmath=FAST, error_model="numpy")
def sgd_epoch(rows, y, s, order, v, mean, paid, z, kind, edge, l1, l2, code, shape, rule, average, drift):
    """One pass over the rows of `order`.

    v (d,), mean (d,) and paid (d,), the L1 penalty applied, are updated in place; mean is empty without `average`. On
    entry z holds b, mean b, t, eta0 and the L1 penalty due, u; on return also, at 5 and 6, the mean loss and the number
    of steps that moved the coefficients. `edge` is the threshold of the loss, `rule` one of the step rules, `drift` the
    rate of b as a multiple of that of w.
    """
    b, b_mean, t, eta0, u = z[0], z[1], z[2], z[3], z[4]
    eta, scale, A, B, total, moved = eta0, 1.0, 0.0, 1.0, 0.0, 0
    square, size = 0.0, 0.0
    for j in range(v.shape[0] if l1 + l2 > 0.0 else 0):  # without a penalty nothing reads them
        square += v[j] * v[j]
        size += abs(v[j])
    for k in range(order.shape[0]):
        i = order[k]
        p = scale * dot(rows, i, v) + b
        eta = rate_at(code, eta0, shape, t)
        loss, slope = loss_and_slope(kind, edge, y[i], p)
        total += loss
        if rule == GRADIENT_STEP:
            total += 0.5 * l2 * scale * scale * square + l1 * scale * size
            step = -eta * max(-MAX_SLOPE, min(MAX_SLOPE, slope))
        else:
            length = row_norms(rows, i, v)[2]
            if rule == PA1_STEP:
                if length == 0.0:
                    continue
                step = min(eta0, loss / length)
            else:
                step = loss / (length + 0.5 / eta0)
            step *= y[i] if kind == HINGE else (-1.0 if y[i] < p else 1.0)
        step *= s[i]
        if l2 > 0.0:
            scale *= max(0.0, 1.0 - eta * l2)
            if scale < MIN_SCALE:
                fold_scale(v, mean, scale, A, B)
                square *= scale * scale
                size *= scale
                scale, A, B = 1.0, 0.0, 1.0
        if l1 > 0.0:
            before = row_norms(rows, i, v)
        if step != 0.0:
            moved += 1
            square += add(rows, i, v, step / scale)
            if A != 0.0:
                add(rows, i, mean, -A * step / scale)
            b += drift * step
        if l1 > 0.0:
            u += eta * l1
            shrink_row(rows, i, v, paid, mean, A, scale, u)
            after = row_norms(rows, i, v)
            size += after[0] - before[0]
            square += after[1] - before[1]
        if 0 < average <= t:
            count = t - average + 1
            if count > 1:
                B /= 1.0 - 1.0 / count
            A += B * scale / count
            b_mean += (b - b_mean) / count
        t += 1
    fold_scale(v, mean, scale, A, B)
    z[0], z[1], z[2], z[3], z[4] = b, b_mean, t, eta0, u
    z[5], z[6] = total / order.shape[0], moved


@jit(fastmath=FAST, error_model="numpy")
def perceptron_pass(rows, y, s, mass, order, x, eta, drift, hits, best, z):
    """One pass of the perceptron rule over (w, b) = x (d + 1,); hits[k] is 1 where visit k was a mistake.

    `best`, unless empty, is the pocket: among the points that classified more weight in a row correctly than any
    before, the one with the smallest weight of errors. z holds the weight of the present run, of the longest run, and
    of the fewest errors; mass holds the weights of the rows.
    """
    d, moved = x.shape[0] - 1, 0
    w = x[:d]
    for k in range(order.shape[0]):
        i = order[k]
        hits[k] = y[i] * (dot(rows, i, w) + x[d]) <= 0
        if not hits[k]:
            z[0] += s[i]
            continue
        if best.shape[0] and z[0] > z[1]:
            pocket_update(rows, y, mass, x, best, z)
        moved += 1
        add(rows, i, w, eta * s[i] * y[i])
        x[d] += drift * eta * s[i] * y[i]
        z[0] = 0.0
    if best.shape[0]:
        pocket_update(rows, y, mass, x, best, z)
    return moved


@jit(fastmath=FAST, error_model="numpy")
def pocket_update(rows, y, mass, x, best, z):
    """Put x into the pocket if it makes fewer errors."""
    d, errors = x.shape[0] - 1, 0.0
    for i in range(y.shape[0]):
        if y[i] * (dot(rows, i, x[:d]) + x[d]) <= 0:
            errors += mass[i]
    z[1] = max(z[1], z[0])
    if errors < z[2]:
        z[2] = errors
        best[:] = x


@jit(fastmath=FAST, error_model="numpy")
def potential_pass(G, y, s, order, alpha, f, lag, hits):
    """One pass of the perceptron rule on kernel values G (n, n): f = G alpha, alpha_i grows by s y at a mistake.

    hits[k] is 1 where visit k was a mistake. The sum of alpha after each visit is T alpha - lag for T visits in all:
    lag grows by k times a step at visit k. Returns the number of mistakes.
    """
    moved = 0
    for k in range(order.shape[0]):
        i = order[k]
        hits[k] = y[i] * f[i] <= 0
        if hits[k]:
            step = s[i] * y[i]
            alpha[i] += step
            lag[i] += k * step
            for j in range(f.shape[0]):
                f[j] += step * G[i, j]
            moved += 1
    return moved


@jit(fastmath=FAST, error_model="numpy")
def pegasos_steps(rows, y, draws, u, lag, z, strength, offset, since):
    """Pegasos on the rows drawn: u (d + 1,) is the sum of y x over draws with a loss, w_t = u / (strength (t - 1)).

    z = (t, sum of 1 / t from t = since on, number of these terms); with lag (d + 1,) the mean of all w from then on is
    (z1 u - lag) / (strength z2).
    """
    d = u.shape[0] - 1
    for k in range(draws.shape[0]):
        i = draws[k]
        p = 0.0
        if z[0] > 1:
            p = (dot(rows, i, u[:d]) + offset * u[d]) / (strength * (z[0] - 1))
        if y[i] * p < 1:
            add(rows, i, u[:d], y[i])
            add(rows, i, lag[:d], y[i] * z[1])
            u[d] += offset * y[i]
            lag[d] += offset * y[i] * z[1]
        if z[0] >= since:
            z[1] += 1 / z[0]
            z[2] += 1
        z[0] += 1


@jit(fastmath=FAST, error_model="numpy")
def dual_pegasos_steps(G, y, draws, a, f, z, strength):
    """The same on inner products G (n, n): a counts the draws with a loss, f = G (a y)."""
    for k in range(draws.shape[0]):
        i = draws[k]
        if z[0] == 1 or y[i] * f[i] / (strength * (z[0] - 1)) < 1:
            a[i] += 1
            for j in range(f.shape[0]):
                f[j] += y[i] * G[i, j]
        z[0] += 1


@jit(fastmath=FAST, error_model="numpy")
def softmax_epoch(rows, y, s, order, W, b, p, z, code, shape, drift):
    """One pass of W_c <- W_c + eta s ([c = y] - p_c) x, y a code; z holds t and eta0, and gets the mean loss."""
    K, total = W.shape[0], 0.0
    for k in range(order.shape[0]):
        i = order[k]
        top = -np.inf
        for c in range(K):
            p[c] = dot(rows, i, W[c]) + b[c]
            top = max(top, p[c])
        right, mass = p[int(y[i])], 0.0
        for c in range(K):
            p[c] = np.exp(p[c] - top)
            mass += p[c]
        total += np.log(mass) + top - right
        eta = rate_at(code, z[1], shape, z[0]) * s[i]
        for c in range(K):
            step = eta * ((1.0 if c == int(y[i]) else 0.0) - p[c] / mass)
            add(rows, i, W[c], step)
            b[c] += drift * step
        z[0] += 1
    z[2] = total / order.shape[0]


@jit
def shuffle_rows(base, seed):
    """The rows of `base` in an order that the seed decides (splitmix64, Fisher & Yates)."""
    order = base.copy()
    x = np.uint64(seed)
    for k in range(order.shape[0] - 1, 0, -1):
        x = x + np.uint64(0x9E3779B97F4A7C15)
        z = (x ^ (x >> np.uint64(30))) * np.uint64(0xBF58476D1CE4E5B9)
        z = (z ^ (z >> np.uint64(27))) * np.uint64(0x94D049BB133111EB)
        z = z ^ (z >> np.uint64(31))
        j = int((z >> np.uint64(11)) * (1.0 / 9007199254740992.0) * (k + 1))
        order[k], order[j] = order[j], order[k]
    return order
