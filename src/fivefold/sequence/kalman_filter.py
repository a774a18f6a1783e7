"""Kalman filter: a hidden state that moves linearly, seen through noise.

    x_1 ~ N(mu, P),   x_{t+1} = A x_t + b + B u_t + N(0, Q),   y_t = C x_t + d + D u_t + N(0, R)

filter    p(x_t | y_1 .. y_t)    one pass forward
smooth    p(x_t | y_1 .. y_T)    and one back
fit       any of the parts by expectation-maximisation

Rows of a table are the steps of one sequence, or of several below one another (`lengths`); X may also be a list of
tables, or Sequences. NaN is an entry that was not
observed. Covariances are kept as square roots, so that they stay sound whatever the scales.

Kalman (1960); Rauch, Tung & Striebel (1965); Shumway & Stoffer (1982).
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import KW_ONLY, replace
from typing import Any, Literal, Self

import numpy as np
from sklearn.base import clone
from sklearn.callback import with_callbacks
from sklearn.utils.validation import check_is_fitted

from fivefold.core.admission.sequences import admit_sequences
from fivefold.core.admission.takes import Takes
from fivefold.core.admission.targets import as_float64
from fivefold.core.console.fit_progress import fit_steps, interruptible_fit, warn_kept_best
from fivefold.core.estimators import params
from fivefold.core.estimators.base import Transformer, learned
from fivefold.core.estimators.params import Count, Index, NonNegative, Seed
from fivefold.core.random_state import check_random_state
from fivefold.core.registry import Card
from fivefold.core.types import Doubles, Indices, Matrix, UserTable, UserTarget, Vector
from fivefold.inference.em import em
from fivefold.inference.state_space.linear_system import LinearSystem, ObservedSequences
from fivefold.inference.state_space.steady_state import SteadyState, steady_state
from fivefold.inference.state_space.system_learning import LearnableSystem, check_free_parts
from fivefold.inference.state_space.triangular_loops import squares_in_place
from fivefold.sequence.state_space.system_parameters import PARAMETERS, GivenParts, column_scale

# What `fit` learns unless it is told otherwise, as in pykalman.
DEFAULT_FREE = ("transition_covariance", "observation_covariance", "initial_state_mean", "initial_state_covariance")
FLOOR_SHARE = 1e-12  # learned noise of a column has at least this share of its variance
UserLengths = Sequence[int] | None


class _learned_once(learned):
    """A part of the system without its axis of time, where it stays the same."""

    def _read(self, estimator: object) -> Doubles:
        found: Doubles = super()._read(estimator)
        return found[0] if len(found) == 1 else found


class KalmanFilter(Transformer):
    """Linear dynamical system: filtering, smoothing, prediction and learning for sequences of numbers.

    Parts that are not given are identities, offsets and controls zero; those that `em_vars` names are learned by `fit`,
    starting from what is given or from the scale of the data. With all parts given, `filter`, `smooth` and the like
    need no fit. Names and order of the parameters are pykalman's.

    Parameters
    ----------
    transition_matrices
        A (n, n), or one per step (T - 1, n, n).
    observation_matrices
        C (m, n), or one per row (T, m, n).
    transition_covariance
        Q (n, n), or one per step.
    observation_covariance
        R (m, m), or one per row.
    transition_offsets
        b (n,), or one per step.
    observation_offsets
        d (m,), or one per row.
    initial_state_mean
        mean of the first state (n,).
    initial_state_covariance
        covariance of the first state (n, n).
    random_state
        seed of samples, and of a start with more states than columns.
    em_vars
        names of the parameters that `fit` learns; all; or None: both covariances of the noise and the first state.
    n_dim_state
        number of states; None: as many as the matrices say, or as there are columns.
    n_dim_obs
        number of columns of the observations; None: as many as there are.
    control_matrix
        B (n, k), what the controls u_t do to the next state.
    feedthrough_matrix
        D (m, k), what they do to the observation.
    tol
        stop learning when a step gains less than this per row.
    max_iter
        steps of learning, at most.

    Attributes
    ----------
    transition_matrices_, transition_offsets_, transition_covariance_, control_matrix_
        A, b, Q, B after fit.
    observation_matrices_, observation_offsets_, observation_covariance_, feedthrough_matrix_
        C, d, R, D after fit.
    initial_state_mean_, initial_state_covariance_
        the first state.
    log_likelihoods_
        log-likelihood before each step of EM.
    n_iter_
        number of steps.
    converged_
        whether the last step gained less than tol per row.

    Examples
    --------
    >>> import numpy as np
    >>> walk = KalmanFilter(transition_covariance=[[1.0]], observation_covariance=[[2.0]])
    >>> means, covariances = walk.filter([[1.0], [2.0], [np.nan], [4.0]])
    >>> means.ravel().round(3)
    array([0.333, 1.091, 1.091, 2.815])
    >>> walk.smooth([[1.0], [2.0], [np.nan], [4.0]])[0].ravel().round(3)
    array([0.852, 1.63 , 2.222, 2.815])
    >>> walk.steady_state().gain.round(6)
    array([[0.5]])
    """

    transition_matrices: Any = None  # these are whatever NumPy can read as an array
    observation_matrices: Any = None
    transition_covariance: Any = None
    observation_covariance: Any = None
    transition_offsets: Any = None
    observation_offsets: Any = None
    initial_state_mean: Any = None
    initial_state_covariance: Any = None
    random_state: Seed = None
    em_vars: Sequence[str] | Literal["all"] | None = None
    n_dim_state: Count | None = None
    n_dim_obs: Count | None = None
    _: KW_ONLY
    control_matrix: Any = None
    feedthrough_matrix: Any = None
    tol: NonNegative = 1e-4
    max_iter: Index = 50

    takes = Takes(missing=True, empty=False, sequence=True)
    card = Card(
        applications=("denoising", "density estimation", "dimension reduction"),
        use="Tracks, sensors and other measurements in time, with gaps, whose course is smooth or follows known "
        "mechanics; forecasts with their uncertainty. Not for jumps between regimes, which hidden "
        "Markov models describe, nor for noise with heavy tails.",
        steps=(
            "Predict the next state and its covariance from the last.",
            "Correct it by the observation, in proportion to what is uncertain.",
            "Go back from the last state to let later observations correct earlier states.",
            "To learn, fit both linear equations to the smoothed states, and repeat.",
        ),
        see_also=("GaussianHMM", "FactorialHMM", "BayesianRidge", "PCA"),
        source="Kalman (1960); Rauch, Tung & Striebel (1965); Shumway & Stoffer (1982)",
        variants=({"em_vars": "all", "n_dim_state": 2}, {"em_vars": "all", "n_dim_state": 6, "max_iter": 5}),
    )

    transition_matrices_ = _learned_once("transition")
    observation_matrices_ = _learned_once("observation")
    transition_covariance_ = _learned_once("transition_covariance")
    observation_covariance_ = _learned_once("observation_covariance")
    transition_offsets_ = _learned_once("transition_offset")
    observation_offsets_ = _learned_once("observation_offset")
    initial_state_mean_, initial_state_covariance_ = learned("initial_mean"), learned("initial_covariance")
    control_matrix_, feedthrough_matrix_ = learned("control"), learned("feedthrough")

    @property
    def _n_features_out(self) -> int:
        return int(self.model_.transition.shape[1])

    @with_callbacks
    def fit(
        self, X: UserTable, y: UserTarget = None, *, lengths: UserLengths = None, controls: UserTable = None
    ) -> Self:
        """Learn the free parts from the rows of X: one sequence, or several of these lengths."""
        params.check_params(self)
        self._forget()
        table, cuts = admit_sequences(self, X, lengths, fitting=True)
        with interruptible_fit(self):
            self._learn(self._sequences(table, cuts, controls))
        return self

    def em(self, X: UserTable, y: UserTarget = None, n_iter: int = 10, em_vars: Sequence[str] | None = None) -> Self:
        """Take this many steps of EM, and learn these parts if they are named; for users of pykalman."""
        self.set_params(max_iter=n_iter, tol=0.0, **({} if em_vars is None else {"em_vars": em_vars}))
        return self.fit(_without_mask(X))

    def filter(self, X: UserTable, lengths: UserLengths = None, controls: UserTable = None) -> tuple[Matrix, Doubles]:
        """Means (T, n) and covariances (T, n, n) of the states given the rows up to each."""
        system, data = self._known(X, lengths, controls)
        found = system.filter(data)
        squares_in_place(found.root, np.empty(found.root.shape[1:]))
        return found.mean, found.root

    def smooth(self, X: UserTable, lengths: UserLengths = None, controls: UserTable = None) -> tuple[Matrix, Doubles]:
        """Means (T, n) and covariances (T, n, n) of the states given all rows of their sequence."""
        system, data = self._known(X, lengths, controls)
        found = system.smooth(data)
        return found.mean, found.covariance

    def loglikelihood(self, X: UserTable, lengths: UserLengths = None, controls: UserTable = None) -> float:
        """log p of all observations."""
        system, data = self._known(X, lengths, controls)
        return float(system.filter(data).log_prob.sum())

    def filter_update(
        self, filtered_state_mean: Vector, filtered_state_covariance: Matrix, observation: Vector | None = None
    ) -> tuple[Vector, Matrix]:
        """Mean and covariance one step later, after an observation if there is one: for rows one at a time."""
        system = self._system()
        start = replace(
            system,
            initial_mean=np.asarray(filtered_state_mean, dtype=np.float64),
            initial_covariance=np.asarray(filtered_state_covariance, dtype=np.float64),
        )
        Y = np.full((2, system.observation.shape[1]), np.nan)
        if observation is not None:
            Y[1] = np.ma.filled(np.ma.asarray(observation, dtype=np.float64), np.nan)
        found = start.filter(ObservedSequences.of(Y))
        return found.mean[1], found.root[1] @ found.root[1].T

    def forecast(self, X: UserTable, steps: int = 1, controls: UserTable = None) -> tuple[Matrix, Doubles]:
        """Means (steps, m) and covariances of the observations that follow the rows of X, which are one sequence.

        `controls` hold those of X and of the steps to come.
        """
        if steps < 1:
            raise ValueError(f"{type(self).__name__}: steps must be 1 or more; got {steps}")
        table, _, system = self._admitted(X, [len(X)])
        Y = np.vstack([table, np.full((steps, table.shape[1]), np.nan)])
        mean, covariance = system.predicted_observations(self._sequences(Y, (0, len(Y)), controls, system))
        return mean[-steps:], covariance[-steps:]

    def sample(
        self,
        n_timesteps: int = 1,
        initial_state: Vector | None = None,
        random_state: Seed = None,
        controls: UserTable = None,
    ) -> tuple[Matrix, Matrix]:
        """States (T, n) and observations (T, m) of one sequence; from `initial_state`, if given."""
        if n_timesteps < 1:
            raise ValueError(f"{type(self).__name__}: n_timesteps must be 1 or more; got {n_timesteps}")
        rng = check_random_state(self.random_state if random_state is None else random_state)
        system = self._system()
        U = self._controls(controls, n_timesteps, system.control.shape[1])
        start = None if initial_state is None else as_float64(self, initial_state, "initial_state")
        return system.sample(n_timesteps, rng, U, start)

    def steady_state(self) -> SteadyState:
        """Where gain and covariances of the filter settle."""
        return steady_state(self._system())

    def transform(self, X: UserTable) -> Matrix:
        """Smoothed states (T, n)."""
        check_is_fitted(self)
        X, cuts = admit_sequences(self, X, None, fitting=False)
        return self.model_.smooth(self._sequences(X, cuts, None, self.model_)).mean.astype(X.dtype, copy=False)

    def score_samples(self, X: UserTable) -> Vector:
        """log p of each row given those before it in its sequence."""
        check_is_fitted(self)
        X, cuts = admit_sequences(self, X, None, fitting=False)
        return self.model_.filter(self._sequences(X, cuts, None, self.model_)).log_prob

    def score(self, X: UserTable, y: UserTarget = None, lengths: UserLengths = None) -> float:
        """log p of all observations."""
        check_is_fitted(self)
        return self.loglikelihood(X, lengths)

    def _learn(self, data: ObservedSequences) -> None:
        free = self._free_parts(data)
        rng = check_random_state(self.random_state)
        start = self._given(data.Y.shape[1], data.controls.shape[1]).start(data, free, rng)
        check_free_parts(start, free)
        floor = FLOOR_SHARE * column_scale(data)[1]
        with fit_steps(self, "step", max(self.max_iter, 1), data.Y) as monitor:
            fit = em(
                LearnableSystem(start, free, floor),
                data,
                np.ones(len(data.Y)),
                tol=self.tol,
                max_iter=self.max_iter if free else 0,
                monitor=lambda model, value: monitor(model.system, value),
            )
        self.model_ = fit.model.system
        self.log_likelihoods_, self.n_iter_ = list(fit.history), len(fit.history)
        self.converged_ = fit.reason == "converged"
        if fit.reason == "interrupted":
            warn_kept_best(self, self.n_iter_, "step")

    def _free_parts(self, data: ObservedSequences) -> frozenset[str]:
        """Parts of the system to learn; without controls there is no matrix for them."""
        if self.em_vars == "all":
            names = tuple(PARAMETERS)
        else:
            names = DEFAULT_FREE if self.em_vars is None else tuple(self.em_vars)
        if unknown := [name for name in names if name not in PARAMETERS]:
            raise ValueError(
                f"{type(self).__name__}: em_vars names {unknown[0]!r}; it may name {', '.join(PARAMETERS)}"
            )
        parts = frozenset(PARAMETERS[name][0] for name in names)
        return parts if data.controls.shape[1] else parts - {"control", "feedthrough"}

    def _given(self, m: int | None, k: int | None) -> GivenParts:
        values = {name: getattr(self, name) for name in PARAMETERS}
        given = {name: as_float64(self, value, name) for name, value in values.items() if value is not None}
        if m is not None and self.n_dim_obs not in (None, m):
            raise ValueError(f"{type(self).__name__}: n_dim_obs={self.n_dim_obs}, but X has {m} columns")
        return GivenParts.of(given, {"n": self.n_dim_state, "m": m if m is not None else self.n_dim_obs, "k": k})

    def _system(self, m: int | None = None) -> LinearSystem:
        """The learned system, or before fit the given one."""
        return self.model_ if self.__sklearn_is_fitted__() else self._given(m, None).system()

    def _known(self, X: UserTable, lengths: UserLengths, controls: UserTable) -> tuple[LinearSystem, ObservedSequences]:
        table, cuts, system = self._admitted(X, lengths)
        return system, self._sequences(table, cuts, controls, system)

    def _admitted(self, X: UserTable, lengths: UserLengths) -> tuple[Matrix, Indices, LinearSystem]:
        """The table, where its sequences begin, and the system for it."""
        fitted = self.__sklearn_is_fitted__()
        owner = self if fitted else clone(self)
        table, cuts = admit_sequences(owner, _without_mask(X), lengths, fitting=not fitted)
        return table, cuts, self._system(table.shape[1])

    def _sequences(
        self,
        X: Matrix,
        cuts: Indices | tuple[int, ...],
        controls: UserTable,
        system: LinearSystem | None = None,
    ) -> ObservedSequences:
        Y = np.ascontiguousarray(X, dtype=np.float64)
        U = self._controls(controls, len(Y), None if system is None else system.control.shape[1])
        return ObservedSequences(Y, tuple(map(int, cuts)), U)

    def _controls(self, controls: UserTable, T: int, k: int | None) -> Doubles:
        """One row of inputs per row of X; of none, if the system has none."""
        if controls is None:
            if k:
                raise ValueError(
                    f"{type(self).__name__}: the system has {k} controls; give controls of the shape ({T}, {k})"
                )
            return np.empty((T, 0))
        U = as_float64(self, controls, "controls")
        if U.ndim != 2 or len(U) != T or k not in (None, U.shape[1]) or not np.isfinite(U).all():
            wanted = f"({T}, {'k' if k is None else k})"
            raise ValueError(f"{type(self).__name__}: controls must be finite, of the shape {wanted}; got {U.shape}")
        return U


def _without_mask(X: UserTable) -> UserTable:
    """A masked array as one with NaN where the mask is."""
    return np.ma.filled(X.astype(np.float64), np.nan) if isinstance(X, np.ma.MaskedArray) else X
