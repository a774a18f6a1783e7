"""PAC-Bayes certificates without test rows, beside the error on rows held out: a table of docs/certificates.md.

    python benchmarks/pac_bayes_certificates.py

For each table the certificate at delta = 0.05 of a model fitted to all rows, mean over ten orders of the rows; and the
errors of the Gibbs classifier and of the vote on the fifth of the rows that was held out, mean over 20 splits, beside
the certificate of the model that was fitted to the other four fifths, and the error of LogisticRegression on scaled
columns, or of SVC.
"""

import sys
import time

import numpy as np
from sklearn.datasets import load_breast_cancer, load_digits
from sklearn.model_selection import train_test_split
from sklearn.pipeline import make_pipeline
from sklearn.preprocessing import StandardScaler

from fivefold.linear_model import LogisticRegression
from fivefold.svm import SVC
from fivefold.theory import PACBayesKernelProbit, PACBayesProbit

ORDERS, SPLITS = 10, 20


def pair(first, second):
    """Rows of two digits."""
    X, y = load_digits(return_X_y=True)
    kept = (y == first) | (y == second)
    return X[kept], y[kept]


def even_and_odd():
    """All digits."""
    X, y = load_digits(return_X_y=True)
    return X, y % 2


def linear_rival():
    """What a user would fit without a certificate."""
    return make_pipeline(StandardScaler(), LogisticRegression())


TABLES = {
    "breast cancer": (lambda: load_breast_cancer(return_X_y=True), PACBayesProbit, linear_rival, 0.09),
    "digits 3 and 8": (lambda: pair(3, 8), PACBayesKernelProbit, SVC, 0.055),
    "digits 4 and 9": (lambda: pair(4, 9), PACBayesKernelProbit, SVC, 0.047),
    "digits, even and odd": (even_and_odd, PACBayesKernelProbit, SVC, 0.13),
}


def certificates(X, y, kind, **settings):
    """Of models fitted to all rows in ten orders: fixed rate, kl form, Gibbs error, complexity, seconds."""
    found = []
    for seed in range(ORDERS):
        order = np.random.default_rng(seed).permutation(len(X))
        began = time.perf_counter()
        model = kind(random_state=seed, **settings).fit(X[order], y[order])
        seconds = time.perf_counter() - began
        found.append((*model.certificate_.parts.values(), model.gibbs_error_, model.complexity_, seconds))
    return np.array(found)


def held_out(X, y, kind, rival, **settings):
    """Certificate from four fifths; errors of Gibbs classifier, vote and rival on the last fifth."""
    found = []
    for seed in range(SPLITS):
        A, B, a, b = train_test_split(X, y, test_size=0.2, random_state=seed)
        model = kind(random_state=seed, **settings).fit(A, a)
        right = model.predict_proba(B)[np.arange(len(b)), np.searchsorted(model.classes_, b)]
        other = rival().fit(A, a)
        found.append((model.certificate_.bound, 1 - right.mean(), 1 - model.score(B, b), 1 - other.score(B, b)))
    return np.array(found)


def main(names):
    """Print the table, a line per data set."""
    print("| data | rows | certificate | kl form | target | held out: certificate | Gibbs | vote | rival | seconds |")
    print("|---|---|---|---|---|---|---|---|---|---|")
    for name in names or TABLES:
        load, kind, rival, target = TABLES[name]
        X, y = load()
        found = certificates(X, y, kind)
        bound, kl, _, _, seconds = found.mean(axis=0)
        spread = found[:, 0].std()
        tests = held_out(X, y, kind, rival).mean(axis=0)
        print(
            f"| {name} | {len(X)} | {bound:.4f} ({spread:.4f}) | {kl:.4f} | {target} | "
            + " | ".join(f"{value:.4f}" for value in tests)
            + f" | {seconds:.2f} |",
            flush=True,
        )


if __name__ == "__main__":
    main(sys.argv[1:])
