"""Structured variational inference: blocks of variables are independent of each other, and whole within.

    log q_B(x_B) = sum over the factors that touch B of E_{q of the other blocks}[log factor] + constant

The right-hand side is a product of factors over the block, so q_B is found exactly by a junction tree: rows of a grid
as chains, say. Each update raises the lower bound on log Z that mean_field.py has; blocks of one variable are mean
field, and one block of all variables is exact.

Saul & Jordan (1996).
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from typing import Any

import numpy as np

from fivefold.core.types import Doubles
from fivefold.inference.approximate.mean_field import LOG_FLOOR, VariationalFit
from fivefold.inference.factors.factor import Factor
from fivefold.inference.factors.junction_tree import JunctionTree


@dataclass
class _Block:
    """Variables that are kept together, the factors around them, and what is believed of them."""

    touching: list[tuple[int, tuple[int, ...]]]  # factors, and their variables that are in the block
    tree: JunctionTree
    parts: dict[int, Doubles]  # by factor: probabilities of its variables in the block
    entropy: float


def structured_variational(
    factors: Sequence[Factor],
    cards: Sequence[int],
    blocks: Sequence[Sequence[int]],
    evidence: Mapping[int, int] | None = None,
    *,
    tol: float = 1e-9,
    max_rounds: int = 200,
) -> VariationalFit:
    """The best product of distributions of these blocks that coordinate ascent finds from a uniform start.

    Variables of no block are blocks of their own.

    Examples
    --------
    >>> agree = np.array([[2.0, 1.0], [1.0, 2.0]])
    >>> square = [Factor(pair, agree) for pair in ((0, 1), (2, 3), (0, 2), (1, 3))]
    >>> fit = structured_variational([*square, Factor((0,), np.array([3.0, 1.0]))], (2,) * 4, [(0, 1), (2, 3)])
    >>> fit.converged, len(fit.marginals)
    (True, 4)
    """
    observed = dict(evidence or {})
    given = [factor.condition(observed) for factor in factors]
    if dead := [k for k, factor in enumerate(given) if not factor.table.any()]:
        raise ValueError(f"the evidence has probability zero: factor {dead[0]} is zero there")
    free = [v for v in range(len(cards)) if v not in observed]
    given += [Factor((v,), np.ones(cards[v])) for v in free]  # every variable has a factor, in its block's tree
    logs = [_floored_log(factor.table) for factor in given]
    state = _make_blocks(given, cards, _cover(blocks, free))
    around = [[block for block in state if k in block.parts] for k in range(len(given))]
    bounds: list[float] = []
    while len(bounds) < max_rounds and (len(bounds) < 2 or bounds[-1] - bounds[-2] > tol * max(1.0, abs(bounds[-1]))):
        for block in state:
            _update(block, around, given, logs)
        energies = (_expected(k, given, logs, around[k], None) for k in range(len(given)))
        bounds.append(float(sum(float(e) for e in energies) + sum(block.entropy for block in state)))
    converged = len(bounds) < max_rounds or bounds[-1] - bounds[-2] <= tol * max(1.0, abs(bounds[-1]))
    marginals = [np.eye(cards[v])[observed[v]] if v in observed else np.empty(0) for v in range(len(cards))]
    for block in state:
        for k, scope in block.touching:
            if k >= len(factors):
                marginals[scope[0]] = block.parts[k]
    return VariationalFit(tuple(marginals), bounds[-1], tuple(bounds), converged)


def _cover(blocks: Sequence[Sequence[int]], free: Sequence[int]) -> list[set[int]]:
    chosen = [set(block) for block in blocks]
    together = [v for block in chosen for v in block]
    if len(set(together)) < len(together) or not set(together) <= set(free):
        raise ValueError("blocks have to be disjoint sets of variables that are not observed")
    return chosen + [{v} for v in free if v not in set(together)]


def _make_blocks(given: Sequence[Factor], cards: Sequence[int], blocks: Sequence[set[int]]) -> list[_Block]:
    found = []
    for block in blocks:
        touching = [
            (k, scope) for k, factor in enumerate(given) if (scope := tuple(v for v in factor.variables if v in block))
        ]
        shapes = {k: tuple(cards[v] for v in scope) for k, scope in touching}
        parts = {k: np.full(shape, 1.0 / np.prod(shape)) for k, shape in shapes.items()}
        tree = JunctionTree([scope for _, scope in touching], cards)
        found.append(_Block(touching, tree, parts, 0.0))
    return found


def _update(
    block: _Block, around: Sequence[Sequence[_Block]], given: Sequence[Factor], logs: Sequence[Doubles]
) -> None:
    """The best distribution of a block given those of the others; `around`: the blocks that each factor touches."""
    expected = [_expected(k, given, logs, around[k], block) for k, _ in block.touching]
    tops = [float(table.max()) for table in expected]
    local = [
        Factor(scope, np.exp(table - top))
        for (_, scope), table, top in zip(block.touching, expected, tops, strict=True)
    ]
    calibration = block.tree.calibrate(local)
    block.parts = {k: calibration.factor_marginal(at).table for at, (k, _) in enumerate(block.touching)}
    energy = sum(float((block.parts[k] * e).sum()) for (k, _), e in zip(block.touching, expected, strict=True))
    block.entropy = calibration.log_partition + sum(tops) - energy


def _expected(
    k: int, given: Sequence[Factor], logs: Sequence[Doubles], blocks: Sequence[_Block], kept: _Block | None
) -> Doubles:
    """The expected log of a factor over the blocks other than `kept`: a table over what is left."""
    variables = given[k].variables
    operands: list[Any] = [logs[k], list(variables)]
    left = list(variables)
    for block in blocks:
        if block is not kept:
            scope = [v for v in variables if v in block.tree.cards]
            operands += [block.parts[k], scope]
            left = [v for v in left if v not in scope]
    axis = {v: i for i, v in enumerate(variables)}  # einsum numbers axes from 0 to 51
    renamed: list[Any] = [[axis[v] for v in entry] if isinstance(entry, list) else entry for entry in operands]
    einsum: Any = np.einsum  # whose types know no lists of axes
    found: Doubles = np.asarray(einsum(*renamed, [axis[v] for v in left]))
    return found


def _floored_log(table: Doubles) -> Doubles:
    with np.errstate(divide="ignore"):
        logs = np.log(table)
    floored: Doubles = np.maximum(logs, logs.max() + LOG_FLOOR)
    return floored
