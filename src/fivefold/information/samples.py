"""Entropy and mutual information from counts of a sample.

    plug-in        the measure of the observed shares; entropy is too small by about (m - 1) / (2 n)
    Miller-Madow   that amount added, m being the number of symbols that were seen

Miller (1955), Note on the bias of information estimates.
"""

from __future__ import annotations

from collections.abc import Iterable
from typing import Any, Literal

import numpy as np

from fivefold.core.types import Array, Codes, UserWeights
from fivefold.information.discrete import _unit, entropy

EntropyEstimate = Literal["plug-in", "miller-madow"]


def sample_entropy(
    values: Iterable[Any],
    base: float | None = None,
    *,
    method: EntropyEstimate = "plug-in",
    sample_weight: UserWeights = None,
) -> float:
    """The entropy of the distribution that a sample of symbols comes from; a text is a sample of letters.

    Examples
    --------
    >>> round(sample_entropy("aaaaaaaabbabbaaaaaaa", base=2), 6)
    0.721928
    """
    codes = _codes(values)
    return _entropy_of(np.bincount(codes, _weights(sample_weight, len(codes))), base, method)


def sample_information(
    first: Iterable[Any],
    second: Iterable[Any],
    base: float | None = None,
    *,
    method: EntropyEstimate = "plug-in",
    sample_weight: UserWeights = None,
) -> float:
    """The mutual information of two variables from pairs of their values, I = H(V) + H(W) - H(V, W).

    The plug-in estimate is positive even for independent variables; Miller-Madow's is not, on average.

    Examples
    --------
    >>> round(sample_information("aabb", "xxyy", base=2), 6)
    1.0
    """
    a, b = _codes(first), _codes(second)
    if len(a) != len(b):
        raise ValueError(f"pairs of values: {len(a)} of the first, but {len(b)} of the second")
    w = _weights(sample_weight, len(a))
    width = int(b.max()) + 1
    counts = np.bincount(a * width + b, w, minlength=(int(a.max()) + 1) * width).reshape(-1, width)
    parts = (counts.sum(axis=1), counts.sum(axis=0), counts.ravel())
    h = [_entropy_of(part, base, method) for part in parts]
    found = h[0] + h[1] - h[2]
    return max(0.0, found) if method == "plug-in" else found


def _entropy_of(counts: Any, base: float | None, method: EntropyEstimate) -> float:
    n = float(counts.sum())  # counts, or sums of weights
    if method not in ("plug-in", "miller-madow"):
        raise ValueError(f"method must be 'plug-in' or 'miller-madow'; got {method!r}")
    bias = (np.count_nonzero(counts) - 1) / (2 * n) if method == "miller-madow" else 0.0
    return entropy(counts / n, base) + bias / _unit(base)


def _codes(values: Iterable[Any]) -> Codes:
    seen = np.asarray(list(values) if isinstance(values, str) else values)
    if seen.ndim != 1 or not len(seen):
        raise ValueError(f"a sample is one value per draw, at least one; got shape {seen.shape}")
    codes: Codes = np.unique(seen, return_inverse=True)[1]
    return codes


def _weights(given: UserWeights, n: int) -> Array | None:
    if given is None:
        return None
    w = np.asarray(given, dtype=float)
    if w.shape != (n,) or not (w >= 0).all() or not 0 < w.sum() < np.inf:
        raise ValueError(f"sample_weight must be {n} numbers of at least 0, one of them positive")
    return w
