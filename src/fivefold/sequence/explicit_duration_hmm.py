"""Hidden Markov model with explicit durations: each state lasts as long as a distribution of its own says.

    z enters state j, stays d steps with probability duration[j, d], and goes on to k with probability transition[j, k]
    x_t ~ N(mean of the state, covariance of the state)

In an ordinary hidden Markov model durations are geometric, so that the shortest is always the likeliest. The model is
expanded to a chain over states and steps to go, and fitted by expectation-maximisation.

Ferguson (1980); Yu (2010), Hidden semi-Markov models.
"""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import KW_ONLY
from typing import Literal

import numpy as np

from fivefold.core.estimators.base import DensityEstimator, learned
from fivefold.core.estimators.params import Count
from fivefold.core.registry import Card
from fivefold.core.types import Codes, Doubles, Matrix, Rng, UserTable, UserTarget, Vector
from fivefold.distributions.family import GroupWeights
from fivefold.distributions.gaussian import Diagonal, Full, Gaussian, Spherical, Tied
from fivefold.inference.chains.forward_backward import forward_backward, forward_filter
from fivefold.sequence.structured_states.explicit_durations import SemiMarkovModel
from fivefold.sequence.structured_states.sequence_em import SequenceEM, SequenceTable, UserLengths
from fivefold.spatial.centres.lloyd import alternate_updates
from fivefold.spatial.centres.seeding import plusplus_seeds
from fivefold.spatial.points import Points

COVARIANCES = {"spherical": Spherical(), "diag": Diagonal(), "full": Full(), "tied": Tied()}
KMEANS_TOL, KMEANS_MAX_ITER = 1e-4, 100  # of the clusters that EM starts from


class ExplicitDurationHMM(SequenceEM, DensityEstimator):
    """Hidden Markov model of Gaussian states with durations of any distribution.

    Parameters
    ----------
    n_components
        number of states.
    max_duration
        longest duration of a state, in steps.
    covariance_type
        covariances of the states: a number, a diagonal or a matrix each, or one matrix for all (tied).

    Attributes
    ----------
    startprob_
        probabilities of the first state (K,).
    transmat_
        probabilities of the next state, zero on the diagonal (K, K).
    durations_
        probability of lasting 1, 2, ... steps (K, max_duration).
    means_, covars_
        mean and covariance of each state.

    Examples
    --------
    >>> import numpy as np
    >>> rng = np.random.RandomState(0)
    >>> z = np.tile(np.repeat([0, 1], [3, 5]), 20)  # three steps low, five steps high
    >>> x = 4.0 * z[:, None] + rng.normal(size=(160, 1))
    >>> model = ExplicitDurationHMM(2, 8, random_state=0).fit(x)
    >>> order = model.means_.ravel().argsort()
    >>> model.durations_[order].argmax(axis=1) + 1
    array([3, 5])
    """

    n_components: Count = 2
    max_duration: Count = 10
    _: KW_ONLY
    covariance_type: Literal["spherical", "diag", "full", "tied"] = "diag"

    card = Card(
        applications=("clustering", "density estimation"),
        use="Sequences of regimes that last a typical time, such as phases of a machine or of sleep. Not for durations "
        "of hundreds of steps: the expanded chain has a state per step to go.",
        steps=(
            "Start from the clusters of k-means and equal durations.",
            "Expand the states to states with steps to go, and find their probabilities forwards and backwards.",
            "Count changes and durations by these probabilities, and fit the states to their rows.",
            "Repeat until the log-likelihood gains less than tol per row.",
        ),
        source="Ferguson (1980); Yu (2010)",
        see_also=("FactorialHMM",),
        variants=({"n_components": 3, "max_duration": 3, "covariance_type": "full"},),
    )

    startprob_, transmat_, durations_ = learned("start"), learned("transition"), learned("duration")
    means_, covars_ = learned("members.mean"), learned("members.covariance.matrix")

    def predict(self, X: UserTable, lengths: UserLengths = None) -> Codes:
        """The state of each row on the best path."""
        return self.model_.best_states(self._rows(X, lengths))

    def predict_proba(self, X: UserTable, lengths: UserLengths = None) -> Matrix:
        """The probability of each state in each row (n, K), given all rows of its sequence."""
        rows = self._rows(X, lengths)
        found = forward_backward(self.model_.chain(rows))
        return self.model_.probabilities(found.marginals).astype(rows.dtype, copy=False)

    def score_samples(self, X: UserTable, lengths: UserLengths = None) -> Vector:
        """log p of each row given those before it."""
        return forward_filter(self.model_.chain(self._rows(X, lengths))).log_scale

    def score(self, X: UserTable, y: UserTarget = None, lengths: UserLengths = None) -> float:
        """log p of all rows."""
        return float(np.asarray(self.score_samples(X, lengths)).sum())

    def _starts(self, rows: SequenceTable, rng: Rng) -> Iterator[SemiMarkovModel]:
        K, D = self.n_components, self.max_duration
        if len(rows.X) < K:
            raise ValueError(
                f"{type(self).__name__}: n_components={K} but X has only {len(rows.X)} rows (n_samples={len(rows.X)}); "
                "ask for fewer states"
            )
        family = Gaussian(COVARIANCES[self.covariance_type], self.reg_covar)
        w = np.ones(len(rows.X))
        points = Points.of(rows.X, w)
        for _ in range(self.n_init):
            seeds = points.rows_as_given(plusplus_seeds(points, K, rng))
            found = alternate_updates(points, seeds, KMEANS_TOL * points.variance, KMEANS_MAX_ITER)
            yield SemiMarkovModel(
                start=np.full(K, 1.0 / K),
                transition=(1 - np.eye(K)) / (K - 1) if K > 1 else np.ones((1, 1)),
                duration=np.full((K, D), 1.0 / D),
                family=family,
                members=family.fit(family.stats(rows.X, _nearly(found.labels, w, K))),
            )


def _nearly(labels: Codes, w: Vector, K: int) -> Doubles | GroupWeights:
    """Rows in their clusters; a little of each in all, where a cluster has none."""
    if len(np.unique(labels)) == K:
        return GroupWeights(labels, w, K)
    return 0.9 * np.eye(K)[labels] + 0.1 / K
