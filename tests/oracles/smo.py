"""The simplified SMO of the text, step by step, and the dual problem as a quadratic program."""

import numpy as np

from fivefold.optim.constrained.quadratic_program import solve_qp


def two_variable_step(K, y, alpha, b, i, j, C, E):
    """A-123: the minimum along a pair, f = sum of alpha y k - b; None where nothing changes."""
    if y[i] == y[j]:
        low, high = max(0.0, alpha[i] + alpha[j] - C), min(C, alpha[i] + alpha[j])
    else:
        low, high = max(0.0, alpha[j] - alpha[i]), min(C, C + alpha[j] - alpha[i])
    kappa = 2 * K[i, j] - K[i, i] - K[j, j]
    if low == high or kappa >= 0:
        return None
    second = min(max(alpha[j] - y[j] * (E[i] - E[j]) / kappa, low), high)
    if abs(second - alpha[j]) < 1e-5:
        return None
    first = alpha[i] + y[i] * y[j] * (alpha[j] - second)
    d1, d2 = first - alpha[i], second - alpha[j]
    b1 = b + E[i] + y[i] * d1 * K[i, i] + y[j] * d2 * K[i, j]
    b2 = b + E[j] + y[i] * d1 * K[i, j] + y[j] * d2 * K[j, j]
    offset = b1 if 0 < first < C else b2 if 0 < second < C else (b1 + b2) / 2
    return first, second, offset


def simplified_smo(K, y, C, passes=20, tol=1e-4, seed=0, max_rounds=20_000):
    """A-124: multipliers and the offset b of f = sum of alpha y k - b."""
    rng = np.random.RandomState(seed)
    n, b, quiet = len(y), 0.0, 0
    alpha = np.zeros(n)
    for _ in range(max_rounds):
        changes = 0
        for i in range(n):
            E = K @ (alpha * y) - b - y
            if not ((y[i] * E[i] < -tol and alpha[i] < C) or (y[i] * E[i] > tol and alpha[i] > 0)):
                continue
            j = (i + rng.randint(1, n)) % n
            if (step := two_variable_step(K, y, alpha, b, i, j, C, E)) is not None:
                alpha[i], alpha[j], b = step
                changes += 1
        quiet = quiet + 1 if changes == 0 else 0
        if quiet == passes:
            break
    return alpha, b


def quadratic_program_dual(K, dual):
    """A-121: the value of a KernelDual without tube by the solver of quadratic programs."""
    n = dual.n
    ridge = np.zeros(n) if dual.ridge is None else dual.ridge
    start = np.zeros(n) if dual.start is None else dual.start
    A = np.zeros((len(dual.group_slices), n))
    for g, members in enumerate(dual.group_slices):
        A[g, members] = 1.0
    return solve_qp(K + np.diag(ridge), -dual.t, A=A, b=A @ start, lb=dual.low, ub=dual.high).x
