"""Fits to a folder of Parquet files under a limit on the memory of the process, beside reading the files alone.

    python benchmarks/larger_than_memory.py --gigabytes 8 --limit 1GB --folder /tmp/large

Makes the folder if it is not there: 20 columns of float64 and a label. Each fit runs in a process of its own under
RLIMIT_DATA, which counts what a process allocates and not the files that it maps. It prints a line per method: seconds,
gigabytes of the table per second and pass, the peak of memory (resident, less what is mapped from files).
"""

from __future__ import annotations

import argparse
import json
import os
import resource
import subprocess
import sys
import time
from pathlib import Path

import numpy as np

COLUMNS = 20
FILE_ROWS = 500_000
STEPS = 5  # of k-means, and rounds of boosting
METHODS = ("reading", "GaussianNB", "PCA", "LogisticRegression", "KMeans", "HistGradientBoostingClassifier")


def make_folder(folder: Path, gigabytes: float) -> int:
    """Files of rows around two centres; returns how many rows there are."""
    import pyarrow as pa
    import pyarrow.parquet as pq

    rows = int(gigabytes * 1e9 / (8 * (COLUMNS + 1)))
    folder.mkdir(parents=True, exist_ok=True)
    for i, lo in enumerate(range(0, rows, FILE_ROWS)):
        path = folder / f"part-{i:05d}.parquet"
        if path.exists():
            continue
        rng = np.random.default_rng(i)
        n = min(FILE_ROWS, rows - lo)
        y = rng.integers(0, 2, n)
        X = rng.standard_normal((n, COLUMNS)) + 0.3 * y[:, None] * np.cos(np.arange(COLUMNS))
        table = {f"x{j}": X[:, j] for j in range(COLUMNS)} | {"y": y}
        pq.write_table(pa.table(table), path, compression="none", use_dictionary=False, row_group_size=100_000)
    return rows


def run(method: str, folder: str, memory: str, limit: int) -> dict[str, float]:
    """One fit in this process, under the limit."""
    import fivefold.cluster
    import fivefold.decomposition
    import fivefold.ensemble
    import fivefold.linear_model
    import fivefold.naive_bayes  # noqa: F401
    from fivefold.core.registry import find
    from fivefold.data import Chunks

    if limit:
        resource.setrlimit(resource.RLIMIT_DATA, (limit, limit))
    table, reads = Chunks(folder, memory=memory), []
    source = table._source
    whole = source.read

    def counted(columns):  # whole passes over all columns: not the survey of labels, nor a look at the first chunk
        yield from whole(columns)
        reads.append(columns is None)

    source.read = counted
    start = time.perf_counter()
    if method == "reading":
        rows = sum(chunk.num_rows for chunk in table)
        return {"seconds": time.perf_counter() - start, "passes": 1, "rows": rows, **memory_used()}
    settings = {
        "KMeans": {"n_clusters": 8, "random_state": 0, "max_iter": STEPS},
        "HistGradientBoostingClassifier": {"max_iter": STEPS, "random_state": 0, "early_stopping": False},
    }
    model = find(method).cls(**settings.get(method, {}))
    if method in ("PCA", "KMeans"):
        columns = [f"x{j}" for j in range(COLUMNS)]
        table = Chunks(folder, memory=memory, columns=columns)
        source = table._source
        whole, source.read = source.read, counted
        model.fit(table)
    else:
        model.fit(table, "y")
    return {"seconds": time.perf_counter() - start, "passes": sum(reads), **memory_used()}


def memory_used() -> dict[str, float]:
    """The peak of resident memory, and what of it is anonymous now, in GB."""
    status = dict(line.split(":", 1) for line in Path("/proc/self/status").read_text().splitlines() if ":" in line)
    kilobytes = {name: int(status[name].split()[0]) for name in ("VmHWM", "RssAnon", "VmData")}
    return {name: value * 1024 / 1e9 for name, value in kilobytes.items()}


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--gigabytes", type=float, default=2.0)
    parser.add_argument("--limit", default="1GB")
    parser.add_argument("--memory", default="256 MB", help="what Chunks may hold")
    parser.add_argument("--folder", default="/tmp/fivefold-large")
    parser.add_argument("--methods", nargs="*", default=METHODS)
    parser.add_argument("--run", help=argparse.SUPPRESS)
    options = parser.parse_args()
    limit = int(float(options.limit.removesuffix("GB")) * 1e9)
    if options.run:
        print(json.dumps(run(options.run, options.folder, options.memory, limit)))
        return
    rows = make_folder(Path(options.folder), options.gigabytes)
    size = rows * 8 * (COLUMNS + 1) / 1e9
    print(f"{size:.2f} GB, {rows} rows, limit {options.limit}, chunks within {options.memory}")
    for method in options.methods:
        command = [sys.executable, __file__, *sys.argv[1:], "--run", method]
        # Arrow's own allocator reserves address space in blocks of a gigabyte, which the limit would count
        # and every thread of OpenBLAS some forty megabytes, where methods use one
        plain = os.environ | {
            "ARROW_DEFAULT_MEMORY_POOL": "system",
            "MALLOC_ARENA_MAX": "2",
            "OPENBLAS_NUM_THREADS": "1",
        }
        done = subprocess.run(command, capture_output=True, text=True, check=False, env=plain)
        if done.returncode:
            print(f"{method:34s} failed: {done.stderr.strip().splitlines()[-1:]}")
            continue
        found = json.loads(done.stdout.splitlines()[-1])
        rate = size * found["passes"] / found["seconds"]
        print(
            f"{method:34s} {found['seconds']:8.1f} s  {found['passes']:3.0f} passes  {rate:6.2f} GB/s and pass  "
            f"peak {found['VmHWM']:.2f} GB, data {found['VmData']:.2f} GB",
            flush=True,
        )


if __name__ == "__main__":
    main()
