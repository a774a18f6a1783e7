"""Junction tree: all marginals of a product of factors, exactly, from one calibration.

A tree of cliques is made once for the scopes. Calibration multiplies each factor into a clique that covers it and sends
two messages over each edge, towards the root and back:

    m_{c -> p}(s) = sum over clique c outside the separator s of  psi_c  prod of messages from below
    belief_p      = psi_p prod of all incoming messages;  belief_c = belief_c * (sum of belief_p onto s) / m_{c -> p}

after which the marginal of a variable, or of a factor, is a sum over one clique. Tables are scaled on the way and the
logarithms of the scales added up; where a product of positive numbers still underflows, calibration is made again in
logarithms. The loops are compiled (clique_loops.py) and work on flat arrays (clique_layout.py).

Lauritzen & Spiegelhalter (1988); Jensen, Lauritzen & Olesen (1990).
"""

from __future__ import annotations

from collections.abc import Iterable, Sequence
from dataclasses import dataclass
from functools import cached_property
from typing import Literal

import numpy as np

from fivefold.core.parallel import map_items
from fivefold.core.types import Codes, Doubles, Mask
from fivefold.inference.factors.calibration.clique_beliefs import BatchCalibration, Calibration
from fivefold.inference.factors.calibration.clique_layout import CliqueLayout, axis_orders, clique_layout, map_sums
from fivefold.inference.factors.calibration.clique_loops import DONE, UNDERFLOW, calibrate_sets, load_factors
from fivefold.inference.factors.calibration.evidence_arrays import Evidence, likelihoods, one_hot
from fivefold.inference.factors.calibration.log_calibration import log_calibration
from fivefold.inference.factors.clique_tree import CliqueTree, check_junction_tree, clique_tree
from fivefold.inference.factors.elimination_order import DEFAULT_MEMORY, check_memory, elimination_order
from fivefold.inference.factors.factor import Cards, Factor

# Evidence sets that one thread calibrates before it takes more.
SETS_PER_PART = 256


class JunctionTree:
    """The structure for factors of given scopes, made once; `calibrate` takes tables and evidence.

    Examples
    --------
    >>> import numpy as np
    >>> tree = JunctionTree([(0,), (0, 1)], [2, 2])
    >>> tables = [Factor((0,), np.array([0.8, 0.2])), Factor((0, 1), np.array([[0.9, 0.1], [0.2, 0.8]]))]
    >>> tree.calibrate(tables, evidence={1: 1}).marginal(0)
    array([0.33333333, 0.66666667])
    """

    def __init__(
        self, scopes: Iterable[Sequence[int]], cards: Cards, method: str = "auto", memory: float = DEFAULT_MEMORY
    ) -> None:
        self.scopes = [tuple(scope) for scope in scopes]
        self.cards = {v: int(cards[v]) for v in sorted({v for scope in self.scopes for v in scope})}
        self.variables = tuple(self.cards)
        self.position = {v: i for i, v in enumerate(self.variables)}
        order = elimination_order(self.scopes, self.cards, method=method)
        check_memory(order, 2 * order.cost, memory)  # products of the factors, and beliefs
        self.tree: CliqueTree = clique_tree(order)
        check_junction_tree(self.tree, self.scopes)

    @property
    def width(self) -> int:
        """Variables of the largest clique, less one."""
        return self.tree.width

    @cached_property
    def axes(self) -> tuple[list[tuple[int, ...]], list[tuple[int, ...]]]:
        """Axes of the tables of the cliques, and of the separators to their parents."""
        return axis_orders(self.tree)

    @cached_property
    def layout(self) -> CliqueLayout:
        """The flat arrays that the compiled loops work on."""
        return clique_layout(self.tree, self.cards, self.scopes, [self.tree.covering(scope) for scope in self.scopes])

    def load(self, factors: Sequence[Factor]) -> LoadedTree:
        """The tree with tables in it, for many queries; `factors` have the tree's scopes, in their order."""
        if len(factors) != len(self.scopes):
            raise ValueError(f"The junction tree was made for {len(self.scopes)} factors; got {len(factors)}.")
        parts = [np.zeros(0)]
        for number, (factor, scope) in enumerate(zip(factors, self.scopes, strict=True)):
            if factor.variables != scope:
                factor = factor.transpose(scope)
            if factor.table.shape != tuple(self.cards[v] for v in scope):
                raise ValueError(
                    f"Factor {number} over variables {scope} has a table of shape {factor.table.shape}; the numbers of "
                    f"states are {tuple(self.cards[v] for v in scope)}."
                )
            parts.append(factor.table.ravel())
        tables = np.concatenate(parts, dtype=np.float64)
        if not 0.0 <= tables.min(initial=0.0) <= tables.max(initial=0.0) < np.inf:
            at = int(np.flatnonzero(~((tables >= 0.0) & (tables < np.inf)))[0])
            number = int(np.searchsorted(self.layout.factor_starts, at, side="right")) - 1
            raise ValueError(f"Factor {number} over {self.scopes[number]} has the entry {tables[at]}: not in [0, inf).")
        cells = np.empty(self.layout.starts[len(self.tree.cliques)])
        log_scale, state = load_factors(self.layout, tables, cells)
        return LoadedTree(self, tables, cells, float(log_scale), int(state))

    def calibrate(self, factors: Sequence[Factor], evidence: Evidence | None = None) -> Calibration:
        """Pass all messages, given what is observed."""
        return self.load(factors).calibrate(evidence)


@dataclass(frozen=True)
class LoadedTree:
    """A junction tree and the products of the factors of each clique."""

    junction_tree: JunctionTree
    tables: Doubles  # of all factors, one after another
    potentials: Doubles  # of all cliques
    log_scale: float  # what was taken out of the potentials
    state: int

    def calibrate(self, evidence: Evidence | None = None) -> Calibration:
        """Pass all messages, given states or likelihoods of some variables."""
        given, observed = likelihoods(self.junction_tree, [evidence or {}])
        run = self._run(observed, given, np.zeros(1), beliefs=True)
        if np.isneginf(run.log_sums[0]):
            raise ValueError(
                "The evidence has probability zero: no configuration of the other variables agrees with it."
                if evidence
                else "Every configuration has probability zero: the tables contradict each other."
            )
        return Calibration(self.junction_tree, run.cells, run.marginals[0], float(run.log_sums[0]))

    def calibrate_batch(
        self,
        evidence: Codes | Sequence[Evidence],
        weights: Doubles | None = None,
        impossible: Literal["raise", "nan"] = "raise",
    ) -> BatchCalibration:
        """Calibrate for many evidence sets: codes (sets, variables) with -1 where nothing is observed, or mappings.

        With `weights`, one per set, the weighted beliefs are added up for `BatchCalibration.expected`. A set of
        probability zero is refused, or has NaN marginals and adds nothing.
        """
        tree = self.junction_tree
        given, observed = one_hot(tree, evidence) if isinstance(evidence, np.ndarray) else likelihoods(tree, evidence)
        sets = len(observed)
        w = np.zeros(sets) if weights is None else np.asarray(weights, dtype=np.float64)

        def part(i: int) -> Run:
            of = slice(i * SETS_PER_PART, (i + 1) * SETS_PER_PART)
            return self._run(observed[of], given[of], w[of], expected=weights is not None)

        runs = map_items(part, -(-sets // SETS_PER_PART))
        log_sums = np.concatenate([np.zeros(0), *(run.log_sums for run in runs)])
        if impossible == "raise" and np.isneginf(log_sums).any():
            first = int(np.flatnonzero(np.isneginf(log_sums))[0])
            raise ValueError(
                f"Evidence set {first} has probability zero ({int(np.isneginf(log_sums).sum())} of {sets} have); "
                "impossible='nan' gives these NaN marginals."
            )
        marginals = np.concatenate([given[:0], *(run.marginals for run in runs)])
        cells = (
            None if weights is None else np.sum([np.zeros(tree.layout.starts[-1]), *(r.expected for r in runs)], axis=0)
        )
        return BatchCalibration(tree, marginals, log_sums, cells)

    def _run(
        self, observed: Mask, given: Doubles, weights: Doubles, beliefs: bool = False, expected: bool = False
    ) -> Run:
        """Compiled loops over evidence sets; those that underflow again in logarithms."""
        layout = self.junction_tree.layout
        sets, total = len(observed), int(layout.starts[-1])
        cells, sums = np.empty(total), np.zeros(total if expected else 0)
        ratio = np.empty(max(np.diff(layout.starts)[len(layout.parents) :], default=1))
        marginals, log_sums = np.full_like(given, np.nan), np.full(sets, -np.inf)
        states = np.full(sets, self.state)
        if self.state == DONE:
            calibrate_sets(
                layout, self.potentials, observed, given.ravel(), weights, cells, ratio,
                marginals.reshape(-1), log_sums, states, sums,
            )  # fmt: skip
            log_sums += self.log_scale
        for b in np.flatnonzero(states == UNDERFLOW):
            cells_b, log_sums[b] = log_calibration(layout, self.tables, observed[b], given[b])
            if np.isneginf(log_sums[b]):
                continue
            marginals[b] = np.concatenate([map_sums(layout, number, cells_b) for number in layout.variable_maps])
            sums += weights[b] * cells_b if expected else 0.0
            cells = cells_b if beliefs else cells
        return Run(cells, marginals, log_sums, sums)


@dataclass(frozen=True)
class Run:
    """What the loops give for some evidence sets."""

    cells: Doubles  # beliefs of the last set: cliques, then separators
    marginals: Doubles  # (sets, sum of cards)
    log_sums: Doubles  # (sets,)
    expected: Doubles  # weighted sums of beliefs
