"""Capacity of support vector machines: training error, and the confidence term that the margin decides.

    R(f) <= R_emp + sqrt((h (log(2 n / h) + 1) - log(delta / 4)) / n)        with probability 1 - delta
    h <= min(ceil(R^2 |w|^2), D) + 1        R the radius of a sphere around the features of the rows, 1 / |w| the margin

A learner of fixed capacity fixes h and minimises R_emp; a machine with a hard margin fixes R_emp at zero and minimises
h. The margin is known only after the rows are seen, so the bound holds for a margin that was fixed before; it is read
as an order of capacities. Below a few thousand rows it is above 1 for most machines, and says so.

Vapnik (1995), chapter 5; Burges (1998).
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from typing import TYPE_CHECKING

import numpy as np

from fivefold.core.types import UserTable, UserTarget
from fivefold.theory.capacity.margin_dimensions import margin_dimension
from fivefold.theory.capacity.vc_bounds import vc_confidence

if TYPE_CHECKING:
    from fivefold.svm import SVC
    from fivefold.svm.support.expansion import KernelChoice

MARGIN_ASSUMPTIONS = (
    "rows are independent and come from where new data will come from",
    "the margin was fixed before the rows were seen: for the one that was found the bound orders machines, no more",
)


@dataclass(frozen=True)
class MachineCapacity:
    """Error and capacity of one machine."""

    name: str  # its parameters
    risk: float  # share of training rows that it gets wrong
    margin: float  # 1 / |w|
    radius: float  # of a sphere that holds the features of all rows
    dimension: float  # h, the bound of the VC dimension
    confidence: float  # what is added to the risk
    n: int
    delta: float

    @property
    def bound(self) -> float:
        """The true error is below this with probability 1 - delta; above 1 it says nothing."""
        return self.risk + self.confidence

    def __str__(self) -> str:
        said = f"{self.bound:.4g}" if self.bound < 1 else "none (above 1)"
        return (
            f"{self.name}: training error {self.risk:.4g}, margin {self.margin:.4g}, VC dimension at most "
            f"{self.dimension:.4g}, confidence term {self.confidence:.4g}, bound {said}"
        )


def machine_capacities(
    machines: Sequence[SVC], X: UserTable, y: UserTarget, delta: float = 0.05
) -> list[MachineCapacity]:
    """The capacity of fitted machines of two classes, such as one per C or kernel, from the rows of their fit."""
    labels = np.asarray(y)
    found = []
    for machine in machines:
        if len(machine.classes_) != 2 or machine.model_.kernel.name == "precomputed":
            raise ValueError("machine_capacities takes machines of two classes whose kernel is not precomputed")
        rows = machine._admit(X)
        radius, columns = _radius(machine.model_.kernel, rows)
        norm = float(machine.squared_norm_[0])
        h = margin_dimension(radius, 1.0 / np.sqrt(norm) if norm > 0 else np.inf, columns)
        settings = machine.get_params()
        changed = {k: v for k, v in settings.items() if v != type(machine)().get_params()[k]}
        found.append(
            MachineCapacity(
                name=f"{type(machine).__name__}({', '.join(f'{k}={v!r}' for k, v in changed.items())})",
                risk=float(np.mean(machine.predict(X) != labels)),
                margin=1.0 / np.sqrt(norm) if norm > 0 else float("inf"),
                radius=radius,
                dimension=h,
                confidence=vc_confidence(h, len(labels), delta),
                n=len(labels),
                delta=delta,
            )
        )
    return found


def _radius(kernel: KernelChoice, X: UserTable) -> tuple[float, float]:
    """The radius of the sphere about the mean of the features that holds all rows, and the number of features."""
    n = X.shape[0] if hasattr(X, "shape") else len(X)
    means = kernel.sums(X, X, np.full((n, 1), 1.0 / n))[:, 0]
    squares = kernel.diagonal(X) - 2 * means + means.mean()
    return float(np.sqrt(max(squares.max(), 0.0))), float(X.shape[1]) if kernel.name == "linear" else np.inf
