"""Tensors on a GPU beside NumPy on the CPU: agreement first, then time.

Run `python -m benchmarks.gpu` where torch sees a GPU; there is no GPU where the other benchmarks run.
"""

from __future__ import annotations

import time

import numpy as np


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
