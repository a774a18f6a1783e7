"""Numbers of bins of a histogram of one column.

    sturges             log2 n + 1
    scott               width  (24 sqrt(pi) / n)^(1/3) s,    s the standard deviation;  in d columns 3.5 s n^(-1/(d+2))
    freedman_diaconis   width  2 IQR n^(-1/3);     in d columns 2 IQR n^(-1/(d+2))
    knuth               the number M of the largest posterior, under a Dirichlet prior of 1/2 on M equal bins:
                        n log M + lgamma(M/2) - M lgamma(1/2) - lgamma(n + M/2) + sum of lgamma(n_k + 1/2)

Sturges (1926); Scott (1979); Freedman & Diaconis (1981); Knuth (2006).
"""

from __future__ import annotations

from collections.abc import Callable, Mapping

import numpy as np
from scipy.special import gammaln

from fivefold.core.numerics.weighted_quantile import weighted_quantile
from fivefold.core.types import Doubles, Vector, Weights

MAX_KNUTH_BINS = 1000  # numbers of bins whose posterior is computed
MAX_BINS = 2**20  # of one column: more are asked for where a value lies far from all others


def knuth_log_posterior(x: Vector, w: Weights, bins: int) -> float:
    """The log posterior of a number of equal bins, up to a constant.

    Examples
    --------
    >>> x = np.array([0.0, 0.1, 0.2, 0.9, 1.0])
    >>> best = max(range(1, 6), key=lambda bins: knuth_log_posterior(x, np.ones(5), bins))
    >>> best
    4
    """
    order = np.argsort(x, kind="stable")
    return _log_posterior(x[order], np.concatenate([[0.0], np.cumsum(w[order])]), bins)


def _log_posterior(x: Vector, ends: Doubles, bins: int) -> float:
    """The same from sorted numbers and the weight before each."""
    edges = np.linspace(x[0], x[-1], bins + 1)
    before = ends[np.searchsorted(x, edges[1:-1], side="left")]
    counts = np.diff(np.concatenate([[0.0], before, [ends[-1]]]))
    n = ends[-1]
    constant = n * np.log(bins) + gammaln(bins / 2) - bins * gammaln(0.5) - gammaln(n + bins / 2)
    return float(constant + gammaln(counts + 0.5).sum())


def _sturges(x: Vector, w: Weights, d: int) -> float:
    return float(np.ceil(np.log2(w.sum()) + 1))


def _scott(x: Vector, w: Weights, d: int) -> float:
    n = float(w.sum())
    variance = float(w @ np.square(x - w @ x / n)) / n
    constant = (24 * np.sqrt(np.pi)) ** (1 / 3)  # 3.49
    return _bins_of_width(x, constant * n ** (-1 / (d + 2)) * np.sqrt(variance))


def _freedman_diaconis(x: Vector, w: Weights, d: int) -> float:
    low, high = (weighted_quantile(x, w, share) for share in (0.25, 0.75))
    width = 2 * (high - low) * float(w.sum()) ** (-1 / (d + 2))
    return _bins_of_width(x, width) if width > 0 else _scott(x, w, d)  # half of the numbers may be equal


def _knuth(x: Vector, w: Weights, d: int) -> float:
    order = np.argsort(x, kind="stable")
    x, ends = x[order], np.concatenate([[0.0], np.cumsum(w[order])])
    most = int(min(MAX_KNUTH_BINS, max(50, 4 * min(_freedman_diaconis(x, w[order], 1), MAX_KNUTH_BINS))))
    return float(1 + np.argmax([_log_posterior(x, ends, bins) for bins in range(1, most + 1)]))


def _bins_of_width(x: Vector, width: float) -> float:
    return float(np.ceil(np.ptp(x) / width)) if width > 0 else 1.0


BIN_RULES: Mapping[str, Callable[[Vector, Weights, int], float]] = {
    "sturges": _sturges,
    "scott": _scott,
    "freedman_diaconis": _freedman_diaconis,
    "knuth": _knuth,
}


def bin_edges(x: Vector, w: Weights, rule: str | int, column: int = 0, d: int = 1) -> Doubles:
    """Edges of equal bins for one of d columns, from its smallest to its largest number, by a rule or a number."""
    x = np.asarray(x, dtype=np.float64)
    low, high = float(x.min()), float(x.max())
    if low == high:  # one bin about the only value
        half = 0.5 * max(1.0, abs(low) * 1e-6)
        return np.array([low - half, high + half])
    count = BIN_RULES[rule](x, w, d) if isinstance(rule, str) else float(rule)
    if count > MAX_BINS:
        raise ValueError(
            f"the rule {rule!r} asks for {count:.3g} bins in column {column}: a value lies far from the others. Give "
            "a number of bins or edges, or transform the column"
        )
    return np.linspace(low, high, max(int(count), 1) + 1)
