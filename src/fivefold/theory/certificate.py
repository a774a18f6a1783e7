"""A certificate: an upper limit of the error on new data that holds with probability 1 - delta."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, field


@dataclass(frozen=True)
class Certificate:
    """What is known about a model's error on new data.

    Attributes
    ----------
    risk
        The observed error.
    bound
        The true error is below this with probability 1 - delta; 1 says nothing.
    parts
        The bound by each method, each with probability 1 - delta. Where several may be the smallest, `bound` is the
        smallest of those that hold together: each then has a part of delta.
    n
        Number of rows it is based on.
    delta
        Probability that the certificate is wrong.
    assumptions
        What must hold.
    rows
        Were the rows held out, or trained on?
    predictors
        For the parts that do not speak of the model itself: of what they do.
    inapplicable
        The bounds that say nothing about this model, and why.
    """

    risk: float
    bound: float
    parts: Mapping[str, float]
    n: int
    delta: float
    assumptions: tuple[str, ...]
    rows: str = "held out"
    predictors: Mapping[str, str] = field(default_factory=dict)
    inapplicable: Mapping[str, str] = field(default_factory=dict)

    def __str__(self) -> str:
        width = max(map(len, self.parts))
        said = f"error below {self.bound:.4g} with probability {1 - self.delta:.4g}"
        if self.bound >= 1:
            said = f"no bound below 1 with probability {1 - self.delta:.4g}"
        kind = "training rows" if self.rows == "training" else "rows"
        lines = (
            f"{said}; {self.risk:.4g} on {self.n} {kind}",
            *(f"  {name:{width}}  {value:.4g}{self._note(name)}" for name, value in self.parts.items()),
            *(f"assumes: {text}" for text in self.assumptions),
        )
        return "\n".join(lines)

    def _note(self, name: str) -> str:
        return f" ({self.predictors[name]})" if name in self.predictors else ""


def by_reason(inapplicable: Mapping[str, str]) -> dict[str, list[str]]:
    """Each reason why bounds do not apply, with their names."""
    found: dict[str, list[str]] = {}
    for name, reason in inapplicable.items():
        found.setdefault(reason, []).append(name)
    return found
