"""What a hidden Markov model says about sequences: likelihoods, probabilities of states, decoding and samples."""

from __future__ import annotations

from abc import abstractmethod
from collections.abc import Iterator
from typing import TYPE_CHECKING, Any, Self

import numpy as np
from numpy.typing import ArrayLike
from sklearn.utils.validation import check_is_fitted

from fivefold.core.admission.sequences import Sequences, admit_sequences, is_list_of_tables
from fivefold.core.estimators.base import DensityEstimator
from fivefold.core.estimators.params import Seed
from fivefold.core.numerics.arrays import to_numpy
from fivefold.core.random_state import check_random_state
from fivefold.core.types import Codes, Matrix, Table, UserTable, UserTarget, Vector
from fivefold.inference.chains.best_paths import BestPaths, best_path, top_paths
from fivefold.inference.chains.chain import Chain
from fivefold.inference.chains.forward_backward import forward_backward, forward_filter
from fivefold.inference.chains.path_sampling import sample_posterior_paths, sample_states
from fivefold.sequence.hidden_markov.hmm import HiddenMarkovModel, SequenceBatch, refuse_impossible

DECODERS = {"zero_one": "viterbi", "hamming": "map"}  # the algorithm that minimises the expectation of each loss


class SampleScores(np.ndarray[Any, Any]):
    """The log density of each row given those before it in its sequence, an array that also is hmmlearn's pair.

    Unpacked, or by [0] and [1], it gives the log-likelihood of all sequences, which is its sum, and the probabilities
    of the states (n, K).

    >>> scores = SampleScores.of(np.array([-1.0, -2.0]), np.array([[1.0], [1.0]]))
    >>> log_prob, posteriors = scores
    >>> log_prob, posteriors.shape, scores.shape, scores[1:].tolist()
    (-3.0, (2, 1), (2,), [-2.0])
    """

    posteriors: Matrix

    @classmethod
    def of(cls, rows: Vector, posteriors: Matrix) -> Self:
        """The scores of all rows, and the probabilities of the states."""
        scores = rows.view(cls)
        scores.posteriors = posteriors
        return scores

    def __iter__(self) -> Iterator[Any]:
        yield from (self[0], self[1])

    def __getitem__(self, at: Any) -> Any:
        if isinstance(at, int) and hasattr(self, "posteriors"):
            return (float(self.view(np.ndarray).sum()), self.posteriors)[at]
        return self.view(np.ndarray)[at]


class HMMAnswers(DensityEstimator):
    """The answers of a hidden Markov model, learned or made of parameters that were set."""

    if TYPE_CHECKING:  # fields of the methods, not of this class
        algorithm: str
        random_state: Seed

    @abstractmethod
    def _fitted(self) -> HiddenMarkovModel:
        """The model, made of the parameters that were set if it was not learned."""

    @abstractmethod
    def __sklearn_is_fitted__(self) -> bool: ...

    @abstractmethod
    def _prepared(self, X: Table, fitting: bool) -> Table:
        """The admitted table as the emission takes it."""

    def _chain(self, X: UserTable, lengths: ArrayLike | None) -> tuple[Chain, Any]:
        """Log tables of new sequences, and the type of number to answer with."""
        if not self.__sklearn_is_fitted__():
            check_is_fitted(self)
        table, offsets = admit_sequences(self, X, lengths, fitting=False)
        return self._fitted().chain(SequenceBatch(self._prepared(table, False), offsets)), table.dtype

    def score(self, X: UserTable, y: UserTarget = None, lengths: ArrayLike | None = None) -> float:
        """The log-likelihood of all sequences together; the second argument may be the lengths."""
        chain, _ = self._chain(X, lengths_given(X, y, lengths))
        return float(forward_filter(chain).log_scale.sum())

    def score_samples(self, X: UserTable, lengths: ArrayLike | None = None) -> SampleScores:
        """The log-likelihood of all sequences, and the probability of each state at each row (n, K).

        As an array, the log density of each row given those before it.
        """
        chain, dtype = self._chain(X, lengths)
        return SampleScores.of(forward_filter(chain).log_scale, self._posteriors(chain, dtype))

    def predict_proba(self, X: UserTable, lengths: ArrayLike | None = None) -> Matrix:
        """The probability of each state at each row, given its whole sequence (n, K)."""
        return self._posteriors(*self._chain(X, lengths))

    def _posteriors(self, chain: Chain, dtype: Any) -> Matrix:
        found = forward_backward(chain)
        refuse_impossible(chain, found.log_partition, np.ones(chain.n_sequences, dtype=bool))
        return found.marginals.astype(dtype, copy=False)

    def decode(
        self,
        X: UserTable,
        lengths: ArrayLike | None = None,
        algorithm: str | None = None,
        loss: str | None = None,
    ) -> tuple[float, Codes]:
        """States of all rows, and the log joint probability of states and observations.

        `viterbi` minimises the expected 0-1 loss of whole sequences, `map` the expected number of wrong states; states
        of the latter may follow each other against the transitions, and then have the log probability minus infinity.
        In place of an algorithm the `loss` may be given, zero_one or hamming.
        """
        if loss is not None:
            if loss not in DECODERS:
                raise ValueError(f"{type(self).__name__}: loss must be one of {', '.join(DECODERS)}; got {loss!r}")
            algorithm = DECODERS[loss]
        algorithm = algorithm or self.algorithm
        if algorithm not in ("viterbi", "map"):
            raise ValueError(f"{type(self).__name__}: algorithm must be 'viterbi' or 'map'; got {algorithm!r}")
        chain, _ = self._chain(X, lengths)
        if algorithm == "viterbi":
            best = best_path(chain)
            refuse_impossible(chain, best.value, np.ones(chain.n_sequences, dtype=bool))
            return float(best.value.sum()), best.path
        path = self._posteriors(chain, np.float64).argmax(axis=1)
        return float(chain.path_log_prob(path).sum()), path

    def predict(self, X: UserTable, lengths: ArrayLike | None = None) -> Codes:
        """The states of all rows, by `algorithm`."""
        return self.decode(X, lengths)[1]

    def expected_loss(
        self, X: UserTable, states: ArrayLike, lengths: ArrayLike | None = None, loss: str = "hamming"
    ) -> Vector:
        """What a guess of the states costs in expectation, per sequence (S,), under the model.

        hamming: wrong states; zero_one: the probability that not all are right.
        """
        chain, _ = self._chain(X, lengths)
        path = np.asarray(states, dtype=np.int64)
        if path.shape != (chain.n_positions,) or loss not in DECODERS:
            raise ValueError(
                f"{type(self).__name__}: states must be one per row, {chain.n_positions} in all, and loss one of "
                f"{', '.join(DECODERS)}; got the shape {path.shape} and {loss!r}"
            )
        found = forward_backward(chain)
        if loss == "zero_one":
            return 1.0 - np.exp(chain.path_log_prob(path) - found.log_partition)
        right = found.marginals[np.arange(len(path)), path]
        return np.add.reduceat(1.0 - right, chain.offsets[:-1])

    def top_paths(self, X: UserTable, count: int, lengths: ArrayLike | None = None) -> list[BestPaths]:
        """The best `count` paths of each sequence with their log joint probabilities."""
        return top_paths(self._chain(X, lengths)[0], count)

    def sample_paths(
        self, X: UserTable, count: int, lengths: ArrayLike | None = None, random_state: Seed = None
    ) -> Codes:
        """Paths drawn from their posterior given the sequences (count, n)."""
        rng = check_random_state(self.random_state if random_state is None else random_state)
        return sample_posterior_paths(self._chain(X, lengths)[0], count, rng)

    def sample(
        self, n_samples: int = 1, random_state: Seed = None, currstate: int | None = None
    ) -> tuple[Matrix, Codes]:
        """Draw a sequence of rows; return them and their states. It may begin in the state `currstate`."""
        model = self._fitted()
        if n_samples < 1:
            raise ValueError(f"{type(self).__name__}: n_samples must be 1 or more; got {n_samples}")
        rng = check_random_state(self.random_state if random_state is None else random_state)
        start = model.start if currstate is None else np.eye(len(model.start))[currstate]
        states = sample_states(start, model.transition, np.array([0, n_samples]), rng)
        return model.emission.sample(states, rng), states

    def aic(self, X: UserTable, lengths: ArrayLike | None = None) -> float:
        """Akaike's information criterion, -2 log-likelihood + 2 parameters: the lower the better."""
        return -2 * self.score(X, lengths=lengths) + 2 * self._fitted().n_parameters

    def bic(self, X: UserTable, lengths: ArrayLike | None = None) -> float:
        """The Bayesian information criterion, -2 log-likelihood + parameters * log n: the lower the better."""
        chain, _ = self._chain(X, lengths)
        value = float(forward_filter(chain).log_scale.sum())
        return -2 * value + self._fitted().n_parameters * float(np.log(chain.n_positions))


def lengths_given(X: UserTable, y: UserTarget, lengths: ArrayLike | None) -> ArrayLike | None:
    """The lengths: those of that name, or what stands in the place of y if it cannot be one label per row."""
    if lengths is not None or y is None or isinstance(X, Sequences) or is_list_of_tables(X):
        return lengths
    found = np.asarray(to_numpy(y))
    is_lengths = found.ndim == 1 and found.dtype.kind in "iu" and hasattr(X, "__len__") and len(found) != len(X)
    return found if is_lengths else None
