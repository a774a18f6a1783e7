"""What estimators with structured states share: rows of sequences, and expectation-maximisation from several starts."""

from __future__ import annotations

from collections.abc import Iterable, Sequence
from dataclasses import KW_ONLY
from typing import Any, NamedTuple, Self, TypeAlias

import numpy as np
from numpy.typing import DTypeLike
from sklearn.callback import with_callbacks
from sklearn.utils.validation import check_is_fitted

from fivefold.core.admission.sequences import admit_sequences
from fivefold.core.admission.takes import Takes
from fivefold.core.console.fit_progress import fit_steps, interruptible_fit, warn_kept_best
from fivefold.core.estimators import params
from fivefold.core.estimators.base import Unsupervised
from fivefold.core.estimators.params import Count, Index, NonNegative, Seed
from fivefold.core.random_state import check_random_state
from fivefold.core.types import Codes, Doubles, Indices, Matrix, Rng, UserTable, UserTarget
from fivefold.inference.em import best_em

UserLengths: TypeAlias = Sequence[int] | None


class SequenceTable(NamedTuple):
    """Rows of all sequences."""

    X: Doubles  # (n, d)
    offsets: Indices  # (S + 1,)
    dtype: DTypeLike = np.float64  # that of the table as it was given


class SequenceEM(Unsupervised):
    """Learns states from sequences of rows; `_starts` gives the models that EM begins with.

    Parameters
    ----------
    reg_covar
        added to every variance.
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
    log_likelihoods_
        log-likelihood, or its lower bound, before each step.
    n_iter_
        number of steps.
    converged_
        whether the last step gained less than tol per row.
    """

    _: KW_ONLY
    reg_covar: NonNegative = 1e-6
    tol: NonNegative = 1e-3
    max_iter: Index = 100
    n_init: Count = 1
    random_state: Seed = None

    takes = Takes(sequence=True)

    @with_callbacks
    def fit(self, X: UserTable, y: UserTarget = None, *, lengths: UserLengths = None) -> Self:
        """Learn from the rows of X: one sequence, or several of these lengths."""
        params.check_params(self)
        self._forget()
        rows = self._rows(X, lengths, fitting=True)
        with interruptible_fit(self):
            self._learn(rows)
        return self

    def sample(self, n_samples: int = 1) -> tuple[Matrix, Codes]:
        """Rows (n, d) of one sequence, and their states: a column per chain where there are several."""
        if n_samples < 1:
            raise ValueError(f"{type(self).__name__}: n_samples must be 1 or more; got {n_samples}")
        drawn: tuple[Matrix, Codes] = self.model_.sample(n_samples, check_random_state(self.random_state))
        return drawn

    def _starts(self, rows: SequenceTable, rng: Rng) -> Iterable[Any]:
        raise TypeError(f"{type(self).__name__} does not say where to start")

    def _rows(self, X: UserTable, lengths: UserLengths = None, fitting: bool = False) -> SequenceTable:
        if not fitting:
            check_is_fitted(self)
        table, offsets = admit_sequences(self, X, lengths, fitting=fitting)
        return SequenceTable(np.ascontiguousarray(table, dtype=np.float64), offsets, table.dtype)

    def _learn(self, rows: SequenceTable) -> None:
        starts = self._starts(rows, check_random_state(self.random_state))
        with fit_steps(self, "step", self.n_init * max(self.max_iter, 1), rows.X) as monitor:
            w = np.ones(len(rows.X))
            fit = best_em(starts, rows, w, tol=self.tol, max_iter=self.max_iter, monitor=monitor)
        self.model_ = fit.model
        self.log_likelihoods_, self.n_iter_ = list(fit.history), len(fit.history)
        self.converged_ = fit.reason == "converged"
        if fit.reason == "interrupted":
            warn_kept_best(self, self.n_iter_, "step")
