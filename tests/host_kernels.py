"""Kernels in CUDA C that run on the host: g++ compiles their text, with CUDA's words for threads and memory defined.

The threads of a block are threads of the system, and blocks follow one another. Shared memory begins full of ones, as
kernels may not rely on what they find there. Numbers are those of a device: `--fmad=false` is `-ffp-contract=off`.
"""

import ctypes
import re
import shutil
import subprocess
from functools import cache
from pathlib import Path
from tempfile import TemporaryDirectory

import pytest

from fivefold.core.compilation.cuda_support import CudaSource
from fivefold.ensemble.forests import sample_kernels
from fivefold.partition.growers import device_growth
from fivefold.partition.histograms import histogram_kernels, tree_walks

MAX_THREADS = 64  # per block: fewer than on a device, whose number kernels may not rely on
MAX_ARGUMENTS = 13
CUDA_WORDS = r"""
#include <barrier>
#include <cstring>
#include <thread>
#include <vector>
#define __global__
#define __device__
#define __forceinline__ inline
#define __launch_bounds__(threads)
#define __shared__ static
typedef unsigned long long word;
struct dimensions { unsigned x, y, z; };
struct alignas(16) ulonglong2 { word x, y; };
static thread_local dimensions threadIdx, blockIdx;
static dimensions blockDim, gridDim;
static std::barrier<>* meeting;
alignas(16) static unsigned char dynamic_shared[1 << 18];
static void __syncthreads() { meeting->arrive_and_wait(); }
template <typename T> T atomicAdd(T* sum, T x) { return __atomic_fetch_add(sum, x, __ATOMIC_SEQ_CST); }
static word __umul64hi(word a, word b) { return (word)((unsigned __int128)a * b >> 64); }

extern "C" void run_blocks(void* kernel, dimensions grid, unsigned threads, const word* a)
{
    auto call = (void (*)(word, word, word, word, word, word, word, word, word, word, word, word, word))kernel;
    gridDim = grid, blockDim = {threads, 1, 1};
    std::barrier<> all(threads);
    meeting = &all;
    auto work = [&](unsigned t) {
        threadIdx = {t, 0, 0};
        for (unsigned b = 0; b < grid.x * grid.y * grid.z; b++) {
            blockIdx = {b % grid.x, b / grid.x % grid.y, b / grid.x / grid.y};
            if (t == 0) std::memset(dynamic_shared, 255, sizeof dynamic_shared);
            all.arrive_and_wait();
            call(a[0], a[1], a[2], a[3], a[4], a[5], a[6], a[7], a[8], a[9], a[10], a[11], a[12]);
            all.arrive_and_wait();
        }
    };
    std::vector<std::thread> team;
    for (unsigned t = 0; t < threads; t++) team.emplace_back(work, t);
    for (auto& one : team) one.join();
}
"""


class Grid(ctypes.Structure):
    _fields_ = [(name, ctypes.c_uint) for name in "xyz"]


@cache
def compiled(text):
    """The library of a text of kernels."""
    text = re.sub(r"extern __shared__ (\w+) (\w+)\[\];", r"\1* \2 = (\1*)dynamic_shared;", text)
    with TemporaryDirectory() as folder:
        source, library = Path(folder, "kernels.cpp"), Path(folder, "kernels.so")
        source.write_text(CUDA_WORDS + text)
        flags = ["-std=c++20", "-O1", "-ffp-contract=off", "-fPIC", "-shared", "-pthread", "-w"]
        subprocess.run(["g++", *flags, str(source), "-o", str(library)], check=True, capture_output=True)
        return ctypes.CDLL(str(library))


def launch(self, name, X, grid, threads, shared, *args):
    """CudaSource.launch on the host."""
    library, given = compiled(self.text), [a.data_ptr() if hasattr(a, "data_ptr") else int(a or 0) for a in args]
    assert len(given) <= MAX_ARGUMENTS and shared <= 1 << 18
    numbers = (ctypes.c_uint64 * MAX_ARGUMENTS)(*(number % 2**64 for number in given))
    kernel = ctypes.cast(getattr(library, name), ctypes.c_void_p)
    library.run_blocks(kernel, Grid(*grid), min(threads, MAX_THREADS), numbers)


def run_kernels_on_the_host(monkeypatch):
    """Let kernels in CUDA C take tensors of the host, in a test that ends with it."""
    if shutil.which("g++") is None:
        pytest.skip("no g++ on this machine")
    monkeypatch.setattr(CudaSource, "launch", launch)
    for module in (device_growth, tree_walks):
        monkeypatch.setattr(module, "has_kernels", lambda X: True)
    for module in (histogram_kernels, sample_kernels):
        monkeypatch.setattr(module, "multiprocessors", lambda X: 1)
