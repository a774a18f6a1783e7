"""Seeds for K centres on the device of a tensor: the draws of seeding.py, with the same random numbers."""

from __future__ import annotations

from collections.abc import Iterator

import numpy as np

from fivefold.core.compilation.triton_support import has_kernels
from fivefold.core.numerics.arrays import AnyArray, like, namespace, to_device_of
from fivefold.core.numerics.tensors import is_one, on_host, row_cuts
from fivefold.core.types import Indices, Matrix, Rng
from fivefold.spatial.points import squared_norms
from fivefold.spatial.tensor_points import TensorPoints

MAX_TRIED = 16  # rows tried as a seed that a kernel compares at a time
TIE_TOLERANCE = 1e-12  # seeds whose sums differ by no more than this share are equally good: the first drawn is taken


def tensor_plusplus_seeds(points: TensorPoints, K: int, rng: Rng) -> Indices:
    """K rows far apart, by greedy k-means++."""
    n_trials, xp = 2 + int(np.log(K)), namespace(points.w)
    dtype = points.table.dtype if has_kernels(points.table) else xp.float64
    nearest = xp.full((points.n,), np.inf, dtype=dtype, device=points.table.device)
    chosen = [_add_best(points, points.draw(points.w, rng.uniform(size=1)), nearest)]
    while len(chosen) < K:
        mass = points.w * nearest
        tried = points.draw(mass if bool(mass.any()) else points.w, rng.uniform(size=n_trials))
        chosen.append(_add_best(points, tried, nearest))
    return np.array(chosen)


def tensor_distinct_seeds(points: TensorPoints, K: int, rng: Rng) -> Indices:
    """K distinct rows, drawn by weight one after the other; rows repeat only if fewer than K are distinct."""
    mass, chosen = points.w.clone(), list[int]()
    while len(chosen) < K:
        mass = mass if bool(mass.any()) else points.w.clone()
        for row in points.draw(mass, rng.uniform(size=K - len(chosen))):
            if mass[row] > 0:
                chosen.append(row)
                mass[to_device_of(points.equal_rows(row), mass)] = 0.0
    return np.array(chosen)


def _add_best(points: TensorPoints, tried: Indices, nearest: AnyArray) -> int:
    """Make a seed of the row, of those tried, that leaves the points nearest to their seeds; return it."""
    places, w, X = points.centred_rows(tried), points.w, points.table
    if has_kernels(X) and len(places) <= MAX_TRIED:
        from fivefold.spatial.centres.nearest_kernels import seed_potentials

        v, origin, C = None if is_one(w) else w.to(X.dtype), like(points.origin, X), like(places, X)
        sums = seed_potentials(X, origin, C, nearest, v, False)
        best = int((sums <= sums.min() * (1 + TIE_TOLERANCE)).argmax())
        seed_potentials(X, origin, C[best : best + 1].contiguous(), nearest, v, True)
        return int(tried[best])
    sums = on_host(sum(w[a:b] @ D.minimum(nearest[a:b, None]) for a, b, D in _distances(points, places)))
    best = int((sums <= sums.min() * (1 + TIE_TOLERANCE)).argmax())
    for a, b, D in _distances(points, places[best : best + 1]):
        nearest[a:b] = D[:, 0].minimum(nearest[a:b])
    return int(tried[best])


def _distances(points: TensorPoints, places: Matrix) -> Iterator[tuple[int, int, AnyArray]]:
    """Squared distances (m, t), in float64, of runs of rows to positions (t, d) relative to the origin."""
    xp, X = namespace(points.table), points.table
    slope, norms = like(-2 * places.T, X), like(squared_norms(places), X)
    for a, b in row_cuts(X, 2 * points.width + 6 * len(places)):
        Z = points.rows(a, b)
        D = xp.addmm(norms, Z, slope)
        D += Z.square_().sum(dim=1, keepdim=True)
        yield a, b, D.clamp_(min=0.0).to(xp.float64)
