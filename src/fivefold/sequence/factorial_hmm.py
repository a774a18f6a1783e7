"""Factorial hidden Markov model: rows are sums of what several independent hidden chains contribute, plus noise.

    y_t ~ N(c + sum_m W^m[z_t^m], C),        z^m a Markov chain of K states, m = 1 .. M

M chains of K states describe K^M levels with M K means. Inference is exact over the product of the chains while that is
small, and a structured mean field otherwise.

Ghahramani & Jordan (1997).
"""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import KW_ONLY
from typing import Annotated, Literal

import numpy as np

from fivefold.core.estimators.base import Transformer, learned
from fivefold.core.estimators.params import Count, Index, Range
from fivefold.core.registry import Card
from fivefold.core.types import Codes, Matrix, Rng, UserTable, UserTarget
from fivefold.sequence.structured_states.factorial_states import FactorialStates
from fivefold.sequence.structured_states.sequence_em import SequenceEM, SequenceTable, UserLengths

MAX_EXACT_STATES = 64  # of the product of the chains: with more, `auto` takes the mean field
STAY = 0.8  # probability that a state stays, at the start


class FactorialHMM(SequenceEM, Transformer):
    """Factorial hidden Markov model: several chains of states that add up to what is seen.

    Parameters
    ----------
    n_chains
        number of chains.
    n_states
        number of states of each chain.
    inference
        exact, over the product of the chains; variational, each chain in the mean of the others; auto: exact while the
        product has at most 64 states.

    Attributes
    ----------
    startprob_
        probabilities of the first state of each chain (M, K).
    transmat_
        transition probabilities of each chain (M, K, K).
    means_
        what each state of each chain adds (M, K, d).
    centre_
        what is added to all rows (d,).
    covariance_
        covariance of the noise (d, d).

    Examples
    --------
    >>> import numpy as np
    >>> rng = np.random.RandomState(0)
    >>> slow, fast = np.repeat([0, 1, 0, 1], 50), np.tile(np.repeat([0, 1], 10), 10)
    >>> y = 4.0 * slow[:, None] + 1.0 * fast[:, None] + 0.1 * rng.normal(size=(200, 1))
    >>> model = FactorialHMM(n_chains=2, n_states=2, random_state=0).fit(y)
    >>> np.sort(np.ptp(model.means_, axis=1), axis=None).round(1)  # chains have no order
    array([1., 4.])
    """

    n_chains: Count = 2
    n_states: Annotated[int, Range(2)] = 2
    _: KW_ONLY
    inference: Literal["auto", "exact", "variational"] = "auto"
    max_iter: Index = 50
    n_init: Count = 3

    card = Card(
        applications=("clustering", "density estimation", "denoising"),
        use="Sequences whose level is a sum of parts that change independently, such as appliances on one meter. Not "
        "where one chain of states will do: the sum is harder to fit.",
        steps=(
            "Draw what each state adds at random.",
            "Find the probabilities of the states of each chain, given the others or all together.",
            "Fit transitions by counts and contributions by least squares.",
            "Repeat until the bound gains less than tol per row; keep the best of n_init runs.",
        ),
        source="Ghahramani & Jordan (1997)",
        see_also=("KalmanFilter",),
        variants=({"inference": "variational", "n_chains": 3, "n_init": 1},),
    )

    startprob_, transmat_ = learned("starts"), learned("transitions")
    means_, centre_, covariance_ = learned("means"), learned("centre"), learned("covariance")

    @property
    def _n_features_out(self) -> int:
        return int(self.model_.starts.size)

    def transform(self, X: UserTable) -> Matrix:
        """Probabilities of the states, chain after chain (n, M K)."""
        rows = self._rows(X)
        found = self.model_.posterior(rows)
        return found.marginals.reshape(len(rows.X), -1).astype(rows.dtype, copy=False)

    def decode(self, X: UserTable, lengths: UserLengths = None) -> Codes:
        """The state of every chain (n, M): of the best joint path, or with mean fields the likeliest of each chain."""
        return self.model_.best_states(self._rows(X, lengths))

    def score(self, X: UserTable, y: UserTarget = None, lengths: UserLengths = None) -> float:
        """log p of all rows, or its lower bound."""
        return self.model_.posterior(self._rows(X, lengths)).value

    def _starts(self, rows: SequenceTable, rng: Rng) -> Iterator[FactorialStates]:
        small = self.n_states**self.n_chains <= MAX_EXACT_STATES
        exact = self.inference == "exact" or (self.inference == "auto" and small)
        M, K, d = self.n_chains, self.n_states, rows.X.shape[1]
        centre, spread = rows.X.mean(axis=0), rows.X.std(axis=0)
        step = STAY * np.eye(K) + (1 - STAY) / K
        for _ in range(self.n_init):
            yield FactorialStates(
                starts=np.full((M, K), 1.0 / K),
                transitions=np.tile(step, (M, 1, 1)),
                means=rng.normal(size=(M, K, d)) * spread / np.sqrt(M),
                centre=centre,
                covariance=np.diag(spread**2 + self.reg_covar + np.finfo(np.float64).eps * centre**2),
                exact=exact,
                floor=self.reg_covar,
            )
