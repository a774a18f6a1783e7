"""Does `fivefold cluster` claim groups in noise, and does it find groups that are there?

    python -m benchmarks.cluster_study                        every case, 100 tables each
    python -m benchmarks.cluster_study gaussian moons -n 20   some of them

Prints for each case how often groups were claimed, how often the number was right, and the time per table. Cases
without groups must claim at most 5 times in 100 (the level is 2.5 %).
"""

from __future__ import annotations

import argparse
import time
import warnings
from collections.abc import Callable
from dataclasses import dataclass
from functools import partial

import numpy as np
from joblib import Parallel, delayed
from sklearn.datasets import load_iris, make_moons

from fivefold.evaluation.grouping.group_search import SearchPlan, search_groups
from fivefold.study.clustering.group_model import find_groups

MAX_GROUPS = 6  # numbers of groups tried, from 2

Draw = Callable[[np.random.Generator], np.ndarray]


@dataclass(frozen=True)
class Case:
    """Tables of a kind, and the number of groups in them; 1 for none."""

    draw: Draw
    groups: int = 1


def gaussian(rng, n, d, *, turned=False, dof=np.inf, shrink=1.0):
    X = rng.standard_normal((n, d)) * shrink ** np.arange(d)
    X = X @ rng.standard_normal((d, d)) if turned else X
    return X if np.isinf(dof) else X * np.sqrt(dof / rng.chisquare(dof, (n, 1)))


def blobs(rng, n, d, shares=(1 / 3, 1 / 3, 1 / 3), apart=8.0):
    """Round groups, `apart` standard deviations from the first along a column of their own."""
    centres = np.zeros((len(shares), d))
    for k in range(1, len(shares)):
        centres[k, k - 1] = apart
    return centres[rng.choice(len(shares), n, p=shares)] + rng.standard_normal((n, d))


SIMULATIONS = {
    "gaussian": Case(partial(gaussian, n=300, d=5)),
    "gaussian-small": Case(partial(gaussian, n=100, d=2)),
    "gaussian-wide": Case(partial(gaussian, n=200, d=12)),
    "gaussian-correlated": Case(partial(gaussian, n=300, d=5, turned=True)),
    "gaussian-long": Case(partial(gaussian, n=200, d=4, shrink=0.5)),
    "heavy-tails": Case(partial(gaussian, n=300, d=5, dof=3.0)),
    "uniform": Case(lambda rng: rng.uniform(size=(300, 5))),
    "uniform-small": Case(lambda rng: rng.uniform(size=(100, 2))),
    "exponential": Case(lambda rng: rng.exponential(size=(300, 5))),
    "lognormal": Case(lambda rng: np.exp(0.7 * gaussian(rng, 300, 4))),
    "few-values": Case(lambda rng: np.clip(np.round(3 + rng.normal(size=(200, 1)) + rng.normal(size=(200, 6))), 1, 5)),
    "blobs": Case(partial(blobs, n=300, d=5), 3),
    "blobs-small": Case(partial(blobs, n=90, d=2), 3),
    "blobs-unequal": Case(partial(blobs, n=300, d=4, shares=(0.7, 0.2, 0.1)), 3),
    "moons": Case(lambda rng: make_moons(300, noise=0.07, random_state=int(rng.integers(2**31)))[0], 2),
    "iris": Case(lambda rng: load_iris().data[rng.choice(150, 140, replace=False)], 2),
}


def claimed(case: Case, seed: int) -> int:
    """The number of groups claimed in the table of a seed; 1 for none."""
    X = case.draw(np.random.default_rng([seed, 5]))
    Z = np.ascontiguousarray((X - X.mean(axis=0)) / X.std(axis=0))
    with warnings.catch_warnings():
        warnings.simplefilter("ignore")
        found = search_groups(SearchPlan.of(Z, max_groups=MAX_GROUPS, seed=seed)).claims()
        return find_groups(Z, found[0], len(Z), seed).count if found else 1


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("cases", nargs="*", default=[], help="names of cases")
    parser.add_argument("-n", "--tables", type=int, default=100)
    parser.add_argument("-j", "--jobs", type=int, default=2)
    asked = parser.parse_args()
    for name in asked.cases or SIMULATIONS:
        case, start = SIMULATIONS[name], time.perf_counter()
        counts = np.array(Parallel(asked.jobs)(delayed(claimed)(case, seed) for seed in range(asked.tables)))
        seconds = (time.perf_counter() - start) * asked.jobs / asked.tables
        right = f", {np.sum(counts == case.groups)} with {case.groups} groups" if case.groups > 1 else ""
        print(f"{name:20} claimed {np.sum(counts > 1):3} of {asked.tables}{right}, {seconds:.1f} s each", flush=True)


if __name__ == "__main__":
    main()
