"""Random paths of chains: from the posterior of the states given the observations, and from the chain itself.

    z_T ~ p(z_T | x),   z_t ~ p(z_t | x_1 .. x_t) A_t(z_t, z_{t+1})      forward filtering, backward sampling

All random numbers are drawn before the loop, so the seed alone decides the paths. Chib (1996).
"""

from __future__ import annotations

import numpy as np

from fivefold.core.parallel import map_items
from fivefold.core.types import Indices, Matrix, Rng, Vector
from fivefold.inference.chains.chain import Chain
from fivefold.inference.chains.forward_backward import forward_filter, scaled_exponentials
from fivefold.inference.chains.path_sampling_loops import draw_backward, draw_forward


def sample_posterior_paths(chain: Chain, count: int, rng: Rng) -> Indices:
    """Paths drawn from p(z | x), independent of each other (count, n).

    >>> chain = Chain(np.log([0.5, 0.5]), np.log([[0.9, 0.1], [0.1, 0.9]]), np.log([[0.8, 0.2]] * 5), np.array([0, 5]))
    >>> sample_posterior_paths(chain, 1000, np.random.RandomState(0)).mean(axis=0).round(2)
    array([0.03, 0.01, 0.01, 0.02, 0.04])
    """
    alpha = forward_filter(chain).states
    steps = chain.steps
    table = scaled_exponentials(steps.reshape(len(steps), -1))[0].reshape(steps.shape)
    uniform, paths = rng.uniform(size=(count, len(alpha))), np.empty((count, len(alpha)), dtype=np.int64)
    map_items(lambda i: draw_backward(table, chain.offsets, *chain.parts[i], alpha, uniform, paths), len(chain.parts))
    return paths


def sample_states(start: Vector, transition: Matrix, offsets: Indices, rng: Rng) -> Indices:
    """States of a Markov chain (n,), a sequence from each offset to the next."""
    n, K = int(offsets[-1]), len(start)
    path = np.empty(n, dtype=np.int64)
    steps = np.ascontiguousarray(transition, dtype=np.float64).reshape(-1, K, K)
    draw_forward(np.ascontiguousarray(start, dtype=np.float64), steps, offsets, rng.uniform(size=n), path)
    return path
