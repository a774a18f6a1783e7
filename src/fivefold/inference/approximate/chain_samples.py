"""Draws of Markov chains, and estimates from them with standard errors.

Draws before a chain has forgotten its start are left out (burn-in). Draws in a row are alike; keeping every d-th makes
them less so, but throws away more than it gains: at equal length of the run, the mean of all draws varies least.
"""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass, replace
from typing import Any, Self

import numpy as np
from numpy.typing import NDArray

from fivefold.core.types import Doubles
from fivefold.inference.approximate.chain_diagnostics import effective_size, monte_carlo_error, split_r_hat


@dataclass(frozen=True)
class Estimate:
    """An expected value, or a probability, from draws."""

    value: float
    standard_error: float
    effective_size: float  # independent draws that would say as much
    r_hat: float = float("nan")  # of chains: above 1.01 they do not agree

    def __str__(self) -> str:
        return f"{self.value:.4g} +- {self.standard_error:.2g}"


@dataclass(frozen=True)
class ChainSamples:
    """States that chains went through."""

    states: NDArray[Any]  # (chains, draws, variables)
    log_scores: Doubles  # (chains, draws): log of what the chains sample, not normalised
    acceptance: Doubles  # (chains,): share of proposals accepted

    def after(self, burn_in: int) -> Self:
        """Without the first draws of each chain."""
        return replace(self, states=self.states[:, burn_in:], log_scores=self.log_scores[:, burn_in:])

    def every(self, step: int) -> Self:
        """Every step-th draw only."""
        return replace(self, states=self.states[:, ::step], log_scores=self.log_scores[:, ::step])

    def trace(self, function: Callable[[NDArray[Any]], Any]) -> Doubles:
        """Values of a function of (..., variables) states: (chains, draws)."""
        values = np.asarray(function(self.states), dtype=np.float64)
        if values.shape != self.states.shape[:2]:
            raise ValueError(
                f"the function has to give a number per state: {self.states.shape[:2]} of them, not {values.shape}"
            )
        return values

    def estimate(self, function: Callable[[NDArray[Any]], Any]) -> Estimate:
        """The mean of a function of the states; of a truth value, its probability."""
        values = self.trace(function)
        return Estimate(float(values.mean()), monte_carlo_error(values), effective_size(values), split_r_hat(values))
