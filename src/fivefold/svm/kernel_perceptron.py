"""The perceptron with kernels: a sum of kernels at the rows it got wrong.

    f(x) = sum of alpha_i (k(x_i, x) + 1);     at a mistake, y_i f(x_i) <= 0:   alpha_i <- alpha_i + y_i

    last       f after the last mistake; stops when every row is right, which separable rows always reach
    averaged   the mean of all f, one per row visited
    voted      every f votes with the number of rows it survived

The 1 is the step of the intercept. Rows are visited in a random order by their weight, along an order that depends on
their values only: weights mean repetition exactly. With K > 2 classes there is one machine per class against the rest.

Aizerman, Braverman & Rozonoer (1964); Freund & Schapire (1999).
"""

from __future__ import annotations

from collections.abc import Callable, Iterator
from dataclasses import KW_ONLY, dataclass
from typing import Any, Literal

import numpy as np

from fivefold.core.console.fit_progress import value_steps
from fivefold.core.estimators.base import learned
from fivefold.core.estimators.params import Count, Seed
from fivefold.core.random_state import check_random_state
from fivefold.core.registry import Card
from fivefold.core.types import Doubles, Indices, Rng, Table, Target, UserWeights, Weights
from fivefold.linear_model.solvers.class_outputs import one_vs_rest_targets
from fivefold.optim.stochastic.sgd_loops import potential_pass
from fivefold.spatial.points import Points
from fivefold.spatial.row_sampling import RowSampler
from fivefold.svm.support.expansion import KernelSum
from fivefold.svm.support.kernel_estimator import whole_gram
from fivefold.svm.support.kernel_sum_classifier import KernelSumClassifier

CURE = "Fit to a sample of the rows, or take SVC, which keeps only some rows of that array"
BLOCK_ANSWERS = 1 << 22  # answers of all points of a vote that are held at a time


@dataclass(frozen=True)
class MistakeSum(KernelSum):
    """The sums, and for a vote the mistakes of each machine: places among the support vectors, steps, and votes."""

    separated: bool  # did every machine end with all rows right?
    mistakes: tuple[tuple[Indices, Doubles, Doubles], ...]  # votes are one more: those of the start come first


@dataclass(frozen=True)
class Training:
    """The coefficients of one machine."""

    alpha: Doubles  # (n,) in the end
    mean: Doubles  # (n,) over all visits
    rows: Indices  # of the mistakes, in their order
    steps: Doubles
    votes: Doubles  # visits that the start, and then the point after each mistake, survived
    passes: int
    separated: bool


class KernelPerceptron(KernelSumClassifier):
    """Perceptron with kernels: the last, the averaged or the voted one.

    Parameters
    ----------
    variant
        "last", "averaged" or "voted": which of all points on the way answers; the last two are better where the
        classes overlap.
    fit_intercept
        whether mistakes move an intercept too.
    max_iter
        maximum number of passes; fewer if every row is right.
    shuffle
        whether a pass draws rows at random, by weight; otherwise it takes them in the order given, and steps are as
        long as the weights.
    random_state
        seed of the draws.

    Attributes
    ----------
    separated_
        whether training ended with every row right.
    n_iter_
        passes made; the largest number of any machine.
    classes_
        the labels.

    Examples
    --------
    >>> from fivefold.svm import KernelPerceptron
    >>> X, y = [[0.0, 0.0], [0.0, 1.0], [1.0, 0.0], [1.0, 1.0]], [0, 1, 1, 0]
    >>> model = KernelPerceptron(kernel="poly", degree=2, coef0=1.0, variant="last", random_state=0).fit(X, y)
    >>> model.predict(X), model.separated_
    (array([0, 1, 1, 0]), True)
    """

    _: KW_ONLY
    variant: Literal["last", "averaged", "voted"] = "averaged"
    fit_intercept: bool = True
    max_iter: Count = 20
    shuffle: bool = True
    random_state: Seed = None

    card = Card(
        applications=("classification",),
        use="A quick curved boundary from passes over the rows, and a first look at whether a kernel separates them. "
        "For a margin take SVC.",
        steps=(
            "Take the next row and the sign of the sum of kernels there.",
            "If the sign is wrong or zero, add the kernel of the row, times its label.",
            "Answer with the mean of all sums on the way, with their votes, or with the last one.",
        ),
        source="Aizerman, Braverman & Rozonoer (1964); Freund & Schapire (1999)",
        see_also=("Perceptron", "SVC", "KernelPegasos"),
        variants=({"variant": "voted"}, {"variant": "last", "kernel": "poly", "degree": 2, "coef0": 1.0}),
        search={"variant": ("averaged", "voted")},
        growth=2.0,
    )

    separated_ = learned("separated")

    def _fit(self, X: Table, y: Target, w: Weights, given: UserWeights = None, objects: Any = None) -> None:
        training, positions = self._training(X, given, objects)
        G = whole_gram(training, type(self).__name__, 2.0, CURE) + float(self.fit_intercept)
        signs, rng = one_vs_rest_targets(y, len(self.classes_)), check_random_state(self.random_state)
        sampler = RowSampler(Points.of(X, w)) if self.shuffle else None
        found, s = list[Training](), np.asarray(w, dtype=np.float64)
        with value_steps(self, "pass", self.max_iter * len(signs), X) as report:
            for sign in signs:
                orders = _orders(s, sampler, rng, self.max_iter)
                found.append(_train(G, sign, np.ones(len(s)) if self.shuffle else s, orders, report))
        W = np.stack([one.mean if self.variant == "averaged" else one.alpha for one in found])
        used = np.zeros(len(G), dtype=bool)
        for one in found:
            used[one.rows] = True
        support = np.flatnonzero(used)
        place = np.cumsum(used) - 1
        ballots = tuple((place[one.rows], one.steps, one.votes) for one in found) if self.variant == "voted" else ()
        self.model_ = self._kernel_sum(
            MistakeSum, training, positions, support, np.ascontiguousarray(W[:, support]),
            intercept=W.sum(axis=1) * float(self.fit_intercept), n_iter=max(one.passes for one in found),
            separated=all(one.separated for one in found), mistakes=ballots,
        )  # fmt: skip

    def _outputs(self, X: Table) -> Doubles:
        model = self.model_
        if self.variant != "voted":
            return super()._outputs(X)
        longest = max(len(votes) for _, _, votes in model.mistakes)
        n = X.shape[0] if hasattr(X, "shape") else len(X)
        block = max(1, BLOCK_ANSWERS // longest)
        return np.concatenate([self._shares(X[a : a + block]) for a in range(0, n, block)])

    def _shares(self, X: Table) -> Doubles:
        """Votes for a class less votes against it, as a share of all."""
        model = self.model_
        kernels = model.sums(X, np.eye(len(model.support))) + float(self.fit_intercept)
        columns = []
        for places, steps, votes in model.mistakes:
            answers = np.cumsum(kernels[:, places] * steps, axis=1)  # the start answers zero
            columns.append(np.sign(answers) @ votes[1:] / votes.sum())
        return np.column_stack(columns)


def _orders(w: Doubles, sampler: RowSampler | None, rng: Rng, passes: int) -> Iterator[Indices]:
    """The rows that each pass visits: as many as the weights sum to, or all in their order."""
    for _ in range(passes):
        if sampler is None:
            yield np.arange(len(w))
        else:
            yield rng.permutation(sampler.draw(max(1, round(float(w.sum()))), rng)).astype(np.int64)


def _train(G: Doubles, y: Doubles, s: Doubles, orders: Iterator[Indices], report: Callable[[float], bool]) -> Training:
    alpha, f, lag = np.zeros((3, len(y)))
    rows: list[Indices] = []
    votes, done, passes, separated = [0], 0, 0, False
    total = np.zeros(len(y))  # sum of alpha over the visits before this pass
    for order in orders:
        hits = np.empty(len(order), dtype=np.uint8)
        lag[:] = 0.0
        moved = potential_pass(G, y, s, order, alpha, f, lag, hits)
        total += len(order) * alpha - lag
        places = np.flatnonzero(hits)
        rows.append(order[places])
        votes.extend(done + places)
        done, passes = done + len(order), passes + 1
        separated = bool((y * f > 0).all())
        if report(moved / len(order)) or (separated and not moved):
            break
    survived = np.diff(np.append(votes, done)).astype(np.float64)
    mistakes = np.concatenate(rows)
    return Training(alpha, total / done, mistakes, s[mistakes] * y[mistakes], survived, passes, separated)
