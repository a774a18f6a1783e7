"""Winner-take-all network: units that excite themselves and inhibit each other until one is left.

    b_i = m_i'x        b_i <- max(0, b_i - (sum of the other b_j) / K),  then divided by the largest

The largest keeps the value one and the others fall to zero, so the fixed point is the unit with the largest inner
product, as a vector of zeros and a one. That is the unit nearest to x only if all m_i have the same norm. MAXNET:
Lippmann (1987).
"""

from __future__ import annotations

import numpy as np
from numpy.typing import ArrayLike

from fivefold.core.types import Doubles

TIE_SHARE = 1e-12  # inputs closer than this share of the largest are tied, and the first of them wins


def winner_take_all(inputs: ArrayLike, *, max_iter: int = 10_000) -> tuple[Doubles, int]:
    """The outputs (K,) of a network, one for the winner and zero for the others, and how many rounds it took.

    Of tied inputs the first wins.

    Examples
    --------
    >>> from fivefold.competitive import winner_take_all
    >>> winner_take_all([0.2, -1.0, 0.5, 0.4])[0]
    array([0., 0., 1., 0.])
    """
    b = np.array(inputs, dtype=np.float64)
    if b.ndim != 1 or not len(b) or not np.isfinite(b).all():
        raise ValueError(f"winner_take_all needs a vector of finite inputs; got shape {b.shape}. Pass b_i = m_i'x")
    K, spread = len(b), float(np.ptp(b))
    b = (b - b.min()) / spread if spread > 0 else np.ones(K)  # inhibition needs outputs from zero up
    tied = b >= 1 - TIE_SHARE
    b[tied & (np.cumsum(tied) > 1)] = 0.0
    for done in range(max_iter):
        if np.count_nonzero(b) == 1:
            return b / b.max(), done
        b = np.maximum(0.0, b - (b.sum() - b) / K)
        b /= b.max()
    raise ValueError(
        f"winner_take_all: {np.count_nonzero(b)} units are still active after {max_iter} rounds; allow more"
    )
