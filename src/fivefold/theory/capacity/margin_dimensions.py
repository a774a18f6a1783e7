"""Large margins make capacity small, whatever the number of columns.

    h  <=  min(ceil(R^2 / gamma^2), d) + 1        hyperplanes that stay gamma away from points in a ball of radius R
    h  <=  min(ceil(2 R^2 / gamma^2), d)          as it is printed elsewhere: for d columns that is one too few
    fat(gamma)  <=  (R B / gamma)^2               functions w'x with |w| <= B: points that they divide in every way,
                                                  with a margin of gamma

Vapnik (1995); Bartlett & Shawe-Taylor (1999).
"""

from __future__ import annotations

import math


def margin_dimension(radius: float, margin: float, columns: float = math.inf) -> float:
    """The bound of the VC dimension of hyperplanes with this margin, on points in a ball of this radius (Vapnik).

    Examples
    --------
    >>> margin_dimension(1.0, 1.0, 1)
    2.0
    """
    return min(_squares(radius, margin, 1.0), float(columns)) + 1.0


def doubled_margin_dimension(radius: float, margin: float, columns: float = math.inf) -> float:
    """min(ceil(2 R^2 / gamma^2), d), for comparison: hyperplanes in d columns have dimension d + 1, one above it.

    Examples
    --------
    >>> doubled_margin_dimension(1.0, 0.5, 10)
    8.0
    """
    return min(_squares(radius, margin, 2.0), float(columns))


def fat_shattering_dimension(radius: float, margin: float, norm: float = 1.0) -> float:
    """Of linear functions with |w| <= norm, on points in a ball of this radius: (radius norm / margin)^2, at most.

    Examples
    --------
    >>> fat_shattering_dimension(1.0, 0.1)
    100.0
    """
    return float(math.floor(_ratio(radius * norm, margin) * (1 + 1e-12)))


def _squares(radius: float, margin: float, factor: float) -> float:
    # a quotient that is a whole number but for rounding is not rounded up to the next one
    return float(math.ceil(factor * _ratio(radius, margin) * (1 - 1e-12)))


def _ratio(radius: float, margin: float) -> float:
    if radius < 0 or not margin > 0:
        raise ValueError(f"a radius is not negative and a margin positive; got radius={radius}, margin={margin}")
    return 0.0 if math.isinf(margin) else (radius / margin) ** 2
