"""Tolerances that several modules of this package share."""

from __future__ import annotations

import numpy as np

ROUNDING = 8 * np.finfo(float).eps  # numbers closer than this, relative to their size, are equal up to rounding
TAIL_PROBABILITY = 1e-12  # probability that is cut off at either end of a density
