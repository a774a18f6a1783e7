"""McNemar's test: two fitted classifiers on one test set, from the rows on which just one of them is right.

    b rows right by A alone, c by B alone; if the two are alike, b ~ Bin(b + c, 1/2)

    exact        tails of that distribution
    mid-p        the probability of the b seen counts half: not so cautious, and in practice near the level
    chi2         (b - c)^2 / (b + c), one degree of freedom
    continuity   (|b - c| - 1)^2 / (b + c), the same with a correction for the steps of b

The interval for the difference of the accuracies is the one of Bonett & Price: that of Wald with one row more in
either cell, half a row less right in the tails of a small table.

McNemar (1947); Fagerland, Lydersen & Laake (2013), for mid-p; Bonett & Price (2012).
"""

from __future__ import annotations

from collections.abc import Callable, Mapping
from typing import Any, Literal

import numpy as np
from scipy.special import bdtr, ndtr, ndtri

from fivefold.evaluation.comparison.pairing import paired
from fivefold.evaluation.comparison.result import INFINITE, Alternative, Comparison, compared, level_of_tail, rejecting
