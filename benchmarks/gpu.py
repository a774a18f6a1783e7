"""Tensors on a GPU beside NumPy on the CPU: agreement first, then time; then passes beside the limits of the hardware.

Run `python -m benchmarks.gpu` where torch sees a GPU; there is no GPU where the other benchmarks run.
"""

from __future__ import annotations

import time
from collections.abc import Callable, Iterator
from typing import Any

import numpy as np

BANDWIDTH, SINGLE_PRECISION = 4.8e12, 67e12  # of an H200: bytes, and operations in float32, per second


def main() -> None:
    """Statistics of every family, a Gaussian log density and PCA, on the device and on the host."""
    import torch

    from fivefold.decomposition import PCA
    from fivefold.distributions.family import families
    from fivefold.distributions.gaussian import Full, Gaussian

    if not torch.cuda.is_available():
        print("torch sees no GPU here; nothing to measure")
        return
    print(f"torch {torch.__version__}, {torch.cuda.get_device_name()}")
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
    passes()


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
