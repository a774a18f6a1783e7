"""Fused kernels for CUDA: Triton, which comes with torch there, compiles them when they are first called.

A kernel reads a run of rows once and does all its work on it, where torch's own functions would read it several times.
Products in float32 are taken as three in TF32, which together keep the digits of float32. Without Triton, or without
the C compiler that it calls, and for float64, torch's functions do the same work; the log says so once.
"""

from __future__ import annotations

import logging
from collections.abc import Callable
from functools import cache, cached_property, partial
from types import FunctionType
from typing import Any, cast

from fivefold.core.numerics.arrays import AnyArray, namespace
from fivefold.core.numerics.tensors import on_host
from fivefold.core.types import Doubles

LOG = logging.getLogger("fivefold.core")
KERNEL_DEVICES = ("cuda",)  # Triton's interpreter, for tests, has the CPU too
MAX_KERNEL_COLUMNS = 64  # of a table whose rows a kernel holds: wider ones are left to torch's products
STAGES = 2  # runs of rows that a program has under way: the next one is loaded while it works on this one
MIN_SHARED_BYTES = 120_000  # of a multiprocessor's shared memory: what the largest kernels take
PROGRAMS = 2112  # programs of a kernel, sixteen for each multiprocessor of a large device; each adds up its own sums


tl: Any = None  # Triton's language, as kernels call it; imported with the first kernel


class Kernel:
    """A kernel that Triton compiles on its first call: `kernel[programs](*args)` runs that many programs of it.

    Importing a module of kernels costs nothing, and needs no Triton.
    """

    def __init__(self, function: Callable[..., None]) -> None:
        self.function = cast(FunctionType, function)
        self.__doc__, self.__module__ = function.__doc__, function.__module__

    def __getitem__(self, programs: tuple[int, ...]) -> Callable[..., Any]:
        return partial(self.compiled[programs], num_stages=STAGES)

    @cached_property
    def compiled(self) -> Any:  # Triton has no types
        """The form that Triton makes."""
        import triton

        _compile_parts(self.function.__globals__)
        return triton.jit(self.function)


class KernelPart:
    """A function in Triton's language that kernels call; Triton's form takes its place before a kernel is compiled."""

    def __init__(self, function: Callable[..., Any]) -> None:
        self.function = cast(FunctionType, function)

    def __call__(self, *args: Any) -> Any:  # values of Triton, which has no types
        raise TypeError(f"{self.function.__name__} runs inside a kernel")


def _compile_parts(names: dict[str, Any]) -> None:
    """Put Triton's form in the place of the parts of kernels among the names of a module, and of those they call."""
    import triton
    import triton.language

    names["tl"] = triton.language
    for name, part in [(name, part) for name, part in names.items() if isinstance(part, KernelPart)]:
        names[name] = triton.jit(part.function)
        _compile_parts(part.function.__globals__)


def kernel(function: Callable[..., None]) -> Kernel:
    """Make a kernel of a function in Triton's language."""
    return Kernel(function)


def kernel_part(function: Callable[..., Any]) -> KernelPart:
    """Make a function in Triton's language that kernels call."""
    return KernelPart(function)


def warps(columns: int) -> int:
    """Warps of 32 threads in a program that holds a square matrix: two, where its numbers fit their registers."""
    return 2 if columns <= 32 else 4


def host_sums(out: AnyArray, *more: AnyArray) -> Doubles:
    """The sums (l,) of what each program wrote, out (programs, l), then further numbers: one copy to the host."""
    xp = namespace(out)
    parts = [out.sum(dim=0, dtype=xp.float64), *(part.reshape(-1).to(xp.float64) for part in more)]
    return on_host(xp.cat(parts) if more else parts[0])


def blocks(n: int, size: int) -> int:
    """How many blocks of this size n rows fill."""
    return -(-n // size)


def has_kernels(X: AnyArray, columns: int = MAX_KERNEL_COLUMNS) -> bool:
    """Can kernels work on this tensor, if they hold rows of at most this many columns?"""
    if X.device.type not in KERNEL_DEVICES or X.element_size() != 4 or X.shape[1] > columns or not X.is_contiguous():
        return False
    return _triton_works(str(X.device))


def padded(size: int) -> int:
    """The next power of two, at least 16: the sizes that products in a kernel have."""
    return max(16, 1 << (size - 1).bit_length())


@cache
def _triton_works(device: str) -> bool:
    """Does Triton compile and run a kernel on this device?"""
    try:
        import torch

        from fivefold.core.numerics.gram_kernels import gram_sums

        if torch.cuda.is_available():  # Triton's interpreter has no device
            found: Any = torch.cuda.get_device_properties(device)
            shared = found.shared_memory_per_block_optin
            if shared < MIN_SHARED_BYTES:
                raise RuntimeError(f"{shared} bytes of shared memory are too few")

        sums = gram_sums(torch.eye(64, 16, device=device), None).scatter
        wanted = torch.eye(16) - 1 / 64  # about the mean: all numbers are exact
        works = bool((sums == wanted.double().numpy()).all())
    except Exception as error:  # Triton, the compiler and the driver raise many kinds
        LOG.info("fused kernels are not used on %s: %s: %s", device, type(error).__name__, error)
        return False
    return works
