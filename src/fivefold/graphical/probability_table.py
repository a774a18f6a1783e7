"""Probability tables: discrete random variables with their joint distribution, and the rules of probability.

    marginal      P(x) = sum_y P(x, y)                        the sum rule
    conditional   P(x | y) = P(x, y) / P(y)                   undefined where P(y) = 0
    chain rule    P(x_1, ..., x_m) = prod_i P(x_i | x_1, ..., x_{i-1})
    Bayes' rule   P(y | x) = P(x | y) P(y) / P(x)             queries/bayes_rule.py
    independence  P(x, y) = P(x) P(y) in every cell

The table is a factor (inference/factors), whose operations all of these are; states that are numbers have expected
values, variances, covariances and correlations, in centred form.
"""

from __future__ import annotations

from collections.abc import Callable, Iterable, Mapping, Sequence
from dataclasses import dataclass
from functools import cached_property
from itertools import product
from typing import Any, Self

import numpy as np
from numpy.typing import ArrayLike

from fivefold.core.types import Doubles, UserTable, UserWeights
from fivefold.graphical.queries.bayes_rule import BayesRule, bayes_rule
from fivefold.graphical.queries.posterior import Posterior, subset
from fivefold.graphical.variables import MISSING, Evidence, State, Variables, places
from fivefold.inference.factors.factor import Factor
from fivefold.inference.factors.factor import product as factor_product

SUM_TOLERANCE = 1e-8  # by which the sum of a table may differ from one
INDEPENDENCE_TOLERANCE = 1e-10  # by which a cell may differ from the product of its marginals


@dataclass(frozen=True, eq=False)
class ProbabilityTable:
    """The joint distribution of some discrete variables; of one, its probability mass function.

    Examples
    --------
    >>> die = ProbabilityTable.of({"die": range(1, 7)}, [1 / 6] * 6)
    >>> round(die.expectation("die"), 6), round(die.variance("die"), 6), round(die.probability(lambda die: die > 4), 6)
    (3.5, 2.916667, 0.333333)
    >>> health = ProbabilityTable.of({"ill": ("no", "yes"), "test": ("-", "+")}, [[0.891, 0.099], [0.001, 0.009]])
    >>> print(health.given(test="+"))
    P(ill | test=+)
      no   0.916667
      yes  0.0833333
    """

    variables: Variables
    factor: Factor  # over the variables 0, 1, ..., in this order

    def __post_init__(self) -> None:
        table = self.factor.table
        if self.factor.variables != tuple(range(len(self.variables.nodes))) or table.shape != self.variables.cards:
            raise ValueError(
                f"a table of {', '.join(self.variables.nodes)} has the shape {self.variables.cards}; got {table.shape}"
            )
        if not np.isfinite(table).all() or table.min() < 0:
            raise ValueError("probabilities must be numbers of at least 0")
        if abs(float(table.sum()) - 1) > SUM_TOLERANCE:
            raise ValueError(f"probabilities must sum to 1; their sum is {float(table.sum()):g}")

    @classmethod
    def of(cls, states: Mapping[str, Iterable[State]], table: ArrayLike) -> Self:
        """A table from the states of each variable, in the order of the axes."""
        variables = Variables(tuple(states), tuple(tuple(each) for each in states.values()))
        return cls(variables, Factor(tuple(range(len(states))), np.asarray(table, dtype=float)))

    @classmethod
    def from_sample(cls, X: UserTable, sample_weight: UserWeights = None) -> Self:
        """The shares of the rows of a table; right only if the rows are a representative sample.

        >>> ProbabilityTable.from_sample({"letter": list("aaaaaaaabbabbaaaaaaa")})["a"]
        0.8
        """
        variables = Variables.from_table(X)
        codes = variables.encode(X)
        if (codes == MISSING).any():
            raise ValueError(
                "some values are missing: leave those rows out, or fit a BayesianNetwork, which takes them"
            )
        w = np.ones(len(codes)) if sample_weight is None else np.asarray(sample_weight, dtype=float)
        at = places(codes, range(len(variables.nodes)), variables.cards)
        counts = np.bincount(at, w, minlength=int(np.prod(variables.cards))).reshape(variables.cards)
        return cls(variables, Factor(tuple(range(len(variables.nodes))), counts / counts.sum()))

    @property
    def table(self) -> Doubles:
        """The probabilities, one axis per variable."""
        return self.factor.table

    @cached_property
    def posterior(self) -> Posterior:
        """The same table as the answer to a query without evidence."""
        return Posterior(self.variables, self.table)

    def __getitem__(self, states: State | tuple[State, ...] | Mapping[str, State]) -> float:
        """The probability of a state, of states in the order of the variables, or of named states."""
        return self.posterior[states]

    def __str__(self) -> str:
        return str(self.posterior)

    def probability(self, event: Callable[..., bool]) -> float:
        """The probability of an event: a function of the states, by name of variable, that says whether it occurs."""
        names = self.variables.nodes
        hit = [bool(event(**dict(zip(names, states, strict=True)))) for states in product(*self.variables.states)]
        return float(self.table.ravel()[hit].sum())

    def marginal(self, *names: str) -> ProbabilityTable:
        """The joint distribution of some of the variables, in this order."""
        kept, found = self.variables.indices(names), self.factor
        for v in set(found.variables) - set(kept):
            found = found.eliminate(v)
        return self._table(kept, found.transpose(kept))

    def given(self, evidence: Evidence | None = None, /, **states: State) -> Posterior:
        """The distribution of the other variables when some have been observed."""
        observed = {**(evidence or {}), **states}
        codes = self.variables.codes_of(observed)
        rest = self.factor.condition(codes)
        share = float(rest.table.sum())
        if not share > 0:
            raise ValueError(f"the evidence {observed} has probability zero in this table")
        return Posterior(subset(self.variables, rest.variables), rest.table / share, observed, float(np.log(share)))

    def conditional(self, names: str | Sequence[str], given: str | Sequence[str] = ()) -> Factor:
        """P(names | given) as a factor over the numbers of the variables; NaN where the condition is impossible."""
        kept, known = self.variables.indices(_tuple(names)), self.variables.indices(_tuple(given))
        joint = self._summed((*kept, *known))
        below = self._summed(known)
        with np.errstate(divide="ignore", invalid="ignore"):
            return Factor(joint.variables, joint.table / below.aligned(joint.variables))

    def chain(self, *order: str) -> list[Factor]:
        """The factors P(x_1), P(x_2 | x_1), ... of the chain rule; their product is the table, in any order."""
        names = order or self.variables.nodes
        return [self.conditional(name, names[:i]) for i, name in enumerate(names)]

    def from_chain(self, factors: Iterable[Factor]) -> ProbabilityTable:
        """The joint table of factors over the same variables: the product rule."""
        plain = (Factor(f.variables, np.nan_to_num(f.table, nan=0.0)) for f in factors)  # impossible conditions
        return ProbabilityTable(self.variables, factor_product(plain).transpose(range(len(self.variables.nodes))))

    def independent(
        self,
        first: str | Sequence[str],
        second: str | Sequence[str],
        given: str | Sequence[str] = (),
        *,
        tolerance: float = INDEPENDENCE_TOLERANCE,
    ) -> bool:
        """Is P(first, second | given) the product of P(first | given) and P(second | given), in every cell?"""
        a, b, c = (self.variables.indices(_tuple(names)) for names in (first, second, given))
        joint = self._summed((*a, *b, *c)).multiply(self._summed(c))
        apart = self._summed((*a, *c)).multiply(self._summed((*b, *c)))
        return bool(np.abs(joint.table - apart.aligned(joint.variables)).max() <= tolerance)

    def bayes(self, hypothesis: str, evidence: Evidence) -> BayesRule:
        """Prior, likelihood, evidence and posterior of every state of a variable, by name."""
        return bayes_rule(self.posterior, hypothesis, evidence)

    def expectation(self, of: str | Callable[..., float]) -> float:
        """The expected value of a variable whose states are numbers, or of a function of the states by name."""
        return float((self.table * self._values(of)).sum())

    def variance(self, of: str | Callable[..., float]) -> float:
        """E[(x - E x)^2]."""
        values = self._values(of)
        mean = float((self.table * values).sum())
        return float((self.table * (values - mean) ** 2).sum())

    def covariance(self, first: str | Callable[..., float], second: str | Callable[..., float]) -> float:
        """E[(x - E x)(y - E y)]."""
        x, y = self._values(first), self._values(second)
        return float((self.table * (x - self.expectation(first)) * (y - self.expectation(second))).sum())

    def correlation(self, first: str | Callable[..., float], second: str | Callable[..., float]) -> float:
        """The covariance in units of both standard deviations, from -1 to 1; NaN if one of them is zero."""
        scale = np.sqrt(self.variance(first) * self.variance(second))
        return float(np.clip(self.covariance(first, second) / scale, -1.0, 1.0)) if scale > 0 else float("nan")

    def sample(self, n: int, seed: int | np.random.Generator = 0) -> dict[str, list[State | None]]:
        """n draws, as columns of states."""
        rng = np.random.default_rng(seed)
        at = rng.choice(self.table.size, size=n, p=self.table.ravel() / self.table.sum())
        return self.variables.decode(np.column_stack(np.unravel_index(at, self.table.shape)).astype(np.int32))

    def _summed(self, kept: tuple[int, ...]) -> Factor:
        found = self.factor
        for v in set(found.variables) - set(kept):
            found = found.eliminate(v)
        return found.transpose(kept)

    def _table(self, kept: tuple[int, ...], factor: Factor) -> ProbabilityTable:
        return ProbabilityTable(subset(self.variables, kept), Factor(tuple(range(len(kept))), factor.table))

    def _values(self, of: str | Callable[..., float]) -> Doubles:
        """The values of a variable, or of a function of the states, in a shape that multiplies the table."""
        names = self.variables.nodes
        if callable(of):
            cells = (of(**dict(zip(names, states, strict=True))) for states in product(*self.variables.states))
            return np.array([float(value) for value in cells]).reshape(self.variables.cards)
        i = self.variables.index(of)
        try:
            numbers = np.array([float(_number(state)) for state in self.variables.states[i]])
        except (TypeError, ValueError):
            raise ValueError(f"the states of {of!r} are not numbers; give a function of the states") from None
        return numbers.reshape([-1 if axis == i else 1 for axis in range(len(names))])


def _number(state: Any) -> Any:
    if isinstance(state, str):
        raise TypeError(state)
    return state


def _tuple(names: str | Sequence[str]) -> tuple[str, ...]:
    return (names,) if isinstance(names, str) else tuple(names)
