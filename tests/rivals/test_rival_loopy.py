"""Loopy propagation beside pyAgrum's."""

import json

import numpy as np
import pytest
from rivals.record_loopy import NODES, PATH, SEEDS

from benchmarks.approximate_inference import STATES, messages_of_numpy, messages_of_ours
from benchmarks.approximate_inference import grid as noisy_grid
from benchmarks.approximate_inference import network as generated_network
from fivefold.inference.approximate.loopy_propagation import loopy_propagation


@pytest.mark.parametrize("seed", SEEDS)
def test_messages_of_a_network_end_where_those_of_pyagrum_do(seed):
    theirs = np.array(json.loads(PATH.read_text())["beliefs"][str(seed)])
    table = generated_network(NODES, seed)
    for schedule in ("flooding", "sequential", "residual"):
        ours = loopy_propagation(
            table.given["factors"], (STATES,) * NODES, table.given["evidence"], schedule=schedule, tol=1e-10
        )
        np.testing.assert_allclose(np.array(ours.marginals), theirs, atol=1e-7)


def test_messages_on_a_grid_are_those_of_whole_arrays():
    table = noisy_grid(12)
    np.testing.assert_allclose(messages_of_ours(table), messages_of_numpy(table).reshape(-1, 4), atol=1e-12)
