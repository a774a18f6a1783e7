"""Naive Bayes: a distribution for each class, its columns independent, and Bayes' rule.

    p(y = k | x) = pi_k p(x | theta_k) / sum_l pi_l p(x | theta_l)

The parameters of class k come from its rows alone: statistics of a family under the partition of the
rows by class. They add, so batches of rows give what the whole gives, and a weight is a repetition.
"""

from __future__ import annotations

from dataclasses import dataclass
from functools import cached_property
from typing import Any

import numpy as np
from sklearn.utils import check_random_state

from fivefold.core.arrays import logsumexp
from fivefold.core.data import refuse_unfinite
from fivefold.core.estimator import learned
from fivefold.core.parallel import map_parts
from fivefold.core.supervised import Classifier
from fivefold.distributions.family import Array, Family, Groups, Members, Stats


@dataclass(frozen=True)
class ClassConditional:
    """Class shares, one member of a family for each class, and the statistics behind them."""

    stats: Stats
    prior: Array  # (K,)
    members: Members

    @cached_property
    def log_prior(self) -> Array:
        with np.errstate(divide="ignore"):  # a class without rows has share zero
            return np.log(self.prior)

    def joint(self, X: Any) -> Array:
        """log p(x, y = k) of every row, (n, K)."""
        return self.members.log_prob(X) + self.log_prior
