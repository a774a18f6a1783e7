"""Judgement one row and one split at a time."""

import numpy as np


def fold_errors(make, X, y, splits, loss):
    """Mean loss on the test rows of every split, by a loop over rows."""
    means = []
    for train, test in splits:
        model = make().fit(X[train], y[train])
        total = 0.0
        for i in test:
            total += float(loss(X[i], y[i], model.predict(X[i : i + 1])[0]))
        means.append(total / len(test))
    return means


def e632_plus(make, X, y, splits):
    """Efron & Tibshirani (1997), equations 17, 24, 27-29 and 32, for the zero-one loss."""
    n = len(y)
    fitted = make().fit(X, y)
    predicted = fitted.predict(X)
    apparent = np.mean([predicted[i] != y[i] for i in range(n)])
    gamma = np.mean([[y[i] != predicted[j] for j in range(n)] for i in range(n)])
    models = [make().fit(X[train], y[train]) for train, _ in splits]
    each = []
    for i in range(n):
        wrong = [
            m.predict(X[i : i + 1])[0] != y[i] for m, (train, _) in zip(models, splits, strict=True) if i not in train
        ]
        if wrong:
            each.append(np.mean(wrong))
    left_out = np.mean(each)
    capped = min(left_out, gamma)
    R = (capped - apparent) / (gamma - apparent) if left_out > apparent and gamma > apparent else 0.0
    e632 = 0.368 * apparent + 0.632 * left_out
    return e632, e632 + (capped - apparent) * 0.368 * 0.632 * R / (1 - 0.368 * R)


def counts_at(y, scores, threshold):
    """tp, fp, fn, tn by asking every row."""
    tp = fp = fn = tn = 0
    for truth, score in zip(y, scores, strict=True):
        called = score >= threshold
        tp += called and truth == 1
        fp += called and truth != 1
        fn += not called and truth == 1
        tn += not called and truth != 1
    return tp, fp, fn, tn


def p_value(scores, score):
    """(1 + number of calibration scores as large) / (n + 1)."""
    return (1 + sum(s >= score for s in scores)) / (len(scores) + 1)


def plus_interval(models, fold, residuals, x, alpha):
    """Ends of CV+ at one point, by sorting."""
    n = len(residuals)
    low = sorted(models[fold[i]].predict(x)[0] - residuals[i] for i in range(n))
    high = sorted(models[fold[i]].predict(x)[0] + residuals[i] for i in range(n))
    below, above = int(np.floor(alpha * (n + 1) + 1e-9)), int(np.ceil((1 - alpha) * (n + 1) - 1e-9))
    return (low[below - 1] if below else -np.inf), (high[above - 1] if above <= n else np.inf)
