"""Tensors on a GPU beside NumPy on the CPU: agreement first, then time; then passes beside the limits of the hardware.

Run `python -m benchmarks.gpu` where torch sees a GPU, or one part of it with `--only` agreement, passes, boosting or
forest; there is no GPU where the other benchmarks run.
"""

from __future__ import annotations

import argparse
import time
from collections.abc import Callable, Iterator
from typing import Any

import numpy as np

BANDWIDTH, SINGLE_PRECISION = 4.8e12, 67e12  # of an H200: bytes, and operations in float32, per second


def main() -> None:
    """All parts, or the one that is asked for."""
    import torch

    parser = argparse.ArgumentParser()
    parser.add_argument("--only", choices=("agreement", "passes", "boosting", "forest"))
    asked = parser.parse_args().only
    if not torch.cuda.is_available():
        print("torch sees no GPU here; nothing to measure")
        return
    print(f"torch {torch.__version__}, {torch.cuda.get_device_name()}")
    for name, part in (("agreement", agreement), ("passes", passes), ("boosting", boosting), ("forest", forest)):
        if asked in (None, name):
            part()


def agreement() -> None:
    """Statistics of every family, a Gaussian log density and PCA, on the device and on the host."""
    import torch

    from fivefold.decomposition import PCA
    from fivefold.distributions.family import families
    from fivefold.distributions.gaussian import Full, Gaussian

    rng = np.random.RandomState(0)
    for cls in families():
        for family, X in cls.examples(rng):
            R = rng.uniform(size=(len(X), 3))
            host = family.stats(X, R)
            device = family.stats(torch.tensor(X, device="cuda"), torch.tensor(R, device="cuda"))
            gap = max(_gap(getattr(host, f), getattr(device, f)) for f in ("weight",))
            members = family.fit(host)
            density = members.log_prob(torch.tensor(X, device="cuda"))
            gap = max(gap, _gap(members.log_prob(X), density))
            print(f"{type(family).__name__:14} largest relative gap {gap:.1e} on {density.device}")
    X = rng.normal(size=(2_000_000, 50)) @ rng.normal(size=(50, 50))
    T = torch.tensor(X, device="cuda")
    for name, host, device in (
        ("PCA(10).fit", lambda: PCA(10).fit(X).components_, lambda: PCA(10).fit(T).components_),
        ("Gaussian stats", lambda: Gaussian(Full()).stats(X, np.ones((len(X), 1))).scatter,
         lambda: Gaussian(Full()).stats(T, torch.ones((len(X), 1), dtype=T.dtype, device="cuda")).scatter),
    ):  # fmt: skip
        print(f"{name:16} gap {_gap(host(), device()):.1e}  CPU {_median(host):.3f} s  GPU {_median(device):.3f} s")


def passes(n: int = 10_000_000, d: int = 32) -> None:
    """One pass of each method over a table in float32, beside what bandwidth and arithmetic take at least."""
    import torch

    made = torch.Generator("cuda").manual_seed(0)
    centres = 3 * torch.randn(64, d, device="cuda", generator=made)
    code = torch.randint(64, (n,), device="cuda", generator=made)
    X = torch.randn(n, d, device="cuda", generator=made) + centres[code]
    y = X[:, 0] + torch.randn(n, device="cuda", generator=made)
    table = 4 * n * d
    for name, run, size, operations in _passes(X, y, code % 10, centres.cpu().numpy()):
        run()
        taken, limit = _median(run), max((table + size * n) / BANDWIDTH, operations * n / SINGLE_PRECISION)
        print(f"{name:28} {1e3 * taken:7.3f} ms  {taken / limit:5.1f} times the nearer limit  {n / taken:.1e} rows/s")


def boosting(n: int = 10_000_000, d: int = 32, rounds: int = 100) -> None:
    """Histogram boosting with 31 leaves: a round beside the time that reading codes and gradients takes at least.

    A row is read with its codes (d bytes) and rounded gradients (16) once for the root and, in a level below, at most
    every second time: with 31 leaves in about five levels, 3.5 times.
    """
    from fivefold.ensemble import HistGradientBoostingClassifier

    X, score = _labelled_rows(n, d)
    y = (score > 0).long()
    limit = 3.5 * n * (d + 16) / BANDWIDTH
    seconds = {}
    for count in (2, 2 + rounds // 2, 2 + rounds):  # the first also compiles; the difference of fits is that of rounds
        model = HistGradientBoostingClassifier(max_iter=count, early_stopping=False, random_state=0)
        seconds[count] = min(_seconds(lambda model=model: model.fit(X, y)) for _ in range(2))
    first, last = 2, 2 + rounds
    each = (seconds[last] - seconds[first]) / (last - first)
    print(
        f"HistGradientBoostingClassifier  {1e3 * each:6.2f} ms a round of 31 leaves  {each / limit:5.1f} times the "
        f"limit of bandwidth ({1e3 * limit:.2f} ms)  {n / each:.1e} rows/s  bins and start {seconds[first]:.2f} s  "
        f"{last} rounds {seconds[last]:.2f} s"
    )
    taken = min(_seconds(lambda: model.predict(X)) for _ in range(3))
    print(f"predict, {last} trees            {1e3 * taken:6.1f} ms  {n / taken:.1e} rows/s")


def forest(n: int = 10_000_000, d: int = 32, trees: int = 10) -> None:
    """Random forests: a tree beside the time that reading codes and gradients takes at least, as in `boosting`."""
    from fivefold.ensemble import RandomForestClassifier, RandomForestRegressor

    X, score = _labelled_rows(n, d)
    for method, y, depth in (
        (RandomForestClassifier, (score > 0).long(), 6),
        (RandomForestRegressor, score, 6),
        (RandomForestClassifier, (score > 0).long(), 10),
    ):
        limit = (1 + depth / 2) * n * (d + 16) / BANDWIDTH
        seconds = {}
        for count in (1, 1 + trees):
            model = method(count, max_depth=depth, random_state=0)
            model.fit(X, y)  # the first also compiles
            seconds[count] = _seconds(lambda model=model, y=y: model.fit(X, y))
        each = (seconds[1 + trees] - seconds[1]) / trees
        taken = min(_seconds(lambda model=model: model.predict(X)) for _ in range(3))
        print(
            f"{method.__name__:24} depth {depth:2}  {1e3 * each:7.1f} ms a tree  {each / limit:5.1f} times the "
            f"limit of bandwidth ({1e3 * limit:.2f} ms)  bins and first tree {seconds[1]:.2f} s  {1 + trees} trees "
            f"{seconds[1 + trees]:.2f} s  predict {1e3 * taken:.1f} ms  {model.device_}"
        )


def _labelled_rows(n: int, d: int) -> tuple[Any, Any]:
    """Rows on the device, and a number for each; tensors come from a library without types."""
    import torch

    made = torch.Generator("cuda").manual_seed(0)
    X = torch.randn(n, d, device="cuda", generator=made)
    return X, X[:, 0] + torch.sin(3 * X[:, 1]) * X[:, 2] + 0.5 * torch.randn(n, device="cuda", generator=made)


def _seconds(run: Callable[[], object]) -> float:
    import torch

    torch.cuda.synchronize()
    start = time.perf_counter()
    run()
    torch.cuda.synchronize()
    return time.perf_counter() - start


def _passes(X: Any, y: Any, codes: Any, centres: Any) -> Iterator[tuple[str, Callable[[], object], int, int]]:
    """Name, pass, bytes beside a row and operations per row; tensors come from a library without types."""
    from fivefold.core.numerics.table_moments import cross_moments, weighted_moments
    from fivefold.core.numerics.tensors import ones_beside
    from fivefold.distributions.family import GroupWeights
    from fivefold.distributions.gaussian import Diagonal, Full, Gaussian
    from fivefold.linear_model import LogisticRegression
    from fivefold.mixture import GaussianMixture
    from fivefold.spatial.centres.tensor_lloyd import TensorAssignment
    from fivefold.spatial.tensor_points import TensorPoints

    d, w, points = X.shape[1], ones_beside(X), TensorPoints.of(X)
    groups, C = TensorAssignment(points, len(centres)), points.centred(centres)
    yield "KMeans, 64 clusters", lambda: groups.assign(C), 0, 2 * len(C) * d
    for kind, K, each in (("full", 8, 4 * d * d), ("full", 16, 4 * d * d), ("diag", 16, 8 * d)):
        model = GaussianMixture(K, covariance_type=kind, random_state=0, max_iter=1, init_params="random_from_data")
        fitted = model.fit(X[:200_000]).model_
        yield f"GaussianMixture, {K} {kind}", lambda fitted=fitted: fitted.expect(X, w), 0, K * each
    for K, labels in ((2, codes % 2), (10, codes)):
        classifier = LogisticRegression()
        classifier.classes_ = np.arange(K)
        risk, x = classifier._risk(X, labels, w, 1.0), np.full((d + 1) * (K if K > 2 else 1), 0.01)
        yield (
            f"LogisticRegression, {K}",
            lambda risk=risk, x=x: risk.value_and_gradient(x),
            8,
            4 * d * (K if K > 2 else 1),
        )
    yield "PCA", lambda: weighted_moments(X), 0, 2 * d * d
    yield "Ridge", lambda: cross_moments(X, y[:, None]), 4, 2 * d * (d + 1)
    rows = GroupWeights(codes, w, 10)
    yield "GaussianNB, 10 classes", lambda: Gaussian(Diagonal()).stats(X, rows), 8, 4 * d
    yield "LDA, QDA, 10 classes", lambda: Gaussian(Full()).stats(X, rows), 8, 2 * d * d


def _gap(a: object, b: object) -> float:
    a, b = np.asarray(a), b.cpu().numpy() if hasattr(b, "cpu") else np.asarray(b)
    finite = np.isfinite(a)
    return float(np.abs(a[finite] - b[finite]).max() / max(np.abs(a[finite]).max(), 1e-300))


def _median(run: object) -> float:
    import torch

    times = []
    for _ in range(5):
        start = time.perf_counter()
        run()
        torch.cuda.synchronize()
        times.append(time.perf_counter() - start)
    return float(np.median(times))


if __name__ == "__main__":
    main()
