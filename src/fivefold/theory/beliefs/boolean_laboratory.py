"""No free lunch, by enumeration: every Boolean function of d bits, with a prior, and what is said of inputs not seen.

Of 2^d inputs n are seen, and 2^(2^d - n) of the 2^(2^d) functions agree with them: the stimulus is poor.

    uniform prior    half of the functions that agree say 1 on an unseen input: the prediction is 1/2, whatever was seen
    code prior       P(f) = 1/2 2^-|f|  +  1/2 2^-(2^d)      |f| the bits of its shortest formula, or its whole table

The code prior can say all that the uniform one can with one bit more, and it generalises: a function of few bits is
learned once n exceeds their number by far. Hoeffding's intervals for all functions at once say the same,

    |err(f) - observed|  <=  sqrt((len(f) ln 2 + ln(2 / delta)) / (2 n)),        len(f) = log2(1 / P(f))

McAllester (2009), Case Studies in Machine Learning, sections 1.1 and 1.5; Wolpert (1996) for learners.
"""

from __future__ import annotations

from collections.abc import Callable, Sequence
from dataclasses import dataclass
from functools import cached_property

import numpy as np
from numpy.typing import ArrayLike

from fivefold.core.types import Codes, Indices, Mask, Matrix, Vector
from fivefold.distributions.estimation.hypotheses import Hypotheses
from fivefold.rules.formulas.formula_enumeration import shortest_formulas
from fivefold.theory.concentration import hoeffding_margin

MAX_BITS = 4  # 65,536 functions; of five bits there are four billion
CODE_SLACK = 8  # formulas longer than the table by this many bits add less than 1 % to its probability

Learner = Callable[[Matrix, Codes, Matrix], ArrayLike]  # (X, y, X_new) -> predictions 0 and 1


@dataclass(frozen=True)
class LearningCurve:
    """What a prior says of unseen inputs, after each number of seen ones."""

    seen: Indices  # (n + 1,) numbers of inputs seen
    error: Vector  # (n + 1,) of the posterior's vote on unseen inputs; a tie counts one half
    doubt: Vector  # (n + 1,) mean posterior probability of the wrong answer on unseen inputs
    consistent: Vector  # (n + 1,) log2 of the number of functions that agree with what was seen, on average


@dataclass(frozen=True)
class BooleanLaboratory:
    """All Boolean functions of d bits, at most four.

    Examples
    --------
    >>> laboratory = BooleanLaboratory(3)
    >>> seen, labels = [0, 1, 2, 3], [0, 1, 0, 1]  # the first bit
    >>> laboratory.predict(laboratory.uniform_prior, seen, labels)
    array([0. , 1. , 0. , 1. , 0.5, 0.5, 0.5, 0.5])
    >>> laboratory.predict(laboratory.code_prior, seen, labels).round(2)
    array([0.  , 1.  , 0.  , 1.  , 0.22, 0.79, 0.22, 0.79])
    """

    d: int

    def __post_init__(self) -> None:
        if not 1 <= self.d <= MAX_BITS:
            raise ValueError(f"functions of 1 to {MAX_BITS} bits are enumerated; got d={self.d}")

    @property
    def inputs(self) -> Matrix:
        """Every input, (2^d, d); input i has the bits of i, the lowest first."""
        return _bits(2**self.d, self.d).astype(float)

    @cached_property
    def functions(self) -> Mask:
        """Every function as its values on the inputs, (2^(2^d), 2^d); function i has the bits of i."""
        return _bits(2**2**self.d, 2**self.d)

    def index(self, values: ArrayLike) -> int:
        """The number of the function with these values on the inputs."""
        given = np.asarray(values)
        if given.shape != (2**self.d,):
            raise ValueError(f"a function of {self.d} bits has {2**self.d} values; got shape {given.shape}")
        return int(given.astype(bool) @ (1 << np.arange(2**self.d)))

    @property
    def uniform_prior(self) -> Vector:
        """The same probability for every function."""
        F = 2**2**self.d
        return np.full(F, 1 / F)

    @cached_property
    def code_prior(self) -> Vector:
        """Half by the shortest formula, half by the table of values; sums to one."""
        N = 2**self.d
        formulas, values = shortest_formulas(_bits(N, self.d), N + CODE_SLACK, 2**N)
        weights = np.full(2**N, 0.5 * 2.0**-N)
        which = values @ (1 << np.arange(N))
        weights[which] += 0.5 * np.exp2([-formula.bits(self.d) for formula in formulas])
        return weights / weights.sum()

    def predict(self, prior: ArrayLike, seen: Sequence[int], labels: ArrayLike, *, noise: float = 0.0) -> Vector:
        """The posterior probability that the function is 1 on each input, (2^d,).

        Parameters
        ----------
        prior
            probabilities of all functions.
        seen
            numbers of the inputs seen.
        labels
            what was seen there, 0 or 1.
        noise
            probability that a label is wrong.
        """
        agree = self.functions[:, list(seen)] == np.asarray(labels, dtype=bool)  # (F, n)
        with np.errstate(divide="ignore"):
            logs = np.log(np.where(agree, 1 - noise, noise)).sum(axis=1)
        return Hypotheses.of(prior).update(logs).average(self.functions)

    def learning_curve(self, prior: ArrayLike, target: ArrayLike, *, orders: int = 20, seed: int = 0) -> LearningCurve:
        """The target's values seen one input after the other, averaged over random orders of the inputs."""
        truth, N = self.functions[self.index(target)], 2**self.d
        rng = np.random.default_rng(seed)
        weights = np.asarray(prior, dtype=float)
        if weights.shape != (len(self.functions),):
            raise ValueError(f"the prior holds {len(self.functions)} probabilities; got shape {weights.shape}")
        parts = np.zeros((orders, 3, N))
        for part in parts:
            left, w, order = self.functions, weights, rng.permutation(N)
            for n in range(N):
                unseen = order[n:]
                right = (w @ (left[:, unseen] == truth[unseen])) / w.sum()  # posterior of the right answer
                part[:, n] = np.mean((right < 0.5) + 0.5 * (right == 0.5)), np.mean(1 - right), np.log2(len(left))
                agree = left[:, order[n]] == truth[order[n]]
                left, w = left[agree], w[agree]
        error, doubt, consistent = parts.mean(axis=0)
        return LearningCurve(np.arange(N), error, doubt, consistent)

    def interval_widths(self, prior: ArrayLike, target: ArrayLike, sizes: ArrayLike, *, delta: float = 0.05) -> Vector:
        """Half the width of the interval for the target's error after each number of rows, by its length in bits."""
        share = float(np.asarray(prior, dtype=float)[self.index(target)])  # of delta: the union bound over functions
        return np.asarray(hoeffding_margin(np.asarray(sizes), delta * share))


def unseen_error_over_all_targets(learner: Learner, d: int, seen: Sequence[int]) -> Vector:
    """The error on unseen inputs of a learner, averaged over all functions that the seen labels allow.

    Parameters
    ----------
    learner
        from rows, labels and new rows to predictions, e.g. `lambda X, y, new: model.fit(X, y).predict(new)`.
    d
        number of bits, at most four.
    seen
        numbers of the inputs in the training sample.

    Returns
    -------
    vector
        one number per labelling of the sample, (2^n,): 1/2 for every learner.

    Examples
    --------
    >>> unseen_error_over_all_targets(lambda X, y, new: np.full(len(new), y.mean() > 0.5), 2, [0, 3])
    array([0.5, 0.5, 0.5, 0.5])
    """
    X, sample = BooleanLaboratory(d).inputs, list(dict.fromkeys(seen))
    unseen = np.setdiff1d(np.arange(len(X)), sample)
    if not len(unseen):
        raise ValueError(f"all {len(X)} inputs of {d} bits are seen: nothing is left to predict")
    targets = _bits(2 ** len(unseen), len(unseen))  # every labelling of the unseen inputs
    labellings = _bits(2 ** len(sample), len(sample)).astype(int)
    answers = [np.asarray(learner(X[sample], labels, X[unseen])).astype(bool) for labels in labellings]
    return np.array([float((answer != targets).mean()) for answer in answers])


def _bits(count: int, width: int) -> Mask:
    """The numbers below `count` in binary, lowest bit first, (count, width)."""
    return ((np.arange(count)[:, None] >> np.arange(width)) & 1).astype(bool)
