"""Kernels in CUDA C, compiled by NVRTC, which comes with torch: for what Triton cannot say, sums in shared memory.

    source = CudaSource(text)
    source.launch("name", X, (blocks, 1, 1), threads, shared_bytes, *arguments)

Products and sums are not contracted (`--fmad=false`), so that numbers equal those of the host. Where NVRTC is missing,
torch's functions do the same work.
"""

from __future__ import annotations

import ctypes
import logging
from functools import cache
from pathlib import Path
from typing import Any

from fivefold.core.numerics.arrays import AnyArray

LOG = logging.getLogger("fivefold.core")
MAX_PLAIN_SHARED = 48 * 1024  # bytes of shared memory that a kernel may take without asking
SHARED_SIZE = 8  # the driver's number for the attribute that asks for more


class CudaSource:
    """Kernels of one text, compiled for a device when one of them is first launched there."""

    def __init__(self, text: str) -> None:
        self.text = text
        self.functions: dict[tuple[str, int], Any] = {}  # handles of the driver, by name and device
        self.shared: dict[tuple[str, int], int] = {}  # bytes of shared memory that were asked for
        self.modules: dict[int, Any] = {}

    def launch(
        self, name: str, X: AnyArray, grid: tuple[int, int, int], threads: int, shared: int, *args: AnyArray | int
    ) -> None:
        """Run a kernel on the device of X; tensors are passed as pointers, integers as 64 bits, None as no pointer."""
        import torch

        at = int(X.device.index or 0)
        with torch.cuda.device(at):
            function = self._function(name, at, shared)
            values = [ctypes.c_int64(a.data_ptr() if hasattr(a, "data_ptr") else int(a or 0)) for a in args]
            pointers = (ctypes.c_void_p * len(values))(*(ctypes.addressof(v) for v in values))
            stream = ctypes.c_void_p(torch.cuda.current_stream().cuda_stream)
            _check(_driver().cuLaunchKernel(function, *grid, threads, 1, 1, shared, stream, pointers, None), name)

    def _function(self, name: str, at: int, shared: int) -> Any:
        if (name, at) not in self.functions:
            if at not in self.modules:
                module = ctypes.c_void_p()
                _check(_driver().cuModuleLoadData(ctypes.byref(module), _compiled(self.text, at)), "loading")
                self.modules[at] = module
            function = ctypes.c_void_p()
            _check(_driver().cuModuleGetFunction(ctypes.byref(function), self.modules[at], name.encode()), name)
            self.functions[name, at] = function
        function = self.functions[name, at]
        if shared > self.shared.get((name, at), MAX_PLAIN_SHARED):
            _check(_driver().cuFuncSetAttribute(function, SHARED_SIZE, shared), "shared memory")
            self.shared[name, at] = shared
        return function


def has_kernels(X: AnyArray) -> bool:
    """Do kernels in CUDA C run where this tensor is?"""
    return X.device.type == "cuda" and _nvrtc_works(str(X.device))


@cache
def _nvrtc_works(device: str) -> bool:
    """Can kernels be compiled and loaded for this device?"""
    try:
        import torch

        X = torch.zeros(1, dtype=torch.int64, device=device)
        CudaSource('extern "C" __global__ void one(long long* x) { x[0] = 1; }').launch("one", X, (1, 1, 1), 1, 0, X)
        works = int(X[0]) == 1
    except Exception as error:  # libraries that are missing, the compiler and the driver raise many kinds
        LOG.info("kernels in CUDA C are not used on %s: %s: %s", device, type(error).__name__, error)
        return False
    return works


def _compiled(text: str, at: int) -> bytes:
    """The machine code for a device."""
    import torch

    library, program, (major, minor) = _compiler(), ctypes.c_void_p(), torch.cuda.get_device_capability(at)
    options = [f"--gpu-architecture=sm_{major}{minor}".encode(), b"--fmad=false", b"--std=c++17"]
    library.nvrtcCreateProgram(ctypes.byref(program), text.encode(), b"kernels.cu", 0, None, None)
    size = ctypes.c_size_t()
    if library.nvrtcCompileProgram(program, len(options), (ctypes.c_char_p * len(options))(*options)):
        library.nvrtcGetProgramLogSize(program, ctypes.byref(size))
        log = ctypes.create_string_buffer(size.value)
        library.nvrtcGetProgramLog(program, log)
        raise RuntimeError(f"NVRTC refuses the kernels: {log.value.decode()}")
    library.nvrtcGetCUBINSize(program, ctypes.byref(size))
    code = ctypes.create_string_buffer(size.value)
    library.nvrtcGetCUBIN(program, code)
    library.nvrtcDestroyProgram(ctypes.byref(program))
    return code.raw


@cache
def _driver() -> Any:  # ctypes knows no types
    return ctypes.CDLL("libcuda.so.1")


@cache
def _compiler() -> Any:
    """NVRTC of torch's version of CUDA: as torch has loaded it, or from the package beside torch."""
    import torch

    name = f"libnvrtc.so.{str(torch.version.cuda).partition('.')[0]}"
    beside = Path(torch.__file__).parent.parent / "nvidia"
    for found in (name, *map(str, sorted(beside.glob(f"*/lib/{name}*")))):
        try:
            return ctypes.CDLL(found)
        except OSError:
            continue
    raise OSError(f"{name} is not on this machine")


def _check(status: int, what: str) -> None:
    if status:
        raise RuntimeError(f"CUDA refuses {what}: error {status}")
