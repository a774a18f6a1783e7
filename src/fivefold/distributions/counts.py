"""What the families of counts share: sums of a table under weights, and log densities linear in the table.

    total_kj    = sum_i r_ik x_ij                        over the rows where x_ij is known
    observed_kj = sum_i r_ik                             over the same rows
    log p_k(x)  = h(x) + sum_j (x_j theta_kj + c_kj)     over the known columns

Tables are arrays, sparse matrices (nothing is made dense) or tensors (plain array-API code). Groups become a sparse
indicator with one entry a row, so a sum by group costs one pass over the table.
"""

from __future__ import annotations

from dataclasses import dataclass
from functools import reduce
from operator import add
from typing import Any

import numpy as np
from scipy.sparse import csr_array, issparse
from scipy.special import gammaln

from fivefold.core.arrays import is_tensor, namespace, to_numpy
from fivefold.core.parallel import map_parts
from fivefold.distributions.family import Array, Groups, Stats


@dataclass(frozen=True)
class Totals(Stats):
    """Sums of K groups: weight of the rows, weight of the known entries, and total of the known values."""

    observed: Array  # (K, d)
    total: Array  # (K, d)


def totals(X: Any, R: Any) -> Totals:
    """The sums of the rows of X under the weights R, a matrix (n, K) or groups."""
    if is_tensor(X):
        return _sums(X, _like(X, R.dense() if isinstance(R, Groups) else R))
    if issparse(X):
        return _sums(X, indicator(R))
    return reduce(add, map_parts(lambda lo, hi: _sums(X[lo:hi], indicator(R[lo:hi])), len(X)))


def indicator(R: Any) -> Any:
    """Weights as a matrix (n, K): groups as a sparse one, with one entry a row."""
    if not isinstance(R, Groups):
        return R
    return csr_array((R.weights, R.codes, np.arange(len(R.codes) + 1)), shape=R.shape)


def affine(X: Any, theta: Array, constant: Array) -> Any:
    """sum_j (x_ij theta_kj + c_kj) over the known columns: (n, K), on the device of X."""
    if is_tensor(X):
        return _affine(X, _like(X, theta), _like(X, constant))
    if issparse(X):
        return _affine(X, theta, constant)
    return np.concatenate(map_parts(lambda lo, hi: _affine(X[lo:hi], theta, constant), len(X)))


def log_factorials(X: Any) -> Any:
    """sum_j log x_ij! over the known columns (n,)."""
    if is_tensor(X):
        return (_filled(X)[0] + 1).lgamma().sum(dim=1)
    if issparse(X):
        logs = csr_array((gammaln(np.nan_to_num(X.data) + 1), X.indices, X.indptr), shape=X.shape)
        return logs.sum(axis=1)
    return gammaln(np.nan_to_num(X) + 1).sum(axis=1)


def check_range(X: Any, low: float, high: Any, name: str, cure: str) -> None:
    """Refuse values outside low..high, with their column; `high` may differ by column."""
    values = to_numpy(X.data if issparse(X) else X)
    if values.size == 0:
        return
    top = np.min(high)
    if np.nanmin(values, initial=low) >= low and np.nanmax(values, initial=low) <= top:
        return
    dense = X.toarray() if issparse(X) else values
    bad = (dense < low) | (dense > high)
    if bad.any():
        j = int(bad.any(axis=0).argmax())
        i = int(bad[:, j].argmax())
        limit = np.broadcast_to(high, dense.shape[1:])[j]
        span = f"of {low:g} or more" if np.isinf(limit) else f"from {low:g} to {limit:g}"
        raise ValueError(f"{name}: column {j} holds {dense[i, j]:g} in row {i}; allowed are values {span}. {cure}")


def share(total: Array, of: Array) -> Array:
    """total / of; a member that saw nothing of a column takes the share of all members together."""
    if (of > 0).all():
        return total / of
    whole, known = total.sum(axis=0), of.sum(axis=0)
    if (known <= 0).any():
        j = int((known <= 0).argmax())
        raise ValueError(f"no value of column {j} was seen: give a prior, or drop that column")
    return np.where(of > 0, total / np.where(of > 0, of, 1), whole / known)


def _sums(X: Any, R: Any) -> Totals:
    """Totals of a table that is taken whole."""
    xp = namespace(R) if is_tensor(X) else np
    weight = xp.sum(R, axis=0)
    filled, gaps = _filled(X)
    known = xp.ones((1, X.shape[1]), dtype=weight.dtype) * weight[:, None] if not is_tensor(X) else (
        xp.ones_like(X[:1]) * weight[:, None]
    )
    observed = known if gaps is None else known - _dense(R.T @ gaps)
    return Totals(to_numpy(weight), to_numpy(observed), to_numpy(_dense(R.T @ filled)))


def _affine(X: Any, theta: Any, constant: Any) -> Any:
    filled, gaps = _filled(X)
    out = filled @ theta.T + constant.sum(axis=1)
    return out if gaps is None else out - gaps @ constant.T


def _filled(X: Any) -> tuple[Any, Any]:
    """X with zeros for missing entries, and their indicator; None where nothing is missing."""
    if issparse(X):
        missing = np.isnan(X.data)
        if not missing.any():
            return X, None
        parts = (np.where(missing, 0, X.data), missing.astype(np.float64))
        return tuple(csr_array((data, X.indices, X.indptr), shape=X.shape) for data in parts)  # type: ignore[return-value]
    xp = namespace(X)
    missing = xp.isnan(X)
    if not bool(xp.any(missing)):
        return X, None
    return xp.where(missing, xp.zeros_like(X), X), xp.astype(missing, X.dtype)


def _dense(A: Any) -> Any:
    return A.toarray() if issparse(A) else A


def _like(X: Any, a: Any) -> Any:
    """`a` as a tensor of the type and on the device of X."""
    return a if is_tensor(a) else namespace(X).asarray(a, dtype=X.dtype, device=X.device)
