"""Hill climbing over directed acyclic graphs, with a tabu list and restarts.

Take the move with the largest gain until none gains. With a tabu list of t moves the climb goes on from a local
optimum, by the best move that undoes none of the last t moves, until `patience` steps have not improved on the best
structure. A restart changes the best structure by a few random moves and climbs again. The score is
decomposable, so a step recomputes the families of one variable, or of two.

Heckerman, Geiger & Chickering (1995); Glover (1989).
"""

from __future__ import annotations

from collections import deque
from typing import Any

import numpy as np

from fivefold.core.estimators.params import Seed
from fivefold.core.random_state import check_random_state
from fivefold.core.types import Rng, UserTable
from fivefold.graphical.graphs.directed_graph import DirectedGraph
from fivefold.graphical.structure_learning.coded_table import CodedTable
from fivefold.graphical.structure_learning.dag_moves import Move, Structure, move_at
from fivefold.graphical.structure_learning.family_scores import Score, StructurePrior
from fivefold.graphical.structure_learning.learned_structure import LearnedStructure, Monitor, Search
from fivefold.graphical.structure_learning.score_cache import FamilyScores

MIN_GAIN = 1e-9  # times the size of the score: a smaller gain is rounding, and could go in circles


def hill_climbing(
    X: UserTable | CodedTable | FamilyScores,
    score: str | Score = "bdeu",
    *,
    start: DirectedGraph | None = None,
    max_parents: int | None = None,
    tabu: int = 10,
    patience: int = 10,
    restarts: int = 0,
    perturbation: int = 5,
    max_iter: int = 10_000,
    structure_prior: StructurePrior | None = None,
    random_state: Seed = 0,
    monitor: Monitor | None = None,
    **edge_rules: Any,
) -> LearnedStructure:
    """The best structure on the way up from `start`, or from the empty graph.

    With `tabu=0` it is plain hill climbing. `required`, `forbidden` and `allowed` are pairs of names (parent, child).
    `perturbation` is the number of random moves of a restart. `monitor(structure, score)` is called after every step,
    and ends the search by returning True; Ctrl-C keeps the best structure so far.

    Examples
    --------
    >>> import numpy as np
    >>> rng = np.random.RandomState(0)
    >>> rain = rng.rand(500) < 0.3
    >>> sprinkler = rng.rand(500) < 0.4
    >>> wet = (rain | sprinkler) ^ (rng.rand(500) < 0.05)
    >>> columns = {"rain": rain.tolist(), "sprinkler": sprinkler.tolist(), "wet": wet.tolist()}
    >>> found = hill_climbing(columns)
    >>> sorted(found.graph.named_edges())
    [('rain', 'wet'), ('sprinkler', 'wet')]
    """
    search = Search(X, score, structure_prior, start, max_parents, monitor, edge_rules)
    rng = check_random_state(random_state)
    try:
        here, reason = search.start, "converged"
        for attempt in range(restarts + 1):
            if attempt:
                here = perturbed(search.best, perturbation, rng)
            reason = _climb(search, here, tabu, patience, max_iter)
            if reason != "converged":
                break
    except KeyboardInterrupt:
        reason = "interrupted"
    return search.result(reason)


def _climb(search: Search, here: Structure, tabu: int, patience: int, max_iter: int) -> str:
    """Climb from `here`; why it ended."""
    value, d = search.value(here), len(here.edges)
    recent: deque[tuple[int, int, int]] = deque(maxlen=tabu)  # places of gains: moves that would undo the last ones
    idle = 0
    if search.step(here, value):
        return "stopped"
    while search.steps < max_iter:
        gains = here.gains(search.scores)
        for place in recent:
            if value + gains[place] <= search.least_improvement:  # unless the move leads beyond the best structure
                gains[place] = -np.inf
        most = gains.max()
        at = int((gains >= most - MIN_GAIN * abs(value)).argmax())  # the first of those that differ by rounding only
        gain = gains.flat[at]
        if gain == -np.inf or (gain <= MIN_GAIN * abs(value) and not tabu):
            return "converged"
        move = move_at(at, d)
        here, value = here.moved(move), value + gain
        recent.append(undoing(move))
        idle = 0 if value > search.least_improvement else idle + 1
        if search.step(here, value):
            return "stopped"
        if idle > patience:
            return "converged"
    return "max_iter"


def undoing(move: Move) -> tuple[int, int, int]:
    """The place, among gains, of the move that would undo a move."""
    if move.kind == "reverse":
        return 2, move.child, move.parent
    return 1 if move.kind == "add" else 0, move.parent, move.child


def perturbed(structure: Structure, moves: int, rng: Rng) -> Structure:
    """The structure after some random moves."""
    for _ in range(moves):
        if not len(legal := np.flatnonzero(structure.legal)):
            return structure
        structure = structure.moved(move_at(int(legal[rng.randint(len(legal))]), len(structure.edges)))
    return structure
