"""Sparse tables as users give them, and as the loops read them.

The loops read CSR without asking: pointers that rise from 0, columns of a row in order, none twice, none outside the
table. SciPy checks none of that when arrays are put into a matrix, and keeps an entry that was stored twice as two
parts of a sum. `canonical_csr` reads every stored index (4 ms for 10 million) and never writes to its argument.
"""

from __future__ import annotations

import numpy as np
from scipy.sparse import csr_array, csr_matrix, sparray

from fivefold.core._sklearn import get_config
from fivefold.core.types import Indices, Sparse, Table


def configured_csr(X: Table) -> Sparse:
    """A matrix as a CSR of the kind that scikit-learn is set to give: a sparse matrix unless arrays are asked for.

    >>> type(configured_csr([[0.0, 1.0]])).__name__
    'csr_matrix'
    """
    return csr_array(X) if get_config().get("sparse_interface") == "sparray" else csr_matrix(X)


def canonical_csr(X: Table, name: str) -> Sparse:
    """X as CSR of floats, sorted, without duplicates: its own arrays if they are so already, new ones otherwise.

    >>> from scipy.sparse import csr_array
    >>> canonical_csr(csr_array(([1, 2], [0, 0], [0, 2]), shape=(1, 3)), "X").toarray()
    array([[3., 0., 0.]])
    """
    name = f"{name}, a {type(X).__name__} of shape {X.shape},"
    if X.ndim != 2:
        raise ValueError(f"{name} is no table of rows and columns")
    if X.dtype.kind not in "biuf" and X.dtype != object:
        raise ValueError(f"{name} holds {X.dtype}; Complex data not supported, nor text or dates: give real numbers")
    FORMAT_CHECKS.get(X.format, _any_format)(X, name)
    if X.dtype not in (np.float64, np.float32, np.bool_):
        with np.errstate(over="ignore"):  # a wider float may become infinite, and infinity is refused with its column
            X = X.astype(np.float64)
    if X.format != "csr":
        X = X.tocsr()
    stored, table = X.indptr[-1], csr_array if isinstance(X, sparray) else csr_matrix
    fresh = table((X.data[:stored], X.indices[:stored], X.indptr), shape=X.shape)  # whatever flags X has
    _in_range(fresh.indices, X.shape[1], "indices", name)
    if not _rises_in_rows(fresh.indices, fresh.indptr):
        fresh = fresh.copy()
        fresh.sum_duplicates()
    fresh.has_canonical_format = True
    return fresh if fresh.dtype.kind == "f" else fresh.astype(np.float64)


def _rises_in_rows(indices: Indices, indptr: Indices) -> bool:
    """Are the columns of each row in order, none twice? As SciPy's own check says, in a third of its time."""
    falls = indices[1:] <= indices[:-1]
    starts = indptr[1:-1]
    falls[starts[(starts > 0) & (starts < len(indices))] - 1] = False  # from one row to the next they may fall
    return not falls.any()


def _compressed(X: Table, name: str) -> None:
    """CSR, CSC and BSR: pointers to the first entry of each row, column or row of blocks."""
    block = X.data.shape[1:] if X.format == "bsr" else (1, 1)
    if np.ndim(X.data) != (3 if X.format == "bsr" else 1) or 0 in block:
        raise ValueError(f"{name} has data of shape {np.shape(X.data)}")
    rows, columns = X.shape[0] // block[0], X.shape[1] // block[1]
    majors, minors = (columns, rows) if X.format == "csc" else (rows, columns)
    if (rows * block[0], columns * block[1]) != X.shape:
        raise ValueError(f"{name} is not divided evenly into blocks of shape {block}")
    _integers(X.indptr, "indptr", name)
    _integers(X.indices, "indices", name)
    indptr, indices = X.indptr, X.indices
    if len(indptr) != majors + 1:
        raise ValueError(f"{name} has {len(indptr)} pointers in indptr; {majors + 1} are needed")
    if indptr[0] != 0 or (indptr[1:] < indptr[:-1]).any():
        at = int((indptr[1:] < indptr[:-1]).argmax()) + 1 if indptr[0] == 0 else 0
        raise ValueError(f"{name} has indptr[{at}] = {indptr[at]}; pointers start at 0 and never decrease")
    if len(X.data) != len(indices) or indptr[-1] > len(indices):
        raise ValueError(
            f"{name} points to {indptr[-1]} entries, but stores {len(indices)} indices and {len(X.data)} values"
        )
    if X.format != "csr":
        _in_range(indices[: indptr[-1]], minors, "indices", name)


def _coordinates(X: Table, name: str) -> None:
    for axis, (coords, size) in enumerate(zip(X.coords, X.shape, strict=True)):
        _integers(coords, f"coords[{axis}]", name)
        if np.shape(X.data) != coords.shape:
            raise ValueError(f"{name} has {len(coords)} indices in coords[{axis}] for data of shape {np.shape(X.data)}")
        _in_range(coords, size, f"coords[{axis}]", name)


def _lists(X: Table, name: str) -> None:
    if len(X.rows) != X.shape[0] or len(X.data) != X.shape[0]:
        raise ValueError(f"{name} has {len(X.rows)} lists of columns and {len(X.data)} lists of values")
    for i, (columns, values) in enumerate(zip(X.rows, X.data, strict=True)):
        if len(columns) != len(values):
            raise ValueError(f"{name} has {len(columns)} columns and {len(values)} values in row {i}")
    flat = np.array([j for columns in X.rows for j in columns])
    if len(flat):
        _integers(flat, "rows", name)
        _in_range(flat, X.shape[1], "rows", name)


def _diagonals(X: Table, name: str) -> None:
    _integers(X.offsets, "offsets", name)
    if np.ndim(X.data) != 2 or len(X.data) != len(X.offsets):
        raise ValueError(f"{name} has {len(X.offsets)} offsets for data of shape {np.shape(X.data)}")


def _keys(X: Table, name: str) -> None:
    keys = X.keys()
    for key in keys:
        if not all(0 <= j < size for j, size in zip(key, X.shape, strict=True)):
            raise ValueError(f"{name} has an entry at {key}, outside the table. Build it again with keys inside")


def _any_format(X: Table, name: str) -> None:
    raise ValueError(f"{name} is of no known format: give csr, csc, coo, bsr, dia, lil or dok")


FORMAT_CHECKS = {
    "csr": _compressed,
    "csc": _compressed,
    "bsr": _compressed,
    "coo": _coordinates,
    "lil": _lists,
    "dia": _diagonals,
    "dok": _keys,
}


def _integers(indices: Indices, what: str, name: str) -> None:
    if not isinstance(indices, np.ndarray) or indices.dtype.kind not in "iu" or indices.ndim != 1:
        raise ValueError(f"{name} has {what} that are no vector of integers")


def _in_range(indices: Indices, size: int, what: str, name: str) -> None:
    """Refuse an index outside 0 .. size - 1; read without its sign, a negative one is beyond every size."""
    bare, limit = indices.view(f"u{indices.itemsize}"), min(size, 2 ** (8 * indices.itemsize - 1))
    if len(bare) and bare.max() >= limit:
        at = int((bare >= limit).argmax())
        raise ValueError(
            f"{name} has {what}[{at}] = {indices[at]}; indices there run from 0 to {size - 1}. Build the matrix again, "
            "for example from its rows, columns and values with scipy.sparse.coo_array"
        )
