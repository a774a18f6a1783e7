"""A linear dynamical system from the matrices that a user gives, and a start for EM where there are none."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass

import numpy as np

from fivefold.core.types import Doubles, Rng
from fivefold.inference.state_space.linear_system import LinearSystem, ObservedSequences

# Parameter -> part of the system, its axes, and whether it may have one per step: n states, m columns, k controls.
PARAMETERS = {
    "transition_matrices": ("transition", "nn", True),
    "observation_matrices": ("observation", "mn", True),
    "transition_covariance": ("transition_covariance", "nn", True),
    "observation_covariance": ("observation_covariance", "mm", True),
    "transition_offsets": ("transition_offset", "n", True),
    "observation_offsets": ("observation_offset", "m", True),
    "initial_state_mean": ("initial_mean", "n", False),
    "initial_state_covariance": ("initial_covariance", "nn", False),
    "control_matrix": ("control", "nk", False),
    "feedthrough_matrix": ("feedthrough", "mk", False),
}
START_RADIUS = 0.9  # spectral radius of a transition that is drawn at random
NOISE_SHARE = 0.5  # share of the variance of a column that is noise at the start
AXES = {"n": "states (n_dim_state)", "m": "columns (n_dim_obs)", "k": "columns of controls"}


@dataclass(frozen=True)
class GivenParts:
    """Parts that were given, by the name of the part, and the sizes of all."""

    parts: Mapping[str, Doubles]
    n: int
    m: int
    k: int

    @classmethod
    def of(cls, given: Mapping[str, Doubles], sizes: Mapping[str, int | None]) -> GivenParts:
        """Check that shapes agree; sizes that are None come from the arrays, n from m if nothing says it."""
        known = {axis: (size, "") for axis, size in sizes.items() if size is not None}
        parts = {}
        for name, value in given.items():
            part, axes, varying = PARAMETERS[name]
            value = value.reshape((1,) * (len(axes) - value.ndim) + value.shape) if value.ndim < len(axes) else value
            extra = value.ndim - len(axes)
            if extra not in ((0, 1) if varying else (0,)):
                raise ValueError(
                    f"{name} has the shape {value.shape}; it needs {len(axes)} axes" + " or one more" * varying
                )
            if not np.isfinite(value).all():
                raise ValueError(f"{name} contains NaN or infinity")
            for axis, size in zip(axes, value.shape[extra:], strict=True):
                expected, source = known.setdefault(axis, (size, name))
                if size != expected:
                    where = f" in {source}" if source else ""
                    raise ValueError(
                        f"{name} has the shape {value.shape}: it speaks of {size} {AXES[axis]}, but there are "
                        f"{expected}{where}"
                    )
            parts[part] = np.ascontiguousarray(value[None] if varying and not extra else value)
        m = known.get("m", known.get("n", (1, "")))[0]
        return cls(parts, known.get("n", (m, ""))[0], m, known.get("k", (0, ""))[0])

    def system(self) -> LinearSystem:
        """The given parts; without them identities, and zeros for offsets and controls."""
        n, m, k = self.n, self.m, self.k
        default = {
            "transition": np.eye(n)[None],
            "transition_offset": np.zeros((1, n)),
            "transition_covariance": np.eye(n)[None],
            "observation": np.eye(m, n)[None],
            "observation_offset": np.zeros((1, m)),
            "observation_covariance": np.eye(m)[None],
            "initial_mean": np.zeros(n),
            "initial_covariance": np.eye(n),
            "control": np.zeros((n, k)),
            "feedthrough": np.zeros((m, k)),
        }
        return LinearSystem(**{**default, **self.parts})

    def start(self, data: ObservedSequences, free: frozenset[str], rng: Rng) -> LinearSystem:
        """The given parts, and for free ones that are not given what the scale of the data suggests."""
        wanted = free - set(self.parts)
        mean, variance = column_scale(data)
        found = dict(self.parts)
        offset = found.get("observation_offset", np.zeros((1, self.m)))
        if "observation_offset" in wanted:
            offset = found["observation_offset"] = mean[None]
        Y = np.where(data.seen, data.Y, mean) - (offset if len(offset) == 1 else mean)
        if "observation" in wanted:
            found["observation"] = _directions(Y, self.n, rng)[None]
        C = found.get("observation", np.eye(self.m, self.n)[None])[0]
        states = Y @ np.linalg.pinv(C).T  # (T, n)
        if "transition" in wanted:
            found["transition"] = _transition(states, data, C, rng)[None]
        noise = NOISE_SHARE * np.diag(np.maximum(states.var(axis=0), variance.mean() / max(1.0, (C**2).sum() / self.n)))
        first = np.asarray(data.cuts[:-1])
        suggested = {
            "observation_covariance": NOISE_SHARE * np.diag(variance)[None],
            "transition_covariance": noise[None],
            "initial_mean": states[first].mean(axis=0),
            "initial_covariance": noise / NOISE_SHARE,
        }
        found |= {name: value for name, value in suggested.items() if name in wanted}
        return GivenParts(found, self.n, self.m, self.k).system()


def column_scale(data: ObservedSequences) -> tuple[Doubles, Doubles]:
    """Mean and variance of each column; where it does not vary its square, or one."""
    count = np.maximum(data.seen.sum(axis=0), 1)
    mean = np.where(data.seen, data.Y, 0.0).sum(axis=0) / count
    variance = (np.where(data.seen, data.Y - mean, 0.0) ** 2).sum(axis=0) / count
    size = np.where(mean != 0, mean**2, 1.0)
    return mean, np.where(variance > np.finfo(np.float64).eps * size, variance, size)


def _directions(Y: Doubles, n: int, rng: Rng) -> Doubles:
    """Principal directions of the rows (m, n), scaled so that the states have variance one; further ones are random."""
    centred = Y - Y.mean(axis=0)
    _, s, Vt = np.linalg.svd(centred, full_matrices=False)
    scale = float(np.sqrt((centred**2).mean())) or 1.0
    C = 0.1 * scale * rng.normal(size=(Y.shape[1], n))
    held = min(n, len(s))
    C[:, :held] = Vt[:held].T * np.maximum(s[:held] / np.sqrt(len(Y)), 0.01 * scale)
    return C


def _transition(states: Doubles, data: ObservedSequences, C: Doubles, rng: Rng) -> Doubles:
    """Least squares from each state to the next, made stable; at random where observations do not fix the states."""
    n = C.shape[1]
    if n > C.shape[0]:
        A = np.linalg.qr(rng.normal(size=(n, n)))[0]
    else:
        A = np.linalg.lstsq(states[data.steps], states[data.steps + 1], rcond=None)[0].T
    radius = np.abs(np.linalg.eigvals(A)).max()
    return A * (START_RADIUS / radius) if radius > START_RADIUS else A
