"""The time of fits on a Dask cluster, measured and predicted: does the model of docs/scale.md hold?

    python benchmarks/scale_model.py

    seconds = start + passes (rows x seconds per row / workers + chunks x seconds per task)

The seconds per row and pass of each method are measured on one worker at the middle size; the model then predicts all
other sizes and numbers of workers.
"""

from __future__ import annotations

import time
import warnings

import numpy as np

COLUMNS, CHUNK_ROWS = 20, 125_000
SIZES, WORKERS = (250_000, 1_000_000, 3_000_000), (1, 2)
TASK_SECONDS = 0.004  # of the scheduler and the client, per task


def block(i: int, rows: int) -> np.ndarray:
    """Rows around two centres, and their labels in the last column."""
    rng = np.random.default_rng(i)
    y = rng.integers(0, 2, rows)
    X = rng.standard_normal((rows, COLUMNS + 1)) + 0.3 * y[:, None]
    X[:, -1] = y
    return X


def measure() -> dict[tuple[str, int, int], tuple[float, int]]:
    """Seconds and passes by method, rows and workers."""
    import dask
    import dask.array as da
    from distributed import Client, LocalCluster, wait

    from fivefold.core.chunks.dask_source import DaskSource
    from fivefold.decomposition import PCA
    from fivefold.linear_model import LinearRegression, LogisticRegression
    from fivefold.naive_bayes import GaussianNB
    from fivefold.study.running.cluster_pool import LOCAL_CLUSTER_OPTIONS

    passes: list[int] = []
    inner = DaskSource.map

    def counted(self, *args, first=False, **options):
        passes.append(int(not first))
        return inner(self, *args, first=first, **options)

    DaskSource.map = counted
    found = {}
    for workers in WORKERS:
        with (
            LocalCluster(n_workers=workers, **LOCAL_CLUSTER_OPTIONS) as cluster,
            Client(cluster),
        ):
            for n in SIZES:
                make = dask.delayed(block)
                shape = (CHUNK_ROWS, COLUMNS + 1)
                parts = [da.from_delayed(make(i, CHUNK_ROWS), shape, dtype=float) for i in range(n // CHUNK_ROWS)]
                whole = da.concatenate(parts)
                X, y = whole[:, :COLUMNS].persist(), whole[:, COLUMNS].astype(int).persist()
                wait([X, y])
                for method in (GaussianNB, PCA, LinearRegression, LogisticRegression):
                    given = (X,) if method is PCA else (X, y)
                    method().fit(*(a[: 2 * CHUNK_ROWS] for a in given))  # compiles its loops on the workers
                    passes.clear()
                    start = time.perf_counter()
                    method().fit(*given)
                    found[method.__name__, n, workers] = time.perf_counter() - start, sum(passes)
    return found


def main() -> None:
    with warnings.catch_warnings():
        warnings.simplefilter("ignore")
        found = measure()
    print("method                rows  workers  passes   measured  predicted")
    for name in dict.fromkeys(key[0] for key in found):
        seconds, passes = found[name, SIZES[1], 1]
        per_row = (seconds / passes - TASK_SECONDS * SIZES[1] / CHUNK_ROWS) / SIZES[1]
        for (method, n, workers), (seconds, passes) in found.items():
            if method == name:
                predicted = passes * (n * per_row / workers + TASK_SECONDS * n / CHUNK_ROWS)
                print(f"{name:20s} {n:9d} {workers:4d} {passes:7d} {seconds:11.2f} {predicted:9.2f}")


if __name__ == "__main__":
    main()
