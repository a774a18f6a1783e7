"""Fits on a Dask cluster of two worker processes, beside memory, dask-ml and XGBoost's Dask estimators, in one run.

    python benchmarks/dask_cluster.py --rows 20000000

Prints for each method the seconds of the fit on the cluster and of its rival there, and how far the result is from that
of the same rows in memory: the largest relative difference of coefficients or centres, or whether trees are the same to
the last bit.
"""

from __future__ import annotations

import argparse
import time
import warnings

import numpy as np

COLUMNS, CHUNK_ROWS, ROUNDS = 20, 500_000, 10


def block(i: int, rows: int) -> np.ndarray:
    """Rows around two centres, and their labels in the last column."""
    rng = np.random.default_rng(i)
    y = rng.integers(0, 2, rows)
    X = rng.standard_normal((rows, COLUMNS + 1)) + 0.3 * y[:, None] * np.cos(np.arange(COLUMNS + 1))
    X[:, -1] = y
    return X


def timed(fit):
    start = time.perf_counter()
    model = fit()
    return model, time.perf_counter() - start


def difference(found, wanted) -> float:
    """The largest relative difference."""
    return float(np.abs(np.asarray(found) - wanted).max() / np.abs(wanted).max())


def cases(names):
    """By name: our estimator, what is compared, the rival's fit to (client, X, y)."""
    from fivefold.cluster import KMeans
    from fivefold.decomposition import PCA
    from fivefold.ensemble import HistGradientBoostingClassifier, RandomForestClassifier
    from fivefold.linear_model import LinearRegression, LogisticRegression
    from fivefold.naive_bayes import GaussianNB

    start = np.stack([0.1 * np.cos(np.arange(COLUMNS) * k) for k in range(1, 9)])

    def boost_rival(client, X, y):
        from xgboost.dask import DaskXGBClassifier

        rival = DaskXGBClassifier(
            n_estimators=ROUNDS, grow_policy="lossguide", max_leaves=31, max_depth=0, tree_method="hist", max_bin=255
        )
        rival.client = client
        return rival.fit(X, y)

    def logistic_rival(client, X, y):
        from dask_ml.linear_model import LogisticRegression as Rival

        return Rival(solver="lbfgs", C=1.0).fit(X, y)

    def kmeans_rival(client, X, y):
        from dask_ml.cluster import KMeans as Rival

        return Rival(8, init=start, max_iter=5, tol=0.0).fit(X)

    def pca_rival(client, X, y):
        from dask_ml.decomposition import PCA as Rival

        return Rival(5, svd_solver="tsqr").fit(X)

    def naive_rival(client, X, y):
        import dask
        from dask_ml.naive_bayes import GaussianNB as Rival

        rival = Rival().fit(X, y)  # which computes nothing yet
        return dask.compute(rival.theta_, rival.sigma_, rival.class_count_)

    boosting = {"max_iter": ROUNDS, "random_state": 0, "early_stopping": False}
    forest = {"n_estimators": 2, "max_depth": 6, "random_state": 0}
    every = {
        "GaussianNB": (GaussianNB(), "theta_", naive_rival),
        "PCA": (PCA(5), "explained_variance_", pca_rival),
        "LinearRegression": (LinearRegression(), "coef_", None),
        "LogisticRegression": (LogisticRegression(), "coef_", logistic_rival),
        "KMeans": (
            KMeans(8, init=start, n_init=1, max_iter=5, tol=0.0, random_state=0),
            "cluster_centers_",
            kmeans_rival,
        ),
        "HistGradientBoostingClassifier": (HistGradientBoostingClassifier(**boosting), None, boost_rival),
        "RandomForestClassifier": (RandomForestClassifier(**forest), "no memory", None),
    }
    return {name: every[name] for name in names or every}


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--rows", type=int, default=20_000_000)
    parser.add_argument("--methods", nargs="*")
    parser.add_argument("--no-rivals", action="store_true")
    options = parser.parse_args()
    warnings.simplefilter("ignore")
    import dask
    import dask.array as da
    from distributed import Client, LocalCluster, wait
    from sklearn.base import clone

    from fivefold.study.running.cluster_pool import LOCAL_CLUSTER_OPTIONS

    with (
        LocalCluster(n_workers=2, **LOCAL_CLUSTER_OPTIONS) as cluster,
        Client(cluster) as client,
    ):
        make, size = dask.delayed(block), (CHUNK_ROWS, COLUMNS + 1)
        parts = [da.from_delayed(make(i, CHUNK_ROWS), size, dtype=float) for i in range(options.rows // CHUNK_ROWS)]
        whole = da.concatenate(parts)
        X, y = whole[:, :COLUMNS].persist(), whole[:, COLUMNS].astype(int).persist()
        wait([X, y])
        few, A, b = slice(None, 2 * CHUNK_ROWS), None, None
        for name, (model, attribute, rival) in cases(options.methods).items():
            target = () if name in ("PCA", "KMeans") else (y,)
            clone(model).fit(X[few], *(t[few] for t in target))  # compiles its loops on the workers
            ours, seconds = timed(lambda: clone(model).fit(X, *target))  # noqa: B023
            line = f"{name:32s} {seconds:7.1f} s"
            if rival is not None and not options.no_rivals:
                try:
                    _, theirs = timed(lambda: rival(client, X, y))  # noqa: B023
                    line += f"  rival {theirs:7.1f} s, {theirs / seconds:5.2f}x"
                except Exception as error:
                    line += f"  rival failed: {type(error).__name__}: {str(error)[:80]}"
            if attribute != "no memory":
                if A is None:
                    A, b = X.compute(), y.compute()
                memory, in_memory = timed(lambda: clone(model).fit(A, *(b for _ in target)))  # noqa: B023
                if attribute is None:
                    same = ours.predict_proba(A[:100_000]).tobytes() == memory.predict_proba(A[:100_000]).tobytes()
                    line += f"  memory {in_memory:6.1f} s, same bytes: {same}"
                else:
                    gap = difference(np.abs(getattr(ours, attribute)), np.abs(getattr(memory, attribute)))
                    line += f"  memory {in_memory:6.1f} s, difference {gap:.1e}"
            print(line, flush=True)


if __name__ == "__main__":
    main()
