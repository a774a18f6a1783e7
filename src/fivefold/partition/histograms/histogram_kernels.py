"""Histograms of gradients on a CUDA device, sums of integers in shared memory; and rows on their way through trees.

A group of lanes, one for each column, adds a row to the tables of its block: lane c writes to bank c alone, so no two
lanes of a row wait for each other, whatever the codes. A 64-bit sum is two words of 32 bits: the lower one tells when
it overflows, and the carry goes to the upper one. Sums of integers do not depend on their order, so rows of a node may
be listed in any order.

    separate_rows    gives the rows of a wave of nodes to their children, and lists those of the smaller sides
    add_rows         adds listed rows, or all, to histograms
    walk_trees       adds the values of the leaves that each row reaches
    walk_forest      averages them, for trees in preorder whose leaves hold several numbers
"""

from __future__ import annotations

from fivefold.core.compilation.cuda_support import CudaSource
from fivefold.core.numerics.arrays import AnyArray

BLOCK_THREADS = 1024  # per block that sums histograms: one block per multiprocessor, whose shared memory it fills
MIN_BLOCK_ROWS = 2048  # rows for which a block makes tables of its own
MAX_LANES = 32  # columns of a group
WORDS = 4  # of 32 bits in a bin: gradient, then curvature beside count
CUT_FIELDS = 10  # of a node of a wave: node, left child, column, list it?, is left small?, start of its list, bins left
MAX_NODES = 40_000  # of a tree, whose places in the wave are looked up in shared memory
ROWS_PER_THREAD = 4  # that a thread separates at a time
SEPARATE_THREADS, WALK_THREADS = 512, 256

SOURCE = CudaSource(r"""
typedef long long i64;
typedef unsigned long long u64;
typedef unsigned int u32;
typedef unsigned char u8;
#define FIELDS 10
#define PER 4
#define BINS 256
#define SUMS 8

extern "C" __global__ void __launch_bounds__(512) separate_rows(
    const u8* codes, int* node, i64 n, i64 stride, const i64* cuts, i64 slots, i64 nodes, int* list, u64* counts)
{
    extern __shared__ u8 place[];  // of a node in the wave, plus one
    __shared__ i64 cut[32 * FIELDS];
    __shared__ u32 found[32];
    __shared__ u64 base[32];
    for (i64 t = threadIdx.x; t < nodes; t += blockDim.x) place[t] = 0;
    for (i64 t = threadIdx.x; t < slots * FIELDS; t += blockDim.x) cut[t] = cuts[t];
    __syncthreads();
    if (threadIdx.x < slots) place[cut[threadIdx.x * FIELDS]] = threadIdx.x + 1;
    i64 step = (i64)blockDim.x * PER;
    for (i64 start = blockIdx.x * step; start < n; start += gridDim.x * step) {
        if (threadIdx.x < slots) found[threadIdx.x] = 0;
        __syncthreads();
        int mine[PER];
        u32 at[PER];
        #pragma unroll
        for (int p = 0; p < PER; p++) {
            i64 r = start + p * (i64)blockDim.x + threadIdx.x;
            int s = r < n ? (int)place[node[r]] - 1 : -1;
            mine[p] = -1;
            if (s >= 0) {
                const i64* c = cut + s * FIELDS;
                u32 code = codes[r * stride + c[2]];
                i64 left = (c[6 + (code >> 6)] >> (code & 63)) & 1;
                node[r] = (int)(c[1] + 1 - left);
                if (left == c[4]) {
                    mine[p] = s;
                    at[p] = atomicAdd(&found[s], 1u);
                }
            }
        }
        __syncthreads();
        if (threadIdx.x < slots) base[threadIdx.x] = atomicAdd(&counts[threadIdx.x], (u64)found[threadIdx.x]);
        __syncthreads();
        #pragma unroll
        for (int p = 0; p < PER; p++) {
            if (mine[p] >= 0 && cut[mine[p] * FIELDS + 3])
                list[cut[mine[p] * FIELDS + 5] + base[mine[p]] + at[p]] =
                    (int)(start + p * (i64)blockDim.x + threadIdx.x);
        }
        __syncthreads();
    }
}

__device__ __forceinline__ void add_wide(u32* low, u32* high, u64 x)
{
    u32 a = (u32)x, b = (u32)(x >> 32);
    u32 before = atomicAdd(low, a);
    b += (u32)(before + a) < a ? 1u : 0u;
    if (b) atomicAdd(high, b);
}

extern "C" __global__ void __launch_bounds__(1024) add_rows(
    const u8* codes, const u64* packed, const int* list, const i64* starts, const u64* counts, i64 n, i64 stride,
    i64 columns, i64 lanes, i64 least, u64* out, i64 size)
{
    extern __shared__ u32 sums[];
    int C = (int)lanes, plane = BINS * C, lane = threadIdx.x % C, column = blockIdx.z * C + lane;
    i64 count = list ? (i64)counts[blockIdx.y] : n, start = list ? starts[blockIdx.y] : 0;
    i64 share = (count + gridDim.x - 1) / gridDim.x;
    share = share > least ? share : least;
    i64 lo = blockIdx.x * share, hi = lo + share < count ? lo + share : count;
    if (lo >= hi) return;
    for (int t = threadIdx.x; t < 4 * plane; t += blockDim.x) sums[t] = 0;
    __syncthreads();
    int step = blockDim.x / C;
    bool used = column < columns;
    for (i64 i = lo + threadIdx.x / C; i < hi; i += 4 * step) {
        i64 row[4];
        u32 code[4];
        u64 g[4], h[4];
        #pragma unroll
        for (int p = 0; p < 4; p++) {
            i64 j = i + p * step;
            row[p] = j < hi && used ? (list ? (i64)list[start + j] : j) : -1;
        }
        #pragma unroll
        for (int p = 0; p < 4; p++) {
            if (row[p] >= 0) {
                code[p] = codes[row[p] * stride + column];
                ulonglong2 both = *(const ulonglong2*)(packed + 2 * row[p]);
                g[p] = both.x;
                h[p] = both.y;
            }
        }
        #pragma unroll
        for (int p = 0; p < 4; p++) {
            if (row[p] >= 0) {
                u32* bin = sums + code[p] * C + lane;
                add_wide(bin, bin + plane, g[p]);
                add_wide(bin + 2 * plane, bin + 3 * plane, h[p]);
            }
        }
    }
    __syncthreads();
    u64* table = out + blockIdx.y * size;
    for (int t = threadIdx.x; t < plane; t += blockDim.x) {
        int f = blockIdx.z * C + t % C;
        u64 a = (u64)sums[t] | (u64)sums[plane + t] << 32;
        u64 b = (u64)sums[2 * plane + t] | (u64)sums[3 * plane + t] << 32;
        if (f < columns && (a | b)) {
            u64* bin = table + 2 * ((i64)f * BINS + t / C);
            atomicAdd(bin, a);
            atomicAdd(bin + 1, b);
        }
    }
}

template <typename T> __device__ void walk(
    const T* X, i64 n, i64 d, const int* feature, const double* threshold, const int* left, const int* right,
    const u8* missing_left, const double* value, const i64* starts, i64 trees, i64 K, double* out)
{
    for (i64 r = blockIdx.x * (i64)blockDim.x + threadIdx.x; r < n; r += gridDim.x * (i64)blockDim.x) {
        for (i64 k = 0; k < K; k++) {
            double total = out[k * n + r];
            for (i64 tree = k; tree < trees; tree += K) {
                int t = (int)starts[tree], f = feature[t];
                while (f >= 0) {
                    double x = (double)X[r * d + f];
                    bool goes = x <= threshold[t] || (x != x && missing_left[t] == 1);
                    t = goes ? left[t] : right[t];
                    f = feature[t];
                }
                total += value[t];
            }
            out[k * n + r] = total;
        }
    }
}

#define WALK(NAME, T) extern "C" __global__ void NAME( \
    const T* X, i64 n, i64 d, const int* feature, const double* threshold, const int* left, const int* right, \
    const u8* missing_left, const double* value, const i64* starts, i64 trees, i64 K, double* out) \
{ walk<T>(X, n, d, feature, threshold, left, right, missing_left, value, starts, trees, K, out); }
WALK(walk_floats, float)
WALK(walk_doubles, double)

template <typename T> __device__ void forest(
    const T* X, i64 n, i64 d, const double* threshold, const int* code, const int* skip, const double* value,
    const i64* starts, i64 trees, i64 K, double* out)
{
    for (i64 r = blockIdx.x * (i64)blockDim.x + threadIdx.x; r < n; r += gridDim.x * (i64)blockDim.x) {
        for (i64 first = 0; first < K; first += SUMS) {
            double sums[SUMS] = {0.0};
            for (i64 tree = 0; tree < trees; tree++) {
                i64 t = starts[tree];
                int step = skip[t];
                while (step > 0) {
                    int c = code[t];
                    double x = (double)X[r * d + (c >> 1)];
                    t += x <= threshold[t] || (x != x && (c & 1)) ? 1 : step;
                    step = skip[t];
                }
                #pragma unroll
                for (int q = 0; q < SUMS; q++)
                    if (first + q < K) sums[q] += value[t * K + first + q];
            }
            #pragma unroll
            for (int q = 0; q < SUMS; q++)
                if (first + q < K) out[r * K + first + q] = sums[q] / (double)trees;
        }
    }
}

#define FOREST(NAME, T) extern "C" __global__ void NAME( \
    const T* X, i64 n, i64 d, const double* threshold, const int* code, const int* skip, const double* value, \
    const i64* starts, i64 trees, i64 K, double* out) \
{ forest<T>(X, n, d, threshold, code, skip, value, starts, trees, K, out); }
FOREST(forest_floats, float)
FOREST(forest_doubles, double)
""")


def separate_rows(
    codes: AnyArray, node: AnyArray, cuts: AnyArray, nodes: int, rows: AnyArray, counts: AnyArray
) -> None:
    """Give rows to the children of cuts (W, CUT_FIELDS); list those of smaller sides, and count them in counts (W,)."""
    n = len(node)
    blocks = min(-(-n // (SEPARATE_THREADS * ROWS_PER_THREAD)), 8 * multiprocessors(codes))
    SOURCE.launch(
        "separate_rows", codes, (blocks, 1, 1), SEPARATE_THREADS, nodes,
        codes, node, n, codes.shape[1], cuts, len(cuts), nodes, rows, counts,
    )  # fmt: skip


def add_rows(
    codes: AnyArray, packed: AnyArray, columns: int, rows: AnyArray | None, starts: AnyArray, counts: AnyArray,
    out: AnyArray,
) -> None:  # fmt: skip
    """Add the rows of each list to its table in out (lists, columns x bins x 2); all rows if there is no list."""
    lanes = min(MAX_LANES, max(4, 1 << (columns - 1).bit_length()))
    blocks = multiprocessors(codes) * (2 if lanes < MAX_LANES else 1)
    SOURCE.launch(
        "add_rows", codes, (blocks, len(out), -(-columns // lanes)), BLOCK_THREADS, WORDS * 256 * 4 * lanes,
        codes, packed, rows, starts, counts, len(codes), codes.shape[1], columns, lanes, MIN_BLOCK_ROWS, out,
        out.shape[1],
    )  # fmt: skip


def walk_trees(X: AnyArray, fields: tuple[AnyArray, ...], starts: AnyArray, out: AnyArray) -> None:
    """Add the values of the leaves of all trees to out (K, n); fields are those of nodes, on the device."""
    (n, d), (K, _) = X.shape, out.shape
    name = "walk_floats" if X.element_size() == 4 else "walk_doubles"
    blocks = min(-(-n // WALK_THREADS), 16 * multiprocessors(X))
    SOURCE.launch(name, X, (blocks, 1, 1), WALK_THREADS, 0, X, n, d, *fields, starts, len(starts) - 1, K, out)


def walk_forest(X: AnyArray, fields: tuple[AnyArray, ...], starts: AnyArray, out: AnyArray) -> None:
    """Fill out (n, K) with the means over the trees of the values of leaves; fields are those of nodes in preorder."""
    (n, d), (_, K) = X.shape, out.shape
    name = "forest_floats" if X.element_size() == 4 else "forest_doubles"
    blocks = min(-(-n // WALK_THREADS), 16 * multiprocessors(X))
    SOURCE.launch(name, X, (blocks, 1, 1), WALK_THREADS, 0, X, n, d, *fields, starts, len(starts) - 1, K, out)


def multiprocessors(X: AnyArray) -> int:
    """How many the device of X has."""
    import torch

    return int(torch.cuda.get_device_properties(X.device).multi_processor_count)
