"""Names of arrays and of what users pass, as signatures say them: n rows, d columns, K classes or members, m outputs.

A name such as `Weights` tells mypy the kind of numbers and the reader what they are. What users pass may be anything
(a frame of any library, a list, a tensor) until core.admission has turned it into arrays: these names stand for Any.
"""

from __future__ import annotations

from typing import Any, TypeAlias

import numpy as np
from numpy.typing import NDArray

Array: TypeAlias = NDArray[np.floating[Any]]  # floats of any shape and either precision
Vector: TypeAlias = NDArray[np.floating[Any]]  # one axis
Matrix: TypeAlias = NDArray[np.floating[Any]]  # two axes
Doubles: TypeAlias = NDArray[np.float64]  # float64 whatever the precision of the table
Weights: TypeAlias = NDArray[np.floating[Any]]  # (n,) one positive number per row
Codes: TypeAlias = NDArray[np.integer[Any]]  # whole numbers that stand for classes, groups, bins or levels
Indices: TypeAlias = NDArray[np.integer[Any]]  # numbers of rows, columns or nodes
Mask: TypeAlias = NDArray[np.bool_]
Labels: TypeAlias = NDArray[Any]  # (n,) as users gave them: text, numbers, truth values
Target: TypeAlias = NDArray[Any]  # (n,) or (n, m) as a method learns it: codes of classes, or numbers
Rng: TypeAlias = np.random.RandomState

# SciPy has no types, and torch is not imported: an admitted table is an array, a sparse matrix or a tensor.
Table: TypeAlias = Any
Sparse: TypeAlias = Any  # csr_array or csr_matrix in canonical form

UserTable: TypeAlias = Any  # X as users pass it
UserTarget: TypeAlias = Any  # y as users pass it
UserWeights: TypeAlias = Any  # sample_weight as users pass it
