"""Routines of SciPy's BLAS and LAPACK that let other threads run meanwhile.

The wrappers in `scipy.linalg` hold the interpreter's lock while they work, so calls from several threads wait for one
another. The same routines, by the addresses that SciPy publishes for Cython, are called here through ctypes, which
releases the lock. Arrays are float64 in rows (C order): a routine sees their transposes, with the distance of two rows
as leading dimension, so blocks of a larger array need no copy.
"""

from __future__ import annotations

import ctypes
from collections.abc import Callable
from functools import cache

import numpy as np
from scipy.linalg import cython_blas, cython_lapack

from fivefold.core.types import Doubles

SOURCES = {"dgemm": cython_blas, "dtrsm": cython_blas, "dpotrf": cython_lapack}


@cache
def _routine(name: str, arguments: int) -> Callable[..., None]:
    """The routine as a function of that many pointers."""
    capsule = SOURCES[name].__pyx_capi__[name]
    api = ctypes.pythonapi
    api.PyCapsule_GetName.restype, api.PyCapsule_GetName.argtypes = ctypes.c_char_p, [ctypes.py_object]
    api.PyCapsule_GetPointer.restype = ctypes.c_void_p
    api.PyCapsule_GetPointer.argtypes = [ctypes.py_object, ctypes.c_char_p]
    address = api.PyCapsule_GetPointer(capsule, api.PyCapsule_GetName(capsule))
    return ctypes.CFUNCTYPE(None, *[ctypes.c_void_p] * arguments)(address)


def _pointers(*values: str | int | float | Doubles) -> tuple[list[object], list[object]]:
    """Addresses of letters, whole numbers, numbers and arrays; and what has to live as long as they are used."""
    found, kept = list[object](), list[object]()
    for value in values:
        if isinstance(value, np.ndarray):
            found.append(value.ctypes.data)
            kept.append(value)
            continue
        scalar: ctypes.c_char | ctypes.c_int | ctypes.c_double
        if isinstance(value, str):
            scalar = ctypes.c_char(value.encode())
        else:
            scalar = ctypes.c_int(value) if isinstance(value, int) else ctypes.c_double(value)
        found.append(ctypes.addressof(scalar))
        kept.append(scalar)
    return found, kept


def _leading(A: Doubles) -> int:
    """The distance of two rows, counted in numbers."""
    return max(1, A.strides[0] // A.itemsize)


def factor_block(A: Doubles) -> int:
    """Overwrite the lower triangle of A by its Cholesky factor; 0, or the number of the first row that is not positive.

    What stands above the diagonal is left as it was.
    """
    info = ctypes.c_int(0)
    given, _kept = _pointers("U", len(A), A, _leading(A))
    _routine("dpotrf", 5)(*given, ctypes.addressof(info))
    return info.value


def solve_rows(L: Doubles, B: Doubles) -> None:
    """Overwrite the rows b of B by L^-1 b: B <- B L^-T, for a lower triangle L."""
    given, _kept = _pointers("L", "U", "T", "N", B.shape[1], len(B), 1.0, L, _leading(L), B, _leading(B))
    _routine("dtrsm", 11)(*given)


def add_product(C: Doubles, A: Doubles, B: Doubles, alpha: float, beta: float) -> None:
    """Overwrite C by beta C + alpha A B'."""
    rows, columns, inner = len(A), len(B), A.shape[1]
    given, _kept = _pointers(
        "T", "N", columns, rows, inner, alpha, B, _leading(B), A, _leading(A), beta, C, _leading(C)
    )
    _routine("dgemm", 13)(*given)
