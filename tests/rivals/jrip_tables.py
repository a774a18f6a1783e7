"""Tables on which RIPPER was compared with Weka's JRip, and the folds; the same here and where the record was made."""

import numpy as np
import pandas as pd
from sklearn.datasets import load_breast_cancer, load_iris, load_wine
from sklearn.model_selection import StratifiedKFold


def _terms(rng, n=600):
    """Two terms over numbers and categories, a tenth of the labels flipped, a twentieth of the values missing."""
    X = rng.normal(size=(n, 6)).round(3)
    X[:, 4:] = rng.randint(4, size=(n, 2))
    y = ((X[:, 0] > 0.3) & (X[:, 4] == 1)) | ((X[:, 1] < -0.2) & (X[:, 2] > -0.5) & (X[:, 5] != 3))
    y = (y ^ (rng.rand(n) < 0.1)).astype(int)
    X[rng.rand(n, 6) < 0.05] = np.nan
    return X, y, [4, 5]


def _boxes(rng, n=600):
    """Four classes: three overlapping boxes, and the rest."""
    X = rng.rand(n, 8).round(4)
    y = np.zeros(n, dtype=int)
    for c in (1, 2, 3):
        y[((X[:, c] > 0.15 * c) & (X[:, c] < 0.15 * c + 0.5) & (X[:, c + 1] > 0.4))] = c
    swapped = rng.rand(n) < 0.08
    y[swapped] = rng.randint(4, size=swapped.sum())
    return X, y, []


def _rare(rng, n=800):
    """One row in six is of the class to be found, in two bands of ten numbers."""
    X = rng.normal(size=(n, 10)).round(3)
    y = (np.abs(X[:, 0] - 1) < 0.5) & (X[:, 1] > 0) | (X[:, 2] + 0.3 * X[:, 3] > 1.6)
    return X, (y ^ (rng.rand(n) < 0.04)).astype(int), []


def tables():
    """Name -> X, y, columns of categories."""
    plain = {"iris": load_iris, "wine": load_wine, "breast cancer": load_breast_cancer}
    made = {"terms": _terms, "boxes": _boxes, "rare": _rare}
    out = {name: (*load(return_X_y=True), []) for name, load in plain.items()}
    return out | {name: (*make(np.random.RandomState(seed)),) for seed, (name, make) in enumerate(made.items())}


def frame(X, discrete):
    """The table as a data frame, with columns of categories."""
    out = pd.DataFrame(X, columns=[f"x{j}" for j in range(X.shape[1])])
    for j in discrete:
        codes = [None if v != v else f"v{int(v)}" for v in X[:, j]]
        out[f"x{j}"] = pd.Categorical(codes, categories=[f"v{k}" for k in range(4)])
    return out


def folds(X, y):
    return list(StratifiedKFold(10, shuffle=True, random_state=0).split(X, y))
