"""Error of type I and power of the verdicts of a study, by simulation, beside all pairs with Holm's adjustment.

Two designs (200 and 1,000 rows, four learners, twice five folds) and three losses, one with heavy tails; margin 0, the
hardest for the error of type I. See fivefold/evaluation/experiments/verdict_rates.py.

    python -m benchmarks.verdicts [simulations]
"""

from __future__ import annotations

import sys
import time

import numpy as np

from fivefold.evaluation.experiments.rejection_rates import DESIGNS
from fivefold.evaluation.experiments.verdict_rates import LOSSES, verdict_rates

# Of the first learner, where the power is neither 0 nor 1; heavy tails hide a small one.
ADVANTAGES = {
    "200 rows": dict.fromkeys(LOSSES, 0.10),
    "1,000 rows": {"zero-one": 0.03, "log loss": 0.03, "heavy": 0.07},
}


def main(simulations: str = "2000") -> None:
    """Print the table."""
    count = int(simulations)
    limit = 0.05 + 3 * np.sqrt(0.05 * 0.95 / count)
    print(f"{count} simulations; level 5 %, three standard errors above it {limit:.1%}")
    print(f"{'design':12}{'loss':10}{'type I':>9}{'all pairs':>11}{'power':>9}{'all pairs':>11}{'seconds':>9}")
    for name, design in DESIGNS.items():
        for loss in LOSSES:
            start = time.perf_counter()
            rates = verdict_rates(design, loss, ADVANTAGES[name][loss], count)
            print(
                f"{name:12}{loss:10}{rates.false_worse:9.1%}{rates.false_worse_pairs:11.1%}{rates.power:9.1%}"
                f"{rates.power_pairs:11.1%}{time.perf_counter() - start:9.0f}",
                flush=True,
            )


if __name__ == "__main__":
    main(*sys.argv[1:])
