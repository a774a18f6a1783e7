"""Gibbs sampling: draw each variable in turn given all others, by the factors around it.

    T_i: x_i is drawn from p(x_i | x_others), which depends on the Markov blanket of i only; what it was is ignored

A round draws every variable that is not observed, one after the other, or block by block (`blocks`: variables that
hang together strongly are drawn jointly). Each draw leaves p as it is, so p is stationary; where all tables are
positive every state is reached within a round, and the chain is regular. Where tables hold zeros it may never leave a
part of the states: `positivity` says so, and looks at the chain itself where its states can be listed.

Geman & Geman (1984); Jensen, Kong & Kjaerulff (1995) for blocks; Besag (1986) for the climb to a mode.
"""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass
from functools import cached_property
from math import prod

import numpy as np

from fivefold.core.console.user_warnings import warn
from fivefold.core.parallel import map_items
from fivefold.core.types import Codes, Doubles
from fivefold.inference.approximate.chain_samples import ChainSamples
from fivefold.inference.approximate.factor_arrays import FlatFactors, flat_factors
from fivefold.inference.approximate.gibbs_loops import Blocks, climb, run_gibbs
from fivefold.inference.approximate.markov_chain import MarkovChain
from fivefold.inference.approximate.random_loops import generator_words
from fivefold.inference.factors.factor import Factor

MAX_BLOCK_STATES = 2**16  # joint states of a block: each is weighed at every draw
MAX_LISTED_STATES = 1024  # joint states up to which the chain itself is looked at
# A start is looked for with a cost per forbidden cell that rises, this many rounds at each
SEARCH_COSTS, SEARCH_ROUNDS = (1.0, 2.0, 4.0, 8.0), 200
PIECE_DRAWS = 2_000_000  # of single variables, after which Ctrl-C is heard: about 0.2 s
MAX_KEPT_NUMBERS = 2**28  # states that are kept of all chains: 1 GiB


@dataclass(frozen=True)
class GibbsSamples(ChainSamples):
    """Draws of Gibbs sampling; `states` has the variables `kept`, `counts` those of all."""

    kept: tuple[int, ...]
    counts: tuple[Codes, ...]  # (chains, states) per variable: how often each state was drawn

    @cached_property
    def marginals(self) -> tuple[Doubles, ...]:
        """Share of the draws in each state, per variable."""
        return tuple(counts.sum(axis=0) / counts.sum() for counts in self.counts)

    def marginal(self, variable: int) -> Doubles:
        return self.marginals[variable]


@dataclass(frozen=True)
class Positivity:
    """Can Gibbs sampling reach every possible state?"""

    positive: bool  # no table holds a zero, so it does
    zeros: tuple[int, ...]  # numbers of factors that hold zeros
    regular: bool | None  # whether it does; None where zeros leave it open and the states are too many to list
    note: str


def gibbs(
    factors: Sequence[Factor],
    cards: Sequence[int],
    evidence: Mapping[int, int] | None = None,
    *,
    draws: int = 1000,
    burn_in: int = 100,
    thin: int = 1,
    chains: int = 4,
    blocks: Sequence[Sequence[int]] | None = None,
    kept: Sequence[int] | None = None,
    initial: Sequence[int] | None = None,
    seed: int = 0,
) -> GibbsSamples:
    """Chains of draws from the product of the factors given the evidence; chains are run on threads.

    Examples
    --------
    >>> agree = np.array([[2.0, 1.0], [1.0, 2.0]])
    >>> samples = gibbs([Factor((0, 1), agree), Factor((0,), np.array([3.0, 1.0]))], (2, 2), draws=20_000, seed=1)
    >>> np.round(samples.marginal(1), 1)
    array([0.6, 0.4])
    """
    found = positivity(factors, cards, evidence, blocks)
    if found.regular is not True:
        warn(found.note)
    return sample_graph(
        flat_factors(factors, cards, evidence),
        observed=frozenset(evidence or {}),
        draws=draws,
        burn_in=burn_in,
        thin=thin,
        chains=chains,
        blocks=blocks,
        kept=kept,
        initial=initial,
        seed=seed,
    )


def sample_graph(
    graph: FlatFactors,
    *,
    observed: frozenset[int] = frozenset(),
    draws: int = 1000,
    burn_in: int = 100,
    thin: int = 1,
    chains: int = 4,
    blocks: Sequence[Sequence[int]] | None = None,
    kept: Sequence[int] | None = None,
    initial: Sequence[int] | Codes | None = None,
    seed: int = 0,
) -> GibbsSamples:
    """`gibbs` on a graph that is made; without a look at zeros in its tables."""
    arrays = graph.arrays
    n = len(arrays.cards)
    if min(draws, thin, chains) < 1 or burn_in < 0:
        raise ValueError(
            f"draws={draws}, thin={thin}, chains={chains} have to be positive, burn_in={burn_in} from 0 up"
        )
    ids = np.arange(n) if kept is None else np.asarray(kept, dtype=np.int64)
    if chains * draws * len(ids) > MAX_KEPT_NUMBERS:
        raise ValueError(
            f"{chains} chains of {draws} draws of {len(ids)} variables are more than {MAX_KEPT_NUMBERS:,} numbers; "
            "name the variables to keep (kept=), or thin: marginals are counted for all variables"
        )
    plan = block_plan(graph, [i for i in range(n) if i not in observed], blocks)
    starts = initial_states(graph, chains, seed) if initial is None else _given_states(graph, initial, chains)
    words, shape = generator_words(seed, chains), (chains, draws)
    states, log_scores = np.empty((*shape, len(ids)), dtype=np.int32), np.empty(shape)
    counts = np.zeros((chains, len(arrays.evidence)), dtype=np.int64)

    weights = np.empty((chains, int(plan.cells.max(initial=1))))
    for skipped, lo, hi in _pieces(burn_in, thin, draws, max(1, PIECE_DRAWS // max(1, len(plan.cells)))):

        def run(chain: int, skipped: int = skipped, piece: slice = slice(lo, hi)) -> None:
            run_gibbs(
                plan, starts[chain], words[chain], skipped, thin, ids, states[chain, piece], log_scores[chain, piece],
                counts[chain], weights[chain],
            )  # fmt: skip

        map_items(run, chains)
    per_variable = tuple(np.split(counts, arrays.state_starts[1:-1], axis=1))
    return GibbsSamples(states, log_scores + graph.log_scale, np.ones(chains), tuple(map(int, ids)), per_variable)


def _pieces(burn_in: int, thin: int, draws: int, rounds: int) -> Iterator[tuple[int, int, int]]:
    """Rounds without a record, then draws lo..hi, in pieces of about this many rounds; the same draws however cut."""
    yield from ((min(rounds, burn_in - done), 0, 0) for done in range(0, burn_in, rounds))
    step = max(1, rounds // thin)
    yield from ((thin - 1 if lo else 0, lo, min(lo + step, draws)) for lo in range(0, draws, step))


def iterated_modes(graph: FlatFactors, initial: Sequence[int] | Codes, max_rounds: int = 1000) -> tuple[Codes, int]:
    """States after each variable was given its best one in turn until none changed, and the rounds that took.

    The product of the factors never falls; ties leave a variable as it is.
    """
    states = np.array(initial, dtype=np.int64)
    plan = block_plan(graph, range(len(states)), None)
    rounds = climb(plan, states, np.empty(int(plan.cells.max(initial=1))), max_rounds)
    return states, int(rounds)


def block_plan(graph: FlatFactors, free: Sequence[int], blocks: Sequence[Sequence[int]] | None) -> Blocks:
    """The variables that are free as blocks, those of no given block alone, with the factors around them."""
    arrays = graph.arrays
    chosen = [tuple(block) for block in blocks or ()]
    together = [v for block in chosen for v in block]
    if not all(chosen):
        raise ValueError("a block has at least one variable")
    if len(set(together)) < len(together) or not set(together) <= set(free):
        raise ValueError("blocks have to be disjoint sets of variables that are not observed")
    alone = np.array(sorted(set(free) - set(together)), dtype=np.int64)
    around = [np.unique(np.concatenate([_factors_around(graph, v) for v in block])) for block in chosen]
    around += [_factors_around(graph, v) for v in alone]
    cells = [prod(int(arrays.cards[v]) for v in block) for block in chosen]
    if max(cells, default=1) > MAX_BLOCK_STATES:
        block = chosen[int(np.argmax(cells))]
        raise ValueError(f"the block {block} has {max(cells):,} joint states; at most {MAX_BLOCK_STATES:,} are weighed")
    lengths = [len(block) for block in chosen] + [1] * len(alone)
    return Blocks(
        arrays,
        _starts(lengths),
        np.concatenate([np.array(together, dtype=np.int64), alone]),
        _starts([len(found) for found in around]),
        np.concatenate([*around, np.empty(0)]).astype(np.int64),
        np.concatenate([np.array(cells, dtype=np.int64), arrays.cards[alone]]),
    )


def positivity(
    factors: Sequence[Factor],
    cards: Sequence[int],
    evidence: Mapping[int, int] | None = None,
    blocks: Sequence[Sequence[int]] | None = None,
) -> Positivity:
    """Whether Gibbs sampling given the evidence is sure to reach every possible state."""
    given = [factor.condition(evidence or {}) for factor in factors]
    zeros = tuple(i for i, factor in enumerate(given) if len(factor.variables) > 1 and (factor.table == 0).any())
    if not zeros:
        return Positivity(True, (), True, "all tables are positive: every state is reached within a round")
    tables = f"factors {', '.join(map(str, zeros[:5]))}{', ...' if len(zeros) > 5 else ''} hold zeros"
    if prod(int(card) for v, card in enumerate(cards) if v not in (evidence or {})) > MAX_LISTED_STATES:
        note = f"{tables}: Gibbs sampling may never leave a part of the states. Compare chains (r_hat), or draw blocks"
        return Positivity(False, zeros, None, note)
    chain, _ = gibbs_chain(factors, cards, evidence, blocks)
    parts = len(chain.closed_classes)
    if parts == 1:
        return Positivity(False, zeros, True, f"{tables}, and yet every possible state is reached")
    note = (
        f"{tables}: Gibbs sampling never leaves one of {parts} separate parts of the states. Draw blocks of variables"
    )
    return Positivity(False, zeros, False, note)


def gibbs_chain(
    factors: Sequence[Factor],
    cards: Sequence[int],
    evidence: Mapping[int, int] | None = None,
    blocks: Sequence[Sequence[int]] | None = None,
) -> tuple[MarkovChain, Codes]:
    """The Markov chain of one round over all possible joint states, and these (count, n); for small models."""
    graph = flat_factors(factors, cards, evidence)
    arrays = graph.arrays
    free = [i for i in range(len(arrays.cards)) if i not in (evidence or {})]
    count = prod(int(arrays.cards[i]) for i in free)
    if count > MAX_LISTED_STATES:
        raise ValueError(f"{count:,} joint states; a chain over at most {MAX_LISTED_STATES:,} is made")
    states = np.zeros((count, len(arrays.cards)), dtype=np.int64)
    states[:, list(evidence or {})] = list((evidence or {}).values())
    states[:, free] = np.stack(np.unravel_index(np.arange(count), [int(arrays.cards[i]) for i in free]), axis=1)
    scores = np.asarray(graph.log_score(states))
    states, scores = states[scores > -np.inf], scores[scores > -np.inf]
    if not len(states):
        raise ValueError("the evidence has probability zero: no joint state is possible")
    weights, whole = np.exp(scores - scores.max()), np.eye(len(states))
    plan = block_plan(graph, free, blocks)
    for b in range(len(plan.cells)):
        block = plan.variables[plan.starts[b] : plan.starts[b + 1]]
        rest = np.delete(states, block, axis=1)
        _, groups = np.unique(rest, axis=0, return_inverse=True)
        same = groups.ravel()[:, None] == groups.ravel()[None, :]
        local = same * weights
        whole = whole @ (local / local.sum(axis=1, keepdims=True))
    return MarkovChain(whole / whole.sum(axis=1, keepdims=True), ["".join(map(str, row)) for row in states]), states


def initial_states(graph: FlatFactors, chains: int, seed: int) -> Codes:
    """(chains, n) states that are possible: drawn at random where tables are positive, else looked for."""
    arrays = graph.arrays
    rng = np.random.default_rng(seed)
    keys = np.where(arrays.evidence > -np.inf, rng.random((chains, len(arrays.evidence))), -1.0)
    columns = [part.argmax(axis=1) for part in np.split(keys, arrays.state_starts[1:-1], axis=1)]
    states = np.stack(columns, axis=1).astype(np.int64)
    for chain in np.flatnonzero(np.asarray(graph.log_score(states)) == -np.inf):
        states[chain] = _search_possible(graph, states[chain], seed + int(chain))
    return states


def _search_possible(graph: FlatFactors, start: Codes, seed: int) -> Codes:
    """States that no table forbids, by Gibbs sampling with zeros that are only improbable, colder and colder."""
    tables, states = graph.arrays.tables, start
    for cost in SEARCH_COSTS:
        penalties = np.where(tables == -np.inf, -cost, np.maximum(tables, -cost))
        soft = FlatFactors(graph.arrays._replace(tables=penalties), graph.places)
        found = sample_graph(soft, draws=SEARCH_ROUNDS, burn_in=0, chains=1, initial=states, seed=seed).states[0]
        possible = np.flatnonzero(np.asarray(graph.log_score(found)) > -np.inf)
        if len(possible):
            return found[possible[-1]]
        states = found[-1]
    raise ValueError("no start with positive probability was found: give one (initial=), or check the evidence")


def _given_states(graph: FlatFactors, initial: Sequence[int] | Codes, chains: int) -> Codes:
    states = np.broadcast_to(np.asarray(initial, dtype=np.int64), (chains, len(graph.arrays.cards))).copy()
    if ((states < 0) | (states >= graph.arrays.cards)).any():
        raise ValueError("initial: every variable needs one of its states, numbered from 0")
    if (np.asarray(graph.log_score(states)) == -np.inf).any():
        raise ValueError("initial: these states have probability zero under the factors and the evidence")
    return states


def _factors_around(graph: FlatFactors, variable: int) -> Codes:
    arrays = graph.arrays
    slots = arrays.variable_slots[arrays.variable_starts[variable] : arrays.variable_starts[variable + 1]]
    return arrays.slot_factors[slots]


def _starts(lengths: Sequence[int]) -> Codes:
    return np.concatenate([[0], np.cumsum(lengths)]).astype(np.int64)
