"""Gaussian process classification by Laplace's approximation.

    f ~ GP(0, k),   p(class 1 | x) = E s(f(x)) over the posterior of f(x),   s(f) = 1 / (1 + exp(-f))

Two classes have one process. More classes have one process each against the rest, whose probabilities are scaled to sum
to one; or one for each pair, and the class with the most votes wins. posterior/laplace.py has the mathematics.

Williams & Barber (1998); Rasmussen & Williams (2006), chapter 3.
"""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import KW_ONLY, dataclass
from itertools import combinations
from typing import Any, Literal, Self

import numpy as np
from sklearn.callback import with_callbacks
from sklearn.utils.metaestimators import available_if
from sklearn.utils.validation import check_is_fitted

from fivefold.core.admission.takes import Takes
from fivefold.core.admission.targets import admit_pair
from fivefold.core.estimators import params
from fivefold.core.estimators.base import learned
from fivefold.core.estimators.params import Count
from fivefold.core.estimators.supervised_learning import Classifier, encode_labels
from fivefold.core.parallel import map_items
from fivefold.core.random_state import check_random_state
from fivefold.core.registry import Card
from fivefold.core.types import Doubles, Labels, Matrix, Target, UserTable, UserTarget, Vector, Weights
from fivefold.gaussian_process.base import STUDY_EVIDENCE_ROWS, GaussianProcess, evidence_sample, kept, rows_of
from fivefold.gaussian_process.posterior.foreign_kernels import AnyKernel, computing_kernel, with_theta
from fivefold.gaussian_process.posterior.hyperparameter_search import evaluation_reports, search, warn_of_bounds
from fivefold.gaussian_process.posterior.laplace import LaplacePosterior, laplace_evidence
from fivefold.kernels.algebra import CompoundKernel
from fivefold.kernels.base import Objects, take

ARRAYS_OF_A_FIT = 7  # n x n: distances, kernel, a product of them, B, its inverse in two steps, weights of the gradient


@dataclass(frozen=True)
class BinaryProcess:
    """One process: the posterior, and the user's kernel with the parameters found."""

    kernel: AnyKernel
    posterior: LaplacePosterior

    @property
    def evidence(self) -> float:
        """Logarithm of the approximate evidence."""
        return self.posterior.mode.evidence


@dataclass(frozen=True)
class ProcessClasses:
    """One process for two classes, K against the rest, or K (K - 1) / 2 for pairs."""

    processes: tuple[BinaryProcess, ...]
    n_classes: int
    pairs: tuple[tuple[int, int], ...] | None  # of one-vs-one: positive for the second

    @property
    def kernel(self) -> AnyKernel:
        """The kernel, or a compound of those of all processes."""
        kernels = [process.kernel for process in self.processes]
        if len(kernels) == 1:
            return kernels[0]
        if type(kernels[0]).__module__.startswith("sklearn."):
            from sklearn.gaussian_process.kernels import CompoundKernel as Compound

            return Compound(kernels)
        return CompoundKernel(kernels)

    @property
    def evidence(self) -> float:
        """Mean over the processes of the logarithm of the evidence."""
        return float(np.mean([process.evidence for process in self.processes]))

    def votes(self, X: Objects) -> Matrix:
        """(n, K): pairs won, and less than a third of a vote for how clearly."""
        wins, sums = np.zeros((rows_of(X), self.n_classes)), np.zeros((rows_of(X), self.n_classes))
        for (i, j), process in zip(self.pairs or (), self.processes, strict=True):
            p = process.posterior.probability(X)
            wins[:, j] += p > 0.5
            wins[:, i] += p <= 0.5
            sums[:, j] += p - 0.5
            sums[:, i] -= p - 0.5
        return wins + sums / (3 * (np.abs(sums) + 1))


class GaussianProcessClassifier(
    GaussianProcess,
    Classifier,
    keywords="optimizer n_restarts_optimizer max_iter_predict warm_start copy_X_train random_state multi_class n_jobs",
):
    """Classification by a distribution over functions: probabilities that know how much was seen nearby.

    Parameters
    ----------
    max_iter_predict
        most steps of Newton's method to the mode of the posterior.
    warm_start
        accepted for compatibility with scikit-learn: within a fit every mode starts from the one before, and the mode
        does not depend on its start.
    multi_class
        for more than two classes: "one_vs_rest", or "one_vs_one", which gives no probabilities.
    evidence_rows
        at most this many rows, drawn at random, decide the kernel's parameters, which takes many factorisations; all
        rows then give the function. None for all.
    n_jobs
        accepted for compatibility with scikit-learn; processes are fitted on all cores, with the same result.

    Attributes
    ----------
    base_estimator_
        the processes.
    classes_, n_classes_
        the labels, sorted, and their number.

    Examples
    --------
    >>> from sklearn.datasets import load_iris
    >>> from fivefold.gaussian_process import GaussianProcessClassifier
    >>> from fivefold.kernels import RBF
    >>> X, y = load_iris(return_X_y=True)
    >>> model = GaussianProcessClassifier(RBF(1.0)).fit(X, y)
    >>> round(model.score(X, y), 3), model.predict_proba(X[:1]).round(3)
    (0.973, array([[0.888, 0.057, 0.055]]))
    """

    _: KW_ONLY
    max_iter_predict: Count = 100
    warm_start: bool = False
    multi_class: Literal["one_vs_rest", "one_vs_one"] = "one_vs_rest"
    n_jobs: int | None = None
    evidence_rows: Count | None = None

    takes = Takes(one_class=False)
    card = Card(
        applications=("classification",),
        use="Few rows, curved boundaries, and probabilities that fall back to the middle far from all rows. Beyond a "
        "few thousand rows take a support vector machine.",
        steps=(
            "Take the covariance of all pairs of rows from the kernel.",
            "Find the likeliest function values by Newton's method, and the curvature there.",
            "Climb the evidence that this approximation gives by the kernel's parameters.",
            "Average the logistic function over the distribution of the function's value at a new row.",
        ),
        source="Williams & Barber (1998); Rasmussen & Williams (2006)",
        see_also=("GaussianProcessRegressor", "LogisticRegression"),
        variants=({"multi_class": "one_vs_one"}, {"kernel": "rbf", "evidence_rows": 50}),
        study={"kernel": "rbf", "evidence_rows": STUDY_EVIDENCE_ROWS},
        search={"kernel": ("ard",)},
        portfolio=True,
        growth=3.0,
    )

    kernel_ = learned("kernel")
    log_marginal_likelihood_value_ = learned("evidence")

    @property
    def base_estimator_(self) -> ProcessClasses:
        """The processes."""
        return self.model_

    @property
    def n_classes_(self) -> int:
        """Number of classes."""
        return len(self.classes_)

    @with_callbacks
    def fit(self, X: UserTable, y: UserTarget) -> Self:
        """Learn from rows and their labels."""
        if type(self.kernel).__name__ == "CompoundKernel":
            raise ValueError(
                f"{type(self).__name__}: kernel cannot be a CompoundKernel: give the kernel of one process"
            )
        if self._wants_vectors:
            return self._fit_admitted(X, y, None)
        params.check_params(self)
        self._forget()
        _, y = admit_pair(self, np.zeros((rows_of(X), 1)), y)
        vars(self).pop("n_features_in_")
        self.classes_, codes = encode_labels(y)
        self._fit(X, codes, np.ones(len(codes)))
        return self

    def _fit(self, X: Objects, y: Target, w: Weights) -> None:
        K = len(self.classes_)
        if K < 2:
            raise ValueError(f"{type(self).__name__} requires 2 or more distinct classes; y holds 1 class")
        self._refuse_too_many(rows_of(X), ARRAYS_OF_A_FIT, "LogisticRegression on features of Nystroem or RBFSampler")
        rows = kept(np.asarray(X, dtype=np.float64) if self._wants_vectors else X, self.copy_X_train)
        kernel = self._kernel_for(rows, noisy=False, bounds="fixed")
        bounds, rng = np.asarray(kernel.bounds), check_random_state(self.random_state)
        pairs = tuple(combinations(range(K), 2)) if K > 2 and self.multi_class == "one_vs_one" else None
        tasks: list[tuple[Objects, Doubles]] = []
        if pairs is not None:
            for i, j in pairs:
                these = np.flatnonzero((y == i) | (y == j))
                tasks.append((take(rows, these), (y[these] == j).astype(np.float64)))
        else:
            tasks += [(rows, (y == k).astype(np.float64)) for k in ([1] if K == 2 else range(K))]
        seeds = rng.randint(np.iinfo(np.int32).max, size=len(tasks)) if self.n_restarts_optimizer else [0] * len(tasks)

        known = dict[int, BinaryProcess]()

        def model(i: int, at: Vector) -> ProcessClasses:
            """The model with process i at these parameters; processes that are not learned yet have the given ones."""
            made = [
                known.get(j) or self._process(kernel, np.asarray(kernel.theta), *task) for j, task in enumerate(tasks)
            ]
            made[i] = self._process(kernel, at, *tasks[i])
            return ProcessClasses(tuple(made), K, pairs)

        def learn(i: int) -> BinaryProcess:
            def report(at: Vector, value: float) -> None:
                reports(lambda: model(i, at), value)

            known[i] = self._binary(kernel, bounds, *tasks[i], int(seeds[i]), report)
            return known[i]

        serial = len(tasks) == 1 or bool(getattr(self, "_skl_callbacks", ()))  # a callback hears one search at a time
        with evaluation_reports(self, len(tasks), X) as reports:
            found = [learn(i) for i in range(len(tasks))] if serial else map_items(learn, len(tasks))
        self.model_ = ProcessClasses(tuple(found), K, pairs)
        if self.optimizer is not None and not isinstance(self.kernel, str):
            for process in found:
                warn_of_bounds(type(self).__name__, process.kernel)

    def _binary(
        self,
        kernel: AnyKernel,
        bounds: Matrix,
        X: Objects,
        y: Doubles,
        seed: int,
        report: Callable[[Vector, float], None],
    ) -> BinaryProcess:
        computing, theta = computing_kernel(kernel), np.asarray(kernel.theta)
        latest: dict[str, Doubles | None] = {"f": None}  # the mode of the last evaluation, from which the next starts
        some = evidence_sample(y, self.evidence_rows, self.random_state, classes=True)
        few, labels = take(X, some), y[some]

        def objective(at: Vector, eval_gradient: bool = True) -> Any:  # a number, or one and its gradient
            mode, gradient = laplace_evidence(
                computing.replace(at), few, labels, self.max_iter_predict, latest["f"], gradient=eval_gradient
            )
            latest["f"] = mode.f
            return -mode.evidence if gradient is None else (-mode.evidence, -gradient)

        if self.optimizer is not None and theta.size:
            theta = search(self, objective, theta, bounds, check_random_state(seed), report).theta
        return self._process(kernel, theta, X, y)

    def _process(self, kernel: AnyKernel, theta: Vector, X: Objects, y: Doubles) -> BinaryProcess:
        """Two classes by a kernel with these parameters."""
        computing = computing_kernel(kernel).replace(theta)
        mode, _ = laplace_evidence(computing, X, y, self.max_iter_predict)
        return BinaryProcess(with_theta(kernel, theta), LaplacePosterior(computing, X, y, mode))

    def predict(self, X: UserTable) -> Labels:
        """The likeliest class of each row."""
        check_is_fitted(self)
        rows, model = self._objects(X, fitting=False), self.model_
        if model.n_classes == 2:
            return self.classes_[(model.processes[0].posterior.latent_mean(rows) > 0).astype(int)]
        scores = self._one_against_rest(rows) if model.pairs is None else model.votes(rows)
        return self.classes_[scores.argmax(axis=1)]

    def _has_probabilities(self) -> bool:
        """Votes of pairs are no probabilities."""
        two = self.__sklearn_is_fitted__() and self.model_.pairs is None
        return self.multi_class == "one_vs_rest" or two

    @available_if(_has_probabilities)
    def predict_proba(self, X: UserTable) -> Matrix:
        """The probability of each class (n, K); "one_vs_one" has none for more than two classes."""
        check_is_fitted(self)
        rows = self._objects(X, fitting=False)
        dtype = X.dtype if isinstance(X, np.ndarray) and X.dtype == np.float32 else np.float64
        return self._one_against_rest(rows).astype(dtype, copy=False)

    def _one_against_rest(self, rows: Objects) -> Matrix:
        P = np.column_stack([process.posterior.probability(rows) for process in self.model_.processes])
        if P.shape[1] == 1:
            return np.column_stack([1 - P, P])
        total = P.sum(axis=1, keepdims=True)
        return np.divide(P, total, out=np.full_like(P, 1 / P.shape[1]), where=total > 0)

    def log_marginal_likelihood(
        self, theta: Vector | None = None, eval_gradient: bool = False, clone_kernel: bool = True
    ) -> Any:  # a number, or one and its gradient
        """Logarithm of the approximate evidence at `theta`, that of the fit by default; its gradient if asked for.

        Of more than two classes it is the mean over the processes; `theta` is that of one process, for all, or those of
        all in a row. Without `clone_kernel` the kernels of this model keep the parameters.
        """
        check_is_fitted(self)
        if theta is None:
            if eval_gradient:
                raise ValueError(f"{type(self).__name__}: Gradient can only be evaluated for theta!=None: give a theta")
            return self.log_marginal_likelihood_value_
        processes, theta = self.model_.processes, np.asarray(theta, dtype=np.float64)
        if eval_gradient and len(processes) > 1:
            raise NotImplementedError(  # the error that scikit-learn raises here
                f"{type(self).__name__}: there is no gradient for more than two classes"
            )
        size = len(processes[0].kernel.theta)
        if len(theta) not in (size, size * len(processes)):
            raise ValueError(
                f"{type(self).__name__}: theta must have {size} entries, or {size * len(processes)} for all processes; "
                f"got {len(theta)}"
            )
        values, gradient = [], None
        for process, part in zip(processes, np.resize(theta, (len(processes), size)), strict=True):
            if not clone_kernel:
                process.kernel.theta = part
            held = process.posterior
            mode, gradient = laplace_evidence(
                held.computing.replace(part), held.X, held.y, self.max_iter_predict, gradient=eval_gradient
            )
            values.append(mode.evidence)
        return float(np.mean(values)) if gradient is None else (values[0], gradient)

    def latent_mean_and_variance(self, X: UserTable) -> tuple[Vector, Vector]:
        """Mean and variance of the function at the rows; of two classes only."""
        check_is_fitted(self)
        if self.model_.n_classes > 2:
            raise ValueError(
                f"{type(self).__name__}: the latent function has a mean and a variance where there are two classes; "
                f"there are {self.model_.n_classes}"
            )
        return self.model_.processes[0].posterior.latent(self._objects(X, fitting=False))
