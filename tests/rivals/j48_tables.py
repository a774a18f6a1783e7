"""Tables on which C4.5 was compared with Weka's J48, and the folds; the same here and where the record was made."""

import numpy as np
from sklearn.datasets import load_breast_cancer, load_iris, load_wine
from sklearn.model_selection import StratifiedKFold


def _generated(kind):
    """600 rows of 4 numbers and 2 columns of 4 categories each, the class by rules with noise, a tenth missing."""
    rng = np.random.RandomState({"random": 1, "dependent": 2, "informative": 3}[kind])
    X = rng.normal(size=(600, 6)).round(3)
    X[:, 4:] = rng.randint(4, size=(600, 2))
    y = ((X[:, 0] > 0.3) & (X[:, 4] < 2)) | ((X[:, 1] < -0.5) & (X[:, 5] == 3))
    y = (y ^ (rng.rand(600) < 0.1)).astype(int)
    chance = {"random": np.full(600, 0.1), "dependent": 0.2 * (X[:, 2] > 0), "informative": 0.15 * y + 0.05}[kind]
    X[rng.rand(600, 6) < chance[:, None]] = np.nan
    return X, y, [4, 5]


def tables():
    """Name -> X, y, discrete columns."""
    plain = {"iris": load_iris, "wine": load_wine, "breast cancer": load_breast_cancer}
    out = {name: (*load(return_X_y=True), []) for name, load in plain.items()}
    return out | {f"missing, {kind}": _generated(kind) for kind in ("random", "dependent", "informative")}


def folds(X, y):
    return list(StratifiedKFold(10, shuffle=True, random_state=0).split(X, y))
