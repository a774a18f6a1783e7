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
from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass
from typing import Any, Self, TypeAlias, TypedDict, Unpack

import numpy as np
from numpy.typing import ArrayLike

from fivefold.core.types import Array

DRAWS = 200  # examples tried: triples of vectors, each with two scalars
SCALARS = (-2.0, -1.0, -0.5, 0.0, 0.25, 1.0, 3.0)  # both signs, fractions, and the special numbers -1, 0, 1
TOL = 1e-9  # relative difference that counts as rounding: a few operations on numbers of 16 digits

Element: TypeAlias = Any  # of the set: whatever the given addition adds
Addition: TypeAlias = Callable[[Element, Element], Element]
Multiplication: TypeAlias = Callable[[float, Element], Element]
Sides: TypeAlias = tuple[Any, Any]  # left and right of an equation: numbers, elements or arrays


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


class TrialOptions(TypedDict, total=False):
    """How axioms are tried."""

    scalars: Sequence[float]  # numbers to multiply with; by default SCALARS
    draws: int  # number of examples; by default DRAWS
    tol: float  # relative difference that counts as rounding; by default TOL
    seed: int  # of the examples; by default 0


@dataclass(frozen=True)
class Trials:
    """Examples on which axioms are tried, and the relative difference that counts as rounding.

    An example holds vectors u v w, also called x y z, and numbers a b; an axiom names the letters it is about.
    """

    examples: list[dict[str, Any]]
    tol: float

    @classmethod
    def draw(
        cls,
        samples: list[Element],
        *,
        scalars: Sequence[float] = SCALARS,
        draws: int = DRAWS,
        tol: float = TOL,
        seed: int = 0,
    ) -> Self:
        """Draw the examples; the first ones use every sample in turn."""
        rng = np.random.default_rng(seed)
        n, examples = len(samples), []
        for i in range(max(draws, n)):
            picked = [i % n, *rng.integers(n, size=2).tolist()]
            u, v, w = (samples[j] for j in picked)
            a, b = (float(scalars[j]) for j in (i % len(scalars), int(rng.integers(len(scalars)))))
            examples.append({"u": u, "v": v, "w": w, "x": u, "y": v, "z": w, "a": a, "b": b})
        return cls(examples, tol)

    def equal(self, name: str, statement: str, letters: str, sides: Callable[..., Sides]) -> Axiom:
        """Are the two sides equal on every example?"""
        worst, counterexample = 0.0, None
        for values in self._values(letters):
            gap = _gap(*sides(*values.values()))
            worst = max(worst, gap)
            if counterexample is None and not gap <= self.tol:
                counterexample = values
        return Axiom(name, statement, counterexample is None, worst, counterexample)

    def at_most(self, name: str, statement: str, letters: str, sides: Callable[..., tuple[float, float]]) -> Axiom:
        """Is the left side at most the right on every example? Its excess is the gap."""

        def clipped(*values: Any) -> Sides:
            left, right = sides(*values)
            return max(left, right), right

        return self.equal(name, statement, letters, clipped)

    def true(self, name: str, statement: str, letters: str, question: Callable[..., Any]) -> Axiom:
        """Is the answer to the question yes on every example?"""
        counterexample = next((values for values in self._values(letters) if not question(*values.values())), None)
        holds = counterexample is None
        return Axiom(name, statement, holds, 0.0 if holds else np.inf, counterexample)

    def _values(self, letters: str) -> Iterator[dict[str, Any]]:
        return ({letter: example[letter] for letter in letters} for example in self.examples)


def vector_space_axioms(
    vectors: Sequence[Element],
    *,
    add: Addition = operator.add,
    multiply: Multiplication = operator.mul,
    member: Callable[[Element], bool] | None = None,
    zero: Element = None,
    negative: Callable[[Element], Element] | None = None,
    **options: Unpack[TrialOptions],
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
    trials = Trials.draw(samples, **options)
    origin, found_zero = _zero(samples, add, multiply, zero, inside, trials.tol)
    opposite = _negative(add, multiply, negative, origin, inside, trials.tol)
    axioms = (
        trials.equal("associativity", "(u + v) + w = u + (v + w)", "uvw",
                     lambda u, v, w: (add(add(u, v), w), add(u, add(v, w)))),
        trials.equal("commutativity", "u + v = v + u", "uv", lambda u, v: (add(u, v), add(v, u))),
        trials.equal("zero", "u + 0 = u for one 0 of the set", "u",
                     lambda u: (add(u, origin) if found_zero else None, u)),
        trials.equal("inverse", "u + (-u) = 0 for a -u of the set", "u",
                     lambda u: (add(u, opposite(u)) if opposite(u) is not None else None, origin)),
        trials.equal("distributivity over vectors", "a(u + v) = au + av", "auv",
                     lambda a, u, v: (multiply(a, add(u, v)), add(multiply(a, u), multiply(a, v)))),
        trials.equal("distributivity over scalars", "(a + b)u = au + bu", "abu",
                     lambda a, b, u: (multiply(a + b, u), add(multiply(a, u), multiply(b, u)))),
        trials.equal("associativity over scalars", "a(bu) = (ab)u", "abu",
                     lambda a, b, u: (multiply(a, multiply(b, u)), multiply(a * b, u))),
        trials.equal("unit scalar", "1u = u", "u", lambda u: (multiply(1.0, u), u)),
    )  # fmt: skip
    closure = (
        trials.true("closure under addition", "u + v is in the set", "uv", lambda u, v: inside(add(u, v))),
        trials.true("closure under scalars", "au is in the set", "au", lambda a, u: inside(multiply(a, u))),
    )
    return AxiomReport("a set with addition and multiplication", axioms, len(trials.examples), closure)


def norm_axioms(
    norm: Callable[[Array], float],
    vectors: Iterable[ArrayLike],
    **options: Unpack[TrialOptions],
) -> AxiomReport:
    """Triangle inequality, absolute homogeneity and positivity of a norm.

    Options are those of `TrialOptions`.

    Examples
    --------
    >>> X = np.random.default_rng(0).normal(size=(20, 3))
    >>> norm_axioms(np.linalg.norm, X).holds
    True
    >>> norm_axioms(lambda x: np.sqrt(np.abs(x)).sum() ** 2, X).failures
    ('triangle inequality',)
    """
    trials = Trials.draw(_rows(vectors), **options)
    origin = np.zeros_like(trials.examples[0]["u"])
    axioms = (
        trials.at_most("triangle inequality", "|x + y| <= |x| + |y|", "xy",
                       lambda x, y: (norm(x + y), norm(x) + norm(y))),
        trials.equal("absolute homogeneity", "|ax| = |a| |x|", "ax",
                     lambda a, x: (norm(a * x), abs(a) * norm(x))),
        trials.true("positivity", "|x| > 0 for x != 0, |0| = 0", "x",
                    lambda x: abs(norm(origin)) <= trials.tol and (norm(x) > 0 or not np.any(x))),
    )  # fmt: skip
    return AxiomReport("a norm", axioms, len(trials.examples))


def metric_axioms(
    metric: Callable[[Array, Array], float],
    points: Iterable[ArrayLike],
    *,
    draws: int = DRAWS,
    tol: float = TOL,
    seed: int = 0,
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
    trials = Trials.draw(_rows(points), scalars=(1.0,), draws=draws, tol=tol, seed=seed)
    axioms = (
        trials.true("non-negativity", "d(x, y) >= 0", "xy", lambda x, y: metric(x, y) >= 0),
        trials.true("identity", "d(x, y) = 0 for x = y and for no others", "xy",
                    lambda x, y: abs(metric(x, x)) <= tol and (metric(x, y) > 0 or np.array_equal(x, y))),
        trials.equal("symmetry", "d(x, y) = d(y, x)", "xy", lambda x, y: (metric(x, y), metric(y, x))),
        trials.at_most("triangle inequality", "d(x, z) <= d(x, y) + d(y, z)", "xyz",
                       lambda x, y, z: (metric(x, z), metric(x, y) + metric(y, z))),
    )  # fmt: skip
    return AxiomReport("a metric", axioms, len(trials.examples))


def norm_metric_axioms(
    metric: Callable[[Array, Array], float],
    points: Iterable[ArrayLike],
    **options: Unpack[TrialOptions],
) -> AxiomReport:
    """The axioms of a metric and the two more of one that comes from a norm: then |x| = d(x, 0) is that norm.

    Options are those of `TrialOptions`.

    Examples
    --------
    >>> X = np.random.default_rng(0).normal(size=(20, 3))
    >>> norm_metric_axioms(induced_metric(np.linalg.norm), X).holds
    True
    >>> norm_metric_axioms(discrete_metric, X).failures
    ('homogeneity',)
    """
    trials = Trials.draw(_rows(points), **options)
    further = (
        trials.equal("translation invariance", "d(x + z, y + z) = d(x, y)", "xyz",
                     lambda x, y, z: (metric(x + z, y + z), metric(x, y))),
        trials.equal("homogeneity", "d(ax, ay) = |a| d(x, y)", "axy",
                     lambda a, x, y: (metric(a * x, a * y), abs(a) * metric(x, y))),
    )  # fmt: skip
    draws, tol, seed = options.get("draws", DRAWS), options.get("tol", TOL), options.get("seed", 0)
    common = metric_axioms(metric, points, draws=draws, tol=tol, seed=seed)
    return AxiomReport("a metric from a norm", (*common.axioms, *further), len(trials.examples))


def linearity_axioms(
    f: Callable[[Array], Any],
    vectors: Iterable[ArrayLike],
    **options: Unpack[TrialOptions],
) -> AxiomReport:
    """Is f linear: f(x + y) = f(x) + f(y) and f(ax) = a f(x)?

    Options are those of `TrialOptions`.

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
    trials = Trials.draw(_rows(vectors), **options)
    axioms = (
        trials.equal("additivity", "f(x + y) = f(x) + f(y)", "xy", lambda x, y: (f(x + y), f(x) + f(y))),
        trials.equal("homogeneity", "f(ax) = a f(x)", "ax", lambda a, x: (f(a * x), a * np.asarray(f(x)))),
    )
    return AxiomReport("a linear map", axioms, len(trials.examples))


def induced_metric(norm: Callable[[Array], float]) -> Callable[[ArrayLike, ArrayLike], float]:
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


def _samples(vectors: Iterable[Element]) -> list[Element]:
    samples = list(vectors)
    if not samples:
        raise ValueError("no vectors were given; axioms are tried on samples of the set, so give a few")
    return samples


def _rows(vectors: Iterable[ArrayLike]) -> list[Array]:
    samples: list[Array] = [np.asarray(v, dtype=np.float64) for v in _samples(vectors)]
    if len({v.shape for v in samples}) > 1:
        raise ValueError(f"vectors must have one size; got {sorted({v.shape for v in samples})}")
    return samples


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
    samples: list[Element],
    add: Addition,
    multiply: Multiplication,
    zero: Element,
    inside: Callable[[Element], bool],
    tol: float,
) -> tuple[Element, bool]:
    """A vector of the set that changes no sample when added, and whether there is one among the candidates."""
    u = samples[0]
    candidates = [zero] if zero is not None else [multiply(0.0, u), add(u, multiply(-1.0, u)), np.zeros_like(u)]
    for candidate in candidates:
        if inside(candidate) and all(_gap(add(v, candidate), v) <= tol for v in samples):
            return candidate, True
    return candidates[0], False


def _negative(
    add: Addition,
    multiply: Multiplication,
    negative: Callable[[Element], Element] | None,
    origin: Element,
    inside: Callable[[Element], bool],
    tol: float,
) -> Callable[[Element], Element]:
    """u -> a vector of the set that adds up to the zero with u, or None."""

    def of(u: Element) -> Element:
        candidates = [negative(u)] if negative is not None else [multiply(-1.0, u), np.negative(u)]
        fitting = (v for v in candidates if inside(v) and _gap(add(u, v), origin) <= tol)
        return next(fitting, None)

    return of


def _abbreviated(value: Any) -> str:
    return np.array2string(np.asarray(value), precision=3, separator=", ", threshold=6, edgeitems=2)
