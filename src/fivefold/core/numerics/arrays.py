"""Array namespaces, and the few operations the standard lacks.

`sklearn.utils` gives a torch namespace only when SCIPY_ARRAY_API=1 was set before SciPy was imported,
which a library cannot do for its user; array_api_compat itself needs no setting.
"""

from __future__ import annotations

from typing import Any, TypeAlias, TypeGuard

import numpy as np

from fivefold.core._sklearn import array_namespace, get_config
from fivefold.core.types import Array

# Arrays of NumPy, tensors of torch and arrays of other libraries have no type in common, nor have their namespaces.
AnyArray: TypeAlias = Any
Namespace: TypeAlias = Any


def namespace(*arrays: AnyArray) -> Namespace:
    """The array namespace of the arrays."""
    if all(isinstance(a, np.ndarray) for a in arrays):
        return np
    return array_namespace(*arrays)


def is_tensor(a: object) -> TypeGuard[Any]:
    """Is it a torch tensor? Asks without importing torch."""
    return type(a).__module__.partition(".")[0] == "torch"


def device(a: AnyArray) -> object:
    """Where an array lives: "cpu" for NumPy and sparse matrices, the tensor's own device for a tensor."""
    return a.device if is_tensor(a) else "cpu"


def is_foreign(a: object) -> bool:
    """Is it an array of another library, and is scikit-learn set to dispatch on those (`array_api_dispatch`)?"""
    if isinstance(a, np.ndarray) or not (is_tensor(a) or hasattr(a, "__array_namespace__")):
        return False
    return bool(get_config()["array_api_dispatch"])


def to_numpy(a: Any) -> Any:  # users' arguments of any type pass through it
    """A tensor, or a foreign array, as a NumPy array on the host; anything else unchanged."""
    if is_tensor(a):
        return a.detach().cpu().numpy()
    return np.from_dlpack(a).copy() if is_foreign(a) else a


def to_library_of(answer: Any, a: AnyArray) -> Any:  # an answer of a method: an array, a number, text, some of these
    """Numbers as an array of the library and on the device of `a`; text and other labels unchanged."""
    if isinstance(answer, list | tuple):
        return type(answer)(to_library_of(part, a) for part in answer)
    if not isinstance(answer, np.ndarray | np.generic) or answer.dtype.kind not in "biuf":
        return answer
    xp = namespace(a)
    return xp.asarray(np.array(answer), device=a.device)


def like(values: AnyArray, a: AnyArray) -> AnyArray:
    """A contiguous copy of numbers in the library, float type and device of `a`.

    >>> like([1, 2], np.zeros(3, dtype=np.float32))
    array([1., 2.], dtype=float32)
    """
    if is_tensor(a):
        return namespace(a).asarray(values, dtype=a.dtype, device=a.device, copy=True).contiguous()
    return np.array(values, dtype=a.dtype, order="C")


def numpy_dtype(dtype: Any) -> np.dtype[Any]:  # NumPy's own, its name, or torch's, which is not imported
    """NumPy's type for a type of NumPy or of torch.

    >>> import torch
    >>> numpy_dtype(torch.float32)
    dtype('float32')
    """
    return np.dtype(str(dtype).removeprefix("torch.") if is_tensor(dtype) else dtype)


def to_device_of(numbers: AnyArray, a: AnyArray) -> AnyArray:
    """Numbers as an array of the library and on the device of `a`, in their own type, without a copy where they are."""
    if is_tensor(a):
        return numbers.to(a.device) if is_tensor(numbers) else namespace(a).asarray(numbers, device=a.device)
    return to_numpy(numbers)


def plus_row(A: AnyArray, row: Array) -> AnyArray:
    """A (n, k) plus a row of k numbers of NumPy."""
    return A + (like(row, A) if is_tensor(A) else row)


def labels_at(labels: AnyArray, codes: AnyArray) -> AnyArray:
    """labels[codes]: on the device of the codes, where labels are numbers; text stays on the host."""
    if is_tensor(codes) and labels.dtype.kind in "biuf":
        return to_device_of(labels, codes)[codes]
    return labels[to_numpy(codes)]


def logsumexp(a: AnyArray, axis: int) -> AnyArray:
    """log sum exp along an axis; -inf where every entry is -inf.

    >>> logsumexp(np.array([[0.0, 0.0], [-np.inf, -np.inf]]), axis=1).round(4)
    array([0.6931,   -inf])
    """
    xp = namespace(a)
    top = xp.max(a, axis=axis, keepdims=True)
    top = xp.where(xp.isfinite(top), top, xp.zeros_like(top))
    with np.errstate(divide="ignore"):
        return xp.squeeze(top, axis=axis) + xp.log(xp.sum(xp.exp(a - top), axis=axis))
