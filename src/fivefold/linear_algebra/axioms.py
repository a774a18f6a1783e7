"""Axioms tried on examples: vector spaces, norms, metrics and linear maps.

    vector space   (u + v) + w = u + (v + w)    u + v = v + u        u + 0 = u              u + (-u) = 0
                   a(u + v) = au + av           (a + b)u = au + bu   a(bu) = (ab)u          1u = u
    norm           |x + y| <= |x| + |y|         |ax| = |a||x|        |x| > 0 for x != 0
    metric         d(x, y) >= 0                 d(x, y) = 0 only for x = y
                   d(x, y) = d(y, x)            d(x, z) <= d(x, y) + d(y, z)
    from a norm    d(x + z, y + z) = d(x, y)    d(ax, ay) = |a| d(x, y)
    linear map     f(x + y) = f(x) + f(y)       f(ax) = a f(x)

An axiom that fails comes with the example on which it fails, which is a proof. One that holds has held on every example
drawn, up to rounding, which is evidence. A norm gives the metric d(x, y) = |x - y|; a metric comes from a norm exactly
if it is invariant under translation and homogeneous, and then |x| = d(x, 0).

The zero and the negative of a vector are given by `zero` and `negative` or, without them, searched for: in a vector
space 0u is the zero and (-1)u the negative of u, whatever addition and multiplication are.
"""

from __future__ import annotations

import operator
from collections.abc import Callable, Iterator, Mapping, Sequence
from dataclasses import dataclass
from typing import Any

import numpy as np
from numpy.typing import ArrayLike

from fivefold.core.types import Array

DRAWS = 200  # examples tried: triples of vectors, each with two scalars
SCALARS = (-2.0, -1.0, -0.5, 0.0, 0.25, 1.0, 3.0)
TOL = 1e-9  # relative difference that counts as rounding: a few operations on numbers of 16 digits

Vector = Any  # whatever the given addition adds
Sides = tuple[Any, Any]


@dataclass(frozen=True)
class Axiom:
    """One axiom: whether it holds, its largest violation, and an example where it fails."""

    name: str
    statement: str
    holds: bool
    gap: float  # largest difference of the two sides, relative to their size; infinite where a side does not exist
    example: Mapping[str, Any] | None = None  # the first example on which it fails

    def __str__(self) -> str:
        line = f"{'holds' if self.holds else 'FAILS'}  {self.name}: {self.statement}"
        if self.example is None:
            return line
        return (
            line + "; not for " + ", ".join(f"{name} = {_abbreviated(value)}" for name, value in self.example.items())
        )


@dataclass(frozen=True)
class AxiomReport:
    """The verdict on each axiom after `draws` examples; `closure` tells whether results stay in the set."""

    subject: str
    axioms: tuple[Axiom, ...]
    draws: int
    closure: tuple[Axiom, ...] = ()

    @property
    def holds(self) -> bool:
        """Does every axiom hold on every example?"""
        return not self.failures

    @property
    def failures(self) -> tuple[str, ...]:
        """Names of the axioms that fail, those of closure last."""
        return tuple(axiom.name for axiom in (*self.axioms, *self.closure) if not axiom.holds)

    def __getitem__(self, name: str) -> Axiom:
        found = {axiom.name: axiom for axiom in (*self.axioms, *self.closure)}
        if name not in found:
            raise KeyError(f"no axiom is called {name!r}; there are {', '.join(found)}")
        return found[name]

    def __str__(self) -> str:
        verdict = f"{self.subject}: "
        verdict += "every axiom holds" if self.holds else f"fails {', '.join(self.failures)}"
        return "\n".join([f"{verdict} ({self.draws} examples)", *(f"  {a}" for a in (*self.axioms, *self.closure))])


def vector_space_axioms(
    vectors: Sequence[Vector],
    *,
    add: Callable[[Vector, Vector], Vector] = operator.add,
    multiply: Callable[[float, Vector], Vector] = operator.mul,
    member: Callable[[Vector], bool] | None = None,
    zero: Vector = None,
    negative: Callable[[Vector], Vector] | None = None,
    scalars: Sequence[float] = SCALARS,
    draws: int = DRAWS,
    tol: float = TOL,
    seed: int = 0,
) -> AxiomReport:
    """The eight axioms of a vector space, for any addition and multiplication by numbers.

    Parameters
    ----------
    vectors
        Samples of the set; sums and multiples are formed from these.
    add, multiply
        u + v and a u; by default those of NumPy.
    member
        Is a vector in the set? The zero, the negatives, the sums and the multiples must be; by default anything is.
    zero, negative
        The zero and the negative of a vector, if they are not 0u and (-1)u.
    scalars
        Numbers to multiply with.
    draws, tol, seed
        Number of examples, relative difference that counts as rounding, and the seed of the examples.

    Examples
    --------
    >>> rng = np.random.default_rng(0)
    >>> print(vector_space_axioms(rng.normal(size=(20, 3))))
    a set with addition and multiplication: every axiom holds (200 examples)
      holds  associativity: (u + v) + w = u + (v + w)
      ...
    >>> positive = rng.uniform(0, 1, size=(20, 3))
    >>> orthant = vector_space_axioms(positive, member=lambda u: (u >= 0).all())
    >>> orthant.failures
    ('inverse', 'closure under scalars')

    Positive numbers with u v for addition and u^a for multiplication are a vector space, and its zero is 1.

    >>> vector_space_axioms(rng.uniform(1, 9, size=20), add=operator.mul, multiply=lambda a, u: u**a).holds
    True
    """
    samples = _samples(vectors)
    inside = member or (lambda u: True)
    origin, found_zero = _zero(samples, add, multiply, zero, inside, tol)
    opposite = _negative(add, multiply, negative, origin, inside, tol)
    drawn = list(_draw_examples(samples, scalars, draws, seed))

    def verdict(name: str, statement: str, sides: Callable[..., Sides], *letters: str) -> Axiom:
        return _axiom_verdict(
            name, statement, ((_pick(d, letters), sides(*(d[k] for k in letters))) for d in drawn), tol
        )

    axioms = (
        verdict("associativity", "(u + v) + w = u + (v + w)",
               lambda u, v, w: (add(add(u, v), w), add(u, add(v, w))), "u", "v", "w"),
        verdict("commutativity", "u + v = v + u", lambda u, v: (add(u, v), add(v, u)), "u", "v"),
        verdict("zero", "u + 0 = u for one 0 of the set",
               lambda u: (add(u, origin) if found_zero else None, u), "u"),
        verdict("inverse", "u + (-u) = 0 for a -u of the set",
               lambda u: (add(u, opposite(u)) if opposite(u) is not None else None, origin), "u"),
        verdict("distributivity over vectors", "a(u + v) = au + av",
               lambda a, u, v: (multiply(a, add(u, v)), add(multiply(a, u), multiply(a, v))), "a", "u", "v"),
        verdict("distributivity over scalars", "(a + b)u = au + bu",
               lambda a, b, u: (multiply(a + b, u), add(multiply(a, u), multiply(b, u))), "a", "b", "u"),
        verdict("associativity over scalars", "a(bu) = (ab)u",
               lambda a, b, u: (multiply(a, multiply(b, u)), multiply(a * b, u)), "a", "b", "u"),
        verdict("unit scalar", "1u = u", lambda u: (multiply(1.0, u), u), "u"),
    )  # fmt: skip
    stays = (
        _true("closure under addition", "u + v is in the set", drawn, ("u", "v"), lambda u, v: inside(add(u, v))),
        _true("closure under scalars", "au is in the set", drawn, ("a", "u"), lambda a, u: inside(multiply(a, u))),
    )
    return AxiomReport("a set with addition and multiplication", axioms, len(drawn), stays)


def norm_axioms(
    norm: Callable[[Array], float],
    vectors: Any,
    *,
    scalars: Sequence[float] = SCALARS,
    draws: int = DRAWS,
    tol: float = TOL,
    seed: int = 0,
) -> AxiomReport:
    """Triangle inequality, absolute homogeneity and positivity of a norm.

    Examples
    --------
    >>> X = np.random.default_rng(0).normal(size=(20, 3))
    >>> norm_axioms(np.linalg.norm, X).holds
    True
    >>> norm_axioms(lambda x: np.sqrt(np.abs(x)).sum() ** 2, X).failures
    ('triangle inequality',)
    """
    drawn = list(_draw_examples(_rows(vectors), scalars, draws, seed))
    origin = np.zeros_like(drawn[0]["u"])
    axioms = (
        _below(
            "triangle inequality", "|x + y| <= |x| + |y|", drawn, ("x", "y"),
            lambda x, y: (norm(x + y), norm(x) + norm(y)), tol,
        ),
        _equal(
            "absolute homogeneity", "|ax| = |a| |x|", drawn, ("a", "x"),
            lambda a, x: (norm(a * x), abs(a) * norm(x)), tol,
        ),
        _true(
            "positivity", "|x| > 0 for x != 0, |0| = 0", drawn, ("x",),
            lambda x: abs(norm(origin)) <= tol and (norm(x) > 0 or not np.any(x)),
        ),
    )  # fmt: skip
    return AxiomReport("a norm", axioms, len(drawn))


def metric_axioms(
    metric: Callable[[Array, Array], float], points: Any, *, draws: int = DRAWS, tol: float = TOL, seed: int = 0
) -> AxiomReport:
    """Non-negativity, identity, symmetry and triangle inequality of a metric.

    Examples
    --------
    >>> X = np.random.default_rng(0).normal(size=(20, 3))
    >>> metric_axioms(discrete_metric, X).holds
    True
    >>> metric_axioms(lambda x, y: ((x - y) ** 2).sum(), X).failures
    ('triangle inequality',)
    """
    drawn = list(_draw_examples(_rows(points), (1.0,), draws, seed))
    axioms = (
        _true("non-negativity", "d(x, y) >= 0", drawn, ("x", "y"), lambda x, y: metric(x, y) >= 0),
        _true(
            "identity", "d(x, y) = 0 for x = y and for no others", drawn, ("x", "y"),
            lambda x, y: abs(metric(x, x)) <= tol and (metric(x, y) > 0 or np.array_equal(x, y)),
        ),
        _equal("symmetry", "d(x, y) = d(y, x)", drawn, ("x", "y"), lambda x, y: (metric(x, y), metric(y, x)), tol),
        _below(
            "triangle inequality", "d(x, z) <= d(x, y) + d(y, z)", drawn, ("x", "y", "z"),
            lambda x, y, z: (metric(x, z), metric(x, y) + metric(y, z)), tol,
        ),
    )  # fmt: skip
    return AxiomReport("a metric", axioms, len(drawn))


def norm_metric_axioms(
    metric: Callable[[Array, Array], float],
    points: Any,
    *,
    scalars: Sequence[float] = SCALARS,
    draws: int = DRAWS,
    tol: float = TOL,
    seed: int = 0,
) -> AxiomReport:
    """The axioms of a metric and the two more of one that comes from a norm: then |x| = d(x, 0) is that norm.

    Examples
    --------
    >>> X = np.random.default_rng(0).normal(size=(20, 3))
    >>> norm_metric_axioms(induced_metric(np.linalg.norm), X).holds
    True
    >>> norm_metric_axioms(discrete_metric, X).failures
    ('homogeneity',)
    """
    drawn = list(_draw_examples(_rows(points), scalars, draws, seed))
    besides = (
        _equal(
            "translation invariance", "d(x + z, y + z) = d(x, y)", drawn, ("x", "y", "z"),
            lambda x, y, z: (metric(x + z, y + z), metric(x, y)), tol,
        ),
        _equal(
            "homogeneity", "d(ax, ay) = |a| d(x, y)", drawn, ("a", "x", "y"),
            lambda a, x, y: (metric(a * x, a * y), abs(a) * metric(x, y)), tol,
        ),
    )  # fmt: skip
    common = metric_axioms(metric, points, draws=draws, tol=tol, seed=seed)
    return AxiomReport("a metric from a norm", (*common.axioms, *besides), len(drawn))


def linearity_axioms(
    f: Callable[[Array], Any],
    vectors: Any,
    *,
    scalars: Sequence[float] = SCALARS,
    draws: int = DRAWS,
    tol: float = TOL,
    seed: int = 0,
) -> AxiomReport:
    """Is f linear: f(x + y) = f(x) + f(y) and f(ax) = a f(x)?

    Examples
    --------
    >>> X = np.random.default_rng(0).normal(size=(20, 2))
    >>> linearity_axioms(lambda x: np.array([x[0] + x[1], 2 * x[0]]), X).holds
    True
    >>> linearity_axioms(lambda x: x + 1, X).failures
    ('additivity', 'homogeneity')
    >>> linearity_axioms(lambda x: np.linalg.norm(x), X, scalars=(1, 2)).failures
    ('additivity',)
    """
    drawn = list(_draw_examples(_rows(vectors), scalars, draws, seed))
    axioms = (
        _equal("additivity", "f(x + y) = f(x) + f(y)", drawn, ("x", "y"), lambda x, y: (f(x + y), f(x) + f(y)), tol),
        _equal("homogeneity", "f(ax) = a f(x)", drawn, ("a", "x"), lambda a, x: (f(a * x), a * np.asarray(f(x))), tol),
    )
    return AxiomReport("a linear map", axioms, len(drawn))


def induced_metric(norm: Callable[[Array], float]) -> Callable[[Any, Any], float]:
    """The metric of a norm, d(x, y) = |x - y|.

    Examples
    --------
    >>> induced_metric(np.linalg.norm)([1, 1], [4, 5])
    5.0
    """
    return lambda x, y: float(norm(np.subtract(x, y)))


def discrete_metric(x: ArrayLike, y: ArrayLike) -> float:
    """0 for equal points, 1 for others: a metric that comes from no norm.

    Examples
    --------
    >>> discrete_metric([1, 2], [1, 2]), discrete_metric([1, 2], [1, 3])
    (0.0, 1.0)
    """
    return float(not np.array_equal(x, y))


def _samples(vectors: Sequence[Vector]) -> list[Vector]:
    samples = list(vectors)
    if not samples:
        raise ValueError("no vectors were given; axioms are tried on samples of the set, so give a few")
    return samples


def _rows(vectors: Any) -> list[Array]:
    samples: list[Array] = [np.asarray(v, dtype=np.float64) for v in _samples(vectors)]
    if len({v.shape for v in samples}) > 1:
        raise ValueError(f"vectors must have one size; got {sorted({v.shape for v in samples})}")
    return samples


def _draw_examples(samples: list[Vector], scalars: Sequence[float], draws: int, seed: int) -> Iterator[dict[str, Any]]:
    """Vectors u v w, also called x y z, and numbers a b. The first examples use every sample in turn."""
    rng = np.random.default_rng(seed)
    n = len(samples)
    for i in range(max(draws, n)):
        picked = [i % n, *rng.integers(n, size=2).tolist()]
        u, v, w = (samples[j] for j in picked)
        a, b = (float(scalars[j]) for j in (i % len(scalars), int(rng.integers(len(scalars)))))
        yield {"u": u, "v": v, "w": w, "x": u, "y": v, "z": w, "a": a, "b": b}


def _pick(drawn: Mapping[str, Any], letters: Sequence[str]) -> dict[str, Any]:
    return {letter: drawn[letter] for letter in letters}


def _axiom_verdict(name: str, statement: str, cases: Any, tol: float) -> Axiom:
    """Equality of two sides in every case; the example kept is the first that fails."""
    worst, example = 0.0, None
    for values, (left, right) in cases:
        gap = _gap(left, right)
        worst = max(worst, gap)
        if example is None and not gap <= tol:
            example = values
    return Axiom(name, statement, example is None, worst, example)


def _equal(
    name: str,
    statement: str,
    drawn: list[dict[str, Any]],
    letters: Sequence[str],
    sides: Callable[..., Sides],
    tol: float,
) -> Axiom:
    return _axiom_verdict(name, statement, ((_pick(d, letters), sides(*(d[k] for k in letters))) for d in drawn), tol)


def _below(
    name: str,
    statement: str,
    drawn: list[dict[str, Any]],
    letters: Sequence[str],
    sides: Callable[..., Sides],
    tol: float,
) -> Axiom:
    """The left side is at most the right: its excess is the gap."""

    def clipped(left: float, right: float) -> Sides:
        return max(left, right), right

    return _axiom_verdict(
        name, statement, ((_pick(d, letters), clipped(*sides(*(d[k] for k in letters)))) for d in drawn), tol
    )


def _true(
    name: str, statement: str, drawn: list[dict[str, Any]], letters: Sequence[str], question: Callable[..., Any]
) -> Axiom:
    example = next((_pick(d, letters) for d in drawn if not question(*(d[k] for k in letters))), None)
    return Axiom(name, statement, example is None, 0.0 if example is None else np.inf, example)


def _gap(left: Any, right: Any) -> float:
    """Largest difference relative to the size of the sides; infinite where they cannot be compared."""
    if left is None or right is None:
        return np.inf
    one, other = np.asarray(left), np.asarray(right)
    if one.shape != other.shape:
        return np.inf
    size = max(float(np.abs(one).max(initial=0)), float(np.abs(other).max(initial=0)))
    gap = float(np.abs(one - other).max(initial=0))
    return gap / max(size, 1e-6) if np.isfinite(gap) else np.inf


def _zero(
    samples: list[Vector], add: Any, multiply: Any, zero: Vector, inside: Callable[[Vector], bool], tol: float
) -> tuple[Vector, bool]:
    """A vector of the set that changes no sample when added, and whether there is one among the candidates."""
    u = samples[0]
    candidates = [zero] if zero is not None else [multiply(0.0, u), add(u, multiply(-1.0, u)), np.zeros_like(u)]
    for candidate in candidates:
        if inside(candidate) and all(_gap(add(v, candidate), v) <= tol for v in samples):
            return candidate, True
    return candidates[0], False


def _negative(
    add: Any, multiply: Any, negative: Any, origin: Vector, inside: Callable[[Vector], bool], tol: float
) -> Callable[[Vector], Vector]:
    """u -> a vector of the set that adds up to the zero with u, or None."""

    def of(u: Vector) -> Vector:
        candidates = [negative(u)] if negative is not None else [multiply(-1.0, u), np.negative(u)]
        fitting = (v for v in candidates if inside(v) and _gap(add(u, v), origin) <= tol)
        return next(fitting, None)

    return of


def _abbreviated(value: Any) -> str:
    return np.array2string(np.asarray(value), precision=3, separator=", ", threshold=6, edgeitems=2)
