"""Places on a map, moved by steps of t-SNE: the arrays behind `neighbor_descent_loops`."""

from __future__ import annotations

import numpy as np
from scipy.sparse import issparse

from fivefold.core.parallel import run_team, team_size, threads
from fivefold.core.types import Matrix, Table
from fivefold.manifold.embeddings import neighbor_descent_loops as loops
from fivefold.manifold.embeddings.repulsion_loops import GROUP, LIST, RADIX_BITS, STACK, Repulsion

SECONDS_PER_PLACE, SECONDS_PER_AFFINITY, SECONDS_PER_PAIR = 4e-7, 1e-9, 5e-9  # of a step
CACHE_PADDING = 32  # single-precision numbers between the scratch of two threads


class NeighborDescent:
    """Affinities P of n rows, sparse, or of all pairs (n, n), and n places that follow them.

    With sparse affinities repulsion is approximate, as far as `angle` allows; with all pairs it is exact.
    """

    def __init__(self, P: Table, start: Matrix, angle: float) -> None:
        n, d = start.shape
        sparse = issparse(P)
        values = P.data if sparse else P
        positive = values[values > 0]
        self.constant = float(positive @ np.log(positive)) if sparse else float((positive * np.log(positive)).sum())
        seconds = n * SECONDS_PER_PLACE + len(P.data) * SECONDS_PER_AFFINITY if sparse else n * n * SECONDS_PER_PAIR
        self.size = team_size(seconds)
        Y = np.array(start.T, dtype=np.float64, order="C")  # a copy: places move
        room = (n if sparse else 1, threads())
        self.state = loops.Descent(
            tree=_tree(d, n, *room, angle),
            starts=P.indptr.astype(np.int64) if sparse else np.zeros(1, np.int64),
            columns=P.indices.astype(np.int32) if sparse else np.zeros(0, np.int32),
            P=P.data.astype(np.float32) if sparse else np.zeros(0, np.float32),
            dense=np.zeros((0, 0)) if sparse else np.ascontiguousarray(P),
            Y=Y,
            F=Y.astype(np.float32),
            step=np.zeros((d, n)),
            gain=np.ones((d, n)),
            pull=np.zeros((d, n)),
            numbers=np.zeros(loops.NUMBERS),
            parts=np.zeros((loops.MAX_TASKS, 8)),
            least=np.full((loops.MAX_TASKS, d), np.inf),
            largest=np.full((loops.MAX_TASKS, d), -np.inf),
        )
        self._enclose()

    def _enclose(self) -> None:
        self.state.least[0], self.state.largest[0] = self.state.Y.min(axis=1), self.state.Y.max(axis=1)

    @property
    def places(self) -> Matrix:
        """(n, d) in single precision, which is all that forces are computed with."""
        return self.state.F.T.copy()

    def begin(self, exaggeration: float, momentum: float, rate: float) -> None:
        """Affinities count `exaggeration` times from now on; gains and steps are forgotten."""
        numbers = self.state.numbers
        numbers[[loops.EXAGGERATION, loops.MOMENTUM, loops.RATE]] = exaggeration, momentum, rate
        self.state.gain[:], self.state.step[:] = 1.0, 0.0

    def step(self, wants_cost: bool) -> tuple[float, float]:
        """One step: the divergence before it, if it is wanted, and the length of the gradient with its gains."""
        numbers = self.state.numbers
        numbers[loops.WANTS_COST] = float(wants_cost)
        run_team(loops.descend, self.state, 1, size=self.size)
        e = float(numbers[loops.EXAGGERATION])
        plain = self.constant + float(numbers[loops.COST]) + float(np.log(numbers[loops.Z]))
        return e * (plain + float(np.log(e))), float(np.sqrt(numbers[loops.NORM]))

    def divergence(self) -> float:
        """KL(P | Q) of the places as they are, with affinities that count once."""
        state = self.state
        held = [each.copy() for each in (state.Y, state.step, state.gain, state.numbers)]
        state.numbers[loops.EXAGGERATION] = 1.0
        found, _ = self.step(True)
        for array, old in zip((state.Y, state.step, state.gain, state.numbers), held, strict=True):
            array[:] = old
        state.F[:] = state.Y
        state.least[1:], state.largest[1:] = np.inf, -np.inf
        self._enclose()
        return found


def _tree(d: int, n: int, rows: int, several: int, angle: float) -> Repulsion:
    """Room for a tree over `rows` of the n places."""
    return Repulsion(
        dof=float(max(d - 1, 1)),
        angle=float(angle),
        box=np.zeros(d + 1),
        codes=np.zeros((2, rows), np.int64),
        order=np.zeros((2, rows), np.int64),
        histogram=np.zeros(1 << RADIX_BITS, np.int64),
        S=np.zeros((d, rows), np.float32),
        sums=np.zeros((d, rows + 1)),
        ranges=np.zeros((2 * rows, 4), np.int64),
        cells=np.zeros((2 * rows, 5), np.float32),
        groups=np.zeros((rows, 2), np.int64),
        counts=np.zeros(2, np.int64),
        stack=np.zeros((STACK, 3), np.int64),
        lists=np.zeros((several, 4, LIST + CACHE_PADDING), np.float32),
        found=np.zeros((several, 4, GROUP + CACHE_PADDING), np.float32),
        force=np.zeros((d, n)),
        z=np.zeros(n),
    )
