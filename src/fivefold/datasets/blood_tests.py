"""A population for blood tests: levels of proteins, and whether a person has cancer; what is true is known.

    level     log10 of a concentration, N(1.5, 0.5^2) in health, between the limits 0 and 4 of the assay, two decimals
    cancer    30 in 100; of these, half have marker 0 raised by 1.4 and marker 1 by 0.7, the others marker 2 by 1.4 and
              marker 3 lowered by 0.7; the other proteins tell nothing
    label     of 2 persons in 100 it is wrong

A finite population drawn from with replacement has an exact error of every rule: its share of wrong answers there.
"""

from __future__ import annotations

import numpy as np

from fivefold.core.estimators.params import Seed
from fivefold.core.random_state import check_random_state
from fivefold.core.types import Codes, Matrix

ASSAY_LIMITS = (0.0, 4.0)  # lowest and highest level that is reported: known before any blood is drawn
HEALTHY_LEVEL, LEVEL_SPREAD = 1.5, 0.5
SHARE_ILL, SHARE_WRONG = 0.3, 0.02
EFFECTS = ((1.4, 0.7, 0.0, 0.0), (0.0, 0.0, 1.4, -0.7))  # of either kind of cancer on the four markers


def blood_tests(n: int = 20_000, *, proteins: int = 16, random_state: Seed = 0) -> tuple[Matrix, Codes]:
    """Levels of proteins (n, proteins), the markers first, and 1 for cancer, 0 for health.

    Examples
    --------
    >>> X, y = blood_tests(1000)
    >>> X.shape, round(float(y.mean()), 2), float(X.min()), float(X.max())
    ((1000, 16), 0.32, 0.0, 4.0)
    """
    if proteins < len(EFFECTS[0]):
        raise ValueError(f"{len(EFFECTS[0])} of the proteins are markers: at least as many are needed; got {proteins}")
    rng = check_random_state(random_state)
    ill, kind = rng.random_sample(n) < SHARE_ILL, rng.randint(2, size=n)
    X = HEALTHY_LEVEL + LEVEL_SPREAD * rng.standard_normal((n, proteins))
    X[:, : len(EFFECTS[0])] += np.asarray(EFFECTS)[kind] * ill[:, None]
    wrong = rng.random_sample(n) < SHARE_WRONG
    return np.clip(X, *ASSAY_LIMITS).round(2), (ill ^ wrong).astype(np.int64)
