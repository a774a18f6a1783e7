"""Compiled loop over pairs of trees: shared fragments, from the leaves up."""

from fivefold.core.compilation.jit import jit


@jit(error_model="numpy")
def fragment_row(offsets, productions, starts, children, i, first, decay, stop, shared, out):
    """out[j]: weighted number of fragments that trees i and first + j share."""
    a = offsets[i]
    n = offsets[i + 1] - a
    for j in range(len(out)):
        b = offsets[first + j]
        m = offsets[first + j + 1] - b
        total = 0.0
        for u in range(n):
            for v in range(m):
                value = 0.0
                if productions[a + u] >= 0 and productions[a + u] == productions[b + v]:
                    value = decay
                    for c in range(starts[a + u + 1] - starts[a + u]):
                        p, q = children[starts[a + u] + c], children[starts[b + v] + c]
                        if productions[p] >= 0 or productions[q] >= 0:
                            value *= stop + shared[p - a, q - b]
                shared[u, v] = value
                total += value
        out[j] = total
