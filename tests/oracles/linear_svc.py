"""Support vector machines by a general-purpose solver: slow, obvious."""

import numpy as np
from scipy.optimize import linprog, minimize


def smooth_minimum(value, size):
    """The minimum of a convex function with one derivative, by BFGS from several tolerances."""
    x = np.zeros(size)
    for _ in range(5):
        x = minimize(value, x, method="BFGS", options={"gtol": 1e-10, "maxiter": 5000}).x
    return x


def objective(coef, intercept, X, target, C, power, epsilon=None, w=None, scaling=1.0):
    """1/2 |w|^2 + 1/2 (b / scaling)^2 + C sum of s loss^power, written out."""
    w = np.ones(len(X)) if w is None else w
    f = X @ np.ravel(coef) + intercept
    short = 1 - target * f if epsilon is None else np.abs(target - f) - epsilon
    losses = np.maximum(short, 0) ** power
    return 0.5 * np.ravel(coef) @ np.ravel(coef) + 0.5 * (intercept / scaling) ** 2 + C * w @ losses


def lies_apart(A, B):
    """Is there a hyperplane with f >= 1 on A and f <= -1 on B? One feasibility program."""
    rows = np.vstack([np.column_stack([-A, -np.ones(len(A))]), np.column_stack([B, np.ones(len(B))])])
    found = linprog(np.zeros(rows.shape[1]), A_ub=rows, b_ub=-np.ones(len(rows)), bounds=(None, None))
    return found.status == 0
