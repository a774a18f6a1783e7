"""Factorial hidden Markov model: rows are sums of what several independent hidden chains contribute, plus noise.

    y_t ~ N(c + sum_m W^m[z_t^m], C),        z^m a Markov chain of K states, m = 1 .. M

M chains of K states describe K^M levels with M K means. Inference is exact over the product of the chains while that is
small, and a structured mean field otherwise.

Ghahramani & Jordan (1997).
"""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from dataclasses import KW_ONLY
from typing import Annotated, Literal, Self

import numpy as np
from sklearn.callback import with_callbacks
from sklearn.utils.validation import check_is_fitted

from fivefold.core.admission.sequences import admit_sequences
from fivefold.core.admission.takes import Takes
from fivefold.core.console.fit_progress import fit_steps, interruptible_fit, warn_kept_best
from fivefold.core.estimators import params
from fivefold.core.estimators.base import Transformer, learned
from fivefold.core.estimators.params import Count, Index, NonNegative, Range, Seed
from fivefold.core.random_state import check_random_state
from fivefold.core.registry import Card
from fivefold.core.types import Codes, Matrix, Rng, UserTable, UserTarget
from fivefold.inference.em import best_em
from fivefold.sequence.structured_states.factorial_states import FactorialStates, SequenceRows

MAX_EXACT_STATES = 64  # of the product of the chains: with more, `auto` takes the mean field
STAY = 0.8  # probability that a state stays, at the start
UserLengths = Sequence[int] | None


class FactorialHMM(Transformer):
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
    reg_covar
        added to every variance of the noise.
    tol
        stop when a step gains less than this per row.
    max_iter
        steps of EM, at most.
    n_init
        runs from different starts, of which the one with the highest value is kept.
    random_state
        seed of the starts and of samples.

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
    log_likelihoods_
        log-likelihood, or its lower bound, before each step.
    n_iter_
        number of steps.
    converged_
        whether the last step gained less than tol per row.

    Examples
    --------
    >>> import numpy as np
    >>> rng = np.random.RandomState(0)
    >>> slow, fast = np.repeat([0, 1, 0, 1], 50), np.tile(np.repeat([0, 1], 10), 10)
    >>> y = 4.0 * slow[:, None] + 1.0 * fast[:, None] + 0.1 * rng.normal(size=(200, 1))
    >>> model = FactorialHMM(n_chains=2, n_states=2, random_state=0).fit(y)
    >>> np.ptp(model.means_, axis=1).ravel().round(1)  # in any order
    array([1., 4.])
    """

    n_chains: Count = 2
    n_states: Annotated[int, Range(2)] = 2
    _: KW_ONLY
    inference: Literal["auto", "exact", "variational"] = "auto"
    reg_covar: NonNegative = 1e-6
    tol: NonNegative = 1e-3
    max_iter: Index = 50
    n_init: Count = 3
    random_state: Seed = None

    takes = Takes(sequence=True)
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

    @with_callbacks
    def fit(self, X: UserTable, y: UserTarget = None, *, lengths: UserLengths = None) -> Self:
        """Learn from the rows of X: one sequence, or several of these lengths."""
        params.check_params(self)
        self._forget()
        rows = self._rows(X, lengths, fitting=True)
        exact = self.inference == "exact" or (
            self.inference == "auto" and self.n_states**self.n_chains <= MAX_EXACT_STATES
        )
        with interruptible_fit(self):
            self._learn(rows, exact)
        return self

    def transform(self, X: UserTable) -> Matrix:
        """Probabilities of the states, chain after chain (n, M K)."""
        rows = self._rows(X)
        found = self.model_.posterior(rows)
        return found.marginals.reshape(len(rows.Y), -1).astype(rows.dtype, copy=False)

    def decode(self, X: UserTable, lengths: UserLengths = None) -> Codes:
        """The state of every chain (n, M): of the best joint path, or with mean fields the likeliest of each chain."""
        return self.model_.best_states(self._rows(X, lengths))

    def score(self, X: UserTable, y: UserTarget = None, lengths: UserLengths = None) -> float:
        """log p of all rows, or its lower bound."""
        return self.model_.posterior(self._rows(X, lengths)).value

    def sample(self, n_samples: int = 1) -> tuple[Matrix, Codes]:
        """Rows (n, d) of one sequence, and the states of the chains (n, M)."""
        if n_samples < 1:
            raise ValueError(f"{type(self).__name__}: n_samples must be 1 or more; got {n_samples}")
        states, Y = self.model_.sample(n_samples, check_random_state(self.random_state))
        return Y, states

    def _rows(self, X: UserTable, lengths: UserLengths = None, fitting: bool = False) -> SequenceRows:
        if not fitting:
            check_is_fitted(self)
        table, offsets = admit_sequences(self, X, lengths, fitting=fitting)
        return SequenceRows(np.ascontiguousarray(table, dtype=np.float64), offsets, table.dtype)

    def _learn(self, rows: SequenceRows, exact: bool) -> None:
        rng = check_random_state(self.random_state)
        with fit_steps(self, "step", self.n_init * max(self.max_iter, 1), rows.Y) as monitor:
            fit = best_em(
                self._starts(rows, exact, rng),
                rows,
                np.ones(len(rows.Y)),
                tol=self.tol,
                max_iter=self.max_iter,
                monitor=monitor,
            )
        self.model_ = fit.model
        self.log_likelihoods_, self.n_iter_ = list(fit.history), len(fit.history)
        self.converged_ = fit.reason == "converged"
        if fit.reason == "interrupted":
            warn_kept_best(self, self.n_iter_, "step")

    def _starts(self, rows: SequenceRows, exact: bool, rng: Rng) -> Iterator[FactorialStates]:
        M, K, d = self.n_chains, self.n_states, rows.Y.shape[1]
        centre, spread = rows.Y.mean(axis=0), rows.Y.std(axis=0)
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
