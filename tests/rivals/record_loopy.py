"""Beliefs of pyAgrum's loopy propagation on generated networks, kept in loopy_beliefs.json so that no test is left out.

    PYTHONPATH=tests:. python -m rivals.record_loopy

writes the file anew, where pyAgrum is installed.
"""

import json
from importlib.metadata import version
from pathlib import Path

from benchmarks.approximate_inference import agrum, network

PATH = Path(__file__).with_name("loopy_beliefs.json")
SEEDS = (0, 1, 2)
NODES = 30


def main():
    beliefs = {str(seed): agrum("LoopyBeliefPropagation")(network(NODES, seed))().tolist() for seed in SEEDS}
    found = {"made_by": f"pyAgrum {version('pyagrum')}", "beliefs": beliefs}
    PATH.write_text(json.dumps(found) + "\n")


if __name__ == "__main__":
    main()
