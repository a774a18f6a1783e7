"""A certificate: an upper limit of the error on new data that holds with probability 1 - delta."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass


@dataclass(frozen=True)
class Certificate:
    """What is known about a model's error on new data.

    Attributes
    ----------
    risk
        The observed error.
    bound
        The true error is below this with probability 1 - delta.
    parts
        The bound by each method; `bound` is the one that is never above another.
    n
        Number of rows it is based on.
    delta
        Probability that the certificate is wrong.
    assumptions
        What must hold.
    """

    risk: float
    bound: float
    parts: Mapping[str, float]
    n: int
    delta: float
    assumptions: tuple[str, ...]

    def __str__(self) -> str:
        width = max(map(len, self.parts))
        lines = (
            f"error below {self.bound:.4g} with probability {1 - self.delta:.4g}; {self.risk:.4g} on {self.n} rows",
            *(f"  {name:{width}}  {value:.4g}" for name, value in self.parts.items()),
            *(f"assumes: {text}" for text in self.assumptions),
        )
        return "\n".join(lines)
