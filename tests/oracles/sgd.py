"""Stochastic learners, step by step: whole vectors, no scaling, no laziness."""

import numpy as np

SLOPES = {
    "hinge": lambda y, p: -y * (y * p <= 1),
    "perceptron": lambda y, p: -y * (y * p <= 0),
    "squared_hinge": lambda y, p: -2 * y * max(0.0, 1 - y * p),
    "log_loss": lambda y, p: -y / (1 + np.exp(y * p)),
    "modified_huber": lambda y, p: -4 * y if y * p < -1 else -2 * y * max(0.0, 1 - y * p),
    "squared_error": lambda y, p: p - y,
    "huber": lambda y, p: np.clip(p - y, -0.1, 0.1),
    "epsilon_insensitive": lambda y, p: np.sign(p - y) * (abs(p - y) > 0.1),
    "squared_epsilon_insensitive": lambda y, p: 2 * np.sign(p - y) * max(0.0, abs(p - y) - 0.1),
}


def sgd(X, y, w, slope, rate, passes, *, l1=0.0, l2=0.0, average=0, intercept=1.0):
    """(coefficients, intercept) after so many passes in the order of the rows; a row of whole weight k comes k times.

    The L1 penalty is cumulative: u is what every coefficient should have paid so far, q what it has paid.
    """
    d = X.shape[1]
    v, b, q, u, t = np.zeros(d), 0.0, np.zeros(d), 0.0, 1
    mean, count = np.zeros(d + 1), 0
    for _ in range(passes):
        for i in np.repeat(np.arange(len(y)), np.ceil(w).astype(int)):
            eta = rate(t)
            step = -eta * slope(y[i], X[i] @ v + b) * w[i] / np.ceil(w[i])
            v = (1 - eta * l2) * v + step * X[i]
            b += intercept * step
            u += eta * l1
            for j in np.flatnonzero(X[i]) if l1 else ():
                old = v[j]
                v[j] = max(0.0, old - (u + q[j])) if old > 0 else min(0.0, old + (u - q[j])) if old < 0 else 0.0
                q[j] += v[j] - old
            if 0 < average <= t:
                count += 1
                mean += (np.append(v, b) - mean) / count
            t += 1
    return (mean[:d], mean[d]) if count else (v, b)


def perceptron(X, y, w0, b0, passes, *, eta=1.0):
    """Every point passed, the first included, after each row: (steps + 1, d + 1)."""
    points = [np.append(w0, b0).astype(float)]
    for _ in range(passes):
        for x, label in zip(X, y, strict=True):
            wrong = label * (points[-1] @ np.append(x, 1)) <= 0
            points.append(points[-1] + wrong * eta * label * np.append(x, 1))
    return np.array(points)


def pegasos(X, y, strength, draws):
    """w_2, w_3, ...: (T, d) by the subgradient of one row at a time."""
    w, path = np.zeros(X.shape[1]), []
    for t, i in enumerate(draws, start=1):
        g = strength * w - (y[i] * (w @ X[i]) < 1) * y[i] * X[i]
        w = w - g / (strength * t)
        path.append(w)
    return np.array(path)


def softmax_pass(X, y, W, b, rate, t):
    """One pass of W_c <- W_c + eta ([c = y] - p_c) x in the order of the rows."""
    W, b = W.copy(), b.copy()
    for x, label in zip(X, y, strict=True):
        e = np.exp(W @ x + b)
        error = np.eye(len(b))[label] - e / e.sum()
        W, b, t = W + rate(t) * np.outer(error, x), b + rate(t) * error, t + 1
    return W, b
