"""The parameters of every hidden Markov model and their fit, with hmmlearn's names.

A model gives the letters and names of its parameters (`parts`), their start (`_started`), and the emission that has
them (`_emission`). Parameters can be set before a fit: then the model can be used as it is, and a fit begins with those
whose letters are not in `init_params`.
"""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from dataclasses import field, replace
from typing import TYPE_CHECKING, Any, ClassVar, Self

import numpy as np
from numpy.typing import ArrayLike
from sklearn.callback import with_callbacks
from sklearn.exceptions import ConvergenceWarning
from sklearn.utils.validation import check_is_fitted

from fivefold.core.admission.sequences import admit_sequences
from fivefold.core.admission.targets import admit_weights
from fivefold.core.console.fit_progress import fit_steps, interruptible_fit, warn_kept_best
from fivefold.core.console.user_warnings import warn
from fivefold.core.estimators.base import learned
from fivefold.core.estimators.params import check_params
from fivefold.core.numerics.arrays import to_numpy
from fivefold.core.random_state import check_random_state
from fivefold.core.types import (
    Array,
    Codes,
    Doubles,
    Indices,
    Labels,
    Mask,
    Rng,
    Table,
    UserTable,
    UserTarget,
    UserWeights,
    Vector,
    Weights,
)
from fivefold.inference.approximate.markov_chain import MarkovChain
from fivefold.inference.em import EMResult, best_em
from fivefold.sequence.hidden_markov.answers import HMMAnswers, lengths_given
from fivefold.sequence.hidden_markov.convergence_monitor import ConvergenceMonitor
from fivefold.sequence.hidden_markov.emissions import TiedEmission
from fivefold.sequence.hidden_markov.hmm import HiddenMarkovModel, SequenceBatch
from fivefold.sequence.hidden_markov.initial_states import cluster_states, dirichlet_start, filled

START_BLUR = 0.1  # share of each row that is spread evenly over the states when clusters start a model
SUM_TOLERANCE = 1e-6  # probabilities that a user gives must sum to one up to this
Parts = Mapping[str, Array]  # parameters by name


class HMMParameter(learned):
    """A parameter of the model, which a user may also set, before a fit or after it."""

    def __set__(self, estimator: object, value: object) -> None:
        known = vars(estimator)
        if "model_" in known:  # the model is made again of all parts when it is used
            owner: Any = estimator
            found = {name: getattr(estimator, name) for name in owner.parts.values()}
            del known["model_"]
            known.update(found)
        known[self._name] = np.array(value, dtype=np.float64)


class BaseHMM(HMMAnswers):
    """Base of the hidden Markov models, each of which declares the fields in its own order.

    Parameters
    ----------
    n_components
        number of states.
    startprob_prior
        parameters of a Dirichlet prior of the start probabilities: a number, or one per state.
    transmat_prior
        the same for each row of the transition probabilities.
    algorithm
        how `decode` and `predict` choose states: the best path (viterbi), which is right most often as a whole, or the
        likeliest state of each row (map), which has the fewest wrong states.
    random_state
        seed of the start and of samples.
    n_iter
        maximum number of steps of EM.
    tol
        stop when a step gains less log-likelihood than this.
    verbose
        whether the log-likelihood of each step is printed to the error output.
    params
        letters of the parameters that are learned; the others stay as they were set or started.
    init_params
        letters of the parameters that are started anew in a fit; the others begin with what was set or learned before.
    implementation
        kept from hmmlearn, where one overflows and the other takes longer: both values sum scaled messages, and go to
        logs where these underflow.
    n_init
        runs from different starts, of which the one with the highest likelihood is kept.
    training
        whether a step counts all paths by their probability (soft) or the best one alone (hard, Viterbi training).
    start
        where the parameters named by `init_params` start: at random, as in hmmlearn, or from the clusters of k-means
        and the steps between them, which is closer to a good model. Known states are always started from.
    tied_states
        which states emit the same: a number from 0 up per state, equal for states that share an emission.

    Attributes
    ----------
    startprob_
        probability of each state at the first row.
    transmat_
        probability of going from each state (row) to each other (column).
    monitor_
        log-likelihoods of the steps, and whether they have converged.
    """

    if TYPE_CHECKING:  # fields of the methods, not of this class
        model_: HiddenMarkovModel = field(init=False)
        n_components: int
        startprob_prior: Any
        transmat_prior: Any
        n_iter: int
        tol: float
        verbose: bool
        params: str
        init_params: str
        n_init: int
        training: str
        tied_states: Any

    parts: ClassVar[Mapping[str, str]] = {"s": "startprob_", "t": "transmat_"}
    startprob_ = HMMParameter("start")
    transmat_ = HMMParameter("transition")

    # ---- what a method gives

    def _emission(self, parts: Parts, d: int) -> Any:  # an Emission
        raise TypeError(f"{type(self).__name__} does not say what its states emit")

    def _started(self, missing: list[str], batch: SequenceBatch, w: Weights, rng: Rng) -> Parts:
        """The parameters of these letters at the start; `w` (n,) are weights of rows."""
        raise TypeError(f"{type(self).__name__} does not say where to start")

    def _prepared(self, X: Table, fitting: bool) -> Table:
        """The admitted table as the emission takes it."""
        return X

    def _width(self, parts: Parts, X: Table | None) -> int:
        return 1 if X is None else int(X.shape[1])

    # ---- fitting

    @with_callbacks
    def fit(
        self,
        X: UserTable,
        y: UserTarget = None,
        lengths: ArrayLike | None = None,
        sample_weight: UserWeights = None,
    ) -> Self:
        """Learn from sequences: one table with `lengths`, a list of tables, or `Sequences`.

        The second argument may be the lengths too, as in hmmlearn; one label per row is ignored. `sample_weight` has
        one number per sequence, or one per row: how often each counts.
        """
        return self._fit_batch(X, lengths_given(X, y, lengths), sample_weight, None)

    @with_callbacks
    def fit_labelled(
        self,
        X: UserTable,
        labels: UserTarget,
        lengths: ArrayLike | None = None,
        sample_weight: UserWeights = None,
    ) -> Self:
        """Fit when some states are known: one state per row, -1 if unknown, or a mask (n, K) of possible states."""
        return self._fit_batch(X, lengths, sample_weight, np.asarray(to_numpy(labels)))

    def _fit_batch(
        self, X: UserTable, lengths: ArrayLike | None, sample_weight: UserWeights, labels: Labels | None
    ) -> Self:
        check_params(self)
        given, learned_before = self._given(), "model_" in vars(self)
        self._forget()
        table, offsets = admit_sequences(self, X, lengths, fitting=True)
        anew = [part for letter, part in self.parts.items() if letter in self.init_params and part in given]
        if anew and not learned_before:
            warn(
                f"{type(self).__name__}: {', '.join(anew)} will be overwritten by a new start, although set: take the "
                f"letters out of init_params={self.init_params!r} to begin with what was set"
            )
        w, rows = self._weights(sample_weight, table, offsets, lengths is not None or not hasattr(X, "shape"))
        allowed = None if labels is None else self._allowed(labels, len(table))
        batch = SequenceBatch(self._prepared(table, True), offsets, rows, allowed)
        vars(self).update(given)
        with interruptible_fit(self):
            self._fit(batch, w)
        return self

    def _fit(self, X: SequenceBatch, w: Weights) -> None:
        name, letters = type(self).__name__, self.parts
        if unknown := set(self.params + self.init_params) - set(letters):
            known = ", ".join(f"{letter} ({part})" for letter, part in letters.items())
            raise ValueError(f"{name}: params and init_params hold the letters {known}; got {sorted(unknown)}")
        given = {part: vars(self)[part] for part in letters.values() if part in vars(self)}
        new = [letter for letter, part in letters.items() if letter in self.init_params or part not in given]
        if set(new) - {"s", "t"} and self.n_components > len(X):
            raise ValueError(
                f"{name}: n_components={self.n_components} but X has only {len(X)} rows (n_samples={len(X)}); ask for "
                "fewer states"
            )
        monitor, said = self.monitor_, dict[float, list[float]]()

        def last_step(model: HiddenMarkovModel, value: float) -> bool:
            monitor.report(value - model.log_prior())
            said[value] = list(monitor.history)
            return bool(monitor.converged)

        def starts() -> Iterator[HiddenMarkovModel]:
            for run in range(self.n_init):
                monitor._reset()
                yield self._start_model(given, new, X, w, run)

        with fit_steps(self, "step", self.n_init * max(self.n_iter, 1), X.table) as watch:
            fit = best_em(starts(), X, w, tol=-1.0, max_iter=self.n_iter, monitor=watch, last_step=last_step)
        for part in letters.values():
            vars(self).pop(part, None)
        self._store(fit)
        if fit.history and fit.history[-1] in said:
            monitor.history[:] = said[fit.history[-1]]
            monitor.iter = len(monitor.history)
        self.monitor_ = monitor

    def _init(self, X: UserTable, lengths: object = None) -> None:
        """Start parameters as a fit does, without learning; hmmlearn's subclasses and scripts call it."""
        given = self._given()
        table, offsets = admit_sequences(self, X, None, fitting=True)
        batch = SequenceBatch(self._prepared(table, True), offsets)
        new = [letter for letter, part in self.parts.items() if letter in self.init_params or part not in given]
        for part, value in {**given, **self._all_started(new, batch, np.ones(1), 0)}.items():
            setattr(self, part, value)

    def _start_model(self, given: Parts, new: list[str], X: SequenceBatch, w: Weights, run: int) -> HiddenMarkovModel:
        """The model that a run begins with."""
        kept = {part: value for part, value in given.items() if part not in {self.parts[letter] for letter in new}}
        model = self._made({**kept, **self._all_started(new, X, w, run)}, X.table, training=True)
        if X.allowed is None and getattr(self, "start", "random") == "random":
            return model
        rows, K = self._row_weights(X, w), self.n_components
        states = self._initial_states(X, rows, check_random_state(self.random_state))
        if set(self.parts) - {"s", "t"} <= set(new):
            R = np.full((len(X), K), START_BLUR / K)
            R[np.arange(len(X)), states] += 1 - START_BLUR
            model = replace(model, emission=model.emission.maximise(model.emission.stats(X.table, R * rows[:, None])))
        counts = np.ones((K + 1, K))  # of steps, then of starts; one more of each
        first = X.offsets[:-1]
        inner = np.setdiff1d(np.arange(len(X)), first)
        np.add.at(counts, (states[inner - 1], states[inner]), 1.0)
        np.add.at(counts[K], states[first], 1.0)
        counts /= counts.sum(axis=1, keepdims=True)
        return replace(
            model,
            start=counts[K] if "s" in new else model.start,
            transition=counts[:K] if "t" in new else model.transition,
        )

    def _initial_states(self, batch: SequenceBatch, w: Weights, rng: Rng) -> Codes:
        """A first guess of the states: clusters, known states first."""
        return cluster_states(filled(batch.table, w), w, self.n_components, batch.allowed, rng)

    def _row_weights(self, X: SequenceBatch, w: Weights) -> Weights:
        """The weight of each row (n,), that of its sequence included."""
        return np.repeat(w, np.diff(X.offsets)) * (1.0 if X.row_weights is None else X.row_weights)

    def _all_started(self, new: list[str], X: SequenceBatch, w: Weights, run: int) -> dict[str, Array]:
        """The parameters that are started anew; hmmlearn draws start and transitions from a generator of their own."""
        K, found = self.n_components, dict[str, Array]()
        rng, second = (check_random_state(self.random_state) for _ in range(2))
        for generator in (rng, second) if rng is not second else (rng,):
            for _ in range(run):
                generator.uniform(size=K * K)  # another place in the stream for another run
        if "s" in new:
            found["startprob_"] = dirichlet_start(K, rng)
        if "t" in new:
            found["transmat_"] = dirichlet_start(K, rng, K)
        emission = [letter for letter in new if letter not in "st"]
        return {**found, **(self._started(emission, X, self._row_weights(X, w), second) if emission else {})}

    def _store(self, fit: EMResult[HiddenMarkovModel]) -> None:
        name = type(self).__name__
        if fit.reason == "collapsed":
            raise ValueError(f"{name}: {fit.diagnosis}")
        self.model_ = fit.model
        if fit.reason == "interrupted":
            warn_kept_best(self, len(fit.history), "step")
        if lost := list(fit.model.lost_states()):
            listed = ", ".join(map(str, lost))
            warn(f"{name}: no row is left for state {listed}: ask for fewer states", ConvergenceWarning)

    def _weights(
        self, sample_weight: UserWeights, X: Table, offsets: Indices, has_sequences: bool
    ) -> tuple[Weights, Weights | None]:
        """Weights of sequences and, where they are not all one, of rows."""
        ones, S = np.ones(len(offsets) - 1), len(offsets) - 1
        if sample_weight is None:
            return ones, None
        if has_sequences and np.asarray(to_numpy(sample_weight)).shape == (S,):
            return admit_weights(self, sample_weight, np.empty((S, 0))), None
        return ones, admit_weights(self, sample_weight, X)

    def _allowed(self, labels: Labels, n: int) -> Mask:
        """Known states as a mask (n, K)."""
        K, name = self.n_components, type(self).__name__
        if labels.ndim == 1:
            if labels.dtype.kind not in "iu" or labels.min(initial=0) < -1 or labels.max(initial=0) >= K:
                raise ValueError(f"{name}: labels must be the states 0 .. {K - 1}, and -1 where they are not known")
            labels = (labels[:, None] == np.arange(K)) | (labels[:, None] == -1)
        if labels.shape != (n, K):
            raise ValueError(f"{name}: labels must be ({n},) states or a mask ({n}, {K}); got shape {labels.shape}")
        if not labels.any(axis=1).all():
            raise ValueError(f"{name}: labels allow no state for row {int(labels.any(axis=1).argmin())}")
        return labels.astype(bool)

    # ---- the model

    def __sklearn_is_fitted__(self) -> bool:
        return "model_" in vars(self) or set(self.parts.values()) <= vars(self).keys()

    def _given(self) -> dict[str, Array]:
        """Parameters that were set, or learned before."""
        if "model_" in vars(self):
            return {part: getattr(self, part) for part in self.parts.values()}
        return {part: vars(self)[part] for part in self.parts.values() if part in vars(self)}

    def _fitted(self) -> HiddenMarkovModel:
        """The model, made of the parameters that were set if it was not learned."""
        if "model_" not in vars(self):
            check_is_fitted(self)
            self.model_ = self._made(self._given(), None)
            for part in self.parts.values():
                vars(self).pop(part, None)
        return self.model_

    def _check(self) -> None:
        """Refuse parameters that were set and do not fit together."""
        check_params(self)
        self._made(self._given(), None)

    def _made(self, parts: Parts, X: Table | None, training: bool = False) -> HiddenMarkovModel:
        """The model with these parameters, which are checked."""
        K = self.n_components
        start = self._distribution(parts, "startprob_", (K,))
        transition = self._distribution(parts, "transmat_", (K, K))
        emission = self._emission(parts, self._width(parts, X))
        if self.tied_states is not None and not isinstance(emission, TiedEmission):
            groups = np.asarray(self.tied_states)
            known = (
                groups.shape == (K,)
                and groups.dtype.kind in "iu"
                and set(groups.tolist()) == set(range(groups.max() + 1))
            )
            if not known:
                raise ValueError(
                    f"{type(self).__name__}: tied_states must be one group 0, 1, ... per state, {K} in all; got "
                    f"{self.tied_states!r}"
                )
            emission = TiedEmission(emission, groups)
        return HiddenMarkovModel(
            start,
            transition,
            emission,
            pseudo_counts(self.startprob_prior),
            pseudo_counts(self.transmat_prior),
            "".join(letter for letter in "st" if letter in self.params),
            "hard" if training and self.training == "hard" else "soft",
        )

    @property
    def _n_emissions(self) -> int:
        """How many different emissions the states have."""
        return self.n_components if self.tied_states is None else int(np.max(self.tied_states)) + 1

    def _distribution(self, parts: Parts, name: str, shape: tuple[int, ...]) -> Doubles:
        """A parameter whose rows are probabilities."""
        p = np.asarray(parts[name], dtype=np.float64) if name in parts else np.empty(0)
        if p.shape != shape:
            raise ValueError(f"{type(self).__name__}: {name} must have the shape {shape}; got {p.shape}")
        if (p < 0).any() or not np.allclose(p.sum(axis=-1), 1, atol=SUM_TOLERANCE):
            rows = np.atleast_2d(p)
            bad = (rows < 0).any(axis=1) | ~np.isclose(rows.sum(axis=1), 1, atol=SUM_TOLERANCE)
            where = f" in row {int(bad.argmax())}" if p.ndim > 1 else ""
            raise ValueError(
                f"{type(self).__name__}: {name} must be probabilities that sum to 1; got "
                f"{np.round(rows[bad.argmax()], 6).tolist()}{where}"
            )
        return p

    def get_stationary_distribution(self) -> Vector:
        """Probabilities of the states that a step does not change."""
        if "transmat_" not in vars(self):
            check_is_fitted(self)
        A = np.asarray(self.transmat_)
        return MarkovChain(A / A.sum(axis=1, keepdims=True)).stationary

    @property
    def monitor_(self) -> ConvergenceMonitor:
        """The log-likelihoods of the steps, and whether they have converged; a user may set another."""
        found: ConvergenceMonitor = vars(self).get("convergence_") or ConvergenceMonitor(
            self.tol, self.n_iter, self.verbose
        )
        return found

    @monitor_.setter
    def monitor_(self, monitor: ConvergenceMonitor) -> None:
        vars(self)["convergence_"] = monitor


def pseudo_counts(prior: ArrayLike) -> Doubles | float:
    """What a Dirichlet prior with these parameters adds to counts."""
    found = np.asarray(prior, dtype=np.float64) - 1
    return found if found.any() else 0.0
