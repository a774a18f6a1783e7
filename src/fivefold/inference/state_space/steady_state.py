"""Where the covariances of a Kalman filter settle, if nothing is missing and no matrix changes.

    P = A P A' + Q - A P C' (C P C' + R)^-1 C P A'          the discrete algebraic Riccati equation

Anderson & Moore (1979), chapter 4.
"""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np
from scipy.linalg import cho_factor, cho_solve, solve_discrete_are

from fivefold.core.types import Doubles
from fivefold.inference.state_space.linear_system import LinearSystem


@dataclass(frozen=True)
class SteadyState:
    """The limit of a filter: x_f = x_p + gain (y - C x_p - d)."""

    predicted_covariance: Doubles  # (n, n) before an observation
    covariance: Doubles  # (n, n) after it
    gain: Doubles  # (n, m)
    innovation_covariance: Doubles  # (m, m)


def steady_state(system: LinearSystem) -> SteadyState:
    """The limit of the filter's covariances; refused where there is none."""
    parts = (system.transition, system.observation, system.transition_covariance, system.observation_covariance)
    if any(len(part) > 1 for part in parts):
        raise ValueError("A system whose matrices change with time has no steady state.")
    A, C, Q, R = (part[0] for part in parts)
    try:
        P = solve_discrete_are(A.T, C.T, Q, R)
    except (np.linalg.LinAlgError, ValueError) as error:
        raise ValueError(
            "The covariances of this filter do not settle: a state that does not fade is not observed, or moves "
            "without noise."
        ) from error
    S = C @ P @ C.T + R
    gain = cho_solve(cho_factor(S), C @ P).T
    kept = np.eye(len(A)) - gain @ C
    return SteadyState(P, kept @ P @ kept.T + gain @ R @ gain.T, gain, S)
