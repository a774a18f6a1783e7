"""`python -m benchmarks [NAME ...]`: measure the rows whose name holds one of the words; all without any."""

import argparse
import os
import sys
from pathlib import Path

THREADS = ("OMP_NUM_THREADS", "OPENBLAS_NUM_THREADS", "MKL_NUM_THREADS", "NUMBA_NUM_THREADS")


def main(arguments: list[str] | None = None) -> int:
    """Measure, print, write. 1 if a method failed or did not agree with its rival, else 0."""
    cores = len(os.sched_getaffinity(0)) if hasattr(os, "sched_getaffinity") else os.cpu_count() or 1
    parser = argparse.ArgumentParser(prog="python -m benchmarks", description="Time, memory and growth beside rivals.")
    parser.add_argument("names", nargs="*", metavar="NAME", help="part of a row's name, such as GaussianNB")
    parser.add_argument("--quick", action="store_true", help="small tables, no bars, nothing written: a smoke test")
    parser.add_argument("--repeats", type=int, default=5, metavar="N", help="timed repetitions, three at least")
    parser.add_argument("--threads", type=int, default=cores, metavar="N", help="threads of every contestant")
    parser.add_argument("--out", type=Path, metavar="DIR", help="where benchmarks/ and docs/ are written")
    parser.add_argument("--list", action="store_true", help="print the names and stop")
    given = parser.parse_args(arguments)

    os.environ.update(dict.fromkeys(THREADS, str(given.threads)))  # before anything loads a linear algebra library
    from benchmarks.harness.run import names, run

    if given.list:
        print("\n".join(names(given.names)))
        return 0
    return run(given.names, quick=given.quick, repeats=given.repeats, threads=given.threads, out=given.out)


if __name__ == "__main__":
    sys.exit(main())
