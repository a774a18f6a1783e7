"""Sums over the rows of tensors, on their device: no pass waits for the host, and float32 loses no digits.

    row_cuts(X, numbers)     runs of rows whose temporaries take a share of the free memory
    cross_sums(A, B)         A^T B in float64

Products of a run of rows are taken in the precision of the tensors, in one call for all runs; the runs are added in
float64. A sum of a few thousand products in float32 loses no more digits than the numbers themselves lack.

Tensors come with torch, so that torch is imported by then.
"""

from __future__ import annotations

from typing import Any

import numpy as np

from fivefold.core.numerics.arrays import AnyArray, is_tensor, namespace, to_numpy
from fivefold.core.types import Doubles

MEMORY_SHARE = 0.25  # of the free memory that the temporaries of a run of rows may take
HOST_BYTES = 1 << 27  # bytes of temporaries on the host, where the free memory of a device is not known
RUN_ROWS = 4096  # rows whose products are added in the precision of the tensors, at least
RUN_RATIO = 4  # sums of runs take at most one number for this many of the factors


def double_type(X: AnyArray) -> Any:  # torch's own types are not known here
    """float64 as the library of a tensor names it."""
    return namespace(X).float64


def free_bytes(X: AnyArray) -> int:
    """Bytes that temporaries beside X may take."""
    if X.device.type != "cuda":
        return int(HOST_BYTES / MEMORY_SHARE)
    import torch

    known = torch.cuda.memory_stats_as_nested_dict(X.device)  # torch's other functions spend .3 ms to flatten it
    reserved, used = (known[name]["all"]["current"] for name in ("reserved_bytes", "allocated_bytes"))
    return int(torch.cuda.mem_get_info(X.device)[0]) + int(reserved - used)


def row_cuts(X: AnyArray, numbers: int) -> list[tuple[int, int]]:
    """The ends of runs of rows of X, each of which makes this many temporary numbers per row."""
    n, at_once = len(X), int(MEMORY_SHARE * free_bytes(X)) // (numbers * X.element_size() + 1)
    step = max(RUN_ROWS, at_once // RUN_ROWS * RUN_ROWS)
    return [(a, min(a + step, n)) for a in range(0, n, step)]


def cross_sums(A: AnyArray, B: AnyArray) -> AnyArray:
    """A^T B (k, m) in float64 for A (n, k) and B (n, m) of one type.

    >>> import torch
    >>> cross_sums(torch.ones(3, 1), torch.arange(6.0).reshape(3, 2))
    tensor([[6., 9.]], dtype=torch.float64)
    """
    xp, (n, k), m = namespace(A, B), A.shape, B.shape[1]
    rows = max(RUN_ROWS, RUN_RATIO * k * m // (k + m) // RUN_ROWS * RUN_ROWS)
    count = n // rows
    if count < 2:
        return (A.T @ B).to(xp.float64)
    whole = count * rows
    runs = xp.bmm(A[:whole].reshape(count, rows, k).transpose(1, 2), B[:whole].reshape(count, rows, m))
    total = runs.sum(dim=0, dtype=xp.float64)
    return total if whole == n else total + A[whole:].T @ B[whole:]


def one_hot(codes: AnyArray, count: int, X: AnyArray, weights: AnyArray | None = None) -> AnyArray:
    """(n, count) in the type of X: the weight of each row, one by default, in the column of its code."""
    xp = namespace(codes)
    mine = codes[:, None] == xp.arange(count, device=codes.device, dtype=codes.dtype)
    return mine.to(X.dtype) if weights is None else mine * weights.to(X.dtype)[:, None]


def weight_by_code(codes: AnyArray, w: AnyArray | None, count: int) -> Doubles:
    """The weight of the rows of each code (count,), or without w their number; codes and w are arrays or tensors."""
    if not is_tensor(codes):
        return np.bincount(codes, w, count).astype(np.float64)
    if w is None or is_one(w):
        return on_host(namespace(codes).bincount(codes, minlength=count))
    return on_host(sum(one_hot(codes[a:b], count, w, w[a:b]).sum(dim=0) for a, b in row_cuts(w, 2 * count)))


def is_one(w: AnyArray) -> bool:
    """Does every row count once? Weights that nobody gave are one number, seen from every row (`ones_beside`)."""
    return len(w) > 1 and w.stride(0) == 0


def ones_beside(X: AnyArray) -> AnyArray:
    """A weight of one for each row of a tensor, in float64: one number, seen from every row."""
    xp = namespace(X)
    return xp.ones(1, dtype=xp.float64, device=X.device).expand(len(X))


def on_host(a: AnyArray) -> Doubles:
    """A small tensor, or an array, as a NumPy array of float64."""
    return np.asarray(to_numpy(a), dtype=np.float64)
