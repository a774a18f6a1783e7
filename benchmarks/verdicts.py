"""Error of type I and power of the verdicts of a study, by simulation, beside all pairs with Holm's adjustment.

Two designs (200 and 1,000 rows, four learners, twice five folds) and three losses, one with heavy tails; margin 0, the
hardest for the error of type I. See fivefold/evaluation/experiments/verdict_rates.py.

    python -m benchmarks.verdicts [simulations] [--jobs N] [--out FILE]

Every simulation has its own seed, and sums are made in the same order, so any number of processes gives the same
figures. The table goes to FILE in Markdown, line by line. 2,000 simulations take eight minutes of processor time.
"""

from __future__ import annotations

import argparse
import os
import time
from collections.abc import Callable, Iterable
from concurrent.futures import ProcessPoolExecutor
from functools import partial
from multiprocessing import get_context
from pathlib import Path

import numpy as np

from fivefold.core.types import Vector
from fivefold.evaluation.experiments.rejection_rates import DESIGNS
from fivefold.evaluation.experiments.verdict_rates import LOSSES, VerdictRates, verdict_sums

CHUNK = 25  # simulations that a process does at a time; the order of the sums depends on it, not on the processes

# Of the first learner, where the power is neither 0 nor 1; heavy tails hide a small one.
ADVANTAGES = {
    "200 rows": dict.fromkeys(LOSSES, 0.10),
    "1,000 rows": {"zero-one": 0.03, "log loss": 0.03, "heavy": 0.07},
}


def main() -> None:
    """Print the table, and write it."""
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("simulations", type=int, nargs="?", default=2000)
    parser.add_argument("--jobs", type=int, default=1)
    parser.add_argument("--out", type=Path)
    asked = parser.parse_args()
    os.environ["OMP_NUM_THREADS"] = "1"  # of the processes, which inherit it
    with ProcessPoolExecutor(asked.jobs, mp_context=get_context("spawn")) as pool:
        for line in table(asked.simulations, partial(pool.map, chunksize=1)):
            print(line, flush=True)
            if asked.out:
                with asked.out.open("a", encoding="utf-8") as file:
                    file.write(line + "\n")


def table(simulations: int, run: Callable[..., Iterable[tuple[Vector, float]]]) -> Iterable[str]:
    """The lines of the table in Markdown; `run` is a map."""
    limit = 0.05 + 3 * np.sqrt(0.05 * 0.95 / simulations)
    yield f"{simulations} simulations; level 5 %, three standard errors above it {limit:.1%}"
    yield ""
    yield "| rows | loss | type I | all pairs | power | all pairs | processor seconds |"
    yield "|---|---|---|---|---|---|---|"
    chunks = [range(start, min(start + CHUNK, simulations)) for start in range(0, simulations, CHUNK)]
    for name in DESIGNS:
        for loss in LOSSES:
            sums, seconds = zip(*run(partial(_timed_sums, name, loss), chunks), strict=True)
            rates = VerdictRates(*(np.sum(sums, axis=0) / simulations).tolist())
            figures = (rates.false_worse, rates.false_worse_pairs, rates.power, rates.power_pairs)
            cells = [name.removesuffix(" rows"), loss, *(f"{figure:.1%}" for figure in figures), f"{sum(seconds):.0f}"]
            yield f"| {' | '.join(cells)} |"


def _timed_sums(name: str, loss: str, simulations: range) -> tuple[Vector, float]:
    start = time.process_time()
    return verdict_sums(DESIGNS[name], loss, ADVANTAGES[name][loss], simulations), time.process_time() - start


if __name__ == "__main__":
    main()
