"""Revision of beliefs over countably many hypotheses.

    P(h | D) = P(h) P(D | h) / P(D),        P(D) = sum_h P(h) P(D | h)

A finite table is `distributions.estimation.hypotheses.Hypotheses`, in logarithms. A countable one is read in order
until the rest is shown to be negligible: what was not read has prior mass R, and no hypothesis gives the data more
than L, so

    P(rest | D)  <=  R L / (sum over h read of P(h) P(D | h)  +  R L)

For data of symbols L = 1 always holds. Continuous parameters: `distributions.estimation.grid_posterior` for any prior,
`distributions.conjugate` for conjugate ones.

McAllester (2009), Case Studies in Machine Learning, chapter 1.
"""

from __future__ import annotations

from collections.abc import Callable, Iterable
from dataclasses import dataclass
from typing import Any

import numpy as np
from numpy.typing import ArrayLike
from scipy.special import expit

from fivefold.core.types import Labels
from fivefold.distributions.estimation.hypotheses import Hypotheses

MAX_HYPOTHESES = 1_000_000  # read from an endless prior before giving up
SUM_TOLERANCE = 1e-9  # by which a sum of probabilities may exceed one


@dataclass(frozen=True)
class CountableBelief:
    """What is believed after the data.

    Attributes
    ----------
    hypotheses
        Those that were read, in the order of the prior.
    belief
        Their probabilities among themselves.
    rest
        The posterior probability of all others together is at most this.
    """

    hypotheses: tuple[Any, ...]
    belief: Hypotheses
    rest: float

    @property
    def most_probable(self) -> Any:
        """The hypothesis of largest posterior probability among those read."""
        return self.hypotheses[self.belief.most_probable]


def revise_countable(
    prior: Iterable[tuple[Any, float]],
    log_likelihood: Callable[[Any], float],
    *,
    log_limit: float = 0.0,
    log_rest: Callable[[int], float] | None = None,
    tolerance: float = 1e-9,
    most: int = MAX_HYPOTHESES,
) -> CountableBelief:
    """The posterior over hypotheses that come one after the other, perhaps without end.

    Parameters
    ----------
    prior
        pairs of hypothesis and log prior probability; the probabilities sum to at most one.
    log_likelihood
        log P(D | h) of a hypothesis.
    log_limit
        no hypothesis gives the data a larger log likelihood; 0 for symbols. The smaller, the fewer must be read.
    log_rest
        log of the prior mass after the first k; without it, one less the sum so far, which rounding leaves above 1e-16.
    tolerance
        reading ends when the posterior probability of the rest is shown to be at most this.
    most
        hypotheses read at most.

    Examples
    --------
    A number k from 1 up has prior 2^-k; given k, a symbol is drawn evenly from k symbols. Eight draws show 3 symbols.

    >>> from itertools import count
    >>> numbers = ((k, -k * np.log(2)) for k in count(1))
    >>> found = revise_countable(numbers, lambda k: -8 * np.log(k) if k >= 3 else -np.inf)
    >>> found.most_probable, found.belief.probability[2:5].round(3), found.rest <= 1e-9
    (3, array([0.948, 0.047, 0.004]), True)
    """
    read, logs, likelihoods = list[Any](), list[float](), list[float]()
    mass, evidence, rest = 0.0, -np.inf, 1.0
    for h, log_prior in prior:
        value = float(log_likelihood(h))
        if not value <= log_limit:  # a NaN, too
            raise ValueError(
                f"the log likelihood of hypothesis {h!r} is {value:g}, above log_limit={log_limit:g}: for densities, "
                "give the largest log likelihood that any hypothesis can have"
            )
        mass += float(np.exp(log_prior))
        if not mass <= 1 + SUM_TOLERANCE:
            raise ValueError(f"prior probabilities sum to at most 1; with hypothesis {h!r} they sum to {mass:g}")
        read.append(h)
        logs.append(float(log_prior))
        likelihoods.append(value)
        evidence = float(np.logaddexp(evidence, log_prior + value))
        left = log_rest(len(read)) if log_rest else float(np.log(max(1 - mass, len(read) * np.finfo(float).eps)))
        rest = float(expit(left + log_limit - evidence)) if evidence > -np.inf else 1.0
        if rest <= tolerance or len(read) == most:
            break
    else:
        rest = 0.0  # the prior came to its end
    if not read:
        raise ValueError("the prior holds no hypothesis")
    prior_logs = np.array(logs)
    start = Hypotheses(prior_logs - np.logaddexp.reduce(prior_logs))
    return CountableBelief(tuple(read), start.update(likelihoods), rest)


def vote(belief: Hypotheses, predictions: ArrayLike) -> Labels:
    """The class of the largest posterior-weighted vote for each of m inputs; ties go to the first in sorted order.

    Parameters
    ----------
    belief
        the probabilities of H rules.
    predictions
        what each rule says, (H, m).

    Examples
    --------
    The most probable rule is outvoted by two that agree.

    >>> vote(Hypotheses.of([0.4, 0.3, 0.3]), [["yes"], ["no"], ["no"]])
    array(['no'], dtype='<U3')
    """
    said = np.asarray(predictions)
    H = len(belief.log_probability)
    if said.ndim != 2 or len(said) != H:
        raise ValueError(f"predictions are a table with a row per hypothesis, {H} here; got shape {said.shape}")
    classes, codes = np.unique(said, return_inverse=True)
    codes = codes.reshape(said.shape)
    shares = np.stack([belief.average(codes == k) for k in range(len(classes))])  # (K, m)
    winners: Labels = classes[shares.argmax(axis=0)]
    return winners
