"""Is a function or a table of distances a metric? The axioms, tested on a sample, with the pairs that break them.

    d(x, y) >= 0        d(x, y) = 0 exactly if x = y        d(x, y) = d(y, x)        d(x, z) <= d(x, y) + d(y, z)

A sample can refute an axiom, never prove it.
"""

from __future__ import annotations

from collections.abc import Callable, Sequence
from dataclasses import dataclass
from typing import Any

import numpy as np

from fivefold.core.types import Array, Indices, Matrix

TOLERANCE = 1e-10  # share of the largest distance by which rounding may break an axiom
MAX_SHOWN = 5  # violations that are listed, the worst first


@dataclass(frozen=True)
class Violation:
    """Objects that break an axiom, and by how much."""

    axiom: str
    objects: tuple[int, ...]  # numbers of two or three objects of the sample
    text: str


@dataclass(frozen=True)
class MetricReport:
    """What a sample says about a distance."""

    n: int  # objects of the sample
    counts: dict[str, int]  # violations of each axiom
    violations: tuple[Violation, ...]  # the worst of each

    @property
    def is_metric(self) -> bool:
        """Was no axiom broken?"""
        return not any(self.counts.values())

    def broken(self) -> list[str]:
        """The axioms that were broken."""
        return [axiom for axiom, count in self.counts.items() if count]

    def __str__(self) -> str:
        if self.is_metric:
            return f"no axiom of a metric is broken by {self.n} objects"
        head = ", ".join(f"{axiom} by {self.counts[axiom]}" for axiom in self.broken())
        return "\n".join([f"not a metric: {head}", *(f"  {violation.text}" for violation in self.violations)])


def check_metric(
    distance: Callable[[Any, Any], float] | Matrix, objects: Sequence[Any] | Array | None = None
) -> MetricReport:
    """Test the axioms on all pairs and triples of `objects`, or of a square table of distances.

    Without objects a table cannot say which of them are equal, so that zero off the diagonal breaks no axiom.

    Examples
    --------
    >>> print(check_metric(lambda x, y: (x - y) ** 2, [0.0, 1.0, 2.0]))
    not a metric: triangle inequality by 2
      d(0, 2) = 4 > d(0, 1) + d(1, 2) = 1 + 1
      d(2, 0) = 4 > d(2, 1) + d(1, 0) = 1 + 1
    """
    D = _table(distance, objects)
    n, slack = len(D), TOLERANCE * float(np.abs(D).max(initial=0.0))
    same = np.eye(n, dtype=bool) if objects is None else _equal(objects)
    off = ~np.eye(n, dtype=bool)
    found = {
        "non-negativity": _pairs("non-negativity", -D, slack, lambda i, j: f"d({i}, {j}) = {D[i, j]:.6g} < 0"),
        "identity": _pairs(
            "identity",
            np.where(same, np.abs(D), 0.0),
            slack,
            lambda i, j: f"d({i}, {j}) = {D[i, j]:.6g}, and the two are equal",
        )
        + (
            _pairs(
                "identity",
                np.where(off & ~same & (np.abs(D) <= slack), 1.0, 0.0),
                0.5,
                lambda i, j: f"d({i}, {j}) = {D[i, j]:.6g}, and the two are different",
            )
            if objects is not None
            else []
        ),
        "symmetry": _pairs(
            "symmetry",
            np.triu(np.abs(D - D.T)),
            slack,
            lambda i, j: f"d({i}, {j}) = {D[i, j]:.6g} and d({j}, {i}) = {D[j, i]:.6g}",
        ),
    }
    count, triples = _triples(D, slack)
    counts = {axiom: len(each) for axiom, each in found.items()} | {"triangle inequality": count}
    shown = [violation for each in found.values() for violation in each[:MAX_SHOWN]]
    return MetricReport(n, counts, (*shown, *triples))


def _table(distance: Any, objects: Any) -> Matrix:
    """All distances (n, n) in double precision."""
    if not callable(distance):
        D = np.asarray(distance, dtype=np.float64)
        if D.ndim != 2 or len(D) != D.shape[1]:
            raise ValueError(f"a table of distances between n objects has shape (n, n); got {D.shape}")
        return D
    if objects is None:
        raise ValueError("a function needs objects to be tested on: pass a sample of them")
    return np.array([[float(distance(x, y)) for y in objects] for x in objects]).reshape(len(objects), len(objects))


def _equal(objects: Any) -> Any:
    """Which objects are equal (n, n)."""
    n = len(objects)
    return np.array([[bool(np.all(objects[i] == objects[j])) for j in range(n)] for i in range(n)]).reshape(n, n)


def _pairs(axiom: str, excess: Matrix, slack: float, text: Callable[[int, int], str]) -> list[Violation]:
    """Pairs whose excess is larger than the slack or not a number, the worst first."""
    i, j = np.nonzero(~(excess <= slack))
    order: Indices = np.argsort(-np.nan_to_num(excess[i, j], nan=np.inf), kind="stable")
    return [Violation(axiom, (int(i[t]), int(j[t])), text(int(i[t]), int(j[t]))) for t in order]


def _triples(D: Matrix, slack: float) -> tuple[int, list[Violation]]:
    """How many triples break the triangle inequality, and the worst of them; one table (n, n) per object between."""
    count, worst = 0, list[tuple[float, int, int, int]]()
    for y in range(len(D)):
        excess = D - (D[:, y, None] + D[y])
        excess[y] = 0.0
        excess[:, y] = 0.0
        np.fill_diagonal(excess, 0.0)
        x, z = np.nonzero(excess > slack)
        count += len(x)
        order = np.argsort(-excess[x, z], kind="stable")[:MAX_SHOWN]
        worst += [(-float(excess[x[t], z[t]]), int(x[t]), y, int(z[t])) for t in order]
    shown = sorted(worst)[:MAX_SHOWN]
    return count, [
        Violation(
            "triangle inequality",
            (x, y, z),
            f"d({x}, {z}) = {D[x, z]:.6g} > d({x}, {y}) + d({y}, {z}) = {D[x, y]:.6g} + {D[y, z]:.6g}",
        )
        for _, x, y, z in shown
    ]
