"""How long a belief takes to learn the bias of a coin, beside the frequency itself.

    belief       E[theta | flips] under a prior over biases
    frequency    heads / n  +-  sqrt(ln(2 / delta) / (2 n))          no prior (Hoeffding)

A prior that gives the true bias a probability of epsilon needs about ln(1 / epsilon) / KL(truth, favourite) flips to
leave its favourite: a stubborn prior learns later than the frequency by any factor.

McAllester (2009), Case Studies in Machine Learning, section 1.2.
"""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np
from numpy.typing import ArrayLike
from scipy.special import xlog1py, xlogy

from fivefold.core.types import Matrix, Vector
from fivefold.distributions.estimation.hypotheses import Hypotheses
from fivefold.theory.concentration import hoeffding_margin


@dataclass(frozen=True)
class CoinLearning:
    """Beliefs and frequencies after each flip, from none to n."""

    biases: Vector  # (H,)
    probability: Matrix  # (n + 1, H)
    frequency: Vector  # (n + 1,), 1/2 before the first flip
    margin: Vector  # (n + 1,), half the width of Hoeffding's interval; infinite before the first flip

    @property
    def mean(self) -> Vector:
        """The expected bias after each flip, (n + 1,)."""
        return self.probability @ self.biases

    def learned_after(self, truth: float, margin: float) -> tuple[int | None, int | None]:
        """Flips after which belief and frequency stay within the margin of the truth; None: not by the end."""
        return _stays(self.mean, truth, margin), _stays(self.frequency, truth, margin)


def coin_learning(prior: ArrayLike, biases: ArrayLike, flips: ArrayLike, *, delta: float = 0.05) -> CoinLearning:
    """Revise the prior over biases flip by flip.

    Parameters
    ----------
    prior
        probabilities of the biases, (H,).
    biases
        the probabilities of heads that are thought possible, (H,).
    flips
        1 for heads, 0 for tails.
    delta
        probability with which an interval about the frequency may fail.

    Examples
    --------
    A coin of bias 0.8, and a prior that is sure of 0.5 up to 1e-200. The frequency is within 0.1 of the truth after 21
    flips, and 185 make that sure; the belief takes 2,504:

    >>> flips = np.random.default_rng(0).random(4000) < 0.8
    >>> stubborn = coin_learning([1 - 1e-200, 1e-200], [0.5, 0.8], flips)
    >>> stubborn.learned_after(0.8, 0.1)
    (2504, 21)
    """
    thetas, seen = np.asarray(biases, dtype=float), np.asarray(flips, dtype=float)
    start = Hypotheses.of(prior)
    if thetas.shape != start.log_probability.shape or not ((thetas >= 0) & (thetas <= 1)).all():
        raise ValueError(f"biases lie between 0 and 1, one per prior probability; got {thetas.tolist()}")
    if seen.ndim != 1 or not np.isin(seen, (0.0, 1.0)).all():
        raise ValueError("flips are a row of 1 for heads and 0 for tails")
    logs = xlogy(seen[:, None], thetas) + xlog1py(1 - seen[:, None], -thetas)  # (n, H)
    counts = np.arange(1, len(seen) + 1)
    return CoinLearning(
        biases=thetas,
        probability=start.path(logs),
        frequency=np.concatenate([[0.5], np.cumsum(seen) / counts]),
        margin=np.concatenate([[np.inf], hoeffding_margin(counts, delta)]),
    )


def _stays(values: Vector, truth: float, margin: float) -> int | None:
    """The first place from which all values are within the margin."""
    outside = np.flatnonzero(np.abs(values - truth) > margin)
    after = int(outside[-1]) + 1 if len(outside) else 0
    return after if after < len(values) else None
