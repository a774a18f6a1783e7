"""Samples of forests on a CUDA device: how often each row is drawn, and sums over the rows of leaves, as on the host.

    draw_counts     Poisson counts of the rows, from NumPy's Philox generator by the number of the row
    add_in_order    sums of the rows of a list, one after the other

Philox encrypts a counter in ten rounds, so any row's number can be had without those before it: a thread makes the four
numbers of one counter. Sums of doubles depend on their order: a thread adds the rows of one list in theirs.

Salmon, Moraes, Dror & Shaw (2011), Parallel random numbers: as easy as 1, 2, 3.
"""

from __future__ import annotations

from fivefold.core.compilation.cuda_support import CudaSource
from fivefold.core.numerics.arrays import AnyArray, namespace
from fivefold.partition.histograms.histogram_kernels import multiprocessors

THREADS = 256
MAX_COUNT = 200  # of the draws of a row: beyond, terms of the distribution are rounding

SOURCE = CudaSource(r"""
typedef long long i64;
typedef unsigned long long u64;

extern "C" __global__ void draw_counts(
    u64 key, i64 n, const double* rate, const double* first, i64 step, i64 most, int* out)
{
    for (i64 b = blockIdx.x * (i64)blockDim.x + threadIdx.x; 4 * b < n; b += gridDim.x * (i64)blockDim.x) {
        u64 c[4] = {(u64)b + 1, 0, 0, 0}, k0 = key, k1 = 0;
        for (int round = 0; round < 10; round++) {
            u64 m0 = 0xD2E7470EE14C6C93ULL, m1 = 0xCA5A826395121157ULL;
            u64 high0 = __umul64hi(m0, c[0]), low0 = m0 * c[0], high1 = __umul64hi(m1, c[2]), low1 = m1 * c[2];
            c[0] = high1 ^ c[1] ^ k0;
            c[1] = low1;
            c[2] = high0 ^ c[3] ^ k1;
            c[3] = low0;
            k0 += 0x9E3779B97F4A7C15ULL;
            k1 += 0xBB67AE8584CAA73BULL;
        }
        for (int j = 0; j < 4 && 4 * b + j < n; j++) {
            i64 r = 4 * b + j;
            double u = (double)(c[j] >> 11) * (1.0 / 9007199254740992.0), term = first[r * step], left = u - term;
            int count = 0;
            while (left >= 0.0 && count < most) {
                count++;
                term *= rate[r * step] / count;
                left -= term;
            }
            out[r] = count;
        }
    }
}

extern "C" __global__ void add_in_order(
    const i64* order, const i64* starts, i64 lists, const double* weight, const double* columns, i64 count, i64 n,
    double* out)
{
    for (i64 s = blockIdx.x * (i64)blockDim.x + threadIdx.x; s < lists; s += gridDim.x * (i64)blockDim.x) {
        double sums[3] = {0.0, 0.0, 0.0};
        for (i64 i = starts[s]; i < starts[s + 1]; i++) {
            i64 r = order[i];
            double c = weight[r];
            sums[0] += c;
            for (int q = 0; q < 2; q++)
                if (q < count) sums[1 + q] += c * columns[q * n + r];
        }
        for (int q = 0; q <= count; q++) out[s * (count + 1) + q] = sums[q];
    }
}
""")


def draw_counts(seed: int, n: int, rate: AnyArray, first: AnyArray) -> AnyArray:
    """How often each of n rows is drawn; rates of the rows, or one for all, and the chance of no draw."""
    xp = namespace(rate)
    out = xp.empty(n, dtype=xp.int32, device=rate.device)
    blocks = min(-(-n // (4 * THREADS)), 16 * multiprocessors(rate))
    SOURCE.launch(
        "draw_counts", rate, (blocks, 1, 1), THREADS, 0, seed, n, rate, first, int(len(rate) > 1), MAX_COUNT, out
    )
    return out


def add_in_order(order: AnyArray, starts: AnyArray, weight: AnyArray, columns: AnyArray) -> AnyArray:
    """Sums over the rows of each list of their weight, and of the weight times each of at most two columns.

    Lists lie one after the other in `order`; columns are (count, n), the answer (lists, 1 + count).
    """
    xp, lists, (count, n) = namespace(order), len(starts) - 1, columns.shape
    out = xp.empty((lists, 1 + count), dtype=xp.float64, device=order.device)
    blocks = min(-(-lists // THREADS), 16 * multiprocessors(order))
    SOURCE.launch(
        "add_in_order", order, (blocks, 1, 1), THREADS, 0, order, starts, lists, weight, columns, count, n, out
    )
    return out
